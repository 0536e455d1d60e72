/* SPDX-License-Identifier: BSD-3-Clause */
/* streams.c - FILE objects of one thread that others read, write, move in, flush and close. */
#include "process.h"

#include <printf.h>

static FILE *f, *files[MANY + 1];
static char line[200], *grown;
static size_t room;

/* ---- reading ---- */

static void fgets_step(void *arg, int me)
{
	char *got = fgets(line, sizeof line, arg);

	say_text(me, "fgets", got ? (long)strlen(got) : -1, line);
}

CASE(fgets_in_turn)
{
	f = fopen("lines.txt", "r");
	fgets_step(f, 0);
	turns(fgets_step, f);
	fgets_step(f, 0);
	turns(fgets_step, f);
	say("at %ld", ftell(f));
	say(" %d\n", fclose(f));
}

static void fopen_step(void *arg, int me)
{
	(void)arg;
	if (me == 1)
		f = fopen("lines.txt", "r");
	fgets_step(f, me);
	if (me == threads)
		say("no file: %s\n", fopen("absent", "r") ? "found" : err(-1));
}

CASE(fopen_in_thread)
{
	turns(fopen_step, NULL);
	fgets_step(f, 0);
	say("%d\n", fclose(f));
}

static void long_write_step(void *arg, int me)
{
	(void)arg;
	for (int i = 0; i < 500; i++)
		fprintf(f, "thread %d line %d of many\n", me, i);
}

static long lines_read, line_sum;

static void long_read_step(void *arg, int me)
{
	char text[100];

	(void)arg;
	(void)me;
	for (int i = 0; i < 111 && fgets(text, sizeof text, f); i++) {
		lines_read++;
		for (char *c = text; *c; c++)
			line_sum = (line_sum * 31 + *c) % 1000003;
	}
}

CASE(long_file_in_turn)
{
	f = fopen("long_file", "w");
	turns(long_write_step, NULL);
	say("at %ld", ftell(f));
	say(" %d\n", fclose(f));
	f = fopen("long_file", "r");
	for (int i = 0; i < 5; i++)
		turns(long_read_step, NULL);
	while (!feof(f))
		long_read_step(NULL, 0);
	say("%ld lines, sum %ld\n", lines_read, line_sum);
	fclose(f);
	unlink("long_file");
}

static void fread_step(void *arg, int me)
{
	size_t n = fread(line, 7, 2, arg);

	say_text(me, "fread", (long)n * 7, line);
}

CASE(fread_in_turn)
{
	f = fopen("lines.txt", "rb");
	turns(fread_step, f);
	say("at %ld, end %d\n", ftell(f), feof(f));
	fseek(f, -10, SEEK_END);
	turns(fread_step, f);
	say("at %ld, end %d, error %d\n", ftell(f), !!feof(f), ferror(f));
	fclose(f);
}

static long chars[MANY + 1], char_sum[MANY + 1];

static void fread_all_step(void *arg, int me)
{
	unsigned char c[5];
	size_t n;

	(void)arg;
	chars[me] = char_sum[me] = 0;
	while ((n = fread(c, 1, sizeof c, f)) > 0)
		for (size_t i = 0; i < n; i++, chars[me]++)
			char_sum[me] += c[i] * c[i];
}

static void getc_all_step(void *arg, int me)
{
	int c;

	(void)arg;
	chars[me] = char_sum[me] = 0;
	while ((c = me % 2 ? getc(f) : fgetc(f)) != EOF) {
		chars[me]++;
		char_sum[me] += c * c;
	}
}

static void say_chars(void)
{
	for (int i = 1; i <= threads; i++) {
		chars[0] += chars[i];
		char_sum[0] += char_sum[i];
	}
	say("%ld characters, sum %ld, end %d\n", chars[0], char_sum[0], !!feof(f));
}

CASE(fread_together)
{
	f = fopen("lines.txt", "r");
	with_main(fread_all_step, NULL);
	say_chars();
	fclose(f);
}

CASE(getc_together)
{
	f = fopen("lines.txt", "r");
	with_main(getc_all_step, NULL);
	say_chars();
	rewind(f);
	say("end %d, %c\n", feof(f), getc(f));
	fclose(f);
}

static void getc_step(void *arg, int me)
{
	(void)arg;
	flockfile(f);
	int a = getc_unlocked(f), b = getc_unlocked(f);
	say("%d '%c%c'\n", me, a, b);
	funlockfile(f);
}

CASE(getc_in_turn)
{
	f = fopen("lines.txt", "r");
	say("0 '%c'\n", getc(f));
	turns(getc_step, NULL);
	say("0 '%c', free %d\n", getc(f), ftrylockfile(f));
	funlockfile(f);
	fclose(f);
}

