/* SPDX-License-Identifier: BSD-3-Clause */
/* ofi_server.c - the server of a node under the ofi transport: one thread in the agent's process, between libfabric
 * and the sessions (net/ofi/server/ofi_session.h).  It never blocks on a client. */
#include "net/ofi/port/ofi_port.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "net/map.h"
#include "net/ofi/server/ofi_session.h"

#define SERVER_RECEIVES 64u
#define SERVER_SENDS    32u
#define SERVER_RETRY_NS 100000u     /* between two tries of full mailboxes */
#define SERVER_SEND_NS  1000000000u /* for so long the provider may refuse an answer; then it is dropped */

/* The connection to an endpoint. */
struct server_route {
	bool known;
	fi_addr_t to;
};

struct tw_net_server {
	struct tw_net_config config;
	struct ofi_port port;
	struct ofi_sessions *node;
	char *base;
	_Atomic bool stopping;
	_Atomic uint32_t leaving; /* a client that is to be shut out, + 1; 0: none */
	int stop;                 /* eventfd that wakes the thread */
	struct ofi_spin spin;
	uint64_t idle; /* time since when; 0: it is not */
	pthread_t thread;
	struct ofi_buffer **backlog; /* received, not yet handled */
	unsigned backlogs;
	struct server_route route[]; /* [clients] */
};

/* The connection to an endpoint is broken. */
static void server_lose(struct tw_net_server *s, fi_addr_t to)
{
	for (unsigned i = 0; i < s->config.nodes * s->config.ports; i++)
		if (s->route[i].known && s->route[i].to == to)
			s->route[i].known = false;
	ofi_port_forget(&s->port, to);
}

/* One event of the port; false when there is none. */
static bool server_event(struct tw_net_server *s)
{
	struct ofi_buffer *buffer;
	ssize_t failure;
	enum ofi_event event = ofi_poll(&s->port, &buffer, &failure);

	if (event == OFI_RECEIVED)
		s->backlog[s->backlogs++] = buffer;
	if (event == OFI_BROKEN)
		server_lose(s, (fi_addr_t)failure);
	/* OFI_FAILED: an answer to an endpoint that is gone. */
	return event != OFI_NOTHING;
}

/* Find the route back to @client, whose first message is @first; false: there is none. */
static bool server_find(struct tw_net_server *s, unsigned client, struct ofi_buffer *first)
{
	struct server_route *route = &s->route[client];

	if (route->known)
		ofi_port_forget(&s->port, route->to);
	route->known = ofi_port_back(&s->port, first, &s->node->client[client].address, &route->to) == 0;
	return route->known;
}

/* Send an answer of @bytes to @client; 0 bytes: the buffer is idle again. */
static void server_answer(struct tw_net_server *s, unsigned client, struct ofi_buffer *buffer, size_t bytes)
{
	uint64_t until = tw_time_ns() + SERVER_SEND_NS;
	ssize_t error = -FI_EINVAL;

	if (bytes && s->route[client].known)
		while ((error = ofi_send(&s->port, s->route[client].to, buffer, true)) == -FI_EAGAIN &&
		       tw_time_ns() < until)
			server_event(s);
	if (error)
		ofi_again(&s->port, buffer);
}

static void server_message(struct tw_net_server *s, struct ofi_buffer *message)
{
	const struct ofi_head *head = message->head;
	struct ofi_buffer *answer = ofi_take(&s->port.sends);
	size_t bytes = ofi_session_receive(s->node, head, message->bytes, answer->head);
	unsigned client = bytes ? ofi_session_client(s->node, head->node, head->port) : 0;

	if (bytes && head->kind == OFI_HANDSHAKE && !server_find(s, client, message)) {
		s->node->counts.refused++;
		bytes = 0;
	}
	server_answer(s, client, answer, bytes);
}

/* Try again to place messages that mailboxes had no room for. */
static void server_place(struct tw_net_server *s)
{
	for (unsigned i = 0; i < s->config.nodes * s->config.ports && s->node->deferring; i++) {
		struct ofi_buffer *answer = ofi_take(&s->port.sends);
		size_t bytes = ofi_session_place(s->node, i, answer ? answer->head : NULL);

		if (answer)
			server_answer(s, i, answer, bytes);
	}
}

/* ---- the thread ---- */

/* There was no event: spin, or sleep. */
static void server_relax(struct tw_net_server *s)
{
	uint64_t now = s->spin.most_ns ? tw_time_ns() : 0;

	if (!s->idle)
		s->idle = now;
	if (ofi_spin_on(&s->spin, s->idle, now)) {
		ofi_spin_yield(&s->spin, now);
		return;
	}
	if (s->node->deferring)
		server_place(s);
	now = tw_time_ns();
	if (ofi_sleep(&s->port, s->stop, s->node->deferring ? SERVER_RETRY_NS : 0)) {
		ofi_spin_end(&s->spin, tw_time_ns() - now); /* the provider's own work for others is no event */
		s->idle = 0;
	}
}

