/* SPDX-License-Identifier: BSD-3-Clause */
/* word_copy_test.c - is each aligned element stored, and loaded, by one access? Checked after each instruction: the
 * CPU's trap flag is set during a copy, and the trap's handler reads the same memory.  Not with ThreadSanitizer, whose
 * functions would be interrupted, too, and wait for each other. */
#include "core/base/word_copy.h"
#include "tests/unit/unit.h"

#include <signal.h>
#include <stdlib.h>

#define MOST         4200u
#define MARGIN       64u
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

typedef void (*copy_fn)(void *dst, const void *src, size_t len);

static _Alignas(64) char memory[MOST + 2 * MARGIN], other[MOST + 2 * MARGIN];
static struct {
	char *at; /* elements that are checked */
	const char *wanted;
	size_t size, n;
	unsigned stored[MOST];
	unsigned torn;
	uint64_t steps;
} look;

#if defined(__x86_64__) && !TW_TSAN
#define STEPS     1
#define TRAP_ON   "lea -128(%%rsp), %%rsp\n pushfq\n orq $0x100, (%%rsp)\n popfq\n lea 128(%%rsp), %%rsp\n"
#define TRAP_OFF  "lea -128(%%rsp), %%rsp\n pushfq\n andq $~0x100, (%%rsp)\n popfq\n lea 128(%%rsp), %%rsp\n"
#define TRAP(how) __asm__ volatile(how : : : "memory", "cc")
#else
#define STEPS 0
#define TRAP(how)
#endif

/* Stores: the handler removes each value that it finds, so that a second store of it is visible. */
static void stores_look(int signal)
{
	(void)signal;
	for (size_t i = 0; i < look.n; i++) {
		char *element = look.at + i * look.size;
		bool some = false;

		for (size_t b = 0; b < look.size; b++)
			some |= element[b] != 0;
		if (!some)
			continue;
		look.stored[i]++;
		look.torn += memcmp(element, look.wanted + i * look.size, look.size) != 0;
		memset(element, 0, look.size);
	}
}

static void stores_step(copy_fn copy, size_t at, size_t size, size_t n)
{
	struct sigaction action = {.sa_handler = stores_look}, old;

	memset(memory, 0, sizeof(memory));
	for (size_t i = 0; i < sizeof(other); i++)
		other[i] = (char)(1 + i % 255);
	memset(&look, 0, sizeof(look));
	look.at = memory + at;
	look.wanted = other + 1;
	look.size = size;
	look.n = n;
	sigaction(SIGTRAP, &action, &old);
	TRAP(TRAP_ON);
	copy(memory + at, other + 1, n * size);
	TRAP(TRAP_OFF);
	sigaction(SIGTRAP, &old, NULL);
	stores_look(0); /* where there is no trap */
}

/* Returns the number of elements that were not stored exactly once and whole. */
static size_t stores_wrong(copy_fn copy, size_t at, size_t size, size_t n)
{
	size_t wrong = 0;

	stores_step(copy, at, size, n);
	for (size_t i = 0; i < n; i++)
		wrong += look.stored[i] != 1;
	return wrong + look.torn;
}

/* A step takes up to 20 us: few shapes. */
static void all_shapes(size_t (*wrong)(copy_fn copy, size_t at, size_t size, size_t n), copy_fn copy)
{
	static const size_t bytes[] = {3, 8, 14, 44, 72, 264};
	const bool slow = TW_ASAN || TW_TSAN; /* a step takes far longer, and all lengths take one path */

	for (size_t size = 1; size <= 8; size *= 2)
		for (size_t i = 0; i < COUNT(bytes) - slow; i++)
			for (size_t at = 0; bytes[i] % size == 0 && at <= 40; at += 24 - size)
				CU_ASSERT_EQUAL(wrong(copy, MARGIN + at, size, bytes[i] / size), 0);
	if (!slow)
		CU_ASSERT_EQUAL(wrong(copy, MARGIN + 24, 8, 4104 / 8), 0);
}

static void test_stores(void)
{
	all_shapes(stores_wrong, tw_words_store_any);
}

