/* SPDX-License-Identifier: BSD-3-Clause */
/* auth.h - proofs that a peer holds the job's secret, which itself never travels over a network that Tweed opened.
 *
 * A proof is a keyed BLAKE2b of a text.  Its verifier must make sure that the text names sender, receiver and purpose,
 * and is not a replay: by a nonce of the verifier's, or a name or number that is accepted once. */
#ifndef TW_NET_AUTH_H
#define TW_NET_AUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tweed/driver/transport.h"

#define TW_AUTH_PROOF_BYTES   16
#define TW_AUTH_TAG_KEY_BYTES 16

/* tw_auth_prove - make the proof of @text.  tw_auth_holds - is @proof that of @text?  In constant time.  Any
 * context. */
void tw_auth_prove(const uint8_t secret[TW_NET_SECRET_BYTES], const void *text, size_t bytes,
                   uint8_t proof[TW_AUTH_PROOF_BYTES]);
bool tw_auth_holds(const uint8_t secret[TW_NET_SECRET_BYTES], const void *text, size_t bytes,
                   const uint8_t proof[TW_AUTH_PROOF_BYTES]);

/* tw_auth_tag, tw_auth_tagged - the same for frequent short texts, by SipHash-2-4 with 128 bits; @key is drawn or
 * derived for these texts alone. */
void tw_auth_tag(const uint8_t key[TW_AUTH_TAG_KEY_BYTES], const void *text, size_t bytes,
                 uint8_t tag[TW_AUTH_PROOF_BYTES]);
bool tw_auth_tagged(const uint8_t key[TW_AUTH_TAG_KEY_BYTES], const void *text, size_t bytes,
                    const uint8_t tag[TW_AUTH_PROOF_BYTES]);

#endif
