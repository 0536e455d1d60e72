/* SPDX-License-Identifier: BSD-3-Clause */
/* contexts.c - locks that main holds since before the first thread; stacks of the program's own; a signal of turns that
 * comes late.  Argument "other": a stack that another node has used; "jump": a coroutine whose stack is gone; "leave"
 * and a number: main's coroutine ends the program. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, checked = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP,
                       nested = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;

static void *others(void *arg)
{
	printf("held: %d %d %d %d\n", pthread_mutex_trylock(&checked) == EBUSY, pthread_mutex_unlock(&checked) == EPERM,
	       pthread_mutex_trylock(&nested) == EBUSY, pthread_rwlock_tryrdlock(&table) == EBUSY);
	return arg;
}

static void held(void)
{
	pthread_t t;

	pthread_mutex_lock(&checked);
	pthread_mutex_lock(&nested);
	pthread_rwlock_wrlock(&table);
	pthread_create(&t, NULL, others, NULL);
	pthread_join(t, NULL);
	printf("main's: %d", pthread_mutex_lock(&checked) == EDEADLK);
	printf(" %d %d", pthread_mutex_lock(&nested), pthread_rwlock_wrlock(&table) == EDEADLK);
	printf(" %d %d", pthread_mutex_unlock(&nested), pthread_mutex_unlock(&nested));
	printf(" %d %d\n", pthread_mutex_unlock(&checked), pthread_rwlock_unlock(&table));
}

/* ---- coroutines ---- */

#define STACK 65536
static long total;
struct coroutine {
	ucontext_t here, there;
	long sum;
};

static void turns(unsigned high, unsigned low)
{
	struct coroutine *c = (void *)((uintptr_t)high << 32 | low);

	for (int i = 0; i < 30; i++) {
		char *text = malloc(100);
		snprintf(text, 100, "turn %d", i);
		pthread_mutex_lock(&lock);
		total += i;
		c->sum += (long)strlen(text);
		pthread_mutex_unlock(&lock);
		free(text);
		swapcontext(&c->here, &c->there);
	}
}

static long coroutine(void *stack)
{
	struct coroutine *c = calloc(1, sizeof(*c));
	uintptr_t at = (uintptr_t)c;

	getcontext(&c->here);
	c->here.uc_stack.ss_sp = stack;
	c->here.uc_stack.ss_size = STACK;
	c->here.uc_link = &c->there;
	makecontext(&c->here, (void (*)(void))turns, 2, (unsigned)(at >> 32), (unsigned)at);
	for (int i = 0; i < 31; i++)
		swapcontext(&c->there, &c->here);
	return c->sum;
}

/* ---- coroutines that begin in a handler, on the thread's stack for signals ---- */

static __thread jmp_buf inside, outside;
static __thread char *alternate;
static __thread long handled;

static void alternates(int number)
{
	char here;

	handled += (size_t)(&here - alternate) < STACK && number == SIGUSR2;
	if (setjmp(inside) == 0)
		return;
	for (volatile int i = 0;; i++) {
		char *text = malloc(100);
		snprintf(text, 100, "turn %d", i);
		pthread_mutex_lock(&lock);
		total += i;
		handled += (long)strlen(text);
		pthread_mutex_unlock(&lock);
		free(text);
		if (setjmp(inside) == 0)
			longjmp(outside, 1);
	}
}

static long alternating(void)
{
	stack_t stack = {.ss_sp = malloc(STACK), .ss_size = STACK}, none = {.ss_flags = SS_DISABLE};
	struct sigaction sa = {.sa_handler = alternates, .sa_flags = SA_ONSTACK};

	alternate = stack.ss_sp;
	sigaltstack(&stack, NULL);
	sigaction(SIGUSR2, &sa, NULL);
	raise(SIGUSR2);
	sigaltstack(&none, NULL);
	for (volatile int i = 0; i < 30; i++)
		if (setjmp(outside) == 0)
			longjmp(inside, 1);
	return handled;
}

static char fixed[STACK];

static void *coroutines(void *arg)
{
	long a = coroutine(malloc(STACK)),
	     b = coroutine(mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)),
	     c = coroutine(arg ? arg : malloc(STACK)), d = alternating();

	pthread_mutex_lock(&lock);
	printf("%ld %ld %ld %ld\n", a, b, c, d);
	pthread_mutex_unlock(&lock);
	return NULL;
}

static jmp_buf first;

/* Without a stack of its own. */
static void begin(int number)
{
	(void)number;
	if (setjmp(first))
		_exit(1);
}

static void jump(void)
{
	struct sigaction sa = {.sa_handler = begin};

	sigaction(SIGUSR1, &sa, NULL);
	raise(SIGUSR1);
	longjmp(first, 1);
}

/* ---- a turn's signal ---- */

static _Atomic int waiter;

static void *waits(void *arg)
{
	struct pollfd none = {.fd = -1};
	struct timeval time = {0, 60000};
	struct epoll_event event;
	int fd = epoll_create1(0);

	waiter = (int)syscall(SYS_gettid);
	int a = poll(&none, 1, 60), b = select(0, NULL, NULL, NULL, &time), c = epoll_wait(fd, &event, 1, 60);
	printf("waits: %d %d %d\n", a, b, c);
	waiter = 0;
	close(fd);
	return arg;
}

static void late_signal(void)
{
	int number = SIGRTMAX - 6;
	struct sigaction sa;
	pthread_t t;

	sigaction(number, NULL, &sa);
	pthread_create(&t, NULL, waits, NULL);
	while (!waiter)
		usleep(1000);
	for (int tid; (tid = waiter) != 0; usleep(5000))
		syscall(SYS_tgkill, getpid(), tid, sa.sa_handler == SIG_DFL ? 0 : number);
	pthread_join(t, NULL);
}

static void leaves(int how)
{
	printf("it leaves\n");
	if (how == 0)
		exit(3);
	fflush(stdout);
	if (how == 1)
		_exit(4);
	_Exit(5);
}

static void leave(int how)
{
	ucontext_t there, here;

	getcontext(&there);
	there.uc_stack.ss_sp = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	there.uc_stack.ss_size = STACK;
	there.uc_link = &here;
	makecontext(&there, (void (*)(void))leaves, 1, how);
	swapcontext(&here, &there);
}

int main(int argc, char **argv)
{
	pthread_t t[2];

	if (argc > 1 && strcmp(argv[1], "jump") == 0)
		jump();
	if (argc > 2)
		leave(atoi(argv[2]));
	held();
	memset(fixed, 1, STACK);
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, coroutines, argc > 1 && i ? fixed : NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	coroutines(NULL);
	printf("total %ld\n", total);
	late_signal();
	return 0;
}
