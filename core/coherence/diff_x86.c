/* SPDX-License-Identifier: BSD-3-Clause */
/* diff_x86.c - SSE2, AVX2 and AVX-512 (BW) versions of the diff primitives.
 *
 * Each frame line is loaded into registers once. The empty asm statements (PIN) make the loaded value opaque, so the
 * compiler cannot load it again, which would let a concurrent store come between comparison and snapshot. */
#if defined(__x86_64__)
#include "core/coherence/diff_ops.h"

#include <immintrin.h>

/* ---- AVX-512 ---------------------------------------------------------------------------------------------------- */

#define AVX512  __attribute__((target("avx512f,avx512bw,bmi,popcnt")))
#define PIN(v)  __asm__ volatile("" : "+v"(v))
#define LOAD(p) _mm512_loadu_si512((const void *)(p))
/* acc | (a ^ b) */
#define OR_DIFF(acc, a, b) _mm512_ternarylogic_epi64(acc, a, b, 0xf6)

static bool avx512_supported(void)
{
	__builtin_cpu_init();
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
	       __builtin_cpu_supports("bmi") && __builtin_cpu_supports("popcnt");
}

AVX512 static uint64_t avx512_scan(const char *frame, const char *twin, char *out, uint64_t *mask)
{
	uint64_t lines = 0;
	for (size_t i = 0; i < DIFF_LINES; i += 4) {
		const char *f = frame + i * DIFF_LINE, *t = twin + i * DIFF_LINE;
		char *o = out + i * DIFF_LINE;
		__m512i a = LOAD(f), b = LOAD(f + 64), c = LOAD(f + 128), d = LOAD(f + 192);
		PIN(a);
		PIN(b);
		PIN(c);
		PIN(d);
		__m512i x = _mm512_xor_si512(a, LOAD(t));
		x = OR_DIFF(x, b, LOAD(t + 64));
		x = OR_DIFF(x, c, LOAD(t + 128));
		x = OR_DIFF(x, d, LOAD(t + 192));
		if (_mm512_test_epi64_mask(x, x) == 0)
			continue;
		mask[i] = _mm512_cmpneq_epi8_mask(a, LOAD(t));
		mask[i + 1] = _mm512_cmpneq_epi8_mask(b, LOAD(t + 64));
		mask[i + 2] = _mm512_cmpneq_epi8_mask(c, LOAD(t + 128));
		mask[i + 3] = _mm512_cmpneq_epi8_mask(d, LOAD(t + 192));
		lines |= (uint64_t)((mask[i] != 0) | (mask[i + 1] != 0) << 1 | (mask[i + 2] != 0) << 2 |
		                    (mask[i + 3] != 0) << 3)
		         << i;
		_mm512_storeu_si512(o, a);
		_mm512_storeu_si512(o + 64, b);
		_mm512_storeu_si512(o + 128, c);
		_mm512_storeu_si512(o + 192, d);
	}
	return lines;
}

AVX512 static void avx512_store(char *to, const char *from, uint64_t mask)
{
	_mm512_mask_storeu_epi8(to, mask, LOAD(from));
}

AVX512 static size_t avx512_in(char *frame, char *twin, const char *incoming, size_t bytes)
{
	size_t changed = 0;
	for (size_t i = 0; i < bytes; i += 64) {
		__m512i a = LOAD(incoming + i);
		PIN(a);
		__mmask64 m = _mm512_cmpneq_epi8_mask(a, LOAD(twin + i));
		if (!m)
			continue;
		_mm512_mask_storeu_epi8(frame + i, m, a);
		_mm512_storeu_si512(twin + i, a);
		changed += (size_t)_mm_popcnt_u64(m);
	}
	return changed;
}

/* a ^ b ^ c */
#define XOR3(a, b, c) _mm512_ternarylogic_epi64(a, b, c, 0x96)

