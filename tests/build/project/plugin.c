/* SPDX-License-Identifier: BSD-3-Clause */
/* plugin.c - loaded by dlopen: uses the program's library, and memory that the program frees. */
#include <stdio.h>
#include <stdlib.h>

#include "tally.h"

char *plugin_text(int n);

char *plugin_text(int n)
{
	char *text = malloc(64);

	if (text)
		snprintf(text, 64, "plugin %d, %d", n, tally_count());
	return text;
}
