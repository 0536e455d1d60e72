/* SPDX-License-Identifier: BSD-3-Clause */
/* nofile.h - the limit of open files: ours is the highest that we may have, the program's what the user gave. */
#ifndef TW_TOOLS_NOFILE_H
#define TW_TOOLS_NOFILE_H

/* nofile_raise - the soft limit of this process becomes the hard one.
 * nofile_given - what it was before.
 * nofile_restore - give it to this process, which is about to exec.  Async-signal-safe. */
void nofile_raise(void);
unsigned long nofile_given(void);
void nofile_restore(unsigned long soft);

/* nofile_check - can this process have @files descriptors?  0, or -EMFILE, said with what @whose needs. */
int nofile_check(unsigned files, const char *whose);
/* nofile_short - say the same of @files that cannot be had. */
void nofile_short(unsigned files, const char *whose);

#endif
