/* SPDX-License-Identifier: BSD-3-Clause */
/* null.c - no coherence at all: a fault maps the page of the node's own memory, and synchronization moves nothing.
 *
 * It measures the cost of the core: catching a fault, mapping a page, locks, barriers, flags, messages.  On one node
 * the hardware keeps memory coherent and programs are right; on several, each node sees its own writes only. */
#include "tweed/driver/protocol.h"

static void null_fault(struct tw_proc *me, tw_page_t p, enum tw_rights want)
{
	struct tw_page *e = &me->page[p];
	uint64_t bit = (uint64_t)1 << me->local;

	tw_page_lock(me, p);
	enum tw_rights have = e->writers & bit ? TW_WRITE : e->mapped & bit ? TW_READ : TW_NONE;
	if (have < want) {
		tw_map(me, p, 1, have, want);
		e->mapped |= bit;
		e->writers |= want == TW_WRITE ? bit : 0;
	}
	tw_page_unlock(me, p);
}

static void null_read_fault(struct tw_proc *me, tw_page_t p)
{
	null_fault(me, p, TW_READ);
}

static void null_write_fault(struct tw_proc *me, tw_page_t p)
{
	null_fault(me, p, TW_WRITE);
}

const struct tw_protocol tw_protocol_null = {
    .name = "null",
    .summary = "no coherence between nodes, to measure the core: wrong answers wherever nodes share",
    .flags = TW_PROTOCOL_INCOHERENT,
    .read_fault = null_read_fault,
    .write_fault = null_write_fault,
};
