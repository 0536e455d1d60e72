/* SPDX-License-Identifier: BSD-3-Clause */
/* node.c - collectives of a team that use the memory shared within its nodes.
 *
 * Each PE has a board: lines of the team's control memory that only it writes and its node's other PEs read.
 *
 *     show[2]     its number of shows, and a few bytes; in turns
 *     release[2]  of a leader: the show after which the others may continue, and a few bytes; in turns
 *     said        the number of broadcasts in the node, and where to read the last one's data
 *     done        the last broadcast whose data it has read
 *
 * A show concerns all of the node: each PE sees either the shows of all others, or the leader's release, which follows
 * the leader's seeing all.  So a PE that shows again knows that all have begun the previous show, and hence have read
 * the one before that: two lines are enough.  Numbers only rise. */
#include "pgas/shmem/collective/collective.h"

#define BOARD_BYTES 48u
#define NODE_ALL    8u              /* up to so many PEs each read all boards; more PEs only read their leader's */
#define NODE_PULL   ((size_t)16384) /* data of longer broadcasts is read by the receivers, concurrently */
#define NODE_TREE4  ((size_t)8192)  /* up to this size, leaders send to three others per round */
#define NODE_SPREAD ((size_t)4096)
#define NODE_DOUBLE ((size_t)4096)

struct board {
	_Atomic uint64_t number;
	size_t at;
	_Alignas(16) char data[BOARD_BYTES];
};

enum { BOARD_SHOW = SET_BOARD, BOARD_RELEASE = SET_BOARD + 2, BOARD_SAID = SET_BOARD + 4, BOARD_DONE };

static struct board *node_board(const struct sh_set *set, unsigned i, unsigned line)
{
	return (struct board *)(void *)(tw_segment_near(set_pe(set, i)) + set->words + line * SH_WORD_BYTES);
}

static struct board *node_await(const struct sh_set *set, unsigned i, unsigned line, uint64_t number)
{
	struct board *board = node_board(set, i, line);

	for (struct tw_nap nap = tw_segment_nap_for(set_pe(set, i));
	     atomic_load_explicit(&board->number, memory_order_acquire) < number;)
		tw_segment_nap(&nap);
	return board;
}

/* Write a line of this PE's board, and wake the PEs that may wait for it. */
static void node_write(const struct sh_set *set, unsigned line, uint64_t number, size_t at, const void *data,
                       size_t bytes)
{
	struct board *board = node_board(set, set->me, line);

	board->at = at;
	if (bytes)
		memcpy(board->data, data, bytes);
	atomic_store_explicit(&board->number, number, memory_order_release);
	atomic_thread_fence(memory_order_seq_cst);
	for (unsigned i = set->groups->first; i < set->groups->first + set->groups->locals; i++)
		if (i != set->me)
			tw_segment_nudge(tw_segment_near(set_pe(set, i)));
}

static bool node_leads(const struct sh_set *set)
{
	return set->me == set->groups->first;
}

static void node_show(const struct sh_set *set, size_t at, const void *data, size_t bytes)
{
	uint64_t number = ++set->team->shows;

	node_write(set, BOARD_SHOW + number % 2, number, at, data, bytes);
}

/* The show of the set's @i-th PE, of this node. */
static const struct board *node_see(const struct sh_set *set, unsigned i)
{
	return node_await(set, i, BOARD_SHOW + set->team->shows % 2, set->team->shows);
}

/* First wait for the PEs on this core: they cannot show while this PE runs. */
static void node_see_beside(const struct sh_set *set)
{
	for (unsigned i = 0; tw_segment.crowded && i < set->groups->locals; i++)
		if (tw_segment_beside(set_pe(set, set->groups->first + i)))
			node_see(set, set->groups->first + i);
}

static void node_see_all(const struct sh_set *set)
{
	node_see_beside(set);
	for (unsigned i = 0; i < set->groups->locals; i++)
		node_see(set, set->groups->first + i);
}

/* node_release - by the leader, when it has seen all shows.  node_released - by the others; returns the leader's
 * board. */
static void node_release(const struct sh_set *set, size_t at, const void *data, size_t bytes)
{
	uint64_t number = set->team->shows;

	if (set->groups->locals > 1)
		node_write(set, BOARD_RELEASE + number % 2, number, at, data, bytes);
}

static const struct board *node_released(const struct sh_set *set)
{
	uint64_t number = set->team->shows;

	return node_await(set, set->groups->first, BOARD_RELEASE + number % 2, number);
}

