/* SPDX-License-Identifier: BSD-3-Clause */
/* collective.h - collectives over a set of PEs: what algorithms are made of.
 *
 * A set is a team or an active set.  Its PEs of a node are consecutive, the first of them is the node's *leader*.  An algorithm of level.c
 * runs over a *level*: all PEs of the set, or its leaders; node.c is what happens inside a node, through its memory.
 *
 * Signal words are in control memory of the team, or in the caller's pSync, on each PE.  Each word has one sender, always the same one for a
 * receiver: a function of their distance in the level, never of an argument such as the root.  So signals of a sender that is one collective
 * ahead are not taken for those of a slower one, and any order of algorithms may use the same words. */
#ifndef TW_PGAS_SHMEM_COLLECTIVE_H
#define TW_PGAS_SHMEM_COLLECTIVE_H

#include "pgas/shmem/shmem_impl.h"

/* Words of a level, for at most 2^14 PEs: those of the distances 1, 2, 3 times 4^l; of the scan; of partners that differ in one bit; of what
 * does not fit a power of two, there and back.  A second level begins at SET_LEADERS. */
enum {
	SET_DISTANCE = 0,
	SET_SCAN = 21,
	SET_PARTNER = 35,
	SET_FOLD = 49,
	SET_UNFOLD = 50,
	SET_LEADERS = 64,
	SET_BOARD = 120, /* lines of node.c */
};

/* How the PEs of a set lie on the nodes.  Shared by all sets of that shape, and kept. */
struct sh_groups {
	struct sh_groups *next;
	unsigned start, size;
	int stride;
	unsigned nodes, node;   /* that have PEs of the set; this PE's among them */
	unsigned first, locals; /* the set's PEs of this node, as numbers of the set */
	unsigned leader[];      /* [nodes + 1]; the last is size */
};

struct sh_set {
	struct shmem_team *team;        /* NULL: an active set that is no team */
	const struct sh_groups *groups; /* NULL as well */
	unsigned start, size, me;
	int stride;
	size_t words, word_bytes;      /* where they are in the segment */
	size_t scratch, scratch_bytes; /* for reductions; a team has five, one behind the other */
};

/* Of a team's scratches: what a node's PEs show each other, what leaders send each other, each in turns; the result. */
enum { SCRATCH_SHOW = 0, SCRATCH_SEND = 2, SCRATCH_RESULT = 4 };

/* set_of_team; set_of_active - of the deprecated collectives, for which set_active_mine: @work of @work_bytes is pWrk, or NULL.  An active set of all PEs, or of
 * all of this node, is the predefined team, unless several threads may be in collectives of it. */
struct sh_set set_of_team(struct shmem_team *team);
/* set_active_mine - is this PE in the active set?  Ends the job if there is none such. */
bool set_active_mine(int start, int log_stride, int size);
struct sh_set set_of_active(int start, int log_stride, int size, long *sync, void *work, size_t work_bytes);

static inline unsigned set_pe(const struct sh_set *set, unsigned i)
{
	return set->start + (unsigned)set->stride * i;
}

/* set_signal - of @word to the set's @i-th; puts to it before are seen first.  set_deliver - the same, after @bytes of @source are put at @at.
 * set_wait - for one of the @i-th's at this PE. */
void set_signal(const struct sh_set *set, unsigned i, unsigned word);
void set_deliver(const struct sh_set *set, unsigned i, size_t at, const void *source, size_t bytes, unsigned word);
void set_wait(const struct sh_set *set, unsigned i, unsigned word);
/* set_send, set_receive - a number, through @word, which is used for nothing else; until the set's next sync there may be no other. */
void set_send(const struct sh_set *set, unsigned i, unsigned word, uint64_t value);
uint64_t set_receive(const struct sh_set *set, unsigned i, unsigned word);
/* set_scan - the sum of @value over the PEs before this one. */
size_t set_scan(const struct sh_set *set, size_t value);

/* ---- levels: between any PEs ---- */

struct sh_level {
	const struct sh_set *set;
	unsigned n, me;
	const unsigned *at; /* their numbers in the set; NULL: all, in order */
	unsigned words;
};

static inline struct sh_level level_all(const struct sh_set *set)
{
	return (struct sh_level){.set = set, .n = set->size, .me = set->me};
}

/* level_leaders - for a leader. */
static inline struct sh_level level_leaders(const struct sh_set *set)
{
	return (struct sh_level){.set = set,
	                         .n = set->groups->nodes,
	                         .me = set->groups->node,
	                         .at = set->groups->leader,
	                         .words = SET_LEADERS};
}

