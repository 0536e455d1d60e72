/* SPDX-License-Identifier: BSD-3-Clause */
/* ld.h - declarations shared by the files of the linker (ld.c). */
#ifndef TW_TOOLS_COMPILE_LD_H
#define TW_TOOLS_COMPILE_LD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#include "tools/compile/placed.h"

/* Arguments that grow. */
struct ld_words {
	const char **word;
	size_t n, room;
};

/* ---- ld_run.c: an error ends the process with a sentence
 * ld_fail - end it so.
 * ld_add, ld_add_all - append arguments; @words ends with NULL.
 * ld_run - run a command and wait.  Returns its exit status; 1 when it has none.
 * ld_wait - wait for a child, or for none where fork has failed.  Returns the same.
 * ld_temporary - the path of a file of this process, whose folder is removed at its end; allocated.
 * ld_create, ld_close - write a file. */
void ld_fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
void ld_add(struct ld_words *w, const char *word);
void ld_add_all(struct ld_words *w, const char *const *words);
int ld_run(struct ld_words *w);
int ld_wait(pid_t child);
const char *ld_temporary(const char *name);
FILE *ld_create(const char *path);
void ld_close(FILE *f, const char *path);

/* ---- ld_copies.c
 * ld_is_gcc, ld_is_tweed - is @path one of the files that gcc adds, or one of Tweed's?
 * ld_foreign - the argument in place of @word for the object or archive @path: if Tweed's compilers have not made it, a
 * copy that calls those of @threads for POSIX threads and sleeps, and whose atomic instructions the run-time performs;
 * or @word.
 * ld_take_emulation - if there was such a copy with such instructions, link the run-time's part for them.
 * ld_unwrapped - returns a copy of an archive of Tweed's, whose own calls are not among those that the program
 * @wraps.
 * ld_copy_name - the path of a new file for a copy of @path. */
bool ld_is_gcc(const char *path);
bool ld_is_tweed(const char *path);
const char *ld_foreign(const char *path, const char *word, const struct library_file *threads);
void ld_take_emulation(struct ld_words *link);
const char *ld_unwrapped(const char *path, const struct ld_words *wraps);
const char *ld_copy_name(const char *path);

/* ---- ld_archives.c
 * ld_archives_choose - @paths: the program's arguments that are files, with those that -lNAME names.  Returns whether
 * an archive takes the place of any shared library.
 * ld_archives_drop - the link failed with these messages (--no-demangle): do without the archives that they blame.
 * Returns whether another link is worth a try.
 * ld_archive - if one takes the place of the library @path, link it, and what the library needs.  Returns whether. */
bool ld_archives_choose(const struct ld_words *paths);
bool ld_archives_drop(const char *messages);
bool ld_archive(const char *path, struct ld_words *link, const struct library_file *threads);

/* ---- ld_sections.c
 * ld_sections - remember the sections with variables, of names of the program's own, that the file @path has.
 * ld_sections_place - place those among the program's global variables. */
void ld_sections(const char *path);
void ld_sections_place(struct ld_words *link);

/* ---- ld_names.c
 * ld_names_find - remember which functions of the file @path have names of the C library's, if it is the program's.
 * ld_names_any - are there any?
 * ld_names_copy - then: the file to be linked in place of @path, where these have names of their own; or @path. */
void ld_names_find(const char *path);
bool ld_names_any(void);
const char *ld_names_copy(const char *path);

#endif
