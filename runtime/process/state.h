/* SPDX-License-Identifier: BSD-3-Clause */
/* state.h - what the C library keeps once in a process. */
#ifndef TW_RUNTIME_PROCESS_STATE_H
#define TW_RUNTIME_PROCESS_STATE_H

#include <sys/types.h>

/* th_state_begin - before the job: Tweed's libraries keep the environment of this moment. */
void th_state_begin(void);

/* th_state_open - the program's processors share the state from now on; processor 0's *@argv moves to shared memory.
 * Collective; before the program runs. */
void th_state_open(char ***argv);

/* th_state_pid - getpid() of the program. */
pid_t th_state_pid(void);

#endif
