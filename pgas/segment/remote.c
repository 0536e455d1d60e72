/* SPDX-License-Identifier: BSD-3-Clause */
/* remote.c - access through the endpoint to segments that are not plain memory, by one thread at a time. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "core/memory/globals.h"
#include "core/job/job.h"
#include "pgas/segment/segment_impl.h"
#include "pgas/segment/segment.h"

#define REMOTE_BOUNCE 4096u
#define REMOTE_POLLS  1000u

static pthread_mutex_t remote_mutex = PTHREAD_MUTEX_INITIALIZER;
static bool remote_threads;
static struct tw_net_flow *remote_own;           /* for operations that are waited for at once */
static uint64_t remote_begun[TW_MAX_NODES / 64]; /* nodes with operations in flight, in jobs that survive deaths */

void tw_segment_threads(void)
{
	remote_threads = true;
}

static void remote_lock(void)
{
	tw_gate_enter();
	if (remote_threads)
		pthread_mutex_lock(&remote_mutex);
}

static void remote_unlock(void)
{
	if (remote_threads)
		pthread_mutex_unlock(&remote_mutex);
}

static unsigned remote_node(unsigned pe)
{
	return pe / tw_segment.locals;
}

static size_t remote_at(unsigned pe, size_t offset)
{
	return tw_segment.at + pe % tw_segment.locals * tw_segment.bytes + offset;
}

/* Is @ptr shared memory of tweed.h?  Its accesses may fault, and a fault uses the endpoint, so such memory is copied
 * through a bounce buffer, outside the endpoint's operations. */
static bool remote_faults(const void *ptr)
{
	return tw_me && (uintptr_t)ptr - tw_space_base() < tw_me->config.memory;
}

void tw_segment_remote_open(void)
{
	tw_segment.flow = tw_segment_flow_new();
	tw_segment.signals = tw_segment_flow_new();
	remote_own = tw_segment_flow_new();
	if (tw_segment.net && !(tw_segment.flow && tw_segment.signals && remote_own))
		tw_fatal("no memory for operations on %u nodes", tw_segment.net->config.nodes);
}

void tw_segment_remote_close(void)
{
	tw_segment_flow_free(tw_segment.flow);
	tw_segment_flow_free(tw_segment.signals);
	tw_segment_flow_free(remote_own);
}

struct tw_net_flow *tw_segment_flow_new(void)
{
	return tw_segment.net ? tw_net_flow_new(tw_segment.net) : NULL;
}

void tw_segment_flow_free(struct tw_net_flow *flow)
{
	tw_segment_remote_quiet(flow);
	free(flow);
}

/* ---- lost nodes ---- */

static void remote_need(unsigned node)
{
	if (__builtin_expect(tw_deaths_lost(tw_segment.deaths, node), false) && !tw_segment.pardon)
		tw_fatal("node %u is lost, and with it the memory that this operation needs; tw_pe_lost() says so "
		         "before",
		         node);
}

void tw_segment_need(unsigned pe)
{
	remote_need(remote_node(pe));
}

/* Begin an operation.  Whether the node is lost is checked again when the operation is complete. */
static void remote_begin(unsigned node)
{
	if (!tw_segment.deaths || tw_segment.pardon)
		return;
	remote_need(node);
	remote_begun[node / 64] |= (uint64_t)1 << node % 64;
}

static void remote_complete(void)
{
	if (!tw_segment.deaths || tw_segment.pardon)
		return;
	for (unsigned node = 0; node < tw_segment.net->config.nodes; node++)
		if (remote_begun[node / 64] >> node % 64 & 1)
			remote_need(node);
	memset(remote_begun, 0, sizeof(remote_begun));
}

/* ---- operations ---- */

/* Needs the lock. */
static void remote_start(struct tw_net_flow *flow, const struct tw_net_work *work)
{
	bool open = flow->open;

	remote_begin(work->node);
	tw_net_start(tw_segment.net, flow, work);
	tw_segment.open += flow->open && !open;
}

/* Is @flow complete?  Needs the lock. */
static bool remote_settle(struct tw_net_flow *flow, bool wait)
{
	if (!flow->open)
		return true;
	bool settled = tw_net_settle(tw_segment.net, flow, wait);
	tw_segment.open -= settled;
	return settled;
}

void tw_segment_remote_put(struct tw_net_flow *flow, unsigned pe, size_t offset, const void *src, size_t len, bool keep)
{
	char bounce[REMOTE_BOUNCE], *near = tw_segment_near(pe);
	bool faults = remote_faults(src);

	if (near) {
		tw_words_store(near + offset, src, len);
		tw_segment_copied(len);
		return;
	}
	for (size_t part; len; len -= part) {
		part = faults ? TW_MIN(len, sizeof(bounce) - offset % 8) : len;
		if (faults)
			memcpy(bounce, src, part);
		remote_lock();
		remote_start(flow, &(struct tw_net_work){.kind = keep && !faults ? TW_NET_WRITE : TW_NET_PUT,
		                                         .node = remote_node(pe),
		                                         .offset = remote_at(pe, offset),
		                                         .len = part,
		                                         .local = faults ? bounce : (void *)(uintptr_t)src});
		remote_unlock();
		offset += part;
		src = (const char *)src + part;
	}
}

