/* SPDX-License-Identifier: BSD-3-Clause */
/* stores.c - stores of every kind at random places in shared memory: each byte that was stored must be announced to
 * the protocol, and no other.  Built by `tweed cc` with each compiler at each optimization (instrument.py).
 *
 * An operation does its stores and says which bytes must be announced, and which may be (the rest of a bit field's
 * word). Then the log is drained, and every byte of the arena is looked at.
 *
 * stores [SEED [ROUNDS]]; stores --miss: with stores that are not announced, which must be found. */
#ifdef __clang__
#include <complex.h>
#endif
#if defined(__AVX2__)
#include <immintrin.h>
#endif
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "shadow.h"
#include "tweed/tweed.h"

#define ARENA    32768u
#define OP(name) static __attribute__((noinline)) void name(char *p, size_t n)

enum { MUST_NOT, MUST, MAY };

static char *arena;
static unsigned char expected[ARENA]; /* enum above, of each byte */
static uint64_t seed;

static uint64_t draw(uint64_t below)
{
	seed ^= seed >> 12;
	seed ^= seed << 25;
	seed ^= seed >> 27;
	return seed * 0x2545f4914f6cdd1dull % below;
}

static void expect(const char *p, size_t bytes, unsigned char what)
{
	for (size_t i = 0; i < bytes; i++) {
		unsigned char *e = &expected[p - arena + (long)i];
		if (*e != MUST)
			*e = what;
	}
}

/* ---- typed stores ------------------------------------------------------------------------------------------------ */

typedef uint8_t vector16 __attribute__((vector_size(16)));
typedef uint8_t vector32 __attribute__((vector_size(32)));
typedef uint8_t vector64 __attribute__((vector_size(64)));
typedef unsigned __int128 u128;

