/* SPDX-License-Identifier: BSD-3-Clause */
#include "pgas/containers/hints.h"

#include <stdlib.h>
#include <string.h>

bool hints_init(struct hints *h)
{
	h->first = malloc(HINTS_BLOCKS * sizeof(h->first[0]));
	h->block = malloc(HINTS_BLOCKS * sizeof(h->block[0]));
	if (h->first && h->block && (h->block[0] = malloc(sizeof(struct hints_block)))) {
		h->first[0] = 0;
		h->block[0]->n = 0;
		h->n = 1;
		return true;
	}
	free(h->first);
	free(h->block);
	return false;
}

void hints_fini(struct hints *h)
{
	for (unsigned i = 0; i < h->n; i++)
		free(h->block[i]);
	free(h->first);
	free(h->block);
}

/* The block whose range includes @key. */
static unsigned hints_block(const struct hints *h, uint64_t key)
{
	unsigned low = 0, high = h->n;

	while (high - low > 1) {
		unsigned middle = (low + high) / 2;
		if (h->first[middle] <= key)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* The first entry of @b whose key is not below @key; b->n: none. */
static unsigned hints_at(const struct hints_block *b, uint64_t key)
{
	unsigned low = 0, high = b->n;

	while (low < high) {
		unsigned middle = (low + high) / 2;
		if (b->hint[middle].key < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool hints_split(struct hints *h, unsigned at)
{
	struct hints_block *b = h->block[at], *upper;

	if (h->n == HINTS_BLOCKS || !(upper = malloc(sizeof(*upper))))
		return false;
	upper->n = b->n / 2;
	b->n -= upper->n;
	memcpy(upper->hint, b->hint + b->n, upper->n * sizeof(b->hint[0]));
	memmove(h->first + at + 2, h->first + at + 1, (h->n - at - 1) * sizeof(h->first[0]));
	memmove(h->block + at + 2, h->block + at + 1, (h->n - at - 1) * sizeof(h->block[0]));
	h->first[at + 1] = upper->hint[0].key;
	h->block[at + 1] = upper;
	h->n++;
	return true;
}

void hints_add(struct hints *h, uint64_t key, uint64_t node, uint64_t stamp)
{
	unsigned at = hints_block(h, key);
	struct hints_block *b = h->block[at];
	unsigned i = hints_at(b, key);

	if (i == b->n || b->hint[i].key != key) {
		if (b->n == HINTS_BLOCK) {
			if (hints_split(h, at))
				hints_add(h, key, node, stamp);
			return;
		}
		memmove(b->hint + i + 1, b->hint + i, (b->n - i) * sizeof(b->hint[0]));
		b->n++;
	}
	b->hint[i] = (struct hint){key, node, stamp};
}

void hints_remove(struct hints *h, uint64_t key)
{
	struct hints_block *b = h->block[hints_block(h, key)];
	unsigned i = hints_at(b, key);

	if (i == b->n || b->hint[i].key != key)
		return;
	b->n--;
	memmove(b->hint + i, b->hint + i + 1, (b->n - i) * sizeof(b->hint[0]));
}

bool hints_below(const struct hints *h, uint64_t key, struct hint *hint)
{
	for (unsigned at = hints_block(h, key) + 1; at-- > 0;) {
		unsigned i = hints_at(h->block[at], key);
		if (i) {
			*hint = h->block[at]->hint[i - 1];
			return true;
		}
	}
	return false;
}

bool hints_from(const struct hints *h, uint64_t key, struct hint *hint)
{
	for (unsigned at = hints_block(h, key); at < h->n; at++) {
		unsigned i = hints_at(h->block[at], key);
		if (i < h->block[at]->n) {
			*hint = h->block[at]->hint[i];
			return true;
		}
	}
	return false;
}
