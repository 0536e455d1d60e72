/* SPDX-License-Identifier: BSD-3-Clause */
/* table.h - the algorithms of collectives; for the library, and for the command, which prints the table. */
#ifndef TW_PGAS_SHMEM_TABLE_H
#define TW_PGAS_SHMEM_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A row.  Of a collective's rows, the first that suits is used. */
struct sh_rule {
	const char *call, *algorithm;
	bool teams;   /* only for teams; active sets of all PEs, or of all PEs of a node, are teams */
	size_t bytes; /* at most so many of each PE; SIZE_MAX: any number */
	const char *help;
	void (*run)(void); /* has the type of the call's algorithms */
};
extern const struct sh_rule sh_rules[]; /* NULL-ended; rows of a call are adjacent */

/* sh_rules_choose - @text is CALL=ALGORITHM,...: these calls use only these algorithms, where they suit the set.
 * Returns false, with the part that is not valid in @wrong.  SH_RULES_MEAN - the end of a message about it. */
#define SH_RULES_MEAN "is not CALL=ALGORITHM with names from the table that 'tweed info' shows"
bool sh_rules_choose(const char *text, char *wrong, size_t wrong_bytes);

#endif
