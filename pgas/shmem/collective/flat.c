/* SPDX-License-Identifier: BSD-3-Clause */
/* flat.c - the plainest algorithms: right for all sets, good for few PEs. */
#include "pgas/shmem/collective/collective.h"

/* In round k each tells the one 2^k further, so that after the last it has heard, directly or not, of all. */
void sync_dissemination(const struct sh_set *set)
{
	unsigned word = SET_SYNC;

	for (unsigned distance = 1; distance < set->size; distance *= 2, word++) {
		set_signal(set, (set->me + distance) % set->size, word);
		set_wait(set, word);
	}
}

/* A binomial tree; level k of it has edges between PEs 2^k apart, whatever the root is. */
void broadcast_binomial(const struct sh_set *set, void *dest, const void *source, size_t bytes, unsigned root)
{
	unsigned mine = (set->me + set->size - root) % set->size, level = 0;

	if (mine) {
		level = (unsigned)__builtin_ctz(mine);
		set_wait(set, SET_TREE + level);
		source = dest;
	} else {
		while (1u << level < set->size)
			level++;
	}
	while (level-- > 0) {
		if (mine + (1u << level) >= set->size)
			continue;
		unsigned child = (set->me + (1u << level)) % set->size;
		sh_put(set_pe(set, child), dest, source, bytes);
		set_signal(set, child, SET_TREE + level);
	}
}

/* In round k the sum of 2^k PEs goes to the one 2^k further. */
size_t set_scan(const struct sh_set *set, size_t value)
{
	size_t before = 0;
	unsigned word = SET_SCAN;

	for (unsigned distance = 1; distance < set->size; distance *= 2, word++) {
		if (set->me + distance < set->size)
			set_send(set, set->me + distance, word, before + value);
		if (set->me >= distance)
			before += set_receive(set, word);
	}
	return before;
}

void collect_flat(const struct sh_set *set, void *dest, const void *source, size_t bytes, size_t before)
{
	for (unsigned i = 0; i < set->size; i++)
		sh_put(set_pe(set, (set->me + i) % set->size), (char *)dest + before, source, bytes);
	tw_segment_quiet();
	sh_collectives.sync(set);
}

void alltoall_flat(const struct sh_set *set, char *dest, const char *source, ptrdiff_t dst, ptrdiff_t sst, size_t n,
                   size_t size)
{
	for (unsigned i = 0; i < set->size; i++) {
		unsigned to = (set->me + i) % set->size, pe = set_pe(set, to);
		if (dst == 1 && sst == 1) {
			sh_put(pe, dest + set->me * n * size, source + to * n * size, sh_bytes(n, size));
			continue;
		}
		for (size_t k = 0; k < n; k++)
			sh_put(pe, dest + (ptrdiff_t)((set->me * n + k) * size) * dst,
			       source + (ptrdiff_t)((to * n + k) * size) * sst, size);
	}
	tw_segment_quiet();
	sh_collectives.sync(set);
}

/* Everyone shows a part of its source in its scratch, and takes those of all, in the same order. */
void reduce_flat(const struct sh_set *set, void *dest, const void *source, size_t n, size_t size, sh_reduce_op op)
{
	_Alignas(64) char copy[SH_SCRATCH];
	size_t most = TW_MIN(set->scratch_bytes, sizeof(copy)) / size;

	for (size_t part; n; n -= part) {
		size_t scratch = set->scratch + (set->team ? set->team->turn++ % 2 * set->scratch_bytes : 0);
		part = TW_MIN(n, most);
		memcpy(tw_segment.base + scratch, source, part * size);
		sh_collectives.sync(set);
		for (unsigned i = 0; i < set->size; i++) {
			const char *from = tw_segment_direct(set_pe(set, i));
			if (from)
				from += scratch;
			else
				tw_segment_remote_get(set_pe(set, i), scratch, copy, part * size, true), from = copy;
			if (i == 0)
				memcpy(dest, from, part * size);
			else
				op(dest, from, part);
		}
		/* Of a team's scratches the other one is next, and its sync comes after all have read this one. */
		if (!set->team)
			sh_collectives.sync(set);
		dest = (char *)dest + part * size;
		source = (const char *)source + part * size;
	}
}
