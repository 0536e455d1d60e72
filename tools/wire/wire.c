/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/wire/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "core/job/boot.h"
#include "core/memory/regions.h"
#include "core/observe/recorder.h"
#include "tweed/driver/fault.h"
#include "tweed/driver/protocol.h"

#define WIRE_HEAD ((size_t)8)

struct wire_frame {
	struct wire_frame *next;
	size_t bytes, sent;
	unsigned fds;
	bool callers_fds; /* the descriptors are the caller's, during wire_send */
	int fd[WIRE_NODES_MOST];
	char data[];
};

union wire_control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(WIRE_NODES_MOST * sizeof(int))];
};

int wire_open(struct wire *w, int in, int out)
{
	int domain = 0;

	*w = (struct wire){.in = in, .out = out};
	w->passes = in == out && getsockopt(in, SOL_SOCKET, SO_DOMAIN, &domain, &(socklen_t){sizeof(domain)}) == 0 &&
	            domain == AF_UNIX;
	w->msg = calloc(1, sizeof(*w->msg));
	if (!w->msg)
		return -ENOMEM;
	for (int i = 0; i < 2; i++) {
		int fd = i ? out : in, flags = fcntl(fd, F_GETFL);
		if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
			return -errno;
	}
	return 0;
}

/* The frame's descriptors have been sent, or never will be. */
static void wire_let_go(struct wire_frame *f)
{
	for (unsigned i = 0; i < f->fds && !f->callers_fds; i++)
		close(f->fd[i]);
	f->fds = 0;
}

static void wire_drop_frame(struct wire *w)
{
	struct wire_frame *f = w->first;

	wire_let_go(f);
	w->first = f->next;
	free(f);
}

void wire_drop_descriptors(struct wire *w)
{
	for (unsigned i = 0; i < w->msg->fds; i++)
		close(w->msg->fd[i]);
	w->msg->fds = 0;
}

void wire_close(struct wire *w)
{
	if (w->have)
		wire_drop_descriptors(w);
	while (w->first)
		wire_drop_frame(w);
	if (w->out >= 0 && w->out != w->in)
		close(w->out);
	if (w->in >= 0)
		close(w->in);
	free(w->msg);
	*w = (struct wire){.in = -1, .out = -1};
}

/* ---- sending --------------------------------------------------------------------------------------------------- */

/* Write the rest of the frame; its descriptors go with the first byte. */
static ssize_t wire_write(struct wire *w, struct wire_frame *f)
{
	struct iovec io = {f->data + f->sent, f->bytes - f->sent};
	union wire_control control = {0};
	struct msghdr m = {.msg_iov = &io, .msg_iovlen = 1};

	if (!w->passes)
		return write(w->out, io.iov_base, io.iov_len);
	if (f->fds) {
		m.msg_control = control.bytes;
		m.msg_controllen = CMSG_SPACE(f->fds * sizeof(int));
		struct cmsghdr *c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(f->fds * sizeof(int));
		memcpy(CMSG_DATA(c), f->fd, f->fds * sizeof(int));
	}
	ssize_t n = sendmsg(w->out, &m, MSG_NOSIGNAL);
	if (n > 0)
		wire_let_go(f);
	return n;
}

int wire_push(struct wire *w)
{
	while (w->first) {
		struct wire_frame *f = w->first;
		ssize_t n = wire_write(w, f);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		f->sent += (size_t)n;
		if (f->sent == f->bytes)
			wire_drop_frame(w);
	}
	return 0;
}

/* Duplicate the descriptors of a frame that was not sent at once. */
static int wire_own_descriptors(struct wire_frame *f)
{
	unsigned fds = f->fds;

	f->callers_fds = false;
	for (f->fds = 0; f->fds < fds; f->fds++) {
		int fd = fcntl(f->fd[f->fds], F_DUPFD_CLOEXEC, 0);
		if (fd < 0)
			return -errno;
		f->fd[f->fds] = fd;
	}
	return 0;
}

