/* SPDX-License-Identifier: BSD-3-Clause */
/* ld_run.c - commands that the linker runs, and the files it makes for them. */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/base.h"
#include "tools/compile/compile.h"
#include "tools/compile/ld.h"

static char ld_folder[PATH_MAX / 2]; /* of the temporary files; "": none yet */

void ld_fail(const char *format, ...)
{
	va_list ap;
	char text[1000];

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	tw_log("the linker of 'tweed cc': %s", text);
	exit(1);
}

void ld_add(struct ld_words *w, const char *word)
{
	if (w->n == w->room) {
		w->room = 2 * w->room + 64;
		w->word = realloc(w->word, w->room * sizeof(*w->word));
		if (!w->word)
			ld_fail("out of memory");
	}
	w->word[w->n++] = word;
}

void ld_add_all(struct ld_words *w, const char *const *words)
{
	for (; *words; words++)
		ld_add(w, *words);
}

int ld_wait(pid_t child)
{
	int status;

	while (child > 0 && waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			child = -1;
	return child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int ld_run(struct ld_words *w)
{
	ld_add(w, NULL);
	w->n--;
	pid_t child = fork();
	if (child == 0) {
		execvp(w->word[0], (char *const *)(uintptr_t)w->word);
		fprintf(stderr, "tweed: cannot run '%s': %s\n", w->word[0], strerror(errno));
		_exit(127);
	}
	return ld_wait(child);
}

/* ---- temporary files --------------------------------------------------------------------------------------------- */

static void ld_remove(void)
{
	struct ld_words w = {0};

	if (*ld_folder) {
		ld_add_all(&w, (const char *const[]){"rm", "-rf", ld_folder, NULL});
		ld_run(&w);
	}
}

const char *ld_temporary(const char *name)
{
	const char *folder = getenv("TMPDIR");

	if (!*ld_folder) {
		snprintf(ld_folder, sizeof(ld_folder), "%s/tweed-ld-XXXXXX", folder && *folder ? folder : "/tmp");
		if (!mkdtemp(ld_folder))
			ld_fail("cannot make the folder %s: %s", ld_folder, strerror(errno));
		atexit(ld_remove);
	}
	return compile_join(ld_folder, "/", name);
}

FILE *ld_create(const char *path)
{
	FILE *f = fopen(path, "we");

	if (!f)
		ld_fail("cannot write %s: %s", path, strerror(errno));
	return f;
}

void ld_close(FILE *f, const char *path)
{
	if (ferror(f) | fclose(f))
		ld_fail("cannot write %s: %s", path, strerror(errno));
}
