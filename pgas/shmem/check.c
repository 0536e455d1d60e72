/* SPDX-License-Identifier: BSD-3-Clause */
/* check.c - checks of calls that concern one PE. */
#include "pgas/shmem/check.h"

#include <pthread.h>

#include "core/observe/symbol.h"
#include "pgas/shmem/symmetric_heap.h"

#define CHECK_LOCKS 256u /* locks held at once that are tracked */

void sh_line(const void *caller, char line[SH_LINE_BYTES])
{
	tw_symbol_text((uintptr_t)caller - 1, line, SH_LINE_BYTES); /* the call, not its return address */
}

void sh_need_open(const void *caller)
{
	char line[SH_LINE_BYTES];

	if (sh.open)
		return;
	sh_line(caller, line);
	tw_fatal("OpenSHMEM was used before shmem_init or after shmem_finalize, in %s", line);
}

void sh_mistake(const char *text, const void *caller)
{
	char line[SH_LINE_BYTES];

	sh_line(caller, line);
	tw_fatal("PE %u: %s; in %s", tw_segment.pe, text, line);
}

/* Skipped where other threads may change the heap. */
static void check_block(const char *what, const void *addr, size_t len, const void *caller)
{
	size_t at = (uintptr_t)addr - (uintptr_t)sh.range[SH_HEAP].base;

	if (at < sh.range[SH_HEAP].bytes && sh.threads != SHMEM_THREAD_MULTIPLE && !heap_holds(addr, len))
		SH_MISTAKE(
		    caller,
		    "%s of %zu bytes at %p is not inside one block of the symmetric heap: past its end, or freed", what,
		    len, addr);
}

void sh_check_access(const char *what, shmem_ctx_t ctx, unsigned pe, const void *addr, size_t len, const void *local,
                     const void *caller)
{
	size_t apart = (uintptr_t)addr - (uintptr_t)local;

	if (pe >= tw_segment.pes)
		sh_no_pe(pe, caller);
	if (ctx != SHMEM_CTX_DEFAULT)
		sh_check_ctx(ctx, caller);
	if (strcmp(what, "an atomic") == 0 && (uintptr_t)addr % len)
		SH_MISTAKE(caller, "an atomic at %p, which is not aligned to its %zu bytes", addr, len);
	check_block(what, addr, len, caller);
	if (local && pe == tw_segment.pe && apart && (apart < len || -apart < len))
		SH_MISTAKE(caller, "source and destination overlap: %zu bytes at %p and at %p of this PE", len, addr,
		           local);
}

void sh_check_memory(const char *what, const void *addr, size_t len, size_t align, const void *caller)
{
	sh_need_open(caller);
	if (!len)
		return;
	if (sh_find(addr, len) == SIZE_MAX)
		SH_MISTAKE(caller, "%s, %zu bytes at %p, is not symmetric memory", what, len, addr);
	if ((uintptr_t)addr % align)
		SH_MISTAKE(caller, "%s, at %p, is not aligned to %zu bytes", what, addr, align);
	check_block(what, addr, len, caller);
}

void sh_check_team(const struct shmem_team *team, const void *caller)
{
	sh_need_open(caller);
	if (team == SHMEM_TEAM_INVALID)
		SH_MISTAKE(caller, "the team is SHMEM_TEAM_INVALID: this PE has no part in it");
	if (!sh_team_known(team))
		SH_MISTAKE(caller, "there is no team %p; was it destroyed?", (const void *)team);
}

void sh_check_ctx(const struct shmem_ctx *ctx, const void *caller)
{
	sh_need_open(caller);
	if (ctx == SHMEM_CTX_INVALID)
		SH_MISTAKE(caller, "the context is SHMEM_CTX_INVALID");
	if (!sh_ctx_known(ctx))
		SH_MISTAKE(caller, "there is no context %p; was it destroyed?", (const void *)ctx);
	if (ctx->options & SHMEM_CTX_PRIVATE && ctx->thread != (uint64_t)pthread_self())
		SH_MISTAKE(caller, "a private context is used by another thread than the one that made it");
}

void sh_check_strides(ptrdiff_t dst, ptrdiff_t sst, const void *caller)
{
	sh_need_open(caller);
	if (dst < 1 || sst < 1)
		SH_MISTAKE(caller, "strides are %ld and %ld, but must be 1 or more", (long)dst, (long)sst);
}

static bool check_overlap(const void *a, size_t a_bytes, const void *b, size_t b_bytes)
{
	return a_bytes && b_bytes && ((uintptr_t)b - (uintptr_t)a < a_bytes || (uintptr_t)a - (uintptr_t)b < b_bytes);
}

