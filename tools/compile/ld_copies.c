/* SPDX-License-Identifier: BSD-3-Clause */
/* ld_copies.c - copies of files that the program is linked with, in which some functions have other names, and
 * instructions of other compilers are replaced. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/compile/compile.h"
#include "tools/compile/ld.h"

static unsigned ld_copies;
static bool ld_emulates;     /* the run-time performs instructions of other compilers (runtime/threads/emulate.h) */
static const char *ld_spins; /* a file of theirs that waits by pause; NULL: none */

/* ---- whose file is it? ---- */

bool ld_is_gcc(const char *path)
{
	const char *base = strrchr(path, '/');

	base = base ? base + 1 : path;
	return strncmp(base, "crt", 3) == 0 || strncmp(base, "libgcc", 6) == 0 || strcmp(base, "libc_nonshared.a") == 0;
}

bool ld_is_tweed(const char *path)
{
	const char *base = strrchr(path, '/');

	base = base ? base + 1 : path;
	base += strspn(base, "0123456789-"); /* a copy */
	return strncmp(base, "libtweed", 8) == 0;
}

/* ---- files of other compilers ---- */

#define LD_WAITS "_threads" /* calls that wait: tw_poll_threads */

struct ld_rename {
	const struct library_file *file;
	struct ld_words *objcopy;
};

/* Tweed's function @name is named so: does the file use the one of the C library, or define it? */
static void ld_rename_call(const char *name, void *arg)
{
	static const char *const kinds[] = {
	    "tw_pthread_", "tw_sem_",      "tw_thrd_",           "tw_mtx_",   "tw_cnd_",      "tw_tss_", "tw_usleep",
	    "tw_sleep",    "tw_nanosleep", "tw_clock_nanosleep", "tw_sched_", "tw_get_nprocs"};
	struct ld_rename *r = arg;
	size_t plain = strlen(name), ending = strlen(LD_WAITS);
	bool waits = strncmp(name, "tw_", 3) == 0 && plain > 3 + ending && strcmp(name + plain - ending, LD_WAITS) == 0;
	bool found = waits;
	char text[128];

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && !found; i++)
		found = strncmp(name, kinds[i], strlen(kinds[i])) == 0;
	if (!found || plain >= sizeof(text))
		return;
	snprintf(text, sizeof(text), "%c%.*s", 0, (int)(plain - 3 - (waits ? ending : 0)), name + 3);
	if (memmem(r->file->at, r->file->bytes, text, strlen(text + 1) + 2))
		ld_add(r->objcopy, compile_join(compile_join("--redefine-sym=", text + 1, "="), name, ""));
}

void ld_take_emulation(struct ld_words *link)
{
	struct ld_words as = {0};

	if (!ld_emulates)
		return;
	const char *source = ld_temporary("emulates.s"), *object = ld_temporary("emulates.o");
	FILE *f = ld_create(source);

	fputs("\t.section .init_array.00101,\"aw\"\n\t.quad th_emulate_open\n", f);
	if (ld_spins) {
		fputs("\t.section .rodata\n\t.globl tw_foreign_spins\ntw_foreign_spins:\n", f);
		for (const char *c = ld_spins; *c; c++)
			fprintf(f, "\t.byte %d\n", (unsigned char)*c);
		fputs("\t.byte 0\n", f);
	}
	fputs("\t.section .note.GNU-stack,\"\",@progbits\n", f);
	ld_close(f, source);
	ld_add_all(&as, (const char *const[]){"as", "-o", object, source, NULL});
	if (ld_run(&as))
		ld_fail("%s cannot be assembled", source);
	ld_add(link, object);
}

/* In the copy, replace what the run-time must perform. */
static void ld_replace_code(const char *copy, const struct foreign_code *code)
{
	int fd = open(copy, O_WRONLY | O_CLOEXEC);

	for (size_t i = 0; i < code->n; i++)
		if (pwrite(fd, &code->byte[i].by, 1, (off_t)code->byte[i].at) != 1)
			ld_fail("cannot write %s: %s", copy, strerror(errno));
	close(fd);
	ld_emulates = true;
}

const char *ld_copy_name(const char *path)
{
	const char *base = strrchr(path, '/');
	char number[32];

	snprintf(number, sizeof(number), "%u-", ld_copies++);
	return compile_join(ld_temporary(number), base ? base + 1 : path, "");
}

