/* SPDX-License-Identifier: BSD-3-Clause */
/* standard.c - standard streams that threads read and replace; streams of commands and of memory. */
#include <wchar.h>
#include "process.h"

static char line[200];
static FILE *f;

/* ---- standard input ---- */

static void stdin_line_step(void *arg, int me)
{
	(void)arg;
	char *got = fgets(line, sizeof line, stdin);
	say_text(me, "fgets", got ? (long)strlen(got) : -1, line);
}

CASE(stdin_lines)
{
	stdin_line_step(NULL, 0);
	turns(stdin_line_step, NULL);
	turns(stdin_line_step, NULL);
	stdin_line_step(NULL, 0);
}

static void scanf_step(void *arg, int me)
{
	int n = -1;
	char a[10] = "", b[10] = "", c[10] = "";

	(void)arg;
	int got = scanf(" line %d %9s %9s %9s", &n, a, b, c);
	say("%d scanf %d: %d %s %s %s, then '%c'\n", me, got, n, a, b, c, getchar());
}

CASE(stdin_scanf)
{
	stdin_line_step(NULL, 0);
	turns(scanf_step, NULL);
	scanf_step(NULL, 0);
}

static void getchar_step(void *arg, int me)
{
	(void)arg;
	int a = getchar(), b = getchar();
	say("%d '%c%c'\n", me, a, b);
}

CASE(stdin_getchar)
{
	stdin_line_step(NULL, 0);
	turns(getchar_step, NULL);
	turns(scanf_step, NULL);
	stdin_line_step(NULL, 0);
}

static void stdin_rest_step(void *arg, int me)
{
	int c, n = 0;

	(void)arg;
	if (me != threads)
		return;
	while ((c = getchar()) != EOF)
		n++;
	say("%d more, end %d\n", n, !!feof(stdin));
}

CASE(stdin_rest_in_thread)
{
	stdin_line_step(NULL, 0);
	turns(stdin_rest_step, NULL);
	say("end %d, %d\n", !!feof(stdin), getchar());
}

static void stdin_getline_step(void *arg, int me)
{
	char *text = NULL;
	size_t room = 0;

	(void)arg;
	long n = getline(&text, &room, stdin);
	say_text(me, "getline", n, text);
	free(text);
}

CASE(stdin_getline)
{
	turns(stdin_getline_step, NULL);
	stdin_getline_step(NULL, 0);
	stdin_line_step(NULL, 0);
}

static void stdin_freopen_step(void *arg, int me)
{
	(void)arg;
	if (me == 1)
		say("1 freopen %d\n", freopen("numbers.txt", "r", stdin) == stdin);
	int n = -1;
	say("%d scanf %d", me, scanf("%d", &n));
	say(" %d\n", n);
}

CASE(stdin_reopened)
{
	stdin_line_step(NULL, 0);
	turns(stdin_freopen_step, NULL);
	stdin_freopen_step(NULL, 0);
}

/* ---- standard output and errors ---- */

static void freopen_step(void *arg, int me)
{
	(void)arg;
	if (me == threads)
		say("%d freopen %d\n", me, freopen("freopen", "w", stdout) == stdout);
}

CASE(freopen_in_thread)
{
	print_said();
	turns(freopen_step, NULL);
	printf("main prints\n");
	printf("number 1: %d\n", fileno(stdout) == 1);
	dprintf(1, "dprintf first\n");
	fflush(stdout);
}

static void print_step(void *arg, int me)
{
	(void)arg;
	printf("thread %d\n", me);
}

CASE(freopen_in_main)
{
	printf("before\n");
	FILE *now = freopen("freopen2", "w", stdout);
	printf("same %d\n", now == stdout);
	turns(print_step, NULL);
	fclose(stdout);
}

static void perror_step(void *arg, int me)
{
	(void)arg;
	errno = me % 2 ? ENOENT : EAGAIN;
	perror(me % 2 ? "odd" : "even");
	fprintf(stderr, "stderr of %d\n", me);
}

