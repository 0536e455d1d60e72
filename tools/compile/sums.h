/* SPDX-License-Identifier: BSD-3-Clause */
/* sums.h - atomic operations of a function whose results are not used, in gcc's assembler with patterns (-dP).  For
 * as.c. */
#ifndef TW_TOOLS_COMPILE_SUMS_H
#define TW_TOOLS_COMPILE_SUMS_H

/* sums_find - find them.  @text: the function behind .cfi_startproc, lines that end with a newline; it must stay in
 * place. */
void sums_find(const char *text);

/* sums_call - returns the function that the call, whose line begins at @line, is to call in place of the one it names;
 * NULL: that one.  Lines are asked for in order. */
const char *sums_call(const char *line);

#endif
