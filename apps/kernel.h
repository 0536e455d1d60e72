/* SPDX-License-Identifier: BSD-3-Clause */
/* kernel.h - shared by the kernels of apps/ and splash/: options, timing, verification.
 *
 * A kernel has two forms of its data, *shared* (Tweed's memory) and *plain* (malloc), and two of its algorithm,
 * parallel and sequential.  Both algorithms call the same inner loops, so that the ratio of their times is a speedup,
 * not a difference between two compilations.  kernel_main() does the rest, in this order:
 *
 *   parallel:    tw_init, share, { init, barrier, tw_stats_reset, [parallel, barrier], tw_stats_stop } x repeat,
 *                at processor 0: output, and with --verify: plain, plain_init, sequential, verify
 *   sequential:  plain, { plain_init, [sequential] } x repeat, output, with --verify: verify; no call of Tweed
 *
 * `time:` is the time of the bracketed part.  Statistics are those of the last repetition. */
#ifndef TW_APPS_KERNEL_H
#define TW_APPS_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A numeric option: --name VALUE. */
struct kernel_option {
	const char *name;
	long *value;
	long initial, paper; /* the default, and the value for --paper */
	long min, max;
	const char *help;
};

/* An option whose value is a word: --name WORD. */
struct kernel_word {
	const char *name;
	const char **value;
	const char *const *choices; /* ended by NULL, the first is the default; NULL: any word, without a default */
	const char *help;
};

/* All hooks except @check and @output are mandatory. */
struct kernel {
	const char *name, *help;
	const struct kernel_option *options; /* ended by a NULL name */
	const struct kernel_word *words;     /* likewise; NULL: none */

	/* check - conditions on combinations of options.  Returns NULL, or a clause that completes "name: ". */
	const char *(*check)(void);
	/* share - allocate the shared data.  Collective.  Returns false, on every processor, when there is no
	 * memory. */
	bool (*share)(void);
	/* init - set processor @id's part of the shared data to its initial values, before each repetition.  Called by
	 * that processor, or with --init master by processor 0 for all. */
	void (*init)(int id);
	/* parallel - this processor's share of the work.  @round: 1 for the first repetition, 2 for the next, ... */
	void (*parallel)(unsigned round);

	/* plain - allocate the plain data with kernel_alloc().  plain_init - initialize it, again before each
	 * repetition.  sequential - do the work. */
	void (*plain)(void);
	void (*plain_init)(void);
	void (*sequential)(void);

	/* output - write other results than those in memory, from the shared or the plain data. */
	void (*output)(bool shared);
	/* verify - is the plain result right, and if @shared, does the shared one equal it?  Prints why not. */
	bool (*verify)(bool shared);
};

int kernel_main(const struct kernel *kernel, int argc, char **argv);

/* kernel_alloc, kernel_share - private zeroed memory, and shared memory allocated collectively; always at the start of
 * a page.  When there is none, kernel_alloc ends the program; kernel_share returns NULL on all processors. */
void *kernel_alloc(size_t bytes);
void *kernel_share(size_t bytes);

/* kernel_fail - end the program, and the job when in one, with a sentence on standard error and status 2. */
void kernel_fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* kernel_planted - true when the build has planted bugs and TWEED_PLANT names this one. */
#ifdef TW_PLANT
static inline bool kernel_planted(const char *name)
{
	const char *plant = getenv("TWEED_PLANT");
	return plant && strcmp(plant, name) == 0;
}
#else
#define kernel_planted(name) false
#endif

/* kernel_round_up - round up to a multiple of 64 KiB, Tweed's largest page: blocks of such sizes are page-aligned. */
static inline size_t kernel_round_up(size_t bytes)
{
	return (bytes + 65535) & ~(size_t)65535;
}

/* kernel_random - a number in [0, 1) that depends only on its arguments (the finaliser of splitmix64), so that every
 * processor computes the same initial data. */
static inline double kernel_random(uint64_t row, uint64_t column)
{
	uint64_t x = (row << 32) + column + UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	x ^= x >> 31;
	return (double)(x >> 11) * 0x1p-53;
}

#endif
