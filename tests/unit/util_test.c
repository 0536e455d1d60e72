/* SPDX-License-Identifier: BSD-3-Clause */
/* util_test.c - the formatter against snprintf, messages and the fatal path in a child, locks between processes. */
#include "core/base/base.h"
#include "unit.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define ADDS 200000u

/* tw_format must agree with the C library on the conversions that it knows. */
#define SAME(...)                                                                                                      \
	do {                                                                                                           \
		char ours[200], theirs[200];                                                                           \
		int n = snprintf(theirs, sizeof(theirs), __VA_ARGS__);                                                 \
		CU_ASSERT_EQUAL(tw_format(ours, sizeof(ours), __VA_ARGS__), (size_t)n);                                \
		CU_ASSERT_STRING_EQUAL(ours, theirs);                                                                  \
	} while (0)

static void test_format(void)
{
	SAME("plain");
	SAME("%s and %s", "one", "two");
	SAME("%d %d %d %d", 0, -1, INT_MAX, INT_MIN);
	SAME("%u %x %u %x", 0u, 0u, UINT_MAX, UINT_MAX);
	SAME("%zu %ld %ld %lu %lx", (size_t)SIZE_MAX, LONG_MAX, LONG_MIN, ULONG_MAX, ULONG_MAX);
	SAME("%llu", ULLONG_MAX);
	SAME("%c%c 100%%", 'a', 'b');
	SAME("%d%%%s%c", 5, "x", 'y');
	char out[100];
	tw_format(out, sizeof(out), "%p", (void *)0xabc);
	CU_ASSERT_PTR_NOT_NULL(strstr(out, "abc"));
	const char *volatile none = NULL;
	tw_format(out, sizeof(out), "%s", none);
	CU_ASSERT_STRING_EQUAL(out, "(null)");
}

static void test_node_names(void)
{
	static const char host[3][TW_HOST_BYTES] = {"a", "", "c.example"};

	CU_ASSERT_STRING_EQUAL(tw_log_node(7), "node 7");
	tw_log_hosts(host, 3);
	CU_ASSERT_STRING_EQUAL(tw_log_node(0), "node 0 on host a");
	CU_ASSERT_STRING_EQUAL(tw_log_node(1), "node 1");
	CU_ASSERT_STRING_EQUAL(tw_log_node(3), "node 3");
	const char *one = tw_log_node(0), *other = tw_log_node(2);
	CU_ASSERT_STRING_EQUAL(one, "node 0 on host a");
	CU_ASSERT_STRING_EQUAL(other, "node 2 on host c.example");
}

static void test_format_cut(void)
{
	for (size_t bytes = 1; bytes < 30; bytes++) {
		char out[40], expect[40];
		memset(out, 'x', sizeof(out));
		snprintf(expect, bytes, "%s %d end", "text", -1234);
		CU_ASSERT_EQUAL(tw_format(out, bytes, "%s %d end", "text", -1234), strlen(expect));
		CU_ASSERT_STRING_EQUAL(out, expect);
		CU_ASSERT_EQUAL(out[bytes], 'x');
	}
}

/* Run @body in a child. Its standard error goes to @text. Returns the wait status. */
static int child(void (*body)(void), char *text, size_t bytes)
{
	int ends[2], status;
	fflush(NULL);
	if (pipe(ends) != 0)
		abort();
	pid_t pid = fork();
	if (pid == 0) {
		dup2(ends[1], STDERR_FILENO);
		close(ends[0]);
		close(ends[1]);
		body();
		_exit(0);
	}
	close(ends[1]);
	size_t n = 0;
	for (ssize_t got; n + 1 < bytes && (got = read(ends[0], text + n, bytes - 1 - n)) > 0;)
		n += (size_t)got;
	text[n] = '\0';
	close(ends[0]);
	waitpid(pid, &status, 0);
	return status;
}

static void log_body(void)
{
	errno = 1234;
	tw_log("bare %d", 1);
	tw_log_who("3.1");
	tw_log("page %u of %s", 7u, "all");
	tw_log_who("a name that is much longer than what fits");
	tw_log("end");
	if (errno != 1234)
		_exit(9);
}

static void test_log(void)
{
	char text[4000];
	CU_ASSERT_EQUAL(child(log_body, text, sizeof(text)), 0);
	CU_ASSERT_STRING_EQUAL(text, "tweed: bare 1\ntweed: 3.1: page 7 of all\n"
	                             "tweed: a name that is much longer than: end\n");
}

static void long_body(void)
{
	static char big[5000];
	memset(big, 'y', sizeof(big) - 1);
	tw_log("%s", big);
}

