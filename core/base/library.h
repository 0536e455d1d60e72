/* SPDX-License-Identifier: BSD-3-Clause */
/* library.h - libraries that are loaded at run time, and their effect on signals.
 *
 * Some libraries install handlers for crash signals and for Ctrl-C when loaded, print their own report and exit with
 * another status. The program and its parent process must see these signals as they would without the library. */
#ifndef TW_CORE_BASE_LIBRARY_H
#define TW_CORE_BASE_LIBRARY_H

#include <signal.h>

/* The actions of all signals. */
struct tw_dispositions {
	struct sigaction action[NSIG];
};

/* tw_dispositions_save, tw_dispositions_restore - bracket calls into a library that must not change signal actions. */
void tw_dispositions_save(struct tw_dispositions *all);
void tw_dispositions_restore(const struct tw_dispositions *all);

/* tw_library_open - dlopen(@name, RTLD_NOW | RTLD_LOCAL) that leaves all signal actions unchanged. Returns NULL on
 * error: see dlerror(). */
void *tw_library_open(const char *name);

#endif
