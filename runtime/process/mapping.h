/* SPDX-License-Identifier: BSD-3-Clause */
/* mapping.h - mmap and its kin: what the program maps is memory of all of its threads. */
#ifndef TW_RUNTIME_PROCESS_MAPPING_H
#define TW_RUNTIME_PROCESS_MAPPING_H

#include <stdbool.h>

/* th_mapping_open - collective, after th_heap_open on processor 0.
 * th_segments_open - the same, for System V's shared memory (segments.c).
 * th_mapping_fork, th_segments_fork - before a fork: the child may not store to what it would share with its parent.
 * th_executable_open - the program may store code in shared memory (settings/executable.c).
 * th_executable_allow - the right to execute was asked for: every processor may execute what is there, on return.
 * Returns false where the fault backend forbids it.  In the job only.  [sync]
 * th_mapping_end - at the end of the program: store what was changed in shared mappings of files. */
void th_mapping_open(void);
void th_segments_open(void);
void th_executable_open(void);
bool th_executable_allow(void);
void th_mapping_fork(void);
void th_segments_fork(void);
void th_mapping_end(void);

#endif
