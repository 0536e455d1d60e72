/* SPDX-License-Identifier: BSD-3-Clause */
/* ld.c - the linker that gcc finds for programs whose global variables are placed: GNU's, with shared libraries that
 * become part of such programs.
 *
 * Only what is linked statically can be placed, and so be shared by a program's processors.  A shared library
 * (-shared) is linked as always, and contains in addition the object that its files make together (ld -r), in a section
 * that is not loaded.  A program that is linked with the library gets that object in its place: so its variables are
 * the program's, its atomic operations Tweed's, and the library is not loaded.  What the linker of dynamic libraries
 * would have done is kept:
 *
 *   - what the library does not export is local to the object (version scripts, hidden symbols);
 *   - what it exports is weak, so the program's definition counts, or that of the library named first;
 *   - the program exports it, too, for plugins and other libraries that use it;
 *   - constructors run before the program's, those of a library that another one needs first of all; destructors in
 *     reverse;
 *   - libraries that it needs are linked, once each.
 *
 *   ld ARGUMENTS...    same as GNU's, which is the first `ld` in PATH; objcopy and as are taken from there, too */
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/base.h"
#include "tools/compile/compile.h"
#include "tools/compile/ld.h"
#include "tools/compile/placed.h"

#define LD_LIBRARIES 256
#define LD_MARK      "tw_made_"
#define LD_GLOBALS   "/globals.ld"
#define LD_FIRST     103 /* priority of the first library's constructors, after those of Tweed (runtime/threads/) */

/* A library whose object becomes part of the program. */
struct ld_library {
	char path[PATH_MAX], object[PATH_MAX];
	const char *needs[64]; /* paths, or -lNAME */
	size_t needed;
	bool ranked;
};

static struct {
	struct ld_words folder; /* -L */
	struct ld_words found;  /* -rpath, -rpath-link */
	struct ld_words wraps;  /* --wrap */
	bool places;            /* global variables have a place (globals.ld) */
	struct ld_library *library[LD_LIBRARIES];
	size_t libraries;
	FILE *exports;
	unsigned priority;
	struct library_file threads; /* Tweed's run-time of threads */
	const char *run_time;        /* its path; NULL: none */
	bool opens;                  /* the program may load plugins */
	bool archives;               /* in place of shared libraries (ld_archives.c) */
	uint64_t hash;
} ld;

/* ---- the caller's arguments -------------------------------------------------------------------------------------- */

/* Options, without a second '-', whose value is the next argument. */
/* clang-format off */
static const char *const ld_valued[] = {
	"-o", "-m", "-z", "-h", "-T", "-e", "-u", "-b", "-A", "-a", "-G", "-c", "-R", "-y", "-Y", "-F",
	"-f", "-I", "-P", "-l", "-L", "-assert", "-soname", "-rpath", "-rpath-link", "-plugin",
	"-plugin-opt", "-dynamic-linker", "-Map", "-defsym", "-wrap", "-undefined", "-entry",
	"-version-script", "-dynamic-list", "-init", "-fini", "-retain-symbols-file", "-script",
	"-default-script", "-output", "-library-path", "-library", "-section-start", "-Tbss", "-Tdata",
	"-Ttext", "-Ttext-segment", "-exclude-libs", "-hash-style", "-require-defined", "-just-symbols",
	"-auxiliary", "-filter", "-oformat", "-format", "-dependency-file", "-export-dynamic-symbol",
	"-export-dynamic-symbol-list", "-audit", "-depaudit", NULL};
/* clang-format on */

/* An argument, and what ld does with it. */
struct ld_argument {
	const char *word, *value; /* value: the next argument, or the text behind '='; NULL: none */
	unsigned took;            /* arguments */
	const char *library;      /* NAME of -lNAME */
	bool input;               /* a file */
};

static bool ld_among(const char *word, const char *const *list)
{
	for (; *list; list++)
		if (strcmp(word, *list) == 0)
			return true;
	return false;
}

/* Without the second '-'. */
static const char *ld_plain(const char *word)
{
	return word[0] == '-' && word[1] == '-' && word[2] ? word + 1 : word;
}

static bool ld_is(const char *word, const char *option)
{
	return strcmp(ld_plain(word), option) == 0;
}

