/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_ofi_peer.c - messages to an endpoint of the ofi transport from peers, and from strangers: only memory for puts
 * with signal changes, no message is accepted twice, and messages that were not sent are not considered acknowledged.
 *
 * Input: messages that the endpoint sends, and messages that it receives, with right and wrong proofs. */
#include <stdlib.h>
#include <string.h>

#include "net/ofi/ofi_peer.h"
#include "tests/fuzz/fuzz.h"

#define BYTES 8192u
#define AT    4096u /* puts with signal may change the second half */

static struct ofi_peers *m;
static struct tw_net net = {.config = {.nodes = 3, .ports = 2, .port = 1}, .signal_at = AT, .signal_bytes = BYTES - AT};

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	net.base = aligned_alloc(4096, BYTES);
	TW_ASSERT(net.base);
	return 0;
}

static struct ofi_head *message(struct fuzz_input *in, struct ofi_peer *peer, unsigned node, size_t *bytes)
{
	unsigned flags = fuzz_byte(in), kind = OFI_INTRODUCE + flags % 5;
	uint64_t where = fuzz_byte(in) * 64u + (flags & 64 ? 0 : AT);
	size_t body = kind == OFI_PUT_SIGNAL ? sizeof(struct ofi_signal) - sizeof(struct ofi_head) : 0;
	struct ofi_head *head;
	struct ofi_signal *signal;

	body += TW_MIN((size_t)fuzz_byte(in) * (flags & 8 ? 40 : 1), in->bytes);
	*bytes = sizeof(*head) + body;
	head = malloc(TW_MAX(*bytes, sizeof(*signal)));
	TW_ASSERT(head);
	if (kind == OFI_PUT_SIGNAL) {
		signal = (void *)head;
		*signal = (struct ofi_signal){.word = where, .value = flags, .offset = AT + flags};
		fuzz_take(in, signal + 1, *bytes - sizeof(*signal));
	} else {
		fuzz_take(in, head + 1, body);
	}
	*head = (struct ofi_head){.number = peer->received + ofi_peer_weight(*bytes) + (flags & 16 ? flags : 0),
	                          .bytes = (uint16_t)*bytes,
	                          .kind = (uint8_t)kind,
	                          .ask = (uint8_t)(peer->acked + (flags & 32 ? flags : 0)),
	                          .node = (uint16_t)(flags & 128 ? flags : node),
	                          .port = 1,
	                          .lane = peer->lane};
	struct ofi_key key = peer->its_key;
	if (kind == OFI_INTRODUCE)
		ofi_key_between(net.config.secret, &m->card, head->number, head->node, head->port, head->lane, &key);
	ofi_seal(&key, head);
	if (flags == 77)
		head->number++;
	return head;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct fuzz_input in = {data, bytes};
	static const char none[AT];
	int got = 0;

	m = ofi_peers_create(&net.config);
	TW_ASSERT(m);
	memset(net.base, 0, BYTES);
	while (in.bytes && got >= 0) {
		unsigned what = fuzz_byte(&in), node = 1 + what % 2;
		struct ofi_peer *peer = ofi_peer_of(m, &net.config, node, 1, what >> 3 & 1), old = *peer;
		size_t all;

		if (what & 4 && ofi_peer_may_send(peer, 64))
			peer->sent++;
		struct ofi_head *head = message(&in, peer, node, &all);
		got = ofi_peer_receive(m, &net, head, all);
		TW_ASSERT(peer->received >= old.received && peer->acked >= old.acked && peer->acked <= peer->sent);
		TW_ASSERT(got != OFI_PEER_SIGNALED || peer->received == head->number);
		TW_ASSERT(!old.session || peer->session == old.session);
		free(head);
	}
	TW_ASSERT(memcmp(net.base, none, AT) == 0);
	free(m);
	return 0;
}
