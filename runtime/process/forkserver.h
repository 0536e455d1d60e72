/* SPDX-License-Identifier: BSD-3-Clause */
/* forkserver.h - the processors of one host share one table of descriptors, as threads of a process do. */
#ifndef TW_RUNTIME_PROCESS_FORKSERVER_H
#define TW_RUNTIME_PROCESS_FORKSERVER_H

#include "core/job/boot.h"

/* th_fork_server - called by a process that an agent has started, before it joins the job and before it has threads.
 * Returns in the process that becomes the processor: forked by the host's fork server, or the caller itself where it is
 * the job's only processor.  Returns what that joins the job with.  The process that the agent has started waits for
 * that one, and ends as it ends. */
const struct tw_boot *th_fork_server(void);

#endif
