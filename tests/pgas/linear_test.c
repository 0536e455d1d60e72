/* SPDX-License-Identifier: BSD-3-Clause */
/* linear_test - the checker accepts what is linearizable, and refuses what is not: each history with a bug is one. */
#include "linear.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define GET    LINEAR_GET
#define INSERT LINEAR_INSERT
#define REMOVE LINEAR_REMOVE
#define PUSH   LINEAR_PUSH
#define POP    LINEAR_POP

static const struct {
	const char *name;
	bool good;
	enum linear_object object;
	unsigned n;
	struct linear_op op[6]; /* call, return, key, value, process, kind, result */
} history[] = {
    {"one after the other",
     true,
     LINEAR_MAP,
     4,
     {{1, 2, 5, 50, 0, INSERT, 1}, {3, 4, 5, 50, 1, GET, 1}, {5, 6, 5, 50, 1, REMOVE, 1}, {7, 8, 5, 0, 0, GET, 0}}},
    {"a get that overlaps sees either",
     true,
     LINEAR_MAP,
     3,
     {{1, 9, 5, 50, 0, INSERT, 1}, {2, 3, 5, 0, 1, GET, 0}, {4, 5, 5, 50, 1, GET, 1}}},
    {"seen, then not seen",
     false,
     LINEAR_MAP,
     3,
     {{1, 9, 5, 50, 0, INSERT, 1}, {2, 3, 5, 50, 1, GET, 1}, {4, 5, 5, 0, 2, GET, 0}}},
    {"two inserts of a key", false, LINEAR_MAP, 2, {{1, 4, 5, 50, 0, INSERT, 1}, {2, 5, 5, 51, 1, INSERT, 1}}},
    {"a lost insert", false, LINEAR_MAP, 2, {{1, 2, 5, 50, 0, INSERT, 1}, {3, 4, 5, 0, 1, REMOVE, 0}}},
    {"removed twice",
     false,
     LINEAR_MAP,
     3,
     {{1, 2, 5, 50, 0, INSERT, 1}, {3, 6, 5, 50, 0, REMOVE, 1}, {4, 7, 5, 50, 1, REMOVE, 1}}},
    {"another value", false, LINEAR_MAP, 2, {{1, 2, 5, 50, 0, INSERT, 1}, {3, 4, 5, 51, 1, GET, 1}}},
    {"a stale get",
     false,
     LINEAR_MAP,
     3,
     {{1, 2, 5, 50, 0, INSERT, 1}, {3, 4, 5, 50, 0, REMOVE, 1}, {5, 6, 5, 50, 1, GET, 1}}},
    {"keys are apart", true, LINEAR_MAP, 2, {{1, 2, 5, 50, 0, INSERT, 1}, {3, 4, 6, 60, 1, INSERT, 1}}},
    {"first in, first out",
     true,
     LINEAR_QUEUE,
     4,
     {{1, 2, 0, 7, 0, PUSH, 1}, {3, 4, 0, 8, 1, PUSH, 1}, {5, 6, 0, 7, 0, POP, 1}, {7, 8, 0, 8, 0, POP, 1}}},
    {"pushes that overlap come in any order",
     true,
     LINEAR_QUEUE,
     4,
     {{1, 4, 0, 7, 0, PUSH, 1}, {2, 5, 0, 8, 1, PUSH, 1}, {6, 7, 0, 8, 0, POP, 1}, {8, 9, 0, 7, 0, POP, 1}}},
    {"last in, first out of a queue",
     false,
     LINEAR_QUEUE,
     3,
     {{1, 2, 0, 7, 0, PUSH, 1}, {3, 4, 0, 8, 1, PUSH, 1}, {5, 6, 0, 8, 0, POP, 1}}},
    {"empty while it is not", false, LINEAR_QUEUE, 2, {{1, 2, 0, 7, 0, PUSH, 1}, {3, 4, 0, 0, 1, POP, 0}}},
    {"popped twice",
     false,
     LINEAR_QUEUE,
     3,
     {{1, 2, 0, 7, 0, PUSH, 1}, {3, 6, 0, 7, 0, POP, 1}, {4, 7, 0, 7, 1, POP, 1}}},
    {"popped before it was pushed", false, LINEAR_QUEUE, 2, {{1, 2, 0, 7, 0, POP, 1}, {3, 4, 0, 7, 1, PUSH, 1}}},
    {"last in, first out",
     true,
     LINEAR_STACK,
     3,
     {{1, 2, 0, 7, 0, PUSH, 1}, {3, 4, 0, 8, 1, PUSH, 1}, {5, 6, 0, 8, 0, POP, 1}}},
    {"first in, first out of a stack",
     false,
     LINEAR_STACK,
     3,
     {{1, 2, 0, 7, 0, PUSH, 1}, {3, 4, 0, 8, 1, PUSH, 1}, {5, 6, 0, 7, 0, POP, 1}}},
    {"one who died may have pushed",
     true,
     LINEAR_STACK,
     2,
     {{1, 0, 0, 7, 0, PUSH, LINEAR_UNKNOWN}, {5, 6, 0, 7, 1, POP, 1}}},
    {"or not", true, LINEAR_STACK, 2, {{1, 0, 0, 7, 0, PUSH, LINEAR_UNKNOWN}, {5, 6, 0, 0, 1, POP, 0}}},
};

int main(void)
{
	unsigned wrong = 0, n = sizeof(history) / sizeof(history[0]);

	for (unsigned i = 0; i < n; i++) {
		struct linear_op op[6];
		memcpy(op, history[i].op, sizeof(op));
		const char *why = linear_check(history[i].object, op, history[i].n);
		if (history[i].good != !why) {
			printf("%s: %s\n", history[i].name, why ? why : "not refused");
			wrong++;
		}
	}
	printf("%u histories, %u wrong\n", n, wrong);
	return wrong != 0;
}
