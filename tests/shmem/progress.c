/* SPDX-License-Identifier: BSD-3-Clause */
/* progress.c - what a call puts arrives although neither side calls again (OpenSHMEM 1.5, "Progress"): the last PE
 * computes, and looks at its own memory by plain loads; so does PE 0, until the answer comes by the same call. */
#include <time.h>

#include "check.h"

#define LATE 20         /* seconds */
#define LONG (1L << 19) /* elements: more than the system keeps of a connection */

static volatile long flag, ack;
static volatile long *box; /* LONG elements each: what comes, and what goes */
static long source[LONG];
static shmem_ctx_t ctx;

static void by_p(long *to, int pe)
{
	shmem_long_p(to, 1, pe);
}
static void by_put(long *to, int pe)
{
	shmem_long_put(to, source, 1, pe);
}
static void by_put_nbi(long *to, int pe)
{
	shmem_long_put_nbi(to, source, 1, pe);
}
static void by_iput(long *to, int pe)
{
	shmem_long_iput(to, source, 1, 1, 1, pe);
}
static void by_ctx(long *to, int pe)
{
	shmem_ctx_long_put(ctx, to, source, 1, pe);
}
static void by_ctx_nbi(long *to, int pe)
{
	shmem_ctx_long_put_nbi(ctx, to, source, 1, pe);
}
static void by_set(long *to, int pe)
{
	shmem_long_atomic_set(to, 1, pe);
}
static void by_add(long *to, int pe)
{
	shmem_long_atomic_add(to, 1, pe);
}
static void by_inc(long *to, int pe)
{
	shmem_long_atomic_inc(to, pe);
}
static void by_or(long *to, int pe)
{
	shmem_uint64_atomic_or((uint64_t *)to, 1, pe);
}
static void by_xor(long *to, int pe)
{
	shmem_uint64_atomic_xor((uint64_t *)to, 1, pe);
}
static void by_fetch_nbi(long *to, int pe)
{
	static long old;
	shmem_long_atomic_fetch_add_nbi(&old, to, 1, pe);
}
static void by_fence(long *to, int pe)
{
	shmem_long_p((long *)box, 1, pe);
	shmem_fence();
	shmem_long_p(to, 1, pe);
	shmem_fence();
}
static void by_signal(long *to, int pe)
{
	shmem_putmem_signal((long *)box, source, 8, (uint64_t *)to, 1, SHMEM_SIGNAL_SET, pe);
}
static void by_signal_nbi(long *to, int pe)
{
	shmem_putmem_signal_nbi((long *)box, source, 4096, (uint64_t *)to, 1, SHMEM_SIGNAL_ADD, pe);
}
static void by_long(long *to, int pe)
{
	shmem_long_put((long *)box, source, LONG, pe);
	shmem_long_p(to, 1, pe);
}
static void by_long_nbi(long *to, int pe)
{
	shmem_long_put_nbi((long *)box, source, LONG, pe);
	shmem_fence();
	shmem_long_put_nbi(to, source, 1, pe);
}
static void by_many(long *to, int pe)
{
	for (long i = 0; i < 5000; i++)
		shmem_long_p((long *)box + i, 1, pe);
	shmem_fence();
	shmem_long_p(to, 1, pe);
}
/* What comes back to the caller, of a call that returns before. */
static void by_get_nbi(long *to, int pe)
{
	shmem_long_get_nbi(source + LONG / 2, (long *)box + LONG, LONG / 2, pe);
	shmem_long_p(to, 1, pe);
}

static const struct {
	const char *name;
	void (*put)(long *to, int pe);
} way[] = {
    {"p", by_p},
    {"put", by_put},
    {"put_nbi", by_put_nbi},
    {"iput", by_iput},
    {"ctx put", by_ctx},
    {"ctx put_nbi", by_ctx_nbi},
    {"atomic set", by_set},
    {"atomic add", by_add},
    {"atomic inc", by_inc},
    {"atomic or", by_or},
    {"atomic xor", by_xor},
    {"fetch_add_nbi", by_fetch_nbi},
    {"fence", by_fence},
    {"put_signal", by_signal},
    {"put_signal_nbi", by_signal_nbi},
    {"long put", by_long},
    {"long put_nbi", by_long_nbi},
    {"many", by_many},
    {"get_nbi", by_get_nbi},
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void await(volatile long *word, const char *name)
{
	for (double begun = now(); !*word;)
		if (now() - begun > LATE) {
			fprintf(stderr, "PE %d: %s has not come after %d s without a call\n", shmem_my_pe(), name,
			        LATE);
			shmem_global_exit(1);
		}
	*word = 0;
}

int main(void)
{
	shmem_init();
	int me = shmem_my_pe(), last = shmem_n_pes() - 1;

	box = shmem_calloc(2 * LONG, sizeof(long));
	CHECK(shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx) == 0);
	for (long i = 0; i < LONG; i++)
		source[i] = 1;
	for (size_t i = 0; i < sizeof(way) / sizeof(way[0]); i++) {
		shmem_barrier_all();
		if (me == 0 && last) {
			way[i].put((long *)&flag, last);
			await(&ack, way[i].name);
		} else if (me == last && last) {
			await(&flag, way[i].name);
			way[i].put((long *)&ack, 0);
			if (way[i].put == by_long || way[i].put == by_long_nbi)
				await(&box[LONG - 1], way[i].name);
			box[0] = box[LONG - 1] = 0;
		}
	}
	/* A PE that leaves a lock, or a barrier, leaves nothing pending. */
	static long lock;
	shmem_barrier_all();
	shmem_set_lock(&lock);
	shmem_clear_lock(&lock);
	for (double begun = now(); me == 0 && now() - begun < 0.2;)
		continue;
	shmem_barrier_all();
	shmem_ctx_destroy(ctx);
	shmem_finalize();
	return 0;
}
