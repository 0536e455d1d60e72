/* SPDX-License-Identifier: BSD-3-Clause */
/* api.c - tweed.h, except memory (core/memory/heap.c) and synchronization (sync/). */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/single_threaded.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/process/fork.h"
#include "core/memory/globals.h"
#include "core/memory/heap.h"
#include "core/base/clock.h"
#include "core/job/job.h"
#include "core/observe/race.h"
#include "core/memory/stores.h"
#include "core/process/syscalls.h"
#include "sync/sync.h"
#include "tweed/tweed.h"

/* One processor prints the message; the others wait until the job ends. */
static void api_open_stores(struct tw_proc *me)
{
	int error = tw_stores_open(me);

	while (error == -ENOTSUP && me->id != 0)
		pause();
	if (error == -ENOTSUP) {
		tw_log("protocol %s needs every store announced, and this program does not announce its stores: "
		       "build it with 'tweed cc' in place of the compiler, or use another protocol",
		       me->protocol->name);
		me->stats->refused = 1;
	}
	if (error)
		exit(2);
}

/* Processor 0's values are used. */
static void api_share_globals(struct tw_proc *me)
{
	if (!tw_globals_shared)
		return;
	tw_fork_copies(tw_globals_start, tw_globals_bytes());
	if (me->id == 0) {
		tw_globals_enter();
		/* The C library stores this when it starts a process's first thread: that was into the private copy.
		 * Its own variable, by which it knows the first thread, is none of the globals. */
		if ((uintptr_t)&__libc_single_threaded - (uintptr_t)tw_globals_start < tw_globals_bytes())
			__libc_single_threaded = 0;
	}
	tw_release(me, TW_SYNC_JOB, 0);
	tw_sync_barrier_job(me, TW_WAIT_INIT);
	tw_acquire(me, TW_SYNC_JOB, 0);
}

static void api_keep_globals(struct tw_proc *me)
{
	if (!tw_globals_shared)
		return;
	tw_acquire(me, TW_SYNC_JOB, 0);
	tw_globals_keep();
	tw_sync_barrier_job(me, TW_WAIT_FINALIZE);
}

int tw_init(int *argc, char ***argv)
{
	const struct tw_boot *boot;

	(void)argc;
	(void)argv;
	if (tw_me)
		tw_fatal("tw_init was called twice");
	struct tw_proc *me = tw_join(&boot);
	tw_join_whole(me, "shared memory");
	if (tw_proc_enter(me, boot))
		exit(2);
	api_open_stores(me);
	if (tw_heap_open(me))
		exit(2);
	tw_syscalls_init();
	tw_me = me;
	tw_me->stats->started_ns = tw_time_ns();
	api_share_globals(tw_me);
	tw_sync_barrier_job(tw_me, TW_WAIT_INIT);
	tw_joined(tw_me);
	return 0;
}

int tw_finalize(void)
{
	struct tw_proc *me = tw_me_checked("tw_finalize");

	tw_sync_held_none(me, "tw_finalize");
	tw_release(me, TW_SYNC_JOB, 0);
	tw_sync_barrier_job(me, TW_WAIT_FINALIZE);
	api_keep_globals(me);
	if (me->config.race)
		tw_race_print(me);
	if (!me->stats->stopped)
		tw_stats_stop();
	tw_me = NULL;
	tw_stores_close();
	tw_heap_close(me);
	tw_proc_exit(me);
	tw_unjoin(me);
	if (tw_globals_shared)
		tw_globals_return();
	return 0;
}

int tw_id(void)
{
	return (int)tw_me_checked("tw_id")->id;
}

int tw_count(void)
{
	struct tw_proc *me = tw_me_checked("tw_count");
	return (int)(me->nodes * me->locals);
}

int tw_node(void)
{
	return (int)tw_me_checked("tw_node")->node;
}

int tw_nodes(void)
{
	return (int)tw_me_checked("tw_nodes")->nodes;
}

void tw_abort(int code, const char *msg)
{
	tw_log("%s", msg ? msg : "aborted");
	if (tw_me)
		tw_me->stats->refused = 1;
	_exit(code >= 1 && code <= 255 ? code : 1);
}

void tw_verified(bool ok)
{
	struct tw_stats *s = tw_me_checked("tw_verified")->stats;
	if (s->verdict != TW_VERDICT_NO)
		s->verdict = ok ? TW_VERDICT_YES : TW_VERDICT_NO;
}

/* ---- memory ---- */

/* The pages of [ptr, ptr + len); false when it is empty or not all in the shared space. */
static bool api_pages(struct tw_proc *me, const void *ptr, size_t len, tw_page_t *first, tw_page_t *last)
{
	uintptr_t base = tw_space_base(), at = (uintptr_t)ptr - base;
	if ((uintptr_t)ptr < base || at >= me->config.memory || len == 0 || len > me->config.memory - at)
		return false;
	*first = (tw_page_t)(at >> me->layout.page_shift);
	*last = (tw_page_t)((at + len - 1) >> me->layout.page_shift);
	return true;
}

