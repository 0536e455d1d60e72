/* SPDX-License-Identifier: BSD-3-Clause */
/* variants.c - the Cashmere family: one skeleton, five parameters; a variant is a line of the table (sections 2.2
 * and 2.6).  Other variants are named by their parameters: "cashmere:levels=2,updates=message,home=migrate". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocols/cashmere/cashmere.h"

#define CASH_MEMBER(NAME, SUMMARY, FLAGS, CHOICES, STORED)                                                             \
	{                                                                                                              \
		.name = NAME, .summary = SUMMARY, .flags = (FLAGS) | TW_PROTOCOL_RACES, .choices = CHOICES,            \
		.exported_bytes = cash_exported_bytes, .refuse = variant_refuse, .init = cash_init, .fini = cash_fini, \
		.read_fault = cash_read_fault, .write_fault = cash_write_fault, .prefetch = cash_prefetch,             \
		.freshen = cash_freshen, .hide = cash_hide, .pin = cash_pin, .unpin = cash_unpin,                      \
		.acquire = cash_acquire, .release = cash_release, .arrive = cash_arrive, .broken = cash_broken,        \
		.noticed = cash_noticed, .message = cash_message, .stored = STORED                                     \
	}

static const struct cash_variant variant_2l = {.levels = 2};
static const struct cash_variant variant_2ls = {.levels = 2, .local = CASH_LOCAL_SHOOTDOWN};
static const struct cash_variant variant_2loffmc = {.levels = 2, .updates = CASH_UPDATES_MESSAGE};
static const struct cash_variant variant_2lmigr = {
    .levels = 2, .updates = CASH_UPDATES_MESSAGE, .home = CASH_HOME_MIGRATE};
static const struct cash_variant variant_1ld = {.levels = 1};
static const struct cash_variant variant_1l = {
    .levels = 1, .writes = CASH_WRITES_STORES, .updates = CASH_UPDATES_DOUBLING};

static const char *variant_refuse(const struct tw_protocol *self, const struct tw_config *config);

const struct tw_protocol tw_protocol_2l =
    CASH_MEMBER("2L", "Cashmere-2L: two levels, twins and two-way diffs, directory, first-touch homes, exclusive mode",
                0, &variant_2l, NULL);
const struct tw_protocol tw_protocol_2ls =
    CASH_MEMBER("2LS", "Cashmere-2LS: as 2L, but local writers are shot down where 2L applies incoming diffs",
                TW_PROTOCOL_SHOOTDOWN, &variant_2ls, NULL);
const struct tw_protocol tw_protocol_2loffmc =
    CASH_MEMBER("2LOffMC", "as 2L, but diffs are messages that the home's agent applies", 0, &variant_2loffmc, NULL);
const struct tw_protocol tw_protocol_2lmigr = CASH_MEMBER(
    "2LMigr", "as 2LOffMC, and homes migrate to the active writer", TW_PROTOCOL_HOMES_MOVE, &variant_2lmigr, NULL);
const struct tw_protocol tw_protocol_1ld = CASH_MEMBER("1LD", "Cashmere-1LD: every processor a node of its own, diffs",
                                                       TW_PROTOCOL_ONE_LEVEL, &variant_1ld, NULL);
const struct tw_protocol tw_protocol_1l = CASH_MEMBER(
    "1L",
    "Cashmere-1L: every processor a node of its own, stores are doubled to the home; for programs built by tweed cc",
    TW_PROTOCOL_ONE_LEVEL | TW_PROTOCOL_NEEDS_STORES, &variant_1l, cash_stored);

static const char *variant_refuse(const struct tw_protocol *self, const struct tw_config *config)
{
	const struct cash_variant *c = self->choices;

	if (c->home == CASH_HOME_MIGRATE && config->superpage != 1)
		return "homes migrate page by page: use --superpage 1, or a protocol whose homes stay";
	if (c->home == CASH_HOME_MIGRATE && config->home[0] == 'a')
		return "homes that migrate need no settling after initialization: use --home first-touch, or a "
		       "protocol whose homes stay";
	if (c->writes == CASH_WRITES_STORES && config->race)
		return "races are found by comparing twins, and this protocol has none: unset TWEED_RACE, or use "
		       "another";
	if (c->writes == CASH_WRITES_STORES && config->diff_unit > 1)
		return "diffs go by TWEED_DIFF_UNIT (--diff-unit), and this protocol has none, but doubles stores: "
		       "unset it, "
		       "or use another protocol";
	return NULL;
}

/* ---- variants that are named by their parameters ----------------------------------------------------------------- */

