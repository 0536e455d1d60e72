/* SPDX-License-Identifier: BSD-3-Clause */
/* meet.h - agents that a resource manager has started find the launcher, over TCP.
 *
 *   agent                              launcher
 *             <------------------------  nonce
 *     rank, nonce, proof ------------->
 *             <------------------------  proof; from then on the connection is a wire
 *
 * Each proof (net/auth.h) covers who speaks, the rank and both nonces.  A connection that does not bring one within RENDEZVOUS_PROVE_NS is
 * closed and counted; the listener is closed when all are there. */
#ifndef TW_TOOLS_LAUNCH_RENDEZVOUS_H
#define TW_TOOLS_LAUNCH_RENDEZVOUS_H

#include "tweed/driver/transport.h"

#define RENDEZVOUS_PLACE_BYTES 512

/* rendezvous_listen - at all addresses of this host; @place tells others where.  A descriptor, or -errno. */
int rendezvous_listen(char place[RENDEZVOUS_PLACE_BYTES]);
/* rendezvous_accept - wait until agents 1 to @nodes - 1 are there: @connection[rank].  @*refused counts the others.  Closes
 * @listener.  0, or -ETIMEDOUT after @seconds: @connection is -1 for who is missing. */
int rendezvous_accept(int listener, const uint8_t secret[TW_NET_SECRET_BYTES], unsigned nodes, unsigned seconds,
                int *connection, unsigned *refused);
/* rendezvous_connect - as agent @rank to the launcher at @place.  A descriptor, or -errno: -EACCES when it does not hold the secret. */
int rendezvous_connect(const char *place, const uint8_t secret[TW_NET_SECRET_BYTES], unsigned rank);

#endif