AVX512 static uint64_t avx512_merge(char *frame, char *twin, const char *home, uint64_t *mask)
{
	uint64_t lines = 0;
	for (size_t i = 0; i < DIFF_LINES; i++) {
		size_t at = i * DIFF_LINE;
		__m512i d = LOAD(frame + at), t = LOAD(twin + at), h = LOAD(home + at);
		PIN(d);
		PIN(h);
		__mmask64 in = _mm512_cmpneq_epi8_mask(h, t), out = _mm512_cmpneq_epi8_mask(d, t), both = in & out;
		if (in | out)
			_mm512_storeu_si512(twin + at, _mm512_mask_mov_epi8(XOR3(h, t, d), both, d));
		if (in & ~both)
			_mm512_mask_storeu_epi8(frame + at, in & ~both, h);
		if (!both)
			continue;
		mask[i] = both & _mm512_cmpneq_epi8_mask(d, h);
		lines |= (uint64_t)(mask[i] != 0) << i;
	}
	return lines;
}

const struct diff_ops diff_avx512 = {
    .name = "avx512",
    .supported = avx512_supported,
    .scan = avx512_scan,
    .store = avx512_store,
    .in = avx512_in,
    .merge = avx512_merge,
};

/* ---- AVX2 ------------------------------------------------------------------------------------------------------- */

#undef PIN
#undef LOAD
#define AVX2        __attribute__((target("avx2,bmi,popcnt")))
#define PIN(v)      __asm__ volatile("" : "+x"(v))
#define LOAD(p)     _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define STORE(p, v) _mm256_storeu_si256((__m256i *)(void *)(p), v)

static bool avx2_supported(void)
{
	__builtin_cpu_init();
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("popcnt");
}

AVX2 static inline uint64_t avx2_mask(__m256i a, __m256i b, __m256i x, __m256i y)
{
	uint32_t low = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(a, x));
	uint32_t high = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(b, y));
	return ~((uint64_t)high << 32 | low);
}

AVX2 static uint64_t avx2_scan(const char *frame, const char *twin, char *out, uint64_t *mask)
{
	uint64_t lines = 0;
	for (size_t i = 0; i < DIFF_LINES; i += 2) {
		const char *f = frame + i * DIFF_LINE, *t = twin + i * DIFF_LINE;
		char *o = out + i * DIFF_LINE;
		__m256i a = LOAD(f), b = LOAD(f + 32), c = LOAD(f + 64), d = LOAD(f + 96);
		PIN(a);
		PIN(b);
		PIN(c);
		PIN(d);
		__m256i x = _mm256_or_si256(_mm256_xor_si256(a, LOAD(t)), _mm256_xor_si256(b, LOAD(t + 32)));
		__m256i y = _mm256_or_si256(_mm256_xor_si256(c, LOAD(t + 64)), _mm256_xor_si256(d, LOAD(t + 96)));
		x = _mm256_or_si256(x, y);
		if (_mm256_testz_si256(x, x))
			continue;
		mask[i] = avx2_mask(a, b, LOAD(t), LOAD(t + 32));
		mask[i + 1] = avx2_mask(c, d, LOAD(t + 64), LOAD(t + 96));
		lines |= (uint64_t)((mask[i] != 0) | (mask[i + 1] != 0) << 1) << i;
		STORE(o, a);
		STORE(o + 32, b);
		STORE(o + 64, c);
		STORE(o + 96, d);
	}
	return lines;
}

AVX2 static size_t avx2_in(char *frame, char *twin, const char *incoming, size_t bytes)
{
	size_t changed = 0;
	for (size_t i = 0; i < bytes; i += 64) {
		__m256i a = LOAD(incoming + i), b = LOAD(incoming + i + 32);
		PIN(a);
		PIN(b);
		uint64_t m = avx2_mask(a, b, LOAD(twin + i), LOAD(twin + i + 32));
		if (!m)
			continue;
		STORE(twin + i, a);
		STORE(twin + i + 32, b);
		if (m == ~0ull) {
			STORE(frame + i, a);
			STORE(frame + i + 32, b);
		} else {
			diff_store_masked(frame + i, twin + i, m);
		}
		changed += (size_t)_mm_popcnt_u64(m);
	}
	return changed;
}