void *tw_malloc_all(size_t bytes)
{
	struct tw_proc *me = tw_me_checked("tw_malloc_all");
	void *p = me->id == 0 ? tw_heap_calloc(1, bytes, __builtin_return_address(0)) : NULL;
	tw_bcast(&p, sizeof(p), 0);
	if (!p)
		errno = ENOMEM;
	return p;
}

void tw_bcast(void *ptr, size_t len, int root)
{
	struct tw_proc *me = tw_me_checked("tw_bcast");
	uint64_t passed;
	char *at = ptr;

	if (root < 0 || (unsigned)root >= me->nodes * me->locals)
		tw_fatal("tw_bcast: there is no processor %d", root);
	tw_release(me, TW_SYNC_JOB, 0);
	do {
		size_t n = TW_MIN(len, me->layout.collective_bytes);
		if (me->id == (unsigned)root) {
			tw_touch(at, n, false);
			for (unsigned node = 0; node < me->nodes; node++)
				tw_net_write(me->net, node, me->layout.collective, at, n);
			tw_net_flush(me->net, TW_NET_ALL);
		}
		tw_sync_barrier_job(me, TW_WAIT_BCAST);
		if (me->id != (unsigned)root && n) {
			tw_stores_add(at, n);
			memcpy(at, me->net->base + me->layout.collective, n);
		}
		passed = tw_sync_barrier_job(me, TW_WAIT_BCAST);
		at += n;
		len -= n;
	} while (len);
	tw_trace(me, TW_TRACE_collective, TW_TRACE_NONE, TW_TRACE_NO_PAGE, 0, passed);
	tw_acquire(me, TW_SYNC_JOB, 0);
}

void tw_prefetch(const void *ptr, size_t len)
{
	struct tw_proc *me = tw_me_checked("tw_prefetch");
	tw_page_t first, last;
	if (me->protocol->prefetch && api_pages(me, ptr, len, &first, &last)) {
		tw_protocol_enter(me);
		uint64_t t = tw_time_begin(me);
		me->protocol->prefetch(me, first, last - first + 1);
		tw_time_end(me, &me->stats->now.protocol_ns, t);
		tw_protocol_leave(me);
	}
}

static int api_pin(const char *function, bool unpin, const void *ptr, size_t len)
{
	struct tw_proc *me = tw_me_checked(function);
	tw_page_t first, last;
	int error = 0;

	if (!api_pages(me, ptr, len, &first, &last))
		return -EINVAL;
	if (!me->protocol->pin)
		return me->protocol->flags & TW_PROTOCOL_NO_FAULTS ? 0 : -ENOTSUP;
	tw_protocol_enter(me);
	uint64_t t = tw_time_begin(me);
	if (unpin)
		me->protocol->unpin(me, first, last - first + 1);
	else
		error = me->protocol->pin(me, first, last - first + 1);
	tw_time_end(me, &me->stats->now.protocol_ns, t);
	tw_protocol_leave(me);
	return error;
}

int tw_pin(const void *ptr, size_t len)
{
	return api_pin("tw_pin", false, ptr, len);
}

int tw_unpin(const void *ptr, size_t len)
{
	return api_pin("tw_unpin", true, ptr, len);
}

int tw_home(const void *ptr)
{
	struct tw_proc *me = tw_me_checked("tw_home");
	tw_page_t p, last;
	if (!api_pages(me, ptr, 1, &p, &last))
		return -1;
	tw_page_lock(me, p);
	int home = tw_home_get(me, p);
	tw_page_unlock(me, p);
	return home;
}

int tw_home_set(const void *ptr, size_t len, int node)
{
	struct tw_proc *me = tw_me_checked("tw_home_set");
	tw_page_t first, last;

	if (node < 0 || (unsigned)node >= me->nodes || !api_pages(me, ptr, len, &first, &last))
		return -EINVAL;
	struct tw_net_flow *flow = tw_net_flow_new(me->net);
	if (!flow)
		return -ENOMEM;
	bool done = tw_home_propose_all(me, first, last, (unsigned)node, flow);
	free(flow);
	return done ? 0 : -EBUSY;
}

/* ---- statistics ---- */

void tw_stats_reset(void)
{
	struct tw_proc *me = tw_me_checked("tw_stats_reset");
	tw_trace(me, TW_TRACE_measure_begin, TW_TRACE_NONE, TW_TRACE_NO_PAGE, 0, 0);
	memset(&me->stats->now, 0, sizeof(me->stats->now));
	*me->net->traffic = (struct tw_traffic){0};
	me->stats->stopped = 0;
	me->stats->started_ns = tw_time_ns();
}

void tw_stats_stop(void)
{
	struct tw_proc *me = tw_me_checked("tw_stats_stop");
	struct tw_stats *s = me->stats;
	tw_trace(me, TW_TRACE_measure_end, TW_TRACE_NONE, TW_TRACE_NO_PAGE, 0, 0);
	tw_stats_end(s);
}

double tw_now(void)
{
	tw_gate_enter();
	return (double)tw_time_ns() * 1e-9;
}
