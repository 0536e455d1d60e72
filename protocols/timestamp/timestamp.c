/* SPDX-License-Identifier: BSD-3-Clause */
/* timestamp.c - TS, coherence by logical time stamps and bounded write notices (Endo and Taura): memory and table. */
#include "protocols/timestamp/timestamp.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

static size_t ts_exported_bytes(const struct tw_layout *l)
{
	return ts_public_at(l) + 2 * (l->pages << l->page_shift); /* public and shared copies */
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

static struct ts_parameters values;
static const struct tw_setting parameters[] = {
    {"signature", TW_NUMBER(struct ts_parameters, signature, 1, TS_SIGNATURE_MAX), .initial = "1024",
     .help = "write notices that a node remembers"},
    {"lease", TW_NUMBER(struct ts_parameters, lease, 0, 1000000), .initial = "10",
     .help = "logical time for which a copy is granted"},
    {"doublings", TW_NUMBER(struct ts_parameters, doublings, 0, 16), .initial = "6",
     .help = "how often at most the lease of a page that does not change is doubled; 0: never"},
    {"retention", TW_NUMBER(struct ts_parameters, retention, 0, 255), .initial = "3",
     .help = "most releases that leave a rewritten page writable without a change found; 0: none"},
    {"refresh", TW_NUMBER(struct ts_parameters, refresh, 0, 255), .initial = "8",
     .help = "most times that acquires update a fetched page in place before one unmaps it; 0: always unmap"},
    {.name = NULL},
};

const struct tw_protocol tw_protocol_ts = {
    .name = "TS",
    .summary = "logical time stamps and bounded write notices; the home moves to every writer; no directory",
    .flags = TW_PROTOCOL_NO_DIRECTORY | TW_PROTOCOL_BY_OBJECT | TW_PROTOCOL_RACES,
    .parameters = parameters,
    .values = &values,
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
    .word = ts_word,
    .word_peek = ts_word_peek,
    .word_done = ts_word_done,
};
