/* SPDX-License-Identifier: BSD-3-Clause */
/* collective.h - the elements of collectives over a set of PEs.
 *
 * A set is a team or an active set.  Its PEs of one node are consecutive; the first of them is the node's *leader*.
 * The algorithms of level.c run over a *level*: all PEs of the set, or its leaders.  node.c does what happens inside a
 * node, through its memory.
 *
 * Signal words are in control memory of the team, or in the caller's pSync, on each PE.  Each word has one sender,
 * always the same one for a given receiver: it is a function of their distance in the level, never of an argument such
 * as the root.  So signals of a sender that is one collective ahead are not mistaken for those of a slower one, and
 * algorithms may use the same words in any order. */
#ifndef TW_PGAS_SHMEM_COLLECTIVE_H
#define TW_PGAS_SHMEM_COLLECTIVE_H

#include "pgas/shmem/shmem_impl.h"

/* Words of a level of at most 2^14 PEs: of the distances 1, 2, 3 times 4^l; of the scan; of partners whose numbers
 * differ in one bit; of the PEs beyond a power of two, to and from them.  The leaders' level begins at SET_LEADERS. */
enum {
	SET_DISTANCE = 0,
	SET_SCAN = 21,
	SET_PARTNER = 35,
	SET_FOLD = 49,
	SET_UNFOLD = 50,
	SET_LEADERS = 64,
	SET_BOARD = 120, /* lines of node.c */
};

/* Distribution of a set's PEs over the nodes.  Shared by all sets of that shape, and kept. */
struct sh_groups {
	struct sh_groups *next;
	unsigned start, size;
	int stride;
	unsigned nodes, node;   /* nodes that have PEs of the set; this PE's index among them */
	unsigned first, locals; /* the set's PEs of this node, as numbers in the set */
	unsigned leader[];      /* [nodes + 1]; the last is size */
};

struct sh_set {
	struct shmem_team *team;        /* NULL: an active set that is not a team */
	const struct sh_groups *groups; /* NULL in that case, too */
	unsigned start, size, me;
	int stride;
	size_t words, word_bytes;      /* offset and stride in the segment */
	size_t scratch, scratch_bytes; /* for reductions; a team has five, adjacent */
};

/* A team's scratches: shown by PEs to their node, two in turns; sent by leaders, two in turns; the result. */
enum { SCRATCH_SHOW = 0, SCRATCH_SEND = 2, SCRATCH_RESULT = 4 };

/* set_of_team - the team's set.  set_of_active - for the deprecated collectives, after set_active_mine; @work of
 * @work_bytes is pWrk, or NULL.  An active set of all PEs, or of all PEs of this node, is the predefined team, unless
 * several threads may call collectives of it. */
struct sh_set set_of_team(struct shmem_team *team);
/* set_active_mine - is this PE in the active set?  Ends the job if the set is not valid. */
bool set_active_mine(int start, int log_stride, int size);
struct sh_set set_of_active(int start, int log_stride, int size, long *sync, void *work, size_t work_bytes);

static inline unsigned set_pe(const struct sh_set *set, unsigned i)
{
	return set->start + (unsigned)set->stride * i;
}

/* set_signal - signal @word of the set's @i-th PE, which sees this PE's earlier puts to it first.
 * set_deliver - put @bytes of @source at @at there, then signal.
 * set_wait - wait for one signal of the @i-th PE. */
void set_signal(const struct sh_set *set, unsigned i, unsigned word);
void set_deliver(const struct sh_set *set, unsigned i, size_t at, const void *source, size_t bytes, unsigned word);
void set_wait(const struct sh_set *set, unsigned i, unsigned word);
/* set_send, set_receive - transfer a number through @word, which has no other use.  At most one until the set's next
 * sync. */
void set_send(const struct sh_set *set, unsigned i, unsigned word, uint64_t value);
uint64_t set_receive(const struct sh_set *set, unsigned i, unsigned word);
/* set_scan - the sum of @value over the preceding PEs. */
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

/* level_leaders - called by a leader. */
static inline struct sh_level level_leaders(const struct sh_set *set)
{
	return (struct sh_level){.set = set,
	                         .n = set->groups->nodes,
	                         .me = set->groups->node,
	                         .at = set->groups->leader,
	                         .words = SET_LEADERS};
}

/* into[i] = first[i] op second[i] for @n elements.  @into may be @first or @second. */
typedef void (*sh_reduce_op)(void *into, const void *first, const void *second, size_t n);

/* level_sync - synchronize, by dissemination.
 * level_tree - @source of the @root-th to @dest of the others, along a tree in which a PE sends to @k - 1 others per
 * round; @k is 2 or 4.
 * level_ring - distribute [at[i], at[i + 1]) x @bytes of @dest, of the i-th, to all: n - 1 steps around a ring.
 * level_spread - the same; each sends to all.
 * level_double - reduce @n elements of @dest, at most level_double_most() bytes, over all PEs by recursive doubling.
 * level_ring_reduce - the same for at most LEVEL_RING_BYTES and LEVEL_RING_MOST PEs: blocks circulate twice, first to
 * be reduced, then to be distributed. */
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
 * sync: returns after all PEs have called it.  Completes no operations.
 * broadcast: @source of the @root-th to @dest of the others; the caller copies on the root itself.
 * collect: @bytes of each PE, concatenated, in @dest on all; @before: the bytes before this PE's.  fcollect: equal
 * @bytes.
 * alltoall: @n elements of @size from each to each, @dst and @sst elements apart.
 * reduce: @n elements of @size; @dest may be @source.
 * The algorithms of level.c and flat.c suit every set.  Those of node.c, and the doubling and ring reductions, suit
 * only teams. */
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

/* The algorithm that the table selects (table.h). */
void set_sync(SH_SYNC_ARGS);

/* set_arrive - between puts of @n PEs to each other and their sync, after which the puts must have arrived.  With two
 * PEs no quiet is needed: the sync's signal goes where the puts went, after them. */
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
