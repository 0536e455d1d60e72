/* SPDX-License-Identifier: BSD-3-Clause */
/* program_heap.h - the process's heap: what the program and its libraries allocate is shared memory. */
#ifndef TW_RUNTIME_PROCESS_PROGRAM_HEAP_H
#define TW_RUNTIME_PROCESS_PROGRAM_HEAP_H

#include <stdbool.h>
#include <stddef.h>

/* th_heap_open - from now on allocations are shared: until th_heap_main those of the caller's thread, too, which opens
 * the program's streams. */
void th_heap_open(void);
void th_heap_main(void);

/* th_heap_shares - does the code that returns to @caller allocate for the program?  It does on a stack that is shared
 * memory, during the job, except if it is Tweed's or one of Tweed's libraries'. */
bool th_heap_shares(const void *caller);

/* th_heap_private - until it is called with false, the calling thread's allocations are private. */
void th_heap_private(bool own);

/* th_heap_at - is @ptr in shared memory?  After the job, too. */
bool th_heap_at(const void *ptr);

/* th_heap_take - malloc(@bytes), aligned to @align if that is not 0, on behalf of @caller. */
void *th_heap_take(size_t align, size_t bytes, const void *caller);

#endif