static struct ld_argument ld_read(char *const *argv)
{
	struct ld_argument a = {.word = *argv, .took = 1};
	const char *plain = ld_plain(*argv), *equals = strchr(*argv, '=');

	if (**argv != '-' || !(*argv)[1]) {
		a.input = true;
	} else if (ld_among(plain, ld_valued) && argv[1]) {
		a.took = 2;
		a.value = argv[1];
		if (strcmp(*argv, "-l") == 0 || strcmp(plain, "-library") == 0)
			a.library = a.value;
	} else if (strncmp(*argv, "-l", 2) == 0) {
		a.library = *argv + 2;
	} else if (equals) {
		a.value = equals + 1;
		if (strncmp(*argv, "--library=", 10) == 0)
			a.library = a.value;
	}
	return a;
}

enum ld_makes { LD_OTHER, LD_LIBRARY, LD_PROGRAM };

static enum ld_makes ld_makes(char *const *argv)
{
	static const char *const nothing[] = {"-r", "-i",    "-relocatable", "-Ur",      "-v",
	                                      "-V", "-help", "-version",     "-verbose", NULL};
	bool library = false, input = false;

	for (struct ld_argument a; *argv; argv += a.took) {
		a = ld_read(argv);
		if (ld_among(ld_plain(a.word), nothing))
			return LD_OTHER;
		library = library || ld_is(a.word, "-shared") || ld_is(a.word, "-Bshareable");
		input = input || a.input || a.library;
	}
	return !input ? LD_OTHER : library ? LD_LIBRARY : LD_PROGRAM;
}

/* Folders that libraries are searched in, functions that the program wraps, and whether its variables are placed. */
static void ld_options(char *const *argv)
{
	for (struct ld_argument a; *argv; argv += a.took) {
		a = ld_read(argv);
		if (strncmp(a.word, "-L", 2) == 0)
			ld_add(&ld.folder, a.value && a.took == 2 ? a.value : a.word + 2);
		else if (strncmp(ld_plain(a.word), "-library-path", 13) == 0 && a.value)
			ld_add(&ld.folder, a.value);
		else if (strncmp(ld_plain(a.word), "-rpath", 6) == 0 && a.value)
			ld_add(&ld.found, a.value);
		else if (strncmp(ld_plain(a.word), "-wrap", 5) == 0 && a.value)
			ld_add(&ld.wraps, a.value);
		else if (strcmp(a.word, "-T") == 0 && a.value)
			ld.places = ld.places || strstr(a.value, LD_GLOBALS);
	}
}

/* The file of -lNAME, as ld finds it; allocated; NULL: none. */
static char *ld_find(const char *name, bool archives)
{
	for (size_t i = 0; i < ld.folder.n; i++)
		for (int archive = archives; archive < 2; archive++) {
			char *path;
			if (*name == ':')
				path = compile_join(ld.folder.word[i], "/", name + 1);
			else
				path = compile_join(compile_join(ld.folder.word[i], "/lib", name),
				                    archive ? ".a" : ".so", "");
			if (access(path, R_OK) == 0)
				return path;
			free(path);
		}
	return NULL;
}

/* Keep track of -Bstatic and -Bdynamic. */
static bool ld_static(const char *word, bool was)
{
	static bool pushed[16];
	static unsigned depth;
	static const char *const on[] = {"-Bstatic", "-dn", "-non_shared", "-static", NULL};
	static const char *const off[] = {"-Bdynamic", "-dy", "-call_shared", NULL};

	if (ld_is(word, "-push-state") && depth < 16)
		pushed[depth++] = was;
	if (ld_is(word, "-pop-state") && depth)
		return pushed[--depth];
	return ld_among(ld_plain(word), on) || (was && !ld_among(ld_plain(word), off));
}

/* The file that the argument names; NULL: none.  @archives: ld_static, from the first argument on. */
static const char *ld_file(const struct ld_argument *a, bool *archives)
{
	*archives = ld_static(a->word, *archives);
	return a->library ? ld_find(a->library, *archives) : a->input ? a->word : NULL;
}

/* ---- a library -------------------------------------------------------------------------------------------------- */

static void ld_mix(const char *at, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		ld.hash = (ld.hash ^ (unsigned char)at[i]) * 0x100000001b3ull;
}

