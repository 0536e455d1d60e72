/* SPDX-License-Identifier: BSD-3-Clause */
/* signals.c - signals and shared memory: signals HOW.
 *   dies N         processor 1 dies of signal N
 *   works LIBRARY  the program, and the library, use the signals and masks that page faults need */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/select.h>

#include "tweed/tweed.h"

enum { PAGES = 8, PAGE = 4096 };

static char *shared;
static sigjmp_buf back;
static volatile sig_atomic_t handled;

static void die(int number)
{
	if (number == SIGABRT)
		abort();
	if (number == SIGSEGV)
		*(volatile int *)16 = 1;
	raise(number);
}

static void wrong(const char *what)
{
	fprintf(stderr, "wrong: %s\n", what);
	abort();
}

/* Faults: what others have written is invalid here after a barrier. */
static void share(const char *what)
{
	static char round;
	int me = tw_id(), count = tw_count();

	round++;
	for (int p = 0; p < PAGES; p++)
		shared[(me * PAGES + p) * PAGE] = round;
	tw_barrier_all();
	for (int p = 0; p < PAGES * count; p++)
		if (shared[p * PAGE] != round)
			wrong(what);
	tw_barrier_all();
}

static void jump(int number)
{
	handled = number;
	siglongjmp(back, 1);
}

static void count(int number)
{
	handled = number;
}

static char *page_of(int number)
{
	FILE *f = tmpfile();

	if (number == SIGSEGV)
		return mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return f ? mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(f), 0) : MAP_FAILED;
}

/* The program's own fault, to the handler that is there. */
static void own(int number, const char *what)
{
	char *bad = page_of(number);

	handled = 0;
	if (bad == MAP_FAILED)
		wrong("no page");
	if (sigsetjmp(back, 1) == 0)
		*(volatile char *)bad = 1;
	if (handled != number)
		wrong(what);
	share(what);
}

static void handlers(const char *library)
{
	struct sigaction sa = {.sa_handler = jump}, old;

	for (int i = 0; i < 2; i++) {
		int number = i ? SIGBUS : SIGSEGV;
		if (signal(number, jump) != SIG_DFL || signal(number, jump) != jump)
			wrong("signal");
		share("after signal");
		own(number, "a handler of signal");
		sigfillset(&sa.sa_mask);
		if (sigaction(number, &sa, &old) || old.sa_handler != jump)
			wrong("sigaction");
		own(number, "a handler of sigaction");
		void *loaded = dlopen(library, RTLD_NOW);
		void (*take)(int, void (*)(int)) = NULL;
		if (loaded)
			*(void **)&take = dlsym(loaded, "take");
		if (!take)
			wrong("no library");
		take(number, jump);
		own(number, "a library's handler");
		signal(number, SIG_DFL);
		share("after SIG_DFL");
	}
}

static void masks(void)
{
	struct sigaction sa = {.sa_handler = count};
	const struct timespec now = {0, 0};
	sigset_t all, before, in;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	share("all blocked");
	sigprocmask(SIG_BLOCK, NULL, &in);
	if (sigismember(&in, SIGUSR1) != 1)
		wrong("SIGUSR1 is not blocked");
	ppoll(NULL, 0, &now, &all);
	pselect(0, NULL, NULL, NULL, &now, &all);
	share("after ppoll and pselect");
	sigprocmask(SIG_SETMASK, &before, NULL);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	share("all blocked in the thread");
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	sigfillset(&sa.sa_mask);
	sigaction(SIGUSR1, &sa, NULL);
	raise(SIGUSR1);
	if (handled != SIGUSR1)
		wrong("SIGUSR1");
}

static void stacks(void)
{
	static char mine[16384];
	stack_t stack = {.ss_sp = mine, .ss_size = sizeof(mine)}, old;
	struct sigaction sa = {.sa_handler = count, .sa_flags = SA_ONSTACK};

	if (sigaltstack(&stack, &old) || !(old.ss_flags & SS_DISABLE))
		wrong("sigaltstack");
	memset(mine, 1, sizeof(mine));
	share("a stack of the program's");
	sigaction(SIGUSR2, &sa, NULL);
	raise(SIGUSR2);
	if (handled != SIGUSR2 || sigaltstack(NULL, &old) || old.ss_sp != mine)
		wrong("SIGUSR2");
	stack.ss_flags = SS_DISABLE;
	sigaltstack(&stack, NULL);
	share("no stack of the program's");
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL); /* before there is anything to fault */
	tw_init(&argc, &argv);
	shared = tw_malloc_all((size_t)tw_count() * PAGES * PAGE);
	share("blocked before");
	sigprocmask(SIG_UNBLOCK, &all, NULL);
	if (strcmp(how, "dies") == 0 && tw_id() == 1)
		die(atoi(argv[2]));
	if (strcmp(how, "works") == 0) {
		handlers(argv[2]);
		masks();
		stacks();
	}
	tw_barrier_all();
	tw_finalize();
	return 0;
}
