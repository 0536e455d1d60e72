/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/coherence/polled.h"

#include "core/base/base.h"
#include "core/job/job.h"
#include "core/memory/regions.h"

#define POLLED_NEAR_NS  2000u /* longest time between two fences of a waiting loop, */
#define POLLED_FAULT_NS 5000u /* plus this for each fault's trap, besides the time to serve it */
/* Accesses to polled pages of which each traps: so many in a row, then one in so long a time; stores, and loads. */
#define POLLED_TRAPS   256u
#define POLLED_TRAP_NS 20000u

/* This processor's, from its first fence on. */
static struct polled {
	const struct tw_fence *fence;
	const _Atomic uint64_t *list; /* polled pages, + 1; up to the first 0 */
	const void *flag;             /* flag read after the last fence; NULL: not known, or an acquire followed */
	uint64_t since;               /* end of that read, ns, plus the time of faults since then */
	unsigned faults;              /* since then */
	bool held, in_fault;          /* this processor has the fences' lock; for a fault */
	bool wrote;                   /* a polled page is writable since the last release */
	tw_page_t page;               /* accessed by the single step */
	uint64_t stores, loads;       /* of which each traps: until then their time is used up, ns */
} polled;

/* Mark @p as polled at all nodes. Node 0 counts the pages found, behind the list. */
static void polled_found(struct tw_proc *me, tw_page_t p)
{
	size_t list = me->layout.polled_list;
	uint64_t n = tw_net_fadd(me->net, 0, list + (TW_POLLED_MOST + 1) * sizeof(uint64_t), 1);

	if (n >= TW_POLLED_MOST)
		return;
	for (unsigned node = 0; node < me->nodes; node++) {
		tw_net_write64(me->net, node, list + n * sizeof(uint64_t), (uint64_t)p + 1);
		tw_net_write(me->net, node, me->layout.polled + p, "\1", 1);
	}
	tw_net_flush(me->net, TW_NET_ALL);
}

/* If the program waits for @flag, make its page polled. */
static void polled_look(struct tw_proc *me, const void *flag)
{
	size_t offset = (size_t)((const char *)flag - me->app);

	if (!flag || flag != polled.flag || offset >= me->config.memory ||
	    tw_time_ns() - polled.since > POLLED_NEAR_NS + polled.faults * POLLED_FAULT_NS)
		return;
	tw_page_t p = (tw_page_t)(offset >> me->layout.page_shift);
	if (!tw_polled(me, p))
		polled_found(me, p);
}

/* A loop that makes acquires of its own between its fences does not rely on fences alone. */
static bool polled_synced(struct tw_proc *me, bool acquire)
{
	(void)me;
	if (acquire)
		polled.flag = NULL;
	else
		polled.wrote = false;
	return polled.in_fault;
}

/* Take the fences' lock for a fault. Taking it is an acquire. */
static void polled_enter(void)
{
	const void *flag = polled.flag;

	polled.held = polled.in_fault = true;
	polled.fence->enter();
	polled.flag = flag;
}

/* May one more access trap?  Not where a program makes such accesses all the time: variables lie beside the flag. */
static bool polled_traps(uint64_t *paid)
{
	uint64_t now = tw_time_ns();

	*paid = TW_MAX(*paid, now - POLLED_TRAPS * POLLED_TRAP_NS) + POLLED_TRAP_NS;
	if (*paid <= now)
		return true;
	*paid -= POLLED_TRAP_NS;
	return false;
}

static void polled_hide(struct tw_proc *me)
{
	for (const _Atomic uint64_t *page = polled.list; me->protocol->hide && atomic_load(page); page++)
		me->protocol->hide(me, (tw_page_t)(atomic_load(page) - 1));
}

/* May the next load trap, too? */
static bool polled_hides(const struct tw_proc *me)
{
	return me->protocol->hide && polled_traps(&polled.loads);
}

static void polled_leave(void)
{
	polled.fence->leave();
	polled.held = polled.in_fault = false;
}

/* tw_fault.stepped: release the fences' lock, with the page if it was stored to, so that the next store traps; and the
 * next load, where other nodes write the page at any time. */