static void ld_mix_mark(const char *name, void *arg)
{
	(void)arg;
	if (strncmp(name, LD_MARK, strlen(LD_MARK)) == 0)
		ld_mix(name, strlen(name));
}

/* Does the linker search the folder without -L? */
static bool ld_searched(const char *folder)
{
	static const char *const all[] = {"/usr/lib", "/lib", "/usr/lib/*-linux-*", "/lib/*-linux-*",
	                                  "/usr/lib/gcc/*/*"};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (fnmatch(all[i], folder, FNM_PATHNAME) == 0)
			return true;
	return false;
}

/* A library of the system at @path, -l@library or, as CMake names it, by its path (NULL).  By its name, an archive may
 * be found for it. */
static void ld_need_system(FILE *needs, const char *path, const char *library)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *end = strrchr(path, '.');
	char folder[PATH_MAX], *given = strndup(path, (size_t)(base - path));

	if (realpath(*given ? given : ".", folder) && !ld_searched(folder))
		fprintf(needs, "\t.asciz \"%s/%s\"\n", folder, base);
	else if (library)
		fprintf(needs, "\t.asciz \"-l%s\"\n", library);
	else if (strncmp(base, "lib", 3) == 0 && end && strcmp(end, ".so") == 0)
		fprintf(needs, "\t.asciz \"-l%.*s\"\n", (int)(end - base - 3), base + 3);
	else
		fprintf(needs, "\t.asciz \"%s\"\n", path);
	free(given);
}

/* Add what makes the object to @object, and the rest to @needs. */
static void ld_inputs(char *const *argv, struct ld_words *object, FILE *needs)
{
	static const char *const kept[] = {"-whole-archive",
	                                   "-no-whole-archive",
	                                   "-start-group",
	                                   "-end-group",
	                                   "-(",
	                                   "-)",
	                                   "-push-state",
	                                   "-pop-state",
	                                   NULL};
	static const char *const own[] = {"gcc", "gcc_s", "gcc_eh", "c", NULL};
	bool archives = false;
	char real[PATH_MAX];

	for (struct ld_argument a; *argv; argv += a.took) {
		a = ld_read(argv);
		archives = ld_static(a.word, archives);
		if (ld_among(ld_plain(a.word), kept))
			ld_add(object, a.word);
		if (strcmp(a.word, "-m") == 0)
			ld_add_all(object, (const char *const[]){"-m", a.value, NULL});
		if ((!a.input && !a.library) || (a.library && ld_among(a.library, own)))
			continue;
		const char *path = a.library ? ld_find(a.library, archives) : a.word;
		if (!path || ld_is_gcc(path))
			continue;
		struct library_file f = library_open(path);
		if (f.kind == LIBRARY_REL || f.kind == LIBRARY_ARCHIVE)
			ld_add(object, path);
		else if (f.kind == LIBRARY_DYN && realpath(path, real) && strncmp(real, "/usr/lib/", 9) != 0 &&
		         strncmp(real, "/lib/", 5) != 0)
			fprintf(needs, "\t.asciz \"%s\"\n", real);
		else if (a.library || f.kind == LIBRARY_DYN)
			ld_need_system(needs, path, a.library);
		if (f.kind == LIBRARY_DYN)
			library_symbols(&f, ld_mix_mark, NULL);
		library_close(&f);
	}
}

/* Make the object that has the library's object and needs in sections.  NULL: impossible, printed. */
static const char *ld_contained(char *const *argv)
{
	const char *object = ld_temporary("object.o"), *source = ld_temporary("contained.s"),
	           *contained = ld_temporary("contained.o");
	struct ld_words make = {0}, as = {0};
	FILE *f = ld_create(source);

	fputs("\t.section " LIBRARY_NEEDS ",\"\",@progbits\n", f);
	ld_add_all(&make, (const char *const[]){"ld", "-r", "-d", "--force-group-allocation", "-o", object, NULL});
	ld_inputs(argv, &make, f);
	fprintf(f,
	        "\t.section " LIBRARY_OBJECT ",\"\",@progbits\n\t.incbin \"%s\"\n"
	        "\t.section .note.GNU-stack,\"\",@progbits\n",
	        object);
	ld_close(f, source);
	ld_add_all(&as, (const char *const[]){"as", "-o", contained, source, NULL});
	if (ld_run(&make) || ld_run(&as))
		return NULL;
	return contained;
}

