/* SPDX-License-Identifier: BSD-3-Clause */
/* library.h - libraries that are loaded at run time, and what they do to signals.
 *
 * Some take the signals of crashes and of Ctrl-C when they are loaded, print a report of their own and exit with another status.  The
 * program, and whoever started it, must see these signals as they would without the library. */
#ifndef TW_CORE_BASE_LIBRARY_H
#define TW_CORE_BASE_LIBRARY_H

#include <signal.h>

/* What all signals do. */
struct tw_dispositions {
	struct sigaction action[NSIG];
};

/* tw_dispositions_save, tw_dispositions_restore - around calls into a library that has no business with signals. */
void tw_dispositions_save(struct tw_dispositions *all);
void tw_dispositions_restore(const struct tw_dispositions *all);

/* tw_library_open - dlopen(@name, RTLD_NOW | RTLD_LOCAL); signals do what they did before.  NULL: see dlerror(). */
void *tw_library_open(const char *name);

#endif
