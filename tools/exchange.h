/* SPDX-License-Identifier: BSD-3-Clause */
/* exchange.h - what a resource manager tells us, and lets us tell each other, through PMIx.  libpmix is loaded at run time. */
#ifndef TW_TOOLS_EXCHANGE_H
#define TW_TOOLS_EXCHANGE_H

#include <stddef.h>

/* exchange_open - join: our rank and the number of processes.  exchange_share - what rank 0 gives (@data, at most @bytes) all get in
 * @data, in which the others have @bytes of room.  exchange_close.  A process calls them in this order, once.
 * Return 0 (exchange_share: the number of bytes), or -errno with a sentence in @error. */
int exchange_open(unsigned *rank, unsigned *size, char *error, size_t error_bytes);
int exchange_share(void *data, size_t bytes, char *error, size_t error_bytes);
void exchange_close(void);

#endif
