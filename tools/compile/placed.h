/* SPDX-License-Identifier: BSD-3-Clause */
/* placed.h - shared libraries that contain the object they were made of (ld.c): what is in their files. */
#ifndef TW_TOOLS_COMPILE_PLACED_H
#define TW_TOOLS_COMPILE_PLACED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LIBRARY_OBJECT ".tweed.object" /* sections: the object, and what it needs, as texts that end by a zero */
#define LIBRARY_NEEDS  ".tweed.needs"

enum library_kind { LIBRARY_NONE, LIBRARY_OTHER, LIBRARY_REL, LIBRARY_DYN, LIBRARY_ARCHIVE, LIBRARY_THIN };

/* A mapped file. */
struct library_file {
	char *at;
	size_t bytes;
	enum library_kind kind; /* NONE: it cannot be read; OTHER: a linker's script; THIN: an archive of names */
};

struct library_file library_open(const char *path);
void library_close(struct library_file *f);

/* library_section - the contents of the section @name; NULL: there is none. */
const char *library_section(const struct library_file *f, const char *name, size_t *bytes);

/* What the following call with a name, or a path. */
typedef void library_each(const char *name, void *arg);

/* library_symbols - call @each for every global symbol that the file defines: for a shared library, those that it
 * exports; for an archive, those of its index.
 * library_sections - call @each for the name of every section. */
void library_symbols(const struct library_file *f, library_each *each, void *arg);
void library_sections(const struct library_file *f, library_each *each, void *arg);

/* library_variables - call @each for the names of the sections with variables, not those of each thread, that the
 * object or the archive @path has; some more than once. */
void library_variables(const char *path, library_each *each, void *arg);

/* library_members - call @each for the files that the thin archive @path names. */
void library_members(const char *path, library_each *each, void *arg);

/* library_dynamic - call @each for the texts of a shared library's dynamic section that have the tag: DT_NEEDED,
 * DT_SONAME. */
void library_dynamic(const struct library_file *f, long tag, library_each *each, void *arg);

/* library_weaken - in the object file @path, make weak what is unique: C++'s static variables of inline functions,
 * which objcopy would not make local. */
void library_weaken(const char *path);

#endif
