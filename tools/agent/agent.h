/* SPDX-License-Identifier: BSD-3-Clause */
/* agent.h - runs the agent in this process. */
#ifndef TW_TOOLS_AGENT_AGENT_H
#define TW_TOOLS_AGENT_AGENT_H

#include <stdint.h>

/* agent_run - be the agent of the launcher at the other end of @in and @out until the job ends; does not return.
 * @secret: the job's, or NULL: JOB contains it. */
void agent_run(int in, int out, const uint8_t *secret) __attribute__((noreturn));

#endif
