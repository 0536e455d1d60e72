/* SPDX-License-Identifier: BSD-3-Clause */
/* transports.c - every transport, by name.  The list is explicit because a linker drops unreferenced objects of a
 * static library. */
#include "net/transports.h"

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

static struct tw_found found;

const char *tw_transport_why(void)
{
	return found.why;
}

const struct tw_transport *tw_transport_find(const char *text)
{
	for (const struct tw_transport *const *t = transports_all; *t; t++)
		if (tw_found_names(text, (*t)->name))
			return tw_found_set(&found, "transport", (*t)->name, (*t)->parameters, (*t)->values, NULL,
			                    text) < 0
			           ? NULL
			           : *t;
	tw_found_none(&found, "transport", text);
	return NULL;
}
