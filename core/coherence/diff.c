/* SPDX-License-Identifier: BSD-3-Clause */
/* diff.c - turns masks into runs, chooses the implementation, and contains the portable one.
 *
 * A window (4 KiB) is first scanned to masks; then the masks are turned into runs. Only the scan reads the frame, so
 * the snapshot, and with @update the twin, hold exactly what was compared. With @update the twin itself is the
 * snapshot; the caller's page lock keeps it unchanged while runs are passed on. */
#include "tweed/driver/diff.h"
#include "core/coherence/diff_ops.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the scalar masks take the first byte as the lowest"
#endif

#define SCALAR_LOW7 0x7f7f7f7f7f7f7f7full
#define SCALAR_HIGH 0x8080808080808080ull
#define SCALAR_PACK 0x0102040810204080ull

/* Bytes of a unit are taken or left together. */
static unsigned diff_unit = 1;

static bool scalar_supported(void)
{
	return true;
}

/* A bit for each byte of @x that is not 0. */
static inline uint64_t scalar_bits(uint64_t x)
{
	uint64_t high = (((x & SCALAR_LOW7) + SCALAR_LOW7) | x) & SCALAR_HIGH;
	return (high >> 7) * SCALAR_PACK >> 56;
}

/* A bit for each byte of a unit of @x that is not 0. */
static inline uint64_t scalar_units(uint64_t x)
{
	static const uint64_t low[] = {[1] = 0x55, [2] = 0x33, [4] = 0x0f};
	uint64_t m = scalar_bits(x);

	for (unsigned step = 1; step < diff_unit; step *= 2)
		m |= (m & low[step]) << step | (m >> step & low[step]);
	return m;
}

static inline uint64_t scalar_load(const char *p)
{
	return __atomic_load_n((const uint64_t *)(const void *)p, __ATOMIC_RELAXED); /* load once */
}

static uint64_t scalar_scan(const char *frame, const char *twin, char *out, uint64_t *mask)
{
	uint64_t lines = 0;
	for (size_t i = 0; i < DIFF_LINES; i++) {
		uint64_t v[8], m = 0;
		for (unsigned j = 0; j < 8; j++) {
			uint64_t t;
			memcpy(&t, twin + i * DIFF_LINE + 8 * j, 8);
			v[j] = scalar_load(frame + i * DIFF_LINE + 8 * j);
			if (v[j] != t)
				m |= scalar_units(v[j] ^ t) << (8 * j);
		}
		if (!m)
			continue;
		mask[i] = m;
		lines |= 1ull << i;
		memcpy(out + i * DIFF_LINE, v, DIFF_LINE);
	}
	return lines;
}

static size_t scalar_in(char *frame, char *twin, const char *incoming, size_t bytes)
{
	size_t changed = 0;
	for (size_t i = 0; i < bytes; i += 8) {
		uint64_t v, t;
		memcpy(&v, incoming + i, 8);
		memcpy(&t, twin + i, 8);
		if (v == t)
			continue;
		uint64_t m = scalar_units(v ^ t);
		memcpy(twin + i, &v, 8);
		diff_store_masked(frame + i, twin + i, m);
		changed += diff_bits(m);
	}
	return changed;
}

/* Merge 8 bytes: stores twin and frame. Returns the mask of the racing bytes. */
static unsigned scalar_merge_word(char *frame, char *twin, uint64_t h)
{
	uint64_t d = scalar_load(frame), t;
	memcpy(&t, twin, 8);
	uint64_t in = scalar_units(h ^ t), out = scalar_units(d ^ t), x = h ^ t ^ d;
	for (uint64_t both = in & out; both; both &= both - 1) {
		uint64_t byte = 0xffull << 8 * (unsigned)__builtin_ctzll(both);
		x = (x & ~byte) | (d & byte);
	}
	if (in | out)
		memcpy(twin, &x, 8);
	diff_store_masked(frame, twin, in & ~out);
	return (unsigned)(in & out & scalar_bits(d ^ h));
}

static uint64_t scalar_merge(char *frame, char *twin, const char *home, uint64_t *mask)
{
	uint64_t lines = 0;
	for (size_t i = 0; i < DIFF_LINES; i++) {
		uint64_t m = 0;
		for (unsigned j = 0; j < 8; j++) {
			size_t at = i * DIFF_LINE + 8 * j;
			uint64_t h;
			memcpy(&h, home + at, 8);
			m |= (uint64_t)scalar_merge_word(frame + at, twin + at, h) << (8 * j);
		}
		mask[i] = m;
		lines |= (uint64_t)(m != 0) << i;
	}
	return lines;
}

