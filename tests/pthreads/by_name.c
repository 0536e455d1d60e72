/* SPDX-License-Identifier: BSD-3-Clause */
/* by_name.c - functions that the program finds by their names, as memory allocators and tracers do: those of threads,
 * and one of the C library in whose place it has its own.
 * usage: by_name THREADS */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
static int (*join)(pthread_t, void **);
static int (*lock)(pthread_mutex_t *), (*unlock)(pthread_mutex_t *), (*post)(sem_t *);
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static sem_t done;
static long sum;

/* For the C library, too, which must not come back here by the function that this one calls. */
ssize_t read(int fd, void *buf, size_t n)
{
	static ssize_t (*next)(int fd, void *buf, size_t n);
	static int depth;

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "read");
	if (++depth > 5)
		abort();
	ssize_t result = next(fd, buf, n);
	depth--;
	return result;
}

static void *work(void *arg)
{
	for (int i = 0; i < 1000; i++) {
		lock(&mutex);
		sum++;
		unlock(&mutex);
	}
	post(&done);
	return arg;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 1;
	pthread_t thread[8];

	*(void **)&create = dlsym(RTLD_NEXT, "pthread_create");
	*(void **)&join = dlsym(RTLD_DEFAULT, "pthread_join");
	*(void **)&lock = dlsym(RTLD_NEXT, "pthread_mutex_lock");
	*(void **)&unlock = dlsym(RTLD_NEXT, "pthread_mutex_unlock");
	*(void **)&post = dlsym(RTLD_NEXT, "sem_post");
	printf("none: %d, getpid: %d\n", dlsym(RTLD_DEFAULT, "pthread_no_such_function") == NULL,
	       dlsym(RTLD_NEXT, "getpid") != NULL);
	sem_init(&done, 0, 0);
	for (int i = 0; i < threads; i++)
		create(&thread[i], NULL, work, NULL);
	for (int i = 0; i < threads; i++)
		sem_wait(&done);
	for (int i = 0; i < threads; i++)
		join(thread[i], NULL);
	int ends[2];
	char text[4] = "";
	if (pipe(ends) || write(ends[1], "abc", 3) != 3 || read(ends[0], text, 3) != 3)
		return 1;
	printf("%ld %s\n", sum, text);
	return 0;
}
