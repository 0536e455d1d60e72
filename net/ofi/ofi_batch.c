/* SPDX-License-Identifier: BSD-3-Clause */
/* ofi_batch.c - entries for a node gather in a batch, which is sent as one message (the reasons are in ofi.c). */
#include "net/ofi/ofi_endpoint.h"

static void batch_close(struct tw_net *net, unsigned node, bool ask, bool may_delegate)
{
	struct ofi *o = net->priv;
	struct ofi_link *link = &o->link[node];
	struct ofi_buffer *buffer = link->open;

	if (!buffer) {
		if (!ask)
			return;
		buffer = ofi_idle_buffer(net, node, &o->port.sends);
		buffer->head->bytes = sizeof(*buffer->head);
	} else {
		link->open = NULL;
		o->opens--;
	}
	ask = ask || link->results || link->ask;
	link->ask = false;
	*buffer->head = (struct ofi_head){.number = ++link->sent,
	                                  .bytes = buffer->head->bytes,
	                                  .kind = OFI_WORK,
	                                  .ask = ask ? OFI_ANSWER : OFI_SILENT,
	                                  .node = (uint16_t)net->config.node,
	                                  .port = (uint8_t)net->config.port};
	if (ask)
		link->asked = link->sent;
	link->results = 0;
	if (may_delegate && ofi_delegate(net, node, buffer))
		return;
	ofi_seal(&link->key, buffer->head);
	ofi_submit(net, node, buffer, ask);
}

void ofi_close_batch(struct tw_net *net, unsigned node, bool ask)
{
	batch_close(net, node, ask, false);
}

void ofi_answer_batch(struct tw_net *net, unsigned node)
{
	batch_close(net, node, true, true);
}

struct ofi_entry *ofi_add(struct tw_net *net, unsigned node, struct ofi_entry entry, size_t results)
{
	struct ofi *o = net->priv;
	struct ofi_link *link = &o->link[node];
	size_t bytes = ofi_entry_bytes(entry.op, entry.bytes);

	if (link->open && (link->open->head->bytes + bytes > OFI_MESSAGE || link->results + results > OFI_ROOM))
		ofi_close_batch(net, node, false);
	if (!link->open) {
		link->open = ofi_idle_buffer(net, node, &o->port.sends);
		link->open->head->bytes = sizeof(struct ofi_head);
		link->rings = false;
		o->opens++;
	}
	link->rings |= entry.op == OFI_PUT || entry.op == OFI_RING;
	struct ofi_entry *at = (void *)((char *)link->open->head + link->open->head->bytes);
	*at = entry;
	link->open->head->bytes = (uint16_t)(link->open->head->bytes + bytes);
	link->results += results;
	return at;
}

void ofi_close_all(struct tw_net *net)
{
	struct ofi *o = net->priv;

	for (unsigned node = 0; o->opens; node++)
		ofi_close_batch(net, node, false);
}
