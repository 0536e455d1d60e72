/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/agent/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Longer lines are split, so that each part fits with its prefix into one message. */
#define OUTPUT_LONGEST (WIRE_PIECE - sizeof(((struct output *)0)->prefix) - 1)

int output_open(struct output *o, unsigned stream, bool tag, unsigned node, unsigned processor, int *write_end)
{
	int ends[2];

	*o = (struct output){.fd = -1};
	char *held = malloc(WIRE_PIECE);
	if (!held || pipe2(ends, O_CLOEXEC) < 0) {
		free(held);
		return held ? -errno : -ENOMEM;
	}
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	*o = (struct output){.fd = ends[0], .stream = stream, .lines = tag, .held = held};
	if (tag)
		snprintf(o->prefix, sizeof(o->prefix), "[%u.%u] ", node, processor);
	*write_end = ends[1];
	return 0;
}

void output_close(struct output *o)
{
	if (o->fd >= 0)
		close(o->fd);
	free(o->held);
	*o = (struct output){.fd = -1};
}

/* The number of held bytes that the next message can take; 0: none yet. */
static size_t output_next(const struct output *o, bool last, bool *newline)
{
	const char *end = memchr(o->held, '\n', o->length);

	*newline = end;
	if (end)
		return (size_t)(end - o->held) + 1;
	return last || o->length >= OUTPUT_LONGEST ? o->length : 0;
}

/* Whole lines, each with its prefix, as many as one message takes. */
static size_t output_lines(struct output *o, bool last, struct wire_output *m)
{
	size_t bytes = 0, prefix = strlen(o->prefix), take;
	bool newline;

	while ((take = output_next(o, last, &newline)) && bytes + prefix + take + 1 <= sizeof(m->bytes)) {
		memcpy(m->bytes + bytes, o->prefix, prefix);
		memcpy(m->bytes + bytes + prefix, o->held, take);
		bytes += prefix + take;
		if (!newline)
			m->bytes[bytes++] = '\n';
		o->length -= take;
		memmove(o->held, o->held + take, o->length);
	}
	return bytes;
}

/* All held bytes; if more are to come, up to the last line's end. */
static size_t output_raw(struct output *o, struct wire_output *m)
{
	const char *end = o->length == WIRE_PIECE ? memrchr(o->held, '\n', o->length) : NULL;
	size_t take = end ? (size_t)(end - o->held) + 1 : o->length;

	memcpy(m->bytes, o->held, take);
	o->length -= take;
	memmove(o->held, o->held + take, o->length);
	return take;
}

bool output_pump(struct output *o, struct wire *wire, size_t *window, bool last)
{
	struct wire_output m = {.stream = o->stream};
	size_t room = o->lines ? OUTPUT_LONGEST : WIRE_PIECE, bytes;
	bool more = true;
	ssize_t n = 0;

	if (!o->held)
		return false;
	if (*window < WIRE_PIECE)
		return true;
	if (o->fd >= 0 && o->length < room) {
		do
			n = read(o->fd, o->held + o->length, room - o->length);
		while (n < 0 && errno == EINTR);
		more = n > 0;
		if (n > 0)
			o->length += (size_t)n;
		if (n == 0 || (n < 0 && last)) {
			close(o->fd);
			o->fd = -1;
		}
	}
	bytes = o->lines ? output_lines(o, o->fd < 0, &m) : output_raw(o, &m);
	if (bytes) {
		wire_send(wire, WIRE_OUTPUT, &m, offsetof(struct wire_output, bytes) + bytes, NULL, 0);
		*window -= bytes;
	}
	if (o->fd < 0 && !o->length)
		output_close(o);
	return o->held && (more || (bytes && o->length));
}
