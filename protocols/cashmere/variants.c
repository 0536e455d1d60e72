/* SPDX-License-Identifier: BSD-3-Clause */
/* variants.c - the Cashmere family: one skeleton and its parameters; a variant is a line of the table (sections 2.2 and
 * 2.6).  Any other one is named by its parameters: "2L:updates=message,home=migrate". */
#include "protocols/cashmere/cashmere.h"

TW_CHOICES(writes_names, "twin", "stores")
TW_CHOICES(updates_names, "write", "message", "doubling")
TW_CHOICES(home_names, "first-touch", "migrate")
TW_CHOICES(local_names, "diff", "shootdown")
TW_CHOICES(switch_names, "off", "on")

static struct cash_parameters variant_values;
static const struct tw_setting variant_parameters[] = {
    {"levels", TW_NUMBER(struct cash_parameters, levels, 1, 2), .initial = "2",
     .help = "2: the processors of a node share its copies; 1: every processor is a node of its own"},
    {"writes", TW_CHOICE(struct cash_parameters, writes, writes_names), .initial = "twin",
     .help = "how writes are found: by comparing with a twin, or as stores that tweed cc announces"},
    {"updates", TW_CHOICE(struct cash_parameters, updates, updates_names), .initial = "write",
     .help = "how they travel: remote writes of diffs, messages that the home's agent applies, or each store again"},
    {"home", TW_CHOICE(struct cash_parameters, home, home_names), .initial = "first-touch",
     .help = "a page's home stays, or migrates to the active writer"},
    {"local", TW_CHOICE(struct cash_parameters, local, local_names), .initial = "diff",
     .help = "local writers of a page that is fetched: the two-way diff keeps their writes, or they are shot down"},
    {"retention", TW_NUMBER(struct cash_parameters, retention, 0, 255), .initial = "3",
     .help = "most releases that leave a rewritten page writable without a change found; 0: none"},
    {"refresh", TW_NUMBER(struct cash_parameters, refresh, 0, 255), .initial = "8",
     .help = "most times that acquires update a fetched page in place before one unmaps it; 0: always unmap"},
    {"windows", TW_CHOICE(struct cash_parameters, windows, switch_names), .initial = "on",
     .help = "faults on neighbouring pages take growing windows of TWEED_PREFETCH pages at most"},
    {"runs", TW_CHOICE(struct cash_parameters, runs, switch_names), .initial = "on",
     .help = "pages that came together the last time come together again"},
    {"behind", TW_CHOICE(struct cash_parameters, behind, switch_names), .initial = "on",
     .help = "long runs of writes are flushed behind the writer, before the release"},
    {"replay", TW_CHOICE(struct cash_parameters, replay, switch_names), .initial = "on",
     .help = "pages that faulted in the same interval of three steps are taken at the barrier before"},
    {"migratory", TW_CHOICE(struct cash_parameters, migratory, switch_names), .initial = "on",
     .help = "pages that nodes write in turn are left at the first notice, and given back when a turn ends"},
    {.name = NULL},
};

static unsigned variant_flags(const void *values)
{
	const struct cash_parameters *c = values;

	return (c->levels == 1 ? TW_PROTOCOL_ONE_LEVEL : 0) |
	       (c->home == CASH_HOME_MIGRATE ? TW_PROTOCOL_HOMES_MOVE : 0) |
	       (c->writes == CASH_WRITES_STORES ? TW_PROTOCOL_NEEDS_STORES : 0) |
	       (c->local == CASH_LOCAL_SHOOTDOWN ? TW_PROTOCOL_SHOOTDOWN : 0);
}

static const char *variant_senseless(const struct cash_parameters *c)
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

static const char *variant_refuse(const struct tw_protocol *self, const struct tw_config *config)
{
	const struct cash_parameters *c = self->values;
	const char *senseless = variant_senseless(c);

	if (senseless)
		return senseless;

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
		       "unset it, or use another protocol";
	return NULL;
}

#define CASH_MEMBER(symbol, NAME, VARIANT, SUMMARY)                                                                    \
	const struct tw_protocol tw_protocol_##symbol = {                                                              \
	    .name = NAME,                                                                                              \
	    .summary = SUMMARY,                                                                                        \
	    .flags = TW_PROTOCOL_RACES,                                                                                \
	    .parameters = variant_parameters,                                                                          \
	    .values = &variant_values,                                                                                 \
	    .variant = VARIANT,                                                                                        \
	    .flags_of = variant_flags,                                                                                 \
	    .exported_bytes = cash_exported_bytes,                                                                     \
	    .refuse = variant_refuse,                                                                                  \
	    .init = cash_init,                                                                                         \
	    .fini = cash_fini,                                                                                         \
	    .read_fault = cash_read_fault,                                                                             \
	    .write_fault = cash_write_fault,                                                                           \
	    .prefetch = cash_prefetch,                                                                                 \
	    .freshen = cash_freshen,                                                                                   \
	    .hide = cash_hide,                                                                                         \
	    .pin = cash_pin,                                                                                           \
	    .unpin = cash_unpin,                                                                                       \
	    .acquire = cash_acquire,                                                                                   \
	    .release = cash_release,                                                                                   \
	    .arrive = cash_arrive,                                                                                     \
	    .word_peek = cash_word_peek,                                                                               \
	    .word = cash_word,                                                                                         \
	    .word_done = cash_word_done,                                                                               \
	    .broken = cash_broken,                                                                                     \
	    .noticed = cash_noticed,                                                                                   \
	    .message = cash_message,                                                                                   \
	    .stored = cash_stored,                                                                                     \
	}

CASH_MEMBER(2l, "2L", NULL,
            "Cashmere-2L: two levels, twins and two-way diffs, directory, first-touch homes, exclusive mode");
CASH_MEMBER(2ls, "2LS", "local=shootdown",
            "Cashmere-2LS: as 2L, but local writers are shot down where 2L applies incoming diffs");
CASH_MEMBER(2loffmc, "2LOffMC", "updates=message", "as 2L, but diffs are messages that the home's agent applies");
CASH_MEMBER(2lmigr, "2LMigr", "updates=message,home=migrate", "as 2LOffMC, and homes migrate to the active writer");
CASH_MEMBER(1ld, "1LD", "levels=1", "Cashmere-1LD: every processor a node of its own, diffs");
CASH_MEMBER(1l, "1L", "levels=1,writes=stores,updates=doubling",
            "Cashmere-1L: every processor a node of its own, stores are doubled to the home; for programs built by "
            "tweed cc");
