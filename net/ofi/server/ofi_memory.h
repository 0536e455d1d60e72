/* SPDX-License-Identifier: BSD-3-Clause */
/* ofi_memory.h - what entries of batches do with a node's memory (net/ofi/ofi_wire.h): by its server, or by an endpoint that waits.  No
 * libfabric here; by any thread. */
#ifndef TW_NET_OFI_SERVER_OFI_MEMORY_H
#define TW_NET_OFI_SERVER_OFI_MEMORY_H

#include "net/ofi/ofi_wire.h"

/* ofi_memory_do - execute @entry, neither PUT nor RING, on the memory at @base.  Results go to @out, which has OFI_ROOM and of which @*used bytes
 * are used; NULL: nobody asked for any.  Fences follow the writes and atomics; words are whole.  False: it makes no sense, and nothing is done. */
bool ofi_memory_do(const struct tw_net_config *config, char *base, const struct ofi_entry *entry, char *out,
                   size_t *used);

/* ofi_entry_next - the entry at @*at of those that end at @end, and @*at is behind it; NULL: what is there is none, or there is none. */
const struct ofi_entry *ofi_entry_next(const char **at, const char *end);

#define OFI_DELEGATORS 256u /* nodes, the first, whose endpoints may lend */

/* Claims of batches that both the server and an endpoint may have (net/ofi/ofi_delegate.c), in control memory behind the mailboxes, neither of which others may use as
 * memory: ofi_closed_bytes of it.  ofi_claim - is batch @number of endpoint (@node, @port) the caller's to do?  ofi_claimed - the number of
 * its last one that somebody claimed.  ofi_claim_none - it begins a session: none is. */
size_t ofi_closed_bytes(unsigned ports);
bool ofi_claim(const struct tw_net_config *config, char *base, unsigned node, unsigned port, uint64_t number);
uint64_t ofi_claimed(const struct tw_net_config *config, char *base, unsigned node, unsigned port);
void ofi_claim_none(const struct tw_net_config *config, char *base, unsigned node, unsigned port);

#endif
