/* SPDX-License-Identifier: BSD-3-Clause */
/* refusals.c - a server of the ofi transport refuses strangers, replays, and work that makes no sense.  It counts them
 * and goes on serving, and none of them touches the node's memory.  With connected endpoints, and with reliable
 * datagrams. */
#include "net/ofi/port/ofi_port.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/mailbox.h"

#define BYTES   ((size_t)4 << 20)
#define CONTROL ((size_t)2 << 20)
#define WORD    ((size_t)4096)
#define LATE_NS 20000000000u
#define CROWD   100 /* connections of strangers */

static const uint8_t secret[TW_NET_SECRET_BYTES] = {1, 2, 3};
static const uint8_t other_secret[TW_NET_SECRET_BYTES] = {1, 2, 4};
static struct ofi_port port;
static struct tw_net_address address; /* the server's */
static fi_addr_t server;
static struct ofi_key key; /* of the session */
static int failed;

#define CHECK(c) ((c) ? (void)0 : (void)(failed++, printf("FAIL line %d: %s\n", __LINE__, #c)))

/* A message of any kind. */
struct message {
	union {
		struct ofi_head head;
		struct {
			struct ofi_head work;
			struct ofi_entry entry;
			uint64_t value[2];
		};
		struct ofi_handshake handshake;
		struct ofi_welcome welcome;
		struct ofi_reply reply;
	};
};

static void send_bytes(const struct message *m, size_t bytes)
{
	struct fid_ep *ep = port.connection ? port.connection[server].ep : port.ep;
	uint64_t until = tw_time_ns() + LATE_NS;
	struct ofi_buffer *buffer = ofi_take(&port.sends), *done;
	ssize_t error;

	memcpy(buffer->head, m, bytes);
	while ((error = fi_send(ep, buffer->head, bytes, port.desc, server, &buffer->context)) == -FI_EAGAIN &&
	       tw_time_ns() < until)
		ofi_poll(&port, &done, &(ssize_t){0});
	CHECK(error == 0);
	while (port.sends.count < port.sends.all && tw_time_ns() < until)
		ofi_poll(&port, &done, &(ssize_t){0});
}

/* The next answer; messages are answered in order, so all earlier ones are handled. */
static bool receive(struct message *answer)
{
	uint64_t until = tw_time_ns() + LATE_NS;
	struct ofi_buffer *buffer;
	ssize_t failure;

	while (tw_time_ns() < until) {
		if (ofi_poll(&port, &buffer, &failure) != OFI_RECEIVED) {
			ofi_sleep(&port, -1, 1000000);
			continue;
		}
		memcpy(answer, buffer->head, TW_MIN(buffer->bytes, sizeof(*answer)));
		bool proven = buffer->head->kind == OFI_WELCOME ? ofi_proves(secret, buffer->head, buffer->bytes)
		                                                : ofi_sealed(&key, buffer->head, buffer->bytes);
		ofi_again(&port, buffer);
		return proven;
	}
	return false;
}

static struct message handshake(uint64_t number)
{
	struct message m = {.handshake = {.head = {.kind = OFI_HANDSHAKE, .number = number}}};

	m.head.bytes = (uint16_t)(offsetof(struct ofi_handshake, address) + port.address.len);
	memcpy(m.handshake.address, port.address.bytes, port.address.len);
	ofi_prove(secret, &m.head);
	return m;
}

/* Work that writes @value to WORD, and asks for an answer. */
static struct message work(uint64_t number, uint64_t value)
{
	struct message m = {.head = {.kind = OFI_WORK, .ask = 1, .number = number}};

	m.head.bytes = sizeof(m.head) + sizeof(m.entry) + 8;
	m.entry = (struct ofi_entry){.offset = WORD, .bytes = 8, .op = OFI_WRITE};
	m.value[0] = value;
	ofi_seal(&key, &m.head);
	return m;
}

static void send_whole(const struct message *m)
{
	send_bytes(m, m->head.bytes);
}

/* The first message to the server. */
static fi_addr_t handshake_send(const struct message *m)
{
	uint64_t until = tw_time_ns() + LATE_NS;
	struct ofi_buffer *buffer = ofi_take(&port.sends), *done;
	fi_addr_t peer;
	ssize_t error;

	memcpy(buffer->head, m, m->head.bytes);
	TW_ASSERT(ofi_port_peer(&port, &address, &peer) == 0);
	while ((error = ofi_send(&port, peer, buffer, true)) == -FI_EAGAIN && tw_time_ns() < until)
		ofi_poll(&port, &done, &(ssize_t){0});
	CHECK(error == 0);
	return peer;
}