static void node_sync(const struct sh_set *set)
{
	node_show(set, 0, NULL, 0);
	if (set->groups->locals <= NODE_ALL) {
		node_see_all(set);
		return;
	}
	if (!node_leads(set)) {
		node_released(set);
		return;
	}
	node_see_all(set);
	node_release(set, 0, NULL, 0);
}

void sync_node(SH_SYNC_ARGS)
{
	if (set->groups->nodes == 1) {
		node_sync(set);
		return;
	}
	node_show(set, 0, NULL, 0);
	if (!node_leads(set)) {
		node_released(set);
		return;
	}
	struct sh_level leaders = level_leaders(set);
	node_see_all(set);
	level_sync(&leaders);
	node_release(set, 0, NULL, 0);
}

/* ---- broadcast ---- */

/* From the set's @from-th PE to the others of its node: it puts, or, for much data, the others read.  After a put it
 * does not wait, so others may still poll the line when the next broadcast writes it; in that case they read only the
 * number. */
static void node_cast(const struct sh_set *set, void *dest, const void *source, size_t bytes, unsigned from)
{
	const struct sh_groups *g = set->groups;
	uint64_t number = ++set->team->said;

	if (g->locals == 1)
		return;
	bool take = bytes > NODE_PULL && g->locals > 2;
	if (set->me != from) {
		const struct board *said = node_await(set, from, BOARD_SAID, number);
		if (!take)
			return;
		if (said->at != SIZE_MAX) {
			memcpy(dest, tw_segment_near(set_pe(set, from)) + said->at, bytes);
			tw_segment_copied(bytes);
		}
		node_write(set, BOARD_DONE, number, 0, NULL, 0);
		return;
	}
	size_t at = take ? sh_find(source, bytes) : SIZE_MAX;
	for (unsigned i = g->first; at == SIZE_MAX && i < g->first + g->locals; i++)
		if (i != from)
			sh_put(SHMEM_CTX_DEFAULT, set_pe(set, i), dest, source, bytes);
	node_write(set, BOARD_SAID, number, at, NULL, 0);
	for (unsigned i = g->first; take && i < g->first + g->locals; i++)
		if (i != from)
			node_await(set, i, BOARD_DONE, number);
}

/* Within the root's node, then between leaders, then within the other nodes. */
void broadcast_node(SH_BROADCAST_ARGS)
{
	const struct sh_groups *g = set->groups;
	unsigned home = 0;

	while (g->leader[home + 1] <= root)
		home++;
	bool first = g->node == home && root != g->first; /* the root's leader receives it from the root */
	if (first)
		node_cast(set, dest, source, bytes, root);
	if (g->nodes > 1 && node_leads(set)) {
		struct sh_level leaders = level_leaders(set);
		level_tree(&leaders, dest, first ? dest : source, bytes, home, bytes <= NODE_TREE4 ? 4 : 2);
	}
	if (!first)
		node_cast(set, dest, set->me == root ? source : dest, bytes, g->first);
}

/* ---- fcollect, alltoall ---- */

/* Between nodes: each PE puts its block into its leader's dest; the leaders complete theirs; the others copy from
 * it. */
static void fcollect_nodes(SH_FCOLLECT_ARGS)
{
	unsigned leader = set->groups->first;
	size_t all = set->size * bytes;

	sh_put(SHMEM_CTX_DEFAULT, set_pe(set, leader), dest + set->me * bytes, source, bytes);
	node_show(set, 0, NULL, 0);
	if (node_leads(set)) {
		struct sh_level leaders = level_leaders(set);
		node_see_all(set);
		if (all <= NODE_SPREAD * leaders.n) /* the same on all leaders */
			level_spread(&leaders, dest, bytes);
		else
			level_ring(&leaders, dest, bytes);
		node_release(set, 0, NULL, 0);
	} else {
		node_released(set);
		sh_get(SHMEM_CTX_DEFAULT, set_pe(set, leader), dest, dest, all, true);
	}
	if (set->groups->locals > 1)
		node_sync(set);
}

void fcollect_node(SH_FCOLLECT_ARGS)
{
	if (!bytes)
		return;
	if (set->groups->nodes > 1) {
		fcollect_nodes(set, dest, source, bytes);
		return;
	}
	if (bytes > BOARD_BYTES) {
		for (unsigned i = 0; i < set->size; i++)
			sh_put(SHMEM_CTX_DEFAULT, set_pe(set, (set->me + i) % set->size), dest + set->me * bytes,
			       source, bytes);
		node_sync(set);
		return;
	}
	node_show(set, 0, source, bytes);
	node_see_beside(set);
	for (unsigned i = 0; i < set->size; i++)
		memcpy(dest + i * bytes, node_see(set, i)->data, bytes);
}

