/* SPDX-License-Identifier: BSD-3-Clause */
/* polled_test.c - polled pages: how they are found, how their faults are served, and when a release takes them. */
#include "core/coherence/polled.h"
#include "unit.h"

#include <string.h>

#define PAGES ((tw_page_t)256)
#define SHIFT 12

/* The marks of pages; then the list, its end, and the count. */
static char exported[PAGES + (TW_POLLED_MOST + 2) * sizeof(uint64_t)], app[PAGES << SHIFT], steps[64];
static struct tw_page pages[PAGES];

static void step(char c)
{
	steps[strlen(steps)] = c;
}

static bool stepped(const char *expect)
{
	bool right = strcmp(steps, expect) == 0;

	if (!right)
		fprintf(stderr, "%s, not %s\n", steps, expect);
	memset(steps, 0, sizeof(steps));
	return right;
}

/* ---- stand-ins */

uint64_t tw_net_fadd(struct tw_net *net, unsigned node, size_t offset, uint64_t value)
{
	uint64_t old;

	(void)node;
	memcpy(&old, net->base + offset, sizeof(old));
	memcpy(net->base + offset, &(uint64_t){old + value}, sizeof(old));
	return old;
}

void tw_net_write(struct tw_net *net, unsigned node, size_t offset, const void *src, size_t len)
{
	(void)node;
	memcpy(net->base + offset, src, len);
}

void tw_net_write64(struct tw_net *net, unsigned node, size_t offset, uint64_t value)
{
	tw_net_write(net, node, offset, &value, sizeof(value));
}

static void net_flush(struct tw_net *net, unsigned node)
{
	(void)net, (void)node;
}

static void hide(struct tw_proc *me, tw_page_t p)
{
	(void)me;
	step((char)('0' + p));
}

static struct tw_proc proc;

/* The fences' lock; taking it is an acquire, giving it back a release, as in core/job/hooks.c. */
static void fence_enter(void)
{
	step('(');
	proc.fences->synced(&proc, true);
}

static void fence_leave(void)
{
	step(')');
	proc.fences->synced(&proc, false);
}

void tw_release(struct tw_proc *me, enum tw_sync_kind kind, uint64_t object)
{
	(void)kind, (void)object;
	step('!');
	me->fences->synced(me, false);
}

static const struct tw_fence fence = {.enter = fence_enter, .leave = fence_leave};

static void setup(unsigned caps)
{
	static const struct tw_transport transport = {.flush = net_flush};
	static const struct tw_protocol protocol = {.hide = hide};
	static struct tw_fault_ops ops;
	static struct tw_net net = {.ops = &transport, .base = exported, .traffic = &net.own_traffic};
	struct tw_pageset *dirty = calloc(1, tw_pageset_bytes(PAGES));

	free(proc.dirty);
	memset(exported, 0, sizeof(exported));
	ops.caps = caps;
	proc =
	    (struct tw_proc){.nodes = 1, .net = &net, .app = app, .page = pages, .protocol = &protocol, .dirty = dirty};
	proc.config.memory = sizeof(app);
	proc.layout.page_shift = SHIFT;
	proc.layout.polled_list = PAGES;
	proc.fault.ops = &ops;
	tw_pageset_init(dirty, PAGES);
}

/* A loop waits for a flag in @p. */
static void wait_for(tw_page_t p)
{
	for (unsigned i = 0; i < 1000 && !tw_polled(&proc, p); i++) /* the host may be slow */
		tw_polled_fence(&proc, &fence, app + ((size_t)p << SHIFT));
	memset(steps, 0, sizeof(steps));
}

/* ---- tests */

static void test_found(void)
{
	setup(0);
	CU_ASSERT_PTR_NULL(proc.fences);
	tw_polled_fence(&proc, &fence, NULL);
	tw_polled_fence(&proc, &fence, NULL);
	CU_ASSERT_PTR_NOT_NULL(proc.fences);
	tw_polled_fence(&proc, &fence, app + (3u << SHIFT));
	CU_ASSERT_FALSE(tw_polled(&proc, 3));
	proc.fences->synced(&proc, true); /* an acquire between two fences */
	tw_polled_fence(&proc, &fence, app + (3u << SHIFT));
	CU_ASSERT_FALSE(tw_polled(&proc, 3));
	wait_for(3);
	CU_ASSERT(tw_polled(&proc, 3));
	CU_ASSERT_FALSE(tw_polled(&proc, 2) || tw_polled(&proc, 4));
	tw_polled_fence(&proc, &fence, NULL);
	CU_ASSERT(stepped("()3"));
}

