/* SPDX-License-Identifier: BSD-3-Clause */
#include "protocols/cashmere/cashmere.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

int cash_init(struct tw_proc *me)
{
	struct cash *c = calloc(1, sizeof(*c));
	if (c)
		c->scratch = aligned_alloc(4096, me->layout.page_bytes);
	void *past = mmap(NULL, me->layout.pages * sizeof(*c->past), PROT_READ | PROT_WRITE,
	                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (c && cash_chose(me)->updates == CASH_UPDATES_MESSAGE)
		c->outbox.body = malloc(CASH_BUFFER);
	if (!c || !c->scratch || past == MAP_FAILED ||
	    (cash_chose(me)->updates == CASH_UPDATES_MESSAGE && !c->outbox.body)) {
		tw_log("no memory for the protocol's own state");
		if (c)
			free(c->scratch);
		free(c);
		return -ENOMEM;
	}
	/* No stream has begun: no page follows the last one. */
	c->reads.next = c->writes.next = (tw_page_t)me->layout.pages;
	c->releases = 1; /* which has trapped no page: cash_extra.trapped */
	c->past = past;
	me->proto = c;
	return 0;
}

void cash_fini(struct tw_proc *me)
{
	free(cash_of(me)->outbox.body);
	free(cash_of(me)->scratch);
	munmap(cash_of(me)->past, me->layout.pages * sizeof(*cash_of(me)->past));
	free(me->proto);
	me->proto = NULL;
}
