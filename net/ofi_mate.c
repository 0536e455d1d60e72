/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/ofi_mate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/words.h"

struct ofi_mates *ofi_mates_create(const struct tw_net_config *config)
{
	unsigned mates = config->nodes * config->ports * OFI_LANES;
	struct ofi_mates *m = calloc(1, sizeof(*m) + mates * sizeof(m->mate[0]));

	if (!m)
		return NULL;
	m->mates = mates;
	for (unsigned i = 0; i < mates; i++) {
		m->mate[i].node = (uint16_t)(i / OFI_LANES / config->ports);
		m->mate[i].port = (uint8_t)(i / OFI_LANES % config->ports);
		m->mate[i].lane = i % OFI_LANES;
	}
	m->card.node = config->node;
	m->card.port = config->port;
	if (getrandom(&m->card.session, sizeof(m->card.session), 0) != sizeof(m->card.session)) {
		free(m);
		return NULL;
	}
	return m;
}

bool ofi_mate_know(struct ofi_mates *m, const struct tw_net_config *config, struct ofi_mate *mate,
                   const struct ofi_card *card)
{
	if (card->node != mate->node || card->port != mate->port || card->address.len > TW_NET_ADDRESS_BYTES ||
	    !ofi_card_proves(config->secret, card))
		return false;
	ofi_key_between(config->secret, card, m->card.session, config->node, config->port, mate->lane, &mate->key);
	return true;
}

void ofi_mate_meet(struct ofi_mates *m, const struct tw_net_config *config, struct ofi_mate *mate)
{
	struct ofi_card card = {.session = mate->session, .node = mate->node, .port = mate->port};

	ofi_key_between(config->secret, &card, m->card.session, config->node, config->port, mate->lane, &mate->key);
}

/* ---- telling ---- */

void ofi_mate_head(const struct ofi_mates *m, const struct ofi_mate *mate, const struct tw_net_config *config,
                   enum ofi_kind kind, struct ofi_head *head)
{
	bool greets = kind == OFI_GREET;

	*head = (struct ofi_head){.number = greets ? m->card.session : mate->told + ofi_mate_weight(head->bytes),
	                          .bytes = head->bytes,
	                          .kind = (uint8_t)kind,
	                          .ask = (uint8_t)mate->its_told,
	                          .node = (uint16_t)config->node,
	                          .port = (uint8_t)config->port,
	                          .lane = mate->lane};
	ofi_seal(&mate->key, head);
}

void ofi_mate_sent(struct ofi_mates *m, struct ofi_mate *mate, const struct ofi_head *head)
{
	if (head->kind != OFI_GREET)
		mate->told = head->number;
	m->owed -= ofi_mate_owed(mate);
	mate->its_heard = mate->its_told;
}

/* ---- hearing ---- */

/* The first greeting is taken, and no other: an endpoint opens once. */
static int mate_greeted(const struct ofi_mates *m, struct ofi_mate *mate, const struct tw_net_config *config,
                        const struct ofi_head *head, size_t bytes)
{
	struct ofi_key key;

	ofi_key_between(config->secret, &m->card, head->number, head->node, head->port, head->lane, &key);
	if (mate->session || !head->number || !ofi_sealed(&key, head, bytes))
		return 0;
	mate->session = head->number;
	mate->its_key = key;
	mate->memory = ((const struct ofi_greet *)head)->memory;
	return OFI_MATE_GREETED;
}

/* Is [offset, offset + bytes) where this endpoint may be told something? */
static bool mate_memory(const struct tw_net *net, uint64_t offset, uint64_t bytes)
{
	return offset >= net->told_at && bytes <= net->told_bytes && offset - net->told_at <= net->told_bytes - bytes;
}

static int mate_told(const struct tw_net *net, const struct ofi_tell *tell, size_t bytes)
{
	const char *data = (const char *)(tell + 1);

	if ((bytes && !mate_memory(net, tell->offset, bytes)) || tell->word % 8 || !mate_memory(net, tell->word, 8))
		return -EPROTO;
	tw_words_store(net->base + tell->offset, data, bytes);
	atomic_store((_Atomic uint64_t *)(void *)(net->base + tell->word), tell->value);
	return OFI_MATE_TOLD;
}

int ofi_mate_take(struct ofi_mates *m, const struct tw_net *net, const struct ofi_head *head, size_t bytes)
{
	const struct tw_net_config *config = &net->config;

	if (bytes < sizeof(*head) || head->node >= config->nodes || head->node == config->node ||
	    head->port >= config->ports || head->lane >= OFI_LANES)
		return 0;
	struct ofi_mate *mate = ofi_mate_of(m, config, head->node, head->port, head->lane);
	if (head->kind == OFI_GREET)
		return mate_greeted(m, mate, config, head, bytes);
	if (!mate->session || !ofi_sealed(&mate->its_key, head, bytes) || head->number <= mate->its_told)
		return 0;
	uint8_t heard = (uint8_t)(head->ask - mate->heard);
	if (head->number != mate->its_told + ofi_mate_weight(bytes) || heard > mate->told - mate->heard)
		return -EPROTO;
	m->owed -= ofi_mate_owed(mate);
	mate->its_told = head->number;
	m->owed += ofi_mate_owed(mate);
	mate->heard += heard;
	if (head->kind == OFI_TELL)
		return mate_told(net, (const void *)head, bytes - sizeof(struct ofi_tell));
	if (head->kind == OFI_ASK || head->kind == OFI_GIVE)
		return head->kind == OFI_ASK ? OFI_MATE_ASKED : OFI_MATE_GIVEN;
	mate->asleep |= head->kind == OFI_ASLEEP;
	mate->left |= head->kind == OFI_LEAVES;
	return head->kind == OFI_HEARD ? OFI_MATE_HEARD : OFI_MATE_RESTS;
}
