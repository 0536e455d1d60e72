/* SPDX-License-Identifier: BSD-3-Clause */
/* transports.c - every transport, by name.  The list is explicit because a linker drops unreferenced objects of a
 * static library. */
#include "net/transports.h"

#include <stdio.h>
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

static char refused[512];

const char *tw_transport_why(void)
{
	return refused;
}

static bool transport_set(const struct tw_transport *t, const char *text)
{
	static char found[96];
	size_t name = strlen(t->name);

	if (!t->parameters) {
		snprintf(refused, sizeof(refused), "transport %s has no parameters", t->name);
		return !text[name];
	}
	if (strcmp(text, found) == 0)
		return true;
	found[0] = '\0';
	tw_parameters_init(t->values, t->parameters);
	if (text[name] &&
	    tw_parameters_set(t->values, t->parameters, t->name, text + name + 1, refused, sizeof(refused)) < 0)
		return false;
	snprintf(found, sizeof(found), "%s", text);
	return true;
}

const struct tw_transport *tw_transport_find(const char *text)
{
	size_t len = strcspn(text, ":");

	for (size_t i = 0; transports_all[i]; i++)
		if (strlen(transports_all[i]->name) == len && strncmp(transports_all[i]->name, text, len) == 0)
			return transport_set(transports_all[i], text) ? transports_all[i] : NULL;
	snprintf(refused, sizeof(refused), "there is no transport '%.*s'; 'tweed info' lists them",
	         len < 64 ? (int)len : 64, text);
	return NULL;
}
