/* SPDX-License-Identifier: BSD-3-Clause */
/* table.c - the table of algorithms. */
#include "pgas/shmem/collective/table.h"

#include <stdio.h>

#include "pgas/shmem/collective/collective.h"

/* clang-format off */
#define RUN(f) (void (*)(void))f
enum { CALL_SYNC, CALL_BROADCAST, CALL_FCOLLECT, CALL_ALLTOALL, CALL_REDUCE, CALLS };
static const char *const table_calls[CALLS] = {"sync", "broadcast", "fcollect", "alltoall", "reduce"};

const struct sh_rule sh_rules[] = {
	{"sync", "node", true, SIZE_MAX, "boards in a node, dissemination between leaders", RUN(sync_node)},
	{"sync", "dissemination", false, SIZE_MAX, "log2 rounds of signals", RUN(sync_dissemination)},
	{"broadcast", "node", true, SIZE_MAX, "a tree between leaders, puts or copies in a node", RUN(broadcast_node)},
	{"broadcast", "tree4", false, 8192, "a tree whose PEs send to three in each level", RUN(broadcast_tree4)},
	{"broadcast", "tree2", false, SIZE_MAX, "a binomial tree", RUN(broadcast_tree2)},
	{"fcollect", "node", true, SIZE_MAX, "boards or puts in a node; leaders: each to all up to 4 KiB, then a ring", RUN(fcollect_node)},
	{"fcollect", "flat", false, 4096, "each puts to all", RUN(fcollect_flat)},
	{"fcollect", "ring", false, SIZE_MAX, "from neighbour to neighbour", RUN(fcollect_ring)},
	{"alltoall", "node", true, SIZE_MAX, "boards in a node, else flat", RUN(alltoall_node)},
	{"alltoall", "flat", false, SIZE_MAX, "each puts to all", RUN(alltoall_flat)},
	{"reduce", "node", true, SIZE_MAX, "a node's memory; leaders: recursive doubling up to 4 KiB, then a ring", RUN(reduce_node)},
	{"reduce", "doubling", true, 4096, "recursive doubling", RUN(reduce_doubling)},
	{"reduce", "ring", true, SIZE_MAX, "blocks go round twice", RUN(reduce_ring)},
	{"reduce", "flat", false, SIZE_MAX, "each reads all", RUN(reduce_flat)},
	{0},
};
/* clang-format on */

static const struct sh_rule *table_first[CALLS], *table_forced[CALLS];

static int table_call(const char *name, size_t len)
{
	for (int call = 0; call < CALLS; call++)
		if (strlen(table_calls[call]) == len && !memcmp(table_calls[call], name, len))
			return call;
	return -1;
}

bool sh_rules_choose(const char *text, char *wrong, size_t wrong_bytes)
{
	while (*text) {
		size_t len = strcspn(text, ","), call_len = strcspn(text, "=,");
		const struct sh_rule *rule = sh_rules;
		int call = table_call(text, call_len);
		while (rule->call && !(call >= 0 && !strcmp(rule->call, table_calls[call]) && call_len < len &&
		                       strlen(rule->algorithm) == len - call_len - 1 &&
		                       !memcmp(rule->algorithm, text + call_len + 1, len - call_len - 1)))
			rule++;
		if (!rule->call) {
			snprintf(wrong, wrong_bytes, "%.*s", (int)len, text);
			return false;
		}
		table_forced[call] = rule;
		text += len;
		text += *text == ',';
	}
	return true;
}

void sh_rules_open(void)
{
	char wrong[64];

	for (const struct sh_rule *rule = sh_rules + sizeof(sh_rules) / sizeof(sh_rules[0]) - 1; rule-- > sh_rules;)
		table_first[table_call(rule->call, strlen(rule->call))] = rule;
	if (tw_segment.collectives && !sh_rules_choose(tw_segment.collectives, wrong, sizeof(wrong)))
		tw_fatal("TWEED_COLLECTIVES: '%s' " SH_RULES_MEAN, wrong);
}

/* The row for @bytes of each PE.  Each call's last row suits any number of bytes and any set. */
static const struct sh_rule *table_find(const struct sh_set *set, int call, size_t bytes)
{
	const struct sh_rule *rule = table_forced[call];

	if (rule && (set->team || !rule->teams))
		return rule;
	for (rule = table_first[call]; (rule->teams && !set->team) || bytes > rule->bytes;)
		rule++;
	return rule;
}

#define TABLE_RUN(CALL, BYTES, ARGS, ...) ((void (*)(ARGS))table_find(set, CALL, BYTES)->run)(__VA_ARGS__)

void set_sync(SH_SYNC_ARGS)
{
	TABLE_RUN(CALL_SYNC, 0, SH_SYNC_ARGS, set);
}

void set_broadcast(SH_BROADCAST_ARGS)
{
	TABLE_RUN(CALL_BROADCAST, bytes, SH_BROADCAST_ARGS, set, dest, source, bytes, root);
}

void set_fcollect(SH_FCOLLECT_ARGS)
{
	TABLE_RUN(CALL_FCOLLECT, bytes, SH_FCOLLECT_ARGS, set, dest, source, bytes);
}

void set_alltoall(SH_ALLTOALL_ARGS)
{
	TABLE_RUN(CALL_ALLTOALL, sh_bytes(n, size), SH_ALLTOALL_ARGS, set, dest, source, dst, sst, n, size);
}

void set_reduce(SH_REDUCE_ARGS)
{
	TABLE_RUN(CALL_REDUCE, sh_bytes(n, size), SH_REDUCE_ARGS, set, dest, source, n, size, op);
}
