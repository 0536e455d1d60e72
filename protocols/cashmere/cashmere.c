/* SPDX-License-Identifier: BSD-3-Clause */
#include "protocols/cashmere/cashmere.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

static size_t cash_past_bytes(const struct tw_proc *me)
{
	return me->layout.pages * sizeof(struct cash_past); /* a multiple of a set's alignment */
}

int cash_init(struct tw_proc *me)
{
	struct cash *c = calloc(1, sizeof(*c));
	if (c)
		c->stage = aligned_alloc(4096, cash_stage_pages(me) * me->layout.page_bytes);
	void *past = mmap(NULL, cash_past_bytes(me) + me->layout.set_bytes, PROT_READ | PROT_WRITE,
	                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (c && cash_parameters(me)->updates == CASH_UPDATES_MESSAGE)
		c->outbox.body = malloc(CASH_BUFFER);
	if (!c || !c->stage || past == MAP_FAILED ||
	    (cash_parameters(me)->updates == CASH_UPDATES_MESSAGE && !c->outbox.body)) {
		tw_log("no memory for the protocol's own state");
		if (c)
			free(c->stage);
		free(c);
		return -ENOMEM;
	}
	/* No stream has begun: no page follows the last one. */
	for (unsigned kind = 0; kind < 2; kind++)
		c->stream[kind].next = c->strides[kind].next = (tw_page_t)me->layout.pages;
	c->releases = 1; /* number of the first interval; no page was trapped in it: cash_extra.trapped */
	c->past = past;
	c->migratory = (void *)((char *)past + cash_past_bytes(me));
	tw_pageset_init(c->migratory, me->layout.pages);
	me->proto = c;
	return 0;
}

void cash_fini(struct tw_proc *me)
{
	free(cash_of(me)->outbox.body);
	free(cash_of(me)->stage);
	munmap(cash_of(me)->past, cash_past_bytes(me) + me->layout.set_bytes);
	free(me->proto);
	me->proto = NULL;
}
