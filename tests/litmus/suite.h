/* SPDX-License-Identifier: BSD-3-Clause */
/* suite.h - cases that all processors of a job run together, one line each, and their count at the end. */
#ifndef SUITE_H
#define SUITE_H

#include "tweed/tweed.h"

struct suite {
	unsigned me, count, node, nodes, locals;
	unsigned rounds;     /* how often a case repeats its race */
	const char *name;    /* the running case */
	unsigned bad;        /* forbidden outcomes that this processor saw in it */
	const char *skipped; /* why the case cannot run at this shape, or NULL */
};

struct suite_case {
	const char *name;
	void (*run)(struct suite *s); /* called by every processor, between barriers */
};

/* suite_main - main() of a test program: [--rounds R] [--watchdog SECONDS] [CASE...]; @cases ends with a NULL name. */
int suite_main(int argc, char **argv, const struct suite_case *cases);

/* suite_bad - count a forbidden outcome; prints the first few. */
void suite_bad(struct suite *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* EXPECT - @condition holds, or a forbidden outcome is counted. */
#define EXPECT(s, condition, ...)                                                                                      \
	do {                                                                                                           \
		if (!(condition))                                                                                      \
			suite_bad((s), __VA_ARGS__);                                                                   \
	} while (0)

/* suite_needs - true when the job has so many processors and nodes; else the case is to return. */
bool suite_needs(struct suite *s, unsigned processors, unsigned nodes);

/* Collective: made by one processor, the same for all.  Memory is zeroed; suite_free waits for all. */
void *suite_shared(struct suite *s, size_t bytes);
void suite_free(struct suite *s, void *ptr);
tw_lock_t suite_lock(struct suite *s);
tw_flag_t suite_flag(struct suite *s);
tw_barrier_t suite_barrier(struct suite *s, unsigned n);
/* Collective: waits for all, then destroys. */
void suite_unlock(struct suite *s, tw_lock_t lock);
void suite_unflag(struct suite *s, tw_flag_t flag);
void suite_unbarrier(struct suite *s, tw_barrier_t barrier);

/* suite_role - the processor that plays part @role (0, 1, ...; fewer than processors) in @round: over the rounds
 * the parts are played on equal and on different nodes.  Different roles of one round are different processors. */
unsigned suite_role(const struct suite *s, unsigned round, unsigned role);

/* suite_value - a byte that changes with every argument. */
static inline uint8_t suite_value(unsigned round, size_t i)
{
	return (uint8_t)(round * 31 + i * 7 + (i >> 8) * 13 + 1);
}

#endif
