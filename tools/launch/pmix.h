/* SPDX-License-Identifier: BSD-3-Clause */
/* pmix.h - the job's shape and a broadcast, from a resource manager through PMIx.  libpmix is loaded at run time. */
#ifndef TW_TOOLS_LAUNCH_PMIX_H
#define TW_TOOLS_LAUNCH_PMIX_H

#include <stddef.h>

/* pmix_open - join: this process's rank and the number of processes.
 * pmix_share - broadcast @data of rank 0, at most @bytes, to @data on the others, which have @bytes of room.
 * pmix_close - leave.
 * A process calls them in this order, once.  Return 0 (pmix_share: the number of bytes), or -errno with a sentence in
 * @error. */
int pmix_open(unsigned *rank, unsigned *size, char *error, size_t error_bytes);
int pmix_share(void *data, size_t bytes, char *error, size_t error_bytes);
void pmix_close(void);

#endif
