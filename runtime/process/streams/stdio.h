/* SPDX-License-Identifier: BSD-3-Clause */
/* stdio.h - streams (FILE) of the program: one for all of its threads. */
#ifndef TW_RUNTIME_PROCESS_STDIO_H
#define TW_RUNTIME_PROCESS_STDIO_H

#include <stdbool.h>

/* th_stdio_open - standard input, output and error become streams that all processors share.  Collective; after
 * th_heap_open on processor 0, before others run parts of the program.
 * th_stdio_flush - at the end of the program, or of a child: flush the streams that no other thread holds, or all
 * (@force).  Returns whether no other thread holds any.
 * th_stdio_abandon - the calling thread ends in the midst of a call: unlock the streams that it has locked.
 * th_stdio_touch - read all streams, so that a child of fork() gets a copy.
 * th_stdio_close - the calling processor has the C library's own standard streams again. */
void th_stdio_open(void);
bool th_stdio_flush(bool force);
void th_stdio_abandon(void);
void th_stdio_touch(void);
void th_stdio_close(void);

#endif
