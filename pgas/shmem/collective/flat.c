/* SPDX-License-Identifier: BSD-3-Clause */
/* flat.c - algorithms that ignore nodes: those of level.c over all PEs of a set, and the simplest, which suit every
 * set. */
#include "pgas/shmem/collective/collective.h"

#define FLAT_COPY ((size_t)16384) /* bytes that a PE copies from each scratch, on its stack */

void sync_dissemination(SH_SYNC_ARGS)
{
	struct sh_level level = level_all(set);

	level_sync(&level);
}

void broadcast_tree2(SH_BROADCAST_ARGS)
{
	struct sh_level level = level_all(set);

	level_tree(&level, dest, source, bytes, root, 2);
}

void broadcast_tree4(SH_BROADCAST_ARGS)
{
	struct sh_level level = level_all(set);

	level_tree(&level, dest, source, bytes, root, 4);
}

/* In round k a PE sends the sum of 2^k PEs to the PE 2^k further on. */
size_t set_scan(const struct sh_set *set, size_t value)
{
	size_t before = 0;
	unsigned word = SET_SCAN;

	for (unsigned distance = 1; distance < set->size; distance *= 2, word++) {
		if (set->me + distance < set->size)
			set_send(set, set->me + distance, word, before + value);
		if (set->me >= distance)
			before += set_receive(set, set->me - distance, word);
	}
	return before;
}

/* For a team of two PEs on two nodes: deliver @bytes of @source to the other's @dest, and wait for its data.  Returns
 * false for other sets. */
static bool flat_pair(const struct sh_set *set, void *dest, const void *source, size_t bytes)
{
	unsigned other = 1 - set->me;

	if (!set->team || set->size != 2 || set->groups->nodes != 2)
		return false;
	set_deliver(set, other, bytes ? sh_at(dest, bytes) : 0, source, bytes, SET_DISTANCE);
	set_wait(set, other, SET_DISTANCE);
	return true;
}

void collect_flat(SH_COLLECT_ARGS)
{
	if (flat_pair(set, dest + before, source, bytes)) {
		if (bytes)
			memmove(dest + before, source, bytes);
		return;
	}
	for (unsigned i = 0; i < set->size; i++)
		sh_put(SHMEM_CTX_DEFAULT, set_pe(set, (set->me + i) % set->size), dest + before, source, bytes);
	set_arrive(set->size);
	set_sync(set);
}

void fcollect_flat(SH_FCOLLECT_ARGS)
{
	collect_flat(set, dest, source, bytes, set->me * bytes);
}

void fcollect_ring(SH_FCOLLECT_ARGS)
{
	struct sh_level level = level_all(set);

	if (bytes)
		memmove(dest + set->me * bytes, source, bytes);
	level_ring(&level, dest, bytes);
}

void alltoall_flat(SH_ALLTOALL_ARGS)
{
	size_t bytes = sh_bytes(n, size), mine = set->me * bytes;

	if (dst == 1 && sst == 1 && flat_pair(set, dest + mine, source + (set->me ? 0 : bytes), bytes)) {
		if (bytes)
			memmove(dest + mine, source + mine, bytes);
		return;
	}
	for (unsigned i = 0; i < set->size; i++) {
		unsigned to = (set->me + i) % set->size, pe = set_pe(set, to);
		if (dst == 1 && sst == 1) {
			sh_put(SHMEM_CTX_DEFAULT, pe, dest + set->me * n * size, source + to * n * size,
			       sh_bytes(n, size));
			continue;
		}
		for (size_t k = 0; k < n; k++)
			sh_put(SHMEM_CTX_DEFAULT, pe, dest + (ptrdiff_t)((set->me * n + k) * size) * dst,
			       source + (ptrdiff_t)((to * n + k) * size) * sst, size);
	}
	set_arrive(set->size);
	set_sync(set);
}

/* Each PE copies a part of its source to its scratch, then reads those of all PEs, in the same order. */
void reduce_flat(SH_REDUCE_ARGS)
{
	_Alignas(64) char copy[FLAT_COPY];
	size_t most = TW_MIN(set->scratch_bytes, sizeof(copy)) / size;

	for (size_t part; n; n -= part) {
		size_t scratch = set->scratch + (set->team ? set->team->turn++ % 2 * set->scratch_bytes : 0);
		part = TW_MIN(n, most);
		memcpy(tw_segment.base + scratch, source, part * size);
		set_sync(set);
		for (unsigned i = 0; i < set->size; i++) {
			const char *from = tw_segment_near(set_pe(set, i));
			tw_segment_copied(part * size);
			if (from)
				from += scratch;
			else
				tw_segment_remote_get(tw_segment.flow, set_pe(set, i), scratch, copy, part * size,
				                      true),
				    from = copy;
			if (i == 0)
				memcpy(dest, from, part * size);
			else
				op(dest, dest, from, part);
		}
		/* A team uses its other scratch next, and that one's sync follows all reads of this one. */
		if (!set->team)
			set_sync(set);
		dest = (char *)dest + part * size;
		source = (const char *)source + part * size;
	}
}

/* Reduce in parts of at most @most bytes by an algorithm of level.c. */
static void reduce_level(SH_REDUCE_ARGS, size_t most,
                         void (*reduce)(const struct sh_level *, void *, size_t, size_t, sh_reduce_op, size_t))
{
	struct sh_level level = level_all(set);

	if (n && dest != source)
		memcpy(dest, source, n * size);
	for (size_t part; n; n -= part) {
		part = TW_MIN(n, most / size);
		size_t turn = SCRATCH_SEND + set->team->turn++ % 2;
		if (set->size > 1)
			reduce(&level, dest, part, size, op, set->scratch + turn * set->scratch_bytes);
		dest = (char *)dest + part * size;
	}
}

void reduce_doubling(SH_REDUCE_ARGS)
{
	struct sh_level level = level_all(set);

	reduce_level(set, dest, source, n, size, op, level_double_most(&level), level_double);
}

void reduce_ring(SH_REDUCE_ARGS)
{
	if (set->size > LEVEL_RING_MOST)
		reduce_doubling(set, dest, source, n, size, op);
	else
		reduce_level(set, dest, source, n, size, op, LEVEL_RING_BYTES, level_ring_reduce);
}