static void fscanf_step(void *arg, int me)
{
	int a = -1, b = -1;
	char word[8] = "";

	int n = fscanf(arg, "%d %7s%d", &a, word, &b);
	say("%d fscanf %d: %d %s %d\n", me, n, a, word, b);
}

CASE(fscanf_in_turn)
{
	f = fopen("numbers.txt", "r");
	fscanf_step(f, 0);
	turns(fscanf_step, f);
	fscanf_step(f, 0);
	fclose(f);
}

static long scanned;
static pthread_mutex_t scanned_lock = PTHREAD_MUTEX_INITIALIZER;

static void fscanf_all_step(void *arg, int me)
{
	int a;
	long mine = 0;

	(void)arg;
	(void)me;
	while (fscanf(f, "%d ", &a) == 1)
		mine += a;
	pthread_mutex_lock(&scanned_lock);
	scanned += mine;
	pthread_mutex_unlock(&scanned_lock);
}

CASE(fscanf_together)
{
	f = fopen("numbers.txt", "r");
	with_main(fscanf_all_step, NULL);
	say("sum %ld\n", scanned);
	fclose(f);
}

static void getline_step(void *arg, int me)
{
	(void)arg;
	long n = me % 2 ? getline(&grown, &room, f) : getdelim(&grown, &room, ' ', f);
	say_text(me, "getline", n, grown);
}

CASE(getline_in_turn)
{
	f = fopen("lines.txt", "r");
	turns(getline_step, NULL);
	getline_step(NULL, 0);
	getline_step(NULL, 1);
	free(grown);
	fclose(f);
	grown = NULL;
}

CASE(getline_grows)
{
	grown = NULL;
	room = 0;
	f = fopen("long_lines", "w+");
	for (int i = 0; i < 10; i++)
		fprintf(f, "%0*d\n", 25 * (i + 1), i);
	rewind(f);
	for (int i = 0; i < 3; i++)
		turns(getline_step, NULL);
	getline_step(NULL, 1);
	say("room %d\n", room >= strlen(grown));
	free(grown);
	fclose(f);
	grown = NULL;
}

static void ungetc_step(void *arg, int me)
{
	(void)arg;
	int c = getc(f);
	say("%d got '%c', back '%c'\n", me, c, ungetc('A' + me, f));
}

CASE(ungetc_for_others)
{
	f = fopen("lines.txt", "r");
	turns(ungetc_step, NULL);
	fgets_step(f, 0);
	say("%c\n", ungetc('!', f));
	turns(fgets_step, f);
	fclose(f);
}

static void ungetc_end_step(void *arg, int me)
{
	(void)arg;
	say("%d end %d", me, !!feof(f));
	ungetc('a' + me, f);
	say(", then %d", !!feof(f));
	say(" '%c'", getc(f));
	say(" %d\n", getc(f));
}

CASE(ungetc_at_end)
{
	f = fopen("folder/a.txt", "r");
	while (getc(f) != EOF)
		;
	turns(ungetc_end_step, NULL);
	clearerr(f);
	say("end %d\n", feof(f));
	fclose(f);
}

static void error_step(void *arg, int me)
{
	(void)arg;
	if (me == 1)
		say("1 puts %d\n", fputs("x", f));
	say("%d error %d\n", me, !!ferror(f));
	if (me == threads)
		clearerr(f);
}

CASE(error_flags)
{
	f = fopen("lines.txt", "r");
	turns(error_step, NULL);
	say("error %d\n", ferror(f));
	fgets_step(f, 0);
	fclose(f);
}

/* ---- writing ---- */

static void pairs_step(void *arg, int me)
{
	(void)arg;
	for (int i = 0; i < 30; i++) {
		flockfile(f);
		fprintf(f, "first %d %d\n", me, i);
		fputs("second ", f);
		putc('0' + me, f);
		putc_unlocked('\n', f);
		funlockfile(f);
	}
}

/* Pairs of lines must be beside each other. */
static void say_pairs(const char *name)
{
	FILE *in = fopen(name, "r");
	int me, i, you, next[MANY + 1] = {0}, wrong = 0, n = 0;

	while (fscanf(in, "first %d %d second %d ", &me, &i, &you) == 3) {
		n++;
		wrong += me != you || next[me]++ != i;
	}
	say("%d pairs, %d wrong, end %d\n", n, wrong, !!feof(in));
	fclose(in);
	unlink(name);
}

CASE(fprintf_with_flockfile)
{
	f = fopen("pairs", "w");
	with_main(pairs_step, NULL);
	fclose(f);
	say_pairs("pairs");
}

static pthread_mutex_t pair_lock = PTHREAD_MUTEX_INITIALIZER;

static void mutex_pairs_step(void *arg, int me)
{
	(void)arg;
	for (int i = 0; i < 30; i++) {
		pthread_mutex_lock(&pair_lock);
		fprintf(f, "first %d %d\n", me, i);
		fprintf(f, "second %d\n", me);
		pthread_mutex_unlock(&pair_lock);
	}
}