/* A message that is too long is cut, but stays one line. */
static void test_log_long(void)
{
	char text[8000];
	CU_ASSERT_EQUAL(child(long_body, text, sizeof(text)), 0);
	size_t n = strlen(text);
	CU_ASSERT(n > 500 && n <= 1024);
	CU_ASSERT_PTR_EQUAL(strchr(text, '\n'), text + n - 1);
}

static void fatal_hook(void)
{
	tw_log("hook");
}

static void fatal_body(void)
{
	tw_fatal_hook = fatal_hook;
	tw_fatal("broken: %d", 5);
}

static void assert_body(void)
{
	TW_ASSERT(1 + 1 == 2);
	TW_ASSERT(1 + 1 == 3);
}

static void test_fatal(void)
{
	char text[1000];
	int status = child(fatal_body, text, sizeof(text));
	CU_ASSERT(WIFEXITED(status) && WEXITSTATUS(status) == 1);
	CU_ASSERT_STRING_EQUAL(text, "tweed: broken: 5\ntweed: hook\n");
	status = child(assert_body, text, sizeof(text));
	CU_ASSERT(WIFEXITED(status) && WEXITSTATUS(status) == 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "1 + 1 == 3"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "util_test.c"));
}

struct shared {
	struct tw_mutex mutex;
	uint64_t count;
	_Atomic uint32_t word, done;
};

static struct shared *shared_map(void)
{
	void *at = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		abort();
	return at;
}

/* Two processes count in shared memory. Returns how many counts were lost. */
static uint64_t lost_counts(bool locked, unsigned spin)
{
	struct shared *s = shared_map();
	volatile uint64_t *count = &s->count;
	fflush(NULL);
	pid_t pid = fork();
	tw_mutex_spin = spin;
	atomic_fetch_add(&s->done, 1);
	while (atomic_load(&s->done) < 2)
		tw_pause();
	for (unsigned i = 0; i < ADDS; i++) {
		if (locked)
			tw_mutex_lock(&s->mutex);
		uint64_t seen = *count;
		if (i % 64 == 0) /* on a busy machine, no other process may run in between otherwise */
			sched_yield();
		*count = seen + 1;
		if (locked)
			tw_mutex_unlock(&s->mutex);
	}
	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
	uint64_t lost = 2 * ADDS - s->count;
	CU_ASSERT_EQUAL(atomic_load(&s->mutex.word), 0);
	munmap(s, sizeof(*s));
	tw_mutex_spin = 200;
	return lost;
}

static void test_mutex(void)
{
	struct tw_mutex m = {0};
	CU_ASSERT(tw_mutex_trylock(&m));
	CU_ASSERT_FALSE(tw_mutex_trylock(&m));
	tw_mutex_unlock(&m);
	CU_ASSERT(tw_mutex_trylock(&m));
	CU_ASSERT_EQUAL(lost_counts(true, 200), 0);
	CU_ASSERT_EQUAL(lost_counts(true, 0), 0);
	uint64_t lost = 0;
	for (int i = 0; i < 200 && !lost; i++)
		lost = lost_counts(false, 0);
	CU_ASSERT_NOT_EQUAL(lost, 0); /* without the lock, counts are lost */
}

static void test_futex(void)
{
	struct shared *s = shared_map();
	uint64_t begun = tw_time_ns();
	tw_futex_wait(&s->word, 1, 0); /* another value: no sleep */
	tw_futex_wait(&s->word, 0, 20000000);
	uint64_t slept = tw_time_ns() - begun;
	CU_ASSERT(slept >= 19000000 && slept < 5000000000);
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0) {
		usleep(10000);
		atomic_store(&s->word, 1);
		tw_futex_wake(&s->word, 1);
		_exit(0);
	}
	while (atomic_load(&s->word) == 0)
		tw_futex_wait(&s->word, 0, 0);
	CU_ASSERT_EQUAL(atomic_load(&s->word), 1);
	waitpid(pid, NULL, 0);
	munmap(s, sizeof(*s));
}

static void test_time(void)
{
	uint64_t last = tw_time_ns();
	for (int i = 0; i < 1000; i++) {
		uint64_t now = tw_time_ns();
		CU_ASSERT(now >= last);
		last = now;
	}
}

int main(void)
{
	CU_TestInfo tests[] = {
	    {"format", test_format},
	    {"format, cut", test_format_cut},
	    {"node names", test_node_names},
	    {"log", test_log},
	    {"log, too long", test_log_long},
	    {"fatal", test_fatal},
	    {"mutex", test_mutex},
	    {"futex", test_futex},
	    {"time", test_time},
	    CU_TEST_INFO_NULL,
	};
	return unit_main("util", tests);
}
