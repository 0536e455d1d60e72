/* SPDX-License-Identifier: BSD-3-Clause */
/* net.c - endpoints: opening, the counting wrappers with their short cut to this node's own memory, and waiting.
 *
 * The short cut needs no fence of its own: own-node memory is this processor's, and flush is a full barrier. */
#include "tweed/driver/transport.h"

#include "core/base/word_copy.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NET_BACK_OFF_NS 1000u /* in virtual time, where others send and receive meanwhile */
#define NET_SPIN_ROUNDS 64    /* of a spinning wait between two reads of the clock */

static int net_check(const struct tw_transport *ops, const struct tw_net_config *config)
{
	size_t control_end = config->control_offset + ops->control_bytes(config->ports);

	if (config->nodes < 1 || config->nodes > UINT16_MAX || config->node >= config->nodes || config->ports < 1 ||
	    config->ports > UINT16_MAX || config->port >= config->ports) {
		tw_log("transport %s: no endpoint %u.%u in a job of %u nodes with %u ports", ops->name, config->node,
		       config->port, config->nodes, config->ports);
		return -EINVAL;
	}
	if (config->control_offset % 64 != 0 || control_end < config->control_offset || control_end > config->bytes) {
		tw_log("transport %s: control memory at %zu does not fit into %zu exported bytes", ops->name,
		       config->control_offset, config->bytes);
		return -EINVAL;
	}
	return 0;
}

int tw_net_open(const struct tw_transport *ops, const struct tw_net_config *config, struct tw_net **net)
{
	int error = net_check(ops, config);

	if (error)
		return error;
	struct tw_net *opened = calloc(1, sizeof(*opened));
	if (!opened) {
		tw_log("transport %s: out of memory", ops->name);
		return -ENOMEM;
	}
	opened->ops = ops;
	opened->config = *config;
	opened->traffic = &opened->own_traffic;
	error = ops->open(opened);
	if (error) {
		free(opened);
		return error;
	}
	*net = opened;
	return 0;
}

void tw_net_close(struct tw_net *net)
{
	if (!net)
		return;
	tw_net_async_end(net);
	net->ops->close(net);
	free(net);
}

static inline bool net_own(const struct tw_net *net, unsigned node)
{
	return node == net->config.node;
}

static inline _Atomic uint64_t *net_word(const struct tw_net *net, size_t offset)
{
	return (_Atomic uint64_t *)(void *)(net->base + offset);
}

void tw_net_write(struct tw_net *net, unsigned node, size_t offset, const void *src, size_t len)
{
	if (net_own(net, node)) {
		tw_words_store(net->base + offset, src, len);
		return;
	}
	net->traffic->bytes_out += len;
	tw_net_wrote(net, node);
	net->ops->write(net, node, offset, src, len);
}

void *tw_net_direct(struct tw_net *net, unsigned node, size_t offset)
{
	if (!net->ops->direct || net_own(net, node))
		return NULL;
	tw_net_wrote(net, node);
	return net->ops->direct(net, node, offset);
}

void tw_net_stored(struct tw_net *net, size_t bytes)
{
	net->traffic->bytes_out += bytes;
}

void tw_net_write64(struct tw_net *net, unsigned node, size_t offset, uint64_t value)
{
	if (net_own(net, node)) {
		atomic_store_explicit(net_word(net, offset), value, memory_order_release);
		return;
	}
	net->traffic->bytes_out += sizeof(value);
	tw_net_wrote(net, node);
	net->ops->write(net, node, offset, &value, sizeof(value));
}

void tw_net_broadcast64(struct tw_net *net, size_t offset, uint64_t value)
{
	for (unsigned node = 0; node < net->config.nodes; node++)
		tw_net_write64(net, node, offset, value);
}

void tw_net_read(struct tw_net *net, unsigned node, size_t offset, void *dst, size_t len)
{
	if (net_own(net, node)) {
		tw_words_load(dst, net->base + offset, len);
		return;
	}
	net->traffic->bytes_in += len;
	net->traffic->reads = true;
	net->ops->read(net, node, offset, dst, len);
}

uint64_t tw_net_read64(struct tw_net *net, unsigned node, size_t offset)
{
	uint64_t value;

	if (net_own(net, node))
		return atomic_load_explicit(net_word(net, offset), memory_order_acquire);
	net->traffic->bytes_in += sizeof(value);
	net->traffic->round_trips++;
	net->ops->read(net, node, offset, &value, sizeof(value));
	net->ops->read_wait(net);
	return value;
}

