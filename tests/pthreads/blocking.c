/* SPDX-License-Identifier: BSD-3-Clause */
/* blocking.c - threads that wait in the kernel for others of the same processor: read, write, poll, select, accept.
 * And the handler of a signal, which waits inside a wait. */
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define THREADS 8
#define BYTES   300000

static int end[THREADS][2];
static char big[BYTES];
static long got[THREADS];

static long number(void *arg)
{
	return (char *)arg - (char *)NULL;
}

static void await_event(int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
	int epoll = epoll_create1(0);

	epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
	event.data.fd = -1;
	if (epoll_pwait(epoll, &event, 1, -1, NULL) != 1 || event.data.fd != fd)
		puts("epoll_pwait");
	close(epoll);
}

/* The token is in a pipe. */
static void *pass(void *arg)
{
	long i = number(arg);
	int token;

	for (int k = 0; k < 12; k++) {
		struct pollfd one = {.fd = end[i][0], .events = POLLIN};
		fd_set set;

		FD_ZERO(&set);
		FD_SET(end[i][0], &set);
		if (k % 6 == 1 && (poll(&one, 1, -1) != 1 || !(one.revents & POLLIN)))
			puts("poll");
		if (k % 6 == 2 && (select(end[i][0] + 1, &set, NULL, NULL, NULL) != 1 || !FD_ISSET(end[i][0], &set)))
			puts("select");
		if (k % 6 == 3 && (ppoll(&one, 1, NULL, NULL) != 1 || !(one.revents & POLLIN)))
			puts("ppoll");
		if (k % 6 == 4 &&
		    (pselect(end[i][0] + 1, &set, NULL, NULL, NULL, NULL) != 1 || !FD_ISSET(end[i][0], &set)))
			puts("pselect");
		if (k % 6 == 5)
			await_event(end[i][0]);
		if (read(end[i][0], &token, sizeof(token)) != sizeof(token))
			puts("read");
		token++;
		if (write(end[(i + 1) % THREADS][1], &token, sizeof(token)) != sizeof(token))
			puts("write");
	}
	return NULL;
}

/* Less than a pipe holds at a time. */
static void *drain(void *arg)
{
	char part[4096];
	ssize_t n;

	while (got[number(arg)] < BYTES && (n = read(end[number(arg)][0], part, sizeof(part))) > 0)
		got[number(arg)] += n;
	return NULL;
}

static struct sockaddr_un name = {.sun_family = AF_UNIX};
static int listener;

static void *serve(void *arg)
{
	struct sockaddr_un from;
	socklen_t bytes = sizeof(from);
	int client = accept(listener, (struct sockaddr *)&from, &bytes);
	char word[8] = "";

	if (recv(client, word, 6, 0) != 6 || send(client, "answer", 6, 0) != 6)
		puts("server");
	close(client);
	return arg;
}

static void sockets(void)
{
	socklen_t bytes = sizeof(name.sun_family) + 1 + 20;
	char word[8] = "";
	pthread_t t[3];

	snprintf(name.sun_path + 1, 21, "tweed-blocking-%d", (int)getpid());
	listener = socket(AF_UNIX, SOCK_STREAM, 0);
	if (bind(listener, (struct sockaddr *)&name, bytes) || listen(listener, 4))
		puts("listen");
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, serve, NULL);
	for (int i = 0; i < 3; i++) {
		int fd = socket(AF_UNIX, SOCK_STREAM, 0);
		if (connect(fd, (struct sockaddr *)&name, bytes) || send(fd, "please", 6, 0) != 6 ||
		    recv(fd, word, 6, MSG_WAITALL) != 6)
			puts("client");
		close(fd);
	}
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	puts(word);
}

/* A lock is given back while a signal's handler waits, which has interrupted the wait for the lock. */
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t interrupted, go_on;

static void handler(int signal)
{
	(void)signal;
	sem_post(&interrupted);
	while (sem_wait(&go_on) != 0)
		;
}

static void *reader(void *arg)
{
	pthread_rwlock_rdlock(&lock);
	pthread_rwlock_unlock(&lock);
	return arg;
}

static void interrupts(void)
{
	pthread_t t[3];

	sem_init(&interrupted, 0, 0);
	sem_init(&go_on, 0, 0);
	signal(SIGUSR1, handler);
	pthread_rwlock_wrlock(&lock);
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, reader, NULL);
	usleep(20000);
	for (int i = 0; i < 3; i++)
		pthread_kill(t[i], SIGUSR1);
	for (int i = 0; i < 3; i++)
		sem_wait(&interrupted);
	pthread_rwlock_unlock(&lock);
	for (int i = 0; i < 3; i++)
		sem_post(&go_on);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	puts("interrupted");
}

/* The mask of the wait lets a signal through, whose handler is called before the call returns. */
static volatile sig_atomic_t alarmed;

static void alarm_handler(int signal)
{
	(void)signal;
	alarmed = 1;
}

static void alarm_blocked(void)
{
	sigset_t block;

	sigemptyset(&block);
	sigaddset(&block, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &block, NULL);
}

static void *masked(void *arg)
{
	struct itimerval soon = {.it_value = {0, 20000}};
	struct timespec long_time = {20, 0};
	struct epoll_event event;
	int epoll = epoll_create1(0);
	sigset_t none;

	sigemptyset(&none);
	alarm_blocked();
	for (int i = 0; i < 3; i++) {
		setitimer(ITIMER_REAL, &soon, NULL);
		int result = i == 0   ? ppoll(NULL, 0, &long_time, &none)
		             : i == 1 ? pselect(0, NULL, NULL, NULL, &long_time, &none)
		                      : epoll_pwait(epoll, &event, 1, 20000, &none);
		printf("masked %d %d\n", result, alarmed);
		alarmed = 0;
	}
	close(epoll);
	return arg;
}

static void masks(void)
{
	pthread_t t;

	signal(SIGALRM, alarm_handler);
	alarm_blocked();
	pthread_create(&t, NULL, masked, NULL);
	pthread_join(t, NULL);
}

int main(void)
{
	pthread_t t[THREADS];
	int token = 0;

	for (int i = 0; i < THREADS; i++)
		if (pipe(end[i]))
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, pass, (char *)NULL + i);
	if (write(end[0][1], &token, sizeof(token)) < 0)
		return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	if (read(end[0][0], &token, sizeof(token)) < 0)
		return 1;
	printf("token %d\n", token);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, drain, (char *)NULL + i);
	for (int i = 0; i < THREADS; i++)
		if (write(end[i][1], big, BYTES) != BYTES)
			puts("short");
	for (int i = 0; i < THREADS; i++) {
		pthread_join(t[i], NULL);
		printf("got %ld\n", got[i]);
	}
	sockets();
	interrupts();
	masks();
	return 0;
}