/* An option that exports a symbol named by the contents of the library's object, and of those that it needs.  Build
 * systems (meson) compare the symbols that a library exports to see whether programs must be linked again. */
static const char *ld_mark(const char *path)
{
	struct library_file f = library_open(path);
	char text[64];

	ld_mix(f.at, f.bytes);
	library_close(&f);
	snprintf(text, sizeof(text), "--defsym=" LD_MARK "%016" PRIx64 "=0", ld.hash);
	return strdup(text);
}

/* The program defines what a library leaves undefined. */
static bool ld_forbids_undefined(const struct ld_argument *a)
{
	return ld_is(a->word, "-no-undefined") || strcmp(a->word, "-zdefs") == 0 ||
	       (strcmp(a->word, "-z") == 0 && a->value && strcmp(a->value, "defs") == 0);
}

static int ld_library(char *const *argv)
{
	const char *contained = ld_contained(argv);
	struct ld_words link = {0};

	if (!contained)
		tw_log("note: the global variables of this library will be each process's own, for its files cannot "
		       "be made one object");
	ld_add(&link, "ld");
	for (struct ld_argument a; *argv; argv += a.took) {
		a = ld_read(argv);
		for (unsigned i = 0; i < a.took && !ld_forbids_undefined(&a); i++)
			ld_add(&link, argv[i]);
	}
	if (contained) {
		ld_add(&link, contained);
		ld_add(&link, ld_mark(contained));
	}
	return ld_run(&link);
}

/* ---- a program -------------------------------------------------------------------------------------------------- */

/* Where a library is that another one, @by, needs. */
static const char *ld_found(const char *need, const struct ld_library *by)
{
	const char *base = strrchr(need, '/');
	const struct ld_words *list[] = {&ld.found, &ld.folder};

	if (!base || access(need, R_OK) == 0)
		return need;
	char *folder = strdup(by->path);
	*strrchr(folder, '/') = '\0';
	char *path = compile_join(folder, base, "");
	for (size_t l = 0; l < 2; l++)
		for (size_t i = 0; i < list[l]->n && access(path, R_OK) < 0; i++)
			path = compile_join(list[l]->word[i], base, "");
	if (access(path, R_OK) < 0)
		ld_fail(
		    "%s was linked with %s, which is not there any more: make it anew, or name its new folder by -L",
		    by->path, need);
	return path;
}

/* The library of that file, if it contains its object; NULL: it is an other one. */
static struct ld_library *ld_take(const char *path)
{
	struct library_file f = library_open(path);
	size_t bytes = 0, length = 0;
	const char *object = f.kind == LIBRARY_DYN ? library_section(&f, LIBRARY_OBJECT, &bytes) : NULL;
	struct ld_library *l = NULL;
	char real[PATH_MAX], name[32];

	if (object && realpath(path, real)) {
		for (size_t i = 0; i < ld.libraries && !l; i++)
			l = strcmp(ld.library[i]->path, real) == 0 ? ld.library[i] : NULL;
		if (!l && ld.libraries < LD_LIBRARIES) {
			l = ld.library[ld.libraries++] = calloc(1, sizeof(*l));
			if (!l)
				ld_fail("out of memory");
			memcpy(l->path, real, sizeof(real));
			snprintf(name, sizeof(name), "%zu-", ld.libraries);
			snprintf(l->object, sizeof(l->object), "%s%s.o", ld_temporary(name), strrchr(real, '/') + 1);
			FILE *out = ld_create(l->object);
			fwrite(object, 1, bytes, out);
			ld_close(out, l->object);
			const char *needs = library_section(&f, LIBRARY_NEEDS, &length);
			for (size_t at = 0; needs && at < length && l->needed < 64; at += strlen(needs + at) + 1)
				l->needs[l->needed++] = strdup(needs + at);
		}
	}
	library_close(&f);
	return l;
}

static void ld_list_name(const char *name, void *arg)
{
	FILE *const *out = arg;

	fprintf(out[0], "%.*s\n", (int)strcspn(name, "@"), name);
	fprintf(ld.exports, "\"%.*s\";\n", (int)strcspn(name, "@"), name);
}

