/* SPDX-License-Identifier: BSD-3-Clause */
/* supervisor.h - the process above an agent on a host without the launcher.  It cleans up when the agent cannot.
 *
 * An agent ends by itself when its connection closes or the launcher is silent.  An agent that is stopped or hangs does
 * not; if it is killed, processes that its processors had started remain.  The supervisor detects that the connection
 * has closed and that the agent's beats have stopped, kills the agent and reaps all its descendants.  It reports an
 * agent that did not end well to the launcher (GONE). */
#ifndef TW_TOOLS_AGENT_SUPERVISOR_H
#define TW_TOOLS_AGENT_SUPERVISOR_H

#include <stdint.h>

/* supervisor_start - fork.  The caller continues as the child, whose wire is @in and @out; the parent watches the child
 * and the wire, and exits with the child's status.  Returns 0 or -errno. */
int supervisor_start(int in, int out);
/* supervisor_beat - the agent is alive; its next beat follows within @within_ns (0: no limit). */
void supervisor_beat(uint64_t within_ns);

#endif
