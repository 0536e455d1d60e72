/* SPDX-License-Identifier: BSD-3-Clause */
/* ofi_server.c - the server of a node under the ofi transport: one thread in the agent's process, which executes the work of
 * endpoints on the node's memory.
 *
 * It waits for nobody.  A message for a full mailbox is kept, at most OFI_CREDITS for each endpoint, which counts
 * along and sends no more until it has been told that they are placed.
 *
 * Ordering.  Work of an endpoint arrives in order (FI_ORDER_SAS) and is executed in order with release fences between entries;
 * its atomics are the CPU's; a full fence precedes each answer, so what is answered is visible to all. */
#include "net/ofi.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "net/mailbox.h"
#include "net/map.h"
#include "net/words.h"

#define SERVER_RECEIVES 64u
#define SERVER_SENDS    32u
#define SERVER_RETRY_NS 100000u     /* between two looks at full mailboxes */
#define SERVER_SEND_NS  1000000000u /* how long an answer may find no way to its endpoint */

struct server_kept {
	uint64_t session;
	uint16_t port;
	struct tw_msg msg;
};

struct server_client {
	bool known; /* to, address */
	fi_addr_t to;
	struct tw_net_address address;
	uint64_t hello;   /* its own number of the last HELLO: none is taken twice */
	uint64_t offered; /* session that its first work begins; 0: none */
	uint64_t session, number, placed;
	uint64_t told; /* of placed */
	unsigned keeps;
	struct server_kept kept[2 * OFI_CREDITS]; /* of this session, and of the one before it */
};

struct tw_net_server {
	struct tw_net_config config;
	struct ofi_port port;
	char *base;
	struct ofi_welcome welcome;
	_Atomic bool stopping;
	int stop; /* eventfd, to be woken by */
	pthread_t thread;
	struct tw_net_counts counts;
	struct ofi_buffer **backlog; /* [port.receives] received, not yet looked at */
	unsigned backlogs;
	unsigned keepers; /* clients with kept messages */
	struct server_client client[];
};

static struct server_client *server_client(struct tw_net_server *s, const struct ofi_head *head)
{
	return &s->client[head->node * s->config.ports + head->port];
}

/* ---- answers ---- */

static void server_event(struct tw_net_server *s)
{
	struct ofi_buffer *buffer;
	ssize_t bytes;

	if (ofi_poll(&s->port, &buffer, &bytes) == OFI_RECEIVED) {
		buffer->head->bytes = buffer->head->bytes == (size_t)bytes ? (uint32_t)bytes : 0;
		s->backlog[s->backlogs++] = buffer;
	}
	/* What could not be sent was for an endpoint that is gone. */
}

/* Fill in the head of an answer with @results bytes behind it, and send it. */
static void server_answer(struct tw_net_server *s, const struct server_client *client, const struct ofi_head *asked,
                          enum ofi_kind kind, struct ofi_buffer *buffer, size_t results)
{
	struct ofi_head *head = buffer->head;
	uint64_t until = tw_time_ns() + SERVER_SEND_NS;
	ssize_t error;

	*head = (struct ofi_head){.bytes = (uint32_t)(sizeof(*head) + results),
	                          .kind = (uint8_t)kind,
	                          .server = (uint16_t)s->config.node,
	                          .node = asked->node,
	                          .port = asked->port,
	                          .session = kind == OFI_WELCOME ? client->offered : client->session,
	                          .number = kind == OFI_WELCOME ? client->hello : client->number,
	                          .placed = client->placed};
	ofi_seal(s->config.secret, head);
	while ((error = ofi_send(&s->port, client->to, buffer)) == -FI_EAGAIN && tw_time_ns() < until)
		server_event(s);
	if (error)
		ofi_again(&s->port, buffer);
}

/* ---- messages ---- */

static struct tw_mailbox *server_mailbox(struct tw_net_server *s, unsigned port)
{
	return tw_mailbox_of(&s->config, s->base, port);
}

/* Place what fits of the kept messages, each port's in order. */
static void server_place(struct tw_net_server *s, struct server_client *client)
{
	unsigned at = (unsigned)(client - s->client), left = 0;

	for (unsigned i = 0; i < client->keeps; i++) {
		struct server_kept *kept = &client->kept[i];
		bool behind = false;

		for (unsigned k = 0; k < left; k++)
			behind |= client->kept[k].port == kept->port;
		if (behind || tw_mailbox_put(server_mailbox(s, kept->port), &kept->msg, at / s->config.ports,
		                             at % s->config.ports) < 0)
			client->kept[left++] = *kept;
		else if (kept->session == client->session)
			client->placed++;
	}
	s->keepers -= client->keeps && !left;
	client->keeps = left;
}

/* Tell an endpoint that it may send again, when that is worth a message. */
static void server_credit(struct tw_net_server *s, struct server_client *client, const struct ofi_head *to)
{
	if (client->placed - client->told < OFI_CREDITS / 2 || !s->port.sends.count)
		return;
	client->told = client->placed;
	server_answer(s, client, to, OFI_REPLY, ofi_take(&s->port.sends), 0);
}