CASE(fprintf_with_mutex)
{
	f = fopen("pairs2", "a");
	with_main(mutex_pairs_step, NULL);
	fclose(f);
	say_pairs("pairs2");
}

static void lines_step(void *arg, int me)
{
	(void)arg;
	for (int i = 0; i < 25; i++) {
		fputs(me % 2 ? "odd line\n" : "even line\n", f);
		fputc('\n', f);
		fwrite("block\n", 6, 1, f);
	}
}

CASE(fputs_together)
{
	int n[4] = {0};

	f = fopen("fputs", "w+");
	with_main(lines_step, NULL);
	say("at %ld\n", ftell(f));
	rewind(f);
	while (fgets(line, sizeof line, f))
		n[*line == 'o' ? 0 : *line == 'e' ? 1 : *line == 'b' ? 2 : 3]++;
	say("%d odd, %d even, %d blocks, %d empty\n", n[0], n[1], n[2], n[3]);
	fclose(f);
	unlink("fputs");
}

static void putc_step(void *arg, int me)
{
	(void)arg;
	say("%d %c", me, putc('a' + me, f));
	say(" %d\n", fputs(" puts ", f) >= 0);
}

CASE(putc_in_turn)
{
	f = fopen("putc", "w");
	turns(putc_step, NULL);
	putc('\n', f);
	say("at %ld\n", ftell(f));
	fclose(f);
	shows(0, "putc");
}

static void stdout_step(void *arg, int me)
{
	(void)arg;
	for (int i = 0; i < 3; i++) {
		printf("thread %d ", me);
		puts("puts");
		putchar('c');
		fputs("fputs\n", stdout);
	}
}

CASE(printf_in_turn)
{
	print_said();
	printf("main before\n");
	turns(stdout_step, NULL);
	printf("main after\n");
}

static int printed;

static void numbers_step(void *arg, int me)
{
	(void)arg;
	(void)me;
	for (int i = 0; i < 20; i++) {
		pthread_mutex_lock(&pair_lock);
		printf("%d%c", printed, printed % 10 ? ' ' : '\n');
		printed++;
		pthread_mutex_unlock(&pair_lock);
	}
}

CASE(printf_with_mutex)
{
	print_said();
	printed = 0;
	with_main(numbers_step, NULL);
	printf("all %d\n", printed);
}

/* ---- places and buffers ---- */

static fpos_t kept;

static void seek_step(void *arg, int me)
{
	(void)arg;
	say("%d at %ld\n", me, ftell(f));
	fseek(f, 21 * me, SEEK_SET);
	fgets_step(f, me);
	if (me == 1)
		fgetpos(f, &kept);
}

CASE(fseek_in_turn)
{
	f = fopen("lines.txt", "r");
	turns(seek_step, NULL);
	say("%d", fsetpos(f, &kept));
	say(" at %ld\n", ftell(f));
	fgets_step(f, 0);
	rewind(f);
	turns(fgets_step, f);
	fclose(f);
}

static void update_step(void *arg, int me)
{
	(void)arg;
	fseek(f, 21 * me, SEEK_SET);
	fprintf(f, "LINE %02d", me);
	fflush(f);
	rewind(f);
	fgets_step(f, me);
}

CASE(update_in_turn)
{
	char text[300];

	f = fopen("lines.txt", "r");
	size_t n = fread(text, 1, 126, f);
	fclose(f);
	f = fopen("update", "w");
	fwrite(text, 1, n, f);
	fclose(f);
	f = fopen("update", "r+");
	turns(update_step, NULL);
	say("at %ld\n", ftell(f));
	fclose(f);
	shows(0, "update");
}

static char *buffer;

static void buffer_step(void *arg, int me)
{
	(void)arg;
	if (me == 1)
		say("1 setvbuf %d\n", setvbuf(f, buffer, _IOFBF, 64));
	fprintf(f, "text of %d;", me);
	shows(me, "setvbuf");
}

CASE(setvbuf_full)
{
	buffer = malloc(64);
	f = fopen("setvbuf", "w");
	turns(buffer_step, NULL);
	shows(0, "setvbuf");
	fclose(f);
	free(buffer);
	shows(0, "setvbuf");
}

static void line_buffer_step(void *arg, int me)
{
	(void)arg;
	if (me == 1)
		setvbuf(f, NULL, _IOLBF, 0);
	fprintf(f, "line\npart of %d ", me);
	shows(me, "setlinebuf");
	if (me == threads)
		setvbuf(f, NULL, _IONBF, 0);
}

CASE(setvbuf_line)
{
	f = fopen("setlinebuf", "w");
	turns(line_buffer_step, NULL);
	fputs("unbuffered", f);
	shows(0, "setlinebuf");
	fclose(f);
}

