/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/launch/rendezvous.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/base.h"
#include "net/auth.h"

#define RENDEZVOUS_NONCE_BYTES 16
#define RENDEZVOUS_PENDING     128
#define RENDEZVOUS_PROVE_NS    ((uint64_t)5000000000)
#define RENDEZVOUS_CONNECT_MS  5000

/* The text that a proof authenticates. */
struct rendezvous_text {
	char speaker[16];
	uint8_t launcher_nonce[RENDEZVOUS_NONCE_BYTES], agent_nonce[RENDEZVOUS_NONCE_BYTES];
	uint32_t rank;
};

/* The agent's message. */
struct rendezvous_claim {
	uint32_t rank;
	uint8_t nonce[RENDEZVOUS_NONCE_BYTES], proof[TW_AUTH_PROOF_BYTES];
};

struct rendezvous_pending {
	int fd; /* -1: free */
	uint64_t since_ns;
	size_t have;
	uint8_t nonce[RENDEZVOUS_NONCE_BYTES];
	struct rendezvous_claim claim;
};

static struct rendezvous_text rendezvous_text(const char *speaker, const uint8_t *launcher_nonce,
                                              const uint8_t *agent_nonce, uint32_t rank)
{
	struct rendezvous_text t = {.rank = rank};

	snprintf(t.speaker, sizeof(t.speaker), "%s", speaker);
	memcpy(t.launcher_nonce, launcher_nonce, RENDEZVOUS_NONCE_BYTES);
	memcpy(t.agent_nonce, agent_nonce, RENDEZVOUS_NONCE_BYTES);
	return t;
}

/* ---- where ----------------------------------------------------------------------------------------------------- */

/* The address of @sa as text; "" if another host cannot use it: not an internet address, or link-local. */
static void rendezvous_address(const struct sockaddr *sa, char text[INET6_ADDRSTRLEN])
{
	struct sockaddr_in6 six;
	struct sockaddr_in four;

	text[0] = '\0';
	if (sa && sa->sa_family == AF_INET) {
		memcpy(&four, sa, sizeof(four));
		inet_ntop(AF_INET, &four.sin_addr, text, INET6_ADDRSTRLEN);
	} else if (sa && sa->sa_family == AF_INET6) {
		memcpy(&six, sa, sizeof(six));
		if (!IN6_IS_ADDR_LINKLOCAL(&six.sin6_addr))
			inet_ntop(AF_INET6, &six.sin6_addr, text, INET6_ADDRSTRLEN);
	}
}

/* "PORT ADDRESS ADDRESS ...": this host's addresses, loopback last. */
static void rendezvous_place(unsigned port, char place[RENDEZVOUS_PLACE_BYTES])
{
	struct ifaddrs *all = NULL;
	size_t n = (size_t)snprintf(place, RENDEZVOUS_PLACE_BYTES, "%u", port);

	if (getifaddrs(&all) < 0)
		all = NULL;
	for (unsigned loopback = 0; loopback < 2; loopback++)
		for (struct ifaddrs *i = all; i; i = i->ifa_next) {
			char text[INET6_ADDRSTRLEN];
			if (!(i->ifa_flags & IFF_UP) || ((i->ifa_flags & IFF_LOOPBACK) != 0) != loopback)
				continue;
			rendezvous_address(i->ifa_addr, text);
			if (text[0] && n + strlen(text) + 2 < RENDEZVOUS_PLACE_BYTES)
				n += (size_t)snprintf(place + n, RENDEZVOUS_PLACE_BYTES - n, " %s", text);
		}
	freeifaddrs(all);
}

int rendezvous_listen(char place[RENDEZVOUS_PLACE_BYTES])
{
	struct sockaddr_in6 six = {.sin6_family = AF_INET6}; /* the port is at the same place as in IPv4's */
	struct sockaddr_in four = {.sin_family = AF_INET};
	socklen_t bytes = sizeof(six);
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), error = 0;

	/* Both families in one socket; IPv4 only where the kernel has no IPv6. */
	if (fd >= 0 && (setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &(int){0}, sizeof(int)) < 0 ||
	                bind(fd, (const struct sockaddr *)&six, sizeof(six)) < 0)) {
		close(fd);
		fd = -1;
	}
	if (fd < 0) {
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		error = fd < 0 || bind(fd, (const struct sockaddr *)&four, sizeof(four)) < 0 ? errno : 0;
	}
	if (!error && (listen(fd, RENDEZVOUS_PENDING) < 0 || getsockname(fd, (struct sockaddr *)&six, &bytes) < 0))
		error = errno;
	if (error) {
		if (fd >= 0)
			close(fd);
		return -error;
	}
	rendezvous_place(ntohs(six.sin6_port), place);
	return fd;
}