/* Merge half a line. Sets bits in @in for bytes that only the home changed, and in @race for bytes that both changed to
 * different values. */
AVX2 static inline void avx2_merge_half(const char *frame, char *twin, const char *home, uint32_t *in, uint32_t *race)
{
	__m256i d = LOAD(frame), t = LOAD(twin), h = LOAD(home);
	PIN(d);
	PIN(h);
	__m256i same_h = _mm256_cmpeq_epi8(h, t), same_d = _mm256_cmpeq_epi8(d, t);
	__m256i one = _mm256_or_si256(same_h, same_d); /* at most one side changed it */
	__m256i x = _mm256_xor_si256(_mm256_xor_si256(h, t), d);
	*in = ~(uint32_t)_mm256_movemask_epi8(same_h) & (uint32_t)_mm256_movemask_epi8(same_d);
	*race = ~(uint32_t)_mm256_movemask_epi8(_mm256_or_si256(one, _mm256_cmpeq_epi8(d, h)));
	if (_mm256_movemask_epi8(_mm256_and_si256(same_h, same_d)) != -1)
		STORE(twin, _mm256_blendv_epi8(d, x, one));
}

AVX2 static uint64_t avx2_merge(char *frame, char *twin, const char *home, uint64_t *mask)
{
	uint64_t lines = 0;
	for (size_t i = 0; i < DIFF_LINES; i++) {
		size_t at = i * DIFF_LINE;
		uint32_t in[2], race[2];
		avx2_merge_half(frame + at, twin + at, home + at, &in[0], &race[0]);
		avx2_merge_half(frame + at + 32, twin + at + 32, home + at + 32, &in[1], &race[1]);
		if (in[0] | in[1])
			diff_store_masked(frame + at, twin + at, (uint64_t)in[1] << 32 | in[0]);
		mask[i] = (uint64_t)race[1] << 32 | race[0];
		lines |= (uint64_t)(mask[i] != 0) << i;
	}
	return lines;
}

const struct diff_ops diff_avx2 = {
    .name = "avx2",
    .supported = avx2_supported,
    .scan = avx2_scan,
    .store = diff_store_masked,
    .in = avx2_in,
    .merge = avx2_merge,
};

/* ---- SSE2: every x86-64 ----------------------------------------------------------------------------------------- */

#undef LOAD
#undef STORE
#define LOAD(p)     _mm_loadu_si128((const __m128i *)(const void *)(p))
#define STORE(p, v) _mm_storeu_si128((__m128i *)(void *)(p), v)

static bool sse2_supported(void)
{
	return true;
}

/* A line in registers. */
struct sse2_line {
	__m128i a, b, c, d;
};

static inline struct sse2_line sse2_load(const char *p)
{
	struct sse2_line v = {LOAD(p), LOAD(p + 16), LOAD(p + 32), LOAD(p + 48)};
	PIN(v.a);
	PIN(v.b);
	PIN(v.c);
	PIN(v.d);
	return v;
}

static inline void sse2_store(char *p, struct sse2_line v)
{
	STORE(p, v.a);
	STORE(p + 16, v.b);
	STORE(p + 32, v.c);
	STORE(p + 48, v.d);
}

/* Returns the mask of the bytes of a line that differ from the line at @t. The usual case, none, takes one move of a
 * mask. */
