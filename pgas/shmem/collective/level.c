/* SPDX-License-Identifier: BSD-3-Clause */
/* level.c - algorithms between PEs of a level, on any nodes: puts and signals. */
#include "pgas/shmem/collective/collective.h"

static unsigned level_at(const struct sh_level *level, unsigned i)
{
	return level->at ? level->at[i] : i;
}

/* The word for the distance j x 4^l, j = 1, 2, 3. */
static unsigned level_word(const struct sh_level *level, unsigned distance)
{
	unsigned l = (31 - (unsigned)__builtin_clz(distance)) / 2;

	return level->words + SET_DISTANCE + 3 * l + (distance >> (2 * l)) - 1;
}

static void level_put(const struct sh_level *level, unsigned i, void *dest, const void *source, size_t bytes)
{
	sh_put(SHMEM_CTX_DEFAULT, set_pe(level->set, level_at(level, i)), dest, source, bytes);
}

/* Put to the level's @i-th PE, and signal it. */
static void level_send(const struct sh_level *level, unsigned i, size_t at, const void *data, size_t bytes,
                       unsigned word)
{
	set_deliver(level->set, level_at(level, i), at, data, bytes, word);
}

/* Wait for a signal of the level's @i-th PE. */
static void level_wait(const struct sh_level *level, unsigned i, unsigned word)
{
	set_wait(level->set, level_at(level, i), word);
}

/* In round k a PE signals the PE 2^k further on; after the last round each has been signalled by all, directly or
 * indirectly. */
void level_sync(const struct sh_level *level)
{
	for (unsigned distance = 1; distance < level->n; distance *= 2) {
		unsigned word = level_word(level, distance);
		level_send(level, (level->me + distance) % level->n, 0, NULL, 0, word);
		level_wait(level, (level->me + level->n - distance) % level->n, word);
	}
}

/* In numbers relative to the root, a PE's parent is its number with the lowest nonzero digit to the base k set to 0. */
void level_tree(const struct sh_level *level, void *dest, const void *source, size_t bytes, unsigned root, unsigned k)
{
	unsigned mine = (level->me + level->n - root) % level->n, step = 1;

	while (step < level->n && mine / step % k == 0)
		step *= k;
	if (mine) {
		unsigned distance = mine / step % k * step;
		level_wait(level, (level->me + level->n - distance) % level->n, level_word(level, distance));
		source = dest;
	}
	size_t at = bytes ? sh_at(dest, bytes) : 0;
	while ((step /= k)) {
		for (unsigned j = k - 1; j > 0; j--) {
			if (mine + j * step >= level->n)
				continue;
			unsigned child = (level->me + j * step) % level->n;
			level_send(level, child, at, source, bytes, level_word(level, j * step));
		}
	}
}

void level_ring(const struct sh_level *level, char *dest, size_t bytes)
{
	unsigned next = (level->me + 1) % level->n, word = level_word(level, 1);
	size_t at = bytes ? sh_at(dest, sh_bytes(bytes, level->set->size)) : 0;

	for (unsigned step = 0; step + 1 < level->n; step++) {
		unsigned i = (level->me + level->n - step) % level->n;
		size_t from = level_at(level, i), to = level->at ? level->at[i + 1] : i + 1;
		level_send(level, next, at + from * bytes, dest + from * bytes, (to - from) * bytes, word);
		level_wait(level, (level->me + level->n - 1) % level->n, word);
	}
	if (level->n > 2) /* with two PEs, the receiver passes nothing on */
		level_sync(level);
}

void level_spread(const struct sh_level *level, char *dest, size_t bytes)
{
	size_t from = level_at(level, level->me), to = level->at ? level->at[level->me + 1] : level->me + 1;

	if (level->n == 2) {
		level_ring(level, dest, bytes);
		return;
	}
	for (unsigned i = 1; i < level->n; i++)
		level_put(level, (level->me + i) % level->n, dest + from * bytes, dest + from * bytes,
		          (to - from) * bytes);
	set_arrive(level->n);
	level_sync(level);
}

/* ---- reductions ----
 *
 * A PE that has finished a reduction knows that all have begun it, and so have left the one before.  So two scratches
 * in turns are enough. */

static unsigned level_rounds(const struct sh_level *level)
{
	return 31 - (unsigned)__builtin_clz(level->n);
}

size_t level_double_most(const struct sh_level *level)
{
	unsigned rounds = level_rounds(level), slots = rounds + (level->n > 1u << rounds);

	return SH_SCRATCH / TW_MAX(slots, 1u) / 64 * 64;
}

/* A slot for each round, and one for the PEs beyond a power of two.  The lower of two partners is the left operand on
 * both sides, so all get the same bits. */
void level_double(const struct sh_level *level, void *dest, size_t n, size_t size, sh_reduce_op op, size_t scratch)
{
	unsigned rounds = level_rounds(level), two = 1u << rounds, me = level->me;
	size_t slot = level_double_most(level), bytes = n * size;
	char *own = tw_segment.base + scratch;

	if (me >= two) {
		level_send(level, me - two, scratch + rounds * slot, dest, bytes, level->words + SET_FOLD);
		level_wait(level, me - two, level->words + SET_UNFOLD);
		memcpy(dest, own + rounds * slot, bytes);
		return;
	}
	if (me + two < level->n) {
		level_wait(level, me + two, level->words + SET_FOLD);
		op(dest, dest, own + rounds * slot, n);
	}
	for (unsigned k = 0; k < rounds; k++) {
		unsigned partner = me ^ 1u << k, word = level->words + SET_PARTNER + k;
		level_send(level, partner, scratch + k * slot, dest, bytes, word);
		level_wait(level, partner, word);
		if (partner > me)
			op(dest, dest, own + k * slot, n);
		else
			op(dest, own + k * slot, dest, n);
	}
	if (me + two < level->n)
		level_send(level, me + two, scratch + rounds * slot, dest, bytes, level->words + SET_UNFOLD);
}

/* A slot for each of the 2 (n - 1) steps: blocks are reduced in the first half, copied in the second. */
void level_ring_reduce(const struct sh_level *level, void *dest, size_t n, size_t size, sh_reduce_op op, size_t scratch)
{
	unsigned me = level->me, ring = level->n, next = (me + 1) % ring, word = level_word(level, 1);
	char *own = tw_segment.base + scratch;
	size_t slot = (n + ring - 1) / ring * size;

	for (unsigned step = 0; step < 2 * (ring - 1); step++) {
		unsigned out = (me + 2 * ring - step) % ring, in = (out + ring - 1) % ring;
		size_t from = n * out / ring, to = n * (out + 1) / ring;
		level_send(level, next, scratch + step * slot, (char *)dest + from * size, (to - from) * size, word);
		level_wait(level, (me + ring - 1) % ring, word);
		from = n * in / ring, to = n * (in + 1) / ring;
		char *mine = (char *)dest + from * size;
		if (step < ring - 1)
			op(mine, mine, own + step * slot, to - from);
		else
			memcpy(mine, own + step * slot, (to - from) * size);
	}
}
