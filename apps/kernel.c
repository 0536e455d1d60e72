/* SPDX-License-Identifier: BSD-3-Clause */
#include "apps/kernel.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tweed/tweed.h"

#define KERNEL_REPEAT_MAX 1000

/* The values of the common options. */
struct kernel_run {
	const struct kernel *kernel;
	bool paper, verify, sequential, master, help;
	long repeat;
	double seconds[KERNEL_REPEAT_MAX];
	char error[256];
};

static struct kernel_run run;

/* ---- options ----------------------------------------------------------------------------------------------------- */

static bool kernel_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
static bool kernel_error(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(run.error, sizeof(run.error), format, args);
	va_end(args);
	return false;
}

static bool kernel_number(const char *name, const char *text, long min, long max, long *value)
{
	char *end;
	long number;

	errno = 0;
	number = text ? strtol(text, &end, 10) : 0;
	if (!text || end == text || *end || errno || number < min || number > max)
		return kernel_error("--%s takes a whole number from %ld to %ld%s%.80s.", name, min, max,
		                    text ? ", not " : "", text ? text : "");
	*value = number;
	return true;
}

/* The value of option @name when argv[*i] is it, as "--name VALUE" or "--name=VALUE".  Returns whether it is. */
static bool kernel_match(char **argv, int *i, const char *name, const char **value)
{
	size_t len = strlen(name);
	const char *arg = argv[*i];

	if (strncmp(arg, "--", 2) || strncmp(arg + 2, name, len) || (arg[2 + len] && arg[2 + len] != '='))
		return false;
	*value = arg[2 + len] ? arg + 3 + len : argv[*i + 1];
	if (!arg[2 + len] && argv[*i + 1])
		++*i;
	return true;
}

/* Set @word to one of its choices; without choices, to any word. */
static bool kernel_choose(const struct kernel_word *word, const char *text)
{
	char choices[128] = "a word";

	for (size_t c = 0; word->choices && word->choices[c]; c++) {
		size_t used = c ? strlen(choices) : 0;

		if (text && !strcmp(text, word->choices[c])) {
			*word->value = text;
			return true;
		}
		snprintf(choices + used, sizeof(choices) - used, "%s%s", c ? " or " : "", word->choices[c]);
	}
	if (text && *text && !word->choices) {
		*word->value = text;
		return true;
	}
	return kernel_error("--%s takes %s%s%.80s.", word->name, choices, text && *text ? ", not " : "",
	                    text ? text : "");
}

static bool kernel_parse_one(char **argv, int *i, bool *given)
{
	const struct {
		const char *name;
		bool *value;
	} switches[] = {{"--paper", &run.paper},
	                {"--verify", &run.verify},
	                {"--sequential", &run.sequential},
	                {"--help", &run.help}};
	const char *value;

	for (size_t s = 0; s < sizeof(switches) / sizeof(*switches); s++)
		if (!strcmp(argv[*i], switches[s].name))
			return *switches[s].value = true;
	for (const struct kernel_option *o = run.kernel->options; o->name; o++)
		if (kernel_match(argv, i, o->name, &value)) {
			given[o - run.kernel->options] = true;
			return kernel_number(o->name, value, o->min, o->max, o->value);
		}
	for (const struct kernel_word *w = run.kernel->words; w && w->name; w++)
		if (kernel_match(argv, i, w->name, &value))
			return kernel_choose(w, value);
	if (kernel_match(argv, i, "repeat", &value))
		return kernel_number("repeat", value, 1, KERNEL_REPEAT_MAX, &run.repeat);
	if (kernel_match(argv, i, "init", &value)) {
		run.master = value && !strcmp(value, "master");
		if (run.master || (value && !strcmp(value, "owner")))
			return true;
		return kernel_error("--init takes owner or master%s%.80s.", value ? ", not " : "", value ? value : "");
	}
	return kernel_error("%.80s is no option of this program; --help lists them.", argv[*i]);
}

/* Set @run and the kernel's option variables; false: run.error explains why not. */
static bool kernel_parse(int argc, char **argv)
{
	const struct kernel_option *options = run.kernel->options;
	bool given[16] = {false};
	const char *wrong;

	run.repeat = 1;
	for (const struct kernel_word *w = run.kernel->words; w && w->name; w++)
		*w->value = w->choices ? w->choices[0] : NULL;
	for (int i = 1; i < argc; i++)
		if (!kernel_parse_one(argv, &i, given))
			return false;
	for (int o = 0; options[o].name; o++)
		if (!given[o])
			*options[o].value = run.paper ? options[o].paper : options[o].initial;
	wrong = run.kernel->check ? run.kernel->check() : NULL;
	return wrong ? kernel_error("%s", wrong) : true;
}

static void kernel_help(void)
{
	printf("%s - %s\n\n", run.kernel->name, run.kernel->help);
	for (const struct kernel_option *o = run.kernel->options; o->name; o++)
		printf("  --%-12s %s (default %ld, paper %ld)\n", o->name, o->help, o->initial, o->paper);
	for (const struct kernel_word *w = run.kernel->words; w && w->name; w++) {
		printf("  --%-12s %s", w->name, w->help);
		for (size_t c = 0; w->choices && w->choices[c]; c++)
			printf("%s%s", c ? ", " : ": ", w->choices[c]);
		printf("%s\n", w->choices ? " (default the first)" : "");
	}
	printf("  --paper        the problem size of the Cashmere-2L paper, or else of the kernel's own\n"
	       "  --verify       afterwards, check the result against the sequential algorithm\n"
	       "  --sequential   run the sequential algorithm in private memory, without Tweed\n"
	       "  --repeat K     repeat the timed part K times and report the median\n"
	       "  --init WHO     owner: each processor initialises its own part (default); master: processor 0 all\n");
}

