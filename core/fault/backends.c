/* SPDX-License-Identifier: BSD-3-Clause */
/* backends.c - the fault backends by name, fastest first. */
#include "core/fault/uffd.h"

#include <string.h>

static const struct tw_fault_ops *const list_all[] = {&tw_fault_uffd, &tw_fault_mprotect, &tw_fault_uffd_monitor, NULL};

const struct tw_fault_ops *const *tw_fault_list(void)
{
	return list_all;
}

const struct tw_fault_ops *tw_fault_find(const char *name)
{
	bool any = !name || strcmp(name, "auto") == 0;
	char why[128];

	for (const struct tw_fault_ops *const *f = list_all; *f; f++)
		if (any ? (*f)->probe(why, sizeof(why)) == 0 : strcmp((*f)->name, name) == 0)
			return *f;
	return NULL;
}
