/* SPDX-License-Identifier: BSD-3-Clause */
/* diff_test.c - every implementation of driver/diff.h against a naive oracle, alone and with concurrent stores. */
#include "core/base/base.h"
#include "tweed/driver/diff.h"
#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#define PAGE_MOST  ((size_t)65536)
#define SPLIT      ((size_t)4096) /* runs may be cut at multiples of it */
#define CONTROL_NS 5000000000ull  /* most time for a wrong variant to fail */

/* Sanitizers make the oracle ten times slower, and tsan ten times more: of similar cases they run a part. */
#define SHARE (TW_TSAN ? 17u : TW_ASAN ? 5u : 1u)
/* Stores that race with a diff by design, which must be correct nevertheless. */
#define RACES __attribute__((no_sanitize("thread")))

static const char *const names[] = {"scalar", "sse2", "avx2", "avx512"};
#define NAMES (sizeof(names) / sizeof(names[0]))

static _Alignas(64) char frame[PAGE_MOST], original[PAGE_MOST], incoming[PAGE_MOST];
static _Alignas(64) char twin[PAGE_MOST + 128], twin_before[PAGE_MOST];
static uint64_t seed = 20260117;

typedef size_t (*out_fn)(const void *frame, void *twin, size_t bytes, int update, tw_run_fn run, void *ctx);

/* What was passed to the callback, checked as it arrives. */
struct seen {
	unsigned char changed[PAGE_MOST]; /* 1: passed; 2: first byte of a run */
	size_t end;                       /* of the last run */
	bool bad;
	bool scribble; /* change the frame's bytes of the run being passed: they were compared already */
};

static struct seen seen;

/* Called for each run; under sanitizers it would be by far the slowest part. */
__attribute__((no_sanitize("thread", "address", "undefined"))) static void seen_run(void *ctx, size_t offset,
                                                                                    const void *bytes, size_t len)
{
	struct seen *s = ctx;
	if (len == 0 || offset < s->end || offset + len > PAGE_MOST || memcmp(bytes, original + offset, len) != 0) {
		s->bad = true;
		return;
	}
	memset(s->changed + offset, 1, len);
	if (offset != s->end || offset % SPLIT || offset == 0)
		s->changed[offset] = 2;
	s->end = offset + len;
	if (s->scribble) {
		size_t piece = offset / SPLIT * SPLIT;
		for (size_t i = 0; i < SPLIT; i++)
			frame[piece + i] = (char)(frame[piece + i] + 1);
	}
}

/* Run @out on frame and twin as they are, and compare its effects with the definition. */
static bool out_is_right(out_fn out, size_t bytes, int update, bool scribble)
{
	size_t expect = 0;
	memcpy(original, frame, bytes);
	memcpy(twin_before, twin, bytes);
	memset(&seen, 0, sizeof(seen));
	memset(twin + bytes, 0x5a, 128);
	seen.scribble = scribble;
	size_t n = out(frame, twin, bytes, update, seen_run, &seen);
	for (size_t i = 0; i < bytes; i++) {
		bool differs = original[i] != twin_before[i];
		bool begins = differs && (i == 0 || original[i - 1] == twin_before[i - 1]);
		if (seen.changed[i] != (begins ? 2 : differs ? 1 : 0))
			return false;
		if (twin[i] != (update ? original[i] : twin_before[i]) || (!scribble && frame[i] != original[i]))
			return false;
		expect += differs;
	}
	for (size_t i = 0; i < 128; i++)
		if (twin[bytes + i] != 0x5a)
			return false;
	return n == expect && !seen.bad;
}

/* Frames that differ from the twin in random runs of at most @longest bytes, at most @gap apart. */
static void make_runs(size_t bytes, size_t longest, size_t gap)
{
	for (size_t i = 0; i < bytes; i++)
		frame[i] = twin[i] = (char)unit_random(&seed);
	for (size_t i = unit_random(&seed) % (gap + 1); i < bytes; i += 1 + unit_random(&seed) % gap) {
		size_t len = 1 + unit_random(&seed) % longest;
		for (; len && i < bytes; len--, i++)
			frame[i] = (char)(twin[i] + 1 + (char)(unit_random(&seed) % 255));
	}
}

static void each_implementation(void (*test)(void))
{
	unsigned n = 0;
	for (size_t i = 0; i < NAMES; i++) {
		int status = tw_diff_select(names[i]);
		if (status == 0) {
			printf(" %s", names[i]);
			test();
			n++;
		} else {
			CU_ASSERT_EQUAL(status, -ENOTSUP);
		}
	}
	CU_ASSERT(n >= 1);
	CU_ASSERT_EQUAL(tw_diff_select("abacus"), -ENOTSUP);
}

