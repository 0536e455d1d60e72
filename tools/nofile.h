/* SPDX-License-Identifier: BSD-3-Clause */
/* nofile.h - the limit of open files: this process uses the highest allowed one, the program the user's. */
#ifndef TW_TOOLS_NOFILE_H
#define TW_TOOLS_NOFILE_H

/* nofile_raise - raise this process's soft limit to the hard one.
 * nofile_given - the soft limit before.
 * nofile_restore - restore it in this process, which is about to exec.  Async-signal-safe. */
void nofile_raise(void);
unsigned long nofile_given(void);
void nofile_restore(unsigned long soft);

/* nofile_check - can this process have @files descriptors?  0, or -EMFILE, printed with what @whose needs. */
int nofile_check(unsigned files, const char *whose);
/* nofile_short - print the same message about @files. */
void nofile_short(unsigned files, const char *whose);

#endif
