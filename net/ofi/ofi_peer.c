/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/ofi/ofi_peer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "core/base/word_copy.h"

struct ofi_peers *ofi_peers_create(const struct tw_net_config *config)
{
	unsigned peers = config->nodes * config->ports * OFI_LANES;
	struct ofi_peers *m = calloc(1, sizeof(*m) + peers * sizeof(m->peer[0]));

	if (!m)
		return NULL;
	m->peers = peers;
	for (unsigned i = 0; i < peers; i++) {
		m->peer[i].node = (uint16_t)(i / OFI_LANES / config->ports);
		m->peer[i].port = (uint8_t)(i / OFI_LANES % config->ports);
		m->peer[i].lane = i % OFI_LANES;
	}
	m->card.node = config->node;
	m->card.port = config->port;
	if (getrandom(&m->card.session, sizeof(m->card.session), 0) != sizeof(m->card.session)) {
		free(m);
		return NULL;
	}
	return m;
}

bool ofi_peer_know(struct ofi_peers *m, const struct tw_net_config *config, struct ofi_peer *peer,
                   const struct ofi_card *card)
{
	if (card->node != peer->node || card->port != peer->port || card->address.len > TW_NET_ADDRESS_BYTES ||
	    !ofi_card_proves(config->secret, card))
		return false;
	ofi_key_between(config->secret, card, m->card.session, config->node, config->port, peer->lane, &peer->key);
	return true;
}

void ofi_peer_know_back(struct ofi_peers *m, const struct tw_net_config *config, struct ofi_peer *peer)
{
	struct ofi_card card = {.session = peer->session, .node = peer->node, .port = peer->port};

	ofi_key_between(config->secret, &card, m->card.session, config->node, config->port, peer->lane, &peer->key);
}

/* ---- sending ---- */

void ofi_peer_head(const struct ofi_peers *m, const struct ofi_peer *peer, const struct tw_net_config *config,
                   enum ofi_kind kind, struct ofi_head *head)
{
	bool introduces = kind == OFI_INTRODUCE;

	*head = (struct ofi_head){.number = introduces ? m->card.session : peer->sent + ofi_peer_weight(head->bytes),
	                          .bytes = head->bytes,
	                          .kind = (uint8_t)kind,
	                          .ask = (uint8_t)peer->received,
	                          .node = (uint16_t)config->node,
	                          .port = (uint8_t)config->port,
	                          .lane = peer->lane};
	ofi_seal(&peer->key, head);
}

void ofi_peer_sent(struct ofi_peers *m, struct ofi_peer *peer, const struct ofi_head *head)
{
	if (head->kind != OFI_INTRODUCE)
		peer->sent = head->number;
	m->unacked -= ofi_peer_unacked(peer);
	peer->acked_back = peer->received;
}

/* ---- receiving ---- */

/* Only the first introduction is accepted: an endpoint opens once. */
static int peer_handshake(const struct ofi_peers *m, struct ofi_peer *peer, const struct tw_net_config *config,
                          const struct ofi_head *head, size_t bytes)
{
	struct ofi_key key;

	ofi_key_between(config->secret, &m->card, head->number, head->node, head->port, head->lane, &key);
	if (peer->session || !head->number || !ofi_sealed(&key, head, bytes))
		return 0;
	peer->session = head->number;
	peer->its_key = key;
	peer->memory = ((const struct ofi_introduction *)head)->memory;
	return OFI_PEER_CONNECTED;
}

/* Is [offset, offset + bytes) memory that a put with signal to this endpoint may change? */
static bool peer_memory(const struct tw_net *net, uint64_t offset, uint64_t bytes)
{
	return offset >= net->signal_at && bytes <= net->signal_bytes &&
	       offset - net->signal_at <= net->signal_bytes - bytes;
}

static int peer_signal(const struct tw_net *net, const struct ofi_signal *signal, size_t bytes)
{
	const char *data = (const char *)(signal + 1);

	if ((bytes && !peer_memory(net, signal->offset, bytes)) || signal->word % 8 ||
	    !peer_memory(net, signal->word, 8))
		return -EPROTO;
	tw_words_store(net->base + signal->offset, data, bytes);
	atomic_store((_Atomic uint64_t *)(void *)(net->base + signal->word), signal->value);
	return OFI_PEER_SIGNALED;
}

int ofi_peer_receive(struct ofi_peers *m, const struct tw_net *net, const struct ofi_head *head, size_t bytes)
{
	const struct tw_net_config *config = &net->config;

	if (bytes < sizeof(*head) || head->node >= config->nodes || head->node == config->node ||
	    head->port >= config->ports || head->lane >= OFI_LANES)
		return 0;
	struct ofi_peer *peer = ofi_peer_of(m, config, head->node, head->port, head->lane);
	if (head->kind == OFI_INTRODUCE)
		return peer_handshake(m, peer, config, head, bytes);
	if (!peer->session || !ofi_sealed(&peer->its_key, head, bytes) || head->number <= peer->received)
		return 0;
	uint8_t acked = (uint8_t)(head->ask - peer->acked);
	if (head->number != peer->received + ofi_peer_weight(bytes) || acked > peer->sent - peer->acked)
		return -EPROTO;
	m->unacked -= ofi_peer_unacked(peer);
	peer->received = head->number;
	m->unacked += ofi_peer_unacked(peer);
	peer->acked += acked;
	if (head->kind == OFI_PUT_SIGNAL)
		return peer_signal(net, (const void *)head, bytes - sizeof(struct ofi_signal));
	if (head->kind == OFI_DELEGATE || head->kind == OFI_DELEGATE_REPLY)
		return head->kind == OFI_DELEGATE ? OFI_PEER_DELEGATED : OFI_PEER_REPLIED;
	peer->asleep |= head->kind == OFI_ASLEEP;
	peer->left |= head->kind == OFI_LEAVES;
	return head->kind == OFI_ACK ? OFI_PEER_ACKED : OFI_PEER_INACTIVE;
}
