/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/ofi_peer.h"

#include <errno.h>
#include <string.h>

#include "base/words.h"

/* Results that end at @end go where reads want them. */
static int peer_results(struct ofi_peer *peer, const char *result, const char *end)
{
	while (result < end) {
		struct ofi_read *read = &peer->read[peer->first];

		if (!peer->reads || read->bytes > (size_t)(end - result))
			return -EPROTO;
		tw_words_store(read->to, result, read->stored);
		result += read->bytes;
		peer->first = (peer->first + 1) % OFI_READS;
		peer->reads--;
	}
	return 0;
}

static int peer_reply(struct ofi_peer *peer, const struct ofi_reply *reply, size_t bytes)
{
	uint64_t number = reply->head.number;

	if (!peer->session || !ofi_sealed(&peer->key, &reply->head, bytes) || number < peer->answered ||
	    number > peer->sent || reply->placed < peer->placed || reply->placed > peer->puts ||
	    (number == peer->answered && bytes > sizeof(*reply)))
		return 0; /* heard before */
	int error = peer_results(peer, (const char *)(reply + 1), (const char *)reply + bytes);
	if (error)
		return error;
	peer->answered = number;
	peer->placed = reply->placed;
	return 0;
}

int ofi_peer_given(struct ofi_peer *peer, const struct ofi_ask *give)
{
	if (give->batch <= peer->answered || give->batch > peer->asked)
		return -EPROTO;
	int error = peer_results(peer, (const char *)(give + 1), (const char *)give + give->head.bytes);
	if (!error)
		peer->answered = give->batch;
	return error;
}

static void peer_welcome(struct ofi_peer *peer, const struct tw_net_config *config, const struct ofi_welcome *welcome,
                         size_t bytes)
{
	if (peer->session || bytes != sizeof(*welcome) || welcome->head.number != peer->hello || !welcome->session ||
	    !ofi_proves(config->secret, &welcome->head, bytes))
		return;
	peer->session = welcome->session;
	peer->memory = welcome->memory;
	ofi_key_derive(config->secret, peer->session, welcome->head.node, config->node, config->port, &peer->key);
}

int ofi_peer_take(struct ofi_peer *peer, const struct tw_net_config *config, const struct ofi_head *head, size_t bytes)
{
	if (bytes < sizeof(*head) || head->node >= config->nodes || head->node == config->node ||
	    head->port != config->port || tw_net_lost(config, head->node))
		return 0;
	peer += head->node;
	if (head->kind == OFI_REPLY)
		return peer_reply(peer, (const void *)head, bytes);
	if (head->kind == OFI_WELCOME)
		peer_welcome(peer, config, (const void *)head, bytes);
	return 0;
}
