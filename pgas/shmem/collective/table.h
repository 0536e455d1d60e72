/* SPDX-License-Identifier: BSD-3-Clause */
/* table.h - which algorithm a collective takes; for the library, and for the command, which shows it. */
#ifndef TW_PGAS_SHMEM_TABLE_H
#define TW_PGAS_SHMEM_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A row: of those of a collective, the first that suits is taken. */
struct sh_rule {
	const char *call, *algorithm;
	bool teams;   /* only teams; active sets of all PEs, or all of a node, are teams */
	size_t bytes; /* at most so many of each PE; SIZE_MAX: any number */
	const char *help;
	void (*run)(void); /* of the type that the call's algorithms have */
};
extern const struct sh_rule sh_rules[]; /* NULL-ended; rows of a call follow each other */

/* sh_rules_choose - @text is CALL=ALGORITHM,...: these calls take these algorithms alone, where they suit the set.  False, and in
 * @wrong what cannot be understood.  SH_RULES_MEAN - how such a sentence goes on. */
#define SH_RULES_MEAN "is not CALL=ALGORITHM with names from the table that 'tweed info' shows"
bool sh_rules_choose(const char *text, char *wrong, size_t wrong_bytes);

#endif
