/* SPDX-License-Identifier: BSD-3-Clause */
/* shoot.c - tw_shootdown by itself, in a job of one node whose protocol never shoots: the test does what a protocol
 * would, under the page lock, and the protocol serves the faults that follow. usage: tweed run -n 1 -p P --shootdown
 * MECHANISM shoot [ROUNDS [SEED]]; without ROUNDS it shoots for ever, to be killed. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "core/job/job.h"
#include "tweed/tweed.h"

#define PAGES  64u
#define SLOW_S 1.0 /* a victim that cannot run by itself may delay a shooter by less */

/* Control words that no protocol sees, in memory the node shares. */
struct control {
	_Atomic unsigned go, ready, failed;
	_Alignas(64) struct {
		_Alignas(64) _Atomic uint64_t value;
		_Atomic int pid, pipe;
	} of[TW_MAX_PROCESSORS];
};

static struct tw_proc *me;
static struct control *control;
static char *memory; /* PAGES pages */
static tw_page_t first;
static unsigned rounds;
static uint64_t seed = 1;

#define CHECK(c)                                                                                                       \
	do {                                                                                                           \
		if (!(c)) {                                                                                            \
			fprintf(stderr, "shoot: %u: %s:%d: %s\n", me->local, __func__, __LINE__, #c);                  \
			tw_abort(3, "a check of the shootdown test failed");                                           \
		}                                                                                                      \
	} while (0)

static uint64_t random_next(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* This processor's word in page @p, through the application view; a processor's word in the frame. */
static volatile uint64_t *word(unsigned p)
{
	return (volatile uint64_t *)(void *)(memory + p * me->layout.page_bytes + 64 * me->local);
}

static uint64_t frame_word(unsigned p, unsigned local)
{
	return *(volatile uint64_t *)(void *)(tw_frame(me, first + p) + 64 * local);
}

static uint64_t write_faults(unsigned local)
{
	return ((struct tw_stats *)(void *)(me->private_mem + me->layout.stats))[local].now.write_faults;
}

static void nap(long us)
{
	nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL);
}

static void all_arrive(void)
{
	tw_barrier_all();
}

/* ---- the protocol's part --------------------------------------------------------------------------------------- */

/* Is what the victims wrote to the locked pages at rest? */
static bool at_rest(unsigned p, unsigned count, uint64_t victims, long us)
{
	uint64_t seen[8][TW_MAX_PROCESSORS];
	bool same = true;

	for (unsigned i = 0; i < count; i++)
		for (unsigned v = 0; v < me->locals; v++)
			seen[i][v] = frame_word(p + i, v);
	if (us)
		nap(us);
	for (unsigned i = 0; i < count; i++)
		for (unsigned v = 0; v < me->locals; v++)
			same = same && (!(victims >> v & 1) || seen[i][v] == frame_word(p + i, v));
	return same;
}

static uint64_t others(unsigned p)
{
	const struct tw_page *e = &me->page[first + p];
	return e->mapped & e->writers & ~((uint64_t)1 << me->local);
}

/* Shoot everybody's write mappings of up to 8 pages.  Returns the victims. */
static uint64_t shoot(unsigned p, unsigned count, long watch_us)
{
	uint64_t victims = 0;

	for (unsigned i = 0; i < count; i++) {
		tw_page_lock(me, first + p + i);
		victims |= others(p + i);
	}
	double t0 = tw_now();
	tw_shootdown(me, first + p, count, victims);
	CHECK(tw_now() - t0 < 30);
	CHECK(at_rest(p, count, victims, watch_us));
	for (unsigned i = 0; i < count; i++)
		me->page[first + p + i].writers &= ~victims;
	for (unsigned i = count; i-- > 0;)
		tw_page_unlock(me, first + p + i);
	return victims;
}

/* ---- victims that compute ---------------------------------------------------------------------------------------- */

static void victim_computes(bool polls)
{
	while (!control->go) {
		++*word(0);
		if (polls)
			tw_shootdown_poll(me);
	}
}

static void computing(bool polls)
{
	uint64_t everybody = ((uint64_t)1 << me->locals) - 2, interrupts = me->stats->now.interrupts;

	*word(0) = 1;
	control->go = 0;
	all_arrive();
	if (me->local) {
		victim_computes(polls);
	} else {
		/* Must-fail control: without a shootdown the victims do not rest.  On a busy machine a victim may wait
		 * for a processor. */
		double t0 = tw_now();
		while (at_rest(0, 1, everybody, 50000))
			CHECK(tw_now() - t0 < 30);
		for (unsigned r = 0; r < rounds; r++) {
			uint64_t faults[TW_MAX_PROCESSORS] = {0}, victims;
			for (unsigned v = 1; v < me->locals; v++)
				faults[v] = write_faults(v);
			victims = shoot(0, 1, r % 8 == 0 ? 2000 : 0);
			for (unsigned v = 1; v < me->locals; v++) {
				/* It traps, and goes on. */
				uint64_t before = frame_word(0, v);
				while (frame_word(0, v) == before)
					nap(50);
				CHECK(!(victims >> v & 1) || write_faults(v) > faults[v]);
			}
		}
		control->go = 1;
		if (polls && strcmp(me->config.shootdown, "polled") == 0 && me->locals == 2)
			printf("polling: %llu of %u shootdowns interrupted\n",
			       (unsigned long long)(me->stats->now.interrupts - interrupts), rounds);
	}
	all_arrive();
}

/* ---- victims that do not run ------------------------------------------------------------------------------------- */

static void soon(unsigned p)
{
	double t0 = tw_now();
	shoot(p, 2, 1000);
	CHECK(tw_now() - t0 < SLOW_S);
}

/* A thread, for a child of fork has no memory of the job's. */
static void *write_when_asked(void *end)
{
	while (!control->go)
		nap(1000);
	return write(*(int *)end, "a message", 10) == 10 ? end : NULL;
}

/* Asleep in the kernel: in a read that must be restarted, whose data arrive intact in shared memory. */
static void in_system_call(void)
{
	int ends[2];
	char *text = memory + 2 * me->layout.page_bytes + 64 * me->local, elsewhere[16];

	if (TW_ASAN || TW_TSAN) /* a sanitizer has replaced the wrapped system calls */
		text = elsewhere;
	*word(2) = *word(3) = 1;
	CHECK(pipe(ends) == 0);
	control->go = 0;
	control->ready = 0;
	all_arrive();
	if (me->local) {
		pthread_t writer;
		void *written;
		CHECK(pthread_create(&writer, NULL, write_when_asked, &ends[1]) == 0);
		control->ready++;
		CHECK(read(ends[0], text, 10) == 10 && strcmp(text, "a message") == 0);
		CHECK(pthread_join(writer, &written) == 0 && written);
	} else {
		while (control->ready + 1 < me->locals)
			nap(1000);
		nap(20000);
		soon(2);
		control->go = 1;
	}
	close(ends[0]);
	close(ends[1]);
	all_arrive();
}

static void in_barrier(void)
{
	*word(4) = *word(5) = 1;
	all_arrive();
	if (me->local == 0) {
		nap(20000);
		uint64_t interrupts = me->stats->now.interrupts;
		soon(4);
		CHECK(me->stats->now.interrupts == interrupts); /* nobody needs to be disturbed */
	}
	all_arrive();
	++*word(4);
	all_arrive();
	for (unsigned v = 0; v < me->locals; v++)
		CHECK(frame_word(4, v) == 2);
	all_arrive();
}

/* In a fault on the other page of the two that the shooter has locked. */
static void waiting_for_the_lock(void)
{
	*word(6) = 1;
	all_arrive();
	if (me->local == 0) {
		tw_page_lock(me, first + 6);
		tw_page_lock(me, first + 7);
	}
	control->ready = 0;
	all_arrive();
	if (me->local) {
		control->ready++;
		*word(7) = 1;
		++*word(6);
	} else {
		uint64_t victims = others(6);
		while (control->ready + 1 < me->locals)
			nap(1000);
		nap(20000);
		double t0 = tw_now();
		tw_shootdown(me, first + 6, 2, victims);
		CHECK(tw_now() - t0 < SLOW_S);
		me->page[first + 6].writers &= ~victims;
		tw_page_unlock(me, first + 7);
		CHECK(at_rest(6, 1, victims, 5000));
		tw_page_unlock(me, first + 6);
	}
	all_arrive();
	for (unsigned v = 1; v < me->locals; v++)
		CHECK(frame_word(6, v) == 2 && frame_word(7, v) == 1);
	all_arrive();
}

/* Stopped while it computes; complied for, and trapped when it goes on. */
static void stopped(void)
{
	control->of[me->local].pid = getpid();
	control->go = 0;
	*word(0) = 1;
	all_arrive();
	if (me->local) {
		victim_computes(false);
	} else {
		for (unsigned r = 0; r < rounds / 10 + 1; r++) {
			for (unsigned v = 1; v < me->locals; v++)
				kill(control->of[v].pid, SIGSTOP);
			nap((long)(random_next() % 3000));
			bool locked = tw_page_trylock(me, first); /* else who is stopped has it */
			uint64_t victims = locked ? others(0) : 0;
			double t0 = tw_now();
			tw_shootdown(me, first, 1, victims);
			CHECK(tw_now() - t0 < SLOW_S);
			for (unsigned v = 1; v < me->locals; v++)
				kill(control->of[v].pid, SIGCONT);
			if (!locked)
				continue;
			CHECK(at_rest(0, 1, victims, 5000));
			me->page[first].writers &= ~victims;
			tw_page_unlock(me, first);
			nap(2000);
		}
		control->go = 1;
	}
	all_arrive();
}

/* ---- all shoot -----------------------------------------------------------------------------------------------------
 * */

/* Each writes its page's neighbour, and shoots at its own page. */
static void at_each_other(void)
{
	unsigned mine = 8 + me->local, next = 8 + (me->local + 1) % me->locals;

	for (unsigned r = 0; r < rounds; r++) {
		++*word(next);
		shoot(mine, 1, 0);
		++*word(mine);
	}
	all_arrive();
}

/* Writes to random pages, each value checked at the next visit; shootdowns of random runs between. */
static void stress(unsigned visits)
{
	uint64_t wrote[PAGES];

	for (unsigned p = 0; p < PAGES; p++)
		wrote[p] = *word(p);
	seed = seed * 2654435761u + me->local + 1;
	for (unsigned r = 0; visits == 0 || r < visits; r++) {
		unsigned p = (unsigned)(random_next() % PAGES), what = (unsigned)(random_next() % 16);
		CHECK(*word(p) == wrote[p]);
		*word(p) = ++wrote[p];
		if (what == 0) {
			unsigned count = 1 + (unsigned)(random_next() % 4);
			shoot(TW_MIN(p, PAGES - count), count, random_next() % 64 == 0 ? 200 : 0);
		} else if (what == 1) {
			tw_shootdown_poll(me);
		} else if (what == 2 && random_next() % 32 == 0) {
			nap(100);
		}
	}
	all_arrive();
	for (unsigned p = 0; visits && p < PAGES; p++)
		CHECK(*word(p) == wrote[p] && frame_word(p, me->local) == wrote[p]);
	all_arrive();
}

int main(int argc, char **argv)
{
	tw_init(&argc, &argv);
	me = tw_me;
	if (argc > 1)
		rounds = (unsigned)atoi(argv[1]);
	if (argc > 2)
		seed = (uint64_t)atoll(argv[2]);
	control = (void *)(me->net->base + me->layout.collective + me->layout.collective_bytes / 2);
	memory = tw_malloc_all((PAGES + 1) * me->layout.page_bytes);
	CHECK(memory && me->nodes == 1 && me->locals > 1 && 64 * me->locals <= me->layout.page_bytes &&
	      8 + me->locals <= PAGES);
	memory = (char *)TW_ALIGN_UP((uintptr_t)memory, me->layout.page_bytes);
	first = (tw_page_t)((size_t)(memory - me->app) >> me->layout.page_shift);
	for (unsigned p = 0; p < PAGES; p++)
		*word(p) = 0;
	all_arrive();
	if (rounds == 0)
		stress(0);
	computing(false);
	computing(true);
	in_system_call();
	in_barrier();
	waiting_for_the_lock();
	stopped();
	at_each_other();
	stress(rounds * 200);
	if (me->local == 0)
		printf("shootdown: %s, %s, %u processors, seed given %s: good\n", me->config.shootdown,
		       me->config.fault, me->locals, argc > 2 ? argv[2] : "1");
	tw_verified(true);
	tw_finalize();
	return 0;
}