static void out_random(void)
{
	static const size_t shapes[][2] = {{1, 1},    {1, 3},     {4, 4},      {8, 8},
	                                   {20, 100}, {300, 300}, {5000, 200}, {3, 9000}};
	bool right = true;
	for (size_t bytes = 4096; bytes <= PAGE_MOST / (TW_TSAN ? 4 : 1); bytes *= 2)
		for (size_t s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++)
			for (int variant = 0; variant < 8; variant++) {
				make_runs(bytes, shapes[s][0], shapes[s][1]);
				right &= out_is_right(tw_diff_out, bytes, variant & 1, variant & 2);
			}
	CU_ASSERT(right);
}

/* Every first and last byte of a run, within and across lines, with equal bytes around. */
static void out_edges(void)
{
	bool right = true;
	memset(twin, 0x11, 8192);
	memset(frame, 0x11, 8192);
	static const size_t bases[] = {0, 3900, 4096, 8192 - 200};
	for (size_t b = 0; b < 4; b++)
		for (size_t from = 0; from < 200; from += SHARE)
			for (size_t to = from + 1; to <= 200; to += 1 + (to - from) / 8) {
				memset(frame + bases[b] + from, 0x22, to - from);
				right &= out_is_right(tw_diff_out, 8192, 0, false);
				memset(frame + bases[b] + from, 0x11, to - from);
			}
	CU_ASSERT(right);
}

static void out_extremes(void)
{
	for (size_t bytes = 4096; bytes <= PAGE_MOST; bytes += 4096 * (SHARE > 1 ? 3 : 1))
		for (int update = 0; update < 2; update++) {
			memset(twin, 0, bytes);
			memset(frame, 0, bytes);
			CU_ASSERT(out_is_right(tw_diff_out, bytes, update, false));
			memset(frame, 0x80, bytes);
			CU_ASSERT(out_is_right(tw_diff_out, bytes, update, false));
		}
}

static void test_out_random(void)
{
	each_implementation(out_random);
}

static void test_out_edges(void)
{
	each_implementation(out_edges);
}

static void test_out_extremes(void)
{
	each_implementation(out_extremes);
}

/* The target has other bytes where nothing differs: they must stay. */
static void store_random(void)
{
	static char to[PAGE_MOST + 64], was[PAGE_MOST + 64];
	bool right = true;

	for (size_t bytes = 4096; bytes <= PAGE_MOST / (TW_TSAN ? 4 : 1); bytes *= 2)
		for (int variant = 0; variant < 12; variant++) {
			size_t n = 0;
			make_runs(bytes, 1 + (size_t)variant * 3, variant & 1 ? 5 : 300);
			memcpy(twin_before, twin, bytes);
			for (size_t i = 0; i < sizeof(to); i++)
				was[i] = to[i] = (char)unit_random(&seed);
			size_t stored = tw_diff_store(frame, twin, bytes, variant & 2, to);
			for (size_t i = 0; i < bytes; i++) {
				bool differs = frame[i] != twin_before[i];
				right &= to[i] == (differs ? frame[i] : was[i]);
				right &= twin[i] == (variant & 2 ? frame[i] : twin_before[i]);
				n += differs;
			}
			right &= stored == n && memcmp(to + bytes, was + bytes, 64) == 0;
		}
	CU_ASSERT(right);
}

static void test_store_random(void)
{
	each_implementation(store_random);
}

/* Known wrong: whole words instead of bytes, so a word overwrites another node's byte. */
static size_t words_out(const void *f, void *t, size_t bytes, int update, tw_run_fn run, void *ctx)
{
	size_t n = 0;
	for (size_t i = 0; i < bytes; i += 4)
		if (memcmp((const char *)f + i, (char *)t + i, 4) != 0) {
			run(ctx, i, (const char *)f + i, 4);
			n += 4;
			if (update)
				memcpy((char *)t + i, (const char *)f + i, 4);
		}
	return n;
}

/* Known wrong: neighbouring runs are merged over one equal byte. */
static size_t merged_out(const void *f, void *t, size_t bytes, int update, tw_run_fn run, void *ctx)
{
	const char *a = f;
	char *b = t;
	size_t n = 0;
	for (size_t i = 0; i < bytes; i++) {
		size_t from = i;
		while (i < bytes && (a[i] != b[i] || (i > from && i + 1 < bytes && a[i + 1] != b[i + 1])))
			i++;
		if (i > from)
			run(ctx, from, a + from, i - from);
		n += i - from;
	}
	if (update)
		memcpy(t, f, bytes);
	return n;
}

