/* SPDX-License-Identifier: BSD-3-Clause */
/* word_copy.h - copies to and from memory that others read and write concurrently. Each aligned element of 1, 2, 4 or 8
 * bytes is stored or loaded by exactly one access. memcpy does not guarantee this: for 8 bytes it may store the first 8
 * and then the last 8, which are the same. */
#ifndef TW_CORE_BASE_WORD_COPY_H
#define TW_CORE_BASE_WORD_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/base/base.h"

/* tw_words_store - copy to memory that others read. The bytes copied into one aligned 8-byte word are stored by one
 * access; words in rising order, unless @len is WORDS_UNORDERED or more. The source is private.
 * tw_words_load - copy from such memory. Aligned elements are loaded by one access, in the same order. They are also
 * stored by one access where destination and source have the same offset in their words.
 * tw_words_merge - store the bytes of @value whose bits are set in @mask to the aligned word @to, by one access. */
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

/* Is this one element, of a size known at compile time? */
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
