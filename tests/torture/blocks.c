/* SPDX-License-Identifier: BSD-3-Clause */
/* blocks.c - allocated blocks in mailboxes: made by one processor, changed, resized and freed by others. */
#include "torture.h"

#include <sched.h>
#include <stdlib.h>

static uint64_t block_key(const struct run *r, unsigned id)
{
	return mix2(r->seed ^ 0xb10c, id);
}

static struct block_truth *block_truth(struct run *r, unsigned id)
{
	return &r->oracle->block[id / MAX_BLOCKS][id % MAX_BLOCKS];
}

static unsigned block_size(struct run *r)
{
	switch (rng_below(&r->mine, 8)) {
	case 0:
		return rng_between(&r->mine, 4000, 20000);
	case 1:
		return rng_between(&r->mine, 500, 5000);
	case 2:
		return 4096u << rng_below(&r->mine, 3);
	default:
		return rng_between(&r->mine, 1, 200);
	}
}

static void block_check(struct run *r, unsigned id)
{
	struct block_truth *t = block_truth(r, id);

	content_check(r, "block", id, (char *)(uintptr_t)atomic_load(&t->address), block_key(r, id),
	              atomic_load(&t->version), atomic_load(&t->size), id / MAX_BLOCKS);
}

static void block_write(struct run *r, unsigned id)
{
	static uint8_t bytes[BIG_BYTES];
	struct block_truth *t = block_truth(r, id);
	uint64_t version = atomic_load(&t->version) + 1;

	content_fill(bytes, block_key(r, id), version, atomic_load(&t->size));
	shared_write(r, (char *)(uintptr_t)atomic_load(&t->address), bytes, atomic_load(&t->size));
	atomic_store(&t->version, version);
}

static void *block_new(struct run *r, size_t size)
{
	unsigned how = rng_below(&r->mine, 4);
	size_t align = how == 3 ? (size_t)16 << rng_below(&r->mine, 9) : 16;
	char *block;

	if (how == 0)
		block = tw_calloc(1, size);
	else if (how == 3)
		block = tw_aligned_alloc(align, size);
	else
		block = tw_malloc(size);
	if (!block || (uintptr_t)block % align)
		violation(r, "allocation of %zu bytes gave %p, to be aligned to %zu", size, (void *)block, align);
	if (how == 0)
		for (size_t i = 0; i < size; i++)
			if (block[i])
				violation(r, "tw_calloc(1, %zu) at %p: byte %zu is %#x", size, (void *)block, i,
				          (unsigned)(uint8_t)block[i]);
	return block;
}

/* A number that no block has; MAX_BLOCKS * count when this processor's are all in use. */
static unsigned block_number(struct run *r)
{
	for (unsigned i = 0; i < MAX_BLOCKS; i++)
		if (atomic_load(&r->oracle->block[r->me][i].address) == 0)
			return r->me * MAX_BLOCKS + i;
	return r->count * MAX_BLOCKS;
}

static void block_create(struct run *r, unsigned id)
{
	struct block_truth *t = block_truth(r, id);
	unsigned size = block_size(r);

	atomic_store(&t->address, (uintptr_t)block_new(r, size));
	atomic_store(&t->size, size);
	block_write(r, id);
	block_check(r, id);
}

/* Content survives as far as the smaller size reaches. */
static void block_resize(struct run *r, unsigned id)
{
	struct block_truth *t = block_truth(r, id);
	size_t old = atomic_load(&t->size), size = block_size(r);
	char *block = tw_realloc((void *)(uintptr_t)atomic_load(&t->address), size);

	if (!block)
		violation(r, "tw_realloc to %zu bytes failed", size);
	content_check(r, "resized block", id, block, block_key(r, id), atomic_load(&t->version),
	              old < size ? old : size, id / MAX_BLOCKS);
	atomic_store(&t->address, (uintptr_t)block);
	atomic_store(&t->size, size);
	block_write(r, id);
}

