/* SPDX-License-Identifier: BSD-3-Clause */
/* display.c - what OpenMP prints of itself: OMP_DISPLAY_ENV, OMP_AFFINITY_FORMAT. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/openmp/team.h"

#define DISPLAY_MOST 4096u
static char display_first[DISPLAY_MOST] = "level %L thread %i affinity %A"; /* before the job */
static char *display_format = display_first;                                /* in the job: shared memory */

/* ---- affinity ---------------------------------------------------------------------------------------------------- */

/* The fields of a format: a letter, or a name in braces. */
static const struct display_field {
	char letter;
	const char *name;
} display_fields[] = {{'t', "team_num"},         {'T', "num_teams"},      {'L', "nesting_level"}, {'n', "thread_num"},
                      {'N', "num_threads"},      {'a', "ancestor_tnum"},  {'H', "host"},          {'P', "process_id"},
                      {'i', "native_thread_id"}, {'A', "thread_affinity"}};

static void display_value(char letter, char *to, size_t bytes)
{
	long value = 0;

	if (letter == 'H') {
		gethostname(to, bytes);
		to[bytes - 1] = 0;
		return;
	}
	if (letter == 'A') {
		snprintf(to, bytes, "0-%d", tw_me ? tw_count() - 1 : 0);
		return;
	}
	switch (letter) {
	case 'T':
		value = 1;
		break;
	case 'L':
		value = omp_team->level;
		break;
	case 'n':
		value = omp_team->id;
		break;
	case 'N':
		value = omp_team->n;
		break;
	case 'a':
		value = omp_team->level ? (long)omp_team->outer->id : -1;
		break;
	case 'P':
		value = getpid();
		break;
	case 'i':
		value = syscall(SYS_gettid);
		break;
	default:
		break;
	}
	snprintf(to, bytes, "%ld", value);
}

/* At @p is a letter or a name in braces. Returns the field, and sets *@p behind it. */
static const struct display_field *display_find(const char **p)
{
	const char *end = **p == '{' ? strchr(*p, '}') : NULL;

	for (size_t i = 0; i < sizeof(display_fields) / sizeof(*display_fields); i++) {
		const struct display_field *f = &display_fields[i];
		size_t n = strlen(f->name);
		if (end ? (size_t)(end - *p - 1) == n && strncmp(*p + 1, f->name, n) == 0 : **p == f->letter) {
			*p = end ? end + 1 : *p + 1;
			return f;
		}
	}
	return NULL;
}

/* Write what @format says of this thread to @to. Returns the characters it needs. */
static size_t display_write(char *to, size_t bytes, const char *format)
{
	char value[300], padded[400];
	size_t at = 0;

	for (const char *p = format; *p;) {
		const char *text = p;
		size_t n = 1;
		if (*p++ == '%' && *p != '%') {
			bool zero = *p == '0', right = zero || *p == '.';
			p += zero + (p[zero] == '.');
			int width = (int)strtol(p, (char **)(uintptr_t)&p, 10);
			const struct display_field *f = display_find(&p);
			if (!f)
				th_refuse("the affinity format '%s' has a field that OpenMP does not have", format);
			display_value(f->letter, value, sizeof(value));
			bool number = strchr("HA", f->letter) == NULL;
			if (zero && number)
				snprintf(padded, sizeof(padded), "%0*ld", width, strtol(value, NULL, 10));
			else
				snprintf(padded, sizeof(padded), "%*s", right ? width : -width, value);
			text = padded;
			n = strlen(padded);
		} else if (*text == '%') {
			p++;
		}
		for (size_t i = 0; i < n; i++, at++)
			if (at + 1 < bytes)
				to[at] = text[i];
	}
	if (bytes)
		to[TW_MIN(at, bytes - 1)] = 0;
	return at;
}

size_t omp_capture_affinity(char *to, size_t bytes, const char *format)
{
	th_stack_reserve();
	return display_write(to, bytes, format && *format ? format : display_format);
}