/* A definition of a version: the default one is the symbol's. */
static void ld_list_version(const char *name, void *arg)
{
	const char *at = strstr(name, "@@");

	if (!at)
		return;
	char *option = compile_join("--redefine-sym=", name, "=");
	ld_add(arg, compile_join(option, strndup(name, (size_t)(at - name)), ""));
}

struct ld_arrays {
	const char *kind;
	char *name[32];
	size_t n;
};

static void ld_list_array(const char *name, void *arg)
{
	struct ld_arrays *a = arg;
	size_t n = strlen(a->kind);

	if (strncmp(name, a->kind, n) == 0 && (!name[n] || name[n] == '.') && a->n < 32)
		a->name[a->n++] = strdup(name);
}

/* Those with a priority first. */
static int ld_order(const void *a, const void *b)
{
	const char *one = strrchr(*(char *const *)a, '.'), *two = strrchr(*(char *const *)b, '.');
	int plain = (one[1] < '0' || one[1] > '9') - (two[1] < '0' || two[1] > '9');

	return plain ? plain : atoi(one + 1) - atoi(two + 1);
}

/* Give constructors and destructors the library's place. */
static void ld_rename_arrays(const struct library_file *f, struct ld_words *w)
{
	static const char *const kinds[] = {".init_array", ".fini_array"};
	unsigned next = ld.priority;
	char text[32];

	for (size_t k = 0; k < 2; k++) {
		struct ld_arrays a = {.kind = kinds[k]};
		library_sections(f, ld_list_array, &a);
		qsort(a.name, a.n, sizeof(*a.name), ld_order);
		for (size_t i = 0; i < a.n; i++) {
			snprintf(text, sizeof(text), "%s.%05u", kinds[k], ld.priority + (unsigned)i);
			ld_add_all(w,
			           (const char *const[]){"--rename-section", compile_join(a.name[i], "=", text), NULL});
		}
		next = TW_MAX(next, ld.priority + (unsigned)a.n);
	}
	ld.priority = next;
}

/* Turn the object into what the program links. */
static void ld_prepare(struct ld_library *l)
{
	struct ld_words w = {0};
	const char *names = compile_join(l->object, ".names", "");
	struct library_file library = library_open(l->path), object = library_open(l->object);
	FILE *out[1] = {ld_create(names)};

	library_weaken(l->object);
	library_symbols(&library, ld_list_name, out);
	ld_close(out[0], names);
	ld_add(&w, "objcopy");
	library_symbols(&object, ld_list_version, &w);
	ld_rename_arrays(&object, &w);
	ld_add_all(&w, (const char *const[]){compile_join("--keep-global-symbols=", names, ""),
	                                     compile_join("--weaken-symbols=", names, ""), l->object, NULL});
	library_close(&library);
	library_close(&object);
	if (ld_run(&w))
		ld_fail("%s cannot become part of the program", l->path);
}

/* The order of constructors: what a library needs before itself, then from the last library to the first. */
static void ld_rank(struct ld_library *l)
{
	if (l->ranked)
		return;
	l->ranked = true;
	for (size_t i = l->needed; i-- > 0;) {
		struct ld_library *needed = *l->needs[i] == '-' ? NULL : ld_take(l->needs[i]);
		if (needed)
			ld_rank(needed);
	}
	ld_prepare(l);
}

/* Does the file name dlopen or dlsym?  Its code becomes part of the program: it is an object, an archive, or
 * @library. */
static bool ld_file_opens(const char *path, bool library)
{
	static const char *const names[] = {"dlopen", "dlmopen", "dlsym", "tw_dlopen_threads", "tw_dlsym_threads"};

	struct library_file f = library_open(path);
	bool part = library || f.kind == LIBRARY_REL || (f.kind == LIBRARY_ARCHIVE && !ld_is_tweed(path));
	bool opens = false;

	for (size_t i = 0; part && f.at && !opens && i < sizeof(names) / sizeof(names[0]); i++) {
		char word[24] = "";
		memcpy(word + 1, names[i], strlen(names[i]));
		opens = memmem(f.at, f.bytes, word, strlen(names[i]) + 2);
	}
	library_close(&f);
	return opens;
}

/* ---- the run-time of threads ---- */

#define LD_PTHREADS "/libtweed-pthreads.a"
#define LD_OPENMP   "/libtweed-openmp"

