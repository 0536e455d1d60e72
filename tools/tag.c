/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/tag.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define TAG_LONGEST ((size_t)1 << 20) /* longer lines are cut into several */

int tag_open(struct tag_stream *t, int out, unsigned node, unsigned processor, int *write_end)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	*t = (struct tag_stream){.fd = ends[0], .out = out};
	snprintf(t->prefix, sizeof(t->prefix), "[%u.%u] ", node, processor);
	*write_end = ends[1];
	return 0;
}

static void tag_drop(struct tag_stream *t)
{
	close(t->fd);
	free(t->line);
	*t = (struct tag_stream){.fd = -1};
}

/* One line with its prefix; a single writev, so that lines of several writers do not mix (up to PIPE_BUF). */
static bool tag_emit(struct tag_stream *t, char *line, size_t length)
{
	struct iovec io[3] = {{t->prefix, strlen(t->prefix)}, {line, length}, {(void *)(uintptr_t) "\n", 1}};
	int n = 3, i = 0;

	while (i < n) {
		ssize_t done = writev(t->out, io + i, n - i);
		if (done < 0 && errno != EINTR && errno != EAGAIN)
			return false;
		for (; i < n && done >= 0 && (size_t)done >= io[i].iov_len; i++)
			done -= (ssize_t)io[i].iov_len;
		if (i < n && done > 0) {
			io[i].iov_base = (char *)io[i].iov_base + done;
			io[i].iov_len -= (size_t)done;
		}
	}
	return true;
}

/* Emit the complete lines of the buffer, keep the rest. */
static bool tag_lines(struct tag_stream *t)
{
	char *at = t->line, *end = t->line + t->length, *newline;

	while (at < end && (newline = memchr(at, '\n', (size_t)(end - at)))) {
		if (!tag_emit(t, at, (size_t)(newline - at)))
			return false;
		at = newline + 1;
	}
	if (at == t->line && t->length >= TAG_LONGEST) {
		if (!tag_emit(t, at, t->length))
			return false;
		at = end;
	}
	t->length = (size_t)(end - at);
	if (t->length)
		memmove(t->line, at, t->length);
	return true;
}

void tag_pump(struct tag_stream *t)
{
	while (t->fd >= 0) {
		if (t->room - t->length < 4096) {
			char *grown = realloc(t->line, t->room * 2 + 8192);
			if (!grown) {
				tag_drop(t);
				return;
			}
			t->line = grown;
			t->room = t->room * 2 + 8192;
		}
		ssize_t n = read(t->fd, t->line + t->length, t->room - t->length);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return; /* EAGAIN */
		t->length += (size_t)n;
		if (n == 0 && t->length)
			tag_emit(t, t->line, t->length);
		if (n == 0 || !tag_lines(t))
			tag_drop(t);
	}
}

void tag_close(struct tag_stream *t)
{
	tag_pump(t);
	if (t->fd < 0)
		return;
	if (t->length)
		tag_emit(t, t->line, t->length);
	tag_drop(t);
}
