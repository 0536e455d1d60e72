/* SPDX-License-Identifier: BSD-3-Clause */
/* threads.c - threads' lives: create, join, detach, exit, names, values of their own, data of every kind.  What is
 * printed does not depend on when they run. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int global = 5, zeros[3000];
static const char *text = "text";
static __thread int own = 7, own_zero;

struct work {
	int first, n;
	long sum;
	int *where;
};

static void *work(void *arg)
{
	struct work *w = arg;

	for (int i = 0; i < w->n; i++) {
		w->sum += w->where[i] + global;
		zeros[w->first + i] = w->first + i;
	}
	own += w->first;
	own_zero++;
	char *answer = malloc(64);
	snprintf(answer, 64, "%s %d %d %d", text, w->first, own, own_zero);
	return answer;
}

/* @n threads at a time, again and again. */
static void rounds(int n)
{
	int stack[100];
	struct work w[8];
	pthread_t t[8];
	void *answer;

	for (int i = 0; i < 100; i++)
		stack[i] = i;
	for (int round = 0; round < 3; round++) {
		global += round;
		for (int i = 0; i < n; i++) {
			w[i] = (struct work){.first = round * 100 + i * 30, .n = 30, .where = stack + i};
			if (pthread_create(&t[i], NULL, work, &w[i]))
				puts("create failed");
		}
		for (int i = 0; i < n; i++) {
			printf("join %d, equal %d %d\n", pthread_join(t[i], &answer),
			       pthread_equal(t[i], pthread_self()) != 0, pthread_equal(t[i], t[i]) != 0);
			printf("%s: %ld, %d\n", (char *)answer, w[i].sum, zeros[w[i].first + 29]);
			free(answer);
		}
	}
	printf("own %d %d\n", own, own_zero);
}

/* ---- threads that make threads ---- */

static void *child(void *arg)
{
	return (char *)arg + 1;
}

static void *parent(void *arg)
{
	pthread_t t;
	void *answer = NULL;

	pthread_create(&t, NULL, child, arg);
	pthread_join(t, &answer);
	return (char *)answer + 10;
}

static void nested(int n)
{
	pthread_t t;
	void *answer;

	if (n < 2) {
		puts("nested 111");
		return;
	}
	pthread_create(&t, NULL, parent, (char *)NULL + 100);
	pthread_join(t, &answer);
	printf("nested %ld\n", (long)((char *)answer - (char *)NULL));
}

/* ---- exit, and what is done before it ---- */

static pthread_key_t key, second, third;
static int destroyed, cleaned;

static void *same(void *arg)
{
	return arg;
}

/* Destructors may do what threads may do. */
static void makes(void *value)
{
	pthread_t t;
	void *answer = NULL;
	char *text = malloc(100000);

	strcpy(text, value);
	pthread_create(&t, NULL, same, text);
	pthread_join(t, &answer);
	printf("a destructor's %s: %d\n", text, answer == text);
	free(text);
}

static void destroy(void *value)
{
	destroyed += *(int *)value;
	free(value);
}

static void again(void *value)
{
	static int times;
	if (++times < 3)
		pthread_setspecific(second, value);
}

static void clean(void *arg)
{
	cleaned = cleaned * 10 + *(int *)arg;
}

static void deep(int n)
{
	static char answer[] = "exited";

	if (n > 100)
		return;
	if (n)
		deep(n - 1);
	else
		pthread_exit(answer);
	puts("not reached");
}

static void *exits(void *arg)
{
	int one = 1, two = 2;
	int *value = malloc(sizeof(*value));

	*value = 40;
	pthread_setspecific(key, value);
	pthread_setspecific(second, arg);
	pthread_setspecific(third, "thread");
	printf("value %d\n", *(int *)pthread_getspecific(key));
	pthread_cleanup_push(clean, &one);
	pthread_cleanup_push(clean, &two);
	deep(5);
	pthread_cleanup_pop(0);
	pthread_cleanup_pop(0);
	return NULL;
}

static void *no_value(void *arg)
{
	printf("no value %d\n", pthread_getspecific(key) == NULL && pthread_getspecific(second) == NULL);
	pthread_cleanup_push(clean, arg);
	pthread_cleanup_pop(1);
	return NULL;
}

static void ends(void)
{
	pthread_t t;
	void *answer;
	int three = 3, mine = 9;

	printf("keys %d %d\n", pthread_key_create(&key, destroy), pthread_key_create(&second, again));
	pthread_key_create(&third, makes);
	pthread_setspecific(key, &mine);
	pthread_create(&t, NULL, exits, &mine);
	pthread_join(t, &answer);
	printf("%s, destroyed %d, cleaned %d\n", (char *)answer, destroyed, cleaned);
	pthread_create(&t, NULL, no_value, &three);
	pthread_join(t, NULL);
	printf("cleaned %d, mine %d\n", cleaned, *(int *)pthread_getspecific(key));
	printf("delete %d %d\n", pthread_key_delete(second), pthread_key_delete(key));
	printf("deleted %d %d\n", pthread_getspecific(key) == NULL, pthread_setspecific(key, &mine) == EINVAL);
	pthread_key_create(&second, NULL);
	printf("new key without value %d\n", pthread_getspecific(second) == NULL);
}

/* ---- detached ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int gone;

static void *goes(void *arg)
{
	if (arg)
		pthread_detach(pthread_self());
	pthread_mutex_lock(&lock);
	gone++;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void detached(void)
{
	pthread_attr_t attr;
	pthread_t t;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	for (int i = 0; i < 12; i++) {
		pthread_create(&t, i % 3 ? NULL : &attr, goes, i % 3 == 1 ? &attr : NULL);
		if (i % 3 == 2)
			pthread_detach(t);
		pthread_mutex_lock(&lock);
		while (gone <= i)
			pthread_cond_wait(&changed, &lock);
		pthread_mutex_unlock(&lock);
	}
	pthread_attr_destroy(&attr);
	printf("gone %d\n", gone);
}

/* ---- where stacks are, as collectors of garbage ask ---- */