static void test_out_controls(void)
{
	make_runs(4096, 5, 30);
	CU_ASSERT_FALSE(out_is_right(words_out, 4096, 0, false));
	memset(twin, 0, 4096);
	memset(frame, 0, 4096);
	frame[100] = frame[102] = 1;
	CU_ASSERT_FALSE(out_is_right(merged_out, 4096, 0, false));
	frame[102] = 0;
	CU_ASSERT(out_is_right(merged_out, 4096, 0, false)); /* wrong only in the intended respect */
}

/* ---- incoming diffs --------------------------------------------------------------------------------------------- */

typedef size_t (*in_fn)(void *frame, void *twin, const void *incoming, size_t bytes);

/* The frame has local changes, the incoming page remote ones, mostly at other bytes. */
static bool in_is_right(in_fn in, size_t bytes, size_t longest, size_t gap)
{
	size_t expect = 0;
	make_runs(bytes, longest, gap);
	memcpy(incoming, frame, bytes);
	memcpy(frame, twin, bytes);
	for (size_t i = 0; i < bytes / 8; i++)
		frame[unit_random(&seed) % bytes] ^= 0x55;
	memcpy(original, frame, bytes);
	memcpy(twin_before, twin, bytes);
	size_t n = in(frame, twin, incoming, bytes);
	for (size_t i = 0; i < bytes; i++) {
		bool differs = incoming[i] != twin_before[i];
		if (frame[i] != (differs ? incoming[i] : original[i]) || twin[i] != incoming[i])
			return false;
		expect += differs;
	}
	return n == expect;
}

static size_t copying_in(void *f, void *t, const void *in, size_t bytes)
{
	size_t n = 0;
	for (size_t i = 0; i < bytes; i++)
		n += ((const char *)in)[i] != ((char *)t)[i];
	memcpy(f, in, bytes);
	memcpy(t, in, bytes);
	return n;
}

static void in_random(void)
{
	static const size_t shapes[][2] = {{1, 1}, {1, 5}, {4, 4}, {8, 8}, {40, 60}, {3000, 200}, {2, 4000}};
	bool right = true;
	for (size_t bytes = 4096; bytes <= PAGE_MOST / (TW_TSAN ? 4 : 1); bytes *= 2)
		for (size_t s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++)
			for (int i = 0; i < 4; i++)
				right &= in_is_right(tw_diff_in, bytes, shapes[s][0], shapes[s][1]);
	CU_ASSERT(right);
}

static void test_in_random(void)
{
	each_implementation(in_random);
	CU_ASSERT_FALSE(in_is_right(copying_in, 4096, 8, 8));
}

/* ---- write-write races ------------------------------------------------------------------------------------------ */

typedef size_t (*race_fn)(const void *frame, const void *twin, const void *incoming, size_t bytes, tw_run_fn run,
                          void *ctx);

static bool races(size_t i)
{
	return incoming[i] != twin[i] && frame[i] != twin[i] && incoming[i] != frame[i];
}

/* Both sides have changes, sometimes the same; the runs must be those of the definition. */
static bool race_is_right(race_fn race, size_t bytes, size_t longest, size_t gap)
{
	size_t expect = 0;
	make_runs(bytes, longest, gap);
	memcpy(incoming, frame, bytes);
	for (size_t i = 0; i < bytes; i++) {
		unsigned kind = (unsigned)(unit_random(&seed) % 8);
		frame[i] = kind < 5 ? twin[i] : kind < 6 ? incoming[i] : (char)unit_random(&seed);
	}
	memcpy(original, incoming, bytes); /* what seen_run compares with */
	memset(&seen, 0, sizeof(seen));
	size_t n = race(frame, twin, incoming, bytes, seen_run, &seen);
	for (size_t i = 0; i < bytes; i++) {
		bool begins = races(i) && (i == 0 || !races(i - 1));
		if (seen.changed[i] != (begins ? 2 : races(i)))
			return false;
		expect += races(i);
	}
	return n == expect && !seen.bad;
}