CASE(perror_in_turn)
{
	int file = open("perror", O_WRONLY | O_CREAT | O_TRUNC, 0644), was = dup(2);

	dup2(file, 2);
	turns(perror_step, NULL);
	errno = EPERM;
	perror(NULL);
	dup2(was, 2);
	close(was);
	close(file);
	shows(0, "perror");
}

static void perror_made_step(void *arg, int me)
{
	(void)arg;
	if (me == 1)
		say("1 freopen %d\n", freopen("perror2", "w", stderr) == stderr);
	close(-1);
	perror("close");
}

CASE(perror_reopened)
{
	turns(perror_made_step, NULL);
	errno = 0;
	perror("main");
	fflush(stderr);
	shows(0, "perror2");
}

static void setvbuf_step(void *arg, int me)
{
	(void)arg;
	if (me == 1)
		setvbuf(stdout, NULL, _IONBF, 0);
	printf("unbuffered %d\n", me);
	dprintf(1, "direct %d\n", me);
}

CASE(stdout_unbuffered)
{
	print_said();
	turns(setvbuf_step, NULL);
	printf("main\n");
	dprintf(1, "direct\n");
}

static void line_step(void *arg, int me)
{
	char *got = fgets(line, sizeof line, arg);

	say_text(me, "fgets", got ? (long)strlen(got) : -1, line);
}

/* ---- other kinds ---- */

static void popen_step(void *arg, int me)
{
	(void)arg;
	if (me == 1)
		f = popen("cat lines.txt; exit 3", "r");
	line_step(f, me);
}

CASE(popen_in_thread)
{
	turns(popen_step, NULL);
	while (fgets(line, sizeof line, f))
		;
	say("last: %s", line);
	say("status %d\n", WEXITSTATUS(pclose(f)));
}

static void pclose_step(void *arg, int me)
{
	(void)arg;
	fprintf(f, "thread %d\n", me);
	if (me == threads)
		say("pclose %d\n", pclose(f));
}

CASE(pclose_in_thread)
{
	f = popen("cat > popen", "w");
	fputs("main\n", f);
	turns(pclose_step, NULL);
	shows(0, "popen");
}

static void tmpfile_step(void *arg, int me)
{
	(void)arg;
	if (me == 1 && !f)
		f = tmpfile();
	fprintf(f, "thread %d\n", me);
}

CASE(tmpfile_of_thread)
{
	f = NULL;
	turns(tmpfile_step, NULL);
	rewind(f);
	turns(line_step, f);
	say("%d\n", fclose(f));
}

CASE(tmpfile_of_main)
{
	f = tmpfile();
	fputs("main\n", f);
	turns(tmpfile_step, NULL);
	fseek(f, 2, SEEK_SET);
	line_step(f, 0);
	line_step(f, 0);
	fclose(f);
}

static char *memory;
static size_t memory_size;

static void memstream_step(void *arg, int me)
{
	(void)arg;
	for (int i = 0; i < 100; i++)
		fprintf(f, "%d:%d ", me, i);
	fflush(f);
	say("%d size %zu\n", me, memory_size);
}

CASE(open_memstream_of_main)
{
	f = open_memstream(&memory, &memory_size);
	turns(memstream_step, NULL);
	fputs("end", f);
	fclose(f);
	say("%zu %.12s...%s\n", memory_size, memory, memory + memory_size - 12);
	free(memory);
}

static void memstream_make_step(void *arg, int me)
{
	if (me == 1)
		f = open_memstream(&memory, &memory_size);
	memstream_step(arg, me);
	if (me == threads)
		fclose(f);
}

CASE(open_memstream_of_thread)
{
	turns(memstream_make_step, NULL);
	say("%zu %.12s...%s\n", memory_size, memory, memory + memory_size - 12);
	free(memory);
}

