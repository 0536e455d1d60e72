/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/auth.h"

#include <sodium.h>

_Static_assert(TW_NET_SECRET_BYTES == crypto_generichash_KEYBYTES, "the job's secret is a key");
_Static_assert(TW_AUTH_TAG_KEY_BYTES == crypto_shorthash_siphashx24_KEYBYTES &&
                   TW_AUTH_PROOF_BYTES == crypto_shorthash_siphashx24_BYTES,
               "a tag is a proof");
_Static_assert(TW_AUTH_PROOF_BYTES >= crypto_generichash_BYTES_MIN, "a proof is a hash");

void tw_auth_prove(const uint8_t secret[TW_NET_SECRET_BYTES], const void *text, size_t bytes,
                   uint8_t proof[TW_AUTH_PROOF_BYTES])
{
	crypto_generichash(proof, TW_AUTH_PROOF_BYTES, text, bytes, secret, TW_NET_SECRET_BYTES);
}

bool tw_auth_holds(const uint8_t secret[TW_NET_SECRET_BYTES], const void *text, size_t bytes,
                   const uint8_t proof[TW_AUTH_PROOF_BYTES])
{
	uint8_t right[TW_AUTH_PROOF_BYTES];

	tw_auth_prove(secret, text, bytes, right);
	return sodium_memcmp(right, proof, sizeof(right)) == 0;
}

void tw_auth_tag(const uint8_t key[TW_AUTH_TAG_KEY_BYTES], const void *text, size_t bytes,
                 uint8_t tag[TW_AUTH_PROOF_BYTES])
{
	crypto_shorthash_siphashx24(tag, text, bytes, key);
}

bool tw_auth_tagged(const uint8_t key[TW_AUTH_TAG_KEY_BYTES], const void *text, size_t bytes,
                    const uint8_t tag[TW_AUTH_PROOF_BYTES])
{
	uint8_t right[TW_AUTH_PROOF_BYTES];

	tw_auth_tag(key, text, bytes, right);
	return sodium_memcmp(right, tag, sizeof(right)) == 0;
}
