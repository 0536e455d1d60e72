/* SPDX-License-Identifier: BSD-3-Clause */
/* state.c - hidden state of the C library that a process has once: random numbers, strtok, the environment, the
 * process's number.  Here it is shared memory; the C library's reentrant functions work on it. */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/process/fork.h"
#include "runtime/process/program_heap.h"
#include "runtime/process/state.h"
#include "runtime/threads/support.h"

#define STATE_RANDOM 128 /* bytes of random()'s own state, as in the C library */

struct state_shared {
	uint32_t lock;
	struct random_data random;
	char numbers[STATE_RANDOM];
	struct drand48_data drand;
	char *token; /* of strtok */
	char **environment;
	struct tm time;
	pid_t pid; /* processor 0's */
};
static struct state_shared *state;

static void *state_next(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

void th_state_open(void)
{
	state = th_allocate_all(sizeof(*state));
	if (tw_id())
		return;
	initstate_r(1, state->numbers, sizeof(state->numbers), &state->random);
	/* What the C library's drand48 begins with: zeros. */
	state->environment = environ;
	state->pid = (pid_t)syscall(SYS_getpid);
}

/* After the job the C library's own state serves. */
static bool state_shared(void)
{
	return state && tw_me && th_heap_shares(NULL);
}

#pragma GCC visibility push(default)

/* @own: a call of the C library's function by its pointer `next`; @shared: on the shared state. */
#define STATE(type, name, parameters, own, shared)                                                                     \
	TH_WEAK type name parameters                                                                                   \
	{                                                                                                              \
		static __typeof__(name) *next;                                                                         \
		if (!state_shared()) {                                                                                 \
			if (!next)                                                                                     \
				*(void **)&next = state_next(#name);                                                   \
			return next own;                                                                               \
		}                                                                                                      \
		th_word_lock(&state->lock);                                                                            \
		type result = shared;                                                                                  \
		th_word_unlock(&state->lock);                                                                          \
		return result;                                                                                         \
	}
#define STATE_VOID(name, parameters, own, shared)                                                                      \
	TH_WEAK void name parameters                                                                                   \
	{                                                                                                              \
		static __typeof__(name) *next;                                                                         \
		if (!state_shared()) {                                                                                 \
			if (!next)                                                                                     \
				*(void **)&next = state_next(#name);                                                   \
			next own;                                                                                      \
			return;                                                                                        \
		}                                                                                                      \
		th_word_lock(&state->lock);                                                                            \
		shared;                                                                                                \
		th_word_unlock(&state->lock);                                                                          \
	}

static int32_t state_random(void)
{
	int32_t n = 0;
	random_r(&state->random, &n);
	return n;
}

STATE(long, random, (void), (), state_random())
STATE(int, rand, (void), (), state_random())
STATE_VOID(srandom, (unsigned seed), (seed), srandom_r(seed, &state->random))
STATE_VOID(srand, (unsigned seed), (seed), srandom_r(seed, &state->random))

static char *state_initstate(unsigned seed, char *numbers, size_t bytes)
{
	int32_t *old = state->random.state;
	char *was = (char *)(old ? old - 1 : NULL);
	return initstate_r(seed, numbers, bytes, &state->random) ? NULL : was;
}

static char *state_setstate(char *numbers)
{
	int32_t *old = state->random.state;
	char *was = (char *)(old ? old - 1 : NULL);
	return setstate_r(numbers, &state->random) ? NULL : was;
}
STATE(char *, initstate, (unsigned seed, char *numbers, size_t bytes), (seed, numbers, bytes),
      state_initstate(seed, numbers, bytes))
STATE(char *, setstate, (char *numbers), (numbers), state_setstate(numbers))

static double state_double(int (*f)(struct drand48_data *, double *))
{
	double v = 0;
	f(&state->drand, &v);
	return v;
}

static long state_long(int (*f)(struct drand48_data *, long *))
{
	long v = 0;
	f(&state->drand, &v);
	return v;
}
STATE(double, drand48, (void), (), state_double(drand48_r))
STATE(long, lrand48, (void), (), state_long(lrand48_r))
STATE(long, mrand48, (void), (), state_long(mrand48_r))
STATE_VOID(srand48, (long seed), (seed), srand48_r(seed, &state->drand))
STATE_VOID(lcong48, (unsigned short p[7]), (p), lcong48_r(p, &state->drand))

/* The compiler's own declaration of strtok promises pointers that are not NULL. */
STATE(char *, strtok, (char *restrict s, const char *restrict delimiters), (s, delimiters),
      strtok_r(s, delimiters, &state->token))

static struct tm *state_time(struct tm *(*f)(const time_t *, struct tm *), const time_t *t)
{
	return f(t, &state->time);
}
STATE(struct tm *, localtime, (const time_t *t), (t), (tzset(), state_time(localtime_r, t)))
STATE(struct tm *, gmtime, (const time_t *t), (t), state_time(gmtime_r, t))

/* The array and its strings are shared memory, since the C library allocates them; each process points to the array. */
static int state_environment(int result)
{
	state->environment = environ;
	return result;
}
#define STATE_ENVIRONMENT(name, parameters, arguments)                                                                 \
	TH_WEAK int name parameters                                                                                    \
	{                                                                                                              \
		static __typeof__(name) *next;                                                                         \
		if (!next)                                                                                             \
			*(void **)&next = state_next(#name);                                                           \
		if (!state_shared())                                                                                   \
			return next arguments;                                                                         \
		th_word_lock(&state->lock);                                                                            \
		environ = state->environment;                                                                          \
		int result = state_environment(next arguments);                                                        \
		th_word_unlock(&state->lock);                                                                          \
		return result;                                                                                         \
	}
STATE_ENVIRONMENT(setenv, (const char *name, const char *value, int replace), (name, value, replace))
STATE_ENVIRONMENT(unsetenv, (const char *name), (name))
STATE_ENVIRONMENT(putenv, (char *text), (text))
STATE_ENVIRONMENT(clearenv, (void), ())

static char *state_getenv(char *(*get)(const char *), const char *name)
{
	environ = state->environment;
	return get(name);
}
STATE(char *, getenv, (const char *name), (name),
      (next ? NULL : (*(void **)&next = state_next("getenv")), state_getenv(next, name)))

TH_WEAK pid_t getpid(void)
{
	return state_shared() && th_heap_shares(__builtin_return_address(0)) && !tw_forked()
	           ? state->pid
	           : (pid_t)syscall(SYS_getpid);
}

#pragma GCC visibility pop