static const void *shown;

static void look(const char *whose, pthread_t t, const void *at)
{
	pthread_attr_t attr;
	int error = pthread_getattr_np(t, &attr), detached = -1;
	void *base = NULL;
	size_t bytes = 0;

	if (!error) {
		pthread_attr_getstack(&attr, &base, &bytes);
		pthread_attr_getdetachstate(&attr, &detached);
		pthread_attr_destroy(&attr);
	}
	printf("stack of %s: %d, inside %d, large %d, detached %d\n", whose, error,
	       (const char *)at >= (char *)base && (const char *)at<(char *)base + bytes, bytes> 65536, detached);
}

static void *shows(void *arg)
{
	int here = 0;

	look("the thread", pthread_self(), &here);
	pthread_mutex_lock(&lock);
	shown = &here;
	pthread_cond_broadcast(&changed);
	while (shown)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	return arg;
}

#define DEEP ((size_t)24 << 20)

/* Uses most of a stack larger than others are. */
static __attribute__((noinline)) long sinks(const volatile char *from, volatile char *above)
{
	volatile char here[2000];

	here[0] = 1;
	if ((size_t)(from - here) < DEEP - (1u << 20))
		sinks(from, here);
	return *above = here[0];
}

static void *deeply(void *arg)
{
	volatile char here = 0;

	look("a deep thread", pthread_self(), (const void *)&here);
	return sinks(&here, &here) == 1 ? arg : NULL;
}

static void large(void)
{
	pthread_attr_t attr;
	pthread_t t[6];
	void *result;
	long sum = 0;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, DEEP);
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 6; i++) /* others in between */
			pthread_create(&t[i], i % 3 == 0 ? &attr : NULL, i % 3 == 0 ? deeply : same,
			               (char *)NULL + i + 1);
		for (int i = 0; i < 6; i++) {
			pthread_join(t[i], &result);
			sum = sum * 10 + ((char *)result - (char *)NULL);
		}
	}
	pthread_attr_destroy(&attr);
	printf("large stacks %ld\n", sum);
}

static void stacks(void)
{
	pthread_t t;
	int here = 0;

	look("main", pthread_self(), &here);
	pthread_create(&t, NULL, shows, NULL);
	pthread_mutex_lock(&lock);
	while (!shown)
		pthread_cond_wait(&changed, &lock);
	look("the other", t, shown);
	shown = NULL;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	pthread_join(t, NULL);
}

static void *nothing(void *arg)
{
	return arg;
}

static void mistakes(void)
{
	pthread_t t;

	printf("join self %d\n", pthread_join(pthread_self(), NULL) == EDEADLK);
	pthread_create(&t, NULL, nothing, NULL);
	while (pthread_tryjoin_np(t, NULL) == EBUSY)
		usleep(1000);
	puts("tried");
	printf("kill %d\n", pthread_kill(pthread_self(), 0));
}

static void *last(void *arg)
{
	pthread_t *main_thread = arg;
	int error = pthread_join(*main_thread, NULL);

	printf("main has ended: %d\n", error);
	return NULL;
}

/* Functions that end with a jump to malloc: their caller's caller is the run-time. */
static void *copies(void *text)
{
	return strdup(text);
}

static void *zeroes(void *bytes)
{
	return calloc(1, (size_t)bytes);
}

static void results(void)
{
	pthread_t one, other;
	void *text, *block;

	pthread_create(&one, NULL, copies, (char[]){"a copy"});
	pthread_create(&other, NULL, zeroes, (void *)5000);
	pthread_join(one, &text);
	pthread_join(other, &block);
	printf("%s, %d\n", (char *)text, ((char *)block)[4000]);
	free(text);
	free(block);
}

static pthread_barrier_t named;

static void *bears_name(void *name)
{
	char got[16] = "";

	pthread_getname_np(pthread_self(), got, sizeof(got));
	printf("inherits %s\n", got);
	if (name)
		pthread_setname_np(pthread_self(), name);
	pthread_barrier_wait(&named);
	pthread_barrier_wait(&named);
	pthread_getname_np(pthread_self(), got, sizeof(got));
	printf("%s\n", got);
	return NULL;
}

static void names(void)
{
	pthread_t t;
	char got[16] = "";

	pthread_setname_np(pthread_self(), "first");
	for (int i = 0; i < 2; i++) {
		pthread_barrier_init(&named, NULL, 2);
		pthread_create(&t, NULL, bears_name, i ? NULL : "worker");
		pthread_barrier_wait(&named);
		int error = pthread_getname_np(t, got, sizeof(got)), few = pthread_getname_np(t, got, 3);
		printf("%d %s, %d", error, got, few);
		error = pthread_setname_np(t, "renamed");
		few = pthread_setname_np(t, "a name of too many letters");
		printf(", %d %d\n", error, few);
		pthread_barrier_wait(&named);
		pthread_join(t, NULL);
	}
	pthread_getname_np(pthread_self(), got, sizeof(got));
	printf("%s\n", got);
}

int main(int argc, char **argv)
{
	static pthread_t self;
	int n = argc > 1 ? atoi(argv[1]) : 1;
	pthread_t t;

	rounds(n);
	nested(n);
	ends();
	detached();
	stacks();
	large();
	mistakes();
	results();
	names();
	self = pthread_self();
	pthread_create(&t, NULL, last, &self);
	pthread_exit(NULL);
}
