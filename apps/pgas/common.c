/* SPDX-License-Identifier: BSD-3-Clause */
#include "common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void options_help(const char *program, const char *help, const struct option *options)
{
	printf("%s - %s\n\n", program, help);
	for (; options->name; options++) {
		printf("  --%-16s %s", options->name, options->help);
		if (options->number)
			printf(" (%llu)", (unsigned long long)*options->number);
		else if (options->word && *options->word)
			printf(" (%s)", *options->word);
		printf("\n");
	}
	exit(0);
}

static const struct option *option_find(const char *program, const char *text, const struct option *options)
{
	for (; options->name && strncmp(text, "--", 2) == 0; options++)
		if (strcmp(text + 2, options->name) == 0)
			return options;
	fprintf(stderr, "%s: there is no option %s; --help lists them\n", program, text);
	exit(2);
}

void options_read(int argc, char **argv, const char *help, const struct option *options)
{
	const char *program = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
	char *end;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--help") == 0)
			options_help(program, help, options);
		const struct option *o = option_find(program, argv[i], options);
		if (o->flag) {
			*o->flag = true;
			continue;
		}
		if (++i == argc) {
			fprintf(stderr, "%s: --%s needs a value: %s\n", program, o->name, o->help);
			exit(2);
		}
		if (o->word) {
			*o->word = argv[i];
			continue;
		}
		*o->number = strtoull(argv[i], &end, 10);
		if (end == argv[i] || *end || argv[i][0] == '-') {
			fprintf(stderr, "%s: --%s %s is not a number\n", program, o->name, argv[i]);
			exit(2);
		}
	}
}

void pgas_begin(const struct tw_pgas_options *options)
{
	if (tw_pgas_init(options))
		exit(2);
}

void need(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "PE %u: %s\n", tw_pe(), what);
	exit(1);
}

uint64_t draw(uint64_t *state, uint64_t n)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return (z ^ z >> 31) % n;
}

double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void costs_print(const struct tw_pgas_stats *s, uint64_t ops)
{
	double n = ops ? (double)ops : 1;
	uint64_t remote = s->get + s->put + s->cas + s->faa + s->swap + s->am;

	if (tw_pe() != 0)
		return;
	printf("per operation: %.3f remote (%.3f get, %.3f put, %.3f cas, %.3f faa, %.3f swap, %.3f am), %.1f bytes, "
	       "%.3f rounds, "
	       "%.3f doorbells, %.3f failed cas, %.3f local\n",
	       (double)remote / n, (double)s->get / n, (double)s->put / n, (double)s->cas / n, (double)s->faa / n,
	       (double)s->swap / n, (double)s->am / n, (double)(s->get_bytes + s->put_bytes) / n, (double)s->rounds / n,
	       (double)s->doorbells / n, (double)s->cas_failed / n, (double)s->local / n);
	printf("in all: %llu allocated, %llu retired, %llu freed, %llu advances, at most %llu garbage\n",
	       (unsigned long long)s->allocated, (unsigned long long)s->retired, (unsigned long long)s->freed,
	       (unsigned long long)s->advances, (unsigned long long)s->garbage_most);
}
