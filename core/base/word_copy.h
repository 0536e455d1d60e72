/* SPDX-License-Identifier: BSD-3-Clause */
/* words.h - copies to and from memory that others read and write meanwhile: each aligned element of 1, 2, 4 or 8 bytes is stored, or
 * loaded, by one access, and by no second one.  memcpy promises neither: of 8 bytes it may store the first 8 and then the last 8. */
#ifndef TW_CORE_BASE_WORD_COPY_H
#define TW_CORE_BASE_WORD_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/base/base.h"

/* tw_words_store - copy to memory that others look at.  What the copy has of an aligned word of 8 bytes is stored at once; words in rising
 * order, but from WORDS_UNORDERED bytes on.  The source is private.
 * tw_words_load - copy from such memory; aligned elements are loaded at once, in the same order.  So they are stored, where the
 * destination lies as the source does in its words.
 * tw_words_merge - those bytes of the aligned word @to for which @mask has a bit are stored at once, with those of @value. */
#define WORDS_UNORDERED 4096u
void tw_words_store_any(void *dst, const void *src, size_t len);
void tw_words_load_any(void *dst, const void *src, size_t len);
void tw_words_merge(void *to, uint64_t value, unsigned mask);

#define WORDS_STORE(bits, dst, src)                                                                                    \
	do {                                                                                                           \
		uint##bits##_t word;                                                                                   \
		memcpy(&word, src, sizeof(word));                                                                      \
		__atomic_store_n((uint##bits##_t *)(void *)(dst), word, __ATOMIC_RELEASE);                             \
	} while (0)
#define WORDS_LOAD(bits, dst, src)                                                                                     \
	do {                                                                                                           \
		uint##bits##_t word = __atomic_load_n((const uint##bits##_t *)(const void *)(src), __ATOMIC_ACQUIRE);  \
		memcpy(dst, &word, sizeof(word));                                                                      \
	} while (0)

/* Is that one element, of a size that the compiler knows? */
#define WORDS_ONE(at, len)                                                                                             \
	(__builtin_constant_p(len) && ((len) == 1 || (len) == 2 || (len) == 4 || (len) == 8) &&                        \
	 (uintptr_t)(at) % (len) == 0)
#define WORDS_COPY_ONE(how, dst, src, len)                                                                             \
	do {                                                                                                           \
		if ((len) == 8)                                                                                        \
			how(64, dst, src);                                                                             \
		else if ((len) == 4)                                                                                   \
			how(32, dst, src);                                                                             \
		else if ((len) == 2)                                                                                   \
			how(16, dst, src);                                                                             \
		else                                                                                                   \
			how(8, dst, src);                                                                              \
	} while (0)

static inline void tw_words_store(void *dst, const void *src, size_t len)
{
	if (WORDS_ONE(dst, len))
		WORDS_COPY_ONE(WORDS_STORE, dst, src, len);
	else
		tw_words_store_any(dst, src, len);
}

static inline void tw_words_load(void *dst, const void *src, size_t len)
{
	if (WORDS_ONE(src, len))
		WORDS_COPY_ONE(WORDS_LOAD, dst, src, len);
	else
		tw_words_load_any(dst, src, len);
}

#endif
