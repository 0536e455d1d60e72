/* SPDX-License-Identifier: BSD-3-Clause */
/* stack.h - the functions of the program on a thread's stack, as text. */
#ifndef TW_TOOLS_CRASH_STACK_H
#define TW_TOOLS_CRASH_STACK_H

#include <stdbool.h>

#include "core/observe/crash.h"
#include "core/observe/symbol.h"

/* stack_unwind - the functions that the crashed thread is in, the innermost one first.  Returns how many.
 * stack_program - the number of the first one that is the program's; @frames: there is none.
 * stack_called - the name alone of what the program's innermost function, number @first, has called.  False: nothing,
 * or what Tweed's compiler has inserted.  An exception that nothing catches: __cxa_throw.
 * stack_callers - those of the program from @from on, the next callers first, "a+0x12 (a.c:3), main+0x34 (a.c:9)"; ""
 * where there is none. */
unsigned stack_unwind(const struct tw_crash *c, struct tw_frame frame[TW_FRAMES]);
unsigned stack_program(const struct tw_frame *frame, unsigned frames);
bool stack_called(pid_t pid, const struct tw_frame *frame, unsigned first, char *out, size_t bytes);
void stack_callers(pid_t pid, const struct tw_frame *frame, unsigned frames, unsigned from, char *out, size_t bytes);

#endif
