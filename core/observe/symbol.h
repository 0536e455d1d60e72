/* SPDX-License-Identifier: BSD-3-Clause */
/* symbol.h - the names of a program's instructions. */
#ifndef TW_CORE_OBSERVE_SYMBOL_H
#define TW_CORE_OBSERVE_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The program of this process: an address less @base is one of its file. */
struct tw_symbol_program {
	uintptr_t base, end;
};
void tw_symbol_program(struct tw_symbol_program *program);

/* tw_symbol_text - "function+0x12 (file.c:34)" for the instruction at @ip, with what is known of it.  Allocates. */
void tw_symbol_text(uintptr_t ip, char *out, size_t bytes);
/* tw_symbol_of_file - the same for the instruction at @address of the program's file @path, which is the same in every
 * call.  Allocates. */
void tw_symbol_of_file(const char *path, uintptr_t address, char *out, size_t bytes);
/* tw_symbol_variables - call @each for those variables of that file whose addresses are in [@from, @to).  Allocates. */
void tw_symbol_variables(const char *path, uintptr_t from, uintptr_t to,
                         void (*each)(void *ctx, const char *name, uintptr_t address, size_t bytes), void *ctx);

#endif