/* The connection to @peer ends. */
static bool ends(fi_addr_t peer)
{
	uint64_t until = tw_time_ns() + LATE_NS;
	struct ofi_buffer *buffer;
	ssize_t failure;

	while (tw_time_ns() < until) {
		enum ofi_event event = ofi_poll(&port, &buffer, &failure);

		if (event == OFI_BROKEN && (fi_addr_t)failure == peer)
			return true;
		if (event == OFI_RECEIVED)
			ofi_again(&port, buffer);
		if (event == OFI_NOTHING)
			ofi_sleep(&port, -1, 1000000);
	}
	return false;
}

/* A first message that the server must refuse. */
static void knock(const struct message *m)
{
	if (!port.connection) {
		send_whole(m);
		return;
	}
	fi_addr_t peer = handshake_send(m);
	CHECK(ends(peer));
	ofi_port_forget(&port, peer);
}

/* Returns how many messages the server must have refused. */
static unsigned strangers(void)
{
	struct message m = handshake(1);

	ofi_prove(other_secret, &m.head);
	knock(&m); /* another secret */
	m = handshake(1);
	m.handshake.address[0] ^= 1;
	knock(&m); /* another address under a proof that was copied */
	m = handshake(1);
	m.handshake.server = 1;
	ofi_prove(secret, &m.head);
	knock(&m); /* for another server */
	m = handshake(1);
	m.head.node = 7;
	ofi_prove(secret, &m.head);
	knock(&m); /* of a node that is not in the job */
	m = work(1, 666);
	knock(&m); /* without a session */
	m = work(0, 666);
	knock(&m);
	return 6;
}

static unsigned replays(void)
{
	struct ofi_key ours = key;
	struct message m = handshake(1);

	knock(&m);                         /* the HANDSHAKE that was answered */
	send_bytes(&m, m.head.bytes - 1u); /* cut */
	send_bytes(&m, 8);
	m = work(1, 666);
	send_whole(&m); /* a number that was used */
	m = work(3, 666);
	send_whole(&m); /* one that is not next */
	key.bytes[0] ^= 1;
	m = work(2, 666);
	key = ours;
	send_whole(&m); /* another session */
	return 6;
}

static unsigned next_work;

/* Each is answered, because its head is right, and counted as damaged. */
static unsigned nonsense(char *memory)
{
	static const struct ofi_entry bad[] = {
	    {.offset = BYTES - 4, .bytes = 8, .op = OFI_WRITE},
	    {.offset = (uint64_t)-8, .bytes = 8, .op = OFI_WRITE},
	    {.offset = WORD, .bytes = 4096, .op = OFI_WRITE}, /* more than there is */
	    {.offset = WORD, .bytes = UINT32_MAX, .op = OFI_WRITE},
	    {.offset = BYTES, .bytes = 8, .op = OFI_READ},
	    {.offset = WORD, .bytes = OFI_MESSAGE, .op = OFI_READ}, /* more than an answer holds */
	    {.offset = WORD + 4, .bytes = 8, .op = OFI_FADD},
	    {.offset = WORD, .bytes = 8, .op = OFI_CAS},
	    {.offset = CONTROL, .bytes = 8, .op = OFI_WRITE}, /* a mailbox */
	    {.offset = CONTROL + 8, .bytes = 8, .op = OFI_SWAP},
	    {.bytes = 8, .op = OFI_PUT}, /* shorter than a message */
	    {.bytes = 0, .op = OFI_RING, .port = 9},
	    {.bytes = 0, .op = 99},
	};
	struct message answer;
	unsigned count = 0;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++, count++) {
		struct message m = work(2 + i, 666);

		m.entry = bad[i];
		send_whole(&m);
		CHECK(receive(&answer) && answer.head.kind == OFI_REPLY && answer.head.number == 2 + i);
	}
	CHECK(*(uint64_t *)(void *)(memory + WORD) == 42);
	next_work = 2 + count;
	return count;
}

static unsigned descriptors(void)
{
	DIR *all = opendir("/proc/self/fd");
	unsigned count = 0;

	while (all && readdir(all))
		count++;
	closedir(all);
	return count;
}

/* Strangers that send nothing, nonsense, or a request for a connection with less data than it announces; and an
 * endpoint that sends more than any message has: its connection ends, and no other.  After the strangers' end nothing
 * is left of them. */
