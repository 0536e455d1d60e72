/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_ofi_link.c - messages to an endpoint of the ofi transport, of strangers and of servers that hold the secret:
 * results are stored where reads want them, and batches that were not sent are not considered done.
 *
 * Input: reads, batches and messages that the endpoint sends, and messages that it receives, with right and wrong
 * proofs. */
#include <stdlib.h>
#include <string.h>

#include "net/ofi/ofi_link.h"
#include "tests/fuzz/fuzz.h"

#define NODES 3u
#define MOST  300u /* bytes of a read */

static struct ofi_link link[NODES];
static char *to[NODES][OFI_READS];
static const struct tw_net_config config = {.nodes = NODES, .ports = 2, .port = 1};

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return 0;
}

/* A read, in memory of its own length. */
static void ask(unsigned node, unsigned bytes)
{
	struct ofi_link *p = &link[node];
	unsigned at = (p->first + p->reads) % OFI_READS;

	if (p->reads == OFI_READS)
		return;
	free(to[node][at]);
	to[node][at] = malloc(bytes);
	TW_ASSERT(to[node][at]);
	p->read[at] = (struct ofi_result){.to = to[node][at], .bytes = bytes};
	p->reads++;
	p->asked = ++p->sent;
}

static struct ofi_head *message(struct fuzz_input *in, unsigned node, size_t *bytes)
{
	unsigned flags = fuzz_byte(in);
	struct ofi_head head = {.kind = flags & 1 ? OFI_WELCOME : OFI_REPLY,
	                        .node = (uint16_t)(flags & 64 ? flags : node),
	                        .port = flags & 128 ? 0 : 1,
	                        .number = flags & 1 ? link[node].handshake : link[node].answered + (flags >> 1 & 3)};
	size_t fixed = flags & 1 ? sizeof(struct ofi_welcome) - sizeof(head) : sizeof(uint64_t);
	size_t body = TW_MIN(fixed + (flags & 8    ? fuzz_byte(in)
	                              : flags & 16 ? link[node].read[link[node].first].bytes
	                                           : 0),
	                     in->bytes);

	*bytes = sizeof(head) + body;
	struct ofi_head *m = malloc(*bytes);
	TW_ASSERT(m);
	fuzz_take(in, m + 1, body);
	head.bytes = (uint16_t)*bytes;
	*m = head;
	if (flags & 32)
		*bytes -= TW_MIN(*bytes, (size_t)fuzz_byte(in)); /* cut, without a proof */
	else if (head.kind == OFI_WELCOME)
		ofi_prove(config.secret, m);
	else if (body >= sizeof(uint64_t))
		ofi_seal(&link[node].key, m);
	return m;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct fuzz_input in = {data, bytes};
	bool sound = true;

	memset(link, 0, sizeof(link));
	while (in.bytes && sound) {
		unsigned what = fuzz_byte(&in), node = 1 + what % 2;
		struct ofi_link *p = &link[node], old;
		size_t all;

		if (what & 4)
			ask(node, 1 + fuzz_byte(&in) % MOST);
		if (what & 8)
			p->puts++, p->sent++;
		if (what & 16) {
			struct ofi_head *m = message(&in, node, &all);
			unsigned reads = p->reads;

			old = *p;
			sound = ofi_link_take(link, &config, m, all) == 0;
			TW_ASSERT(p->answered <= p->sent && p->answered >= old.answered && p->placed <= p->puts &&
			          p->placed >= old.placed && p->reads <= reads);
			TW_ASSERT(p->reads == reads || p->answered > old.answered || !sound);
			free(m);
		}
	}
	for (unsigned node = 0; node < NODES; node++)
		for (unsigned i = 0; i < OFI_READS; i++) {
			free(to[node][i]);
			to[node][i] = NULL;
		}
	return 0;
}
