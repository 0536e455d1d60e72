/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/ofi/server/ofi_memory.h"

#include <string.h>

#include "net/mailbox.h"
#include "core/base/word_copy.h"

const struct ofi_entry *ofi_entry_next(const char **at, const char *end)
{
	const struct ofi_entry *entry = (const void *)*at;

	if ((size_t)(end - *at) < sizeof(*entry) || (size_t)(end - *at) < ofi_entry_bytes(entry->op, entry->bytes))
		return NULL;
	*at += ofi_entry_bytes(entry->op, entry->bytes);
	return entry;
}

/* ---- claims ---- */

size_t ofi_closed_bytes(unsigned ports)
{
	return tw_mailbox_bytes(ports) + TW_ALIGN_UP(OFI_DELEGATORS * ports * sizeof(uint64_t), (size_t)4096);
}

/* NULL: the node has no claims. */
static _Atomic uint64_t *memory_claims(const struct tw_net_config *config, char *base, unsigned node, unsigned port)
{
	uint64_t at = config->control_offset + tw_mailbox_bytes(config->ports);

	return node < OFI_DELEGATORS ? (_Atomic uint64_t *)(void *)(base + at) + node * config->ports + port : NULL;
}

bool ofi_claim(const struct tw_net_config *config, char *base, unsigned node, unsigned port, uint64_t number)
{
	_Atomic uint64_t *claimed = memory_claims(config, base, node, port);
	uint64_t was = claimed ? atomic_load(claimed) : number;

	while (was < number)
		if (atomic_compare_exchange_weak(claimed, &was, number))
			return true;
	return false;
}

uint64_t ofi_claimed(const struct tw_net_config *config, char *base, unsigned node, unsigned port)
{
	const _Atomic uint64_t *claimed = memory_claims(config, base, node, port);

	return claimed ? atomic_load(claimed) : 0;
}

void ofi_claim_none(const struct tw_net_config *config, char *base, unsigned node, unsigned port)
{
	_Atomic uint64_t *claimed = memory_claims(config, base, node, port);

	if (claimed)
		atomic_store(claimed, 0);
}

/* ---- entries ---- */

static void memory_copy_in(char *to, const char *from, size_t bytes)
{
	tw_words_store(to, from, bytes);
	atomic_thread_fence(memory_order_release);
}

static uint64_t memory_atomic(char *base, const struct ofi_entry *entry)
{
	_Atomic uint64_t *word = (_Atomic uint64_t *)(void *)(base + entry->offset);
	const uint64_t *value = (const void *)(entry + 1);
	uint64_t expect = value[0];

	if (entry->op == OFI_FADD)
		return atomic_fetch_add(word, value[0]);
	if (entry->op == OFI_SWAP)
		return atomic_exchange(word, value[0]);
	atomic_compare_exchange_strong(word, &expect, value[1]);
	return expect;
}

/* Is the range accessible as memory?  Mailboxes and claims are not. */
static bool memory_open(const struct tw_net_config *config, uint64_t offset, uint64_t bytes)
{
	uint64_t control = config->control_offset, end = control + ofi_closed_bytes(config->ports);

	return bytes <= config->bytes && offset <= config->bytes - bytes &&
	       (offset + bytes <= control || offset >= end);
}

/* An AMO or AMO_POST; false: the entry makes no sense. */
static bool memory_amo(const struct tw_net_config *config, char *base, const struct ofi_entry *entry, uint64_t *old)
{
	const uint64_t *value = (const void *)(entry + 1);
	unsigned op = entry->port / 8u, bytes = entry->port % 8u * 4;

	if (op >= TW_AMO_OPS || (bytes != 4 && bytes != 8) || entry->offset % bytes || entry->bytes != 16 ||
	    !memory_open(config, entry->offset, bytes))
		return false;
	*old = tw_amo_here(base + entry->offset, (enum tw_amo)op, bytes, value[0], value[1]);
	return true;
}

bool ofi_memory_do(const struct tw_net_config *config, char *base, const struct ofi_entry *entry, char *out,
                   size_t *used)
{
	uint64_t old, wide[4];

	switch (entry->op) {
	case OFI_WRITE:
		if (!memory_open(config, entry->offset, entry->bytes))
			return false;
		memory_copy_in(base + entry->offset, (const char *)(entry + 1), entry->bytes);
		return true;
	case OFI_READ:
		if (!out || !memory_open(config, entry->offset, entry->bytes) || entry->bytes > OFI_ROOM - *used)
			return false;
		tw_words_load(out + *used, base + entry->offset, entry->bytes);
		*used += entry->bytes;
		return true;
	case OFI_CAS:
	case OFI_FADD:
	case OFI_SWAP:
		if (!out || entry->offset % 8 || entry->bytes != (entry->op == OFI_CAS ? 16 : 8) ||
		    !memory_open(config, entry->offset, 8) || OFI_ROOM - *used < 8)
			return false;
		old = memory_atomic(base, entry);
		break;
	case OFI_AMO:
		if (!out || OFI_ROOM - *used < 8 || !memory_amo(config, base, entry, &old))
			return false;
		break;
	case OFI_CAS_WIDE:
		if (!out || entry->offset % 16 || entry->bytes != 32 || !memory_open(config, entry->offset, 16) ||
		    OFI_ROOM - *used < 16)
			return false;
		memcpy(wide, entry + 1, sizeof(wide));
		tw_amo_wide(base + entry->offset, wide, wide + 2);
		memcpy(out + *used, wide, 16);
		*used += 16;
		return true;
	case OFI_AMO_POST:
		return memory_amo(config, base, entry, &old);
	default:
		return false;
	}
	memcpy(out + *used, &old, 8);
	*used += 8;
	return true;
}
