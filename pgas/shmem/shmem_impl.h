/* SPDX-License-Identifier: BSD-3-Clause */
/* shmem_impl.h - shared by the parts of OpenSHMEM: symmetric addresses, PEs, teams, contexts.
 *
 * Every function is defined as pshmem_...; SH_ALIAS makes shmem_... its weak alias, from the table in shmem_types.h. */
#ifndef TW_PGAS_SHMEM_SHMEM_IMPL_H
#define TW_PGAS_SHMEM_SHMEM_IMPL_H

#define TWS_NO_GENERIC
#include "pgas/segment/segment.h"
#include "tweed/shmem.h"

#define SH_ALIAS(R, NAME, ARGS) extern R shmem_##NAME ARGS __attribute__((weak, alias("pshmem_" #NAME)));

#define SH_LIKELY(c) __builtin_expect(!!(c), 1)

#define SH_INLINE static inline __attribute__((always_inline))
#define SH_CALLER __builtin_return_address(0) /* in inline functions: the program's call */

/* Symmetric memory: ranges of addresses, each also a range of offsets in the segment. */
struct sh_range {
	char *base;
	size_t bytes, at;
};

#define SH_LIBRARIES 16u /* at most so many shared libraries with symmetric variables */
enum { SH_HEAP, SH_DATA, SH_LIBRARY, SH_RANGES = SH_LIBRARY + SH_LIBRARIES };
struct sh {
	struct sh_range heap, data;       /* searched first; empty when calls are checked */
	struct sh_range range[SH_RANGES]; /* all: the heap; data and bss of the executable, and of libraries */
	size_t teams_at;                  /* [SH_TEAMS] control memory of teams */
	int threads;                      /* SHMEM_THREAD_... */
	bool open;
	bool check; /* TWEED_SHMEM_CHECK (check.h) */
};
extern struct sh sh;

/* Mistakes: end the job with a sentence.  @caller: the program's call. */
void sh_wild(const void *addr, size_t len, const void *caller) __attribute__((noreturn, cold));
void sh_no_pe(unsigned pe, const void *caller) __attribute__((noreturn, cold));
void sh_need(const char *function) __attribute__((noreturn, cold));

/* sh_libraries - data and bss of the shared libraries that ask for it (library.c), without offsets.  Ends the job if
 * there are more than @most. */
unsigned sh_libraries(struct sh_range *range, unsigned most);

/* sh_find - the offset of [addr, addr + len); SIZE_MAX: not symmetric.
 * sh_at_hand - the same for the ranges that are searched first. */
size_t sh_find(const void *addr, size_t len);
SH_INLINE bool sh_at_hand(const void *addr, size_t len, size_t *at)
{
	size_t in = (uintptr_t)addr - (uintptr_t)sh.heap.base;

	*at = sh.heap.at + in;
	if (SH_LIKELY(in < sh.heap.bytes && len <= sh.heap.bytes - in))
		return true;
	in = (uintptr_t)addr - (uintptr_t)sh.data.base;
	*at = sh.data.at + in;
	return in < sh.data.bytes && len <= sh.data.bytes - in;
}

/* sh_at - the offset of [addr, addr + len) in the segment; ends the job if it is not symmetric. */
size_t sh_at_slow(const void *addr, size_t len, const void *caller) __attribute__((cold));
SH_INLINE size_t sh_at(const void *addr, size_t len)
{
	size_t at;

	return SH_LIKELY(sh_at_hand(addr, len, &at)) ? at : sh_at_slow(addr, len, SH_CALLER);
}

/* sh_bytes - the size of @n elements; on overflow, more than any memory has. */
static inline size_t sh_bytes(size_t n, size_t size)
{
	size_t bytes;

	return __builtin_mul_overflow(n, size, &bytes) ? SIZE_MAX : bytes;
}

SH_INLINE void sh_check_pe(unsigned pe)
{
	if (pe >= tw_segment.pes)
		sh_no_pe(pe, SH_CALLER);
}

/* ---- teams and contexts ---- */

