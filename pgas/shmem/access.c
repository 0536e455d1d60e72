/* SPDX-License-Identifier: BSD-3-Clause */
/* access.c - accesses outside the ranges at hand, and the messages for mistakes in them. */
#include "pgas/shmem/check.h"

void sh_wild(const void *addr, size_t len, const void *caller)
{
	char line[SH_LINE_BYTES];

	sh_need_open(caller);
	sh_line(caller, line);
	tw_fatal("the %zu bytes at %p are not symmetric memory: neither from shmem_malloc, nor global or static "
	         "variables of the program; in %s",
	         len, addr, line);
}

void sh_no_pe(unsigned pe, const void *caller)
{
	char line[SH_LINE_BYTES];

	sh_need_open(caller);
	sh_line(caller, line);
	tw_fatal("there is no PE %d: they are 0 to %u, in a team fewer; in %s", (int)pe, tw_segment.pes - 1, line);
}

void sh_no_pe_of(shmem_ctx_t ctx, unsigned pe, const void *caller)
{
	if (!ctx || sh.check)
		sh_check_ctx(ctx, caller);
	sh_no_pe(pe, caller);
}

size_t sh_find(const void *addr, size_t len)
{
	for (const struct sh_range *r = sh.range; r < sh.range + SH_RANGES; r++) {
		size_t at = (uintptr_t)addr - (uintptr_t)r->base;
		if (at < r->bytes && len <= r->bytes - at)
			return r->at + at;
	}
	return SIZE_MAX;
}

size_t sh_at_slow(const void *addr, size_t len, const void *caller)
{
	size_t at = sh_find(addr, len);

	if (at == SIZE_MAX)
		sh_wild(addr, len, caller);
	return at;
}

/* @what: the operation, for messages.  @local: the other side of a copy, or NULL. */
static size_t access_at(const char *what, shmem_ctx_t ctx, unsigned pe, const void *addr, size_t len, const void *local,
                        const void *caller)
{
	size_t at = sh_at_slow(addr, len, caller);

	if (sh.check)
		sh_check_access(what, ctx, pe, addr, len, local, caller);
	if (pe >= tw_segment.pes)
		sh_no_pe(pe, caller);
	return at;
}

void sh_put_slow(shmem_ctx_t ctx, unsigned pe, void *dest, const void *src, size_t len, bool keep, const void *caller)
{
	size_t at = access_at("a put", ctx, pe, dest, len, src, caller);
	char *to = tw_segment_direct(pe);

	if (to)
		tw_words_store(to + at, src, len);
	else
		tw_segment_remote_put(ctx->flow, pe, at, src, len, keep);
}

void sh_get_slow(shmem_ctx_t ctx, unsigned pe, void *dest, const void *src, size_t len, bool wait, const void *caller)
{
	size_t at = access_at("a get", ctx, pe, src, len, dest, caller);
	const char *from = tw_segment_direct(pe);

	if (from)
		tw_words_load(dest, from + at, len);
	else
		tw_segment_remote_get(ctx->flow, pe, at, dest, len, wait);
}

uint64_t sh_amo_slow(shmem_ctx_t ctx, unsigned pe, const void *word, enum tw_amo op, unsigned bytes, uint64_t value,
                     uint64_t expect, const void *caller)
{
	return tw_segment_amo(pe, access_at("an atomic", ctx, pe, word, bytes, NULL, caller), op, bytes, value, expect);
}

void sh_amo_post_slow(shmem_ctx_t ctx, unsigned pe, void *word, enum tw_amo op, unsigned bytes, uint64_t value,
                      const void *caller)
{
	size_t at = access_at("an atomic", ctx, pe, word, bytes, NULL, caller);
	char *to = tw_segment_direct(pe);

	if (!to || !tw_segment.cpu_atomics) {
		tw_segment_remote_amo_start(ctx->flow, pe, at, op, bytes, value, 0, NULL);
		return;
	}
	tw_amo_here(to + at, op, bytes, value, 0);
	tw_segment_nudge(to);
}
