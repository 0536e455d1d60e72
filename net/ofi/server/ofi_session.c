/* SPDX-License-Identifier: BSD-3-Clause */
/* ofi_session.c - sessions, and the work of endpoints on the node's memory.
 *
 * Nothing here blocks.  A message for a full mailbox is deferred, at most OFI_CREDITS for each endpoint; the endpoint
 * counts them too, and sends no more until an answer says that they are placed.
 *
 * Ordering.  Work of an endpoint arrives in order and is executed in order with release fences between entries; its
 * atomics are the CPU's; a full fence precedes each answer, so what is answered is visible to all. */
#include "net/ofi/server/ofi_session.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "net/mailbox.h"
#include "net/ofi/server/ofi_memory.h"

struct ofi_sessions *ofi_sessions_create(const struct tw_net_config *config, char *base)
{
	size_t clients = (size_t)config->nodes * config->ports;
	struct ofi_sessions *n = calloc(1, sizeof(*n) + clients * sizeof(n->client[0]));

	if (n) {
		n->config = *config;
		n->base = base;
	}
	return n;
}

/* ---- answers ---- */

static struct ofi_head session_head(const struct ofi_sessions *n, const struct ofi_client *client, enum ofi_kind kind,
                                    uint64_t number, size_t bytes)
{
	return (struct ofi_head){.number = number,
	                         .bytes = (uint16_t)bytes,
	                         .kind = (uint8_t)kind,
	                         .node = (uint16_t)n->config.node,
	                         .port = (uint8_t)((unsigned)(client - n->client) % n->config.ports)};
}

/* A REPLY: all work of @client up to now is done; @results bytes of results are behind it. */
static size_t session_reply(struct ofi_sessions *n, struct ofi_client *client, struct ofi_head *answer, size_t results)
{
	struct ofi_reply *reply = (void *)answer;

	reply->head = session_head(n, client, OFI_REPLY, client->number, sizeof(*reply) + results);
	reply->placed = client->credited = client->placed;
	ofi_seal(&client->key, answer);
	return answer->bytes;
}

/* A REPLY that returns credits, if there are enough for a message. */
static size_t session_credit(struct ofi_sessions *n, struct ofi_client *client, struct ofi_head *answer)
{
	bool worth = client->placed - client->credited >= OFI_CREDITS / 2;

	return answer && worth ? session_reply(n, client, answer, 0) : 0;
}

/* ---- messages ---- */

static struct tw_mailbox *session_mailbox(struct ofi_sessions *n, unsigned port)
{
	return tw_mailbox_of(&n->config, n->base, port);
}

/* Place the deferred messages that fit, each port's in order. */
static void session_place(struct ofi_sessions *n, struct ofi_client *client)
{
	unsigned at = (unsigned)(client - n->client), left = 0;

	for (unsigned i = 0; i < client->deferred; i++) {
		struct ofi_deferred *deferred = &client->later[i];
		bool behind = false;

		for (unsigned k = 0; k < left; k++)
			behind |= client->later[k].port == deferred->port;
		if (behind || tw_mailbox_put(session_mailbox(n, deferred->port), &deferred->msg, at / n->config.ports,
		                             at % n->config.ports) < 0)
			client->later[left++] = *deferred;
		else if (deferred->session == client->session)
			client->placed++;
	}
	n->deferring -= client->deferred && !left;
	client->deferred = left;
}

size_t ofi_session_place(struct ofi_sessions *n, unsigned client, struct ofi_head *answer)
{
	if (!n->client[client].deferred)
		return 0;
	session_place(n, &n->client[client]);
	return session_credit(n, &n->client[client], answer);
}

static bool session_put(struct ofi_sessions *n, struct ofi_client *client, const struct ofi_entry *entry)
{
	const struct tw_msg *msg = (const void *)(entry + 1);
	size_t head = offsetof(struct tw_msg, body);

	if (entry->port >= n->config.ports || entry->bytes < head || entry->bytes > sizeof(*msg) ||
	    msg->len != entry->bytes - head || msg->type == 0 || client->deferred == 2 * OFI_CREDITS)
		return false;
	struct ofi_deferred *deferred = &client->later[client->deferred++];
	n->deferring += client->deferred == 1;
	deferred->session = client->session;
	deferred->port = entry->port;
	memcpy(&deferred->msg, msg, entry->bytes);
	session_place(n, client);
	return true;
}

static bool session_ring(struct ofi_sessions *n, unsigned port)
{
	if (port >= n->config.ports && port != OFI_ALL_PORTS)
		return false;
	for (unsigned i = 0; i < n->config.ports; i++)
		if (port == i || port == OFI_ALL_PORTS)
			tw_mailbox_ring(session_mailbox(n, i));
	return true;
}