static void crowd(void)
{
	static const char noise[300] = "GET / HTTP/1.1",
	                  asks[32] = {3, 0, 1, 0}; /* libfabric's head, 256 bytes to follow */
	static const struct {
		const void *data;
		size_t bytes;
	} parts[] = {{noise, 0}, {noise, sizeof(noise)}, {asks, sizeof(asks)}, {asks, 8}, {asks, 4}};
	static char much[OFI_MESSAGE + 1];
	struct sockaddr *to = (void *)address.bytes;
	struct message m = handshake(9), answer;
	struct ofi_buffer *buffer = ofi_take(&port.sends);
	int fd[CROWD];
	unsigned before = descriptors();
	uint64_t until = tw_time_ns() + LATE_NS;

	for (unsigned i = 0; i < CROWD; i++) {
		fd[i] = socket(to->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		CHECK(connect(fd[i], to, address.len) == 0);
		if (i % 5)
			CHECK(send(fd[i], parts[i % 5].data, parts[i % 5].bytes, MSG_NOSIGNAL) > 0);
	}
	m.head.node = 1;
	ofi_prove(secret, &m.head);
	fi_addr_t other = handshake_send(&m);
	CHECK(receive(&answer) && answer.head.kind == OFI_WELCOME && answer.head.number == 9);
	CHECK(fi_send(port.connection[other].ep, much, sizeof(much), NULL, 0, &buffer->context) == 0);
	CHECK(ends(other));
	ofi_port_forget(&port, other);
	m = work(next_work++, 42);
	send_whole(&m);
	CHECK(receive(&answer) && answer.head.kind == OFI_REPLY);
	for (unsigned i = 0; i < CROWD; i++)
		close(fd[i]);
	while (descriptors() > before && tw_time_ns() < until)
		ofi_sleep(&port, -1, 1000000);
	CHECK(descriptors() <= before); /* nothing is left of them */
}

/* Messages that a dead endpoint had in flight.  Returns how many the server must have refused. */
static unsigned shut_out(struct tw_net_server *s, char *memory)
{
	struct message m = work(next_work, 666);

	tw_transport_ofi.shut_out(s, 0, 0);
	send_whole(&m); /* the next of its session */
	m = handshake(2);
	knock(&m);
	tw_transport_ofi.shut_out(s, 0, 0); /* returns after those are handled */
	CHECK(*(uint64_t *)(void *)(memory + WORD) == 42);
	return 2;
}

static void serve(const char *provider)
{
	int fd[2] = {memfd_create("refusals", MFD_CLOEXEC), -1};
	struct tw_net_config config = {.nodes = 2,
	                               .ports = 1,
	                               .bytes = BYTES,
	                               .control_offset = CONTROL,
	                               .fd = fd,
	                               .provider = provider,
	                               .interface = "127.0.0.1"};
	struct tw_net_counts counts;
	struct tw_net_server *s;
	struct message m, answer;

	memcpy(config.secret, secret, sizeof(secret));
	TW_ASSERT(ftruncate(fd[0], (off_t)BYTES) == 0);
	char *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd[0], 0);
	TW_ASSERT(memory != MAP_FAILED);
	TW_ASSERT(tw_transport_ofi.serve(&config, &s, &address) == 0 &&
	          ofi_port_open(&port, &config, 4, 0, 8, 0, 2) == 0);
	if (!port.connection)
		TW_ASSERT(ofi_port_peer(&port, &address, &server) == 0);

	unsigned refused = strangers();
	m = handshake(1);
	server = handshake_send(&m);
	CHECK(receive(&answer) && answer.head.kind == OFI_WELCOME && answer.head.number == 1);
	CHECK(*(uint64_t *)(void *)(memory + WORD) == 0);
	ofi_key_derive(secret, answer.welcome.session, 0, 0, 0, &key);
	m = work(1, 42);
	send_whole(&m);
	CHECK(receive(&answer) && answer.head.kind == OFI_REPLY && answer.head.number == 1);
	refused += replays();
	unsigned damaged = nonsense(memory);
	if (port.connection)
		crowd();
	refused += shut_out(s, memory);

	ofi_port_close(&port);
	tw_transport_ofi.serve_end(s, &counts);
	CHECK(counts.connections == 1);
	CHECK(counts.refused == refused);
	CHECK(counts.damaged == damaged);
	printf("%s: %u refused, %u damaged: %s\n", provider, refused, damaged, failed ? "FAIL" : "ok");
	munmap(memory, BYTES);
	close(fd[0]);
}

int main(void)
{
	char why[128];

	if (tw_transport_ofi.probe(why, sizeof(why))) {
		printf("skipped: %s\n", why);
		return 77;
	}
	serve("tcp");
	serve("tcp;ofi_rxm");
	return failed ? 1 : 0;
}