#define TYPED(type, name)                                                                                              \
	typedef type name##_any __attribute__((aligned(1)));                                                           \
	OP(store_##name)                                                                                               \
	{                                                                                                              \
		type v;                                                                                                \
		for (size_t i = 0; i < sizeof(v); i++)                                                                 \
			((char *)&v)[i] = (char)(n + i);                                                               \
		*(name##_any *)p = v;                                                                                  \
		expect(p, sizeof(v), MUST);                                                                            \
	}
TYPED(uint8_t, u8)
TYPED(uint16_t, u16)
TYPED(uint32_t, u32)
TYPED(uint64_t, u64)
TYPED(u128, u128)
TYPED(vector16, v16)
TYPED(vector32, v32)
TYPED(vector64, v64)
struct s3 {
	char c[3];
};
struct s12 {
	int i[3];
};
struct s24 {
	double d[3];
};
struct s100 {
	char c[100];
};
struct s1000 {
	short s[500];
};
struct s5000 {
	long l[625];
};
TYPED(struct s3, s3)
TYPED(struct s12, s12)
TYPED(struct s24, s24)
TYPED(struct s100, s100)
TYPED(struct s1000, s1000)
TYPED(struct s5000, s5000)

OP(store_float)
{
	*(float *)(void *)p = (float)n;
	((double *)(void *)p)[1] = (double)n;
	expect(p, 4, MUST);
	expect(p + 8, 8, MUST);
}

#ifdef __clang__
/* `tweed cc` refuses complex numbers with gcc. */
OP(store_complex)
{
	*(double complex *)(void *)p = (double)n;
	__real__ *(float complex *)(void *)(p + 16) = 2.0f;
	expect(p, 20, MUST);
}
#endif

OP(store_long_double)
{
	*(long double *)(void *)p = (long double)n;
	expect(p, 10, MUST);
	expect(p, 16, MAY);
}

OP(store_volatile)
{
	*(volatile uint16_t *)(void *)p = (uint16_t)n;
	((volatile char *)p)[5] = 1;
	expect(p, 2, MUST);
	expect(p + 5, 1, MUST);
}

struct bits {
	unsigned a : 3, b : 13;
	uint8_t c;
	unsigned long d : 40, e : 24;
};

OP(store_bits)
{
	struct bits *b = (struct bits *)(void *)p;
	b->b = n & 0x1fff;
	b->e = n & 0xffffff;
	expect(p, sizeof(*b), MAY);
}

OP(store_elements)
{
	typedef int four __attribute__((vector_size(16)));
	four *v = (four *)(void *)p;
	(*v)[n & 3] = (int)n;
	(*(v + 1))[2] = 5;
	expect(p + 4 * (n & 3), 4, MUST);
	expect(p + 24, 4, MUST);
	expect(p, 32, MAY); /* clang stores the whole vector */
}

struct nested {
	char before[3];
	struct {
		short s;
		char c[5];
	} inner[4];
	union {
		long l;
		char c[8];
	} u;
} __attribute__((packed));

OP(store_members)
{
	struct nested *x = (struct nested *)(void *)p;
	x->inner[n & 3].s = (short)n;
	x->inner[1].c[n % 5] = 1;
	x->u.l = 4;
	x->u.c[3]++;
	expect((char *)&x->inner[n & 3].s, 2, MUST);
	expect(&x->inner[1].c[n % 5], 1, MUST);
	expect((char *)&x->u, 8, MUST);
}

#if defined(__AVX2__)
OP(store_intrinsics)
{
	__m256i v = _mm256_set1_epi32((int)n);
	_mm256_storeu_si256((__m256i *)(void *)p, v);
	_mm_storeu_si128((__m128i *)(void *)(p + 101), _mm256_castsi256_si128(v));
	_mm_storel_epi64((__m128i *)(void *)(p + 120), _mm256_castsi256_si128(v));
	expect(p, 32, MUST);
	expect(p + 101, 16, MUST);
	expect(p + 120, 8, MUST);
}
#endif

OP(store_initializer)
{
	*(struct s100 *)(void *)p = (struct s100){.c = {[7] = (char)n}};
	expect(p, 100, MUST);
}

static __attribute__((noinline)) struct s100 make_s100(size_t n)
{
	struct s100 s;
	memset(s.c, (int)n, sizeof(s.c));
	return s;
}

OP(store_returned)
{
	*(struct s100 *)(void *)p = make_s100(n);
	expect(p, 100, MUST);
}

#ifdef __clang__
static __attribute__((noinline)) struct s100 make_synchronized(size_t n)
{
	tw_barrier_all();
	return make_s100(n);
}

/* gcc announces before the call (doc/internals/stores.md). */
OP(store_returned_after_synchronization)
{
	*(struct s100 *)(void *)p = make_synchronized(n);
	expect(p, 100, MUST);
}
#endif

/* ---- stores that compilers merge, move and drop -------------------------------------------------------------- */

OP(store_twice)
{
	volatile int *a = (volatile int *)(void *)p, *b = a + 1000;
	*a = 1;
	*b = (int)n;
	*a = 3;
	expect(p, 4, MUST);
	expect(p + 4000, 4, MUST);
}

OP(store_sum)
{
	long *sum = (long *)(void *)p, *list = sum + 1;
	long m = (long)(n % 300);
	*sum = 0;
	for (long i = 0; i < m; i++) {
		list[i] = i ^ (long)n;
		*sum += list[i];
	}
	expect(p, 8 + 8 * (size_t)m, MUST);
}

OP(store_loop)
{
	float *f = (float *)(void *)p;
	size_t m = n % 1000;
	for (size_t i = 0; i < m; i++)
		f[i] = (float)i * 2.5f;
	expect(p, m * 4, MUST);
}

OP(store_stride)
{
	int *a = (int *)(void *)p;
	int m = (int)(n % 300);
	for (int i = 0; i < m; i++)
		a[3 * i] = i + (int)n;
	for (int i = 0; i < m; i++)
		expect(p + 12 * i, 4, MUST);
}

OP(store_where)
{
	int *a = (int *)(void *)p, m = (int)(n % 700);
	unsigned char mask[700];
	for (int i = 0; i < m; i++)
		mask[i] = (unsigned char)draw(2);
	for (int i = 0; i < m; i++)
		if (mask[i])
			a[i] = i;
	for (int i = 0; i < m; i++)
		expect(p + 4 * i, mask[i] ? 4 : 0, MUST);
}

OP(store_scattered)
{
	int *a = (int *)(void *)p, m = (int)(n % 200), index[200];
	for (int i = 0; i < m; i++)
		index[i] = (int)draw(900);
	for (int i = 0; i < m; i++)
		a[index[i]] = i;
	for (int i = 0; i < m; i++)
		expect(p + 4 * index[i], 4, MUST);
}

OP(store_recursive)
{
	*p = (char)n;
	expect(p, 1, MUST);
	if (n % 32)
		store_recursive(p + 2, n - 1);
}

/* ---- atomics --------------------------------------------------------------------------------------------------- */

OP(store_atomic)
{
	atomic_int *i = (atomic_int *)(void *)p;
	atomic_long *l = (atomic_long *)(void *)(p + 8);
	long seen = atomic_fetch_add(l, 3) + 3;
	atomic_store(i, (int)n);
	atomic_fetch_or((_Atomic uint8_t *)p + 5, 1);
	atomic_exchange((_Atomic uint16_t *)(void *)p + 3, 9);
	if (!atomic_compare_exchange_strong(l, &seen, 5))
		abort();
	seen = 6;
	if (atomic_compare_exchange_strong((atomic_long *)(void *)(p + 16), &seen, seen))
		expect(p + 16, 8, MUST);
	expect(p + 16, 8, MAY);
	__sync_fetch_and_add((uint32_t *)(void *)(p + 24), 2);
	expect(p, 4, MUST);
	expect(p + 5, 3, MUST);
	expect(p + 8, 8, MUST);
	expect(p + 24, 4, MUST);
}

/* ---- the C library ---------------------------------------------------------------------------------------------- */

OP(library_memory)
{
	static char from[2000];
	n = 3 + n % (sizeof(from) - 3);
	memset(from, (int)n, sizeof(from));
	memset(p, 7, n);
	memcpy(p + n, from, n);
	memmove(p + n + 3, p + n, n);
	expect(p, 2 * n + 3, MUST);
	p += 2 * n + 3;
	memcpy(p, from, 9);
	memset(p + 9, 1, 37);
	char *end = mempcpy(p + 46, from, n % 70);
	memccpy(end, "abcdef", 'c', 6);
	expect(p, 46 + n % 70 + 3, MUST);
}

OP(library_strings)
{
	char text[64];
	size_t m = n % 60;
	memset(text, 'x', m);
	text[m] = '\0';
	strcpy(p, text);
	strcat(p, "tail");
	strncat(p, "tail", 2);
	expect(p, m + 7, MUST);
	p += 100;
	char *end = stpcpy(p, text);
	expect(p, m + 1, MUST);
	strncpy(end + 1, text, 30);
	expect(end + 1, 30, MUST);
	strcpy(p + 200, "constant");
	expect(p + 200, 9, MUST);
}

static __attribute__((noinline, format(printf, 2, 3))) int print(char *p, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	int n = vsprintf(p, format, ap);
	va_end(ap);
	return n;
}

OP(library_printf)
{
	int m = sprintf(p, "%zu and %s", n, "text");
	expect(p, (size_t)m + 1, MUST);
	p += m + 5;
	m = print(p, "%d %f", (int)n, 1.5);
	expect(p, (size_t)m + 1, MUST);
	p += m + 5;
	snprintf(p, 7, "%zu%zu%zu%zu", n, n, n, n + 1000);
	expect(p, 7, MUST);
}

static int compare(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;
	return (x > y) - (x < y);
}

OP(library_qsort)
{
	int *a = (int *)(void *)p;
	n %= 500;
	for (size_t i = 0; i < n; i++)
		a[i] = (int)draw(1000);
	qsort(a, n, sizeof(*a), compare);
	expect(p, n * sizeof(*a), MUST);
}

OP(library_input)
{
	int ends[2];
	struct iovec v[2] = {{p + 100, 10}, {p + 200, 50}};
	(void)n;
	if (pipe(ends) || write(ends[1], "0123456789abcdefghijklmnopq\nline\n", 33) != 33)
		abort();
	if (read(ends[0], p, 5) != 5 || readv(ends[0], v, 1) != 10)
		abort();
	expect(p, 5, MUST);
	expect(p + 100, 10, MUST);
	FILE *f = fdopen(ends[0], "r");
	if (!f || fread(p + 200, 2, 3, f) != 3 || !fgets(p + 300, 50, f) || !fgets(p + 400, 4, f))
		abort();
	expect(p + 200, 6, MUST);
	expect(p + 300, 8, MUST);
	expect(p + 400, 4, MUST);
	close(ends[1]);
	fclose(f);
}

OP(library_socket)
{
	int ends[2];
	(void)n;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) || send(ends[1], "0123456789", 10, 0) != 10 ||
	    recv(ends[0], p, 7, 0) != 7 || recvfrom(ends[0], p + 20, 100, 0, NULL, NULL) != 3)
		abort();
	expect(p, 7, MUST);
	expect(p + 20, 3, MUST);
	close(ends[0]);
	close(ends[1]);
}