/* ---- work ---- */

/* Execute one entry, as ofi_memory_do. */
static bool session_do(struct ofi_sessions *n, struct ofi_client *client, const struct ofi_entry *entry, char *out,
                       size_t *used)
{
	if (entry->op == OFI_PUT)
		return session_put(n, client, entry);
	if (entry->op == OFI_RING)
		return session_ring(n, entry->port);
	return ofi_memory_do(&n->config, n->base, entry, out, used);
}

static size_t session_work(struct ofi_sessions *n, struct ofi_client *client, const struct ofi_head *head,
                           struct ofi_head *answer)
{
	const char *at = (const char *)(head + 1), *end = (const char *)head + head->bytes;
	char *out = head->ask ? (char *)answer + sizeof(struct ofi_reply) : NULL;
	size_t used = 0;

	client->number = head->number;
	if (head->ask == OFI_AGAIN && !ofi_claim(&n->config, n->base, head->node, head->port, head->number))
		return session_credit(n, client, answer);
	while (at < end) {
		const struct ofi_entry *entry = ofi_entry_next(&at, end);

		if (!entry || !session_do(n, client, entry, out, &used)) {
			n->counts.damaged++;
			break;
		}
	}
	atomic_thread_fence(memory_order_seq_cst);
	return out ? session_reply(n, client, answer, used) : session_credit(n, client, answer);
}

/* ---- sessions ---- */

static bool session_draw(uint64_t *number)
{
	return getrandom(number, sizeof(*number), 0) == sizeof(*number);
}

static size_t session_handshake(struct ofi_sessions *n, struct ofi_client *client, const struct ofi_head *head,
                                struct ofi_head *answer)
{
	const struct ofi_handshake *handshake = (const void *)head;
	struct ofi_welcome *welcome = (void *)answer;
	size_t address = head->bytes - offsetof(struct ofi_handshake, address);

	if (head->bytes < offsetof(struct ofi_handshake, address) || address > TW_NET_ADDRESS_BYTES ||
	    !ofi_proves(n->config.secret, head, head->bytes) || handshake->server != n->config.node ||
	    head->number == client->handshake)
		return 0;
	do {
		if (!session_draw(&client->offered))
			return 0;
	} while (!client->offered || client->offered == client->session);
	client->handshake = head->number;
	client->address.len = (uint16_t)address;
	memcpy(client->address.bytes, handshake->address, address);
	ofi_key_derive(n->config.secret, client->offered, n->config.node, head->node, head->port, &client->offered_key);
	*welcome = (struct ofi_welcome){.head = session_head(n, client, OFI_WELCOME, head->number, sizeof(*welcome)),
	                                .session = client->offered,
	                                .memory = n->memory};
	ofi_prove(n->config.secret, answer);
	return sizeof(*welcome);
}

/* Is this the next work of the endpoint's session, or the first of the offered session?  Numbers may be missing of
 * batches that an endpoint executed in the server's place (net/ofi/ofi_delegate.c): then the batch before this one is
 * claimed. */
static bool session_expects(struct ofi_sessions *n, struct ofi_client *client, const struct ofi_head *head)
{
	if (client->offered && head->number == 1 && ofi_sealed(&client->offered_key, head, head->bytes)) {
		client->session = client->offered;
		client->key = client->offered_key;
		client->offered = client->number = client->placed = client->credited = 0;
		ofi_claim_none(&n->config, n->base, head->node, head->port);
		n->counts.connections++;
		return true;
	}
	return client->session && head->number > client->number &&
	       (head->number == client->number + 1 ||
	        head->number == ofi_claimed(&n->config, n->base, head->node, head->port) + 1) &&
	       ofi_sealed(&client->key, head, head->bytes);
}

void ofi_session_shut_out(struct ofi_sessions *n, unsigned client)
{
	n->deferring -= n->client[client].deferred > 0;
	n->client[client].deferred = 0;
	n->client[client].out = true;
}

size_t ofi_session_receive(struct ofi_sessions *n, const struct ofi_head *head, size_t bytes, struct ofi_head *answer)
{
	if (bytes >= sizeof(*head) && bytes == head->bytes && head->node < n->config.nodes &&
	    head->port < n->config.ports) {
		struct ofi_client *client = &n->client[ofi_session_client(n, head->node, head->port)];
		size_t welcome =
		    head->kind == OFI_HANDSHAKE && !client->out ? session_handshake(n, client, head, answer) : 0;

		if (welcome)
			return welcome;
		if (head->kind == OFI_WORK && !client->out && session_expects(n, client, head))
			return session_work(n, client, head, answer);
	}
	n->counts.refused++;
	return 0;
}
