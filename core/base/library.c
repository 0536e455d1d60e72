/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/base/library.h"

#include <dlfcn.h>
#include <stddef.h>

void tw_dispositions_save(struct tw_dispositions *all)
{
	for (int s = 1; s < NSIG; s++)
		sigaction(s, NULL, &all->action[s]); /* fails for two signals that the C library reserves */
}

void tw_dispositions_restore(const struct tw_dispositions *all)
{
	struct sigaction now;

	for (int s = 1; s < NSIG; s++)
		if (sigaction(s, NULL, &now) == 0 && now.sa_sigaction != all->action[s].sa_sigaction)
			sigaction(s, &all->action[s], NULL);
}

void *tw_library_open(const char *name)
{
	struct tw_dispositions before;

	tw_dispositions_save(&before);
	void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	tw_dispositions_restore(&before);
	return library;
}
