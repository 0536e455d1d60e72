/* SPDX-License-Identifier: BSD-3-Clause */
/* ld_sections.c - variables in sections that the program names: __attribute__((section("read_mostly"))), for tables
 * that are gathered from many files, and for variables of one kind.  globals.ld names the compiler's sections only.
 * A script that is made for the link places the others beside them, each as an output section of its name, for which
 * the linker defines __start_NAME and __stop_NAME. */
#include <string.h>

#include "tools/compile/ld.h"

static struct ld_words sections_own; /* their names */

/* Does the section belong to the compiler, the linker, or the C library? */
static bool sections_known(const char *name)
{
	static const char *const known[] = {
	    ".data",  ".bss",   ".ldata", ".lbss", ".init_array",     ".fini_array", ".preinit_array",
	    ".ctors", ".dtors", ".got",   ".jcr",  ".tm_clone_table", ".eh_frame",   ".gcc_except_table",
	    ".gnu",   NULL};

	for (size_t i = 0; known[i]; i++) {
		size_t n = strlen(known[i]);
		if (strncmp(name, known[i], n) == 0 && (name[n] == '\0' || name[n] == '.'))
			return true;
	}
	return strncmp(name, ".tweed", 6) == 0 || strpbrk(name, "\"\\\n");
}

static void sections_add(const char *name, void *arg)
{
	(void)arg;
	if (!*name || sections_known(name))
		return;
	for (size_t i = 0; i < sections_own.n; i++)
		if (strcmp(sections_own.word[i], name) == 0)
			return;
	ld_add(&sections_own, strdup(name));
}

void ld_sections(const char *path)
{
	if (!ld_is_tweed(path) && !ld_is_gcc(path))
		library_variables(path, sections_add, NULL);
}

void ld_sections_place(struct ld_words *link)
{
	if (!sections_own.n)
		return;
	const char *path = ld_temporary("sections.ld");
	FILE *f = ld_create(path);
	fputs("SECTIONS\n{\n", f);
	for (size_t i = 0; i < sections_own.n; i++) {
		const char *name = sections_own.word[i];
		fprintf(f, "\t\"%s\" : { KEEP(*(\"%s\")) tw_globals_set = .; }\n", name, name);
	}
	fputs("}\nINSERT AFTER .tweed_data;\n", f);
	ld_close(f, path);
	ld_add_all(link, (const char *const[]){"-T", path, NULL});
}
