/* SPDX-License-Identifier: BSD-3-Clause */
/* exchange.h - what a resource manager tells us, and lets us tell each other, through PMIx.  libpmix is loaded at run time. */
#ifndef TW_TOOLS_LAUNCH_PMIX_H
#define TW_TOOLS_LAUNCH_PMIX_H

#include <stddef.h>

/* pmix_open - join: our rank and the number of processes.  pmix_share - what rank 0 gives (@data, at most @bytes) all get in
 * @data, in which the others have @bytes of room.  pmix_close.  A process calls them in this order, once.
 * Return 0 (pmix_share: the number of bytes), or -errno with a sentence in @error. */
int pmix_open(unsigned *rank, unsigned *size, char *error, size_t error_bytes);
int pmix_share(void *data, size_t bytes, char *error, size_t error_bytes);
void pmix_close(void);

#endif