/* Known wrong: false sharing within a word is taken for a race. */
static size_t words_race(const void *f, const void *t, const void *in, size_t bytes, tw_run_fn run, void *ctx)
{
	size_t n = 0;
	for (size_t i = 0; i < bytes; i += 8) {
		const char *a = (const char *)f + i, *b = (const char *)t + i, *c = (const char *)in + i;
		if (memcmp(a, b, 8) && memcmp(b, c, 8) && memcmp(a, c, 8)) {
			run(ctx, i, c, 8);
			n += 8;
		}
	}
	return n;
}

static void race_random(void)
{
	static const size_t shapes[][2] = {{1, 1}, {1, 5}, {8, 8}, {40, 60}, {3000, 200}, {2, 4000}};
	bool right = true;
	for (size_t bytes = 4096; bytes <= PAGE_MOST / (TW_TSAN ? 4 : 1); bytes *= 2)
		for (size_t s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++)
			right &= race_is_right(tw_diff_race, bytes, shapes[s][0], shapes[s][1]);
	CU_ASSERT(right);
}

static void test_race_random(void)
{
	race_random();
	CU_ASSERT_FALSE(race_is_right(words_race, 4096, 8, 8));
}

/* ---- merges ----------------------------------------------------------------------------------------------------- */

static char merged[PAGE_MOST];

/* Known wrong: where both changed a byte, bits of both are mixed. */
static size_t mixing_merge(void *f, void *t, const void *h, size_t bytes, tw_run_fn race, void *ctx)
{
	size_t n = tw_diff_race(f, t, h, bytes, race, ctx);
	for (size_t i = 0; i < bytes; i++)
		((char *)t)[i] = ((char *)f)[i] = (char)(((const char *)h)[i] ^ ((char *)t)[i] ^ ((char *)f)[i]);
	return n;
}

typedef size_t (*merge_fn)(void *frame, void *twin, const void *home, size_t bytes, tw_run_fn race, void *ctx);

static bool merge_reports(merge_fn merge, size_t bytes)
{
	size_t n, expect = 0;
	for (size_t i = 0; i < bytes; i++) {
		merged[i] = frame[i] != twin[i] ? frame[i] : incoming[i];
		expect += races(i);
	}
	memcpy(original, incoming, bytes);
	memset(&seen, 0, sizeof(seen));
	n = merge(frame, twin, incoming, bytes, seen_run, &seen);
	return n == expect && !seen.bad;
}

/* A byte that one side changed is that side's; one that both changed is the frame's. */
static bool merge_is_right(merge_fn merge, size_t bytes, size_t longest, size_t gap, bool race)
{
	make_runs(bytes, longest, gap);
	memcpy(incoming, frame, bytes);
	for (size_t i = 0; i < bytes; i++) {
		unsigned kind = (unsigned)(unit_random(&seed) % 8);
		frame[i] = kind < 5 ? twin[i] : kind < 6 ? incoming[i] : (char)unit_random(&seed);
		if (!race && frame[i] != twin[i])
			incoming[i] = twin[i];
	}
	bool right = merge_reports(merge, bytes);
	return right && memcmp(frame, merged, bytes) == 0 && memcmp(twin, merged, bytes) == 0;
}

/* Nothing changed at the home: the twin becomes the frame. */
static bool merge_alone_is_right(size_t bytes)
{
	make_runs(bytes, 40, 60);
	memcpy(merged, frame, bytes);
	size_t n = tw_diff_merge(frame, twin, twin, bytes, NULL, NULL);
	return n == 0 && memcmp(frame, merged, bytes) == 0 && memcmp(twin, merged, bytes) == 0;
}

static void merge_random(void)
{
	static const size_t shapes[][2] = {{1, 1}, {1, 5}, {8, 8}, {40, 60}, {3000, 200}, {2, 4000}};
	bool right = true;
	for (size_t bytes = 4096; bytes <= PAGE_MOST / (TW_TSAN ? 4 : 1); bytes *= 2) {
		for (size_t s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++)
			for (int race = 0; race < 2; race++)
				right &= merge_is_right(tw_diff_merge, bytes, shapes[s][0], shapes[s][1], race);
		right &= merge_alone_is_right(bytes);
	}
	CU_ASSERT(right);
}

static void test_merge_random(void)
{
	each_implementation(merge_random);
	CU_ASSERT(merge_is_right(mixing_merge, 4096, 8, 8, false));
	CU_ASSERT_FALSE(merge_is_right(mixing_merge, 4096, 8, 8, true));
}

/* ---- units: each is one writer's, whole ---- */

