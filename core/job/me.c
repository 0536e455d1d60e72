/* SPDX-License-Identifier: BSD-3-Clause */
/* me.c - which processor this process is, and the lock around protocol code. */
#include <pthread.h>

#include "core/coherence/lazy.h"
#include "core/job/job.h"
#include "core/process/fork.h"

struct tw_proc *tw_me;

static pthread_mutex_t me_mutex = PTHREAD_MUTEX_INITIALIZER;

/* Does a separate thread serve faults? */
static inline bool me_served(const struct tw_proc *me)
{
	return me->fault.ops && (me->fault.ops->caps & TW_FAULT_THREAD);
}

/* With lazy releases: against the thread of lazy.c.  The processor's threads take it once, also where a signal handler
 * interrupts one that has it. */
static struct tw_mutex me_lock;
static unsigned me_depth;

void tw_protocol_enter(struct tw_proc *me)
{
	if (me_served(me))
		pthread_mutex_lock(&me_mutex);
	else if (tw_lazy_on && me_depth++ == 0)
		tw_mutex_lock(&me_lock);
}

void tw_protocol_leave(struct tw_proc *me)
{
	if (me_served(me))
		pthread_mutex_unlock(&me_mutex);
	else if (tw_lazy_on && --me_depth == 0)
		tw_mutex_unlock(&me_lock);
}

bool tw_protocol_inside(const struct tw_proc *me)
{
	return me_served(me) || me_depth;
}

void tw_protocol_enter_aside(struct tw_proc *me)
{
	if (me_served(me))
		pthread_mutex_lock(&me_mutex);
	else
		tw_mutex_lock(&me_lock);
}

void tw_protocol_leave_aside(struct tw_proc *me)
{
	if (me_served(me))
		pthread_mutex_unlock(&me_mutex);
	else
		tw_mutex_unlock(&me_lock);
}

struct tw_proc *tw_me_checked(const char *function)
{
	if (!tw_me && tw_forked())
		tw_fork_refuse();
	if (!tw_me)
		tw_fatal("%s was called before tw_init or after tw_finalize", function);
	/* The last fault's handler may still use the endpoint in its own thread. */
	if (me_served(tw_me)) {
		pthread_mutex_lock(&me_mutex);
		pthread_mutex_unlock(&me_mutex);
	}
	return tw_me;
}
