/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_verbs_wire.c - addresses and greetings of verbs: what is taken is whole, in range and proven; what was greeted can be
 * answered, and the answer is taken by who greeted, and by nobody else.
 *
 * Input: which decoder; whether to prove the bytes as the job would, and with them a bit to turn over; then the bytes. */
#include <netinet/in.h>

#include "net/verbs_wire.h"
#include "tests/fuzz/fuzz.h"

static const struct tw_net_config server = {.node = 1, .nodes = 3, .ports = 5, .secret = {1, 2, 3}};
static const uint8_t nonce[VERBS_NONCE_BYTES] = {4, 5, 6};

/* Give @bytes of a greeting the proof that the job would, by a copy of the text's definition. */
static void fuzz_prove(const void *hello, const void *welcome, uint8_t *proof)
{
	struct {
		uint8_t nonce[VERBS_NONCE_BYTES];
		struct verbs_hello hello;
		struct verbs_welcome welcome;
	} text;

	memset(&text, 0, sizeof(text));
	memcpy(text.nonce, nonce, sizeof(nonce));
	memcpy(&text.hello, hello, sizeof(text.hello));
	memset(text.hello.proof, 0, sizeof(text.hello.proof));
	if (welcome)
		memcpy(&text.welcome, welcome, sizeof(text.welcome));
	memset(text.welcome.proof, 0, sizeof(text.welcome.proof));
	tw_auth_prove(server.secret, &text, sizeof(text), proof);
}

/* A copy of what is left, of its own size, so that reading behind it is found. */
static uint8_t *fuzz_copy(struct fuzz_input *in)
{
	uint8_t *copy = malloc(in->bytes + !in->bytes);

	TW_ASSERT(copy);
	memcpy(copy, in->data, in->bytes);
	return copy;
}

static void fuzz_address(struct fuzz_input *in)
{
	struct tw_net_address from = {.len = (uint16_t)fuzz_byte(in)}, back;
	struct verbs_address address;
	struct sockaddr_storage at;

	fuzz_take(in, from.bytes, TW_MIN((size_t)from.len, sizeof(from.bytes)));
	if (!verbs_address_read(&address, &from))
		return;
	TW_ASSERT(from.len == sizeof(address));
	verbs_sockaddr(&address, address.port, &at);
	TW_ASSERT(at.ss_family == AF_INET || at.ss_family == AF_INET6);
	verbs_address_write(&back, (struct sockaddr *)&at, address.nonce);
	TW_ASSERT(back.len == from.len && memcmp(back.bytes, from.bytes, 4) == 0);
}

static void fuzz_hello(struct fuzz_input *in, bool prove, unsigned turn)
{
	uint8_t *data = fuzz_copy(in);
	struct verbs_hello hello;
	struct verbs_welcome welcome;

	if (prove && in->bytes >= sizeof(hello)) {
		fuzz_prove(data, NULL, data + offsetof(struct verbs_hello, proof));
		data[offsetof(struct verbs_hello, proof) + turn / 8 % TW_AUTH_PROOF_BYTES] ^=
		    turn < 8 * TW_AUTH_PROOF_BYTES ? 1u << turn % 8 : 0;
	}
	if (verbs_hello_read(&hello, &server, nonce, data, in->bytes)) {
		TW_ASSERT(prove && turn >= 8 * TW_AUTH_PROOF_BYTES && in->bytes >= sizeof(hello));
		TW_ASSERT(hello.magic == VERBS_MAGIC && hello.target == 1 && hello.node < 3 && hello.port < 5);
		verbs_welcome_write(&welcome, &server, nonce, &hello, 7, 9);
		TW_ASSERT(verbs_welcome_read(&welcome, &server, nonce, &hello, &welcome, sizeof(welcome)));
		hello.number++;
		TW_ASSERT(!verbs_welcome_read(&welcome, &server, nonce, &hello, &welcome, sizeof(welcome)));
	}
	free(data);
}

static void fuzz_welcome(struct fuzz_input *in, bool prove, unsigned turn)
{
	struct tw_net_config endpoint = server;
	uint8_t *data = fuzz_copy(in);
	struct verbs_hello hello;
	struct verbs_welcome welcome;

	endpoint.node = 2;
	verbs_hello_write(&hello, &endpoint, 1, nonce, 77);
	if (prove && in->bytes >= sizeof(welcome)) {
		fuzz_prove(&hello, data, data + offsetof(struct verbs_welcome, proof));
		data[offsetof(struct verbs_welcome, proof) + turn / 8 % TW_AUTH_PROOF_BYTES] ^=
		    turn < 8 * TW_AUTH_PROOF_BYTES ? 1u << turn % 8 : 0;
	}
	if (verbs_welcome_read(&welcome, &endpoint, nonce, &hello, data, in->bytes))
		TW_ASSERT(prove && turn >= 8 * TW_AUTH_PROOF_BYTES && welcome.magic == VERBS_MAGIC);
	free(data);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct fuzz_input in = {data, bytes};
	unsigned which = fuzz_byte(&in) % 3, prove = fuzz_byte(&in) % 2, turn = fuzz_byte(&in);

	if (which == 0)
		fuzz_address(&in);
	else if (which == 1)
		fuzz_hello(&in, prove, turn);
	else
		fuzz_welcome(&in, prove, turn);
	return 0;
}
