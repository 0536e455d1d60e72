/* SPDX-License-Identifier: BSD-3-Clause */
/* hints.h - earlier positions of keys: a sorted table, private to one PE, in blocks that split. */
#ifndef TW_PGAS_HINTS_H
#define TW_PGAS_HINTS_H

#include <stdbool.h>
#include <stdint.h>

struct hint {
	uint64_t key, node, stamp;
};

#define HINTS_BLOCK  64u
#define HINTS_BLOCKS 4096u /* the maximum; then the table drops entries that have no room */

struct hints_block {
	unsigned n;
	struct hint hint[HINTS_BLOCK];
};

struct hints {
	unsigned n;                 /* blocks */
	uint64_t *first;            /* [n] each block's smallest key; first[0] is 0 */
	struct hints_block **block; /* [n] */
};

bool hints_init(struct hints *h);
void hints_fini(struct hints *h);
void hints_add(struct hints *h, uint64_t key, uint64_t node, uint64_t stamp);
void hints_remove(struct hints *h, uint64_t key);
/* hints_below - the hint with the greatest key below @key.  hints_from - the one with the smallest key not below it.
 * false: none. */
bool hints_below(const struct hints *h, uint64_t key, struct hint *hint);
bool hints_from(const struct hints *h, uint64_t key, struct hint *hint);

#endif