static unsigned variant_flags(const struct cash_variant *c)
{
	return (c->levels == 1 ? TW_PROTOCOL_ONE_LEVEL : 0) |
	       (c->home == CASH_HOME_MIGRATE ? TW_PROTOCOL_HOMES_MOVE : 0) |
	       (c->writes == CASH_WRITES_STORES ? TW_PROTOCOL_NEEDS_STORES : 0) |
	       (c->local == CASH_LOCAL_SHOOTDOWN ? TW_PROTOCOL_SHOOTDOWN : 0);
}

static const struct choice {
	const char *name;
	size_t offset;
	const char *values[4];
} choices[] = {
    {"levels", offsetof(struct cash_variant, levels), {"", "1", "2"}},
    {"writes", offsetof(struct cash_variant, writes), {"twin", "stores"}},
    {"updates", offsetof(struct cash_variant, updates), {"write", "message", "doubling"}},
    {"home", offsetof(struct cash_variant, home), {"first-touch", "migrate"}},
    {"local", offsetof(struct cash_variant, local), {"diff", "shootdown"}},
};

/* Set the parameter "name=value", @len bytes.  Returns NULL, or why not. */
static const char *choice_set(struct cash_variant *c, const char *text, size_t len)
{
	for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
		size_t name = strlen(choices[i].name);
		if (len <= name || text[name] != '=' || strncmp(text, choices[i].name, name) != 0)
			continue;
		const char *value = text + name + 1;
		for (unsigned char v = 0; v < 4 && choices[i].values[v]; v++)
			if (choices[i].values[v][0] && strlen(choices[i].values[v]) == len - name - 1 &&
			    strncmp(value, choices[i].values[v], len - name - 1) == 0) {
				((unsigned char *)c)[choices[i].offset] = v;
				return NULL;
			}
	}
	return "the choices of cashmere are levels=1 or 2, writes=twin or stores, updates=write, message or doubling, "
	       "home=first-touch or migrate, and local=diff or shootdown, separated by commas";
}

static const char *variant_senseless(const struct cash_variant *c)
{
	if (c->levels == 1 && c->local == CASH_LOCAL_SHOOTDOWN)
		return "with one level no page has other local writers to shoot down: leave out local=shootdown, or "
		       "ask for levels=2";
	if ((c->writes == CASH_WRITES_STORES) != (c->updates == CASH_UPDATES_DOUBLING))
		return "stores are what is doubled: ask for both writes=stores and updates=doubling, or for neither";
	if (c->writes == CASH_WRITES_STORES && (c->levels == 2 || c->home == CASH_HOME_MIGRATE))
		return "a node without twins has one processor, and homes that stay: writes=stores goes with levels=1 "
		       "and "
		       "home=first-touch";
	return NULL;
}

const struct tw_protocol *cash_member(const char *text, const char **why)
{
	static struct cash_variant c;
	static char name[sizeof("cashmere:") + 112];
	static struct tw_protocol member;

	c = variant_2l;
	for (const char *at = text; *at; at += *at == ',') {
		size_t len = strcspn(at, ",");
		if ((*why = choice_set(&c, at, len)))
			return NULL;
		at += len;
	}
	if ((*why = variant_senseless(&c)))
		return NULL;
	snprintf(name, sizeof(name), "cashmere:%.110s", text);
	member =
	    (struct tw_protocol)CASH_MEMBER(name, "a member of the Cashmere family, by its choices", variant_flags(&c),
	                                    &c, c.writes == CASH_WRITES_STORES ? cash_stored : NULL);
	return &member;
}
