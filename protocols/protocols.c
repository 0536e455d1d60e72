/* SPDX-License-Identifier: BSD-3-Clause */
/* protocols.c - the list of protocols.  A new one is added here, in one line, and nowhere else. */
#include "tweed/driver/protocol.h"

/* X(name): struct tw_protocol tw_protocol_<name>; the order is that of `tweed info`. */
#define PROTOCOLS(X)                                                                                                   \
	X(2l)                                                                                                          \
	X(2ls)                                                                                                         \
	X(2loffmc)                                                                                                     \
	X(2lmigr)                                                                                                      \
	X(1ld)                                                                                                         \
	X(1l)                                                                                                          \
	X(ts)                                                                                                          \
	X(sc)                                                                                                          \
	X(simple)                                                                                                      \
	X(none)                                                                                                        \
	X(null)

#define X(name) extern const struct tw_protocol tw_protocol_##name;
PROTOCOLS(X)
#undef X

#define X(name) &tw_protocol_##name,
static const struct tw_protocol *const protocols[] = {PROTOCOLS(X) NULL};
#undef X

const struct tw_protocol *const *tw_protocol_list(void)
{
	return protocols;
}

static struct tw_found found;

const char *tw_protocol_why(void)
{
	return found.why;
}

static const struct tw_protocol *protocol_with(const struct tw_protocol *p, const char *text)
{
	static struct tw_protocol last; /* that has parameters */
	int set = tw_found_set(&found, "protocol", p->name, p->parameters, p->values, p->variant, text);

	if (set < 0 || !p->parameters)
		return set < 0 ? NULL : p;
	if (set) {
		last = *p;
		last.name = found.text;
		last.flags |= p->flags_of ? p->flags_of(p->values) : 0;
	}
	return &last;
}

const struct tw_protocol *tw_protocol_find(const char *text)
{
	for (const struct tw_protocol *const *p = protocols; *p; p++)
		if (tw_found_names(text, (*p)->name))
			return protocol_with(*p, text);
	tw_found_none(&found, "protocol", text);
	return NULL;
}