/* May this be a CPU atomic?  Only on the own node, where the transport allows both kinds of atomics on one word.  Else
 * it is counted. */
static inline bool net_own_atomics(struct tw_net *net, unsigned node)
{
	if (net_own(net, node))
		return net->ops->caps & TW_NET_COHERENT_ATOMICS;
	net->traffic->bytes_out += sizeof(uint64_t);
	net->traffic->bytes_in += sizeof(uint64_t);
	net->traffic->round_trips++;
	return false;
}

uint64_t tw_net_cas(struct tw_net *net, unsigned node, size_t offset, uint64_t expect, uint64_t value)
{
	if (!net_own_atomics(net, node))
		return net->ops->cas(net, node, offset, expect, value);
	atomic_compare_exchange_strong(net_word(net, offset), &expect, value);
	return expect;
}

uint64_t tw_net_fadd(struct tw_net *net, unsigned node, size_t offset, uint64_t value)
{
	if (!net_own_atomics(net, node))
		return net->ops->fadd(net, node, offset, value);
	return atomic_fetch_add(net_word(net, offset), value);
}

uint64_t tw_net_swap(struct tw_net *net, unsigned node, size_t offset, uint64_t value)
{
	if (!net_own_atomics(net, node))
		return net->ops->swap(net, node, offset, value);
	return atomic_exchange(net_word(net, offset), value);
}

bool tw_net_put_signal(struct tw_net *net, unsigned node, unsigned port, const struct tw_net_signal *signal)
{
	if (!net->ops->put_signal || net_own(net, node) || !net->ops->put_signal(net, node, port, signal))
		return false;
	net->traffic->bytes_out += signal->len + sizeof(signal->value);
	return true;
}

/* The queue's owner may need this core to empty it: yield first, then sleep longer and longer, up to a millisecond. */
static void net_back_off(unsigned *round)
{
	if (tw_virtual) {
		tw_delay(NET_BACK_OFF_NS);
	} else if (*round < 8) {
		sched_yield();
	} else {
		long ns = 1000L << TW_MIN(*round - 8, 10u);

		nanosleep(&(struct timespec){.tv_nsec = TW_MIN(ns, 1000000L)}, NULL);
	}
	++*round;
}

void tw_net_send(struct tw_net *net, unsigned node, unsigned port, struct tw_msg *msg)
{
	unsigned round = 0;
	int error;

	while ((error = net->ops->send(net, node, port, msg)) == -EAGAIN) {
		if (tw_net_lost(&net->config, node))
			return;
		net->ops->progress(net);
		net_back_off(&round);
	}
	if (error)
		tw_fatal("transport %s: cannot send to %u.%u: %s", net->ops->name, node, port, strerror(-error));
	net->traffic->messages++;
	if (!net_own(net, node))
		net->traffic->bytes_out += msg->len;
}

bool tw_net_recv(struct tw_net *net, struct tw_msg *msg)
{
	if (!net->ops->recv(net, msg))
		return false;
	if (msg->src_node != net->config.node)
		net->traffic->bytes_in += msg->len;
	return true;
}

/* Spin until @ready, or for config.spin_ns; returns whether it is ready. */
static bool net_spin(struct tw_net *net, bool (*ready)(void *arg), void *arg)
{
	uint64_t until = tw_time_ns() + net->config.spin_ns;

	do {
		net->ops->progress(net);
		for (unsigned round = 0; round < NET_SPIN_ROUNDS; round++) {
			if (ready(arg))
				return true;
			tw_pause();
		}
	} while (tw_time_ns() < until);
	return false;
}

bool tw_net_wait_until(struct tw_net *net, bool (*ready)(void *arg), void *arg, uint64_t until_ns)
{
	if (ready(arg) || (net->config.spin_ns && net_spin(net, ready, arg)))
		return true;
	/* Bell, test, sleep, in this order: a notify after the test has changed the bell. */
	for (;;) {
		uint32_t seen = net->ops->bell(net);

		net->ops->progress(net);
		if (ready(arg))
			return true;
		uint64_t now = until_ns ? tw_time_ns() : 0;
		if (until_ns && now >= until_ns)
			return false;
		net->ops->sleep(net, seen, until_ns - now);
	}
}

void tw_net_wait(struct tw_net *net, bool (*ready)(void *arg), void *arg)
{
	tw_net_wait_until(net, ready, arg, 0);
}
