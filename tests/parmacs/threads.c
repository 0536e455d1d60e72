/* SPDX-License-Identifier: BSD-3-Clause */
/* threads.c - a program in the style of threads: its processors share global variables and what malloc gives. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <tweed/tweed.h>

struct item {
	struct item *next;
	char *name;
	long value;
};

static struct item *list;
static long initial[5000] = {1, 2, 3}, total, failures;
static char line[64], big[300000];
static tw_lock_t lock;
static long *grown;
static char *const text = "text";
static char *const *where = &text;
const long constant = 7; /* not in shared memory: nobody stores to it */

#define CHECK(what, good) ((good) ? (void)0 : check_failed(what))

static void check_failed(const char *what)
{
	fprintf(stderr, "FAILED %s\n", what);
	__atomic_store_n(&failures, 1, __ATOMIC_RELAXED);
}

static long *counter(void)
{
	static long count = 40;
	return &count;
}

static void push(long value)
{
	char name[32];
	struct item *item = malloc(sizeof(*item));
	snprintf(name, sizeof(name), "item %ld", value);
	item->value = value;
	item->name = strdup(name);
	tw_lock_acquire(lock);
	item->next = list;
	list = item;
	grown = realloc(grown, (size_t)(*counter() - 39) * sizeof(*grown));
	grown[*counter() - 40] = value;
	++*counter();
	tw_lock_release(lock);
}

static void pop_all(void)
{
	char name[32];

	for (;;) {
		tw_lock_acquire(lock);
		struct item *item = list;
		list = item ? item->next : NULL;
		total += item ? item->value : 0;
		tw_lock_release(lock);
		if (!item)
			break;
		snprintf(name, sizeof(name), "item %ld", item->value);
		CHECK("name", strcmp(name, item->name) == 0);
		free(item->name);
		free(item);
	}
}

/* The kernel stores into global variables. */
static void read_file(void)
{
	if (tw_id() == tw_count() - 1) {
		int fd = open("/proc/self/comm", O_RDONLY);
		ssize_t n = read(fd, line, sizeof(line) - 1);
		CHECK("read", n == 8);
		close(fd);
		fd = open("/dev/zero", O_RDONLY);
		memset(big, 1, sizeof(big));
		CHECK("long read", read(fd, big + 5, sizeof(big) - 10) == (ssize_t)sizeof(big) - 10);
		close(fd);
	}
	tw_barrier_all();
	CHECK("what was read", memcmp(line, "threads", 7) == 0);
	CHECK("what was read beyond a page",
	      big[4] == 1 && big[5] == 0 && big[sizeof(big) - 6] == 0 && big[sizeof(big) - 1] == 1);
}

int main(int argc, char **argv)
{
	void *early = malloc(100), *aligned = NULL;

	initial[0] = tw_now() > 0 ? 1 : 0; /* private as yet */
	tw_init(&argc, &argv);
	long n = tw_count(), id = tw_id();
	free(early);
	CHECK("initial values",
	      initial[0] == 1 && initial[2] == 3 && initial[4999] == 0 && *where == text && constant == 7);
	CHECK("aligned", posix_memalign(&aligned, 256, 1000) == 0 && (size_t)aligned % 256 == 0);
	free(aligned);
	if (id == 0)
		lock = tw_lock_create();
	tw_barrier_all();
	initial[id * 3] = id + 100; /* neighbours share a page */
	for (long i = 0; i < 50; i++)
		push(id * 50 + i);
	tw_barrier_all();
	long sum = 0;
	for (long i = 0; i < n; i++)
		sum += initial[i * 3];
	CHECK("neighbouring stores", sum == n * 100 + n * (n - 1) / 2);
	sum = 0;
	for (long i = 0; i < 50 * n; i++)
		sum += grown[i];
	CHECK("grown array", sum == 50 * n * (50 * n - 1) / 2 && *counter() == 40 + 50 * n);
	pop_all();
	read_file();
	if (id == 0) {
		char *private = strndup("kept", 3);
		free(private);
		printf("%ld items, sum %s\n", *counter() - 40, total == sum ? "right" : "wrong");
	}
	tw_finalize();
	/* Private again, with the last values. */
	initial[1] += id;
	return total == sum && initial[1] == 2 + id ? (int)failures : 1;
}