/* The number becomes free last: until then no other processor uses it. */
static void block_free(struct run *r, unsigned id)
{
	struct block_truth *t = block_truth(r, id);
	void *block = (void *)(uintptr_t)atomic_load(&t->address);

	tw_free(block);
	atomic_store(&t->version, 0);
	atomic_store(&t->address, 0);
}

/* The box is locked: it must say what the oracle says, before anything in it is believed. */
static unsigned box_enter(struct run *r, unsigned box)
{
	uint32_t other, count;

	tw_lock_acquire(r->h.box[box]);
	other = atomic_exchange(&r->oracle->box[box].holder, r->me + 1);
	if (other)
		violation(r, "lock of box %u is also held by processor %u", box, other - 1);
	count = atomic_load(&r->oracle->box[box].count);
	if (r->board->box[box].count != count)
		violation(r, "box %u at %p: expected %u blocks, found %llu", box, (void *)&r->board->box[box].count,
		          count, (unsigned long long)r->board->box[box].count);
	for (unsigned i = 0; i < count; i++) {
		struct box_item *item = &r->board->box[box].item[i];
		unsigned id = atomic_load(&r->oracle->box[box].id[i]);

		if (item->id != id || (uintptr_t)item->block != atomic_load(&block_truth(r, id)->address))
			violation(r, "box %u item %u at %p: expected block %u at %#llx, found %llu at %p", box, i,
			          (void *)item, id, (unsigned long long)atomic_load(&block_truth(r, id)->address),
			          (unsigned long long)item->id, item->block);
	}
	return count;
}

static void box_leave(struct run *r, unsigned box)
{
	atomic_store(&r->oracle->box[box].holder, 0);
	tw_lock_release(r->h.box[box]);
}

/* Put the block into a box; false when there is no room. */
static bool box_put(struct run *r, unsigned box, unsigned id)
{
	unsigned n = box_enter(r, box);

	if (n < BOX_SLOTS) {
		r->board->box[box].item[n] =
		    (struct box_item){(void *)(uintptr_t)atomic_load(&block_truth(r, id)->address), id};
		r->board->box[box].count = n + 1;
		atomic_store(&r->oracle->box[box].id[n], id);
		atomic_store(&r->oracle->box[box].count, n + 1);
	}
	box_leave(r, box);
	return n < BOX_SLOTS;
}

/* Take a block out; false when there is none. */
static bool box_get(struct run *r, unsigned box, unsigned *id)
{
	unsigned n = box_enter(r, box), i;

	if (n) {
		i = rng_below(&r->mine, n);
		*id = (unsigned)r->board->box[box].item[i].id;
		r->board->box[box].item[i] = r->board->box[box].item[n - 1];
		r->board->box[box].count = n - 1;
		atomic_store(&r->oracle->box[box].id[i], atomic_load(&r->oracle->box[box].id[n - 1]));
		atomic_store(&r->oracle->box[box].count, n - 1);
	}
	box_leave(r, box);
	return n;
}

void phase_blocks(struct run *r)
{
	for (unsigned i = 0; i < r->ops; i++) {
		unsigned box = rng_below(&r->mine, r->boxes), id;

		r->op++;
		if (rng_chance(&r->mine, 50)) {
			id = block_number(r);
			if (id == r->count * MAX_BLOCKS)
				continue;
			block_create(r, id);
		} else {
			if (!box_get(r, box, &id))
				continue;
			block_check(r, id);
			if (rng_chance(&r->mine, 20))
				block_resize(r, id);
			else if (rng_chance(&r->mine, 50))
				block_write(r, id);
			box = rng_below(&r->mine, r->boxes);
			if (rng_chance(&r->mine, 50)) {
				block_free(r, id);
				continue;
			}
		}
		rest(r);
		if (!box_put(r, box, id))
			block_free(r, id);
	}
}

void blocks_drain(struct run *r)
{
	unsigned id;

	for (unsigned box = 0; box < r->boxes; box++)
		while (box_get(r, (box + r->me) % r->boxes, &id)) {
			block_check(r, id);
			block_free(r, id);
		}
}
