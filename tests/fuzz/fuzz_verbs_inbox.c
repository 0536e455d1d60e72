/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_verbs_inbox.c - bytes that arrive at a server of verbs: messages that make sense come out of the mailbox of
 * their port, whole, once and in order; notifies change bells; everything else is counted; no buffer is lost.
 *
 * Input: steps.  A step is a byte, which says what to do, and its parameters: bytes received, with their length and
 * immediate data; a retry; a message taken by an endpoint. */
#include <stdio.h>

#include "net/verbs/verbs_inbox.h"
#include "tests/fuzz/fuzz.h"

#define PORTS   3u
#define BUFFERS 200u
#define ORDER   4096u /* messages remembered of a port */

static const struct tw_net_config config = {.nodes = 2, .ports = PORTS};
static struct verbs_inbox inbox;
static char *base;
static bool used[BUFFERS];
static unsigned busy;  /* buffers in use */
static uint64_t token; /* of the last received message; also their count */

/* What each port must receive. */
static struct {
	uint64_t token[ORDER];
	unsigned first, last;
} expected[PORTS];

static void fuzz_say(void)
{
	printf("%llu received\n", (unsigned long long)token);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	TW_ASSERT(atexit(fuzz_say) == 0);
	base = aligned_alloc(4096, tw_mailbox_bytes(PORTS));
	TW_ASSERT(base);
	memset(base, 0, tw_mailbox_bytes(PORTS));
	TW_ASSERT(verbs_inbox_init(&inbox, &config, base, BUFFERS) == 0);
	return 0;
}

static void fuzz_free(uint32_t buffer)
{
	TW_ASSERT(buffer < BUFFERS && used[buffer]);
	used[buffer] = false;
	busy--;
}

static void fuzz_receive(struct fuzz_input *in, bool sound)
{
	uint32_t buffer = 0, port = fuzz_byte(in), bells[PORTS];
	size_t bytes = fuzz_byte(in) % (VERBS_BUFFER_BYTES + 1);

	while (buffer < BUFFERS && used[buffer])
		buffer++;
	if (buffer == BUFFERS)
		return; /* the device lets the sender wait */
	struct tw_msg *msg = (struct tw_msg *)(void *)verbs_inbox_buffer(&inbox, buffer);
	fuzz_take(in, msg, bytes);
	if (sound) {
		msg->type = (uint16_t)TW_MAX(msg->type, 1);
		msg->len %= TW_MSG_BODY + 1;
		msg->src_node %= 2;
		msg->src_port %= PORTS;
		bytes = offsetof(struct tw_msg, body) + msg->len;
		port %= PORTS;
	}
	if (port == 255)
		port = VERBS_ALL_PORTS;
	msg->token = ++token;
	bool message = bytes >= offsetof(struct tw_msg, body) && bytes - offsetof(struct tw_msg, body) == msg->len &&
	               msg->len <= TW_MSG_BODY && msg->type && msg->src_node < 2 && msg->src_port < PORTS &&
	               port < PORTS;
	bool notify = bytes == 0 && (port < PORTS || port == VERBS_ALL_PORTS);
	if (message)
		expected[port].token[expected[port].last++ % ORDER] = token;
	for (unsigned p = 0; p < PORTS; p++)
		bells[p] = tw_mailbox_bell(tw_mailbox_of(&config, base, p));
	uint64_t damaged = inbox.damaged;
	used[buffer] = true;
	busy++;
	if (verbs_inbox_received(&inbox, buffer, port, bytes))
		fuzz_free(buffer);
	TW_ASSERT((inbox.damaged == damaged) == (message || notify) && busy == inbox.kept);
	for (unsigned p = 0; p < PORTS; p++)
		if (notify)
			TW_ASSERT((tw_mailbox_bell(tw_mailbox_of(&config, base, p)) != bells[p]) ==
			          (port == p || port == VERBS_ALL_PORTS));
}

static bool fuzz_message(unsigned port)
{
	struct tw_msg msg;

	if (!tw_mailbox_take(tw_mailbox_of(&config, base, port), &config, &msg))
		return false;
	TW_ASSERT(expected[port].first < expected[port].last);
	TW_ASSERT(msg.token == expected[port].token[expected[port].first++ % ORDER]);
	return true;
}

static bool fuzz_retry(void)
{
	uint32_t buffer = verbs_inbox_retry(&inbox);

	if (buffer != VERBS_NONE)
		fuzz_free(buffer);
	TW_ASSERT(busy == inbox.kept);
	return buffer != VERBS_NONE;
}

/* Everything comes out in the end, and nothing more. */
static void fuzz_drain(void)
{
	bool more = true;

	while (more) {
		more = fuzz_retry();
		for (unsigned port = 0; port < PORTS; port++)
			more |= fuzz_message(port);
	}
	for (unsigned port = 0; port < PORTS; port++)
		TW_ASSERT(expected[port].first == expected[port].last);
	TW_ASSERT(inbox.kept == 0 && busy == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct fuzz_input in = {data, bytes};

	while (in.bytes > 0) {
		unsigned step = fuzz_byte(&in);

		switch (step % 8) {
		case 0:
			fuzz_retry();
			break;
		case 1:
			fuzz_message(step / 8 % PORTS);
			break;
		case 2: { /* as many as fill a mailbox */
			struct fuzz_input one = in;
			for (unsigned i = 0; i <= MAILBOX_SLOTS; i++) {
				one = in;
				fuzz_receive(&one, true);
			}
			in = one;
			break;
		}
		default:
			fuzz_receive(&in, step % 8 < 5);
		}
	}
	fuzz_drain();
	return 0;
}
