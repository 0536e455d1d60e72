/* SPDX-License-Identifier: BSD-3-Clause */
/* impl.h - what the parts of OpenSHMEM share: symmetric addresses, PEs, teams, contexts.
 *
 * Every function is defined as pshmem_...; SH_ALIAS makes shmem_... its weak alias, from the table in shmem_types.h. */
#ifndef TW_PGAS_SHMEM_IMPL_H
#define TW_PGAS_SHMEM_IMPL_H

#define TWS_NO_GENERIC
#include "pgas/segment/segment.h"
#include "tweed/shmem.h"

#define SH_ALIAS(R, NAME, ARGS) extern R shmem_##NAME ARGS __attribute__((weak, alias("pshmem_" #NAME)));

#define SH_LIKELY(c) __builtin_expect(!!(c), 1)

/* Symmetric memory: two ranges of addresses, each also a range of offsets in the segment. */
struct sh {
	char *heap;
	size_t heap_bytes, heap_at;
	char *data; /* data and bss of the executable */
	size_t data_bytes, data_at;
	size_t teams_at; /* [SH_TEAMS] control memory of teams */
	int threads;     /* SHMEM_THREAD_... */
	bool open;
};
extern struct sh sh;

/* The ends of mistakes: sentences. */
void sh_wild(const void *addr, size_t len) __attribute__((noreturn, cold));
void sh_no_pe(unsigned pe) __attribute__((noreturn, cold));
void sh_need(const char *function) __attribute__((noreturn, cold));

/* sh_at - where [addr, addr + len) is in the segment; ends the job if it is not symmetric. */
static inline size_t sh_at(const void *addr, size_t len)
{
	size_t at = (uintptr_t)addr - (uintptr_t)sh.heap;

	if (SH_LIKELY(at < sh.heap_bytes && len <= sh.heap_bytes - at))
		return sh.heap_at + at;
	at = (uintptr_t)addr - (uintptr_t)sh.data;
	if (SH_LIKELY(at < sh.data_bytes && len <= sh.data_bytes - at))
		return sh.data_at + at;
	sh_wild(addr, len);
}

/* sh_bytes - of @n elements; more than any memory has when that overflows. */
static inline size_t sh_bytes(size_t n, size_t size)
{
	size_t bytes;

	return __builtin_mul_overflow(n, size, &bytes) ? SIZE_MAX : bytes;
}

static inline void sh_check_pe(unsigned pe)
{
	if (pe >= tw_segment.pes)
		sh_no_pe(pe);
}

/* ---- teams and contexts ---- */

#define SH_TEAMS      64u             /* at once, with the predefined ones: bits of a word */
#define SH_WORDS      128u            /* signal words of a team; the work arrays of active sets have the first 64 */
#define SH_WORD_BYTES 64u             /* a cache line for each */
#define SH_SCRATCH    ((size_t)16384) /* a team has five */
#define SH_TEAM_BYTES (SH_WORDS * SH_WORD_BYTES + 5 * SH_SCRATCH)

struct shmem_ctx {
	struct shmem_team *team;
	struct shmem_ctx *next; /* of the team's */
};

/* PEs start, start + stride, ...  Words only rise: this PE knows how often it has signalled each, and been signalled. */
struct shmem_team {
	unsigned start, size, me;
	int stride;
	unsigned slot;
	unsigned turn;        /* of the scratches */
	uint64_t shows, said; /* of the boards (collective/node.h) */
	const struct sh_groups *groups;
	int contexts; /* as configured */
	struct shmem_ctx *ctx;
	uint64_t sent[SH_WORDS], received[SH_WORDS];
};

void sh_teams_open(void);
void sh_teams_close(void); /* the teams and contexts that the program has not destroyed */
/* sh_rules_open - the algorithms of collectives, as table and setting say. */
void sh_rules_open(void);

static inline unsigned sh_team_pe(const struct shmem_team *team, unsigned i)
{
	return team->start + (unsigned)team->stride * i;
}

/* sh_pe - the PE that @ctx calls @pe. */
static inline unsigned sh_pe(shmem_ctx_t ctx, int pe)
{
	if (SH_LIKELY(ctx == SHMEM_CTX_DEFAULT))
		return (unsigned)pe;
	if (!ctx || (unsigned)pe >= ctx->team->size)
		sh_no_pe((unsigned)pe);
	return sh_team_pe(ctx->team, (unsigned)pe);
}

/* ---- access ---- */

static inline void sh_put(unsigned pe, void *dest, const void *src, size_t len)
{
	char *to = tw_segment_direct(pe);

	if (!len)
		return;
	size_t at = sh_at(dest, len);
	if (SH_LIKELY(to)) {
		memcpy(to + at, src, len);
		return;
	}
	sh_check_pe(pe);
	tw_segment_remote_put(pe, at, src, len);
}

static inline void sh_get(unsigned pe, void *dest, const void *src, size_t len, bool wait)
{
	const char *from = tw_segment_direct(pe);

	if (!len)
		return;
	size_t at = sh_at(src, len);
	if (SH_LIKELY(from)) {
		memcpy(dest, from + at, len);
		return;
	}
	sh_check_pe(pe);
	tw_segment_remote_get(pe, at, dest, len, wait);
}

static inline uint64_t sh_amo(unsigned pe, const void *word, enum tw_amo op, unsigned bytes, uint64_t value,
                              uint64_t expect)
{
	size_t at = sh_at(word, bytes);
	char *to = tw_segment_direct(pe);

	if (SH_LIKELY(to && tw_segment.cpu_atomics))
		return tw_amo_here(to + at, op, bytes, value, expect);
	sh_check_pe(pe);
	return tw_segment_remote_amo(pe, at, op, bytes, value, expect);
}

static inline void sh_amo_post(unsigned pe, void *word, enum tw_amo op, unsigned bytes, uint64_t value)
{
	size_t at = sh_at(word, bytes);
	char *to = tw_segment_direct(pe);

	if (SH_LIKELY(to && tw_segment.cpu_atomics)) {
		tw_amo_here(to + at, op, bytes, value, 0);
		tw_segment_nudge(to); /* the atomic was a full fence */
		return;
	}
	sh_check_pe(pe);
	tw_segment_remote_amo_post(pe, at, op, bytes, value);
}

/* A function and its twin with a context; @BODY finds the PE in `to`. */
#define SH_BOTH(R, NAME, BODY, ...)                                                                                    \
	R pshmem_ctx_##NAME(shmem_ctx_t ctx, __VA_ARGS__)                                                              \
	{                                                                                                              \
		unsigned to = sh_pe(ctx, pe);                                                                          \
		BODY                                                                                                   \
	}                                                                                                              \
	R pshmem_##NAME(__VA_ARGS__)                                                                                   \
	{                                                                                                              \
		unsigned to = (unsigned)pe;                                                                            \
		BODY                                                                                                   \
	}

#endif
