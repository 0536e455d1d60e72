/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_ofi_session.c - messages to a server of the ofi transport, of strangers and of endpoints that hold the secret:
 * each is refused, damaged or executed; only the node's memory is touched, and mailboxes only by messages that make
 * sense.
 *
 * Input: messages: of each the head, whether its proof is right, and its body. */
#include <stdlib.h>
#include <string.h>

#include "net/mailbox.h"
#include "net/ofi/server/ofi_session.h"
#include "tests/fuzz/fuzz.h"

#define NODES   2u
#define PORTS   2u
#define CONTROL ((size_t)4096)

static struct ofi_sessions *n;
static size_t client_bytes;
static char *answer;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct tw_net_config config = {
	    .nodes = NODES, .ports = PORTS, .control_offset = CONTROL, .bytes = 2 * CONTROL + tw_mailbox_bytes(PORTS)};
	char *base = aligned_alloc(64, config.bytes);

	(void)argc;
	(void)argv;
	TW_ASSERT(base && (n = ofi_sessions_create(&config, base)) && (answer = malloc(OFI_MESSAGE)));
	client_bytes = sizeof(n->client[0]) * NODES * PORTS;
	return 0;
}

/* The next message of @in, in memory of its own length. */
static struct ofi_head *message(struct fuzz_input *in, size_t *bytes)
{
	unsigned flags = fuzz_byte(in), endpoint = fuzz_byte(in);
	struct ofi_head head = {.kind = flags & 1 ? OFI_WORK : OFI_HANDSHAKE,
	                        .ask = flags >> 1 & 1,
	                        .node = endpoint % (NODES + 1),
	                        .port = endpoint / 16 % (PORTS + 1)};
	uint16_t body;

	fuzz_take(in, &body, sizeof(body));
	*bytes = sizeof(head) + TW_MIN(body % OFI_MESSAGE, in->bytes);
	if (*bytes > OFI_MESSAGE)
		*bytes = OFI_MESSAGE;
	struct ofi_head *m = malloc(*bytes);
	TW_ASSERT(m);
	fuzz_take(in, m + 1, *bytes - sizeof(head));
	head.bytes = (uint16_t)(*bytes - (flags >> 2 & 1));
	bool known = head.node < NODES && head.port < PORTS;
	const struct ofi_client *client = &n->client[known ? ofi_session_client(n, head.node, head.port) : 0];
	head.number = (client->offered ? 0 : client->number) + 1 + (flags >> 3 & 1);
	if (flags & 128)
		head.kind = (uint8_t)fuzz_byte(in);
	*m = head;
	if (flags >> 4 & 1)
		*bytes -= TW_MIN(*bytes, (size_t)fuzz_byte(in)); /* cut */
	else if (head.kind == OFI_WORK)
		ofi_seal(client->offered ? &client->offered_key : &client->key, m);
	else if (head.bytes == *bytes)
		ofi_prove(n->config.secret, m);
	return m;
}

static void check_answer(const struct ofi_head *m, size_t bytes)
{
	const struct ofi_head *head = (const void *)answer;

	if (!bytes)
		return;
	TW_ASSERT(bytes == head->bytes && bytes <= OFI_MESSAGE && head->node == 0 && head->port == m->port);
	TW_ASSERT(head->kind == OFI_WELCOME
	              ? ofi_proves(n->config.secret, head, bytes)
	              : ofi_sealed(&n->client[ofi_session_client(n, m->node, m->port)].key, head, bytes));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct fuzz_input in = {data, bytes};
	struct tw_msg msg;

	memset(n->base, 0, n->config.bytes);
	memset(n->client, 0, client_bytes);
	n->counts = (struct tw_net_counts){0};
	n->deferring = 0;
	while (in.bytes) {
		uint64_t refused = n->counts.refused, damaged = n->counts.damaged;
		size_t all;
		struct ofi_head *m = message(&in, &all);

		size_t got = ofi_session_receive(n, m, all, (void *)answer);
		check_answer(m, got);
		TW_ASSERT(n->counts.refused <= refused + 1 && n->counts.damaged <= damaged + 1 &&
		          (!got || n->counts.refused == refused));
		free(m);
		/* Owners take their messages now and then; all of them make sense, or this ends in a fatal sentence. */
		if (in.bytes % 3 == 0)
			for (unsigned port = 0; port < PORTS; port++)
				while (tw_mailbox_take(tw_mailbox_of(&n->config, n->base, port), &n->config, &msg))
					;
		for (unsigned client = 0; client < NODES * PORTS; client++)
			ofi_session_place(n, client, (void *)answer);
	}
	return 0;
}
