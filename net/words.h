/* SPDX-License-Identifier: BSD-3-Clause */
/* words.h - copies to and from memory that others read and write meanwhile. */
#ifndef TW_NET_WORDS_H
#define TW_NET_WORDS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/util.h"

#define WORDS_MOST 128u /* longer copies may go to memcpy, which promises nothing about single words */

/* Fewer than 8 bytes, each stored once. */
static inline void words_part(char *dst, const char *src, size_t len)
{
	if (len & 4) {
		memcpy(dst, src, 4);
		dst += 4;
		src += 4;
	}
	if (len & 2) {
		memcpy(dst, src, 2);
		dst += 2;
		src += 2;
	}
	if (len & 1)
		*dst = *src;
}

/* Short copies to (from) exported memory: its aligned words are stored (loaded) whole, and once. */
static inline void tw_words_store(char *dst, const char *src, size_t len)
{
	size_t head = TW_MIN(-(uintptr_t)dst & 7, len);
	uint64_t word;

	words_part(dst, src, head);
	dst += head;
	src += head;
	for (len -= head; len >= 8; len -= 8, dst += 8, src += 8) {
		memcpy(&word, src, 8);
		atomic_store_explicit((_Atomic uint64_t *)(void *)dst, word, memory_order_release);
	}
	words_part(dst, src, len);
}

static inline void tw_words_load(char *dst, const char *src, size_t len)
{
	size_t head = TW_MIN(-(uintptr_t)src & 7, len);
	uint64_t word;

	words_part(dst, src, head);
	dst += head;
	src += head;
	for (len -= head; len >= 8; len -= 8, dst += 8, src += 8) {
		word = atomic_load_explicit((const _Atomic uint64_t *)(const void *)src, memory_order_acquire);
		memcpy(dst, &word, 8);
	}
	words_part(dst, src, len);
}

#endif