CASE(fmemopen_read)
{
	char text[] = "one\ntwo\nthree\nfour\nfive\n";

	f = fmemopen(text, strlen(text), "r");
	line_step(f, 0);
	turns(line_step, f);
	say("at %ld\n", ftell(f));
	fclose(f);
}

static void fmem_step(void *arg, int me)
{
	if (me == 1)
		f = fmemopen(arg, 40, "w+");
	fprintf(f, "%d,", me);
	fflush(f);
	say("%d sees %s\n", me, (char *)arg);
}

CASE(fmemopen_write)
{
	char *text = calloc(1, 41);

	turns(fmem_step, text);
	fputs("main", f);
	fclose(f);
	say("%s\n", text);
	free(text);
}

struct cookie {
	int reads, writes, closes;
	char text[100];
	size_t n;
};

static ssize_t cookie_write(void *cookie, const char *text, size_t n)
{
	struct cookie *c = cookie;

	c->writes++;
	memcpy(c->text + c->n, text, n);
	c->n += n;
	return (ssize_t)n;
}

static ssize_t cookie_read(void *cookie, char *text, size_t n)
{
	struct cookie *c = cookie;

	(void)n;
	if (c->reads == 8)
		return 0;
	memset(text, 'a' + c->reads++, 6);
	text[5] = '\n';
	return 6;
}

static int cookie_close(void *cookie)
{
	return ((struct cookie *)cookie)->closes++;
}

static void cookie_step(void *arg, int me)
{
	(void)arg;
	fprintf(f, "<%d>", me);
	if (me == threads)
		fclose(f);
}

CASE(fopencookie_write)
{
	struct cookie c = {0};

	f = fopencookie(&c, "w", (cookie_io_functions_t){.write = cookie_write, .close = cookie_close});
	fputs("main", f);
	turns(cookie_step, NULL);
	say("%s, %d writes, %d closes\n", c.text, c.writes, c.closes);
}

CASE(fopencookie_read)
{
	struct cookie c = {0};

	f = fopencookie(&c, "r", (cookie_io_functions_t){.read = cookie_read, .close = cookie_close});
	turns(line_step, f);
	line_step(f, 0);
	fclose(f);
	say("%d reads, %d closes\n", c.reads, c.closes);
}

static void dprintf_step(void *arg, int me)
{
	say("%d dprintf %d\n", me, dprintf(*(int *)arg, "%s %d\n", "number", me));
}

CASE(dprintf_in_turn)
{
	int fd = open("dprintf", O_RDWR | O_CREAT | O_TRUNC, 0644);

	turns(dprintf_step, &fd);
	close(fd);
	shows(0, "dprintf");
}

static void wide_step(void *arg, int me)
{
	(void)arg;
	say("%d wide %d, %d\n", me, fwide(f, 0) > 0, fwprintf(f, L"wide %d\n", me));
}

CASE(wide_stream)
{
	f = fopen("wide", "w+");
	fwide(f, 1);
	turns(wide_step, NULL);
	rewind(f);
	wint_t c = fgetwc(f);
	say("%c\n", (int)c);
	fclose(f);
	shows(0, "wide");
}

MAIN(ALONE(stdin_lines), ALONE(stdin_scanf), ALONE(stdin_getchar), ALONE(stdin_rest_in_thread), ALONE(stdin_getline),
     ALONE(stdin_reopened), ALONE(freopen_in_thread), ALONE(freopen_in_main), ALONE(perror_in_turn),
     ALONE(perror_reopened), ALONE(stdout_unbuffered), T(popen_in_thread), T(pclose_in_thread), T(tmpfile_of_thread),
     T(tmpfile_of_main), T(open_memstream_of_main), T(open_memstream_of_thread), T(fmemopen_read), T(fmemopen_write),
     T(fopencookie_write), T(fopencookie_read), T(dprintf_in_turn), T(wide_stream))
