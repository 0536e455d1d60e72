/* SPDX-License-Identifier: BSD-3-Clause */
/* ofi_memory.h - execution of the entries of batches on a node's memory (net/ofi/ofi_wire.h): by its server, or by an
 * endpoint to which a batch was delegated.  No libfabric here; any thread. */
#ifndef TW_NET_OFI_SERVER_OFI_MEMORY_H
#define TW_NET_OFI_SERVER_OFI_MEMORY_H

#include "net/ofi/ofi_wire.h"

/* ofi_memory_do - execute @entry, neither PUT nor RING, on the memory at @base.  Results go to @out, which has
 * OFI_ROOM bytes, of which @*used are used; NULL: none were requested.  Fences follow writes and atomics; words are
 * whole.  False: the entry makes no sense, and nothing is done. */
bool ofi_memory_do(const struct tw_net_config *config, char *base, const struct ofi_entry *entry, char *out,
                   size_t *used);

/* ofi_entry_next - the next entry, at @*at, which is moved behind it; NULL: there is none before @end, or it is cut. */
const struct ofi_entry *ofi_entry_next(const char **at, const char *end);

#define OFI_DELEGATORS 256u /* first nodes of a job, whose endpoints may delegate */

/* Claims of batches that both the server and an endpoint may have (net/ofi/ofi_delegate.c), in control memory behind
 * the mailboxes.
 * ofi_closed_bytes - of mailboxes and claims, which are not accessible as memory.
 * ofi_claim - claim batch @number of endpoint (@node, @port); false: it is claimed already, or a later one is.
 * ofi_claimed - the number of its last claimed batch.
 * ofi_claim_none - it begins a session: no batch is claimed. */
size_t ofi_closed_bytes(unsigned ports);
bool ofi_claim(const struct tw_net_config *config, char *base, unsigned node, unsigned port, uint64_t number);
uint64_t ofi_claimed(const struct tw_net_config *config, char *base, unsigned node, unsigned port);
void ofi_claim_none(const struct tw_net_config *config, char *base, unsigned node, unsigned port);

#endif