static inline uint64_t sse2_mask(struct sse2_line v, const char *t)
{
	__m128i a = _mm_cmpeq_epi8(v.a, LOAD(t)), b = _mm_cmpeq_epi8(v.b, LOAD(t + 16));
	__m128i c = _mm_cmpeq_epi8(v.c, LOAD(t + 32)), d = _mm_cmpeq_epi8(v.d, LOAD(t + 48));
	if (_mm_movemask_epi8(_mm_and_si128(_mm_and_si128(a, b), _mm_and_si128(c, d))) == 0xffff)
		return 0;
	uint32_t low = (uint32_t)_mm_movemask_epi8(a) | (uint32_t)_mm_movemask_epi8(b) << 16;
	uint32_t high = (uint32_t)_mm_movemask_epi8(c) | (uint32_t)_mm_movemask_epi8(d) << 16;
	return ~((uint64_t)high << 32 | low);
}

static uint64_t sse2_scan(const char *frame, const char *twin, char *out, uint64_t *mask)
{
	uint64_t lines = 0;
	for (size_t i = 0; i < DIFF_LINES; i++) {
		struct sse2_line v = sse2_load(frame + i * DIFF_LINE);
		mask[i] = sse2_mask(v, twin + i * DIFF_LINE);
		if (!mask[i])
			continue;
		lines |= 1ull << i;
		sse2_store(out + i * DIFF_LINE, v);
	}
	return lines;
}

static size_t sse2_in(char *frame, char *twin, const char *incoming, size_t bytes)
{
	size_t changed = 0;
	for (size_t i = 0; i < bytes; i += 64) {
		struct sse2_line v = sse2_load(incoming + i);
		uint64_t m = sse2_mask(v, twin + i);
		if (!m)
			continue;
		sse2_store(twin + i, v);
		if (m == ~0ull)
			sse2_store(frame + i, v);
		else
			diff_store_masked(frame + i, twin + i, m);
		changed += diff_bits(m);
	}
	return changed;
}

/* As avx2_merge_half, for a quarter. */
static inline void sse2_merge_quarter(const char *frame, char *twin, const char *home, uint64_t *in, uint64_t *race)
{
	__m128i d = LOAD(frame), t = LOAD(twin), h = LOAD(home);
	PIN(d);
	PIN(h);
	__m128i same_h = _mm_cmpeq_epi8(h, t), same_d = _mm_cmpeq_epi8(d, t);
	__m128i one = _mm_or_si128(same_h, same_d);
	__m128i x = _mm_xor_si128(_mm_xor_si128(h, t), d);
	*in = ~(uint32_t)_mm_movemask_epi8(same_h) & (uint32_t)_mm_movemask_epi8(same_d) & 0xffff;
	*race = ~(uint32_t)_mm_movemask_epi8(_mm_or_si128(one, _mm_cmpeq_epi8(d, h))) & 0xffff;
	if (_mm_movemask_epi8(_mm_and_si128(same_h, same_d)) != 0xffff)
		STORE(twin, _mm_or_si128(_mm_and_si128(one, x), _mm_andnot_si128(one, d)));
}

static uint64_t sse2_merge(char *frame, char *twin, const char *home, uint64_t *mask)
{
	uint64_t lines = 0;
	for (size_t i = 0; i < DIFF_LINES; i++) {
		uint64_t in = 0, m = 0;
		for (size_t j = 0; j < DIFF_LINE; j += 16) {
			size_t at = i * DIFF_LINE + j;
			uint64_t i16, m16;
			sse2_merge_quarter(frame + at, twin + at, home + at, &i16, &m16);
			in |= i16 << j;
			m |= m16 << j;
		}
		if (in)
			diff_store_masked(frame + i * DIFF_LINE, twin + i * DIFF_LINE, in);
		mask[i] = m;
		lines |= (uint64_t)(m != 0) << i;
	}
	return lines;
}

const struct diff_ops diff_sse2 = {
    .name = "sse2",
    .supported = sse2_supported,
    .scan = sse2_scan,
    .store = diff_store_masked,
    .in = sse2_in,
    .merge = sse2_merge,
};
#else
typedef int diff_x86_is_empty; /* ISO C wants a declaration */
#endif