/* What is done to @n elements: into[i] = first[i] op second[i].  @into may be @first or @second. */
typedef void (*sh_reduce_op)(void *into, const void *first, const void *second, size_t n);

/* level_sync - by dissemination.
 * level_tree - @source of the @root-th to @dest of the others, along a tree whose PEs send to @k - 1 in each of their levels; 2 or 4.
 * level_ring - [@at[i], @at[i + 1]) x @bytes of @dest from the i-th to all: n - 1 steps, from neighbour to neighbour.
 * level_spread - the same, each to all.
 * level_double - @n elements of @dest, at most level_double_most(): reduced with those of all, by recursive doubling.
 * level_ring_reduce - the same, at most LEVEL_RING_BYTES and LEVEL_RING_MOST PEs: blocks go round twice, to be reduced and to be known. */
#define LEVEL_RING_BYTES (SH_SCRATCH / 4)
#define LEVEL_RING_MOST  64u
void level_sync(const struct sh_level *level);
void level_tree(const struct sh_level *level, void *dest, const void *source, size_t bytes, unsigned root, unsigned k);
void level_ring(const struct sh_level *level, char *dest, size_t bytes);
void level_spread(const struct sh_level *level, char *dest, size_t bytes);
size_t level_double_most(const struct sh_level *level);
void level_double(const struct sh_level *level, void *dest, size_t n, size_t size, sh_reduce_op op, size_t scratch);
void level_ring_reduce(const struct sh_level *level, void *dest, size_t n, size_t size, sh_reduce_op op,
                       size_t scratch);

/* ---- algorithms ----
 *
 * All pointers are checked; dest of broadcast, collect and alltoall is symmetric.
 * sync: nobody returns before all have come.  It completes nothing.
 * broadcast: @source of the @root-th to @dest of the others; the root's own is the caller's.
 * collect: @bytes of each, one behind the other, to everyone's @dest; @before is what comes before this PE's.  fcollect: @bytes are equal.
 * alltoall: @n elements of @size from each to each, @dst and @sst elements apart.
 * reduce: @n elements of @size; @dest may be @source.
 * Those of level.c and flat.c suit every set, those of node.c and the doubling and ring reductions teams alone. */
#define SH_SYNC_ARGS      const struct sh_set *set
#define SH_BROADCAST_ARGS const struct sh_set *set, void *dest, const void *source, size_t bytes, unsigned root
#define SH_COLLECT_ARGS   const struct sh_set *set, char *dest, const void *source, size_t bytes, size_t before
#define SH_FCOLLECT_ARGS  const struct sh_set *set, char *dest, const void *source, size_t bytes
#define SH_ALLTOALL_ARGS                                                                                               \
	const struct sh_set *set, char *dest, const char *source, ptrdiff_t dst, ptrdiff_t sst, size_t n, size_t size
#define SH_REDUCE_ARGS const struct sh_set *set, void *dest, const void *source, size_t n, size_t size, sh_reduce_op op

void sync_dissemination(SH_SYNC_ARGS);
void sync_node(SH_SYNC_ARGS);
void broadcast_tree2(SH_BROADCAST_ARGS);
void broadcast_tree4(SH_BROADCAST_ARGS);
void broadcast_node(SH_BROADCAST_ARGS);
void collect_flat(SH_COLLECT_ARGS);
void fcollect_flat(SH_FCOLLECT_ARGS);
void fcollect_ring(SH_FCOLLECT_ARGS);
void fcollect_node(SH_FCOLLECT_ARGS);
void alltoall_flat(SH_ALLTOALL_ARGS);
void alltoall_node(SH_ALLTOALL_ARGS);
void reduce_flat(SH_REDUCE_ARGS);
void reduce_doubling(SH_REDUCE_ARGS);
void reduce_ring(SH_REDUCE_ARGS);
void reduce_node(SH_REDUCE_ARGS);

/* The same, by what the table says (table.h). */
void set_sync(SH_SYNC_ARGS);

/* set_arrive - after puts of @n PEs to each other, before their sync, at whose end the puts are to have arrived.  Of two, a sync's signal
 * goes to where the puts went, and behind them. */
static inline void set_arrive(unsigned n)
{
	if (n == 2)
		tw_segment_fence();
	else
		tw_segment_quiet();
}
void set_broadcast(SH_BROADCAST_ARGS);
void set_fcollect(SH_FCOLLECT_ARGS);
void set_alltoall(SH_ALLTOALL_ARGS);
void set_reduce(SH_REDUCE_ARGS);

#endif
