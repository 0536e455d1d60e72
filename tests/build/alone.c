/* SPDX-License-Identifier: BSD-3-Clause */
/* alone.c - a program that is started without `tweed run`; the first argument says what it does. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int shared;

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	char line[64] = "";

	if (strcmp(what, "abort") == 0)
		abort();
	if (strcmp(what, "kill") == 0)
		kill(getpid(), SIGTERM);
	if (strcmp(what, "again") == 0) {
		/* A program that starts another one, or itself. */
		snprintf(line, sizeof(line), "%s inner", argv[0]);
		return system(line) == 5 << 8 ? 6 : 1;
	}
	if (strcmp(what, "read") == 0 && fgets(line, sizeof(line), stdin))
		printf("%s says %s", argv[0], line);
	if (strcmp(what, "wait") == 0) {
		printf("ready\n");
		fflush(stdout);
		sleep(30);
	}
	shared++;
	fprintf(stderr, "%d\n", shared);
	return 5;
}