static char flushed_name[MANY + 1][24];

static void flush_step(void *arg, int me)
{
	(void)arg;
	fprintf(files[me], "of thread %d", me);
	if (me == 1)
		fflush(files[me]);
}

static void flush_all_step(void *arg, int me)
{
	(void)arg;
	if (me == threads)
		say("%d fflush %d\n", me, fflush(NULL));
}

CASE(fflush_all_by_main)
{
	for (int i = 1; i <= threads; i++) {
		snprintf(flushed_name[i], sizeof flushed_name[i], "flush%d", i);
		files[i] = fopen(flushed_name[i], "w");
	}
	turns(flush_step, NULL);
	for (int i = 1; i <= threads; i++)
		shows(0, flushed_name[i]);
	say("fflush %d\n", fflush(NULL));
	for (int i = 1; i <= threads; i++)
		shows(0, flushed_name[i]);
	for (int i = 1; i <= threads; i++)
		fclose(files[i]);
}

CASE(fflush_all_by_thread)
{
	f = fopen("flush", "w");
	fputs("of main", f);
	shows(0, "flush");
	turns(flush_all_step, NULL);
	shows(0, "flush");
	fclose(f);
}

static void fdopen_step(void *arg, int me)
{
	if (me == 1)
		f = fdopen(*(int *)arg, "r");
	say("%d number %d\n", me, fileno(f) == *(int *)arg);
	fgets_step(f, me);
}

CASE(fdopen_in_thread)
{
	int fd = open("lines.txt", O_RDONLY);

	lseek(fd, 5, SEEK_SET);
	turns(fdopen_step, &fd);
	say("%d", fclose(f));
	say(" then %s\n", err(close(fd)));
}

static void fileno_step(void *arg, int me)
{
	(void)arg;
	if (me == 1)
		files[1] = fdopen(dup(fileno(f)), "a");
	fprintf(files[1], "<%d>", me);
	if (me == threads)
		fclose(files[1]);
}

CASE(fdopen_of_dup)
{
	f = fopen("fdopen", "w");
	fputs("main", f);
	fflush(f);
	turns(fileno_step, NULL);
	fseek(f, 0, SEEK_END);
	fputs("end", f);
	fclose(f);
	shows(0, "fdopen");
}

static void fclose_step(void *arg, int me)
{
	(void)arg;
	fprintf(f, "by %d;", me);
	if (me == threads)
		say("%d fclose %d\n", me, fclose(f));
}

CASE(fclose_in_thread)
{
	f = fopen("fclose", "w");
	fputs("main;", f);
	turns(fclose_step, NULL);
	shows(0, "fclose");
}

/* ---- the C library's own streams, for one call ---- */

static int hook_prints(FILE *to, const struct printf_info *info, const void *const *args)
{
	(void)info;
	return fprintf(to, "(%d)", *(const int *)args[0]);
}

static int hook_reads(const struct printf_info *info, size_t n, int *type, int *size)
{
	(void)info;
	if (n) {
		*type = PA_INT;
		*size = sizeof(int);
	}
	return 1;
}

static __attribute__((noinline)) void hook_stack(void)
{
	volatile char stack[16384];

	memset((void *)(uintptr_t)stack, 0x5a, sizeof stack);
}

static void hook_step(void *arg, int me)
{
	static const char *volatile format = "%N and %N"; /* which the compiler does not know */

	(void)arg;
	hook_stack(); /* what such a stream does not initialise */
	snprintf(line, sizeof line, format, me, -me);
	hook_stack();
	int made = asprintf(&grown, format, me, 7);
	say(" %d %s %s", made, grown, line);
	free(grown);
}

CASE(printf_specifier)
{
	for (int i = 0; i < 100; i++) /* as libraries do each time they are initialised */
		register_printf_specifier('N', hook_prints, hook_reads);
	hook_step(NULL, 0);
	turns(hook_step, NULL);
	say("\n");
}

MAIN(T(fgets_in_turn), T(fopen_in_thread), T(long_file_in_turn), T(fread_in_turn), T(fread_together), T(getc_together),
     T(getc_in_turn), T(fscanf_in_turn), T(fscanf_together), T(getline_in_turn), T(getline_grows), T(ungetc_for_others),
     T(ungetc_at_end), T(error_flags), T(fprintf_with_flockfile), T(fprintf_with_mutex), T(fputs_together),
     T(putc_in_turn), T(printf_in_turn), T(printf_with_mutex), T(fseek_in_turn), T(update_in_turn), T(setvbuf_full),
     T(setvbuf_line), T(fflush_all_by_main), T(fflush_all_by_thread), T(fdopen_in_thread), T(fdopen_of_dup),
     T(fclose_in_thread), T(printf_specifier))
