/* SPDX-License-Identifier: BSD-3-Clause */
/* protocols.c - the list of protocols.  A new one is added here, in one line, and nowhere else. */
#include <string.h>

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

const struct tw_protocol *cash_member(const char *choices, const char **why);

/* Families, whose variants are also named by their parameters: "cashmere:levels=1,...". */
static const struct {
	const char *prefix;
	const struct tw_protocol *(*member)(const char *choices, const char **why);
} families[] = {{"cashmere:", cash_member}};

static const char *protocol_why;

const char *tw_protocol_why(void)
{
	return protocol_why;
}

const struct tw_protocol *tw_protocol_find(const char *name)
{
	protocol_why = "there is no such family; 'tweed info' lists protocols and families";
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
		if (strncmp(name, families[i].prefix, strlen(families[i].prefix)) == 0)
			return families[i].member(name + strlen(families[i].prefix), &protocol_why);
	for (const struct tw_protocol *const *p = protocols; *p; p++)
		if (strcmp((*p)->name, name) == 0)
			return *p;
	return NULL;
}
