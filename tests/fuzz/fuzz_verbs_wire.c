/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_verbs_wire.c - addresses and handshakes of verbs: accepted ones are whole, in range and proven; an accepted
 * handshake can be answered, and only the endpoint that sent it accepts the answer.
 *
 * Input: which decoder; for a handshake, whether its numbers are made likely, what to do with its proof, and its
 * length; then the bytes. */
#include <netinet/in.h>

#include "net/verbs/verbs_wire.h"
#include "tests/fuzz/fuzz.h"

static const struct tw_net_config server = {.node = 1, .nodes = 3, .ports = 5, .secret = {1, 2, 3}};
static const uint8_t nonce[VERBS_NONCE_BYTES] = {4, 5, 6};

/* Make the proof of a handshake, or of its answer, as the job would, by a copy of the text's definition. */
static void fuzz_prove(const void *handshake, const void *welcome, uint8_t *proof)
{
	struct {
		uint8_t nonce[VERBS_NONCE_BYTES];
		struct verbs_handshake handshake;
		struct verbs_welcome welcome;
	} text;

	memset(&text, 0, sizeof(text));
	memcpy(text.nonce, nonce, sizeof(nonce));
	memcpy(&text.handshake, handshake, sizeof(text.handshake));
	memset(text.handshake.proof, 0, sizeof(text.handshake.proof));
	if (welcome)
		memcpy(&text.welcome, welcome, sizeof(text.welcome));
	memset(text.welcome.proof, 0, sizeof(text.welcome.proof));
	tw_auth_prove(server.secret, &text, sizeof(text), proof);
}

/* An input's handshake, or answer. */
struct fuzz_packet {
	bool likely;   /* with the numbers that the job expects */
	unsigned turn; /* bit of the proof to turn over; beyond them: none, and PROOF_ITS_OWN: leave the proof alone */
	uint8_t *data; /* of its own size, so that reading behind it is found */
	size_t bytes;
};

#define PROOF_BITS    (8u * TW_AUTH_PROOF_BYTES)
#define PROOF_ITS_OWN 255u

static struct fuzz_packet fuzz_packet(struct fuzz_input *in)
{
	struct fuzz_packet g = {.likely = fuzz_byte(in) % 2, .turn = fuzz_byte(in), .bytes = fuzz_byte(in) % 64};

	g.data = malloc(g.bytes + !g.bytes);
	TW_ASSERT(g.data);
	fuzz_take(in, g.data, g.bytes);
	return g;
}

static void fuzz_turn(const struct fuzz_packet *g, uint8_t *proof)
{
	if (g->turn < PROOF_BITS)
		proof[g->turn / 8] ^= (uint8_t)(1u << g->turn % 8);
}

static bool fuzz_proven(const struct fuzz_packet *g)
{
	return g->turn >= PROOF_BITS && g->turn != PROOF_ITS_OWN;
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
	TW_ASSERT(back.len == from.len && memcmp(back.bytes, from.bytes, offsetof(struct verbs_address, ip) + 4) == 0);
}

static void fuzz_handshake(struct fuzz_input *in)
{
	struct fuzz_packet g = fuzz_packet(in);
	struct verbs_handshake handshake;
	struct verbs_welcome welcome;
	bool whole = g.bytes >= sizeof(handshake);

	if (whole && g.likely) {
		memcpy(&handshake, g.data, sizeof(handshake));
		handshake.magic = VERBS_MAGIC;
		handshake.target = 1;
		handshake.node %= 3;
		handshake.port %= 5;
		memcpy(g.data, &handshake, sizeof(handshake));
	}
	if (whole && g.turn != PROOF_ITS_OWN) {
		fuzz_prove(g.data, NULL, g.data + offsetof(struct verbs_handshake, proof));
		fuzz_turn(&g, g.data + offsetof(struct verbs_handshake, proof));
	}
	bool taken = verbs_handshake_read(&handshake, &server, nonce, g.data, g.bytes);
	TW_ASSERT(taken || !whole || !g.likely || !fuzz_proven(&g));
	if (taken) {
		TW_ASSERT(whole && fuzz_proven(&g));
		TW_ASSERT(handshake.magic == VERBS_MAGIC && handshake.target == 1 && handshake.node < 3 &&
		          handshake.port < 5);
		verbs_welcome_write(&welcome, &server, nonce, &handshake, 7, 9);
		TW_ASSERT(verbs_welcome_read(&welcome, &server, nonce, &handshake, &welcome, sizeof(welcome)));
		handshake.number++;
		TW_ASSERT(!verbs_welcome_read(&welcome, &server, nonce, &handshake, &welcome, sizeof(welcome)));
	}
	free(g.data);
}

static void fuzz_welcome(struct fuzz_input *in)
{
	struct tw_net_config endpoint = server;
	struct fuzz_packet g = fuzz_packet(in);
	struct verbs_handshake handshake;
	struct verbs_welcome welcome;
	bool whole = g.bytes >= sizeof(welcome);

	endpoint.node = 2;
	verbs_handshake_write(&handshake, &endpoint, 1, nonce, 77);
	if (whole && g.likely)
		memcpy(g.data + offsetof(struct verbs_welcome, magic), &(uint32_t){VERBS_MAGIC}, sizeof(uint32_t));
	if (whole && g.turn != PROOF_ITS_OWN) {
		fuzz_prove(&handshake, g.data, g.data + offsetof(struct verbs_welcome, proof));
		fuzz_turn(&g, g.data + offsetof(struct verbs_welcome, proof));
	}
	bool taken = verbs_welcome_read(&welcome, &endpoint, nonce, &handshake, g.data, g.bytes);
	TW_ASSERT(taken || !whole || !g.likely || !fuzz_proven(&g));
	TW_ASSERT(!taken || (whole && fuzz_proven(&g) && welcome.magic == VERBS_MAGIC));
	free(g.data);
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
	unsigned which = fuzz_byte(&in) % 3;

	if (which == 0)
		fuzz_address(&in);
	else if (which == 1)
		fuzz_handshake(&in);
	else
		fuzz_welcome(&in);
	return 0;
}
