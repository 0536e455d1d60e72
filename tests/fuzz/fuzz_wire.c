/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_wire.c - bytes over a wire, in pieces: the result is frames that make sense, or the end of the connection;
 * descriptors that are not taken are closed.
 *
 * Input: steps of a kind, with parameters.  A frame has the size that its type requires and a right body, of which the
 * input overwrites some bytes; so the checks of long bodies are reached, too. */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"
#include "tools/wire/wire.h"

#define FUZZ_STEPS 32
#define FUZZ_HEAD  8

static int fuzz_null; /* a descriptor to pass */
static struct wire_msg fuzz_frame;

/* The lowest descriptor that is free. */
static int fuzz_lowest(void)
{
	int fd = dup(fuzz_null);

	close(fd);
	return fd;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	fuzz_null = open("/dev/null", O_RDWR | O_CLOEXEC);
	return 0;
}

/* Make a right body in fuzz_frame; returns its bytes.  @more: the number of elements, where a type may have several. */
static size_t fuzz_body(uint32_t type, unsigned more)
{
	struct wire_msg *m = &fuzz_frame;

	memset(m, 0, FUZZ_HEAD + m->bytes); /* the bytes of the last one */
	switch (type) {
	case WIRE_HANDSHAKE:
		strcpy(m->handshake.magic, WIRE_HANDSHAKE_MAGIC);
		return sizeof(m->handshake);
	case WIRE_JOB:
		m->job.settings.config.nodes = m->job.settings.config.processors = m->job.host_processes =
		    m->job.cores_processes = 1;
		m->job.program_bytes = 3;
		m->job.arguments = 1;
		return sizeof(m->job);
	case WIRE_MEMORY:
		m->memory.len = TW_NET_ADDRESS_BYTES;
		return sizeof(m->memory);
	case WIRE_NODES:
		m->nodes.count = 1 + more % WIRE_NODES_MOST;
		for (unsigned i = 0; i < m->nodes.count; i++)
			m->nodes.address[i].len = 1;
		return sizeof(m->nodes);
	case WIRE_READY:
		return sizeof(m->ready);
	case WIRE_DEATH:
		return sizeof(m->death);
	case WIRE_STATS:
		return (1 + more % TW_MAX_PROCESSORS) * sizeof(m->stats[0]);
	case WIRE_BEAT:
		return sizeof(m->beat);
	case WIRE_WAITS:
		return more & 1 ? sizeof(m->waits) : 0;
	case WIRE_CLOCK:
		return sizeof(m->clock);
	case WIRE_TRACE:
		m->trace.processor = m->trace.ring = 0;
		m->trace.written = m->trace.events = more;
		return offsetof(struct wire_trace, event) + more * sizeof(m->trace.event[0]);
	case WIRE_OUTPUT:
		m->output.stream = 1;
		return offsetof(struct wire_output, bytes) + 1 + more;
	case WIRE_PROGRAM:
	case WIRE_INPUT:
		return 1 + more;
	case WIRE_FAILED:
	case WIRE_GONE:
	case WIRE_CREDIT:
	case WIRE_DEAF:
	case WIRE_CUT:
	case WIRE_SHUT:
	case WIRE_DEAD:
		m->number = 1;
		return sizeof(m->number);
	default:
		return 0;
	}
}

