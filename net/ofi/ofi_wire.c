/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/ofi/ofi_wire.h"

#include <string.h>

_Static_assert(sizeof(struct ofi_head) == 32, "no padding, which the proof would not cover");
_Static_assert(sizeof(struct ofi_signal) + 8 == 64, "a word with 8 bytes of data is sent at once");
_Static_assert(sizeof(struct ofi_delegated) == sizeof(struct ofi_reply), "it has as much room for results");
_Static_assert(sizeof(struct ofi_introduction) <= 256, "a first message (net/ofi/port/ofi_port.h)");
_Static_assert(sizeof(struct ofi_card) == TW_AUTH_PROOF_BYTES + 24 + sizeof(struct tw_net_address), "no padding here");
_Static_assert(sizeof(struct ofi_head) + sizeof(struct ofi_entry) + 16 == 64, "one entry is sent at once");

void ofi_key_derive(const uint8_t secret[TW_NET_SECRET_BYTES], uint64_t session, unsigned server, unsigned node,
                    unsigned port, struct ofi_key *key)
{
	struct {
		char purpose[16];
		uint64_t session, server, node, port;
	} text = {"tweed ofi key", session, server, node, port};

	tw_auth_prove(secret, &text, sizeof(text), key->bytes);
}

void ofi_key_between(const uint8_t secret[TW_NET_SECRET_BYTES], const struct ofi_card *card, uint64_t own,
                     unsigned node, unsigned port, unsigned lane, struct ofi_key *key)
{
	struct {
		char purpose[16];
		uint64_t session, to_node, to_port, own, node, port, lane;
	} text = {"tweed ofi peer", card->session, card->node, card->port, own, node, port, lane};

	tw_auth_prove(secret, &text, sizeof(text), key->bytes);
}

/* Bytes behind the proof that a seal covers. */
static size_t ofi_covered(const struct ofi_head *head)
{
	size_t all = head->kind == OFI_REPLY                                          ? sizeof(struct ofi_reply)
	             : head->kind == OFI_INTRODUCE                                    ? sizeof(struct ofi_introduction)
	             : head->kind == OFI_PUT_SIGNAL                                   ? sizeof(struct ofi_signal)
	             : head->kind == OFI_DELEGATE || head->kind == OFI_DELEGATE_REPLY ? sizeof(struct ofi_delegated)
	                                                                              : sizeof(*head);

	return all - sizeof(head->proof);
}

void ofi_seal(const struct ofi_key *key, struct ofi_head *head)
{
	tw_auth_tag(key->bytes, &head->number, ofi_covered(head), head->proof);
}

bool ofi_sealed(const struct ofi_key *key, const struct ofi_head *head, size_t bytes)
{
	return bytes >= sizeof(*head) && head->bytes == bytes && bytes >= sizeof(head->proof) + ofi_covered(head) &&
	       tw_auth_tagged(key->bytes, &head->number, ofi_covered(head), head->proof);
}

void ofi_prove(const uint8_t secret[TW_NET_SECRET_BYTES], struct ofi_head *head)
{
	tw_auth_prove(secret, &head->number, head->bytes - sizeof(head->proof), head->proof);
}

bool ofi_proves(const uint8_t secret[TW_NET_SECRET_BYTES], const struct ofi_head *head, size_t bytes)
{
	return bytes >= sizeof(*head) && head->bytes == bytes &&
	       tw_auth_holds(secret, &head->number, bytes - sizeof(head->proof), head->proof);
}

void ofi_card_prove(const uint8_t secret[TW_NET_SECRET_BYTES], struct ofi_card *card)
{
	tw_auth_prove(secret, &card->session, sizeof(*card) - sizeof(card->proof), card->proof);
}

bool ofi_card_proves(const uint8_t secret[TW_NET_SECRET_BYTES], const struct ofi_card *card)
{
	return tw_auth_holds(secret, &card->session, sizeof(*card) - sizeof(card->proof), card->proof);
}