void omp_display_affinity(const char *format)
{
	char line[DISPLAY_MOST];

	omp_capture_affinity(line, sizeof(line), format);
	fprintf(stderr, "%s\n", line);
}

void omp_set_affinity_format(const char *format)
{
	th_stack_reserve();
	snprintf(display_format, DISPLAY_MOST, "%s", format);
}

size_t omp_get_affinity_format(char *to, size_t bytes)
{
	th_stack_reserve();
	if (bytes)
		snprintf(to, bytes, "%s", display_format);
	return strlen(display_format);
}

/* ---- the directive error, at execution --------------------------------------------------------------------------- */

/* @bytes SIZE_MAX: up to the end of the string. */
static void display_message(const char *what, const char *text, size_t bytes)
{
	th_stack_reserve();
	fprintf(stderr, "%s directive encountered%s%.*s\n", what, text ? ": " : "",
	        (int)(text ? strnlen(text, TW_MIN(bytes, DISPLAY_MOST)) : 0), text ? text : "");
}

void GOMP_warning(const char *text, size_t bytes)
{
	display_message("libgomp: warning: error", text, bytes);
}

void GOMP_error(const char *text, size_t bytes)
{
	display_message("libgomp: fatal error: error", text, bytes);
	exit(1);
}

/* ---- the environment --------------------------------------------------------------------------------------------- */

void omp_display_env(int verbose)
{
	static const char *const schedule[] = {
	    [OMP_STATIC] = "STATIC", [OMP_DYNAMIC] = "DYNAMIC", [OMP_GUIDED] = "GUIDED", [OMP_AUTO] = "AUTO"};
	const struct omp_icv *icv = &omp_team->icv;
	char chunk[30] = "";

	(void)verbose;
	th_stack_reserve();
	if (icv->chunk)
		snprintf(chunk, sizeof(chunk), ",%llu", (unsigned long long)icv->chunk);
	fprintf(stderr,
	        "\nOPENMP DISPLAY ENVIRONMENT BEGIN\n"
	        "  _OPENMP = '201511'\n"
	        "  [host] OMP_DYNAMIC = '%s'\n"
	        "  [host] OMP_NESTED = 'FALSE'\n"
	        "  [host] OMP_NUM_THREADS = '%u'\n"
	        "  [host] OMP_SCHEDULE = '%s%s'\n"
	        "  [host] OMP_PROC_BIND = 'FALSE'\n"
	        "  [host] OMP_PLACES = ''\n"
	        "  [host] OMP_STACKSIZE = '%zu'\n"
	        "  [host] OMP_THREAD_LIMIT = '%u'\n"
	        "  [host] OMP_MAX_ACTIVE_LEVELS = '%u'\n"
	        "  [host] OMP_CANCELLATION = '%s'\n"
	        "  [host] OMP_DEFAULT_DEVICE = '0'\n"
	        "  [host] OMP_MAX_TASK_PRIORITY = '0'\n"
	        "  [host] OMP_AFFINITY_FORMAT = '%s'\n"
	        "OPENMP DISPLAY ENVIRONMENT END\n",
	        icv->dynamic ? "TRUE" : "FALSE", icv->threads, schedule[icv->schedule & ~OMP_MONOTONIC], chunk,
	        omp_stack_bytes(), icv->limit, icv->max_active, icv->cancellation ? "TRUE" : "FALSE", display_format);
}

void omp_display_open(void)
{
	const char *env = getenv("OMP_DISPLAY_ENV"), *format = getenv("OMP_AFFINITY_FORMAT");

	display_format = th_allocate_all(DISPLAY_MOST);
	if (tw_id() == 0)
		omp_set_affinity_format(format ? format : display_first);
	if (tw_id() == 0 && env && (strcasecmp(env, "true") == 0 || strcasecmp(env, "verbose") == 0))
		omp_display_env(strcasecmp(env, "verbose") == 0);
}