void tw_segment_remote_get(struct tw_net_flow *flow, unsigned pe, size_t offset, void *dst, size_t len, bool wait)
{
	char bounce[REMOTE_BOUNCE], *near = tw_segment_near(pe);
	bool faults = remote_faults(dst), now = wait || faults;

	if (near) {
		tw_words_load(dst, near + offset, len);
		tw_segment_copied(len);
		return;
	}
	for (size_t part; len; len -= part) {
		part = faults ? TW_MIN(len, sizeof(bounce) - offset % 8) : len;
		remote_lock();
		remote_start(now ? remote_own : flow, &(struct tw_net_work){.kind = TW_NET_READ,
		                                                            .node = remote_node(pe),
		                                                            .offset = remote_at(pe, offset),
		                                                            .len = part,
		                                                            .local = faults ? bounce : dst});
		if (now)
			remote_settle(remote_own, true);
		remote_unlock();
		if (now)
			remote_need(remote_node(pe));
		if (faults)
			memcpy(dst, bounce, part);
		offset += part;
		dst = (char *)dst + part;
	}
}

uint64_t tw_segment_remote_amo(unsigned pe, size_t offset, enum tw_amo op, unsigned bytes, uint64_t value,
                               uint64_t expect)
{
	char *near = tw_segment.cpu_atomics ? tw_segment_near(pe) : NULL;

	if (near)
		return tw_amo_here(near + offset, op, bytes, value, expect);
	remote_lock();
	uint64_t old = tw_net_amo(tw_segment.net, remote_node(pe), remote_at(pe, offset), op, bytes, value, expect);
	remote_unlock();
	remote_need(remote_node(pe));
	return old;
}

void tw_segment_remote_amo_start(struct tw_net_flow *flow, unsigned pe, size_t offset, enum tw_amo op, unsigned bytes,
                                 uint64_t value, uint64_t expect, void *old)
{
	char *near = tw_segment.cpu_atomics ? tw_segment_near(pe) : NULL;

	if (near) {
		uint64_t was = tw_amo_here(near + offset, op, bytes, value, expect);
		if (old)
			memcpy(old, &was, bytes);
		tw_segment_nudge(near);
		return;
	}
	if (old && remote_faults(old)) {
		uint64_t was = tw_segment_remote_amo(pe, offset, op, bytes, value, expect);
		memcpy(old, &was, bytes);
		return;
	}
	remote_lock();
	remote_start(flow, &(struct tw_net_work){.kind = TW_NET_AMO,
	                                         .node = remote_node(pe),
	                                         .offset = remote_at(pe, offset),
	                                         .len = bytes,
	                                         .local = old,
	                                         .op = op,
	                                         .value = value,
	                                         .expect = expect});
	remote_unlock();
}

/* With several threads, others may use the endpoint between the polls.  The last resort sleeps with the lock held. */
void tw_segment_remote_quiet(struct tw_net_flow *flow)
{
	bool settled = !flow;

	for (unsigned round = 0; remote_threads && !settled && round < REMOTE_POLLS; round++) {
		remote_lock();
		settled = remote_settle(flow, false);
		remote_unlock();
		if (!settled)
			sched_yield();
	}
	if (!settled) {
		remote_lock();
		remote_settle(flow, true);
		remote_unlock();
	}
	remote_complete();
}

void tw_segment_remote_ask(struct tw_net_flow *flow)
{
	remote_lock();
	remote_settle(flow, false);
	remote_unlock();
}

void tw_segment_remote_fence(void)
{
	remote_lock();
	tw_net_fence(tw_segment.net, TW_NET_ALL);
	remote_unlock();
}

void tw_segment_remote_wake(unsigned pe)
{
	char *near = tw_segment_near(pe);

	if (near) {
		tw_segment_wake(near);
		return;
	}
	remote_lock();
	tw_net_notify(tw_segment.net, remote_node(pe), pe % tw_segment.locals);
	remote_unlock();
}

bool tw_segment_remote_put_signal(unsigned pe, const struct tw_net_signal *signal)
{
	struct tw_net_signal there = *signal;

	if (tw_segment_direct(pe) || remote_faults(signal->local))
		return false;
	there.offset = remote_at(pe, signal->offset);
	there.word = remote_at(pe, signal->word);
	remote_lock();
	bool done = tw_net_put_signal(tw_segment.net, remote_node(pe), pe % tw_segment.locals, &there);
	remote_unlock();
	return done;
}

/* The thread that holds the lock polls for all. */
bool tw_segment_poll_signals(void)
{
	if (remote_threads && pthread_mutex_trylock(&remote_mutex))
		return false;
	bool arrived = tw_segment.net->ops->poll_signals(tw_segment.net);
	remote_unlock();
	return arrived;
}

void tw_segment_remote_announce_sleep(unsigned pe)
{
	remote_lock();
	tw_segment.net->ops->announce_sleep(tw_segment.net, remote_node(pe), pe % tw_segment.locals);
	remote_unlock();
}

void tw_segment_push(void)
{
	if (!tw_segment.open)
		return;
	remote_lock();
	tw_segment.net->ops->progress(tw_segment.net);
	remote_unlock();
}
