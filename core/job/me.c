/* SPDX-License-Identifier: BSD-3-Clause */
/* me.c - which processor this process is, and the lock around protocol code. */
#include <pthread.h>

#include "core/base/clock.h"
#include "core/coherence/trail.h"
#include "core/job/job.h"
#include "core/process/fork.h"

struct tw_proc *tw_me;

static pthread_mutex_t me_mutex = PTHREAD_MUTEX_INITIALIZER;

/* Does a separate thread serve faults? */
static inline bool me_served(const struct tw_proc *me)
{
	return me->fault.ops && (me->fault.ops->caps & TW_FAULT_THREAD);
}

/* With lazy releases (core/coherence/lazy.c): against their thread. The processor's own threads take it once, also
 * where a signal handler interrupts one that has it. */
const struct tw_laziness *tw_laziness;
static struct tw_mutex me_lock;
static unsigned me_depth;

static void me_take(struct tw_proc *me)
{
	if (me_served(me))
		pthread_mutex_lock(&me_mutex);
	else
		tw_mutex_lock(&me_lock);
}

static void me_give(struct tw_proc *me)
{
	if (me_served(me))
		pthread_mutex_unlock(&me_mutex);
	else
		tw_mutex_unlock(&me_lock);
}

void tw_protocol_enter_trailing(struct tw_proc *me)
{
	tw_gate_pass();
	if (me_served(me) || (tw_laziness && me_depth++ == 0))
		me_take(me);
}

void tw_protocol_enter(struct tw_proc *me)
{
	tw_protocol_enter_trailing(me);
	if (__builtin_expect(me->trails, 0))
		tw_trail_settle(me);
}

void tw_protocol_leave(struct tw_proc *me)
{
	if (me_served(me) || (tw_laziness && --me_depth == 0))
		me_give(me);
}

bool tw_protocol_inside(const struct tw_proc *me)
{
	return me_served(me) || me_depth || (tw_laziness && tw_net_inside(me->net));
}

void tw_protocol_enter_aside(struct tw_proc *me)
{
	me_take(me);
}

void tw_protocol_leave_aside(struct tw_proc *me)
{
	me_give(me);
}

bool tw_protocol_aside(void)
{
	return tw_laziness && pthread_equal(pthread_self(), tw_laziness->thread);
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
	tw_gate_enter();
	return tw_me;
}
