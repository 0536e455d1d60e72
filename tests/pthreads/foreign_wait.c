/* SPDX-License-Identifier: BSD-3-Clause */
/* foreign_wait.c - a library or an archive that plain gcc has made waits in epoll_wait, as libevent does, or with
 * BY_POLL in poll, as ZeroMQ does, while other threads of the processor run; with MAIN the program. */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

int foreign_wait(int fd, int ms);

#ifdef MAIN
static int ends[2];

static void *waits(void *arg)
{
	printf("come %d\n", foreign_wait(ends[0], -1));
	return arg;
}

static void *writes(void *arg)
{
	return write(ends[1], "x", 1) == 1 ? arg : NULL;
}

int main(void)
{
	pthread_t t[2];

	if (pipe(ends))
		return 1;
	printf("late %d\n", foreign_wait(ends[0], 20));
	pthread_create(&t[0], NULL, waits, NULL);
	usleep(50000);
	pthread_create(&t[1], NULL, writes, NULL);
	pthread_join(t[1], NULL);
	pthread_join(t[0], NULL);
	return 0;
}
#elif defined(BY_POLL)
int foreign_wait(int fd, int ms)
{
	struct pollfd one = {.fd = fd, .events = POLLIN};

	return poll(&one, 1, ms);
}
#else
int foreign_wait(int fd, int ms)
{
	struct epoll_event e, got[8];
	int all = epoll_create1(0);

	memset(&e, 0, sizeof(e));
	e.events = EPOLLIN;
	epoll_ctl(all, EPOLL_CTL_ADD, fd, &e);
	int n = epoll_wait(all, got, 8, ms);
	close(all);
	return n;
}
#endif
