/* SPDX-License-Identifier: BSD-3-Clause */
/* agent.h - the agent's part of a process. */
#ifndef TW_TOOLS_AGENT_AGENT_H
#define TW_TOOLS_AGENT_AGENT_H

#include <stdint.h>

/* agent_run - be the agent of the launcher at the other end of @in and @out, to the job's end; does not return.  @secret: the job's, or
 * NULL: JOB brings it. */
void agent_run(int in, int out, const uint8_t *secret) __attribute__((noreturn));

#endif