/* Does the file, linked statically, call gcc's run-time of OpenMP? */
static bool ld_file_openmp(const struct library_file *f)
{
	size_t bytes;

	return (f->kind == LIBRARY_REL || f->kind == LIBRARY_ARCHIVE ||
	        (f->kind == LIBRARY_DYN && library_section(f, LIBRARY_OBJECT, &bytes))) &&
	       (memmem(f->at, f->bytes, "\0GOMP_", 6) || memmem(f->at, f->bytes, "\0omp_", 5));
}

/* Is it gcc's own run-time, which Tweed's replaces? */
static bool ld_is_gomp(const char *name)
{
	const char *base = strrchr(name, '/');

	return strncmp(base ? base + 1 : name, "libgomp.", 8) == 0 || strcmp(name, "-lgomp") == 0;
}

/* The run-time among the arguments; OpenMP's, which has POSIX threads, too, in place of that for POSIX threads if the
 * program calls it. */
static void ld_find_threads(char *const *argv)
{
	const char *tasks = NULL;
	bool archives = false, calls = false;

	for (struct ld_argument a; *argv; argv += a.took) {
		a = ld_read(argv);
		const char *path = ld_file(&a, &archives);
		if (path && strstr(path, LD_OPENMP "-tasks.a"))
			tasks = path;
		else if (path && (strstr(path, LD_PTHREADS) || strstr(path, LD_OPENMP ".a")))
			ld.run_time = path;
		else if (path && !strstr(path, "/libtweed") && !calls) {
			struct library_file f = library_open(path);
			calls = ld_file_openmp(&f);
			library_close(&f);
		}
	}
	if (ld.run_time && tasks && calls && strstr(ld.run_time, LD_PTHREADS)) {
		char *path = strdup(tasks);
		strcpy(strstr(path, LD_OPENMP) + strlen(LD_OPENMP), ".a");
		ld.run_time = path;
	}
	if (ld.run_time)
		ld.threads = library_open(ld.run_time);
}

/* The argument of the program's link in place of the file @path; NULL: none. */
static const char *ld_replace(const char *path, const char *word)
{
	size_t before = ld.libraries;
	if (ld.run_time && ld_is_gomp(path))
		return NULL;
	if (ld.run_time && strstr(path, LD_PTHREADS))
		path = word = ld.run_time;
	if (ld.places && ld.wraps.n && ld_is_tweed(path))
		return ld_unwrapped(path, &ld.wraps);
	if (path == ld.run_time)
		return path;
	struct ld_library *l = ld.places ? ld_take(path) : NULL;
	return !l ? ld_foreign(path, word, &ld.threads) : ld.libraries == before ? NULL : l->object;
}

static void ld_arguments(char *const *argv, struct ld_words *link)
{
	bool archives = false;

	for (struct ld_argument a; *argv; argv += a.took) {
		a = ld_read(argv);
		const char *path = ld_file(&a, &archives);
		ld.opens = ld.opens || (ld.places && (ld_is(a.word, "-export-dynamic") || strcmp(a.word, "-E") == 0 ||
		                                      (path && ld_file_opens(path, false))));
		if (path && ld.archives && ld_archive(path, link, &ld.threads))
			continue;
		const char *place = path ? ld_replace(path, a.word) : a.word;
		if (place != a.word) {
			if (place)
				ld_add(link, place);
			continue;
		}
		for (unsigned i = 0; i < a.took; i++)
			ld_add(link, argv[i]);
	}
	/* The list grows while it is read. */
	for (size_t i = 0; i < ld.libraries; i++) {
		ld.opens = ld.opens || ld_file_opens(ld.library[i]->path, true);
		for (size_t k = 0; k < ld.library[i]->needed; k++) {
			const char *need = ld.library[i]->needs[k] = ld_found(ld.library[i]->needs[k], ld.library[i]);
			const char *place = *need != '-' ? ld_replace(need, need) : ld_is_gomp(need) ? NULL : need;
			if (place)
				ld_add(link, place);
		}
	}
}

/* Call @each for the files among the arguments. */
static void ld_each_file(char *const *argv, void (*each)(const char *path))
{
	bool archives = false;

	for (struct ld_argument a; *argv; argv += a.took) {
		a = ld_read(argv);
		const char *path = ld_file(&a, &archives);
		if (path)
			each(path);
	}
}