static void units_make(size_t unit)
{
	for (size_t i = 0; i < 4096; i += unit)
		for (size_t b = 0; b < unit; b++) { /* values that have bytes in common */
			twin[i + b] = (char)(1 + b % 2);
			frame[i + b] = i / unit % 3 ? (char)(1 + b % 3) : twin[i + b];
			incoming[i + b] = i / unit % 4 ? (char)(1 + b % 4) : twin[i + b];
		}
	memcpy(original, frame, 4096);
}

static bool units_whole(const char *result, size_t unit)
{
	bool whole = true;
	for (size_t i = 0; i < 4096; i += unit)
		whole &= memcmp(result + i, original + i, unit) == 0 || memcmp(result + i, incoming + i, unit) == 0;
	return whole;
}

static void units_one(size_t unit)
{
	units_make(unit);
	tw_diff_in(frame, twin, incoming, 4096);
	CU_ASSERT(units_whole(frame, unit) && memcmp(twin, incoming, 4096) == 0);
	units_make(unit);
	tw_diff_merge(frame, twin, incoming, 4096, NULL, NULL);
	CU_ASSERT(units_whole(frame, unit) && memcmp(twin, frame, 4096) == 0);
	units_make(unit);
	memcpy(merged, incoming, 4096);
	tw_diff_store(frame, twin, 4096, 1, merged);
	CU_ASSERT(units_whole(merged, unit));
}

static void test_units(void)
{
	for (size_t unit = 1; unit <= 8; unit *= 2) {
		tw_diff_set_unit((unsigned)unit);
		units_one(unit);
	}
	tw_diff_set_unit(1);
	tw_diff_select("scalar");
	units_make(8);
	tw_diff_in(frame, twin, incoming, 4096);
	CU_ASSERT_FALSE(units_whole(frame, 8));
}

/* ---- concurrent stores to the frame ----------------------------------------------------------------------------- */

static _Atomic bool stop, lost;

/* A local writer of the odd bytes: each holds its last value, unless another thread stored there. */
RACES static void *odd_writer(void *arg)
{
	volatile char *f = frame;
	(void)arg;
	for (char value = 0; !atomic_load_explicit(&stop, memory_order_relaxed); value++)
		for (size_t i = 1; i < 4096; i += 2) {
			if (f[i] != value)
				atomic_store(&lost, true);
			f[i] = (char)(value + 1);
		}
	return NULL;
}

/* Incoming diffs of the even bytes, for @ns or until the writer has lost a store. Returns whether it has. */
static bool odd_bytes_lost(in_fn in, uint64_t ns)
{
	pthread_t thread;
	uint64_t end = tw_time_ns() + ns;
	memset(frame, 0, 4096);
	memset(twin, 0, 4096);
	memset(incoming, 0, 4096);
	atomic_store(&stop, false);
	atomic_store(&lost, false);
	if (pthread_create(&thread, NULL, odd_writer, NULL) != 0)
		abort();
	for (char value = 1; tw_time_ns() < end && !atomic_load(&lost); value = (char)(value + 1)) {
		for (size_t i = 0; i < 4096; i += 2)
			incoming[i] = value;
		in(frame, twin, incoming, 4096);
	}
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	return atomic_load(&lost);
}

/* Known wrong: leaves other bytes their value, but stores it. */
static size_t blending_in(void *f, void *t, const void *in, size_t bytes)
{
	volatile uint64_t *fw = f;
	uint64_t *tw = t;
	const uint64_t *iw = in;
	for (size_t i = 0; i < bytes / 8; i++) {
		uint64_t even = 0x00ff00ff00ff00ffull;
		fw[i] = (fw[i] & ~even) | (iw[i] & even);
		tw[i] = iw[i];
	}
	return bytes / 2;
}

/* A merge in place of an incoming diff: the home has the odd bytes that were merged before. */
static size_t merging_in(void *f, void *t, const void *in, size_t bytes)
{
	for (size_t i = 1; i < bytes; i += 2)
		incoming[i] = ((char *)t)[i];
	return tw_diff_merge(f, t, in, bytes, NULL, NULL);
}

static void in_concurrent(void)
{
	CU_ASSERT_FALSE(odd_bytes_lost(tw_diff_in, 100000000));
	CU_ASSERT_FALSE(odd_bytes_lost(merging_in, 100000000));
}

static void test_in_concurrent(void)
{
	each_implementation(in_concurrent);
	CU_ASSERT(odd_bytes_lost(blending_in, CONTROL_NS));
}