static const struct diff_ops diff_scalar = {
    .name = "scalar",
    .supported = scalar_supported,
    .scan = scalar_scan,
    .store = diff_store_masked,
    .in = scalar_in,
    .merge = scalar_merge,
};

/* Best first. */
static const struct diff_ops *const diff_list[] = {
#if defined(__x86_64__)
    &diff_avx512,
    &diff_avx2,
    &diff_sse2,
#endif
    &diff_scalar,
};

static _Atomic(const struct diff_ops *) diff_chosen;

/* All threads choose the same, so the race is harmless. */
static const struct diff_ops *diff_choose(void)
{
	const struct diff_ops *const *ops = diff_list;
	while (!(*ops)->supported())
		ops++;
	atomic_store_explicit(&diff_chosen, *ops, memory_order_relaxed);
	return *ops;
}

static inline const struct diff_ops *diff_get(void)
{
	const struct diff_ops *ops = atomic_load_explicit(&diff_chosen, memory_order_relaxed);
	return ops ? ops : diff_choose();
}

int tw_diff_select(const char *name)
{
	for (size_t i = 0; i < sizeof(diff_list) / sizeof(diff_list[0]); i++) {
		if (strcmp(diff_list[i]->name, name) != 0 || !diff_list[i]->supported())
			continue;
		atomic_store_explicit(&diff_chosen, diff_list[i], memory_order_relaxed);
		return 0;
	}
	return -ENOTSUP;
}

void tw_diff_set_unit(unsigned bytes)
{
	diff_unit = bytes;
	if (bytes > 1)
		tw_diff_select("scalar");
}

/* Pass the runs of a window at page offset @base. A run begins at a set bit whose lower neighbour is clear and ends
 * before the next clear bit. @carry is the last bit of the line before. The line after each differing one is visited
 * too, to close a run that reached the line's end. */
static size_t diff_runs(uint64_t lines, const uint64_t *mask, size_t base, const char *bytes, tw_run_fn run, void *ctx)
{
	size_t total = 0, start = 0;
	uint64_t carry = 0;
	for (uint64_t todo = lines | lines << 1; todo; todo &= todo - 1) {
		unsigned line = (unsigned)__builtin_ctzll(todo);
		uint64_t m = lines >> line & 1 ? mask[line] : 0;
		uint64_t below = m << 1 | carry;
		uint64_t begins = m & ~below, ends = ~m & below;
		size_t at = line * DIFF_LINE;
		if (carry && ends) {
			size_t end = at + (size_t)__builtin_ctzll(ends);
			run(ctx, base + start, bytes + start, end - start);
			total += end - start;
			ends &= ends - 1;
		}
		for (; ends; ends &= ends - 1, begins &= begins - 1) {
			size_t end = at + (size_t)__builtin_ctzll(ends);
			start = at + (size_t)__builtin_ctzll(begins);
			run(ctx, base + start, bytes + start, end - start);
			total += end - start;
		}
		if (begins)
			start = at + (size_t)__builtin_ctzll(begins);
		carry = m >> 63;
	}
	if (carry) {
		run(ctx, base + start, bytes + start, DIFF_WINDOW - start);
		total += DIFF_WINDOW - start;
	}
	return total;
}

static void diff_no_run(void *ctx, size_t offset, const void *bytes, size_t len)
{
	(void)ctx, (void)offset, (void)bytes, (void)len;
}

size_t tw_diff_out(const void *frame, void *twin, size_t bytes, int update, tw_run_fn run, void *ctx)
{
	const struct diff_ops *ops = diff_get();
	_Alignas(64) char snapshot[DIFF_WINDOW];
	uint64_t mask[DIFF_LINES];
	size_t total = 0;

	tw_charge(TW_COST_diff, bytes);
	for (size_t base = 0; base < bytes; base += DIFF_WINDOW) {
		const char *f = (const char *)frame + base;
		char *t = (char *)twin + base;
		char *out = update ? t : snapshot;
		uint64_t lines = ops->scan(f, t, out, mask);
		if (lines)
			total += diff_runs(lines, mask, base, out, run, ctx);
	}
	return total;
}

