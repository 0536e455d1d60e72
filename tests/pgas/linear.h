/* SPDX-License-Identifier: BSD-3-Clause */
/* linear.h - is a recorded history linearizable?
 *
 * The search of Wing and Gong in the order of returns, as Lowe has it: all states that the object may be in, each with
 * the set of operations under way that have taken effect already, are kept in a set, so that none is looked at twice;
 * at each return, those remain in which that operation has taken effect.  Sets and maps are checked key by key. */
#ifndef TW_TESTS_LINEAR_H
#define TW_TESTS_LINEAR_H

#include <stddef.h>
#include <stdint.h>

enum linear_object { LINEAR_MAP, LINEAR_STACK, LINEAR_QUEUE };
enum linear_kind { LINEAR_GET, LINEAR_INSERT, LINEAR_REMOVE, LINEAR_PUSH, LINEAR_POP };

#define LINEAR_PROCESSES 64u  /* each has one operation at a time */
#define LINEAR_ITEMS     64u  /* in a stack or queue at any time */
#define LINEAR_UNKNOWN   (-1) /* as result: the process did not live to see it */

struct linear_op {
	uint64_t call_ns, return_ns; /* one clock for all; return_ns has no meaning for LINEAR_UNKNOWN */
	uint64_t key, value;         /* value: of insert and push; what get, remove and pop gave, where result is 1 */
	uint16_t process;
	uint8_t kind;
	int8_t result; /* 1, 0 or LINEAR_UNKNOWN */
};

/* linear_check - @n operations on an object that was empty at first; sorts them.
 * Returns NULL if they are linearizable; else a sentence that names the operation that cannot be, in a static buffer.
 * */
const char *linear_check(enum linear_object object, struct linear_op *op, size_t n);

#endif