static void polled_stepped(void *ctx)
{
	struct tw_proc *me = ctx;

	polled_leave();
	if (polled_hides(me))
		me->protocol->hide(me, polled.page);
}

static void polled_serve(struct tw_proc *me, tw_page_t p, bool write, tw_serve_fn *serve)
{
	bool step = (me->fault.ops->caps & TW_FAULT_STEP) && (!write || polled_traps(&polled.stores));

	polled_enter();
	if (!write || !(me->page[p].mapped & (uint64_t)1 << me->local)) /* the acquire may have unmapped it */
		serve(me, p, false, true);
	if (write && step)
		tw_release(me, TW_SYNC_NODE, me->node);
	if (!step)
		polled_leave();
	if (write) {
		serve(me, p, true, false);
		polled.wrote = true;
	}
	polled.page = p;
	me->fault.step = step;
}

/* Data is about to be stored behind a flag: the next flag must trap again, so that the data is released before it. */
static void polled_close(struct tw_proc *me)
{
	polled_enter();
	polled_leave();
	if (polled_hides(me))
		polled_hide(me);
}

static void polled_fault(struct tw_proc *me, tw_page_t p, bool write, tw_serve_fn *serve)
{
	uint64_t began = tw_time_ns();

	polled.faults++;
	if (!polled.held && tw_polled(me, p)) {
		polled_serve(me, p, write, serve);
	} else {
		if (write && polled.held && tw_polled(me, p))
			tw_release(me, TW_SYNC_NODE, me->node); /* by the instruction that has loaded from it */
		else if (write && polled.wrote && !polled.held)
			polled_close(me);
		serve(me, p, write, polled.in_fault);
	}
	polled.since += tw_time_ns() - began;
}

static const struct tw_fence_hooks polled_hooks = {.fault = polled_fault, .synced = polled_synced};

void tw_polled_fence(struct tw_proc *me, const struct tw_fence *fence, const void *flag)
{
	if (!me->fences) {
		polled = (struct polled){.list = (const void *)(me->net->base + me->layout.polled_list)};
		me->fault.stepped = polled_stepped;
		me->fences = &polled_hooks;
	}
	polled_look(me, flag);
	polled.fence = fence;
	polled.held = true;
	fence->enter();
	fence->leave();
	polled_hide(me);
	polled.held = false;
	polled.flag = flag;
	polled.faults = 0;
	polled.since = tw_time_ns();
}

/* A release in a program that fences. */
struct late {
	struct tw_proc *me;
	void (*run)(void *ctx, tw_page_t first, unsigned count);
	void *ctx;
	unsigned count; /* pages to be passed after the others; those beyond the limit are not */
	tw_page_t page[TW_POLLED_MOST];
};

static void late_run(void *ctx, tw_page_t first, unsigned count)
{
	struct late *l = ctx;
	tw_page_t end = first + count;

	for (tw_page_t p = first; p < end; p++) {
		if ((p != l->me->last_stored && !tw_polled(l->me, p)) || l->count == TW_POLLED_MOST)
			continue;
		if (p > first)
			l->run(l->ctx, first, p - first);
		l->page[l->count++] = p;
		first = p + 1;
	}
	if (end > first)
		l->run(l->ctx, first, end - first);
}

/* One page after the other, and the page stored to last at the end: the flag in it may announce data in the others. */
static void late_pass(struct late *l, void (*perform)(void *ctx))
{
	for (unsigned last = 0; last < 2; last++)
		for (unsigned i = 0; i < l->count; i++) {
			if ((l->page[i] == l->me->last_stored) != last)
				continue;
			l->run(l->ctx, l->page[i], 1);
			if (perform)
				perform(l->ctx);
		}
}

void tw_dirty_drain(struct tw_proc *me, void (*run)(void *ctx, tw_page_t first, unsigned count),
                    void (*perform)(void *ctx), void *ctx)
{
	struct late l = {.me = me, .run = run, .ctx = ctx};

	if (me->fences)
		tw_pageset_drain(me->dirty, late_run, &l);
	else
		tw_pageset_drain(me->dirty, run, ctx);
	if (perform)
		perform(ctx);
	late_pass(&l, perform);
}