static void fuzz_send(int fd, const void *data, size_t bytes, unsigned descriptors)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(2 * WIRE_NODES_MOST * sizeof(int))];
	} control;
	struct iovec io = {(void *)(uintptr_t)data, bytes};
	struct msghdr m = {.msg_iov = &io, .msg_iovlen = 1};

	if (descriptors) {
		memset(&control, 0, sizeof(control));
		m.msg_control = control.bytes;
		m.msg_controllen = CMSG_SPACE(descriptors * sizeof(int));
		control.header = (struct cmsghdr){
		    .cmsg_len = CMSG_LEN(descriptors * sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
		for (unsigned i = 0; i < descriptors; i++)
			memcpy(CMSG_DATA(&control.header) + i * sizeof(int), &fuzz_null, sizeof(int));
	}
	if (bytes)
		TW_ASSERT(sendmsg(fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)bytes);
}

/* Take all that is there. */
static int fuzz_receive(struct wire *wire)
{
	const struct wire_msg *m;
	int got;

	while ((got = wire_recv(wire)) == 1) {
		m = wire->msg;
		TW_ASSERT(m->bytes <= sizeof(*m) && m->fds <= WIRE_NODES_MOST);
		TW_ASSERT(m->fds == 0 || m->type == WIRE_MEMORY || (m->type == WIRE_NODES && m->fds == m->nodes.count));
		if (m->type == WIRE_NODES)
			TW_ASSERT(m->nodes.first < TW_MAX_NODES && m->nodes.first + m->nodes.count <= TW_MAX_NODES);
		if (m->type == WIRE_DEATH)
			TW_ASSERT(m->death.processor < TW_MAX_PROCESSORS && m->death.refused <= TW_ENDED_JOB);
		if (m->type == WIRE_FAILED) /* an exit status */
			TW_ASSERT(m->number >= 1 && m->number <= 255);
		if (m->type == WIRE_JOB)
			TW_ASSERT(
			    memchr(m->job.settings.config.transport, 0, sizeof(m->job.settings.config.transport)));
		for (unsigned i = 0; i < m->fds; i++)
			close(m->fd[i]);
	}
	return got;
}

/* One step; returns wire_recv's last result. */
static int fuzz_step(struct wire *wire, int fd, struct fuzz_input *in)
{
	unsigned kind = fuzz_byte(in), type = kind % (WIRE_LAST + 2), more = fuzz_byte(in);
	unsigned descriptors = kind & 0x80 ? more % (WIRE_NODES_MOST + 2) : 0;
	uint8_t raw[256];
	int got;

	if (type == WIRE_LAST + 1) { /* any bytes */
		fuzz_take(in, raw, more);
		fuzz_send(fd, raw, more, descriptors);
		return fuzz_receive(wire);
	}
	size_t bytes = fuzz_body(type, more);
	unsigned changed = fuzz_byte(in) % 64, at = fuzz_byte(in) * 64u + fuzz_byte(in);
	fuzz_frame.type = type;
	fuzz_frame.bytes = (uint32_t)bytes;
	if (bytes)
		fuzz_take(in, (char *)&fuzz_frame.handshake + at % bytes, TW_MIN((size_t)changed, bytes - at % bytes));
	/* In two pieces, the second of which brings the descriptors of another frame. */
	size_t whole = FUZZ_HEAD + bytes, first = kind & 0x40 ? at % (whole + 1) : whole;
	fuzz_send(fd, &fuzz_frame, first, descriptors);
	got = fuzz_receive(wire);
	if (got != -EAGAIN || first == whole)
		return got;
	fuzz_send(fd, (char *)&fuzz_frame + first, whole - first, kind & 0x20 ? more % 3 : 0);
	return fuzz_receive(wire);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct fuzz_input in = {data, bytes};
	struct wire wire;
	int pair[2], got = -EAGAIN, lowest = fuzz_lowest();

	TW_ASSERT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
	TW_ASSERT(wire_open(&wire, pair[0], pair[0]) == 0);
	for (unsigned step = 0; step < FUZZ_STEPS && in.bytes && got == -EAGAIN; step++)
		got = fuzz_step(&wire, pair[1], &in);
	/* EMFILE: more descriptors than there is room for */
	TW_ASSERT(got == -EAGAIN || got == -EPROTO || got == -EMFILE);
	close(pair[1]);
	if (got == -EAGAIN)
		TW_ASSERT(fuzz_receive(&wire) == 0);
	wire_close(&wire);
	TW_ASSERT(fuzz_lowest() == lowest);
	return 0;
}