RACES static void *counter(void *arg)
{
	volatile uint64_t *f = (volatile uint64_t *)(void *)frame;
	(void)arg;
	for (uint64_t value = 1; !atomic_load_explicit(&stop, memory_order_relaxed); value += 0x0101)
		for (size_t i = 0; i < 512; i++)
			f[i] = value;
	return NULL;
}

static void mirror_run(void *ctx, size_t offset, const void *bytes, size_t len)
{
	memcpy((char *)ctx + offset, bytes, len);
}

/* While bytes change, what is passed on and what enters the twin must be equal. */
static bool mirror_differs(out_fn out, uint64_t ns)
{
	pthread_t thread;
	bool differs = false;
	uint64_t end = tw_time_ns() + ns;
	memset(frame, 0, 4096);
	memset(twin, 0, 4096);
	memset(incoming, 0, 4096);
	atomic_store(&stop, false);
	if (pthread_create(&thread, NULL, counter, NULL) != 0)
		abort();
	while (tw_time_ns() < end && !differs) {
		out(frame, twin, 4096, 1, mirror_run, incoming);
		differs = memcmp(twin, incoming, 4096) != 0;
	}
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	return differs;
}

static void out_concurrent(void)
{
	CU_ASSERT_FALSE(mirror_differs(tw_diff_out, 100000000));
}

/* Known wrong: reads the frame again for the twin. */
static size_t rereading_out(const void *f, void *t, size_t bytes, int update, tw_run_fn run, void *ctx)
{
	size_t n = tw_diff_out(f, t, bytes, 0, run, ctx);
	if (update)
		memcpy(t, f, bytes);
	return n;
}

static void test_out_concurrent(void)
{
	each_implementation(out_concurrent);
	CU_ASSERT(mirror_differs(rereading_out, CONTROL_NS));
}

/* A local writer of a byte that differs now and then. */
RACES static void *flicker(void *arg)
{
	volatile char *f = frame;
	(void)arg;
	for (char value = 0; !atomic_load_explicit(&stop, memory_order_relaxed); value ^= 1)
		f[0x230] = value;
	return NULL;
}

/* While a byte before it changes, the byte that differs throughout must be found.  Returns whether it was missed. */
static bool any_missed(bool (*any)(const void *f, const void *t, size_t bytes), uint64_t ns)
{
	pthread_t thread;
	bool missed = false;
	uint64_t end = tw_time_ns() + ns;
	memset(frame, 0, 4096);
	memset(twin, 0, 4096);
	frame[0x5d8] = 1;
	atomic_store(&stop, false);
	if (pthread_create(&thread, NULL, flicker, NULL) != 0)
		abort();
	while (tw_time_ns() < end && !missed)
		missed = !any(frame, twin, 4096);
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	return missed;
}

static void any_concurrent(void)
{
	CU_ASSERT_FALSE(any_missed(tw_diff_any, 100000000));
	memcpy(twin, frame, 4096);
	CU_ASSERT_FALSE(tw_diff_any(frame, twin, 4096));
	for (size_t i = 0; i < 8192; i++) {
		memset(frame, 0, 8192);
		memset(twin, 0, 8192);
		frame[i] = 1;
		if (!tw_diff_any(frame, twin, 8192))
			CU_FAIL("a byte is missed");
	}
}

/* Known wrong: as memcmp, reads the first byte that differs again, here a moment later. */
RACES static bool rereading_any(const void *f, const void *t, size_t bytes)
{
	const volatile char *a = f, *b = t;
	size_t i = 0;
	while (i < bytes && a[i] == b[i])
		i++;
	for (volatile unsigned wait = 0; wait < 100; wait++)
		;
	return i < bytes && a[i] != b[i];
}

static void test_any_concurrent(void)
{
	each_implementation(any_concurrent);
	CU_ASSERT(any_missed(rereading_any, CONTROL_NS));
}

int main(void)
{
	CU_TestInfo tests[] = {
	    {"out: random runs", test_out_random},
	    {"store: random runs", test_store_random},
	    {"out: every edge", test_out_edges},
	    {"out: nothing and everything", test_out_extremes},
	    {"out: wrong variants are caught", test_out_controls},
	    {"in: random runs", test_in_random},
	    {"race: random runs", test_race_random},
	    {"merge: random runs", test_merge_random},
	    {"units", test_units},
	    {"in: concurrent stores next to it", test_in_concurrent},
	    {"out: concurrent stores into it", test_out_concurrent},
	    {"any: concurrent stores before it", test_any_concurrent},
	    CU_TEST_INFO_NULL,
	};
	return unit_main("diff", tests);
}
