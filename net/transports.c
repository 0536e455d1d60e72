/* SPDX-License-Identifier: BSD-3-Clause */
/* transports.c - every transport, by name.  The list is explicit because a linker drops unreferenced objects of a
 * static library. */
#include "net/transports.h"

#include <string.h>

static const struct tw_transport *const transports_all[] = {
    &tw_transport_shm,
    &tw_transport_sim,
#ifdef TW_OFI
    &tw_transport_ofi,
    &tw_transport_sim_ofi,
#endif
#ifdef TW_VERBS
    &tw_transport_verbs,
    &tw_transport_sim_verbs,
#endif
    NULL,
};

const struct tw_transport *const *tw_transport_list(void)
{
	return transports_all;
}

const struct tw_transport *tw_transport_find(const char *name)
{
	for (size_t i = 0; transports_all[i]; i++)
		if (strcmp(transports_all[i]->name, name) == 0)
			return transports_all[i];
	return NULL;
}