/* An event came, after an idle time perhaps. */
static void server_woke(struct tw_net_server *s)
{
	if (s->idle)
		ofi_spin_end(&s->spin, tw_time_ns() - s->idle);
	s->idle = 0;
}

static void server_shut_out(struct tw_net_server *s, unsigned client)
{
	uint64_t woken;

	ofi_session_shut_out(s->node, client);
	if (read(s->stop, &woken, sizeof(woken)) < 0) /* the request's wake-up; the end writes its own */
		s->idle = 0;
	atomic_store(&s->leaving, 0);
	tw_futex_wake(&s->leaving, 1);
}

static void *server_run(void *arg)
{
	struct tw_net_server *s = arg;

	while (!atomic_load(&s->stopping)) {
		unsigned leaving = atomic_load(&s->leaving);

		if (leaving)
			server_shut_out(s, leaving - 1);
		if (server_event(s))
			server_woke(s);
		else if (!s->backlogs || !s->port.sends.count)
			server_relax(s);
		while (s->backlogs && s->port.sends.count) {
			struct ofi_buffer *message = s->backlog[0];

			memmove(s->backlog, s->backlog + 1, --s->backlogs * sizeof(struct ofi_buffer *));
			server_message(s, message);
			ofi_again(&s->port, message);
		}
	}
	return NULL;
}

static void server_free(struct tw_net_server *s)
{
	ofi_port_close(&s->port);
	if (s->base)
		munmap(s->base, s->config.bytes);
	if (s->stop >= 0)
		close(s->stop);
	free(s->backlog);
	free(s->node);
	free(s);
}

static int server_start(struct tw_net_server *s)
{
	sigset_t all, old;
	int error;

	s->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	s->backlog = calloc(SERVER_RECEIVES + OFI_FIRSTS_AT_ONCE, sizeof(struct ofi_buffer *));
	if (s->stop < 0 || !s->backlog) {
		tw_log("transport ofi: out of memory or descriptors");
		return -ENOMEM;
	}
	if ((error = tw_net_map(&s->config, s->config.node, &s->base)) ||
	    (error = ofi_port_open(&s->port, &s->config, SERVER_SENDS, 0, SERVER_RECEIVES, 0,
	                           s->config.nodes * s->config.ports)))
		return error;
	s->node = ofi_sessions_create(&s->config, s->base);
	if (!s->node) {
		tw_log("transport ofi: out of memory");
		return -ENOMEM;
	}
	if (!s->config.survive) /* the end of the provider's own writes is not known, but shut_out must be exact */
		ofi_port_export(&s->port, s->base, s->config.bytes, &s->node->memory);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	error = pthread_create(&s->thread, NULL, server_run, s);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (error)
		tw_log("transport ofi: cannot start the server's thread: %s", strerror(error));
	return -error;
}

int ofi_serve(const struct tw_net_config *config, struct tw_net_server **server, struct tw_net_address *own)
{
	size_t clients = (size_t)config->nodes * config->ports;
	struct tw_net_server *s = calloc(1, sizeof(*s) + clients * sizeof(s->route[0]));

	if (!s) {
		tw_log("transport ofi: out of memory");
		return -ENOMEM;
	}
	s->config = *config;
	s->port.fds = OFI_NO_FDS;
	s->spin = ofi_spin_new(config->spin_ns);
	int error = server_start(s);
	if (error) {
		server_free(s);
		return error;
	}
	*own = s->port.address;
	*server = s;
	return 0;
}

static void server_ring(struct tw_net_server *s)
{
	if (write(s->stop, &(uint64_t){1}, sizeof(uint64_t)) != sizeof(uint64_t))
		tw_log("transport ofi: the server's thread cannot be woken");
}

void ofi_shut_out(struct tw_net_server *s, unsigned node, unsigned port)
{
	uint32_t leaving = ofi_session_client(s->node, node, port) + 1;

	atomic_store(&s->leaving, leaving);
	server_ring(s);
	while (atomic_load(&s->leaving))
		tw_futex_wait(&s->leaving, leaving, 0);
}

void ofi_serve_end(struct tw_net_server *s, struct tw_net_counts *counts)
{
	atomic_store(&s->stopping, true);
	server_ring(s);
	pthread_join(s->thread, NULL);
	if (counts)
		*counts = s->node->counts;
	server_free(s);
}
