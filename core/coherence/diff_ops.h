/* SPDX-License-Identifier: BSD-3-Clause */
/* diff_ops.h - what diff.c requires of an instruction set. Private to core/coherence/diff*.c. */
#ifndef TW_CORE_COHERENCE_DIFF_OPS_H
#define TW_CORE_COHERENCE_DIFF_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/word_copy.h"

/* Pages are compared a window at a time: a bit per byte, a mask word per line, a bit per line in one word. */
#define DIFF_LINE   ((size_t)64)
#define DIFF_LINES  ((size_t)64)
#define DIFF_WINDOW (DIFF_LINE * DIFF_LINES)

struct diff_ops {
	const char *name;
	/* supported - returns whether this processor can run it. Async-signal-safe. */
	bool (*supported)(void);
	/* scan - compare a window. Reads each byte of @frame once. For every line that differs: sets its bit in the
	 * result, its bytes as compared in @out (which may be @twin), and the mask of its differing bytes in @mask. For
	 * other lines @mask is undefined, and @out is undefined or equal to the twin. */
	uint64_t (*scan)(const char *frame, const char *twin, char *out, uint64_t *mask);
	/* store - store the bytes of a line that @mask selects, and no others; bytes of one aligned word by one
	 * access. */
	void (*store)(char *to, const char *from, uint64_t mask);
	/* in - tw_diff_in. */
	size_t (*in)(char *frame, char *twin, const char *incoming, size_t bytes);
	/* merge - tw_diff_merge of a window. Reads each byte of @frame once. For every line with a race: sets its bit
	 * in the result and its racing bytes in @mask. Other masks are undefined. */
	uint64_t (*merge)(char *frame, char *twin, const char *home, uint64_t *mask);
};

extern const struct diff_ops diff_avx512, diff_avx2, diff_sse2;

/* diff_bits - how many bits are set.  A call of libgcc's function, which the builtin may become, would be the program's
 * code for threads that share a processor (runtime/threads/turns.c). */
static inline size_t diff_bits(uint64_t mask)
{
	mask -= mask >> 1 & 0x5555555555555555ull;
	mask = (mask & 0x3333333333333333ull) + (mask >> 2 & 0x3333333333333333ull);
	return ((mask + (mask >> 4)) & 0x0f0f0f0f0f0f0f0full) * 0x0101010101010101ull >> 56;
}

/* diff_store_masked - store the bytes of a line that @mask selects, and no others; bytes of one word by one access. */
static inline void diff_store_masked(char *to, const char *from, uint64_t mask)
{
	for (; mask; to += 8, from += 8, mask >>= 8) {
		uint64_t word;

		if (!(mask & 0xff))
			continue;
		__builtin_memcpy(&word, from, 8);
		tw_words_merge(to, word, mask & 0xff);
	}
}

#endif
