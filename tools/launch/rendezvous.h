/* SPDX-License-Identifier: BSD-3-Clause */
/* rendezvous.h - agents that a resource manager has started find the launcher, over TCP.
 *
 *   agent                              launcher
 *             <------------------------  nonce
 *     rank, nonce, proof ------------->
 *             <------------------------  proof; from then on the connection is a wire
 *
 * Each proof (net/auth.h) covers the sender's role, the rank and both nonces.  A connection without a proof within
 * RENDEZVOUS_PROVE_NS is closed and counted.  The listener is closed when all agents have connected. */
#ifndef TW_TOOLS_LAUNCH_RENDEZVOUS_H
#define TW_TOOLS_LAUNCH_RENDEZVOUS_H

#include "tweed/driver/transport.h"

#define RENDEZVOUS_PLACE_BYTES 512

/* rendezvous_listen - listen at all addresses of this host; @place describes them for others.  Returns a descriptor, or
 * -errno. */
int rendezvous_listen(char place[RENDEZVOUS_PLACE_BYTES]);
/* rendezvous_accept - wait until agents 1 to @nodes - 1 have connected: @connection[rank].  @*refused counts other
 * connections.  Closes @listener.  Returns 0, or -ETIMEDOUT after @seconds: @connection is -1 for missing agents. */
int rendezvous_accept(int listener, const uint8_t secret[TW_NET_SECRET_BYTES], unsigned nodes, unsigned seconds,
                      int *connection, unsigned *refused);
/* rendezvous_connect - connect as agent @rank to the launcher at @place.  Returns a descriptor, or -errno: -EACCES when
 * the launcher does not hold the secret. */
int rendezvous_connect(const char *place, const uint8_t secret[TW_NET_SECRET_BYTES], unsigned rank);

#endif
