/* SPDX-License-Identifier: BSD-3-Clause */
/* state.c - hidden state of the C library that a process has once: random numbers, strtok, hsearch, the environment,
 * the process's number.  Here it is shared memory; the C library's reentrant functions work on it. */
#include <dlfcn.h>
#include <errno.h>
#include <search.h>
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
	struct tm time;
	char text[64]; /* of asctime */
	struct hsearch_data table;
};
static struct state_shared *state;
static char **state_environment; /* the process's, before the job */
static pid_t program_pid;        /* processor 0's */

static void *state_next(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

/* Variables of the C library, for which the linker makes copies in the executable, since a section that is read-only
 * has their addresses (copies.ld places them in shared memory). */
__asm__("	.section .rodata.tw_copies, \"a\"\n"
        "	.quad environ, optarg, optind, opterr, optopt\n"
        "	.previous\n");

static size_t state_count(char **words, size_t *bytes)
{
	size_t n = 0;

	for (; words[n]; n++)
		*bytes += strlen(words[n]) + 1;
	return n;
}

static char *state_copy(char **copy, char **words, char *text)
{
	for (; *words; words++) {
		*copy++ = text;
		text = stpcpy(text, *words) + 1;
	}
	*copy = NULL;
	return text;
}

/* Arguments and environment move to shared memory.  Some programs know how the kernel arranges them: the environment
 * follows the arguments, the pointers and the texts. */
static char **state_words(char **argv)
{
	size_t bytes = 0, arguments = state_count(argv, &bytes) + 1,
	       words = arguments + state_count(environ, &bytes) + 1;
	char **copy = tw_malloc(words * sizeof(*copy) + bytes);

	if (!copy)
		th_refuse("no memory is left of TWEED_MEMORY: raise it");
	char *text = state_copy(copy, argv, (char *)(copy + words));
	state_copy(copy + arguments, environ, text);
	environ = copy + arguments;
	return copy;
}

void th_state_begin(void)
{
	state_environment = environ;
}

void th_state_open(char ***argv)
{
	state = th_allocate_all(sizeof(*state));
	program_pid = (pid_t)syscall(SYS_getpid);
	tw_bcast(&program_pid, sizeof(program_pid), 0);
	if (tw_id())
		return;
	initstate_r(1, state->numbers, sizeof(state->numbers), &state->random);
	/* What the C library's drand48 begins with: zeros. */
	*argv = state_words(*argv);
}

pid_t th_state_pid(void)
{
	return program_pid;
}

/* After the job the C library's own state serves. */
static bool state_shared(void)
{
	return state && tw_me && th_heap_shares(NULL);
}

#pragma GCC visibility push(default)

/* @own: the arguments for the C library's function, `next`; @shared: a call that works on the shared state. */
#define STATE_BEGIN(name)                                                                                              \
	static __typeof__(name) *next;                                                                                 \
	if (!next)                                                                                                     \
		*(void **)&next = state_next(#name);
#define STATE(type, name, parameters, own, shared)                                                                     \
	TH_WEAK type name parameters                                                                                   \
	{                                                                                                              \
		STATE_BEGIN(name)                                                                                      \
		if (!state_shared())                                                                                   \
			return next own;                                                                               \
		th_word_lock(&state->lock);                                                                            \
		type result = shared;                                                                                  \
		th_word_unlock(&state->lock);                                                                          \
		return result;                                                                                         \
	}
#define STATE_VOID(name, parameters, own, shared)                                                                      \
	TH_WEAK void name parameters                                                                                   \
	{                                                                                                              \
		STATE_BEGIN(name)                                                                                      \
		if (!state_shared()) {                                                                                 \
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

static unsigned short *state_seed(unsigned short *seed)
{
	seed48_r(seed, &state->drand);
	return state->drand.__old_x;
}
STATE(unsigned short *, seed48, (unsigned short seed[3]), (seed), state_seed(seed))
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
STATE(char *, asctime, (const struct tm *t), (t), asctime_r(t, state->text))
STATE(char *, ctime, (const time_t *t), (t), (tzset(), asctime_r(state_time(localtime_r, t), state->text)))

static ENTRY *state_search(ENTRY item, ACTION action)
{
	ENTRY *found = NULL;
	hsearch_r(item, action, &found, &state->table);
	return found;
}
STATE(int, hcreate, (size_t n), (n), hcreate_r(n, &state->table))
STATE_VOID(hdestroy, (void), (), hdestroy_r(&state->table))
STATE(ENTRY *, hsearch, (ENTRY item, ACTION action), (item, action), state_search(item, action))

/* The array and its strings are shared memory, since the C library allocates them. */
STATE(int, setenv, (const char *name, const char *value, int replace), (name, value, replace),
      next(name, value, replace))
STATE(int, unsetenv, (const char *name), (name), next(name))
STATE(int, putenv, (char *text), (text), next(text))
STATE(int, clearenv, (void), (), next())

/* Tweed's libraries may call it where shared memory cannot be touched. */
TH_WEAK char *getenv(const char *name)
{
	STATE_BEGIN(getenv)
	if (!state)
		return next(name);
	if (state_shared() && th_heap_shares(__builtin_return_address(0))) {
		th_word_lock(&state->lock);
		char *value = next(name);
		th_word_unlock(&state->lock);
		return value;
	}
	if (tw_forked())
		return next(name);
	size_t n = strlen(name);
	for (char **word = state_environment; *word; word++)
		if (!strncmp(*word, name, n) && (*word)[n] == '=')
			return *word + n + 1;
	return NULL;
}

TH_WEAK pid_t getpid(void)
{
	return state_shared() && th_heap_shares(__builtin_return_address(0)) && !tw_forked()
	           ? program_pid
	           : (pid_t)syscall(SYS_getpid);
}

#pragma GCC visibility pop
