/* SPDX-License-Identifier: BSD-3-Clause */
/* remote.c - segments that are not plain memory: through the endpoint, by one thread at a time. */
#include <pthread.h>

#include "core/globals.h"
#include "core/job.h"
#include "pgas/segment/segment.h"

#define REMOTE_BOUNCE 4096u

static pthread_mutex_t remote_mutex = PTHREAD_MUTEX_INITIALIZER;
static bool remote_threads;

void tw_segment_threads(void)
{
	remote_threads = true;
}

static void remote_lock(void)
{
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

/* Memory whose accesses may fault, and then use the endpoint, is copied to and from outside its operations. */
static bool remote_faults(const void *ptr)
{
	return tw_me && (uintptr_t)ptr - tw_space_base() < tw_me->config.memory;
}

void tw_segment_remote_put(unsigned pe, size_t offset, const void *src, size_t len)
{
	char bounce[REMOTE_BOUNCE];
	bool faults = remote_faults(src);

	for (size_t part; len; len -= part) {
		part = faults ? TW_MIN(len, sizeof(bounce)) : len;
		remote_lock();
		tw_segment.remote = true;
		tw_net_write(tw_segment.net, remote_node(pe), remote_at(pe, offset),
		             faults ? memcpy(bounce, src, part) : src, part);
		remote_unlock();
		offset += part;
		src = (const char *)src + part;
	}
}

void tw_segment_remote_get(unsigned pe, size_t offset, void *dst, size_t len, bool wait)
{
	char bounce[REMOTE_BOUNCE];
	bool faults = remote_faults(dst);

	for (size_t part; len; len -= part) {
		part = faults ? TW_MIN(len, sizeof(bounce)) : len;
		remote_lock();
		tw_net_read(tw_segment.net, remote_node(pe), remote_at(pe, offset), faults ? bounce : dst, part);
		if (wait || faults)
			tw_net_read_wait(tw_segment.net);
		else
			tw_segment.reading = true;
		remote_unlock();
		if (faults)
			memcpy(dst, bounce, part);
		offset += part;
		dst = (char *)dst + part;
	}
}

uint64_t tw_segment_remote_amo(unsigned pe, size_t offset, enum tw_amo op, unsigned bytes, uint64_t value,
                               uint64_t expect)
{
	remote_lock();
	uint64_t old = tw_net_amo(tw_segment.net, remote_node(pe), remote_at(pe, offset), op, bytes, value, expect);
	remote_unlock();
	return old;
}

void tw_segment_remote_amo_post(unsigned pe, size_t offset, enum tw_amo op, unsigned bytes, uint64_t value)
{
	remote_lock();
	tw_segment.remote = true;
	tw_net_amo_post(tw_segment.net, remote_node(pe), remote_at(pe, offset), op, bytes, value, 0);
	remote_unlock();
}

void tw_segment_cas_post(unsigned pe, size_t offset, uint64_t expect, uint64_t value)
{
	remote_lock();
	tw_segment.remote = true;
	tw_net_amo_post(tw_segment.net, remote_node(pe), remote_at(pe, offset), TW_AMO_CAS, 8, value, expect);
	remote_unlock();
}

void tw_segment_remote_quiet(void)
{
	remote_lock();
	if (tw_segment.reading)
		tw_net_read_wait(tw_segment.net);
	if (tw_segment.remote)
		tw_net_flush(tw_segment.net, TW_NET_ALL);
	tw_segment.reading = tw_segment.remote = false;
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
	remote_lock();
	tw_net_notify(tw_segment.net, remote_node(pe), pe % tw_segment.locals);
	remote_unlock();
}

void tw_segment_push(void)
{
	if (!tw_segment.remote)
		return;
	remote_lock();
	tw_segment.net->ops->progress(tw_segment.net);
	remote_unlock();
}