static void server_place_all(struct tw_net_server *s)
{
	for (unsigned i = 0; i < s->config.nodes * s->config.ports && s->keepers; i++) {
		struct ofi_head to = {.node = (uint16_t)(i / s->config.ports), .port = (uint16_t)(i % s->config.ports)};

		if (!s->client[i].keeps)
			continue;
		server_place(s, &s->client[i]);
		server_credit(s, &s->client[i], &to);
	}
}

static bool server_put(struct tw_net_server *s, struct server_client *client, const struct ofi_entry *entry)
{
	const struct tw_msg *msg = (const void *)(entry + 1);
	size_t head = offsetof(struct tw_msg, body);

	if (entry->port >= s->config.ports || entry->bytes < head || entry->bytes > sizeof(*msg) ||
	    msg->len != entry->bytes - head || msg->type == 0 || client->keeps == 2 * OFI_CREDITS)
		return false;
	struct server_kept *kept = &client->kept[client->keeps++];
	s->keepers += client->keeps == 1;
	kept->session = client->session;
	kept->port = entry->port;
	memcpy(&kept->msg, msg, entry->bytes);
	server_place(s, client);
	return true;
}

static bool server_ring(struct tw_net_server *s, unsigned port)
{
	if (port >= s->config.ports && port != OFI_ALL_PORTS)
		return false;
	for (unsigned i = 0; i < s->config.ports; i++)
		if (port == i || port == OFI_ALL_PORTS)
			tw_mailbox_ring(server_mailbox(s, i));
	return true;
}

/* ---- work ---- */

static void server_copy_in(char *to, const char *from, size_t bytes)
{
	if (bytes <= WORDS_MOST)
		tw_words_store(to, from, bytes);
	else
		memcpy(to, from, bytes);
	atomic_thread_fence(memory_order_release);
}

static void server_copy_out(char *to, const char *from, size_t bytes)
{
	if (bytes <= WORDS_MOST)
		tw_words_load(to, from, bytes);
	else
		memcpy(to, from, bytes);
}

static uint64_t server_atomic(struct tw_net_server *s, const struct ofi_entry *entry)
{
	_Atomic uint64_t *word = (_Atomic uint64_t *)(void *)(s->base + entry->offset);
	const uint64_t *value = (const void *)(entry + 1);
	uint64_t expect = value[0];

	if (entry->op == OFI_FADD)
		return atomic_fetch_add(word, value[0]);
	if (entry->op == OFI_SWAP)
		return atomic_exchange(word, value[0]);
	atomic_compare_exchange_strong(word, &expect, value[1]);
	return expect;
}

static bool server_in_memory(const struct tw_net_server *s, uint64_t offset, uint64_t bytes)
{
	return bytes <= s->config.bytes && offset <= s->config.bytes - bytes;
}

/* Execute one entry; results go to @out, of which @*used bytes are.  False: it makes no sense. */
static bool server_do(struct tw_net_server *s, struct server_client *client, const struct ofi_entry *entry, char *out,
                      size_t *used)
{
	switch (entry->op) {
	case OFI_WRITE:
		if (!server_in_memory(s, entry->offset, entry->bytes))
			return false;
		server_copy_in(s->base + entry->offset, (const char *)(entry + 1), entry->bytes);
		return true;
	case OFI_READ:
		if (!out || !server_in_memory(s, entry->offset, entry->bytes) || entry->bytes > OFI_ROOM - *used)
			return false;
		server_copy_out(out + *used, s->base + entry->offset, entry->bytes);
		*used += entry->bytes;
		return true;
	case OFI_CAS:
	case OFI_FADD:
	case OFI_SWAP:
		if (!out || entry->offset % 8 || entry->bytes != (entry->op == OFI_CAS ? 16 : 8) ||
		    !server_in_memory(s, entry->offset, 8) || OFI_ROOM - *used < 8)
			return false;
		memcpy(out + *used, &(uint64_t){server_atomic(s, entry)}, 8);
		*used += 8;
		return true;
	case OFI_PUT:
		return server_put(s, client, entry);
	case OFI_RING:
		return server_ring(s, entry->port);
	default:
		return false;
	}
}

static void server_work(struct tw_net_server *s, struct server_client *client, const struct ofi_head *head)
{
	struct ofi_buffer *answer = head->ask ? ofi_take(&s->port.sends) : NULL;
	const char *at = (const char *)(head + 1), *end = (const char *)head + head->bytes;
	size_t used = 0;

	client->number = head->number;
	while (at < end) {
		const struct ofi_entry *entry = (const void *)at;

		if ((size_t)(end - at) < sizeof(*entry) ||
		    (size_t)(end - at) < ofi_entry_bytes(entry->op, entry->bytes) ||
		    !server_do(s, client, entry, answer ? (char *)(answer->head + 1) : NULL, &used)) {
			s->counts.damaged++;
			break;
		}
		at += ofi_entry_bytes(entry->op, entry->bytes);
	}
	atomic_thread_fence(memory_order_seq_cst);
	if (!answer) {
		server_credit(s, client, head);
		return;
	}
	client->told = client->placed;
	server_answer(s, client, head, OFI_REPLY, answer, used);
}

