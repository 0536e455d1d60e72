/* SPDX-License-Identifier: BSD-3-Clause */
/* word_copy.c - copies word by word. On x86, longer copies use vectors and the longest use rep movs.
 *
 * An x86 vector access accesses each aligned word whole, even when the vector crosses a cache line, because lines end
 * at word boundaries. Each iteration of rep movsq is one load and one store of a word. All accesses are volatile, so
 * the compiler neither repeats them nor turns them into memcpy. Under sanitizers, all copies use atomic words. */
#include "core/base/word_copy.h"

#include <sched.h>
#include <stdlib.h>

#if defined(__x86_64__) && !TW_ASAN && !TW_TSAN
#define WORDS_VECTORS 1
#else
#define WORDS_VECTORS 0
#endif

/* ---- parts of a word ---- */

/* Returns whether the bytes at @at are one element. */
static inline bool words_one(const void *at, size_t len)
{
	return len - 1 < 8 && !(len & (len - 1)) && !((uintptr_t)at & (len - 1));
}

/* Returns the size of the largest element at @at, at most @len bytes. */
static inline size_t words_element(const char *at, size_t len)
{
	size_t most = (size_t)1 << (63 - __builtin_clzll(len)), aligned = (uintptr_t)at & -(uintptr_t)at;

	return TW_MIN(most, TW_MIN(aligned ? aligned : 8, (size_t)8));
}

/* Expands each bit of @mask to a byte of ones. */
static inline uint64_t words_bits(unsigned mask)
{
	uint64_t spread = mask * 0x0101010101010101ull & 0x8040201008040201ull;

	return (((spread + 0x7f7f7f7f7f7f7f7full) >> 7) & 0x0101010101010101ull) * 0xff;
}

