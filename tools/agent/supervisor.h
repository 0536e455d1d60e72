/* SPDX-License-Identifier: BSD-3-Clause */
/* guard.h - the process above an agent on a host where no launcher is: it leaves nothing behind when the agent cannot.
 *
 * An agent ends by itself when its connection closes or the launcher is silent.  One that is stopped, or hangs, does not;
 * and when it is killed, what its processors had started stays.  The guard sees the connection close and the agent's
 * beats cease, kills the agent and reaps all that descends from it.  It tells the launcher of an agent that did not end well (GONE). */
#ifndef TW_TOOLS_AGENT_SUPERVISOR_H
#define TW_TOOLS_AGENT_SUPERVISOR_H

#include <stdint.h>

/* supervisor_start - fork: the caller goes on as the child, whose wire is @in and @out; the parent watches it and them, and exits with its
 * status.  Returns 0 or -errno. */
int supervisor_start(int in, int out);
/* supervisor_beat - the agent lives; it says so again within @within_ns (0: it does not say). */
void supervisor_beat(uint64_t within_ns);

#endif