OP(library_scan)
{
	char text[100];
	snprintf(text, sizeof(text), "%d %zu some word 2.5 x77", (int)(n % 100), n);
	if (sscanf(text, "%hhd %zu %*s %20[a-z] %lf x%2d%n", p, (size_t *)(void *)(p + 8), p + 16,
	           (double *)(void *)(p + 40), (int *)(void *)(p + 48), (int *)(void *)(p + 52)) != 5)
		abort();
	expect(p, 1, MUST);
	expect(p + 8, 8, MUST);
	expect(p + 16, 5, MUST);
	expect(p + 40, 16, MUST);
	p += 64;
	if (sscanf("7 rest", "%d %d %d", (int *)(void *)p, (int *)(void *)(p + 4), (int *)(void *)(p + 8)) != 1)
		abort();
	expect(p, 4, MUST);
}

OP(library_results)
{
	char **end = (char **)(void *)p;
	double *d = (double *)(void *)(p + 8);
	d[3] = (double)strtol("12x", end, 10);
	d[0] = modf((double)n / 3, &d[1]);
	d[2] = frexp((double)n, (int *)(void *)(p + 40));
	sincos((double)n, &d[5], &d[6]);
	gettimeofday((struct timeval *)(void *)(p + 64), NULL);
	clock_gettime(CLOCK_REALTIME, (struct timespec *)(void *)(p + 80));
	time((time_t *)(void *)(p + 96));
	rand_r((unsigned *)(void *)(p + 104));
	strcpy(p + 128, "ab,c");
	strsep((char **)(void *)&(char *){p + 128}, ",");
	expect(p, 44, MUST);
	expect(p + 48, 60, MUST);
	expect(p + 128, 5, MUST);
}

