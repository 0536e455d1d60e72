/* SPDX-License-Identifier: BSD-3-Clause */
/* auth.h - proofs that a peer holds the job's secret, which itself never travels over a network that we opened.
 *
 * A proof is a keyed BLAKE2b of a text.  Whoever checks it must make sure that the text says who speaks to whom and for
 * what, and cannot have been heard before: a nonce of the checker's, or a name or number that is accepted once. */
#ifndef TW_NET_AUTH_H
#define TW_NET_AUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tweed/driver/transport.h"

#define TW_AUTH_PROOF_BYTES 16

/* tw_auth_prove - the proof of @text.  tw_auth_holds - is @proof that of @text?  In constant time.  Any context. */
void tw_auth_prove(const uint8_t secret[TW_NET_SECRET_BYTES], const void *text, size_t bytes,
                   uint8_t proof[TW_AUTH_PROOF_BYTES]);
bool tw_auth_holds(const uint8_t secret[TW_NET_SECRET_BYTES], const void *text, size_t bytes,
                   const uint8_t proof[TW_AUTH_PROOF_BYTES]);

#endif
