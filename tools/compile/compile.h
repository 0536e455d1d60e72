/* SPDX-License-Identifier: BSD-3-Clause */
/* compile.h - shared by the commands that run compilers.
 *
 * cc.c        `tweed cc`, `tweed c++`, `tweed omp`
 * oshcc.c     `tweed oshcc`, `tweed oshc++`
 * compiler.c  the compiler that CC or CXX names
 * response.c  arguments in files: @FILE
 * foreign.c   atomic instructions in files of other compilers
 * as.c, ld.c  the assembler and the linker that gcc finds; waits.h: waiting loops; placed.h: libraries */
#ifndef TW_TOOLS_COMPILE_COMPILE_H
#define TW_TOOLS_COMPILE_COMPILE_H

#include <stdbool.h>
#include <stddef.h>

#define COMPILE_MADE ".tweed.made" /* a section of each object that as.c has passed on */

enum compiler_kind { COMPILER_UNKNOWN, COMPILER_GCC, COMPILER_CLANG };

/* compile_join - the three texts as one; allocated. */
char *compile_join(const char *a, const char *b, const char *c);

/* compiler_words - the words of CC, or of CXX (@cxx): "ccache gcc".  Those of @fallback if the variable is not set, or
 * names this command: a makefile or CMake exports CC.  Returns their number, at most @max. */
size_t compiler_words(bool cxx, const char *fallback, const char **words, size_t max);

/* compiler_file - the file that the shell would run for @name; allocated; NULL: none.
 * compiler_in_path - would the shell find the command @name? */
char *compiler_file(const char *name);
bool compiler_in_path(const char *name);

/* compiler_kind - the kind of a compiler, by its name, or else by running it.  COMPILER_UNKNOWN: printed. */
enum compiler_kind compiler_kind(bool cxx, const char *const *words, size_t n);

/* compiler_count - the option of a compiler of @kind for code that counts its work, for virtual time. */
const char *compiler_count(enum compiler_kind kind);

/* compiler_linker - the option by which the compiler finds Tweed's linker (ld.c); allocated. */
char *compiler_linker(void);

/* compile_arguments - @argv, ended by NULL, with the contents of each @FILE in its place, as gcc reads them; the rest
 * is unchanged, as is a file that cannot be read.  *@n: their number. */
char **compile_arguments(char **argv, size_t *n);

/* foreign_find - the instructions of the object or archive @path that the run-time must perform: the bytes to replace,
 * by their places in the file, and by what.  None: there are none, or there is no objdump.  The caller frees byte. */
struct foreign_byte {
	size_t at;
	unsigned char by;
};
struct foreign_code {
	struct foreign_byte *byte;
	size_t n, room;
	bool spins; /* it waits in loops with pause */
};
struct foreign_code foreign_find(const char *path);

#endif
