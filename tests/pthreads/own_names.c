/* SPDX-License-Identifier: BSD-3-Clause */
/* own_names.c - a program's own functions, named as system calls that Tweed wraps. */
#include <pthread.h>
#include <stdio.h>

int open(const char *path, int flags, ...)
{
	return path[0] + flags;
}

static void *opens(void *path)
{
	printf("%d\n", open(path, 1));
	return NULL;
}

int main(void)
{
	pthread_t t;

	pthread_create(&t, NULL, opens, "A");
	return pthread_join(t, NULL);
}