/* ---- the launcher ---------------------------------------------------------------------------------------------- */

static void rendezvous_drop(struct rendezvous_pending *p, unsigned *refused)
{
	close(p->fd);
	p->fd = -1;
	++*refused;
}

/* A new connection takes a free place, or the place of the one that has waited longest. */
static void rendezvous_nonce(int fd, struct rendezvous_pending pending[RENDEZVOUS_PENDING], unsigned *refused)
{
	struct rendezvous_pending *p = &pending[0];

	for (unsigned i = 0; i < RENDEZVOUS_PENDING && p->fd >= 0; i++)
		if (pending[i].fd < 0 || pending[i].since_ns < p->since_ns)
			p = &pending[i];
	if (p->fd >= 0)
		rendezvous_drop(p, refused);
	*p = (struct rendezvous_pending){.fd = fd, .since_ns = tw_time_ns()};
	if (getrandom(p->nonce, sizeof(p->nonce), 0) != (ssize_t)sizeof(p->nonce) ||
	    send(fd, p->nonce, sizeof(p->nonce), MSG_NOSIGNAL) != (ssize_t)sizeof(p->nonce))
		rendezvous_drop(p, refused);
}

/* Receive from @p; true when it is agent claim.rank and the launcher's proof has been sent. */
static bool rendezvous_receive(struct rendezvous_pending *p, const uint8_t *secret, unsigned nodes,
                               const int *connection, unsigned *refused)
{
	ssize_t n = recv(p->fd, (char *)&p->claim + p->have, sizeof(p->claim) - p->have, 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	p->have += n > 0 ? (size_t)n : 0;
	if (n > 0 && p->have < sizeof(p->claim))
		return false;
	uint32_t rank = p->claim.rank;
	struct rendezvous_text theirs = rendezvous_text("tweed agent", p->nonce, p->claim.nonce, rank);
	struct rendezvous_text ours = rendezvous_text("tweed launcher", p->nonce, p->claim.nonce, rank);
	uint8_t proof[TW_AUTH_PROOF_BYTES];
	if (n <= 0 || !tw_auth_holds(secret, &theirs, sizeof(theirs), p->claim.proof) || rank < 1 || rank >= nodes ||
	    connection[rank] >= 0) {
		rendezvous_drop(p, refused);
		return false;
	}
	tw_auth_prove(secret, &ours, sizeof(ours), proof);
	if (send(p->fd, proof, sizeof(proof), MSG_NOSIGNAL) != (ssize_t)sizeof(proof)) {
		rendezvous_drop(p, refused);
		return false;
	}
	return true;
}

static int rendezvous_wait(int listener, const struct rendezvous_pending pending[RENDEZVOUS_PENDING],
                           struct pollfd poller[RENDEZVOUS_PENDING + 1])
{
	poller[0] = (struct pollfd){listener, POLLIN, 0};
	for (unsigned i = 0; i < RENDEZVOUS_PENDING; i++)
		poller[1 + i] = (struct pollfd){pending[i].fd, POLLIN, 0};
	return poll(poller, RENDEZVOUS_PENDING + 1, 100);
}

int rendezvous_accept(int listener, const uint8_t secret[TW_NET_SECRET_BYTES], unsigned nodes, unsigned seconds,
                      int *connection, unsigned *refused)
{
	static struct rendezvous_pending pending[RENDEZVOUS_PENDING];
	struct pollfd poller[RENDEZVOUS_PENDING + 1];
	uint64_t end_ns = tw_time_ns() + (uint64_t)seconds * 1000000000u;
	unsigned here = 1;
	int fd;

	*refused = 0;
	for (unsigned i = 0; i < nodes; i++)
		connection[i] = -1;
	for (unsigned i = 0; i < RENDEZVOUS_PENDING; i++)
		pending[i].fd = -1;
	while (here < nodes && tw_time_ns() < end_ns) {
		if (rendezvous_wait(listener, pending, poller) < 0)
			continue;
		for (unsigned i = 0; i < RENDEZVOUS_PENDING; i++) {
			struct rendezvous_pending *p = &pending[i];
			if (p->fd >= 0 && poller[1 + i].revents &&
			    rendezvous_receive(p, secret, nodes, connection, refused)) {
				connection[p->claim.rank] = p->fd;
				p->fd = -1;
				here++;
			} else if (p->fd >= 0 && tw_time_ns() > p->since_ns + RENDEZVOUS_PROVE_NS) {
				rendezvous_drop(p, refused);
			}
		}
		while ((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0)
			rendezvous_nonce(fd, pending, refused);
	}
	for (unsigned i = 0; i < RENDEZVOUS_PENDING; i++)
		if (pending[i].fd >= 0)
			rendezvous_drop(&pending[i], refused);
	close(listener);
	for (unsigned i = 1; i < nodes; i++)
		if (connection[i] >= 0)
			setsockopt(connection[i], IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
	return here == nodes ? 0 : -ETIMEDOUT;
}

/* ---- the agent ------------------------------------------------------------------------------------------------- */

static bool rendezvous_read(int fd, void *data, size_t bytes)
{
	struct pollfd p = {fd, POLLIN, 0};

	for (char *at = data; bytes;) {
		if (poll(&p, 1, RENDEZVOUS_CONNECT_MS) == 0)
			return false;
		ssize_t n = recv(fd, at, bytes, 0);
		if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
			return false;
		at += n > 0 ? n : 0;
		bytes -= n > 0 ? (size_t)n : 0;
	}
	return true;
}

static int rendezvous_dial(const char *address, unsigned port)
{
	const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM};
	struct addrinfo *to;
	char service[8];
	int error = 0;

	snprintf(service, sizeof(service), "%u", port);
	if (getaddrinfo(address, service, &hints, &to) != 0)
		return -EINVAL;
	int fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || connect(fd, to->ai_addr, to->ai_addrlen) < 0)
		error = errno;
	freeaddrinfo(to);
	if (fd < 0)
		return -error;
	if (error == EINPROGRESS) {
		struct pollfd p = {fd, POLLOUT, 0};
		error = poll(&p, 1, RENDEZVOUS_CONNECT_MS) == 1 ? 0 : ETIMEDOUT;
		if (!error)
			getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &(socklen_t){sizeof(error)});
	}
	if (!error)
		return fd;
	close(fd);
	return -error;
}

