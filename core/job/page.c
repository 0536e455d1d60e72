/* SPDX-License-Identifier: BSD-3-Clause */
/* page.c - a page's state as one line, for a debugger (results/gdb.py). */
#include "core/job/job.h"
#include "core/memory/globals.h"

struct page_text {
	char text[1024];
	size_t used;
	tw_page_t page;
	bool member;
};

/* What tw_format would write, behind the text: the process is stopped anywhere, as in a signal handler. */
#define page_add(t, ...) ((t)->used += tw_format((t)->text + (t)->used, sizeof((t)->text) - (t)->used, __VA_ARGS__))

static void page_member(void *ctx, tw_page_t page)
{
	struct page_text *t = ctx;

	t->member |= page == t->page;
}

static bool page_in(struct page_text *t, const struct tw_pageset *set)
{
	t->member = false;
	if (set)
		tw_pageset_look(set, page_member, t);
	return t->member;
}

static void page_processors(struct page_text *t, const struct tw_proc *me, const char *what, uint64_t mask)
{
	page_add(t, "; %s", what);
	for (unsigned k = 0; k < me->locals; k++)
		if (mask >> k & 1)
			page_add(t, " %u.%u", me->node, k);
	if (!mask)
		page_add(t, " none");
}

/* What this node's replica of the directory says. */
static void page_directory(struct page_text *t, const struct tw_proc *me, tw_page_t p)
{
	static const char *const rights[] = {"none", "read", "write", "?"};

	page_add(t, "; directory:");
	for (unsigned node = 0; node < me->nodes; node++) {
		uint64_t word = tw_dir_word(me, p, node);
		unsigned holder = (unsigned)(word >> TW_DIR_HOLDER_SHIFT & 0xffff);

		if (!word)
			continue;
		page_add(t, " node %u %s", node, rights[word & TW_DIR_RIGHTS]);
		if (word & TW_DIR_EXCLUSIVE && holder)
			page_add(t, " exclusive by %u.%u", node, holder - 1);
	}
}

const char *tw_page_describe(const void *address)
{
	static struct page_text t;
	const struct tw_proc *me = tw_me;
	size_t offset = (uintptr_t)address - tw_space_base();

	t = (struct page_text){.used = 0};
	if (!me) {
		page_add(&t, "this process is no processor of a job");
		return t.text;
	}
	if (offset >= me->config.memory) {
		page_add(&t, "0x%lx is not shared", (unsigned long)address);
		return t.text;
	}
	t.page = (tw_page_t)(offset >> me->layout.page_shift);
	page_add(&t, "page %u at 0x%lx", t.page,
	         (unsigned long)(tw_space_base() + ((size_t)t.page << me->layout.page_shift)));
	if (me->protocol->flags & TW_PROTOCOL_NO_FAULTS) {
		page_add(&t, ": always valid, under protocol %s", me->protocol->name);
		return t.text;
	}
	const struct tw_page *page = &me->page[t.page];
	if (page->home)
		page_add(&t, ": home node %u", page->home - 1u);
	else
		page_add(&t, ": home unknown here");
	uint64_t bit = (uint64_t)1 << me->local;
	page_add(&t, "; %u.%u %s", me->node, me->local,
	         page->writers & bit  ? "may write or has written"
	         : page->mapped & bit ? "may read"
	                              : "has no valid copy");
	page_processors(&t, me, "readers", page->mapped);
	page_processors(&t, me, "writers", page->writers);
	page_add(&t, "%s%s%s%s", page->twin ? "; a twin" : "", tw_page_locked(me, t.page) ? "; locked" : "",
	         page_in(&t, me->notices) ? "; a write notice waits for the next acquire" : "",
	         page_in(&t, me->dirty) ? "; stored to since the last release" : "");
	if (!(me->protocol->flags & TW_PROTOCOL_NO_DIRECTORY))
		page_directory(&t, me, t.page);
	return t.text;
}