/* The arguments so far, as an array that ends with NULL. */
static char *const *ld_so_far(struct ld_words *link)
{
	ld_add(link, NULL);
	link->n--;
	return (char *const *)(uintptr_t)link->word;
}

/* Place the variables in sections that the program names, of all files of the link. */
static void ld_own_sections(struct ld_words *link)
{
	ld_each_file(ld_so_far(link), ld_sections);
	ld_sections_place(link);
}

/* Give the program's functions names of their own, in all files of the link. */
static void ld_own_names(struct ld_words *link)
{
	struct ld_words files = {0};
	bool archives = false;

	char *const *next = ld_so_far(link);
	ld_each_file(next, ld_names_find);
	for (struct ld_argument a; *next; next += a.took) {
		a = ld_read(next);
		const char *path = ld_file(&a, &archives), *copy = path ? ld_names_copy(path) : NULL;
		for (unsigned i = 0; i < a.took && copy == path; i++)
			ld_add(&files, next[i]);
		if (copy != path)
			ld_add(&files, copy);
	}
	*link = files;
}

static int ld_link(char *const *argv)
{
	const char *exports = NULL;
	struct ld_words link = {0};

	ld_add(&link, "ld");
	ld_each_file(argv, ld_names_find);
	ld_arguments(argv, &link);
	if (ld.archives)
		ld_add(&link, "--no-demangle"); /* ld_archives_drop */
	ld_take_emulation(&link);
	if (ld.places)
		ld_own_sections(&link);
	if (ld.libraries || ld.opens) {
		exports = ld_temporary("exports");
		ld.exports = ld_create(exports);
		fputs("{\ntw_globals_start;\n", ld.exports);
		if (ld.opens) /* Tweed's functions, for plugins */
			fputs("tw_*; __atomic_*; __sync_*; GOMP_*; omp_*;\n", ld.exports);
		ld.priority = LD_FIRST;
		for (size_t i = ld.libraries; i-- > 0;)
			ld_rank(ld.library[i]);
		fputs("};\n", ld.exports);
		ld_close(ld.exports, exports);
		ld_add(&link, compile_join("--dynamic-list=", exports, ""));
	}
	ld_own_names(&link);
	return ld_run(&link);
}

/* Link with archives in place of shared libraries, in a child.  Returns whether it could; *@text: its messages,
 * allocated. */
static bool ld_try(char *const *argv, char **text)
{
	FILE *messages = tmpfile();

	*text = NULL;
	if (!messages)
		return false;
	fflush(NULL);
	pid_t child = fork();
	if (child == 0) {
		dup2(fileno(messages), STDERR_FILENO);
		ld.archives = true;
		exit(ld_link(argv));
	}
	bool linked = ld_wait(child) == 0;
	size_t bytes = (size_t)TW_MAX(ftell(messages), 0L);
	rewind(messages);
	*text = calloc(1, bytes + 1);
	if (*text)
		(*text)[fread(*text, 1, bytes, messages)] = '\0';
	fclose(messages);
	return linked;
}

/* The messages count only of a link that succeeds.  Returns whether one did. */
static bool ld_with_archives(char *const *argv)
{
	struct ld_words paths = {0};
	bool archives = false, linked = false;
	char *const *next = argv;
	char *text = NULL;

	for (struct ld_argument a; *next; next += a.took) {
		a = ld_read(next);
		const char *path = ld_file(&a, &archives);
		if (path)
			ld_add(&paths, path);
	}
	bool any = ld.run_time && ld_archives_choose(&paths);
	while (any && !(linked = ld_try(argv, &text))) {
		any = text && ld_archives_drop(text);
		free(text);
	}
	if (linked && text)
		fputs(text, stderr);
	return linked;
}

static int ld_program(char *const *argv)
{
	ld_find_threads(argv);
	return ld_with_archives(argv) ? 0 : ld_link(argv);
}

int main(int argc, char **argv)
{
	size_t n;
	char **arguments = compile_arguments(argv + (argc > 0), &n);
	enum ld_makes makes = ld_makes(arguments);

	if (makes == LD_OTHER) {
		execvp("ld", argv);
		ld_fail("cannot run 'ld': %s", strerror(errno));
	}
	ld_options(arguments);
	return makes == LD_LIBRARY ? ld_library(arguments) : ld_program(arguments);
}