/* Prove to each other that both hold the secret. */
static int rendezvous_introduce(int fd, const uint8_t *secret, unsigned rank)
{
	struct rendezvous_claim claim = {.rank = rank};
	uint8_t nonce[RENDEZVOUS_NONCE_BYTES], proof[TW_AUTH_PROOF_BYTES];

	if (getrandom(claim.nonce, sizeof(claim.nonce), 0) != (ssize_t)sizeof(claim.nonce) ||
	    !rendezvous_read(fd, nonce, sizeof(nonce)))
		return -ETIMEDOUT;
	struct rendezvous_text ours = rendezvous_text("tweed agent", nonce, claim.nonce, rank);
	struct rendezvous_text theirs = rendezvous_text("tweed launcher", nonce, claim.nonce, rank);
	tw_auth_prove(secret, &ours, sizeof(ours), claim.proof);
	if (send(fd, &claim, sizeof(claim), MSG_NOSIGNAL) != (ssize_t)sizeof(claim) ||
	    !rendezvous_read(fd, proof, sizeof(proof)))
		return -ETIMEDOUT;
	if (!tw_auth_holds(secret, &theirs, sizeof(theirs), proof))
		return -EACCES;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
	return 0;
}

int rendezvous_connect(const char *place, const uint8_t secret[TW_NET_SECRET_BYTES], unsigned rank)
{
	char text[RENDEZVOUS_PLACE_BYTES], *rest = NULL;
	int status = -EHOSTUNREACH;

	snprintf(text, sizeof(text), "%s", place);
	const char *word = strtok_r(text, " ", &rest);
	unsigned port = 0;
	if (!word || sscanf(word, "%u", &port) != 1 || port > UINT16_MAX)
		return -EINVAL;
	while ((word = strtok_r(NULL, " ", &rest))) {
		int fd = rendezvous_dial(word, port);
		if (fd < 0) {
			status = fd;
			continue;
		}
		status = rendezvous_introduce(fd, secret, rank);
		if (status == 0)
			return fd;
		close(fd);
	}
	return status;
}
