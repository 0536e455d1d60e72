/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_ofi_mate.c - messages to an endpoint of the ofi transport from others, and from strangers: nothing outside what it may be told is
 * touched, nothing is heard twice, and nobody is believed to have heard what was not told.
 *
 * Input: messages told by the endpoint, and what comes, with right and wrong proofs. */
#include <stdlib.h>
#include <string.h>

#include "net/ofi_mate.h"
#include "tests/fuzz/fuzz.h"

#define BYTES 8192u
#define AT    4096u /* the second half may be told */

static struct ofi_mates *m;
static struct tw_net net = {.config = {.nodes = 3, .ports = 2, .port = 1}, .told_at = AT, .told_bytes = BYTES - AT};

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	net.base = aligned_alloc(4096, BYTES);
	TW_ASSERT(net.base);
	return 0;
}

static struct ofi_head *message(struct fuzz_input *in, struct ofi_mate *mate, unsigned node, size_t *bytes)
{
	unsigned flags = fuzz_byte(in), kind = OFI_GREET + flags % 5;
	uint64_t where = fuzz_byte(in) * 64u + (flags & 64 ? 0 : AT);
	size_t body = kind == OFI_TELL ? sizeof(struct ofi_tell) - sizeof(struct ofi_head) : 0;
	struct ofi_head *head;
	struct ofi_tell *tell;

	body += TW_MIN((size_t)fuzz_byte(in) * (flags & 8 ? 40 : 1), in->bytes);
	*bytes = sizeof(*head) + body;
	head = malloc(TW_MAX(*bytes, sizeof(*tell)));
	TW_ASSERT(head);
	if (kind == OFI_TELL) {
		tell = (void *)head;
		*tell = (struct ofi_tell){.word = where, .value = flags, .offset = AT + flags};
		fuzz_take(in, tell + 1, *bytes - sizeof(*tell));
	} else {
		fuzz_take(in, head + 1, body);
	}
	*head = (struct ofi_head){.number = mate->its_told + ofi_mate_weight(*bytes) + (flags & 16 ? flags : 0),
	                          .bytes = (uint16_t)*bytes,
	                          .kind = (uint8_t)kind,
	                          .ask = (uint8_t)(mate->heard + (flags & 32 ? flags : 0)),
	                          .node = (uint16_t)(flags & 128 ? flags : node),
	                          .port = 1,
	                          .lane = mate->lane};
	struct ofi_key key = mate->its_key;
	if (kind == OFI_GREET)
		ofi_key_between(net.config.secret, &m->card, head->number, head->node, head->port, head->lane, &key);
	ofi_seal(&key, head);
	if (flags == 77)
		head->number++;
	return head;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct fuzz_input in = {data, bytes};
	static const char none[AT];
	int got = 0;

	m = ofi_mates_create(&net.config);
	TW_ASSERT(m);
	memset(net.base, 0, BYTES);
	while (in.bytes && got >= 0) {
		unsigned what = fuzz_byte(&in), node = 1 + what % 2;
		struct ofi_mate *mate = ofi_mate_of(m, &net.config, node, 1, what >> 3 & 1), old = *mate;
		size_t all;

		if (what & 4 && ofi_mate_may(mate, 64))
			mate->told++;
		struct ofi_head *head = message(&in, mate, node, &all);
		got = ofi_mate_take(m, &net, head, all);
		TW_ASSERT(mate->its_told >= old.its_told && mate->heard >= old.heard && mate->heard <= mate->told);
		TW_ASSERT(got != OFI_MATE_TOLD || mate->its_told == head->number);
		TW_ASSERT(!old.session || mate->session == old.session);
		free(head);
	}
	TW_ASSERT(memcmp(net.base, none, AT) == 0);
	free(m);
	return 0;
}