/* A part of a word that is no element: stored by one access, and nothing beside it. */
static void test_parts(void)
{
	for (size_t at = 0; at < 8; at++)
		for (size_t len = 1; at + len <= 8; len++) {
			stores_step(tw_words_store_any, MARGIN + at, len, 1);
			CU_ASSERT_EQUAL(look.stored[0], 1);
			CU_ASSERT_EQUAL(look.torn, 0);
			for (size_t i = 0; i < sizeof(memory); i++)
				CU_ASSERT_EQUAL(memory[i], 0);
		}
}

static void store_one(void *dst, const void *src, size_t len)
{
	if (len == 8)
		tw_words_store(dst, src, 8);
	else if (len == 4)
		tw_words_store(dst, src, 4);
	else if (len == 2)
		tw_words_store(dst, src, 2);
	else
		tw_words_store(dst, src, 1);
}

static void test_one(void)
{
	for (size_t size = 1; size <= 8; size *= 2)
		for (size_t at = 0; at < 16; at += 8 + size)
			CU_ASSERT_EQUAL(stores_wrong(store_one, MARGIN + at, size, 1), 0);
}

static void test_masks(void)
{
	const uint64_t value = 0x8182838485868788;

	for (unsigned mask = 1; mask < 256; mask++) {
		uint64_t word = 0x0102030405060708;
		tw_words_merge(&word, value, mask);
		for (unsigned b = 0; b < 8; b++)
			CU_ASSERT_EQUAL((uint8_t)(word >> 8 * b), (mask >> b & 1 ? 0x88 : 8) - b);
	}
}

/* ---- loads ------------------------------------------------------------------------------------------------------
 * The source changes at each instruction. Each element must be of one value, and later elements of no older value. */

static void loads_look(int signal)
{
	(void)signal;
	look.steps++;
	for (size_t i = 0; i < look.n; i++)
		memset(look.at + i * look.size, (int)(1 + TW_MIN(look.steps / 4, (uint64_t)250)), look.size);
}

static size_t loads_wrong(copy_fn copy, size_t at, size_t size, size_t n)
{
	struct sigaction action = {.sa_handler = loads_look}, old;
	size_t wrong = 0;

	memset(other, 0, sizeof(other));
	memset(&look, 0, sizeof(look));
	look.at = memory + at;
	look.size = size;
	look.n = n;
	loads_look(0);
	sigaction(SIGTRAP, &action, &old);
	TRAP(TRAP_ON);
	copy(other + MARGIN, memory + at, n * size);
	TRAP(TRAP_OFF);
	sigaction(SIGTRAP, &old, NULL);
	const uint8_t *got = (const uint8_t *)other + MARGIN;
	for (size_t i = 0; i < n; i++) {
		for (size_t b = 0; b < size; b++)
			wrong += got[i * size + b] != got[i * size];
		wrong += got[i * size] == 0 || (i && n * size < WORDS_UNORDERED && got[i * size] < got[(i - 1) * size]);
	}
	return wrong;
}

static void test_loads(void)
{
	all_shapes(loads_wrong, tw_words_load_any);
}

/* ---- what would be found ---- */

#if STEPS
/* As a C library may copy 8 bytes: the first 8, then the last 8. */
static void copy_twice(void *dst, const void *src, size_t len)
{
	volatile uint64_t *to = dst;
	uint64_t word;

	memcpy(&word, src, 8);
	*to = word;
	to[len / 8 - 1] = word;
}

static void copy_bytes(void *dst, const void *src, size_t len)
{
	for (size_t i = 0; i < len; i++)
		((volatile char *)dst)[i] = ((const volatile char *)src)[i];
}

static void test_controls(void)
{
	CU_ASSERT_EQUAL(stores_wrong(copy_twice, MARGIN, 8, 1), 1);
	CU_ASSERT(stores_wrong(copy_bytes, MARGIN, 4, 1) > 1);
	CU_ASSERT(loads_wrong(copy_bytes, MARGIN, 8, 4) > 0);
}
#else
static void test_controls(void) {}
#endif

int main(void)
{
	CU_TestInfo tests[] = {
	    {"stores of aligned elements", test_stores},
	    {"parts of words", test_parts},
	    {"one element", test_one},
	    {"masks", test_masks},
	    {"loads", test_loads},
	    {"controls", test_controls},
	    CU_TEST_INFO_NULL,
	};

	return unit_main("words", tests);
}