int wire_send(struct wire *w, enum wire_type type, const void *body, size_t bytes, const int *fd, unsigned fds)
{
	struct wire_frame *f = w->out < 0 ? NULL : malloc(sizeof(*f) + WIRE_HEAD + bytes);
	uint32_t head[2] = {type, (uint32_t)bytes};

	if (!f)
		return w->out < 0 ? -EPIPE : -ENOMEM;
	*f = (struct wire_frame){.bytes = WIRE_HEAD + bytes};
	memcpy(f->data, head, WIRE_HEAD);
	if (bytes)
		memcpy(f->data + WIRE_HEAD, body, bytes);
	f->fds = fds;
	f->callers_fds = true;
	if (fds)
		memcpy(f->fd, fd, fds * sizeof(*fd));
	if (w->first)
		w->last->next = f;
	else
		w->first = f;
	w->last = f;
	int status = w->first == f ? wire_push(w) : -EAGAIN;
	int error = w->first && fds ? wire_own_descriptors(w->last) : 0;
	return error ? error : status == -EAGAIN ? 0 : status;
}

/* ---- receiving ------------------------------------------------------------------------------------------------- */

static bool wire_nodes_fit(const struct wire_msg *msg)
{
	const struct wire_nodes *n = &msg->nodes;

	if (n->count < 1 || n->count > WIRE_NODES_MOST || n->first >= TW_MAX_NODES ||
	    n->count > TW_MAX_NODES - n->first || (msg->fds != 0 && msg->fds != n->count))
		return false;
	for (uint32_t i = 0; i < n->count; i++)
		if (n->address[i].len > TW_NET_ADDRESS_BYTES || (n->address[i].len == 0) != (msg->fds != 0) ||
		    !memchr(n->host[i], '\0', sizeof(n->host[i])))
			return false;
	return true;
}

static bool wire_text(const char *text, size_t bytes)
{
	return memchr(text, '\0', bytes);
}

static bool wire_settings_fit(const struct tw_settings *settings)
{
	for (const struct tw_setting *s = tw_settings; s->name; s++)
		if ((s->type == TW_SETTING_TEXT || s->type == TW_SETTING_NAME) &&
		    !wire_text((const char *)settings + s->offset, s->bytes))
			return false;
	return true;
}

static bool wire_job_fits(const struct wire_job *j)
{
	return wire_settings_fit(&j->settings) && j->settings.config.nodes >= 1 &&
	       j->settings.config.nodes <= TW_MAX_NODES && j->node < j->settings.config.nodes &&
	       j->settings.config.processors >= 1 && j->settings.config.processors <= TW_MAX_PROCESSORS &&
	       j->output <= 1 && j->input <= 1 && j->watch <= 1 && j->host_processes >= 1 &&
	       j->cores_first < j->cores_processes && j->program_bytes >= 2 && j->program_bytes <= WIRE_PROGRAM_MOST &&
	       j->arguments >= 1 && j->arguments < j->program_bytes && j->variables < j->program_bytes;
}

static bool wire_death_fits(const struct wire_death *d)
{
	return d->processor < TW_MAX_PROCESSORS && d->initialized <= 1 && d->finalized <= 1 &&
	       d->refused <= TW_ENDED_JOB && d->joined <= 1;
}

static bool wire_waits_fit(const struct wire_waits *w)
{
	for (unsigned k = 0; k < TW_MAX_PROCESSORS; k++)
		if (w->processor[k].call >= TW_WAIT_CALLS)
			return false;
	return w->all <= 1;
}

