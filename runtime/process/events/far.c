/* SPDX-License-Identifier: BSD-3-Clause */
#include "runtime/process/events/far.h"

#include <errno.h>
#include <string.h>

#include "runtime/process/hosts/first_host.h"

static long far_event(struct far_event *e, enum far_what what)
{
	e->what = what;
	e->host = th_hosts_self();
	return th_hosts_event(e, sizeof(*e));
}

bool far_here(void)
{
	return th_hosts_self() != 0;
}

long far_action(int signal, const struct sigaction *action, struct sigaction *old)
{
	struct far_event e = {.action = {.signal = signal, .set = action != NULL}};

	if (action)
		e.action.action = *action;
	long result = far_event(&e, FAR_ACTION);
	*old = e.action.action;
	return result;
}

/* The highest number of those that are sent is of the latest state: it was taken before the threads were looked at. */
void far_accept(void)
{
	struct far_event e = {.accept = {.says = atomic_fetch_add(&host->says, 1) + 1}};

	for (uint32_t i = 0; i < host->threads; i++)
		if (atomic_load(&host->thread[i].tid))
			e.accept.set |= atomic_load(&host->thread[i].accepts);
	if (atomic_exchange(&host->said, e.accept.set) != e.accept.set)
		far_event(&e, FAR_ACCEPT);
}

int far_send(uint32_t to, const struct host_signal *signal)
{
	struct far_event e = {.send = {to, *signal}};

	return (int)-far_event(&e, FAR_SEND);
}

uint64_t far_pending(void)
{
	struct far_event e = {.pending = 0};

	far_event(&e, FAR_PENDING);
	return e.pending;
}

long far_call(struct far_call *call)
{
	struct far_event e = {.call = *call};
	long result = far_event(&e, FAR_CALL);

	*call = e.call;
	return result;
}

long far_wait(struct children_wait *wait)
{
	struct far_event e = {.wait = *wait};
	long result = far_event(&e, FAR_WAIT);

	*wait = e.wait;
	return result;
}
