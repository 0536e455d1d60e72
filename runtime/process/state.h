/* SPDX-License-Identifier: BSD-3-Clause */
/* state.h - what the C library keeps once in a process. */
#ifndef TW_RUNTIME_PROCESS_STATE_H
#define TW_RUNTIME_PROCESS_STATE_H

#include <sys/types.h>

/* th_state_begin - before the job: Tweed's libraries keep the environment of this moment.
 * th_state_words - returns a copy of the @words (argv, environ), the array and the texts, in shared memory. */
void th_state_begin(void);
char **th_state_words(char **words);

/* th_state_open - the program's processors share the state from now on.  Collective; before the program runs. */
void th_state_open(void);

/* th_state_pid - getpid() of the program. */
pid_t th_state_pid(void);

#endif
