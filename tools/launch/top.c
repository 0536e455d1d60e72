/* SPDX-License-Identifier: BSD-3-Clause */
/* top.c - what `tweed top` (results/top.py) asks a running job: its statistics so far.
 *
 * The launcher listens at the abstract socket "tweed-run-PID", which leaves nothing behind.  Its user and root may
 * connect.  Each byte that a client sends is a question.  The answer is one line of JSON, as --stats writes it, and
 * what each processor waits for.  While nobody asks, this costs a descriptor in the launcher's poll. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tools/launch/launch.h"

void top_open(struct launch *l)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	for (unsigned c = 0; c < TOP_CLIENTS; c++)
		l->top.client[c].fd = -1;
	size_t n = 1 + tw_format(address.sun_path + 1, sizeof(address.sun_path) - 1, "tweed-run-%d", (int)getpid());
	l->top.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (l->top.listener >= 0 && (bind(l->top.listener, (const struct sockaddr *)&address,
	                                  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n)) < 0 ||
	                             listen(l->top.listener, TOP_CLIENTS) < 0)) {
		close(l->top.listener);
		l->top.listener = -1; /* the job runs all the same */
	}
}

static void top_leave(struct top_client *c)
{
	close(c->fd);
	free(c->answer);
	*c = (struct top_client){.fd = -1};
}

static void top_accept(struct launch *l)
{
	struct ucred peer;
	socklen_t bytes = sizeof(peer);
	int fd = accept4(l->top.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return;
	bool may =
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 && (peer.uid == getuid() || peer.uid == 0);
	for (unsigned c = 0; may && c < TOP_CLIENTS; c++)
		if (l->top.client[c].fd < 0) {
			l->top.client[c].fd = fd;
			return;
		}
	close(fd);
}

/* Ask the agents, unless they have been. */
static void top_ask(struct launch *l)
{
	bool asked = false;

	for (unsigned i = 0; i < l->nodes; i++)
		asked |= l->node[i].top_asked;
	if (asked)
		return;
	for (unsigned i = 0; i < l->nodes; i++) {
		struct launch_node *n = &l->node[i];
		n->top_asked = l->going && !l->stopping && !l->ending && n->wire.in >= 0 && !n->exited;
		if (n->top_asked)
			launch_send(l, i, WIRE_TOP, NULL, 0);
	}
	top_look(l);
}

static void top_read(struct launch *l, struct top_client *c)
{
	char questions[64];
	ssize_t n = read(c->fd, questions, sizeof(questions));

	if (n == 0 || (n < 0 && errno != EAGAIN)) {
		top_leave(c);
	} else if (n > 0 && !c->answer) {
		c->asks = true;
		top_ask(l);
	}
}

static void top_write(struct top_client *c)
{
	ssize_t n = send(c->fd, c->answer + c->sent, c->bytes - c->sent, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (n < 0 && errno != EAGAIN) {
		top_leave(c);
		return;
	}
	c->sent += (size_t)TW_MAX(n, 0);
	if (c->sent < c->bytes)
		return;
	free(c->answer);
	c->answer = NULL;
}

void top_look(struct launch *l)
{
	for (unsigned i = 0; i < l->nodes; i++)
		if (l->node[i].top_asked && l->node[i].wire.in >= 0)
			return;
	for (unsigned i = 0; i < l->nodes; i++)
		l->node[i].top_asked = false;
	char *text = NULL;
	for (unsigned i = 0; i < TOP_CLIENTS; i++) {
		struct top_client *c = &l->top.client[i];
		if (!c->asks)
			continue;
		c->asks = false;
		l->job->wall_s = (double)(tw_time_ns() - l->began_ns) * 1e-9;
		if (!text)
			text = tool_report_live(l->job);
		c->answer = text ? strdup(text) : NULL;
		c->bytes = c->answer ? strlen(c->answer) : 0;
		c->sent = 0;
		if (c->answer)
			top_write(c);
	}
	free(text);
}

void top_answered(struct launch *l, unsigned i, const struct wire_msg *msg)
{
	if (!l->node[i].top_asked || l->node[i].delivered)
		return;
	memcpy(l->job->stats + i * (l->job->settings.config.processors + 1), msg->stats, msg->bytes);
	l->node[i].top_asked = false;
	top_look(l);
}

void top_events(const struct launch *l, struct pollfd poller[1 + TOP_CLIENTS])
{
	poller[0] = (struct pollfd){l->top.listener, POLLIN, 0};
	for (unsigned c = 0; c < TOP_CLIENTS; c++)
		poller[1 + c] = (struct pollfd){l->top.client[c].fd,
		                                (short)(l->top.client[c].answer ? POLLIN | POLLOUT : POLLIN), 0};
}

void top_act(struct launch *l, const struct pollfd poller[1 + TOP_CLIENTS])
{
	if (poller[0].revents)
		top_accept(l);
	for (unsigned i = 0; i < TOP_CLIENTS; i++) {
		struct top_client *c = &l->top.client[i];
		if (c->fd != poller[1 + i].fd || c->fd < 0)
			continue;
		if (poller[1 + i].revents & POLLOUT)
			top_write(c);
		if (c->fd >= 0 && (poller[1 + i].revents & (POLLIN | POLLHUP | POLLERR)))
			top_read(l, c);
	}
}
