/* SPDX-License-Identifier: BSD-3-Clause */
/* exits.h - functions to be called at the program's end: atexit, on_exit, at_quick_exit, C++'s destructors. */
#ifndef TW_RUNTIME_PROCESS_EVENTS_EXITS_H
#define TW_RUNTIME_PROCESS_EVENTS_EXITS_H

/* th_exits_open - from now on the program has one list of them.  Collective; before the program runs.
 * th_exits_touch - read the lists, so that a child of fork() gets a copy.
 * th_exits_run - exit(@status): call what is left, the newest first.
 * th_exits_close - the lists' memory goes. */
void th_exits_open(void);
void th_exits_touch(void);
void th_exits_run(int status);
void th_exits_close(void);

#endif
