/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/verbs/verbs_inbox.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

int verbs_inbox_init(struct verbs_inbox *in, const struct tw_net_config *config, char *base, unsigned count)
{
	void *buffer =
	    mmap(NULL, (size_t)count * VERBS_BUFFER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (buffer == MAP_FAILED)
		return -errno;
	in->config = config;
	in->base = base;
	in->buffer = buffer;
	in->count = count;
	in->queue = calloc(config->ports, sizeof(*in->queue));
	if (!in->queue)
		return -ENOMEM;
	for (unsigned port = 0; port < config->ports; port++)
		in->queue[port].first = VERBS_NONE;
	return 0;
}

void verbs_inbox_fini(struct verbs_inbox *in)
{
	if (in->buffer)
		munmap(in->buffer, (size_t)in->count * VERBS_BUFFER_BYTES);
	free(in->queue);
}

static int inbox_put(struct verbs_inbox *in, unsigned port, uint32_t buffer)
{
	const struct tw_msg *msg = (const struct tw_msg *)(const void *)verbs_inbox_buffer(in, buffer);

	return tw_mailbox_put(tw_mailbox_of(in->config, in->base, port), msg, msg->src_node, msg->src_port);
}

/* To @port's mailbox, or to the end of its list; true if the buffer is free. */
static bool inbox_deliver(struct verbs_inbox *in, unsigned port, uint32_t buffer)
{
	struct verbs_queue *q = &in->queue[port];

	if (q->first == VERBS_NONE && inbox_put(in, port, buffer) == 0)
		return true;
	in->next[buffer] = VERBS_NONE;
	if (q->first == VERBS_NONE)
		q->first = buffer;
	else
		in->next[q->last] = buffer;
	q->last = buffer;
	in->kept++;
	return false;
}

static void inbox_notify(struct verbs_inbox *in, unsigned port)
{
	for (unsigned p = 0; p < in->config->ports; p++)
		if (port == VERBS_ALL_PORTS || port == p)
			tw_mailbox_ring(tw_mailbox_of(in->config, in->base, p));
}

/* A message whose every number is in range. */
static bool inbox_sound(const struct verbs_inbox *in, const struct tw_msg *msg, size_t bytes)
{
	return bytes >= offsetof(struct tw_msg, body) && msg->len <= TW_MSG_BODY &&
	       bytes == offsetof(struct tw_msg, body) + msg->len && msg->type != 0 &&
	       msg->src_node < in->config->nodes && msg->src_port < in->config->ports;
}

bool verbs_inbox_received(struct verbs_inbox *in, uint32_t buffer, uint32_t port, size_t bytes)
{
	const struct tw_msg *msg = (const struct tw_msg *)(const void *)verbs_inbox_buffer(in, buffer);

	if (port < in->config->ports && inbox_sound(in, msg, bytes))
		return inbox_deliver(in, port, buffer);
	if (bytes == 0 && (port < in->config->ports || port == VERBS_ALL_PORTS))
		inbox_notify(in, port);
	else
		in->damaged++;
	return true;
}

uint32_t verbs_inbox_retry(struct verbs_inbox *in)
{
	for (unsigned port = 0; in->kept && port < in->config->ports; port++) {
		struct verbs_queue *q = &in->queue[port];
		uint32_t buffer = q->first;

		if (buffer == VERBS_NONE || inbox_put(in, port, buffer) != 0)
			continue;
		q->first = in->next[buffer];
		in->kept--;
		return buffer;
	}
	return VERBS_NONE;
}
