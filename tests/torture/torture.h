/* SPDX-License-Identifier: BSD-3-Clause */
/* torture.h - random data-race-free programs with an oracle that knows every legal value.
 *
 * Every processor draws the same plan from the seed, so no plan is sent.  Variables of all sizes lie byte by byte
 * beside each other in an arena of shared memory; each is guarded by one discipline (enum guard).  The oracle is a
 * file that all processors map, hence coherent by hardware and independent of Tweed: it holds the version of each
 * variable.  A processor that may read a variable may read its version there, and from (key, version) follows each
 * byte that must be found in the arena: a stale, lost or torn byte is seen at once.
 *
 * The oracle also orders steps where the plan wants a certain interleaving but the program has no synchronization
 * there (soft edges): data-race freedom never rests on them. */
#ifndef TORTURE_H
#define TORTURE_H

#include "tweed/tweed.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>

#define MAX_PROCS   256
#define MAX_VARS    4096
#define MAX_LOCKS   64
#define MAX_BLOCKS  64 /* per processor */
#define MAX_BOXES   8
#define BOX_SLOTS   24
#define MAX_PARCELS 8

/* Words for atomic operations, by use; each has 8 bytes. */
enum {
	COUNTS = 12,
	TOKENS = 4,
	BITS = 8,
	WORD_LOCKS = 0,
	WORD_FLOW = WORD_LOCKS + MAX_LOCKS, /* one of 8 bytes for each processor: every other one */
	WORD_COUNTS = WORD_FLOW + 2 * MAX_PROCS,
	WORD_TOKENS = WORD_COUNTS + COUNTS,
	WORD_BITS = WORD_TOKENS + TOKENS,
	WORDS = WORD_BITS + BITS,
};
#define BIG_BYTES (80u << 10) /* the largest variable or block */

/* ---- random numbers: the plan's are equal on all processors, "mine" differ ------------------------------------- */

struct rng {
	uint64_t state;
};

static inline uint64_t mix(uint64_t z)
{
	z += 0x9e3779b97f4a7c15ull;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}
static inline uint64_t mix2(uint64_t a, uint64_t b)
{
	return mix(mix(a) ^ b);
}
static inline uint64_t rng_next(struct rng *g)
{
	return mix(g->state += 0x9e3779b97f4a7c15ull);
}
static inline unsigned rng_below(struct rng *g, unsigned n)
{
	return (unsigned)((rng_next(g) >> 32) * n >> 32);
}
static inline bool rng_chance(struct rng *g, unsigned percent)
{
	return rng_below(g, 100) < percent;
}
static inline unsigned rng_between(struct rng *g, unsigned low, unsigned high)
{
	return low + rng_below(g, high - low + 1);
}
void shuffle(struct rng *g, unsigned *v, unsigned n);

/* ---- the plan ---------------------------------------------------------------------------------------------------- */

enum guard {
	GUARD_LOCK,  /* only while lock @lock is held, in any phase */
	GUARD_PHASE, /* between two boundaries one processor owns it, or all may read it */
	GUARD_FLOW,  /* ordered by the flags of a task graph */
	GUARDS,
};

struct var {
	uint32_t offset, size; /* in the arena */
	uint32_t lock;
	enum guard guard;
	uint64_t key;
};

/* ---- the oracle -------------------------------------------------------------------------------------------------- */

struct block_truth { /* of one allocated block; changed by its owner */
	_Atomic uint64_t address, size, version;
};

struct oracle {
	_Atomic uint64_t word[MAX_VARS];    /* version << 16 | last writer */
	_Atomic uint32_t holder[MAX_LOCKS]; /* processor + 1 inside the section */
	struct {
		_Atomic uint64_t begun, done; /* sums of what is being added, and was */
	} count[COUNTS];
	_Atomic uint64_t token[TOKENS]; /* what is in the word */
	_Atomic uint64_t arrived;       /* processors that arrived at boundaries, of the seed */
	_Atomic uint64_t group_arrived[MAX_PROCS];
	_Atomic uint64_t progress[MAX_PROCS]; /* steps of task graphs done */
	_Atomic uint64_t signal[MAX_PROCS];   /* value about to be set in the processor's boundary flag */
	_Atomic uint64_t hop[MAX_PARCELS];    /* whose turn a parcel is */
	struct block_truth block[MAX_PROCS][MAX_BLOCKS];
	struct {
		_Atomic uint32_t holder, count;
		_Atomic uint32_t id[BOX_SLOTS];
	} box[MAX_BOXES];
};