#define SH_TEAMS      64u             /* at once, including the predefined ones: bits of a word */
#define SH_WORDS      128u            /* signal words of a team; the work arrays of active sets have the first 64 */
#define SH_WORD_BYTES 64u             /* a cache line for each */
#define SH_SCRATCH    ((size_t)65536) /* a team has five */
#define SH_TEAM_BYTES (SH_WORDS * SH_WORD_BYTES + 5 * SH_SCRATCH)

struct shmem_ctx {
	struct shmem_team *team;
	struct shmem_ctx *next; /* of the team's contexts */
	long options;
	uint64_t thread;          /* the thread that created it */
	struct tw_net_flow *flow; /* of its operations; NULL without a job */
};

/* PEs start, start + stride, ... Words only rise: this PE counts how often it has signalled each, and been
 * signalled. */
struct shmem_team {
	unsigned start, size, me;
	int stride;
	unsigned slot;
	unsigned turn;        /* parity, selects the scratches */
	uint64_t shows, said; /* of the boards (collective/node.c) */
	const struct sh_groups *groups;
	int contexts; /* as configured */
	struct shmem_ctx *ctx;
	uint64_t sent[SH_WORDS], received[SH_WORDS];
	uint64_t signaled[SH_WORDS],
	    written[SH_WORDS]; /* collective/set.c: the last put with signal, as recorded at the receiver */
};

void sh_teams_open(void);
/* sh_team_known, sh_ctx_known - does it exist?  Does not dereference the argument. */
bool sh_team_known(const struct shmem_team *team);
bool sh_ctx_known(const struct shmem_ctx *ctx);
/* sh_in_active - is the active set valid, and this PE in it? */
bool sh_in_active(int start, int log_stride, int size);
void sh_teams_close(void); /* those that the program has not destroyed */
/* sh_barrier_all - all puts are complete, and all PEs have arrived. */
void sh_barrier_all(void);
/* sh_team_and - the bitwise and of @bits over a team's PEs. */
uint64_t sh_team_and(struct shmem_team *team, uint64_t bits);
/* sh_rules_open - select the algorithms of collectives, by the table and the setting. */
void sh_rules_open(void);

static inline unsigned sh_team_pe(const struct shmem_team *team, unsigned i)
{
	return team->start + (unsigned)team->stride * i;
}

/* sh_pe - the job's number of PE @pe of @ctx. */
void sh_no_pe_of(shmem_ctx_t ctx, unsigned pe, const void *caller) __attribute__((noreturn, cold));
SH_INLINE unsigned sh_pe(shmem_ctx_t ctx, int pe)
{
	if (SH_LIKELY(ctx == SHMEM_CTX_DEFAULT))
		return (unsigned)pe;
	if (!ctx || (unsigned)pe >= ctx->team->size)
		sh_no_pe_of(ctx, (unsigned)pe, SH_CALLER);
	return sh_team_pe(ctx->team, (unsigned)pe);
}

/* ---- access ----
 *
 * Accesses outside the ranges at hand are tail calls of functions, so the fast path saves no registers.  These
 * functions make the checks when calls are checked. */

void sh_put_slow(shmem_ctx_t ctx, unsigned pe, void *dest, const void *src, size_t len, bool keep, const void *caller);
void sh_get_slow(shmem_ctx_t ctx, unsigned pe, void *dest, const void *src, size_t len, bool wait, const void *caller);
uint64_t sh_amo_slow(shmem_ctx_t ctx, unsigned pe, const void *word, enum tw_amo op, unsigned bytes, uint64_t value,
                     uint64_t expect, const void *caller);
void sh_amo_post_slow(shmem_ctx_t ctx, unsigned pe, void *word, enum tw_amo op, unsigned bytes, uint64_t value,
                      const void *caller);

/* @keep: the source stays unchanged until quiet. */
SH_INLINE void sh_start_put(shmem_ctx_t ctx, unsigned pe, void *dest, const void *src, size_t len, bool keep)
{
	size_t at;

	if (!len)
		return;
	if (!SH_LIKELY(sh_at_hand(dest, len, &at))) {
		sh_put_slow(ctx, pe, dest, src, len, keep, SH_CALLER);
		return;
	}
	char *to = tw_segment_direct(pe);
	if (SH_LIKELY(to)) {
		tw_words_store(to + at, src, len);
		return;
	}
	sh_check_pe(pe);
	tw_segment_remote_put(ctx->flow, pe, at, src, len, keep);
}

