/* SPDX-License-Identifier: BSD-3-Clause */
/* share.c - the words of worksharing constructs, and the constructs that need little else: single and sections. */
#include "core/base/base.h"
#include "core/coherence/lazy.h"
#include "runtime/openmp/reserve.h"
#include "runtime/openmp/team.h"
#include "runtime/threads/baton.h"

/* A word: the tag, and 40 bits of value. */
#define SHARE_BITS  40
#define SHARE_VALUE (((uint64_t)1 << SHARE_BITS) - 1)
#define SHARE_AT    ((size_t)4096) /* behind the order */
#define SHARE_SPINS 200u

_Static_assert(sizeof(struct omp_order) + OMP_TEAM_WORDS * sizeof(uint64_t) <= SHARE_AT, "these lie before the words");
_Static_assert(SHARE_AT + OMP_SHARES * OMP_WORDS * sizeof(uint64_t) <= OMP_EXPORTED_BYTES, "room in the layout");

uint64_t omp_share(void)
{
	th_stack_reserve();
	omp_single_left(false);
	if (omp_team->open == OMP_SHARES)
		omp_meet();
	omp_team->open++;
	return omp_team->shares++;
}

static size_t share_offset(uint64_t share, enum omp_word word)
{
	size_t words = tw_me->layout.reserved[TW_RESERVED_THREADS] + SHARE_AT;

	return words + (share % OMP_SHARES * OMP_WORDS + word) * sizeof(uint64_t);
}

static uint64_t share_tag(uint64_t share)
{
	return (share / OMP_SHARES + 1) << SHARE_BITS;
}

static struct tw_net *share_net(void)
{
	return tw_me_checked("a construct that threads share")->net;
}

/* The construct's value in @word. */
static uint64_t share_value(uint64_t share, uint64_t word)
{
	return (word & ~SHARE_VALUE) == share_tag(share) ? word & SHARE_VALUE : 0;
}

uint64_t omp_share_get(uint64_t share, enum omp_word word)
{
	return share_value(share, tw_net_read64(share_net(), 0, share_offset(share, word)));
}

uint64_t omp_share_raise(uint64_t share, enum omp_word word, uint64_t was, uint64_t now)
{
	size_t at = share_offset(share, word);
	uint64_t seen = tw_net_read64(share_net(), 0, at);

	while (share_value(share, seen) == was) {
		uint64_t old = tw_net_cas(tw_me->net, 0, at, seen, share_tag(share) | now);
		if (old == seen)
			return was;
		seen = old;
	}
	return share_value(share, seen);
}

uint64_t omp_share_take(uint64_t share, enum omp_word word)
{
	size_t at = share_offset(share, word);

	if (omp_share_raise(share, word, 0, 1) == 0)
		return 0;
	return tw_net_fadd(tw_me->net, 0, at, 1) & SHARE_VALUE;
}

/* Has the value come after at most @reads? */
static bool share_comes(uint64_t share, enum omp_word word, uint64_t value, unsigned reads)
{
	uint64_t t = tw_time_begin(tw_me);
	bool comes = false;

	while (!comes && reads--)
		comes = omp_share_get(share, word) == value;
	tw_time_end(tw_me, &tw_me->stats->now.comm_wait_ns, t);
	return comes;
}

/* Another thread of this processor may have to store it. */
void omp_share_wait(uint64_t share, enum omp_word word, uint64_t value, uint64_t until_ns)
{
	unsigned reads = th_siblings ? 1 : SHARE_SPINS;

	while (!share_comes(share, word, value, reads) && (!until_ns || tw_time_ns() < until_ns)) {
		th_yield();
		tw_yield();
		reads = 1;
	}
}

void omp_share_put(uint64_t share, void *value)
{
	tw_net_write64(share_net(), 0, share_offset(share, OMP_VALUE), (uintptr_t)value);
	tw_net_flush(tw_me->net, TW_NET_ALL);
}

void *omp_share_pointer(uint64_t share)
{
	return (void *)(uintptr_t)tw_net_read64(share_net(), 0, share_offset(share, OMP_VALUE));
}

/* ---- single ----------------------------------------------------------------------------------------------------- */

/* The end of the block is not known here.  With nowait, some programs store a variable's first value in it, to which
 * all add by a reduction next: a race, but one that is never lost on one machine, where the store is visible at once.
 * So a thread's first atomic operation after the construct waits for the next call of the thread that executes the
 * block, but not for long, since the block may be. */
#define SINGLE_NS 10000000u

static uint64_t single_share;

static void single_end(void)
{
	th_atomic_before = NULL;
	tw_release(tw_me, TW_SYNC_FLAG, 0);
	omp_share_raise(single_share, OMP_VALUE, 0, 1);
}

static void single_wait(void)
{
	th_atomic_before = NULL;
	omp_share_wait(single_share, OMP_VALUE, 1, tw_time_ns() + SINGLE_NS);
	tw_acquire_all(tw_me);
}

void omp_single_left(bool meets)
{
	if (th_atomic_before == single_end)
		single_end();
	if (meets)
		th_atomic_before = NULL;
}

bool GOMP_single_start(void)
{
	if (omp_team->n == 1)
		return true;
	single_share = omp_share();
	bool mine = omp_share_take(single_share, OMP_NEXT) == 0;
	if (tw_me->nodes > 1)
		th_atomic_before = mine ? single_end : single_wait;
	return mine;
}

/* Returns NULL when the caller must run the block and pass its data to GOMP_single_copy_end; otherwise that data. */
void *GOMP_single_copy_start(void)
{
	if (omp_team->n == 1)
		return NULL;
	uint64_t share = omp_share();
	if (omp_share_take(share, OMP_NEXT) == 0)
		return NULL;
	omp_barrier();
	return omp_share_pointer(share);
}

void GOMP_single_copy_end(void *data)
{
	if (omp_team->n == 1)
		return;
	omp_share_put(omp_team->shares - 1, data);
	omp_barrier();
}

/* ---- scope ------------------------------------------------------------------------------------------------------ */

void GOMP_scope_start(uintptr_t *reductions)
{
	omp_loop_prepare(reductions, NULL);
}

/* ---- sections: a loop over their numbers, from 1, chunk by chunk ------------------------------------------------ */

static struct omp_loop share_sections(unsigned count)
{
	return (struct omp_loop){.kind = OMP_DYNAMIC, .start = 1, .step = 1, .n = count, .chunk = 1};
}

unsigned GOMP_sections_next(void)
{
	uint64_t first, end;
	return omp_loop_next(&first, &end) ? (unsigned)first : 0;
}

unsigned GOMP_sections_start(unsigned count)
{
	struct omp_loop sections = share_sections(count);
	omp_loop_begin(&sections);
	return GOMP_sections_next();
}

unsigned GOMP_sections2_start(unsigned count, uintptr_t *reductions, void **memory)
{
	omp_loop_prepare(reductions, memory);
	return GOMP_sections_start(count);
}

void GOMP_sections_end_nowait(void)
{
	omp_loop_end();
}

void GOMP_sections_end(void)
{
	omp_loop_end();
	omp_barrier();
}

void GOMP_parallel_sections(void (*function)(void *), void *data, unsigned threads, unsigned count, unsigned flags)
{
	(void)flags;
	omp_run(&(struct omp_order){.function = function, .data = data, .n = threads, .loop = share_sections(count)});
}