static void ld_member(const char *file, void *ar)
{
	ld_add(ar, strdup(file));
}

/* An archive with the contents of the files that the archive @path names. */
static const char *ld_thick(const char *path)
{
	const char *copy = ld_copy_name(path);
	struct ld_words ar = {0};

	ld_add_all(&ar, (const char *const[]){"ar", "qcs", copy, NULL});
	library_members(path, ld_member, &ar);
	if (ld_run(&ar))
		ld_fail("%s cannot be copied", path);
	return copy;
}

const char *ld_foreign(const char *path, const char *word, const struct library_file *threads)
{
	struct ld_words objcopy = {0};
	struct library_file f = library_open(path);
	if (f.kind == LIBRARY_THIN && !ld_is_tweed(path) && ld_names_any()) {
		library_close(&f);
		path = word = ld_thick(path);
		f = library_open(path);
	}
	const char *copy = word;

	if ((f.kind == LIBRARY_REL || f.kind == LIBRARY_ARCHIVE) && !ld_is_gcc(path) && !ld_is_tweed(path)) {
		ld_add(&objcopy, "objcopy");
		library_symbols(threads, ld_rename_call, &(struct ld_rename){&f, &objcopy});
	}
	if (objcopy.n > 1) {
		copy = ld_copy_name(path);
		ld_add_all(&objcopy, (const char *const[]){path, copy, NULL});
		if (ld_run(&objcopy))
			ld_fail("%s cannot be copied", path);
	}
	if (objcopy.n > 0 && threads->at && !memmem(f.at, f.bytes, COMPILE_MADE, sizeof(COMPILE_MADE))) {
		struct foreign_code code = foreign_find(copy == word ? path : copy);
		if (code.n && copy == word) {
			copy = ld_copy_name(path);
			FILE *out = ld_create(copy);
			fwrite(f.at, 1, f.bytes, out);
			ld_close(out, copy);
		}
		if (code.n)
			ld_replace_code(copy, &code);
		if (code.spins)
			ld_spins = path;
		free(code.byte);
	}
	library_close(&f);
	return copy;
}

/* ---- functions that the program wraps ---- */

static void ld_is_name(const char *name, void *arg)
{
	const char **wanted = arg;

	if (*wanted && strcmp(name, *wanted) == 0)
		*wanted = NULL;
}

/* The object @path calls none of the program's wrappers: the linker takes __real_NAME for NAME. */
static void ld_unwrap(const char *path, const struct ld_words *wraps)
{
	struct library_file f = library_open(path);
	struct ld_words objcopy = {0};

	ld_add(&objcopy, "objcopy");
	for (size_t i = 0; i < wraps->n; i++) {
		const char *name = wraps->word[i], *undefined = name;
		size_t n = strlen(name);
		char *text = compile_join(" ", name, "");
		*text = '\0';
		library_symbols(&f, ld_is_name, &undefined);
		if (undefined && memmem(f.at, f.bytes, text, n + 2))
			ld_add(&objcopy, compile_join(compile_join("--redefine-sym=", name, "=__real_"), name, ""));
		free(text);
	}
	library_close(&f);
	ld_add(&objcopy, path);
	if (objcopy.n > 2 && ld_run(&objcopy))
		ld_fail("%s cannot be copied", path);
}

const char *ld_unwrapped(const char *path, const struct ld_words *wraps)
{
	struct ld_words extract = {0}, make = {0};
	const char *copy = ld_copy_name(path), *folder = compile_join(copy, ".members", "");

	ld_add_all(&extract, (const char *const[]){"ar", "x", "--output", folder, path, NULL});
	ld_add_all(&make, (const char *const[]){"ar", "rcs", copy, NULL});
	if (mkdir(folder, 0700) || ld_run(&extract))
		ld_fail("%s cannot be copied", path);
	DIR *members = opendir(folder);
	for (struct dirent *e; members && (e = readdir(members));) {
		if (*e->d_name == '.' && (!e->d_name[1] || (e->d_name[1] == '.' && !e->d_name[2])))
			continue;
		const char *member = compile_join(folder, "/", e->d_name);
		ld_unwrap(member, wraps);
		ld_add(&make, member);
	}
	if (!members || closedir(members) || ld_run(&make))
		ld_fail("%s cannot be copied", path);
	return copy;
}
