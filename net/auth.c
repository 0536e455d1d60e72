/* SPDX-License-Identifier: BSD-3-Clause */
/* auth.c - by libsodium, which is loaded at run time: a program may have one of its own linked in, with variables in
 * shared memory. */
#include "net/auth.h"

#include <dlfcn.h>
#include <sodium.h>

#include "core/base/base.h"
#include "core/base/library.h"

_Static_assert(TW_NET_SECRET_BYTES == crypto_generichash_KEYBYTES, "the job's secret is a key");
_Static_assert(TW_AUTH_TAG_KEY_BYTES == crypto_shorthash_siphashx24_KEYBYTES &&
                   TW_AUTH_PROOF_BYTES == crypto_shorthash_siphashx24_BYTES,
               "a tag is a proof");
_Static_assert(TW_AUTH_PROOF_BYTES >= crypto_generichash_BYTES_MIN, "a proof is a hash");

static struct {
	__typeof__(crypto_generichash) *hash;
	__typeof__(crypto_shorthash_siphashx24) *tag;
	__typeof__(sodium_memcmp) *compare;
} sodium;

/* Before the job is joined (runtime/threads/stack.c): the functions below are called in any context. */
static void __attribute__((constructor(101))) auth_open(void)
{
	static const char *const names[] = {"libsodium.so.23", "libsodium.so.26", "libsodium.so"};
	void *library = NULL;

	for (size_t i = 0; !library && i < sizeof(names) / sizeof(names[0]); i++)
		library = tw_library_open(names[i]);
	if (!library)
		tw_fatal("libsodium is missing (%s): install the package libsodium23", dlerror());
	*(void **)&sodium.hash = dlsym(library, "crypto_generichash");
	*(void **)&sodium.tag = dlsym(library, "crypto_shorthash_siphashx24");
	*(void **)&sodium.compare = dlsym(library, "sodium_memcmp");
}

void tw_auth_prove(const uint8_t secret[TW_NET_SECRET_BYTES], const void *text, size_t bytes,
                   uint8_t proof[TW_AUTH_PROOF_BYTES])
{
	sodium.hash(proof, TW_AUTH_PROOF_BYTES, text, bytes, secret, TW_NET_SECRET_BYTES);
}

bool tw_auth_holds(const uint8_t secret[TW_NET_SECRET_BYTES], const void *text, size_t bytes,
                   const uint8_t proof[TW_AUTH_PROOF_BYTES])
{
	uint8_t right[TW_AUTH_PROOF_BYTES];

	tw_auth_prove(secret, text, bytes, right);
	return sodium.compare(right, proof, sizeof(right)) == 0;
}

void tw_auth_tag(const uint8_t key[TW_AUTH_TAG_KEY_BYTES], const void *text, size_t bytes,
                 uint8_t tag[TW_AUTH_PROOF_BYTES])
{
	sodium.tag(tag, text, bytes, key);
}

bool tw_auth_tagged(const uint8_t key[TW_AUTH_TAG_KEY_BYTES], const void *text, size_t bytes,
                    const uint8_t tag[TW_AUTH_PROOF_BYTES])
{
	uint8_t right[TW_AUTH_PROOF_BYTES];

	tw_auth_tag(key, text, bytes, right);
	return sodium.compare(right, tag, sizeof(right)) == 0;
}
