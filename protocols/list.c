/* SPDX-License-Identifier: BSD-3-Clause */
/* list.c - the protocols there are.  A new one is added here and nowhere else. */
#include <string.h>

#include "tweed/driver/protocol.h"

extern const struct tw_protocol tw_protocol_2l, tw_protocol_2ls, tw_protocol_2loffmc, tw_protocol_2lmigr,
    tw_protocol_1ld, tw_protocol_none;
const struct tw_protocol *cash_member(const char *choices, const char **why);

static const struct tw_protocol *const protocols[] = {
    &tw_protocol_2l,
    &tw_protocol_2ls,
    &tw_protocol_2loffmc,
    &tw_protocol_2lmigr,
    &tw_protocol_1ld,
    &tw_protocol_none,
    NULL,
};

const struct tw_protocol *const *tw_protocol_list(void)
{
	return protocols;
}

/* Families, whose members are also named by their choices: "cashmere:levels=1,...". */
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
