/* SPDX-License-Identifier: BSD-3-Clause */
/* once.c [MS] - each element that a put brings is stored once, and at once; each that a get brings was there so.  The
 * last PE looks at what PE 0
 * puts while it comes, takes each element away, and must find it whole, and never again; PE 0 gets elements while the
 * last PE changes
 * them.  Each way for MS milliseconds, at least a few rounds. */
#include <stdlib.h>
#include <time.h>

#include "check.h"

#define BYTES 640 /* of a round, at most */
#define ENDED (-1L)

static _Alignas(64) char box[BYTES];
static long round_put, round_seen;
static uint64_t signals;
static int me, last;
static double limit_ms = 5;

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* What a round puts: no byte is 0, and the bytes of an element change all with the round. */
static void fill(char *source, long round)
{
	for (size_t i = 0; i < BYTES; i++)
		source[i] = (char)(1 + (size_t)(round + (long)i) % 255);
}

/* ---- the ways of a put: @n elements of @size bytes ---- */

typedef void (*put_fn)(const char *source, size_t size, size_t n);

static void put_vector(const char *source, size_t size, size_t n)
{
	if (size == 8)
		shmem_put64(box, source, n, last);
	else if (size == 4)
		shmem_put32(box, source, n, last);
	else if (size == 2)
		shmem_put16(box, source, n, last);
	else
		shmem_put8(box, source, n, last);
}

static void put_bytes(const char *source, size_t size, size_t n)
{
	shmem_putmem(box, source, size * n, last);
}

static void put_nbi(const char *source, size_t size, size_t n)
{
	shmem_putmem_nbi(box, source, size * n, last);
}

static void put_one(const char *source, size_t size, size_t n)
{
	for (size_t i = 0; i < n; i++, source += size) {
		char *to = box + i * size;
		if (size == 8)
			shmem_uint64_p((uint64_t *)(void *)to, *(const uint64_t *)(const void *)source, last);
		else if (size == 4)
			shmem_uint32_p((uint32_t *)(void *)to, *(const uint32_t *)(const void *)source, last);
		else if (size == 2)
			shmem_uint16_p((uint16_t *)(void *)to, *(const uint16_t *)(const void *)source, last);
		else
			shmem_uint8_p((uint8_t *)to, *(const uint8_t *)source, last);
	}
}

/* Of odd and even ones. */
static void put_strided(const char *source, size_t size, size_t n)
{
	for (size_t k = 0; k < 2 && k < n; k++) {
		size_t some = (n - k + 1) / 2;
		if (size == 8)
			shmem_iput64(box + k * size, source + k * size, 2, 2, some, last);
		else if (size == 4)
			shmem_iput32(box + k * size, source + k * size, 2, 2, some, last);
		else if (size == 2)
			shmem_iput16(box + k * size, source + k * size, 2, 2, some, last);
		else
			shmem_iput8(box + k * size, source + k * size, 2, 2, some, last);
	}
}

static void put_signal(const char *source, size_t size, size_t n)
{
	shmem_putmem_signal(box, source, size * n, &signals, 1, SHMEM_SIGNAL_ADD, last);
}

/* ---- those who look ---- */

