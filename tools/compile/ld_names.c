/* SPDX-License-Identifier: BSD-3-Clause */
/* ld_names.c - functions of the program with names of the C library's: send, wait, close, connect.
 *
 * The C library calls its own functions by other names, so a program may define such a one.  Tweed's run-time and the
 * libraries of networks call them by these names, and would get the program's.  So in copies of the program's files
 * the program's own are called NAME.own (TW_SYMBOL_OWN).  Functions that replace the C library's for the whole
 * process, as those of malloc's family, keep their names. */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/observe/symbol.h"
#include "tools/compile/compile.h"
#include "tools/compile/ld.h"

static struct ld_words names_own;

static bool names_has(const struct ld_words *w, const char *name)
{
	for (size_t i = 0; i < w->n; i++)
		if (strcmp(w->word[i], name) == 0)
			return true;
	return false;
}

/* The program's are meant for all. */
static bool names_replaced(const char *name)
{
	static const char *const names[] = {
	    "malloc",         "calloc",        "realloc", "reallocarray", "free",
	    "posix_memalign", "memalign",      "valloc",  "pvalloc",      "malloc_usable_size",
	    "cfree",          "aligned_alloc", "mallopt", "malloc_trim",  NULL};

	for (size_t i = 0; names[i]; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

/* A function of the C library, not a variable such as environ? */
static bool names_libc(void *libc, const char *name)
{
	if (strcmp(name, "pthread_atfork") == 0 || strcmp(name, "atexit") == 0)
		return true; /* linked statically */
	void *at = dlsym(libc, name);
	const ElfW(Sym) *symbol = NULL;
	Dl_info info;

	return at && !(dladdr1(at, &info, (void **)&symbol, RTLD_DL_SYMENT) && symbol &&
	               ELF64_ST_TYPE(symbol->st_info) == STT_OBJECT);
}

/* The C library's name of a function that Tweed's compilers have renamed: tw_pthread_join, tw_poll_threads. */
static const char *names_plain(const char *name, char *out, size_t bytes)
{
	const char *end = strstr(name, "_threads");

	if (strncmp(name, "tw_", 3) != 0)
		return name;
	snprintf(out, bytes, "%.*s", end && !end[8] ? (int)(end - name) - 3 : (int)strlen(name) - 3, name + 3);
	return out;
}

static void names_add(const char *name, void *libc)
{
	char text[128];

	if (*name != '_' && !names_replaced(name) && !names_has(&names_own, name) &&
	    names_libc(libc, names_plain(name, text, sizeof(text))))
		ld_add(&names_own, strdup(name));
}

/* Is the program's code in the file? */
static bool names_part(const struct library_file *f, const char *path)
{
	return (f->kind == LIBRARY_REL || f->kind == LIBRARY_ARCHIVE || f->kind == LIBRARY_THIN) && !ld_is_gcc(path) &&
	       !ld_is_tweed(path);
}

void ld_names_find(const char *path)
{
	struct library_file f = library_open(path);
	void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);

	if (libc && names_part(&f, path))
		library_symbols(&f, names_add, libc);
	library_close(&f);
}

bool ld_names_any(void)
{
	return names_own.n > 0;
}

const char *ld_names_copy(const char *path)
{
	struct library_file f = library_open(path);
	struct ld_words objcopy = {0};
	const char *copy = path;

	ld_add(&objcopy, "objcopy");
	for (size_t i = 0; i < names_own.n && names_part(&f, path); i++) {
		const char *name = names_own.word[i];
		if (memmem(f.at, f.bytes, name, strlen(name) + 1))
			ld_add(&objcopy, compile_join(compile_join("--redefine-sym=", name, "="), name, TW_SYMBOL_OWN));
	}
	library_close(&f);
	if (objcopy.n > 1) {
		copy = ld_copy_name(path);
		ld_add_all(&objcopy, (const char *const[]){path, copy, NULL});
		if (ld_run(&objcopy))
			ld_fail("%s cannot be copied", path);
	}
	return copy;
}
