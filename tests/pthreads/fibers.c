/* SPDX-License-Identifier: BSD-3-Clause */
/* fibers.c - contexts that are resumed by either of two threads, with arguments on the stack, masks of their own, and a
 * link to what follows them. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#define FIBERS 12
#define ROUNDS 200
#define STACK  65536

enum { TAKEN, READY, ENDED };

static struct fiber {
	ucontext_t here, *resumer; /* the thread's that runs it */
	_Atomic int state;
	int sum, ended, masked;
} fiber[FIBERS];
static _Atomic int ended;
static pthread_barrier_t start;

/* Eight arguments: two on the stack. */
static void runs(int f, int b, int c, int d, int e, int g, int h, int i)
{
	struct fiber *self = &fiber[f];
	sigset_t mask;

	for (int r = 0; r < ROUNDS; r++) {
		self->sum += b + c + d + e + g + h + i;
		if (swapcontext(&self->here, self->resumer))
			abort();
	}
	sigprocmask(SIG_BLOCK, NULL, &mask);
	self->masked = sigismember(&mask, SIGUSR2);
	self->ended = 1;
	setcontext(self->resumer);
}

static void *works(void *arg)
{
	ucontext_t own;

	pthread_barrier_wait(&start);
	while (ended < FIBERS)
		for (struct fiber *f = fiber; f < fiber + FIBERS; f++) {
			int ready = READY;
			if (!atomic_compare_exchange_strong(&f->state, &ready, TAKEN))
				continue;
			f->resumer = &own;
			if (swapcontext(&own, &f->here))
				abort();
			ended += f->ended;
			f->state = f->ended ? ENDED : READY;
		}
	return arg;
}

static int linked;

static void links(void)
{
	linked++;
}

static void prepare(int f)
{
	struct fiber *self = &fiber[f];

	getcontext(&self->here);
	self->here.uc_stack.ss_sp = malloc(STACK);
	self->here.uc_stack.ss_size = STACK;
	if (f % 2)
		sigaddset(&self->here.uc_sigmask, SIGUSR2);
	makecontext(&self->here, (void (*)(void))(uintptr_t)runs, 8, f, 1, 2, 3, 4, 5, 6, 7);
	self->state = READY;
}

static void moved(void)
{
	pthread_t t;
	int sum = 0, masked = 0;

	for (int f = 0; f < FIBERS; f++)
		prepare(f);
	pthread_barrier_init(&start, NULL, 2);
	pthread_create(&t, NULL, works, NULL);
	works(NULL);
	pthread_join(t, NULL);
	for (int f = 0; f < FIBERS; f++) {
		sum += fiber[f].sum;
		masked += fiber[f].masked;
	}
	printf("sum %d, masked %d\n", sum, masked);
}

int main(void)
{
	static ucontext_t here, there;

	moved();
	getcontext(&there);
	there.uc_stack.ss_sp = malloc(STACK);
	there.uc_stack.ss_size = STACK;
	there.uc_link = &here;
	makecontext(&there, links, 0);
	swapcontext(&here, &there);
	printf("linked %d\n", linked);
	volatile int times = 0;
	getcontext(&here);
	if (++times < 3)
		setcontext(&here);
	printf("times %d\n", times);
	return 0;
}
