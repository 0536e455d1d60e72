/* SPDX-License-Identifier: BSD-3-Clause */
/* crash.c - a thread on another processor does what ends the program, or goes on for ever. */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

extern char first(const volatile char *p), second(const volatile char *p); /* of libraries */
static void (*nothing)(void);
static const char *what;
static volatile char *at;
static pthread_mutex_t lock[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};

static int deep(int n)
{
	volatile char frame[4096];

	frame[0] = (char)n;
	return deep(n + 1) + frame[0];
}

static __attribute__((noinline)) void both(int first)
{
	pthread_mutex_lock(&lock[first]);
	sleep(1);
	pthread_mutex_lock(&lock[!first]);
}

static __attribute__((noinline)) void forever(void)
{
	if (write(STDOUT_FILENO, "ready\n", 6) != 6)
		return;
	while (!*at)
		continue;
}

static void *thread(void *arg)
{
	volatile char mark[16];

	for (int i = 0; i < 16; i++)
		mark[i] = (char)(what[i % 2] ^ (i + 1)); /* in no file */
	if (strcmp(what, "stack") == 0)
		deep(0);
	else if (strcmp(what, "call") == 0 || strcmp(what, "plugin") == 0)
		nothing();
	else if (strcmp(what, "constant") == 0)
		*(volatile char *)(size_t) "constant" = 1;
	else if (strcmp(what, "write") == 0)
		*at = 1;
	else if (strcmp(what, "archived") == 0)
		first(at);
	else if (strcmp(what, "library") == 0)
		second(at);
	else if (strcmp(what, "abort") == 0)
		abort();
	else if (strcmp(what, "illegal") == 0)
		__builtin_trap();
	else if (strcmp(what, "locks") == 0)
		both(0);
	else if (strcmp(what, "loop") == 0)
		forever();
	else
		(void)*at;
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t t;

	what = argc > 1 ? argv[1] : "null";
	at = (volatile char *)16;
	if (strcmp(what, "wild") == 0 || strcmp(what, "write") == 0)
		at = (volatile char *)0x7eadbeef0000;
	else if (strcmp(what, "impossible") == 0)
		at = (volatile char *)0x8123456789abcdef;
	else if (strcmp(what, "plugin") == 0)
		nothing = (void (*)(void))dlsym(dlopen("./plugin.so", RTLD_NOW), "plugin");
	else if (strcmp(what, "private") == 0)
		at = (volatile char *)syscall(SYS_mmap, NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		                              -1, 0);
	else if (strcmp(what, "loop") == 0)
		at = calloc(1, 1);
	pthread_create(&t, NULL, thread, NULL);
	if (strcmp(what, "locks") == 0)
		both(1);
	pthread_join(t, NULL);
	return 0;
}