/* Take away what has come of @n elements. */
static void look(const char *wanted, size_t size, size_t n, unsigned char *stored)
{
	for (size_t i = 0; i < n; i++) {
		volatile char *at = box + i * size;
		uint64_t value = size == 8   ? *(volatile uint64_t *)(volatile void *)at
		                 : size == 4 ? *(volatile uint32_t *)(volatile void *)at
		                 : size == 2 ? *(volatile uint16_t *)(volatile void *)at
		                             : *(volatile uint8_t *)at;
		if (!value)
			continue;
		CHECK(memcmp(&value, wanted + i * size, size) == 0); /* whole */
		CHECK(stored[i]++ == 0);                             /* not again */
		if (size == 8)
			*(volatile uint64_t *)(volatile void *)at = 0;
		else if (size == 4)
			*(volatile uint32_t *)(volatile void *)at = 0;
		else if (size == 2)
			*(volatile uint16_t *)(volatile void *)at = 0;
		else
			*at = 0;
	}
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static void taker(size_t size, size_t n)
{
	_Alignas(8) char wanted[BYTES];
	unsigned char stored[BYTES];

	for (long round = 1, put = 0; put != ENDED; round++) {
		fill(wanted, round);
		memset(stored, 0, sizeof(stored));
		while ((put = __atomic_load_n(&round_put, __ATOMIC_ACQUIRE)) < round && put != ENDED) {
			look(wanted, size, n, stored);
			if (stored[n - 1])
				shmem_long_test(&round_put, SHMEM_CMP_EQ, round); /* that it may come */
		}
		if (put == ENDED)
			continue;
		look(wanted, size, n, stored);
		look(wanted, size, n, stored);
		for (size_t i = 0; i < n; i++)
			CHECK(stored[i] == 1);
		shmem_long_p(&round_seen, round, 0);
		shmem_quiet();
	}
}

static void putter(put_fn put, size_t size, size_t n)
{
	_Alignas(8) char source[BYTES];
	double until = now_ms() + limit_ms;

	for (long round = 1; round < 4 || now_ms() < until; round++) {
		fill(source, round);
		put(source, size, n);
		shmem_quiet();
		shmem_long_p(&round_put, round, last);
		shmem_quiet();
		shmem_long_wait_until(&round_seen, SHMEM_CMP_EQ, round);
	}
	shmem_long_p(&round_put, ENDED, last);
	shmem_quiet();
}

static void way(put_fn put)
{
	static const size_t counts[] = {1, 3, 40};

	for (size_t size = 1; size <= 8; size *= 2)
		for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
			shmem_barrier_all();
			round_put = round_seen = 0;
			memset(box, 0, sizeof(box));
			shmem_barrier_all();
			if (me == 0)
				putter(put, size, counts[i]);
			else if (me == last)
				taker(size, counts[i]);
			shmem_barrier_all();
		}
}

/* All bytes of an element are equal, and change together. */
static void gets(void)
{
	double until = now_ms() + 4 * limit_ms;
	volatile uint64_t *word = (volatile uint64_t *)(volatile void *)box;

	memset(box, 0, sizeof(box));
	shmem_barrier_all();
	for (uint64_t i = 0; me == last && __atomic_load_n(&round_put, __ATOMIC_ACQUIRE) != ENDED; i++) {
		for (size_t w = 0; w < BYTES / 8; w++)
			word[w] = (i & 255) * 0x0101010101010101;
		if (i % 64 == 0)
			shmem_long_test(&round_put, SHMEM_CMP_EQ, ENDED);
	}
	while (me == 0 && now_ms() < until) {
		_Alignas(8) char got[BYTES];
		uint64_t one = shmem_uint64_g((uint64_t *)(void *)box, last);
		CHECK(one == (one & 255) * 0x0101010101010101);
		shmem_getmem(got, box, BYTES, last);
		for (size_t i = 0; i < BYTES; i++)
			CHECK(got[i] == got[i & ~(size_t)7]);
		shmem_iget32(got, box, 1, 2, BYTES / 8, last);
		for (size_t i = 0; i < BYTES / 2; i++)
			CHECK(got[i] == got[i & ~(size_t)3]);
	}
	if (me == 0)
		shmem_long_p(&round_put, ENDED, last);
	shmem_barrier_all();
}

int main(int argc, char **argv)
{
	static const put_fn ways[] = {put_vector, put_bytes, put_nbi, put_one, put_strided, put_signal};

	if (argc > 1)
		limit_ms = atof(argv[1]);
	shmem_init();
	me = shmem_my_pe();
	last = shmem_n_pes() - 1;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		way(ways[i]);
	round_put = 0;
	shmem_barrier_all();
	gets();
	shmem_finalize();
	return 0;
}
