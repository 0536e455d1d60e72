/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/wire.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define WIRE_BODY offsetof(struct wire_msg, stats)

union wire_control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(WIRE_NODES_MOST * sizeof(int))];
};

int wire_send(int sock, enum wire_type type, const void *body, size_t bytes, const int *fd, unsigned fds)
{
	_Alignas(64) char head[WIRE_BODY] = {0};
	union wire_control control = {0};
	struct iovec io[2] = {{head, sizeof(head)}, {(void *)(uintptr_t)body, bytes}};
	struct msghdr m = {.msg_iov = io, .msg_iovlen = bytes ? 2 : 1};

	memcpy(head, &(uint32_t){type}, 4);
	memcpy(head + 4, &(uint32_t){(uint32_t)bytes}, 4);
	if (fds) {
		m.msg_control = control.bytes;
		m.msg_controllen = CMSG_SPACE(fds * sizeof(int));
		struct cmsghdr *c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(fds * sizeof(int));
		memcpy(CMSG_DATA(c), fd, fds * sizeof(int));
	}
	while (sendmsg(sock, &m, MSG_NOSIGNAL) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

static void take_descriptors(struct msghdr *m, struct wire_msg *msg)
{
	msg->fds = 0;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		msg->fds = (unsigned)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(msg->fd, CMSG_DATA(c), msg->fds * sizeof(int));
	}
}

static bool wire_nodes_fit(const struct wire_msg *msg)
{
	const struct wire_nodes *n = &msg->nodes;

	if (msg->bytes != sizeof(*n) || n->count < 1 || n->count > WIRE_NODES_MOST || n->first >= TW_MAX_NODES ||
	    n->count > TW_MAX_NODES - n->first || (msg->fds != 0 && msg->fds != n->count))
		return false;
	for (uint32_t i = 0; i < n->count; i++)
		if (n->address[i].len > TW_NET_ADDRESS_BYTES || (n->address[i].len == 0) != (msg->fds != 0))
			return false;
	return true;
}

/* Is the body as long as its type says? */
static bool wire_well_formed(const struct wire_msg *msg, size_t received)
{
	if (received < WIRE_BODY || msg->bytes != received - WIRE_BODY)
		return false;
	switch (msg->type) {
	case WIRE_JOB:
		return msg->bytes == sizeof(msg->job);
	case WIRE_MEMORY:
		return msg->bytes == sizeof(msg->memory) && msg->memory.len <= TW_NET_ADDRESS_BYTES &&
		       msg->fds == (msg->memory.len ? 0 : 1);
	case WIRE_NODES:
		return wire_nodes_fit(msg);
	case WIRE_DEATH:
		return msg->bytes == sizeof(msg->death);
	case WIRE_STATS:
		return msg->bytes > 0 && msg->bytes % sizeof(msg->stats[0]) == 0;
	case WIRE_READY:
	case WIRE_GO:
	case WIRE_EXITED:
	case WIRE_STOP:
	case WIRE_END:
	case WIRE_FAILED:
		return msg->bytes == 0;
	default:
		return false;
	}
}

int wire_recv(int sock, bool wait, struct wire_msg *msg)
{
	union wire_control control = {0};
	struct iovec io = {msg, WIRE_BODY + sizeof(msg->stats)};
	struct msghdr m = {
	    .msg_iov = &io, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof(control)};
	ssize_t n;

	do
		n = recvmsg(sock, &m, wait ? 0 : MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n < 0 && errno == EAGAIN)
		return -EAGAIN;
	if (n <= 0)
		return 0; /* a reset is a close to us */
	take_descriptors(&m, msg);
	if (wire_well_formed(msg, (size_t)n) && !(m.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
		return 1;
	for (unsigned i = 0; i < msg->fds; i++)
		close(msg->fd[i]);
	return -EPROTO;
}