/* ---- sessions ---- */

static bool server_know(struct tw_net_server *s, struct server_client *client, const struct ofi_head *head)
{
	struct tw_net_address address = {.len = (uint16_t)(head->bytes - sizeof(*head))};

	memcpy(address.bytes, head + 1, address.len);
	if (client->known && client->address.len == address.len &&
	    memcmp(client->address.bytes, address.bytes, address.len) == 0)
		return true;
	if (client->known)
		fi_av_remove(s->port.av, &client->to, 1, 0);
	client->known = ofi_port_peer(&s->port, &address, &client->to) == 0;
	client->address = address;
	return client->known;
}

static bool server_hello(struct tw_net_server *s, struct server_client *client, const struct ofi_head *head)
{
	if (head->bytes > sizeof(*head) + TW_NET_ADDRESS_BYTES || head->session == client->hello ||
	    !server_know(s, client, head))
		return false;
	client->hello = head->session;
	do {
		if (getrandom(&client->offered, sizeof(client->offered), 0) != sizeof(client->offered))
			return false;
	} while (!client->offered || client->offered == client->session);
	struct ofi_buffer *answer = ofi_take(&s->port.sends);
	memcpy(answer->head + 1, &s->welcome, sizeof(s->welcome));
	server_answer(s, client, head, OFI_WELCOME, answer, sizeof(s->welcome));
	return true;
}

/* Is this the next work of the endpoint's session, or the first of the one that it was offered? */
static bool server_expects(struct tw_net_server *s, struct server_client *client, const struct ofi_head *head)
{
	if (client->offered && head->session == client->offered && head->number == 1) {
		client->session = client->offered;
		client->offered = 0;
		client->number = client->placed = client->told = 0;
		s->counts.connections++;
	}
	return client->session && head->session == client->session && head->number == client->number + 1;
}

static void server_message(struct tw_net_server *s, const struct ofi_head *head)
{
	if (!ofi_sealed(s->config.secret, head, head->bytes) || head->server != s->config.node ||
	    head->node >= s->config.nodes || head->port >= s->config.ports) {
		s->counts.refused++;
		return;
	}
	struct server_client *client = server_client(s, head);
	if (head->kind == OFI_WORK && server_expects(s, client, head))
		server_work(s, client, head);
	else if (head->kind != OFI_HELLO || !server_hello(s, client, head))
		s->counts.refused++;
}

/* ---- the thread ---- */

static void *server_run(void *arg)
{
	struct tw_net_server *s = arg;

	while (!atomic_load(&s->stopping)) {
		server_event(s);
		if (!s->backlogs || !s->port.sends.count) {
			if (s->keepers)
				server_place_all(s);
			ofi_sleep(&s->port, s->stop, s->keepers ? SERVER_RETRY_NS : 0);
			continue;
		}
		while (s->backlogs && s->port.sends.count) {
			struct ofi_buffer *buffer = s->backlog[0];

			memmove(s->backlog, s->backlog + 1, --s->backlogs * sizeof(struct ofi_buffer *));
			server_message(s, buffer->head);
			ofi_again(&s->port, buffer);
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
	free(s);
}

static int server_start(struct tw_net_server *s)
{
	sigset_t all, old;
	int error;

	s->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	s->backlog = calloc(SERVER_RECEIVES, sizeof(struct ofi_buffer *));
	if (s->stop < 0 || !s->backlog) {
		tw_log("transport ofi: out of memory or descriptors");
		return -ENOMEM;
	}
	if ((error = tw_net_map(&s->config, s->config.node, &s->base)) ||
	    (error = ofi_port_open(&s->port, &s->config, SERVER_SENDS, SERVER_RECEIVES, 0)))
		return error;
	ofi_port_export(&s->port, s->base, s->config.bytes, &s->welcome);
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
	struct tw_net_server *s = calloc(1, sizeof(*s) + clients * sizeof(s->client[0]));

	if (!s) {
		tw_log("transport ofi: out of memory");
		return -ENOMEM;
	}
	s->config = *config;
	int error = server_start(s);
	if (error) {
		server_free(s);
		return error;
	}
	*own = s->port.address;
	*server = s;
	return 0;
}

void ofi_serve_end(struct tw_net_server *s, struct tw_net_counts *counts)
{
	atomic_store(&s->stopping, true);
	if (write(s->stop, &(uint64_t){1}, sizeof(uint64_t)) != sizeof(uint64_t))
		tw_log("transport ofi: the server cannot be told to end");
	pthread_join(s->thread, NULL);
	if (counts)
		*counts = s->counts;
	server_free(s);
}