/* Others may store to the bytes between, hence compare-and-swap where the bytes are not one element. */
__attribute__((no_sanitize("address"))) void tw_words_merge(void *to, uint64_t value, unsigned mask)
{
	if (mask == 0xff) {
		WORDS_STORE(64, to, &value);
		return;
	}
	if (!mask)
		return;
	unsigned at = (unsigned)__builtin_ctz(mask), n = (unsigned)__builtin_ctz(~(mask >> at));
	const char *from = (const char *)&value + at;
	char *dst = (char *)to + at;

	if (!(mask >> at >> n) && words_one(dst, n)) {
		WORDS_COPY_ONE(WORDS_STORE, dst, from, n);
		return;
	}
	uint64_t bits = words_bits(mask), old = __atomic_load_n((uint64_t *)to, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n((uint64_t *)to, &old, (old & ~bits) | (value & bits), true,
	                                    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		continue;
}

/* Copy fewer than 8 bytes, inside one word. */
static void words_store_part(char *dst, const char *src, size_t len)
{
	size_t at = (uintptr_t)dst % 8;
	uint64_t value = 0;

	memcpy((char *)&value + at, src, len);
	tw_words_merge(dst - at, value, ((1u << len) - 1) << at);
}

static void words_load_part(char *dst, const char *src, size_t len)
{
	for (size_t n; len; len -= n, dst += n, src += n) {
		n = words_element(src, len);
		WORDS_COPY_ONE(WORDS_LOAD, dst, src, n);
	}
}

/* ---- many words ---- */

#if WORDS_VECTORS
#define WORDS_AVX 256u /* from this size on, AVX is worth its start-up cost */

/* Copies vectors of @BYTES, four at a time, then one by one. Returns the bytes copied. */
#define WORDS_VECTOR(NAME, BYTES, HOW)                                                                                 \
	typedef uint64_t NAME##_vector __attribute__((vector_size(BYTES), may_alias, aligned(1)));                     \
	HOW size_t NAME(char *dst, const char *src, size_t len)                                                        \
	{                                                                                                              \
		volatile NAME##_vector *to = (void *)dst;                                                              \
		const volatile NAME##_vector *from = (const void *)src, *end = from + len / (BYTES);                   \
                                                                                                                       \
		for (; end - from >= 4; to += 4, from += 4) {                                                          \
			NAME##_vector a = from[0], b = from[1], c = from[2], d = from[3];                              \
			to[0] = a;                                                                                     \
			to[1] = b;                                                                                     \
			to[2] = c;                                                                                     \
			to[3] = d;                                                                                     \
		}                                                                                                      \
		for (; from < end; to++, from++)                                                                       \
			*to = *from;                                                                                   \
		return len / (BYTES) * (BYTES);                                                                        \
	}
WORDS_VECTOR(words_sse, 16, static inline)
WORDS_VECTOR(words_avx, 32, __attribute__((target("avx"))) static)
WORDS_VECTOR(words_avx512, 64, __attribute__((target("avx512f"))) static)

static size_t words_rep(char *dst, const char *src, size_t len)
{
	size_t words = len / 8;

	__asm__ volatile("rep movsq" : "+D"(dst), "+S"(src), "+c"(words) : : "memory");
	return len / 8 * 8;
}

static inline size_t words_long(char *dst, const char *src, size_t len)
{
	if (len >= WORDS_UNORDERED) /* below, rep movs takes longer to start */
		return words_rep(dst, src, len);
	if (len < WORDS_AVX)
		return words_sse(dst, src, len);
	return __builtin_cpu_supports("avx512f") ? words_avx512(dst, src, len)
	       : __builtin_cpu_supports("avx")   ? words_avx(dst, src, len)
	                                         : words_sse(dst, src, len);
}

/* Copies what vectors can copy. Long copies first advance until vectors cross no line of @shared. */
#define WORDS_LONG(how, dst, src, len, shared)                                                                         \
	for (; (len) >= WORDS_AVX && (uintptr_t)(shared) % 64; (len) -= 8, (dst) += 8, (src) += 8)                     \
		how(64, dst, src);                                                                                     \
	size_t done = words_long(dst, src, len);                                                                       \
	(len) -= done, (dst) += done, (src) += done;
#else
#define WORDS_LONG(how, dst, src, len, shared)
#endif

#ifdef TW_PLANT
/* The planted bug: bytes are stored twice, as memcpy may do; another thread can run in between. */
static bool words_twice(void)
{
	static int twice = -1;
	const char *plant = twice < 0 ? getenv("TWEED_PLANT") : NULL;

	if (twice < 0)
		twice = plant && strcmp(plant, "store-twice") == 0;
	return twice;
}
#else
static bool words_twice(void)
{
	return false;
}
#endif

void tw_words_store_any(void *to, const void *from, size_t len)
{
	char *dst = to;
	const char *src = from;
	size_t head = -(uintptr_t)dst & 7;

	if (words_twice()) {
		memcpy(to, from, len);
		sched_yield();
		memcpy(to, from, len);
		return;
	}
	if (len <= 8 && words_one(dst, len)) {
		WORDS_COPY_ONE(WORDS_STORE, dst, src, len);
		return;
	}
	if (head) {
		head = TW_MIN(head, len);
		words_store_part(dst, src, head);
		len -= head, dst += head, src += head;
	}
	WORDS_LONG(WORDS_STORE, dst, src, len, dst)
	for (; len >= 8; len -= 8, dst += 8, src += 8)
		WORDS_STORE(64, dst, src);
	if (len)
		words_store_part(dst, src, len);
}

void tw_words_load_any(void *to, const void *from, size_t len)
{
	char *dst = to;
	const char *src = from;
	size_t head = -(uintptr_t)src & 7;

	if (len <= 8 && words_one(src, len)) {
		WORDS_COPY_ONE(WORDS_LOAD, dst, src, len);
		return;
	}
	if (head) {
		head = TW_MIN(head, len);
		words_load_part(dst, src, head);
		len -= head, dst += head, src += head;
	}
	WORDS_LONG(WORDS_LOAD, dst, src, len, src)
	for (; len >= 8; len -= 8, dst += 8, src += 8)
		WORDS_LOAD(64, dst, src);
	if (len)
		words_load_part(dst, src, len);
}