/* ---- one run ----------------------------------------------------------------------------------------------------- */

/* Handles, created by one processor and spread by tw_bcast. */
struct handles {
	tw_lock_t lock[MAX_LOCKS], box[MAX_BOXES];
	tw_flag_t flow[MAX_PROCS], bound[MAX_PROCS];
	tw_barrier_t all, leaders, node[MAX_PROCS];
};

struct box_item {
	void *block;
	uint64_t id; /* processor * MAX_BLOCKS + index */
};

/* Shared memory of fixed form. */
struct board {
	struct {
		uint64_t count;
		struct box_item item[BOX_SLOTS];
	} box[MAX_BOXES];
	tw_barrier_t group[MAX_PROCS];
	char *parcel[MAX_PARCELS];
	tw_flag_t parcel_flag[MAX_PARCELS];
	_Alignas(64) uint64_t word[WORDS];
};

struct run {
	unsigned me, count, node, nodes, locals;
	uint64_t seed;
	unsigned ops;       /* per processor and phase */
	unsigned watchdog;  /* seconds */
	struct rng plan;    /* equal on all processors */
	struct rng mine;    /* this processor's, new in every phase */
	unsigned phase, op; /* where we are, for the report */
	const char *phase_name;
	uint64_t generation; /* boundaries passed in this seed */

	unsigned vars, locks, boxes;
	size_t arena_bytes;
	char *arena;
	struct var var[MAX_VARS];
	unsigned of_guard[GUARDS][MAX_VARS], guard_vars[GUARDS]; /* in order of address */
	unsigned of_lock[MAX_VARS], lock_first[MAX_LOCKS + 1];
	uint32_t word[WORDS]; /* offset in the arena; 0: on the board */
	bool words;           /* atomic operations in the place of locks and flags, in this phase */
	bool bit;             /* of this processor (phase_atomics) */
	struct handles h;
	struct board *board;
	struct oracle *oracle;
	uint64_t flow_base[MAX_PROCS]; /* steps of earlier task graphs */
	uint64_t group_base[MAX_PROCS];
	int pipe[2];
};

/* access.c */
void oracle_open(struct run *r);
__attribute__((format(printf, 2, 3), noreturn)) void violation(struct run *r, const char *format, ...);
void content_fill(uint8_t *out, uint64_t key, uint64_t version, size_t size);
/* content_check - the @size bytes at @where must be (key, version)'s. */
void content_check(struct run *r, const char *what, unsigned number, const char *where, uint64_t key, uint64_t version,
                   size_t size, unsigned writer);
/* shared_write - store to shared memory in one of many ways; @bytes is private. */
void shared_write(struct run *r, char *where, const uint8_t *bytes, size_t size);
void var_check(struct run *r, unsigned var);
void var_write(struct run *r, unsigned var);
/* var_touch - check, write, or both, with some luck also bytes that are not there to stay. */
void var_touch(struct run *r, unsigned var, bool may_write);
void rest(struct run *r);
/* boundary - a barrier of all processors, by one of several means. */
void boundary(struct run *r);
/* soft_wait - until the oracle's counter is @value or more; orders nothing for Tweed. */
void soft_wait(_Atomic uint64_t *counter, uint64_t value);

/* plan.c */
void plan_layout(struct run *r);

/* phases.c */
void section_enter(struct run *r, unsigned lock);
void section_leave(struct run *r, unsigned lock);
void lock_sections(struct run *r, unsigned how_many);
void phase_locks(struct run *r);
void phase_owned(struct run *r);
void phase_groups(struct run *r);

/* atomics.c: phase_atomics, and what replaces locks and flags in other phases.
 * word_raise - set this processor's progress word.  word_await - returns the value of @processor's, at least @value.
 * words_clear - this processor's part of the words' first values.  words_check - after a boundary. */
void word_lock(struct run *r, unsigned lock);
void word_unlock(struct run *r, unsigned lock);
void word_raise(struct run *r, uint64_t value);
uint64_t word_await(struct run *r, unsigned processor, uint64_t value);
void phase_atomics(struct run *r);
void words_clear(struct run *r, uint64_t salt);
void words_check(struct run *r);

/* flow.c, sweep.c, blocks.c */
void phase_flow(struct run *r);
void phase_sweep(struct run *r);
void phase_parcels(struct run *r);
void phase_blocks(struct run *r);
void blocks_drain(struct run *r);

#endif