/* May a message of this type have this size? */
static bool wire_size_fits(uint32_t type, uint32_t bytes)
{
	static const struct wire_msg *m;

	switch (type) {
	case WIRE_HANDSHAKE:
		return bytes == sizeof(m->handshake);
	case WIRE_JOB:
		return bytes == sizeof(m->job);
	case WIRE_PROGRAM:
		return bytes >= 1 && bytes <= sizeof(m->program);
	case WIRE_MEMORY:
		return bytes == sizeof(m->memory);
	case WIRE_NODES:
		return bytes == sizeof(m->nodes);
	case WIRE_DEATH:
		return bytes == sizeof(m->death);
	case WIRE_TOP:
		return bytes <= sizeof(m->stats) && bytes % sizeof(m->stats[0]) == 0;
	case WIRE_STATS:
		return bytes >= 1 && bytes <= sizeof(m->stats) && bytes % sizeof(m->stats[0]) == 0;
	case WIRE_BEAT:
		return bytes == sizeof(m->beat);
	case WIRE_WAITS:
		return bytes == 0 || bytes == sizeof(m->waits);
	case WIRE_OUTPUT:
		return bytes > offsetof(struct wire_output, bytes) && bytes <= sizeof(m->output);
	case WIRE_INPUT:
	case WIRE_WHERE:
		return bytes <= sizeof(m->input);
	case WIRE_CLOCK:
		return bytes == sizeof(m->clock);
	case WIRE_TRACE:
		return bytes >= offsetof(struct wire_trace, event) && bytes <= sizeof(m->trace);
	case WIRE_FAILED:
	case WIRE_CREDIT:
	case WIRE_DEAF:
	case WIRE_CUT:
	case WIRE_GONE:
	case WIRE_SHUT:
	case WIRE_DEAD:
	case WIRE_SIGNAL:
		return bytes == sizeof(m->number);
	case WIRE_READY:
		return bytes == sizeof(m->ready);
	case WIRE_GO:
	case WIRE_EXITED:
	case WIRE_STOP:
	case WIRE_END:
	case WIRE_PAUSE:
	case WIRE_RESUME:
		return bytes == 0;
	default:
		return false;
	}
}

/* Is the whole message valid? */
static bool wire_well_formed(const struct wire_msg *m)
{
	const struct wire_handshake *h = &m->handshake;

	switch (m->type) {
	case WIRE_HANDSHAKE:
		return wire_text(h->magic, sizeof(h->magic)) && strcmp(h->magic, WIRE_HANDSHAKE_MAGIC) == 0 &&
		       wire_text(h->version, sizeof(h->version)) && wire_text(h->host, sizeof(h->host)) &&
		       wire_text(h->boot, sizeof(h->boot));
	case WIRE_JOB:
		return wire_job_fits(&m->job);
	case WIRE_MEMORY:
		return m->memory.len <= TW_NET_ADDRESS_BYTES && m->fds == (m->memory.len ? 0 : 1);
	case WIRE_NODES:
		return wire_nodes_fit(m);
	case WIRE_READY:
		return wire_text(m->ready.fault, sizeof(m->ready.fault)) &&
		       wire_text(m->ready.shootdown, sizeof(m->ready.shootdown));
	case WIRE_TRACE:
		return m->trace.processor <= TW_MAX_PROCESSORS && m->trace.ring < TW_TRACE_RINGS &&
		       m->trace.events <= WIRE_EVENTS_MOST && m->trace.events <= m->trace.written &&
		       m->bytes == offsetof(struct wire_trace, event) + m->trace.events * sizeof(m->trace.event[0]);
	case WIRE_DEATH:
		return wire_death_fits(&m->death);
	case WIRE_BEAT:
		return m->beat.stopped <= 1 && m->beat.joined <= 1 && m->beat.waits <= 1;
	case WIRE_WAITS:
		return m->bytes == 0 || wire_waits_fit(&m->waits);
	case WIRE_FAILED:
		return m->number >= 1 && m->number <= 255;
	case WIRE_OUTPUT:
		return m->output.stream == 1 || m->output.stream == 2;
	case WIRE_DEAF:
		return m->number == 1 || m->number == 2;
	case WIRE_SIGNAL:
		return (m->number & ~WIRE_BY_KEY) < NSIG;
	case WIRE_CREDIT:
		return m->number <= WIRE_WINDOW;
	case WIRE_CUT:
		return m->number < TW_MAX_NODES;
	case WIRE_SHUT:
	case WIRE_DEAD:
		return m->number < TW_MAX_NODES * (TW_MAX_PROCESSORS + 1);
	default:
		return true;
	}
}

static void wire_take_descriptors(struct wire *w, struct msghdr *m)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		unsigned n = (unsigned)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		int fd[WIRE_NODES_MOST];
		memcpy(fd, CMSG_DATA(c), n * sizeof(int));
		for (unsigned i = 0; i < n; i++)
			if (w->msg->fds < WIRE_NODES_MOST)
				w->msg->fd[w->msg->fds++] = fd[i];
			else
				close(fd[i]);
	}
}