void sh_check_signal(const void *dest, size_t bytes, const uint64_t *sig_addr, int sig_op, const void *caller)
{
	sh_need_open(caller);
	if (sig_op != SHMEM_SIGNAL_SET && sig_op != SHMEM_SIGNAL_ADD)
		SH_MISTAKE(caller, "%d is no operation of signals; use SHMEM_SIGNAL_SET or SHMEM_SIGNAL_ADD", sig_op);
	sh_check_memory("the signal", sig_addr, sizeof(*sig_addr), sizeof(*sig_addr), caller);
	if (check_overlap(dest, bytes, sig_addr, sizeof(*sig_addr)))
		SH_MISTAKE(caller, "the signal at %p lies in the %zu bytes at %p that are put", (const void *)sig_addr,
		           bytes, dest);
}

void sh_check_ivars(const void *ivars, size_t nelems, size_t size, int cmp, const void *caller)
{
	sh_need_open(caller);
	if (cmp < SHMEM_CMP_EQ || cmp > SHMEM_CMP_GE)
		SH_MISTAKE(caller, "%d is no comparison; use one of SHMEM_CMP_...", cmp);
	sh_check_memory("what is waited for", ivars, sh_bytes(nelems, size), size, caller);
}

/* ---- locks ---- */

static const long *check_held[CHECK_LOCKS];

static const long **check_lock_find(const long *lock)
{
	for (unsigned i = 0; i < CHECK_LOCKS; i++)
		if (check_held[i] == lock)
			return &check_held[i];
	return NULL;
}

void sh_check_lock(const long *lock, bool give, const void *caller)
{
	sh_need_open(caller);
	sh_check_memory("the lock", lock, sizeof(*lock), sizeof(*lock), caller);
	if (sh.threads == SHMEM_THREAD_MULTIPLE)
		return;
	const long **held = check_lock_find(lock);
	if (give && !held && check_lock_find(NULL))
		SH_MISTAKE(caller, "this PE does not hold the lock that it gives back");
	if (!give && held)
		SH_MISTAKE(caller, "this PE holds the lock already that it takes");
	if (give && held)
		*held = NULL;
}

void sh_check_locked(const long *lock)
{
	const long **place = sh.threads == SHMEM_THREAD_MULTIPLE ? NULL : check_lock_find(NULL);

	if (place)
		*place = lock;
}

/* ---- collectives ---- */

static void check_set(const struct sh_call *c)
{
	if (!c->active) {
		sh_check_team(c->team, c->caller);
		return;
	}
	if (!sh_in_active(c->start, c->log_stride, c->pes))
		SH_MISTAKE(c->caller, "this PE is not in the active set of %d PEs from %d, 2^%d apart, of %u", c->pes,
		           c->start, c->log_stride, tw_segment.pes);
	sh_check_memory("pSync", c->sync, SHMEM_SYNC_SIZE * sizeof(long), sizeof(long), c->caller);
	/* No PE signals before this PE has announced its call (agree.c).  With several threads that is not checked, so
	 * a signal may be here already. */
	for (int i = 0; i < SHMEM_SYNC_SIZE && sh.threads != SHMEM_THREAD_MULTIPLE; i++)
		if (__atomic_load_n(&c->sync[i], __ATOMIC_RELAXED) != SHMEM_SYNC_VALUE)
			SH_MISTAKE(c->caller, "pSync[%d] is %ld, but must be SHMEM_SYNC_VALUE before the call", i,
			           c->sync[i]);
}

void sh_check_collective(const struct sh_call *c)
{
	sh_need_open(c->caller);
	check_set(c);
	unsigned size = c->active ? (unsigned)c->pes : c->team->size;
	if ((unsigned)c->root >= size)
		SH_MISTAKE(c->caller, "the root is %d, but the set has PEs 0 to %u", c->root, size - 1);
	if (c->strided)
		sh_check_strides(c->dst, c->sst, c->caller);
	sh_check_memory("dest", c->dest, c->dest_bytes, 1, c->caller);
	sh_check_memory("source", c->source, c->source_bytes, 1, c->caller);
	sh_check_memory("pWrk", c->work, c->work_bytes, 1, c->caller);
	if (check_overlap(c->dest, c->dest_bytes, c->source, c->source_bytes) && !(c->in_place && c->dest == c->source))
		SH_MISTAKE(c->caller, "dest and source overlap: %zu bytes at %p, %zu at %p", c->dest_bytes, c->dest,
		           c->source_bytes, c->source);
	/* Threads may make calls of several sets in any order. */
	if (sh.threads != SHMEM_THREAD_MULTIPLE)
		sh_agree(c);
}
