/* SPDX-License-Identifier: BSD-3-Clause */
/* ofi_rma.c - remote memory access and atomics: entries of batches, or the provider's own writes and reads. */
#include <string.h>

#include "core/base/word_copy.h"
#include "net/ofi/ofi_endpoint.h"

/* The server executes batches after their arrival, so earlier ones must be done before the provider accesses memory. */
void ofi_direct(struct tw_net *net, unsigned node, bool write, size_t offset, void *local, size_t bytes,
                unsigned *in_flight)
{
	struct ofi *o = net->priv;
	struct ofi_link *link = &o->link[node];
	struct ofi_buffer *transfer = ofi_idle_buffer(net, node, &o->port.transfers);
	uint64_t begun = tw_time_ns();
	ssize_t error;

	if (link->wrote > link->asked)
		ofi_close_batch(net, node, true);
	ofi_wait(net, node, &link->answered, link->wrote);
	transfer->peer = node;
	transfer->in_flight = in_flight;
	while ((error = ofi_transfer(&o->port, link->to, transfer, write, local, bytes, link->memory.base + offset,
	                             link->memory.key)) == -FI_EAGAIN)
		if (!ofi_advance(net))
			ofi_relax(net, node, begun);
	if (error)
		ofi_lost(net, node, ofi_text(error));
	++*in_flight;
	if (write)
		link->transferred = link->sent + 1;
}

void ofi_write(struct tw_net *net, unsigned node, size_t offset, const void *src, size_t len)
{
	struct ofi *o = net->priv;
	struct ofi_link *link = &o->link[node];
	const char *from = src;

	if (ofi_own(net, node)) {
		tw_words_store(net->base + offset, src, len);
		return;
	}
	if (len >= OFI_DIRECT && link->memory.direct) {
		unsigned in_flight = 0;
		ofi_direct(net, node, true, offset, (void *)(uintptr_t)src, len, &in_flight);
		ofi_wait_none(net, node, &in_flight);
		return;
	}
	while (len) {
		/* A batch is cut where a word of the target ends, so that words stay whole. */
		size_t part = TW_MIN(len, OFI_ROOM - sizeof(struct ofi_entry) - offset % 8);
		struct ofi_entry *entry = ofi_add(
		    net, node, (struct ofi_entry){.offset = offset, .bytes = (uint32_t)part, .op = OFI_WRITE}, 0);

		memcpy(entry + 1, from, part);
		link->wrote = link->sent + 1;
		offset += part;
		from += part;
		len -= part;
	}
}

/* ofi_add of an entry with @bytes of results, the first @stored of which go to @to. */
static struct ofi_entry *rma_add_result(struct tw_net *net, unsigned node, struct ofi_entry entry, void *to,
                                        uint32_t bytes, uint32_t stored)
{
	struct ofi *o = net->priv;
	struct ofi_link *link = &o->link[node];

	if (link->reads == OFI_READS) {
		ofi_close_batch(net, node, false);
		ofi_wait(net, node, &link->answered, link->asked);
	}
	struct ofi_entry *at = ofi_add(net, node, entry, bytes);
	link->read[(link->first + link->reads++) % OFI_READS] =
	    (struct ofi_result){.to = to, .bytes = bytes, .stored = stored};
	return at;
}

void ofi_read(struct tw_net *net, unsigned node, size_t offset, void *dst, size_t len)
{
	struct ofi *o = net->priv;
	char *to = dst;

	if (ofi_own(net, node)) {
		tw_words_load(dst, net->base + offset, len);
		return;
	}
	if (len >= OFI_DIRECT && o->link[node].memory.direct) {
		ofi_direct(net, node, false, offset, dst, len, &o->reading);
		o->reading_node = node;
		return;
	}
	while (len) {
		uint32_t part = (uint32_t)TW_MIN(len, OFI_ROOM - offset % 8);

		rma_add_result(net, node, (struct ofi_entry){.offset = offset, .bytes = part, .op = OFI_READ}, to, part,
		               part);
		offset += part;
		to += part;
		len -= part;
	}
}

void ofi_read_wait(struct tw_net *net)
{
	struct ofi *o = net->priv;

	for (unsigned node = 0; node < net->config.nodes; node++)
		if (o->link[node].reads && o->link[node].open)
			ofi_answer_batch(net, node);
	for (unsigned node = 0; node < net->config.nodes; node++)
		if (o->link[node].reads)
			ofi_wait(net, node, &o->link[node].answered, o->link[node].asked);
	ofi_wait_none(net, o->reading_node, &o->reading);
}

