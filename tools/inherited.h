/* SPDX-License-Identifier: BSD-3-Clause */
/* inherited.h - descriptors that the caller of `tweed run` has open besides the standard ones (a shell's 3>file, the
 * pipes of a parent process).  They belong to the program: processor 0 of node 0 gets them, under their numbers. */
#ifndef TW_TOOLS_INHERITED_H
#define TW_TOOLS_INHERITED_H

#include "core/job/boot.h"

/* inherited_find - find them: what is open but would not survive an exec, and @except, are this process's own.  Makes
 * them close-on-exec.  Called once, before other threads open descriptors.
 * inherited_pass - in a child that is about to exec: they survive that.  Async-signal-safe.
 * inherited_close - close them, because another process has them now: a pipe ends only when all have closed it.
 * inherited_numbers - those below @first, for struct tw_boot. */
void inherited_find(int except);
void inherited_pass(void);
void inherited_close(void);
void inherited_numbers(uint64_t bits[TW_BOOT_INHERITED / 64], unsigned first);

#endif