/* ---- memory and time --------------------------------------------------------------------------------------------- */

static double kernel_now(void)
{
	struct timespec t;

	if (!run.sequential)
		return tw_now();
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void kernel_fail(const char *format, ...)
{
	int name = snprintf(run.error, sizeof(run.error), "%s: ", run.kernel->name);
	va_list args;

	va_start(args, format);
	vsnprintf(run.error + name, sizeof(run.error) - (size_t)name, format, args);
	va_end(args);
	if (!run.sequential)
		tw_abort(2, run.error);
	fprintf(stderr, "%s.\n", run.error);
	exit(2);
}

void *kernel_alloc(size_t bytes)
{
	void *ptr = aligned_alloc(65536, kernel_round_up(bytes + !bytes));

	if (!ptr)
		kernel_fail("no memory for %zu bytes of private data", bytes);
	return memset(ptr, 0, bytes);
}

void *kernel_share(size_t bytes)
{
	return tw_malloc_all(kernel_round_up(bytes + !bytes));
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

static int kernel_compare_seconds(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void kernel_report(double startup)
{
	long n = run.repeat;

	printf("%s:", run.kernel->name);
	for (const struct kernel_option *o = run.kernel->options; o->name; o++)
		printf(" %s %ld%s", o->name, *o->value, o[1].name ? "," : "");
	for (const struct kernel_word *w = run.kernel->words; w && w->name; w++)
		if (*w->value)
			printf(", %s %s", w->name, *w->value);
	if (run.sequential)
		printf("; sequential\n");
	else
		printf("; %d processors on %d nodes\n", tw_count(), tw_nodes());
	printf("startup: %.6f s\n", startup);
	for (long i = 0; n > 1 && i < n; i++)
		printf("repetition %ld: %.6f s\n", i + 1, run.seconds[i]);
	qsort(run.seconds, (size_t)n, sizeof(*run.seconds), kernel_compare_seconds);
	printf("time: %.6f s\n", n % 2 ? run.seconds[n / 2] : (run.seconds[n / 2 - 1] + run.seconds[n / 2]) / 2);
	fflush(stdout);
}

static int kernel_verdict(bool ok)
{
	printf("verified: %s\n", ok ? "yes" : "no");
	fflush(stdout);
	return ok ? 0 : 1;
}

static int kernel_sequential(void)
{
	const struct kernel *k = run.kernel;
	double begin = kernel_now(), startup = 0;

	k->plain();
	for (long i = 0; i < run.repeat; i++) {
		k->plain_init();
		if (i == 0)
			startup = kernel_now() - begin;
		begin = kernel_now();
		k->sequential();
		run.seconds[i] = kernel_now() - begin;
	}
	kernel_report(startup);
	if (k->output)
		k->output(false);
	return run.verify ? kernel_verdict(k->verify(false)) : 0;
}

static void kernel_init(void)
{
	if (!run.master)
		run.kernel->init(tw_id());
	else if (tw_id() == 0)
		for (int id = 0; id < tw_count(); id++)
			run.kernel->init(id);
	tw_barrier_all();
}

/* In a job, between tw_init and tw_finalize.  Returns the exit status. */
static int kernel_parallel(void)
{
	const struct kernel *k = run.kernel;
	double begin = tw_now(), startup = 0;
	bool ok;

	if (!k->share()) {
		if (tw_id() == 0)
			fprintf(stderr, "%s: not enough shared memory for this size; set TWEED_MEMORY higher.\n",
			        k->name);
		return 2;
	}
	for (long i = 0; i < run.repeat; i++) {
		kernel_init();
		if (i == 0)
			startup = tw_now() - begin;
		tw_stats_reset();
		begin = tw_now();
		k->parallel((unsigned)i + 1);
		tw_barrier_all();
		run.seconds[i] = tw_now() - begin;
		tw_stats_stop();
	}
	if (tw_id() != 0)
		return 0;
	kernel_report(startup);
	if (k->output)
		k->output(true);
	if (!run.verify)
		return 0;
	k->plain();
	k->plain_init();
	k->sequential();
	ok = k->verify(true);
	tw_verified(ok);
	return kernel_verdict(ok);
}

int kernel_main(const struct kernel *kernel, int argc, char **argv)
{
	/* Outside a job, report a mistake at once.  In a job every processor finds it, and one reports it. */
	bool job = getenv("TWEED_PROCESSOR") != NULL, good;
	int status;

	run.kernel = kernel;
	good = kernel_parse(argc, argv);
	if (good && run.sequential && !run.help)
		return kernel_sequential();
	if ((good && !run.help) || job)
		tw_init(&argc, &argv);
	else
		job = false;
	if (good && !run.help) {
		status = kernel_parallel();
	} else {
		status = good ? 0 : 2;
		if (!job || tw_id() == 0) {
			if (good)
				kernel_help();
			else
				fprintf(stderr, "%s: %s\n", kernel->name, run.error);
			fflush(NULL);
		}
		if (!job)
			return status;
	}
	tw_finalize();
	return status;
}
