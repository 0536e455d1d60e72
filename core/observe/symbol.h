/* SPDX-License-Identifier: BSD-3-Clause */
/* symbol.h - names of a program's instructions and variables. */
#ifndef TW_CORE_OBSERVE_SYMBOL_H
#define TW_CORE_OBSERVE_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What the linker (tools/compile/ld_names.c) adds to names of the program's functions; left out in texts. */
#define TW_SYMBOL_OWN ".own"

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
/* tw_symbol_of_process - the same for the instruction at @ip of process @pid.  Allocates.  Fast while @pid is the same
 * as in the previous call, here or below. */
void tw_symbol_of_process(pid_t pid, uintptr_t ip, char *out, size_t bytes);

/* One of the functions that a thread is in.  @ip: the instruction, or the call, that it is at.  @of: the program's own
 * code or a library of it; Tweed's; the libraries of C and C++, and the kernel's. */
enum tw_frame_of { TW_FRAME_PROGRAM, TW_FRAME_TWEED, TW_FRAME_COMMON };
struct tw_frame {
	uintptr_t ip;
	enum tw_frame_of of;
};
#define TW_FRAMES    64u /* most that are looked at, from the innermost one */
#define TW_REGISTERS 17u /* by their numbers in DWARF; x86-64: the last one is the instruction pointer */

/* tw_symbol_unwind - the functions that thread @tid of process @pid is in, by its registers.  Nothing in the process
 * may change meanwhile.  Returns how many; 0: unknown.  Allocates.
 * tw_symbol_threads - call @each for every thread of process @pid, which is stopped for a moment (ptrace).  Returns 0
 * or -errno; -ENOSYS: libdw is missing.  Allocates. */
/* tw_symbol_built - the folder in which Tweed was built, for these; NULL: none of the functions is TW_FRAME_TWEED. */
extern const char *tw_symbol_built;
unsigned tw_symbol_unwind(pid_t pid, pid_t tid, const uint64_t registers[TW_REGISTERS],
                          struct tw_frame frame[TW_FRAMES]);
int tw_symbol_threads(pid_t pid, void (*each)(void *ctx, const struct tw_frame *frame, unsigned frames), void *ctx);
/* tw_symbol_variables - call @each for the variables of that file with addresses in [@from, @to). Allocates. */
void tw_symbol_variables(const char *path, uintptr_t from, uintptr_t to,
                         void (*each)(void *ctx, const char *name, uintptr_t address, size_t bytes), void *ctx);

#endif
