/* SPDX-License-Identifier: BSD-3-Clause */
/* rendezvous.c - agents and intruders at the place where a launcher waits: who does not hold the secret, says
 * nothing, says too little, or comes as an agent that is there already is refused and counted, and holds nobody
 * up.  A launcher that does not hold the secret is refused by the agent. */
#include "tools/launch/rendezvous.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/base.h"

#define CHECK(condition)                                                                                               \
	do {                                                                                                           \
		if (!(condition)) {                                                                                    \
			printf("meet: line %d: %s\n", __LINE__, #condition);                                           \
			exit(1);                                                                                       \
		}                                                                                                      \
	} while (0)

static uint8_t secret[TW_NET_SECRET_BYTES] = {1, 2, 3}, other[TW_NET_SECRET_BYTES] = {1, 2, 4};
static char place[RENDEZVOUS_PLACE_BYTES];

static int dial(void)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(place))};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK(fd >= 0 && connect(fd, (const struct sockaddr *)&to, sizeof(to)) == 0);
	return fd;
}

/* An agent, if it may; the connection as a number, for pthread_join. */
static void *agent(void *rank)
{
	return (void *)(intptr_t)rendezvous_connect(place, secret, (unsigned)(uintptr_t)rank);
}

/* Is there an IPv6 of this host? */
static bool six_here(void)
{
	struct sockaddr_in6 to = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	int fd = socket(AF_INET6, SOCK_STREAM, 0);
	bool here = fd >= 0 && bind(fd, (const struct sockaddr *)&to, sizeof(to)) == 0;

	close(fd);
	return here;
}

/* An agent finds its launcher by any one address of either family; what is no address is passed over. */
static void families(void)
{
	static const char *const addresses[] = {"127.0.0.1", "::1", "nonsense 999.1.1.1 ::1"};
	int connection[2], listener;
	unsigned refused;
	pthread_t t;
	void *got;

	for (unsigned i = 0; i < (six_here() ? sizeof(addresses) / sizeof(*addresses) : 1); i++) {
		listener = rendezvous_listen(place);
		CHECK(listener >= 0);
		snprintf(place, sizeof(place), "%d %s", atoi(place), addresses[i]);
		CHECK(pthread_create(&t, NULL, agent, (void *)1) == 0);
		CHECK(rendezvous_accept(listener, secret, 2, 10, connection, &refused) == 0 && refused == 0);
		pthread_join(t, &got);
		CHECK((intptr_t)got >= 0);
		close((int)(intptr_t)got);
		close(connection[1]);
	}
}

static void *stranger(void *rank)
{
	return (void *)(intptr_t)rendezvous_connect(place, other, (unsigned)(uintptr_t)rank);
}

/* What an agent has said is of no use to another connection. */
static int replay(const char *claim, size_t bytes)
{
	char nonce[16];
	int fd = dial();

	CHECK(recv(fd, nonce, sizeof(nonce), MSG_WAITALL) == (ssize_t)sizeof(nonce));
	CHECK(send(fd, claim, bytes, 0) == (ssize_t)bytes);
	return fd;
}

static void *intruders(void *arg)
{
	char text[64] = "GET / HTTP/1.0\r\n\r\n", byte;
	int mute = dial(), closed = dial(), rude = replay(text, sizeof(text)), half = replay(text, 3);
	pthread_t t[5];
	void *got;

	(void)arg;
	close(closed);
	CHECK(recv(rude, &byte, 1, 0) <= 0);
	for (uintptr_t i = 0; i < 3; i++) {
		CHECK(pthread_create(&t[0], NULL, stranger, (void *)(i + 1)) == 0);
		pthread_join(t[0], &got);
		CHECK((intptr_t)got < 0);
	}
	/* The right secret, but a rank that nobody expects, and one that is there. */
	CHECK(rendezvous_connect(place, secret, 0) < 0);
	CHECK(rendezvous_connect(place, secret, 4) < 0);
	int first = rendezvous_connect(place, secret, 2);
	CHECK(first >= 0);
	CHECK(rendezvous_connect(place, secret, 2) < 0);
	for (uintptr_t rank = 1; rank <= 3; rank += 2)
		CHECK(pthread_create(&t[rank], NULL, agent, (void *)rank) == 0);
	for (uintptr_t rank = 1; rank <= 3; rank += 2) {
		pthread_join(t[rank], &got);
		CHECK((intptr_t)got >= 0);
		CHECK(send((int)(intptr_t)got, &(char){(char)('0' + rank)}, 1, 0) == 1);
	}
	CHECK(send(first, "2", 1, 0) == 1);
	close(mute);
	close(half);
	return NULL;
}

/* One who listens and does not hold the secret. */
static void *impostor(void *arg)
{
	int listener = *(int *)arg, connection[2];
	unsigned refused;

	rendezvous_accept(listener, other, 2, 2, connection, &refused);
	return NULL;
}

int main(void)
{
	int listener = rendezvous_listen(place), connection[4];
	unsigned refused;
	pthread_t t;

	CHECK(listener >= 0);
	CHECK(pthread_create(&t, NULL, intruders, NULL) == 0);
	uint64_t began = tw_time_ns();
	CHECK(rendezvous_accept(listener, secret, 4, 30, connection, &refused) == 0);
	CHECK(tw_time_ns() - began < 5000000000u); /* those who say nothing are not waited for */
	pthread_join(t, NULL);
	for (unsigned rank = 1; rank < 4; rank++) {
		char who = 0;
		for (unsigned round = 0; round < 100 && recv(connection[rank], &who, 1, 0) != 1; round++)
			usleep(10000);
		CHECK(who == (char)('0' + rank));
	}
	/* Each of the three strangers and three wrong ranks at every address of this host, one rude, mute, closed,
	 * half. */
	printf("meet: %u refused\n", refused);
	CHECK(refused >= 10);
	CHECK(rendezvous_connect(place, secret, 1) < 0); /* nobody listens any more */

	listener = rendezvous_listen(place);
	CHECK(listener >= 0 && pthread_create(&t, NULL, impostor, &listener) == 0);
	CHECK(rendezvous_connect(place, secret, 1) < 0);
	pthread_join(t, NULL);

	listener = rendezvous_listen(place);
	CHECK(rendezvous_accept(listener, secret, 2, 1, connection, &refused) == -ETIMEDOUT && connection[1] == -1);
	families();
	return 0;
}