/* Read at most @bytes, which end within this frame, so that descriptors received belong to it. */
static ssize_t wire_read(struct wire *w, void *to, size_t bytes)
{
	union wire_control control;
	struct iovec io = {to, bytes};
	struct msghdr m = {
	    .msg_iov = &io, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof(control)};

	if (!w->passes)
		return read(w->in, to, bytes);
	ssize_t n = recvmsg(w->in, &m, MSG_CMSG_CLOEXEC);
	if (n >= 0)
		wire_take_descriptors(w, &m);
	if (n < 0 || !(m.msg_flags & MSG_CTRUNC))
		return n;
	errno = EMFILE;
	return -1;
}

/* Receive until the frame has @whole bytes, including its head.  1, 0, -EAGAIN, -EMFILE. */
static int wire_fill(struct wire *w, size_t whole)
{
	while (w->have < whole) {
		char *to =
		    w->have < WIRE_HEAD ? (char *)w->msg + w->have : (char *)&w->msg->handshake + (w->have - WIRE_HEAD);
		ssize_t n = wire_read(w, to, whole - w->have);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return -EAGAIN;
		if (n < 0 && errno == EMFILE)
			return -EMFILE;
		if (n <= 0)
			return 0; /* a reset counts as a close */
		w->have += (size_t)n;
	}
	return 1;
}

int wire_recv(struct wire *w)
{
	struct wire_msg *m = w->msg;
	int got;

	if (w->in < 0)
		return 0;
	if (w->have == 0)
		m->fds = 0;
	if ((got = wire_fill(w, WIRE_HEAD)) != 1)
		return got;
	if (!wire_size_fits(m->type, m->bytes))
		return -EPROTO;
	if ((got = wire_fill(w, WIRE_HEAD + m->bytes)) != 1)
		return got;
	w->have = 0;
	if ((m->fds && m->type != WIRE_MEMORY && m->type != WIRE_NODES) || !wire_well_formed(m)) {
		wire_drop_descriptors(w);
		return -EPROTO;
	}
	return 1;
}

void wire_events(const struct wire *w, struct pollfd poller[2])
{
	poller[0] = (struct pollfd){w->in, POLLIN, 0};
	poller[1] = (struct pollfd){w->first ? w->out : -1, POLLOUT, 0};
}

/* ---- the build ------------------------------------------------------------------------------------------------- */

static uint64_t build_add(uint64_t hash, const void *data, size_t bytes)
{
	for (const unsigned char *p = data, *end = p + bytes; p < end; p++)
		hash = (hash ^ *p) * 0x100000001b3;
	return hash;
}

static uint64_t build_name(uint64_t hash, const char *name)
{
	return build_add(hash, name, strlen(name) + 1);
}

static uint64_t build_parameters(uint64_t hash, const struct tw_setting *s)
{
	for (; s && s->name; s++)
		hash = build_name(build_name(hash, s->name), s->initial);
	return hash;
}

uint64_t wire_build(void)
{
	uint64_t hash = build_add(0xcbf29ce484222325, &tw_boot_interface, sizeof(tw_boot_interface));
	struct tw_settings settings;
	struct tw_layout layout;

	for (const struct tw_setting *s = tw_settings; s->name; s++) {
		hash = build_name(hash, s->name);
		hash = build_add(hash, &s->offset, sizeof(s->offset));
	}
	for (const struct tw_transport *const *t = tw_transport_list(); *t; t++)
		hash = build_parameters(build_name(hash, (*t)->name), (*t)->parameters);
	for (const struct tw_protocol *const *p = tw_protocol_list(); *p; p++)
		hash = build_parameters(build_name(hash, (*p)->name), (*p)->parameters);
	for (unsigned kind = 0; tw_trace_kind_name(kind); kind++)
		hash = build_name(hash, tw_trace_kind_name(kind));
	tw_settings_init(&settings, NULL);
	settings.config.nodes = settings.config.processors = 2;
	tw_layout_compute(&layout, &settings.config);
	return build_add(hash, &layout, sizeof(layout));
}
