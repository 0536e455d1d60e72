/* SPDX-License-Identifier: BSD-3-Clause */
/* timestamp.c - TS, coherence by logical time stamps and bounded write notices (Endo and Taura): memory and table. */
#include "protocols/timestamp/timestamp.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

static size_t ts_exported_bytes(const struct tw_layout *l)
{
	return ts_public_at(l) + (l->pages << l->page_shift);
}

static size_t ts_private_bytes(const struct tw_layout *l)
{
	return 4096 + l->pages * sizeof(struct ts_page);
}

/* Address space for @bytes of each page, backed where touched. */
static void *ts_reserve(struct tw_proc *me, size_t bytes)
{
	void *p = mmap(NULL, me->layout.pages * bytes, PROT_READ | PROT_WRITE,
	               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return p == MAP_FAILED ? NULL : p;
}

static void ts_unreserve(struct tw_proc *me, void *p, size_t bytes)
{
	if (p)
		munmap(p, me->layout.pages * bytes);
}

static void ts_fini(struct tw_proc *me)
{
	struct ts *t = ts_of(me);
	ts_unreserve(me, t->lease, sizeof(*t->lease));
	ts_unreserve(me, t->listed, sizeof(*t->listed));
	ts_unreserve(me, t->alone_next, sizeof(*t->alone_next));
	ts_unreserve(me, t->pins, sizeof(*t->pins));
	free(t->scratch);
	free(t->seen);
	free(t);
	me->proto = NULL;
}

static int ts_init(struct tw_proc *me)
{
	struct ts *t = calloc(1, sizeof(*t));
	if (t) {
		me->proto = t;
		t->node = (void *)(me->private_mem + me->layout.protocol_private);
		t->page = (void *)(me->private_mem + me->layout.protocol_private + 4096);
		t->own = (void *)(me->net->base + me->layout.protocol);
		t->seen = aligned_alloc(4096, TS_OBJECTS_AT);
		t->scratch = aligned_alloc(4096, me->layout.page_bytes);
		t->lease = ts_reserve(me, sizeof(*t->lease));
		t->listed = ts_reserve(me, sizeof(*t->listed));
		t->alone_next = ts_reserve(me, sizeof(*t->alone_next));
		t->pins = ts_reserve(me, sizeof(*t->pins));
		if (t->seen && t->scratch && t->lease && t->listed && t->alone_next && t->pins)
			return 0;
		ts_fini(me);
	}
	tw_log("no memory for the protocol's own state");
	return -ENOMEM;
}

const struct tw_protocol tw_protocol_ts = {
    .name = "TS",
    .summary = "logical time stamps and bounded write notices; the home moves to every writer; no directory",
    .flags = TW_PROTOCOL_NO_DIRECTORY | TW_PROTOCOL_BY_OBJECT | TW_PROTOCOL_RACES,
    .exported_bytes = ts_exported_bytes,
    .private_bytes = ts_private_bytes,
    .init = ts_init,
    .fini = ts_fini,
    .read_fault = ts_read_fault,
    .write_fault = ts_write_fault,
    .prefetch = ts_prefetch,
    .pin = ts_pin,
    .unpin = ts_unpin,
    .release = ts_release,
    .acquire = ts_acquire,
    .arrive = ts_arrive,
};