/* ---- control flow ------------------------------------------------------------------------------------------------ */

static jmp_buf back;

static __attribute__((noinline, noreturn)) void jump(char *p)
{
	p[0] = 4;
	longjmp(back, 1);
}

OP(flow_jump)
{
	if (setjmp(back) == 0) {
		*(short *)(void *)(p + 2) = (short)n;
		jump(p);
	}
	p[1] = 5;
	expect(p, 4, MUST);
}

static char *signalled;

static void on_signal(int signal)
{
	*(long *)(void *)signalled = signal;
}

OP(flow_signal)
{
	signalled = p + 64;
	signal(SIGUSR1, on_signal);
	*(int *)(void *)p = (int)n;
	raise(SIGUSR1);
	expect(p, 4, MUST);
	expect(p + 64, 8, MUST);
}

/* ---- the test ---------------------------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	void (*run)(char *p, size_t n);
	unsigned align;
} operations[] = {
#define ANY(name)                                                                                                      \
	{                                                                                                              \
#name, name, 1                                                                                         \
	}
#define ALIGNED(name)                                                                                                  \
	{                                                                                                              \
#name, name, 16                                                                                        \
	}
    ANY(store_u8),
    ANY(store_u16),
    ANY(store_u32),
    ANY(store_u64),
    ANY(store_u128),
    ANY(store_v16),
    ANY(store_v32),
    ANY(store_v64),
    ANY(store_s3),
    ANY(store_s12),
    ANY(store_s24),
    ANY(store_s100),
    ANY(store_s1000),
    ANY(store_s5000),
    ALIGNED(store_float),

    ALIGNED(store_volatile),
    ALIGNED(store_bits),
    ALIGNED(store_initializer),
    ALIGNED(store_returned),
    ALIGNED(store_twice),
    ALIGNED(store_sum),
    ALIGNED(store_loop),
    ALIGNED(store_stride),
    ALIGNED(store_where),
    ALIGNED(store_scattered),
    ANY(store_recursive),
    ALIGNED(store_atomic),
    ANY(library_memory),
    ANY(library_strings),
    ANY(library_printf),
    ALIGNED(library_qsort),
    ANY(library_input),
    ALIGNED(library_socket),
    ALIGNED(library_scan),
    ALIGNED(library_results),
    ALIGNED(store_elements),
    ANY(store_members),
    ALIGNED(flow_jump),
    ALIGNED(flow_signal),
    ALIGNED(store_long_double),
#if defined(__AVX2__)
    ANY(store_intrinsics),
#endif
#ifdef __clang__
    ALIGNED(store_complex),
    ALIGNED(store_returned_after_synchronization),
#endif
};
#define OPERATIONS (sizeof(operations) / sizeof(operations[0]))

__attribute__((no_sanitize_address, noinline)) static void miss(char *p)
{
	*(volatile char *)p = 1;
}

static unsigned check(const char *name)
{
	tw_barrier_all();
	for (unsigned i = 0; i < ARENA; i++) {
		bool announced = shadow_announced(arena + i);
		if ((announced && expected[i] == MUST_NOT) || (!announced && expected[i] == MUST)) {
			printf("%s: byte %u was %s\n", name, i,
			       announced ? "announced, but not stored" : "stored, but not announced");
			return 1;
		}
	}
	return 0;
}

static void start(void)
{
	tw_barrier_all();
	memset(expected, MUST_NOT, sizeof(expected));
	shadow_spoil(arena, ARENA);
}

/* One operation, or several without a synchronization between them. */
static unsigned round_of(unsigned operation, bool missing)
{
	unsigned many = draw(4) ? 1 : 1 + (unsigned)draw(20);
	const char *name = operations[operation].name;

	start();
	while (many--) {
		size_t at = draw(ARENA / 2) / operations[operation].align * operations[operation].align;
		operations[operation].run(arena + at, (size_t)draw(100000));
		operation = (unsigned)draw(OPERATIONS);
	}
	if (missing) {
		miss(arena + ARENA - 1);
		expect(arena + ARENA - 1, 1, MUST);
	}
	return check(name);
}

int main(int argc, char **argv)
{
	bool missing = argc > 1 && strcmp(argv[1], "--miss") == 0;
	unsigned bad = 0, rounds = argc > 2 ? (unsigned)atoi(argv[2]) : 1500;

	tw_init(&argc, &argv);
	seed = !missing && argc > 1 ? strtoull(argv[1], NULL, 0) * 2654435761u + 1 : 1;
	arena = tw_aligned_alloc(65536, ARENA + 65536);
	arena += 65536 - ARENA / 4; /* over a page's border at any page size */
	memset(arena, 0, ARENA);
	tw_barrier_all();
	for (unsigned round = 0; round < rounds && bad < 10; round++)
		bad += round_of(round % OPERATIONS, missing);
	printf("%u rounds of %zu operations, %u bad\n", rounds, OPERATIONS, bad);
	tw_finalize();
	return bad != 0;
}
