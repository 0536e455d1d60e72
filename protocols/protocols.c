/* SPDX-License-Identifier: BSD-3-Clause */
/* protocols.c - the list of protocols.  A new one is added here, in one line, and nowhere else. */
#include <stdio.h>
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

static struct {
	char text[sizeof(((struct tw_config *)0)->protocol)];
	struct tw_protocol protocol;
} found; /* the last one that has parameters */
static char refused[512];

const char *tw_protocol_why(void)
{
	return refused;
}

/* Set @p's values: defaults, those of the variant, those of the user. */
static bool protocol_set(const struct tw_protocol *p, const char *user)
{
	tw_parameters_init(p->values, p->parameters);
	return (!p->variant ||
	        tw_parameters_set(p->values, p->parameters, p->name, p->variant, refused, sizeof(refused)) == 0) &&
	       tw_parameters_set(p->values, p->parameters, p->name, user, refused, sizeof(refused)) == 0;
}

static const struct tw_protocol *protocol_with(const struct tw_protocol *p, const char *text)
{
	size_t name = strlen(p->name);

	if (!p->parameters) {
		if (!text[name])
			return p;
		snprintf(refused, sizeof(refused), "protocol %s has no parameters", p->name);
		return NULL;
	}
	if (strcmp(text, found.text) == 0)
		return &found.protocol;
	if (strlen(text) >= sizeof(found.text)) {
		snprintf(refused, sizeof(refused), "parameters of protocol %s are longer than %zu bytes", p->name,
		         sizeof(found.text) - name - 2);
		return NULL;
	}
	found.text[0] = '\0';
	if (!protocol_set(p, text + name + (text[name] == ':')))
		return NULL;
	strcpy(found.text, text);
	found.protocol = *p;
	found.protocol.name = found.text;
	found.protocol.flags |= p->flags_of ? p->flags_of(p->values) : 0;
	return &found.protocol;
}

const struct tw_protocol *tw_protocol_find(const char *text)
{
	size_t len = strcspn(text, ":");

	for (const struct tw_protocol *const *p = protocols; *p; p++)
		if (strlen((*p)->name) == len && strncmp((*p)->name, text, len) == 0)
			return protocol_with(*p, text);
	snprintf(refused, sizeof(refused), "there is no protocol '%.*s'; 'tweed info' lists them",
	         (int)TW_MIN(len, 64u), text);
	return NULL;
}
