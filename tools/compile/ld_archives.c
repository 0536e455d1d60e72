/* SPDX-License-Identifier: BSD-3-Clause */
/* ld_archives.c - archives in place of shared libraries that other compilers have made.
 *
 * What a shared library stores in its own variables only one processor sees, and threads that it starts are not
 * Tweed's.  If its archive lies beside it, as in the packages that programs are built with, the program is linked with
 * that: then the variables are the program's, and the threads Tweed's.  The library stays where that is of no use (it
 * has no variables, threads or locks, and needs no archive), where there would be two copies (another library of the
 * program uses the shared one), and where the link fails with it. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/base.h"
#include "tools/compile/compile.h"
#include "tools/compile/ld.h"
#include "tools/compile/placed.h"

#define ARCHIVES       64
#define ARCHIVE_LEVELS 8u
#define ARCHIVE_BYTES  ((size_t)4 << 20) /* most */
#define ARCHIVE_MEMORY 64                /* variables of fewer bytes are the compiler's own */

struct archive_library {
	const char *path, *archive; /* archive: NULL: the shared library is linked */
	const char *soname;
	struct ld_words needs;
	bool useful;  /* as an archive */
	bool program; /* the program names it; else another library needs it */
};

static struct archive_library archives[ARCHIVES];
static size_t archives_n;

static void archive_text(const char *name, void *arg)
{
	ld_add(arg, strdup(name));
}

/* One of the compiler's, of the C library's, or of those that Tweed uses. */
static bool archive_is_system(const char *base)
{
	static const char *const names[] = {
	    "c",     "m",      "mvec",   "pthread",  "dl",      "rt",     "util",  "resolv",  "nsl",      "anl",
	    "crypt", "stdc++", "gcc",    "gomp",     "atomic",  "asan",   "ubsan", "tsan",    "quadmath", "gfortran",
	    "itm",   "ssp",    "fabric", "jemalloc", "ibverbs", "rdmacm", "hwloc", "jansson", "pmix",     "dw"};

	if (strncmp(base, "lib", 3) != 0)
		return true; /* ld-linux */
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t n = strlen(names[i]);
		if (strncmp(base + 3, names[i], n) == 0 && (base[3 + n] == '.' || base[3 + n] == '_'))
			return true;
	}
	return strncmp(base, "libtweed", 8) == 0;
}

/* Has it variables, threads or locks?  A shared library's are the process' own. */
static bool archive_useful(const struct library_file *f)
{
	static const char *const kinds[] = {".data", ".bss", ".tdata", ".tbss"};
	size_t memory = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		size_t bytes = 0;
		library_section(f, kinds[i], &bytes);
		memory += bytes;
	}
	return memory > ARCHIVE_MEMORY || memmem(f->at, f->bytes, "\0pthread_create", 16) ||
	       memmem(f->at, f->bytes, "\0pthread_mutex_lock", 20) || memmem(f->at, f->bytes, "\0pthread_rwlock_", 16);
}

/* The archive that can take the library's place; allocated; NULL: none. */
static char *archive_beside(const struct library_file *f, const char *path)
{
	const char *base = strrchr(path, '/'), *end = strstr(base, ".so"); /* CMake names libNAME.so.VERSION */
	char *archive = NULL;

	if (!end || (end[3] && end[3] != '.') || memmem(f->at, f->bytes, COMPILE_MADE, sizeof(COMPILE_MADE)))
		return NULL;
	archive = compile_join(strndup(path, (size_t)(end - path)), ".a", "");
	struct library_file a = library_open(archive);
	bool fit = a.kind == LIBRARY_ARCHIVE && a.bytes <= ARCHIVE_BYTES;
	library_close(&a);
	if (fit)
		return archive;
	free(archive);
	return NULL;
}

/* Add the shared library at @path: one of the @program's arguments, or one that such a library needs. */
static void archive_add(const char *path, bool program)
{
	struct library_file f = library_open(path);
	struct ld_words soname = {0};
	size_t bytes;

	for (size_t i = 0; i < archives_n; i++)
		if (strcmp(archives[i].path, path) == 0) {
			library_close(&f);
			return;
		}
	if (archives_n < ARCHIVES && f.kind == LIBRARY_DYN && !library_section(&f, LIBRARY_OBJECT, &bytes)) {
		struct archive_library *l = &archives[archives_n++];
		l->path = path;
		library_dynamic(&f, DT_SONAME, archive_text, &soname);
		library_dynamic(&f, DT_NEEDED, archive_text, &l->needs);
		l->soname = soname.n ? soname.word[0] : strrchr(path, '/') + 1;
		l->program = program;
		l->useful = archive_useful(&f);
		l->archive = program || l->useful ? archive_beside(&f, path) : NULL;
	}
	library_close(&f);
}

static bool archive_needs(const struct archive_library *l, const char *soname)
{
	for (size_t i = 0; i < l->needs.n; i++)
		if (strcmp(l->needs.word[i], soname) == 0)
			return true;
	return false;
}

