/* SPDX-License-Identifier: BSD-3-Clause */
/* where.c - where all threads of the job are: at SIGUSR1, if the program does not handle it, and before the job ends
 * because all wait for each other.  One line for all threads that are in the same functions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/launch/launch.h"

#define WHERE_NS    10000000000u /* the longest time for which answers are waited for */
#define WHERE_NAMES 8u           /* processors that a line names */
#define WHERE_BYTES ((size_t)1 << 20)

void where_ask(struct launch *l, void (*then)(struct launch *l))
{
	if (then)
		l->where_then = then;
	if (l->where_ns)
		return;
	l->where_ns = tw_time_ns();
	for (unsigned i = 0; i < l->nodes; i++) {
		struct launch_node *n = &l->node[i];
		if (n->wire.in < 0 || n->exited)
			continue;
		n->where_asked = true;
		launch_send(l, i, WIRE_WHERE, NULL, 0);
	}
	where_look(l);
}

/* ---- the lines ---- */

struct where_line {
	unsigned node, processor;
	const char *text;
	bool printed;
};

/* The lines of all nodes' answers, which are cut into lines.  Allocated. */
static struct where_line *where_lines(struct launch *l, size_t *lines)
{
	struct where_line *line = NULL;
	size_t room = 0;

	*lines = 0;
	for (unsigned i = 0; i < l->nodes; i++)
		for (char *rest = l->node[i].where, *at; rest && (at = strsep(&rest, "\n"));) {
			char *tab = strchr(at, '\t');
			if (!tab)
				continue;
			if (*lines == room)
				line = realloc(line, (room = 2 * room + 64) * sizeof(*line));
			if (!line)
				return NULL;
			line[(*lines)++] = (struct where_line){i, (unsigned)atoi(at), tab + 1, false};
		}
	return line;
}

static void where_print(struct where_line *line, size_t lines)
{
	char names[WHERE_NAMES * 12 + 32];

	for (size_t i = 0; i < lines; i++) {
		unsigned count = 0;
		size_t n = 0;

		if (line[i].printed)
			continue;
		for (size_t k = i; k < lines; k++) {
			if (line[k].printed || strcmp(line[k].text, line[i].text) != 0)
				continue;
			line[k].printed = true;
			if (++count <= WHERE_NAMES)
				n += tw_format(names + n, sizeof(names) - n, "%s%u.%u", count > 1 ? ", " : "",
				               line[k].node, line[k].processor);
		}
		if (count > WHERE_NAMES)
			tw_format(names + n, sizeof(names) - n, " and %u more", count - WHERE_NAMES);
		tool_say("%s: %s", names, line[i].text);
	}
}

void where_look(struct launch *l)
{
	void (*then)(struct launch * l) = l->where_then;
	size_t lines;

	if (!l->where_ns)
		return;
	bool late = tw_time_ns() - l->where_ns > WHERE_NS;
	for (unsigned i = 0; i < l->nodes; i++)
		if (l->node[i].where_asked && l->node[i].wire.in >= 0 && !late)
			return;
	struct where_line *line = where_lines(l, &lines);
	if (line && !l->ending)
		where_print(line, lines);
	free(line);
	for (unsigned i = 0; i < l->nodes; i++) {
		free(l->node[i].where);
		l->node[i].where = NULL;
		l->node[i].where_bytes = 0;
		l->node[i].where_asked = false;
	}
	l->where_ns = 0;
	l->where_then = NULL;
	if (then)
		then(l);
}

void where_answered(struct launch *l, unsigned i, const struct wire_msg *msg)
{
	struct launch_node *n = &l->node[i];

	if (!n->where_asked)
		return; /* too late */
	if (msg->bytes == 0) {
		n->where_asked = false;
		where_look(l);
		return;
	}
	char *more =
	    n->where_bytes + msg->bytes < WHERE_BYTES ? realloc(n->where, n->where_bytes + msg->bytes + 1) : NULL;
	if (!more)
		return;
	memcpy(more + n->where_bytes, msg->where, msg->bytes);
	n->where = more;
	n->where_bytes += msg->bytes;
	more[n->where_bytes] = '\0';
}
