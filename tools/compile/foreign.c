/* SPDX-License-Identifier: BSD-3-Clause */
/* foreign.c - atomic instructions in files that other compilers have made: within one node they are atomic, between
 * nodes they are not, and Tweed's assembler has not seen them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/compile/compile.h"

void foreign_atomics(const char *path, char *name, size_t room)
{
	const char *base = strrchr(path, '/');
	char file[128] = "", *line = NULL;
	size_t bytes = 0;
	FILE *text;

	base = base ? base + 1 : path;
	setenv("TWEED_FILE", path, 1);
	text = popen("objdump -d --no-show-raw-insn -- \"$TWEED_FILE\"", "re");
	unsetenv("TWEED_FILE");
	while (text && !*name && getline(&line, &bytes, text) > 0) {
		const char *end = strstr(line, ":     file format");
		if (end)
			snprintf(file, sizeof(file), "%.*s", (int)(end - line), line);
		else if (strstr(line, "\tlock or") && strstr(line, "$0x0,(%rsp)"))
			continue; /* a fence */
		else if (strstr(line, "\tlock ") || (strstr(line, "\txchg ") && strchr(line, '(')))
			snprintf(name, room, strcmp(file, path) ? "%.100s(%s)" : "%.100s", base, file);
	}
	free(line);
	if (text)
		pclose(text);
}
