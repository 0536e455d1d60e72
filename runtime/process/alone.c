/* SPDX-License-Identifier: BSD-3-Clause */
/* alone.c - a program of threads that was started without `tweed run`: as a test of configure or CMake, or from a
 * makefile.  It replaces itself by `tweed alone`, which runs it as a job of one processor, or of the shape that the
 * environment asks for (TWEED_NODES, TWEED_PROCESSORS).
 *
 * The command is the one that linked the program, if it is still there; otherwise the one in PATH.  Its path is in the
 * values of symbols, eight bytes each, because a linker has no option for texts (tools/compile/cc.c). */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/job/boot.h"
#include "core/job/job.h"

#define ALONE_WORDS 16 /* also in tools/compile/cc.c */

#define ALONE_EACH(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
/* The addresses are the values; no symbol: 0. */
__asm__("	.section .data.rel.ro.tw_command, \"aw\"\n"
        "	.balign 8\n"
        "tw_command:\n"
#define X(n) "	.weak tw_command_" #n "\n	.quad tw_command_" #n "\n"
        ALONE_EACH(X)
#undef X
            "	.quad 0\n"
            "	.previous\n");
extern const char tw_command[(ALONE_WORDS + 1) * 8] __attribute__((visibility("hidden")));

/* The environment of a processor names an open file of its job; the one that a processor's child inherits does not. */
static bool alone_in_job(void)
{
	const char *text = getenv("TWEED_BOOT");
	uint64_t magic = 0;

	return text && pread(atoi(text), &magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) && magic == TW_BOOT_MAGIC;
}

static void __attribute__((constructor(101))) alone_begin(int argc, char **argv, char **environment)
{
	char self[PATH_MAX], name[] = "tweed", alone[] = "alone", **words;
	ssize_t n;

	if (alone_in_job())
		return;
	n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	words = calloc((size_t)argc + 5, sizeof(*words));
	if (n <= 0 || !words)
		return; /* tw_init prints a sentence */
	self[n] = '\0';
	unsetenv("TWEED_BOOT");
	unsetenv("TWEED_PROCESSOR");
	unsetenv("TWEED_RANK");
	unsetenv("TWEED_SIZE");
	words[0] = name;
	words[1] = alone;
	words[2] = self;
	for (int i = 0; i < argc; i++)
		words[3 + i] = argv[i];
	if (!argc)
		words[3] = self;
	(void)environment; /* unsetenv has changed it */
	if (tw_command[0] == '/')
		execv(tw_command, words);
	execvp(name, words);
	fprintf(stderr, "tweed: there is no 'tweed' at %s, nor in PATH, which runs this program: %s\n",
	        tw_command[0] ? tw_command : "its old place", strerror(errno));
	free(words);
	_exit(2);
}
