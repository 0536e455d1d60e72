/* SPDX-License-Identifier: BSD-3-Clause */
#include "protocols/cashmere/cashmere.h"

#include <errno.h>
#include <stdlib.h>

static int cash_init(struct tw_proc *me)
{
	struct cash *c = calloc(1, sizeof(*c));
	if (c)
		c->scratch = aligned_alloc(4096, me->layout.page_bytes);
	if (!c || !c->scratch) {
		tw_log("no memory for the protocol's own state");
		free(c);
		return -ENOMEM;
	}
	/* No stream has begun: no page follows the last one. */
	c->reads.next = c->writes.next = (tw_page_t)me->layout.pages;
	me->proto = c;
	return 0;
}

static void cash_fini(struct tw_proc *me)
{
	free(cash_of(me)->scratch);
	free(me->proto);
	me->proto = NULL;
}

const struct tw_protocol tw_protocol_2l = {
    .name = "2L",
    .summary = "Cashmere-2L: two levels, twins and two-way diffs, directory, first-touch homes, exclusive mode",
    .init = cash_init,
    .fini = cash_fini,
    .read_fault = cash_read_fault,
    .write_fault = cash_write_fault,
    .prefetch = cash_prefetch,
    .acquire = cash_acquire,
    .release = cash_release,
    .arrive = cash_arrive,
    .broken = cash_broken,
    .message = cash_message,
};