/* An atomic is a read with side effects. */
static uint64_t rma_atomic(struct tw_net *net, unsigned node, size_t offset, uint16_t op, uint64_t first,
                           uint64_t second)
{
	struct ofi *o = net->priv;
	struct ofi_entry entry = {.offset = offset, .bytes = op == OFI_CAS ? 16 : 8, .op = op};
	uint64_t old = 0;
	uint64_t *value = (void *)(rma_add_result(net, node, entry, &old, 8, 8) + 1);

	value[0] = first;
	if (op == OFI_CAS)
		value[1] = second;
	ofi_answer_batch(net, node);
	ofi_wait(net, node, &o->link[node].answered, o->link[node].asked);
	return old;
}

uint64_t ofi_cas(struct tw_net *net, unsigned node, size_t offset, uint64_t expect, uint64_t value)
{
	return rma_atomic(net, node, offset, OFI_CAS, expect, value);
}

uint64_t ofi_fadd(struct tw_net *net, unsigned node, size_t offset, uint64_t value)
{
	return rma_atomic(net, node, offset, OFI_FADD, value, 0);
}

uint64_t ofi_swap(struct tw_net *net, unsigned node, size_t offset, uint64_t value)
{
	return rma_atomic(net, node, offset, OFI_SWAP, value, 0);
}

void ofi_amo_result(struct tw_net *net, unsigned node, size_t offset, enum tw_amo op, unsigned bytes, uint64_t value,
                    uint64_t expect, void *old, uint32_t stored)
{
	struct ofi_entry entry = {
	    .offset = offset, .bytes = 16, .op = OFI_AMO, .port = (uint16_t)(8u * op + bytes / 4)};
	uint64_t *operand = (void *)(rma_add_result(net, node, entry, old, 8, stored) + 1);

	operand[0] = value;
	operand[1] = expect;
}

uint64_t ofi_amo(struct tw_net *net, unsigned node, size_t offset, enum tw_amo op, unsigned bytes, uint64_t value,
                 uint64_t expect)
{
	struct ofi *o = net->priv;
	uint64_t old = 0;

	ofi_amo_result(net, node, offset, op, bytes, value, expect, &old, 8);
	ofi_answer_batch(net, node);
	ofi_wait(net, node, &o->link[node].answered, o->link[node].asked);
	return old;
}

void ofi_amo_post(struct tw_net *net, unsigned node, size_t offset, enum tw_amo op, unsigned bytes, uint64_t value,
                  uint64_t expect)
{
	struct ofi *o = net->priv;
	struct ofi_entry entry = {
	    .offset = offset, .bytes = 16, .op = OFI_AMO_POST, .port = (uint16_t)(8u * op + bytes / 4)};
	uint64_t *operand = (void *)(ofi_add(net, node, entry, 0) + 1);

	operand[0] = value;
	operand[1] = expect;
	o->link[node].wrote = o->link[node].sent + 1;
}

void ofi_cas_wide(struct tw_net *net, unsigned node, size_t offset, uint64_t seen[2], const uint64_t value[2])
{
	struct ofi *o = net->priv;
	struct ofi_entry entry = {.offset = offset, .bytes = 32, .op = OFI_CAS_WIDE};
	char *operand = (void *)(rma_add_result(net, node, entry, seen, 16, 16) + 1);

	memcpy(operand, seen, 16);
	memcpy(operand + 16, value, 16);
	ofi_answer_batch(net, node);
	ofi_wait(net, node, &o->link[node].answered, o->link[node].asked);
}

void ofi_fence(struct tw_net *net, unsigned node)
{
	(void)net;
	(void)node;
	atomic_thread_fence(memory_order_release);
}

void ofi_flush(struct tw_net *net, unsigned node)
{
	struct ofi *o = net->priv;
	unsigned first = node == TW_NET_ALL ? 0 : node, end = node == TW_NET_ALL ? net->config.nodes : node + 1;

	for (unsigned i = first; i < end; i++)
		if (TW_MAX(o->link[i].wrote, o->link[i].transferred) > o->link[i].asked)
			ofi_answer_batch(net, i);
	for (unsigned i = first; i < end; i++)
		ofi_wait(net, i, &o->link[i].answered, TW_MAX(o->link[i].wrote, o->link[i].transferred));
	atomic_thread_fence(memory_order_seq_cst);
}