void alltoall_node(SH_ALLTOALL_ARGS)
{
	size_t bytes = sh_bytes(n, size);

	if (set->groups->nodes > 1 || dst != 1 || sst != 1 || bytes > BOARD_BYTES / set->size) {
		alltoall_flat(set, dest, source, dst, sst, n, size);
		return;
	}
	if (!bytes)
		return;
	node_show(set, 0, source, bytes * set->size);
	node_see_beside(set);
	for (unsigned i = 0; i < set->size; i++)
		memcpy(dest + i * bytes, node_see(set, i)->data + set->me * bytes, bytes);
}

/* ---- reductions ---- */

/* Reduce the leaders' @n elements at @dest. */
static void reduce_leaders(const struct sh_set *set, char *dest, size_t n, size_t size, sh_reduce_op op)
{
	struct sh_level leaders = level_leaders(set);
	bool ring = leaders.n > 2 && leaders.n <= LEVEL_RING_MOST && n * size > NODE_DOUBLE;
	size_t most = (ring ? LEVEL_RING_BYTES : level_double_most(&leaders)) / size;

	for (size_t part, at = 0; at < n; at += part) {
		size_t turn = SCRATCH_SEND + set->team->turn++ % 2, scratch = set->scratch + turn * set->scratch_bytes;
		part = TW_MIN(n - at, most);
		if (ring)
			level_ring_reduce(&leaders, dest + at * size, part, size, op, scratch);
		else
			level_double(&leaders, dest + at * size, part, size, op, scratch);
	}
}

/* A few bytes, on the boards. */
static void reduce_small(SH_REDUCE_ARGS)
{
	const struct sh_groups *g = set->groups;
	size_t bytes = n * size;
	_Alignas(16) char result[BOARD_BYTES];

	node_show(set, 0, source, bytes);
	if (g->nodes > 1 && !node_leads(set)) {
		memcpy(dest, node_released(set)->data, bytes);
		return;
	}
	node_see_beside(set);
	memcpy(result, node_see(set, g->first)->data, bytes);
	for (unsigned i = 1; i < g->locals; i++)
		op(result, result, node_see(set, g->first + i)->data, n);
	if (g->nodes > 1) {
		reduce_leaders(set, result, n, size, op);
		node_release(set, 0, result, bytes);
	}
	memcpy(dest, result, bytes);
}

/* One part: each PE shows where its elements are; in the source itself if that is possible. */
static void reduce_part(const struct sh_set *set, char *dest, const char *source, size_t n, size_t size,
                        sh_reduce_op op, size_t at)
{
	const struct sh_groups *g = set->groups;
	size_t bytes = n * size, result = set->scratch + SCRATCH_RESULT * set->scratch_bytes;

	if (at == SIZE_MAX) {
		at = set->scratch + (SCRATCH_SHOW + (set->team->shows + 1) % 2) * set->scratch_bytes;
		memcpy(tw_segment.base + at, source, bytes);
	}
	node_show(set, at, NULL, 0);
	if (g->nodes > 1 && !node_leads(set)) {
		node_released(set);
		memcpy(dest, tw_segment_near(set_pe(set, g->first)) + result, bytes);
		tw_segment_copied(bytes);
		return;
	}
	node_see_beside(set);
	for (unsigned i = 0; i < g->locals; i++) {
		const char *from = tw_segment_near(set_pe(set, g->first + i)) + node_see(set, g->first + i)->at;
		tw_segment_copied(bytes);
		if (i == 0)
			memcpy(dest, from, bytes);
		else
			op(dest, dest, from, n);
	}
	if (g->nodes == 1)
		return;
	reduce_leaders(set, dest, n, size, op);
	if (g->locals > 1)
		memcpy(tw_segment.base + result, dest, bytes);
	node_release(set, 0, NULL, 0);
}

void reduce_node(SH_REDUCE_ARGS)
{
	size_t whole = n * size, most = SH_SCRATCH / size, where = dest == source ? SIZE_MAX : sh_find(source, whole);

	if (whole <= BOARD_BYTES) {
		if (n)
			reduce_small(set, dest, source, n, size, op);
		return;
	}
	for (size_t part, at = 0; at < n; at += part) {
		part = TW_MIN(n - at, most);
		reduce_part(set, (char *)dest + at * size, (const char *)source + at * size, part, size, op,
		            where == SIZE_MAX ? SIZE_MAX : where + at * size);
	}
	if (set->groups->nodes == 1) /* sources may change once all have been read */
		node_sync(set);
}