static void serve(struct tw_proc *me, tw_page_t p, bool write, bool freshen)
{
	(void)me, (void)p;
	if (freshen && !write)
		step('f');
	step(write ? 'w' : 'r');
}

static void test_faults(void)
{
	setup(0);
	wait_for(3);
	proc.fences->fault(&proc, 4, false, serve);
	proc.fences->fault(&proc, 4, true, serve);
	CU_ASSERT(stepped("rw"));
	proc.fences->fault(&proc, 3, false, serve);
	CU_ASSERT(stepped("(fr)"));
	proc.fences->fault(&proc, 3, true, serve);
	CU_ASSERT(stepped("(fr)w"));
	pages[3].mapped = 1;
	proc.fences->fault(&proc, 3, true, serve);
	CU_ASSERT(stepped("()w"));
	pages[3].mapped = 0;
	proc.fences->fault(&proc, 4, true, serve); /* data behind a flag */
	proc.fences->fault(&proc, 5, true, serve);
	CU_ASSERT(stepped("()3ww"));
}

static void test_step(void)
{
	setup(TW_FAULT_STEP);
	wait_for(3);
	proc.fences->fault(&proc, 3, false, serve);
	CU_ASSERT(proc.fault.step);
	CU_ASSERT(proc.fences->synced(&proc, false));
	proc.fences->fault(&proc, 4, false, serve); /* by the same instruction */
	proc.fences->fault(&proc, 3, true, serve);
	CU_ASSERT(stepped("(frfr!w"));
	proc.fault.stepped(&proc);
	CU_ASSERT(stepped(")3"));
	proc.fences->fault(&proc, 3, true, serve);
	CU_ASSERT(proc.fault.step);
	CU_ASSERT(stepped("(fr!w"));
	for (unsigned i = 0; i < 100000 && proc.fault.step; i++) { /* variables beside the flag */
		proc.fault.stepped(&proc);
		proc.fault.step = false;
		proc.fences->fault(&proc, 3, true, serve);
		memset(steps, 0, sizeof(steps));
	}
	CU_ASSERT_FALSE(proc.fault.step);
	bool traps = true;
	for (unsigned i = 0; i < 1000 && traps; i++) { /* the next load may trap when this process was delayed */
		proc.fences->fault(&proc, 3, false, serve);
		CU_ASSERT(proc.fault.step);
		proc.fault.stepped(&proc);
		traps = strcmp(steps, "(fr)") != 0;
		memset(steps, 0, sizeof(steps));
	}
	CU_ASSERT_FALSE(traps);
	CU_ASSERT_FALSE(proc.fences->synced(&proc, false));
}

static void take(void *ctx, tw_page_t first, unsigned count)
{
	(void)ctx;
	step((char)('0' + first));
	step((char)('0' + first + count - 1));
}

static void perform(void *ctx)
{
	(void)ctx;
	step('.');
}

static void dirty(void)
{
	for (tw_page_t p = 2; p < 8; p++)
		tw_pageset_add(proc.dirty, p);
	tw_pageset_add(proc.dirty, 9);
}

static void test_release(void)
{
	setup(0);
	proc.last_stored = 4;
	dirty();
	tw_dirty_drain(&proc, take, perform, NULL);
	CU_ASSERT(stepped("2799."));
	tw_polled_fence(&proc, &fence, NULL);
	CU_ASSERT(stepped("()"));
	dirty();
	tw_dirty_drain(&proc, take, perform, NULL);
	CU_ASSERT(stepped("235799.44."));
	wait_for(5);
	wait_for(9);
	dirty();
	tw_dirty_drain(&proc, take, perform, NULL);
	CU_ASSERT(stepped("2367.55.99.44."));
	proc.last_stored = 2;
	dirty();
	tw_dirty_drain(&proc, take, NULL, NULL);
	CU_ASSERT(stepped("3467559922"));
	CU_ASSERT(tw_pageset_empty(proc.dirty));
}

int main(void)
{
	CU_TestInfo tests[] = {
	    {"pages found", test_found}, {"faults", test_faults}, {"faults with a single step", test_step},
	    {"releases", test_release},  CU_TEST_INFO_NULL,
	};
	return unit_main("polled", tests);
}