bool tw_diff_any(const void *frame, const void *twin, size_t bytes)
{
	const struct diff_ops *ops = diff_get();
	_Alignas(64) char snapshot[DIFF_WINDOW];
	uint64_t mask[DIFF_LINES];

	tw_charge(TW_COST_diff, bytes);
	for (size_t base = 0; base < bytes; base += DIFF_WINDOW)
		if (ops->scan((const char *)frame + base, (const char *)twin + base, snapshot, mask))
			return true;
	return false;
}

size_t tw_diff_store(const void *frame, void *twin, size_t bytes, int update, char *to)
{
	const struct diff_ops *ops = diff_get();
	_Alignas(64) char snapshot[DIFF_WINDOW];
	uint64_t mask[DIFF_LINES];
	size_t total = 0;

	tw_charge(TW_COST_diff, bytes);
	for (size_t base = 0; base < bytes; base += DIFF_WINDOW) {
		char *t = (char *)twin + base, *out = update ? t : snapshot;
		for (uint64_t l = ops->scan((const char *)frame + base, t, out, mask); l; l &= l - 1) {
			size_t line = (size_t)__builtin_ctzll(l), at = line * DIFF_LINE;
			ops->store(to + base + at, out + at, mask[line]);
			total += diff_bits(mask[line]);
		}
	}
	return total;
}

/* Most words that are operated on have 8 bytes, which need no call. */
void tw_diff_apply(void *to, const void *bytes, size_t len)
{
	if (len == sizeof(uint64_t))
		tw_words_store(to, bytes, sizeof(uint64_t));
	else
		tw_words_store(to, bytes, len);
}

void tw_diff_load(void *to, const void *page, size_t len)
{
	if (len == sizeof(uint64_t))
		tw_words_load(to, page, sizeof(uint64_t));
	else
		tw_words_load(to, page, len);
}

size_t tw_diff_in(void *frame, void *twin, const void *incoming, size_t bytes)
{
	tw_charge(TW_COST_merge, bytes);
	return diff_get()->in(frame, twin, incoming, bytes);
}

/* Returns the mask of the racing bytes of a line. Nearly always nothing is incoming, a case for which compilers use
 * vectors. */
static uint64_t diff_race_line(const char *frame, const char *twin, const char *incoming)
{
	uint64_t in[8], t[8], changed = 0, m = 0;

	memcpy(in, incoming, sizeof(in));
	memcpy(t, twin, sizeof(t));
	for (unsigned j = 0; j < 8; j++)
		changed |= in[j] ^ t[j];
	for (unsigned j = 0; changed && j < 8; j++) {
		uint64_t f = scalar_load(frame + 8 * j);
		m |= (scalar_bits(in[j] ^ t[j]) & scalar_bits(f ^ t[j]) & scalar_bits(in[j] ^ f)) << (8 * j);
	}
	return m;
}

size_t tw_diff_race(const void *frame, const void *twin, const void *incoming, size_t bytes, tw_run_fn run, void *ctx)
{
	uint64_t mask[DIFF_LINES];
	size_t total = 0;

	tw_charge(TW_COST_merge, bytes);
	for (size_t base = 0; base < bytes; base += DIFF_WINDOW) {
		const char *f = (const char *)frame + base, *t = (const char *)twin + base;
		const char *in = (const char *)incoming + base;
		uint64_t lines = 0;
		for (size_t i = 0; i < DIFF_LINES; i++) {
			mask[i] = diff_race_line(f + i * DIFF_LINE, t + i * DIFF_LINE, in + i * DIFF_LINE);
			lines |= (uint64_t)(mask[i] != 0) << i;
		}
		if (lines)
			total += diff_runs(lines, mask, base, in, run, ctx);
	}
	return total;
}

size_t tw_diff_merge(void *frame, void *twin, const void *home, size_t bytes, tw_run_fn race, void *ctx)
{
	const struct diff_ops *ops = diff_get();
	uint64_t mask[DIFF_LINES];
	size_t total = 0;

	tw_charge(TW_COST_merge, bytes);
	for (size_t base = 0; base < bytes; base += DIFF_WINDOW) {
		const char *h = (const char *)home + base;
		uint64_t lines = ops->merge((char *)frame + base, (char *)twin + base, h, mask);
		if (lines)
			total += diff_runs(lines, mask, base, h, race ? race : diff_no_run, ctx);
	}
	return total;
}