SH_INLINE void sh_put(shmem_ctx_t ctx, unsigned pe, void *dest, const void *src, size_t len)
{
	sh_start_put(ctx, pe, dest, src, len, false);
}

SH_INLINE void sh_get(shmem_ctx_t ctx, unsigned pe, void *dest, const void *src, size_t len, bool wait)
{
	size_t at;

	if (!len)
		return;
	if (!SH_LIKELY(sh_at_hand(src, len, &at))) {
		sh_get_slow(ctx, pe, dest, src, len, wait, SH_CALLER);
		return;
	}
	const char *from = tw_segment_direct(pe);
	if (SH_LIKELY(from)) {
		tw_words_load(dest, from + at, len);
		return;
	}
	sh_check_pe(pe);
	tw_segment_remote_get(ctx->flow, pe, at, dest, len, wait);
}

SH_INLINE uint64_t sh_amo(shmem_ctx_t ctx, unsigned pe, const void *word, enum tw_amo op, unsigned bytes,
                          uint64_t value, uint64_t expect)
{
	size_t at;

	if (!SH_LIKELY(sh_at_hand(word, bytes, &at)))
		return sh_amo_slow(ctx, pe, word, op, bytes, value, expect, SH_CALLER);
	char *to = tw_segment_direct(pe);
	if (SH_LIKELY(to && tw_segment.cpu_atomics))
		return tw_amo_here(to + at, op, bytes, value, expect);
	sh_check_pe(pe);
	return tw_segment_remote_amo(pe, at, op, bytes, value, expect);
}

/* sh_amo_start - an atomic on a word of @bytes; its old value is at @old after quiet. */
SH_INLINE void sh_amo_start(shmem_ctx_t ctx, unsigned pe, const void *word, enum tw_amo op, unsigned bytes,
                            uint64_t value, uint64_t expect, void *old)
{
	size_t at;

	if (SH_LIKELY(sh_at_hand(word, bytes, &at)) && !tw_segment_direct(pe) && pe < tw_segment.pes) {
		tw_segment_remote_amo_start(ctx->flow, pe, at, op, bytes, value, expect, old);
	} else {
		uint64_t was = sh_amo(ctx, pe, word, op, bytes, value, expect);
		memcpy(old, &was, bytes);
	}
}

SH_INLINE void sh_amo_post(shmem_ctx_t ctx, unsigned pe, void *word, enum tw_amo op, unsigned bytes, uint64_t value)
{
	size_t at;

	if (!SH_LIKELY(sh_at_hand(word, bytes, &at))) {
		sh_amo_post_slow(ctx, pe, word, op, bytes, value, SH_CALLER);
		return;
	}
	char *to = tw_segment_direct(pe);
	if (SH_LIKELY(to && tw_segment.cpu_atomics)) {
		tw_amo_here(to + at, op, bytes, value, 0);
		tw_segment_nudge(to); /* the atomic was a full fence */
		return;
	}
	sh_check_pe(pe);
	tw_segment_remote_amo_start(ctx->flow, pe, at, op, bytes, value, 0, NULL);
}

/* Define a function and its twin with a context; @BODY uses `ctx` and `to`. */
#define SH_BOTH(R, NAME, BODY, ...)                                                                                    \
	R pshmem_ctx_##NAME(shmem_ctx_t ctx, __VA_ARGS__)                                                              \
	{                                                                                                              \
		unsigned to = sh_pe(ctx, pe);                                                                          \
		BODY                                                                                                   \
	}                                                                                                              \
	R pshmem_##NAME(__VA_ARGS__)                                                                                   \
	{                                                                                                              \
		const shmem_ctx_t ctx = SHMEM_CTX_DEFAULT;                                                             \
		unsigned to = (unsigned)pe;                                                                            \
		BODY                                                                                                   \
	}

#endif
