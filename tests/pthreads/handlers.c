/* SPDX-License-Identifier: BSD-3-Clause */
/* handlers.c - a handler finds the interrupted code on the stack above its own frame, also what was in registers: so
 * collectors of garbage search a thread's stack. And it sees what the thread that has sent the signal had stored. */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <ucontext.h>

enum { THREADS = 3, ROUNDS = 8 };
static __thread char *top;
static __thread long me = -1;
static _Atomic unsigned long hidden[THREADS]; /* the complement of what a register has; 0: nothing */
static atomic_int missed, calls, contexts, stop;
static sem_t done;
static long said[THREADS], seen[THREADS];

__attribute__((noinline)) static int found(const unsigned long *from, unsigned long value)
{
	while ((char *)from < top)
		if (*from++ == value)
			return 1;
	return 0;
}

static void handler(int signal, siginfo_t *info, void *context)
{
	const ucontext_t *uc = context;
	unsigned long here = 0, value = ~hidden[me];

	__builtin_unwind_init();
	if (~value) {
		calls++;
		missed += !found(&here, value);
	}
	seen[me] = said[me];
	contexts += info->si_signo == signal && uc->uc_mcontext.gregs[REG_RIP] != 0;
	sem_post(&done);
}

static void *work(void *arg)
{
	unsigned long value, rounds;
	char here;

	top = &here;
	me = (long)arg;
	value = (unsigned long)me * 1234567 + 99;
	sem_post(&done);
	while (!stop) {
		value = value * 6364136223846793005ul + 1442695040888963407ul;
		rounds = 200000;
		hidden[me] = ~value;
		__asm__ volatile("1:	dec	%1\n"
		                 "	jnz	1b\n"
		                 : "+b"(value), "+r"(rounds));
		hidden[me] = 0;
	}
	return NULL;
}

int main(void)
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
	pthread_t thread[THREADS];
	int stale = 0;

	sem_init(&done, 0, 0);
	sigaction(SIGUSR1, &action, NULL);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, work, (void *)i);
	for (int i = 0; i < THREADS; i++)
		sem_wait(&done);
	for (int round = 0; round < ROUNDS; round++)
		for (int i = 0; i < THREADS; i++) {
			said[i] = 1000 * (i + 1) + round;
			pthread_kill(thread[i], SIGUSR1);
			sem_wait(&done);
			stale += seen[i] != said[i];
		}
	stop = 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	printf("missed %d, contexts %d, some %d, stale %d\n", missed, contexts, calls > 0, stale);
	return 0;
}
