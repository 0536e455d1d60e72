/* SPDX-License-Identifier: BSD-3-Clause */
/* list.c - the protocols there are.  A new one is added here and nowhere else. */
#include <string.h>

#include "tweed/driver/protocol.h"

extern const struct tw_protocol tw_protocol_2l, tw_protocol_none;

static const struct tw_protocol *const protocols[] = {&tw_protocol_2l, &tw_protocol_none, NULL};

const struct tw_protocol *const *tw_protocol_list(void)
{
	return protocols;
}

const struct tw_protocol *tw_protocol_find(const char *name)
{
	for (const struct tw_protocol *const *p = protocols; *p; p++)
		if (strcmp((*p)->name, name) == 0)
			return *p;
	return NULL;
}