static struct archive_library *archive_of(const char *soname)
{
	for (size_t i = 0; i < archives_n; i++)
		if (strcmp(archives[i].soname, soname) == 0)
			return &archives[i];
	return NULL;
}

/* Is the archive of use, or does it need one, and is the shared library not needed? */
static bool archive_fits(const struct archive_library *l)
{
	bool useful = l->useful;

	for (size_t k = 0; k < archives_n; k++) {
		if (!archives[k].archive && archive_needs(&archives[k], l->soname))
			return false;
		useful = useful || (archives[k].archive && archive_needs(l, archives[k].soname));
	}
	return useful;
}

/* Leave out those that do not fit.  Returns whether any is left. */
static bool archives_settle(void)
{
	bool again = true, any = false;

	while (again) {
		again = any = false;
		for (size_t i = 0; i < archives_n; i++) {
			if (archives[i].archive && !archive_fits(&archives[i])) {
				archives[i].archive = NULL;
				again = true;
			}
			any = any || archives[i].archive;
		}
	}
	return any;
}

/* What messages of a link that failed say of an archive. */
enum archive_fault { FAULT_ANY, FAULT_NAMED, FAULT_LACKS };

struct archive_search {
	const char *messages;
	bool found;
};

static void archive_undefined(const char *name, void *arg)
{
	struct archive_search *s = arg;
	size_t n = strlen(name);

	for (const char *at = s->messages; !s->found && (at = strstr(at, name)); at += n)
		s->found = at > s->messages && at[-1] == '`' && at[n] == '\'';
}

/* Does the shared library define a symbol that the link lacks?  The messages' names are not demangled. */
static bool archive_lacks(const struct archive_library *l, const char *messages)
{
	struct library_file f = library_open(l->path);
	struct archive_search s = {.messages = messages};

	if (strstr(messages, "undefined"))
		library_symbols(&f, archive_undefined, &s);
	library_close(&f);
	return s.found;
}

static bool archives_drop(const char *messages, bool program, enum archive_fault fault)
{
	bool dropped = false;

	for (size_t i = 0; i < archives_n; i++) {
		struct archive_library *l = &archives[i];
		if (!l->archive || l->program != program)
			continue;
		bool named = strstr(messages, strrchr(l->archive, '/') + 1);
		if (fault == FAULT_ANY || (fault == FAULT_NAMED ? named : archive_lacks(l, messages))) {
			l->archive = NULL;
			dropped = true;
		}
	}
	return dropped;
}

/* An archive may need others, which its shared library contains; or lack what is only in the shared library. */
bool ld_archives_drop(const char *messages)
{
	return (archives_drop(messages, false, FAULT_NAMED) || archives_drop(messages, false, FAULT_LACKS) ||
	        archives_drop(messages, true, FAULT_LACKS) || archives_drop(messages, false, FAULT_ANY) ||
	        archives_drop(messages, true, FAULT_NAMED)) &&
	       archives_settle();
}

bool ld_archives_choose(const struct ld_words *paths)
{
	for (size_t i = 0; i < paths->n; i++)
		if (strchr(paths->word[i], '/') && !archive_is_system(strrchr(paths->word[i], '/') + 1))
			archive_add(paths->word[i], true);
	for (size_t i = 0; i < archives_n; i++) /* the list grows while it is read */
		for (size_t k = 0; k < archives[i].needs.n; k++) {
			const char *need = archives[i].needs.word[k];
			if (archive_is_system(need) || archive_of(need))
				continue;
			char *folder = strdup(archives[i].path);
			strrchr(folder, '/')[1] = '\0';
			archive_add(compile_join(folder, need, ""), false);
		}
	return archives_settle();
}

static void archive_link(const char *path, struct ld_words *link, const struct library_file *threads)
{
	ld_add(link, ld_foreign(path, path, threads));
}

/* The archive, and what it needs behind it.  @level: of so many others that need each other. */
static void archive_put(const struct archive_library *l, struct ld_words *link, const struct library_file *threads,
                        unsigned level)
{
	archive_link(l->archive, link, threads);
	for (size_t k = 0; k < l->needs.n; k++) {
		const struct archive_library *need = archive_of(l->needs.word[k]);
		if (need && need->archive && level < ARCHIVE_LEVELS)
			archive_put(need, link, threads, level + 1);
		else if (need)
			ld_add(link, need->path);
		else if (strncmp(l->needs.word[k], "libstdc++.", 10) == 0)
			ld_add(link, "-lstdc++"); /* a program in C does not name it */
	}
}

bool ld_archive(const char *path, struct ld_words *link, const struct library_file *threads)
{
	for (size_t i = 0; i < archives_n; i++)
		if (archives[i].archive && strcmp(archives[i].path, path) == 0) {
			archive_put(&archives[i], link, threads, 0);
			return true;
		}
	return false;
}
