/* SPDX-License-Identifier: BSD-3-Clause */
/* waits.h - loops of a function, in gcc's assembler with patterns (-dP), that pause, yield or sleep until a plain
 * variable has changed.  For as.c. */
#ifndef TW_TOOLS_COMPILE_WAITS_H
#define TW_TOOLS_COMPILE_WAITS_H

#include <stdbool.h>

/* waits_find - find the loads on which such loops depend, and the copies of these loads that gcc makes in front of the
 * loops.  @text: the function behind .cfi_startproc, lines that end with a newline; it must stay in place. */
void waits_find(const char *text);

/* waits_load - is the instruction whose line begins at @line one of these loads?  Lines are asked for in order. */
bool waits_load(const char *line);

#endif
