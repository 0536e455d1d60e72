/* SPDX-License-Identifier: BSD-3-Clause */
/* symbol.h - names of a program's instructions and variables. */
#ifndef TW_CORE_OBSERVE_SYMBOL_H
#define TW_CORE_OBSERVE_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* This process's program. An address minus @base is an address in its file. */
struct tw_symbol_program {
	uintptr_t base, end;
};
void tw_symbol_program(struct tw_symbol_program *program);

/* tw_symbol_text - write "function+0x12 (file.c:34)" for the instruction at @ip, as far as known. Allocates. */
void tw_symbol_text(uintptr_t ip, char *out, size_t bytes);
/* tw_symbol_of_file - the same for the instruction at @address of the program's file @path, which must be the same in
 * every call. Allocates. */
void tw_symbol_of_file(const char *path, uintptr_t address, char *out, size_t bytes);
/* tw_symbol_of_process - the same for the instruction at @ip of process @pid, which must be the same in every call.
 * Allocates. */
void tw_symbol_of_process(pid_t pid, uintptr_t ip, char *out, size_t bytes);
/* tw_symbol_variables - call @each for the variables of that file with addresses in [@from, @to). Allocates. */
void tw_symbol_variables(const char *path, uintptr_t from, uintptr_t to,
                         void (*each)(void *ctx, const char *name, uintptr_t address, size_t bytes), void *ctx);

#endif
