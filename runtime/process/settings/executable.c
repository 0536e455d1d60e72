/* SPDX-License-Identifier: BSD-3-Clause */
/* executable.c - code that the program writes into shared memory (compilers at run time).
 *
 * The view of shared memory is not executable, so that a wild jump is found.  A processor that asks for such a right
 * sets a word in each node's memory.  From then on, a processor that executes an instruction there makes its whole view
 * executable, in the fault: rights of pages are Tweed's. */
#include <stdatomic.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "core/base/base.h"
#include "core/base/signals.h"
#include "core/fault/trap.h"
#include "core/job/job.h"
#include "core/memory/regions.h"
#include "runtime/openmp/reserve.h"
#include "runtime/process/mapping.h"

/* In each node's exported memory. */
static size_t executable_offset(void)
{
	return tw_me->layout.reserved[TW_RESERVED_THREADS] + OMP_EXPORTED_BYTES + LOCALE_BYTES;
}

static bool executable_allowed(void)
{
	return atomic_load((_Atomic uint64_t *)(void *)(tw_me->net->base + executable_offset()));
}

static bool executable_repair(const siginfo_t *si, const void *uc)
{
	struct tw_proc *me = tw_me; /* NULL: in a child of fork */

	return me && (uintptr_t)si->si_addr - (uintptr_t)me->app < me->config.memory && tw_trap_fetches(uc) &&
	       executable_allowed() && tw_trap_execute();
}

bool th_executable_allow(void)
{
	if (!tw_trap_execute())
		return false;
	if (executable_allowed())
		return true;
	for (unsigned node = 0; node < tw_me->nodes; node++)
		if (node != tw_me->node)
			tw_net_write64(tw_me->net, node, executable_offset(), 1);
	tw_net_flush(tw_me->net, TW_NET_ALL);
	/* Last here: the word says that all nodes have it. */
	tw_net_write64(tw_me->net, tw_me->node, executable_offset(), 1);
	tw_net_flush(tw_me->net, TW_NET_ALL);
	return true;
}

void th_executable_open(void)
{
	tw_signal_repair = executable_repair;
}
