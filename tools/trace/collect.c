/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/trace/collect.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/base.h"
#include "core/observe/symbol.h"
#include "core/observe/recorder.h"
#include "tools/wire/handshake.h"

#define TRACE_MAGIC  "TWTRACE1"
#define TRACE_ROUNDS 8u /* of measurements of a clock's offset */

/* A section of the file: this, then @bytes, a multiple of 8. */
struct trace_section {
	uint32_t type, bytes;
};
enum { TRACE_HEAD = 1, TRACE_EVENTS, TRACE_TAIL };

/* ---- the agent --------------------------------------------------------------------------------------------------- */

static struct tw_trace_ring *trace_ring(const struct trace_source *s, unsigned ring)
{
	char *rings = s->rings + ring / TW_TRACE_RINGS * s->bytes;
	return tw_trace_ring(rings, s->config, ring % TW_TRACE_RINGS);
}

void trace_begin(struct trace_source *s, const struct tw_config *config, const struct tw_layout *layout)
{
	if (!s->rings)
		return;
	s->config = config;
	s->bytes = layout->trace_bytes;
	s->count = layout->ports * TW_TRACE_RINGS;
	for (unsigned ring = 0; ring < s->count; ring++)
		s->end[ring] = atomic_load(&trace_ring(s, ring)->written);
}

/* Send the next piece of a ring; an empty ring has one, too. */
static void trace_send(struct trace_source *s, struct wire *wire)
{
	static struct wire_trace piece;
	const struct tw_trace_ring *ring = trace_ring(s, s->ring);
	/* Not the oldest slots: a running service, or a processor that was killed, may have overwritten them. */
	uint64_t end = s->end[s->ring], most = TW_MIN(end, ring->slots - ring->slots / 64);
	uint64_t done = (uint64_t)s->round * WIRE_EVENTS_MOST;

	if (done && done >= most)
		return;
	piece.processor = (uint16_t)(s->ring / TW_TRACE_RINGS);
	piece.ring = (uint16_t)(s->ring % TW_TRACE_RINGS);
	piece.written = end;
	piece.space = ring->space;
	piece.events = (uint32_t)TW_MIN(most - done, WIRE_EVENTS_MOST);
	for (uint32_t i = 0; i < piece.events; i++)
		piece.event[i] = ring->event[(end - done - piece.events + i) % ring->slots];
	s->more = s->more || most - done > piece.events;
	wire_send(wire, WIRE_TRACE, &piece, offsetof(struct wire_trace, event) + piece.events * sizeof(piece.event[0]),
	          NULL, 0);
}

/* All rings in turn, the newest events of each first, because time may be short. */
static void trace_next(struct trace_source *s)
{
	if (++s->ring < s->count)
		return;
	if (!s->more)
		s->rings = NULL;
	s->more = false;
	s->ring = 0;
	s->round++;
}

bool trace_pump(struct trace_source *s, struct wire *wire)
{
	while (s->rings && s->count && !wire_waits(wire)) {
		trace_send(s, wire);
		trace_next(s);
	}
	return s->rings && s->count;
}

/* ---- the launcher: clocks ---------------------------------------------------------------------------------------- */

bool trace_clock_asks(const struct trace_file *t, unsigned node)
{
	return t->clock[node].asked < TRACE_ROUNDS;
}

void trace_clock_answer(struct trace_file *t, unsigned node, const struct wire_clock *answer)
{
	struct trace_clock *c = &t->clock[node];
	uint64_t half = (tw_time_ns() - answer->launcher_ns) / 2;

	if (c->asked++ && half >= c->error_ns)
		return;
	c->error_ns = half;
	c->offset_ns = (int64_t)(answer->agent_ns - answer->launcher_ns - half);
}

/* Nodes of one kernel have one clock: the best estimate of them all. */
static json_t *trace_clock_json(const struct trace_file *t, unsigned nodes, unsigned node,
                                const struct wire_handshake *const *handshake)
{
	const struct trace_clock *measured = &t->clock[node], *best = measured;
	struct trace_clock ours = {0};

	for (unsigned i = 0; i < nodes; i++)
		if (t->clock[i].asked && strcmp(handshake[i]->boot, handshake[node]->boot) == 0 &&
		    t->clock[i].error_ns < best->error_ns)
			best = &t->clock[i];
	if (handshake_is_here(handshake[node]))
		best = &ours;
	json_t *o = json_pack("{s:o, s:I, s:I}", "host", tool_json_text(handshake[node]->host), "offset_ns",
	                      best->offset_ns, "error_ns", best->error_ns);
	if (measured->asked)
		json_object_update_new(o, json_pack("{s:I, s:I}", "estimate_ns", measured->offset_ns,
		                                    "estimate_error_ns", measured->error_ns));
	return o;
}

/* ---- the launcher: the file -------------------------------------------------------------------------------------- */

int trace_check(const struct tw_config *config, char *error, size_t error_bytes)
{
	if (!config->trace[0])
		return 0;
	if (strcmp(config->trace, config->stats) == 0) {
		snprintf(error, error_bytes,
		         "TWEED_TRACE and TWEED_STATS both name '%s'; name another file with --trace", config->trace);
		return -EINVAL;
	}
	return file_check(config->trace, "the trace", "--trace", error, error_bytes);
}

static void trace_write(struct trace_file *t, const void *bytes, size_t count)
{
	file_put(&t->file, bytes, count);
}

/* Write text, padded to a multiple of 8 bytes; frees @o. */
static void trace_write_json(struct trace_file *t, uint32_t type, json_t *o)
{
	char *text = json_dumps(o, JSON_COMPACT);
	size_t bytes = text ? strlen(text) : 0;
	struct trace_section section = {type, (uint32_t)TW_ALIGN_UP(bytes, (size_t)8)};

	trace_write(t, &section, sizeof(section));
	if (text)
		trace_write(t, text, bytes);
	trace_write(t, "       ", section.bytes - bytes);
	if (!text && !t->file.error)
		t->file.error = -ENOMEM;
	free(text);
	json_decref(o);
}

static json_t *trace_kinds(void)
{
	json_t *names = json_array();
	for (unsigned i = 0; tw_trace_kind_name(i); i++)
		json_array_append_new(names, json_string(tw_trace_kind_name(i)));
	return names;
}

static json_t *trace_head(const struct tool_job *job)
{
	const struct tw_config *c = &job->settings.config;
	json_t *arguments = json_array(), *spans = json_array();
	char date[32];
	time_t now = time(NULL);

	strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
	for (char **a = job->argv + 1; *a; a++)
		json_array_append_new(arguments, tool_json_text(*a));
#define X(name) json_array_append_new(spans, json_string(#name));
	TW_TIMES(X)
#undef X
	return json_pack("{s:s, s:s, s:o, s:o, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o}", "version",
	                 TWEED_VERSION, "date", date, "program", tool_json_text(job->argv[0]), "arguments", arguments,
	                 "protocol", c->protocol, "transport", c->transport, "nodes", (json_int_t)c->nodes,
	                 "processors", (json_int_t)c->processors, "host_nodes", (json_int_t)c->host_nodes, "page_size",
	                 (json_int_t)c->page_size, "memory", (json_int_t)c->memory, "slots",
	                 (json_int_t)c->trace_events, "kinds", trace_kinds(), "spans", spans);
}

static void trace_begin_file(struct trace_file *t, const struct tool_job *job)
{
	int status = file_open(&t->file, job->settings.config.trace);

	t->begun = true;
	if (status < 0) {
		t->failed = true;
		tool_say("cannot write the trace to '%s': %s", job->settings.config.trace, strerror(-status));
		return;
	}
	trace_write(t, TRACE_MAGIC, sizeof(TRACE_MAGIC) - 1);
	trace_write_json(t, TRACE_HEAD, trace_head(job));
}

static void trace_note_site(struct trace_file *t, uint32_t site)
{
	for (uint32_t i = 0; site && i < TRACE_SITES; i++) {
		uint32_t *slot = &t->site[(site * 0x9e3779b1u + i) % TRACE_SITES];
		if (*slot == site)
			return;
		if (!*slot) {
			*slot = site;
			return;
		}
	}
}

void trace_take(struct trace_file *t, const struct tool_job *job, unsigned node, const struct wire_trace *piece)
{
	size_t events = piece->events * sizeof(piece->event[0]);
	uint16_t where[4] = {(uint16_t)node, piece->processor, piece->ring};
	uint64_t ring[2] = {piece->written, piece->space};
	struct trace_section section = {TRACE_EVENTS, (uint32_t)(sizeof(where) + sizeof(ring) + events)};

	if (!job->settings.config.trace[0])
		return;
	if (!t->begun)
		trace_begin_file(t, job);
	if (!t->file.f)
		return;
	trace_write(t, &section, sizeof(section));
	trace_write(t, where, sizeof(where));
	trace_write(t, ring, sizeof(ring));
	trace_write(t, piece->event, events);
	t->space = TW_MAX(t->space, piece->space);
	for (uint32_t i = 0; i < piece->events; i++)
		if (piece->event[i].kind == TW_TRACE_allocate)
			trace_note_site(t, piece->event[i].page);
}

static json_t *trace_symbols(const struct trace_file *t, const struct tool_job *job)
{
	json_t *symbols = json_object();
	char text[512], key[16];

	for (uint32_t i = 0; i < TRACE_SITES; i++) {
		if (!t->site[i])
			continue;
		snprintf(key, sizeof(key), "%" PRIu32, t->site[i]);
		tw_symbol_of_file(job->path, t->site[i], text, sizeof(text));
		json_object_set_new(symbols, key, tool_json_text(text));
	}
	return symbols;
}

static void trace_variable(void *globals, const char *name, uintptr_t address, size_t bytes)
{
	json_array_append_new(globals,
	                      json_pack("[I, I, o]", (json_int_t)address, (json_int_t)bytes, tool_json_text(name)));
}

/* The program's shared variables. */
static json_t *trace_globals(const struct trace_file *t, const struct tool_job *job)
{
	json_t *globals = json_array();

	if (t->space)
		tw_symbol_variables(job->path, t->space, t->space + job->settings.config.memory, trace_variable,
		                    globals);
	return globals;
}

int trace_end(struct trace_file *t, const struct tool_job *job, const struct wire_handshake *const *handshake)
{
	json_t *clocks = json_array();
	unsigned nodes = (unsigned)job->settings.config.nodes;

	if (!t->begun || !t->file.f) {
		json_decref(clocks);
		return t->failed ? -EIO : 0;
	}
	for (unsigned i = 0; i < nodes; i++)
		json_array_append_new(clocks, trace_clock_json(t, nodes, i, handshake));
	trace_write_json(t, TRACE_TAIL,
	                 json_pack("{s:i, s:o, s:o, s:o}", "status", job->status, "clocks", clocks, "symbols",
	                           trace_symbols(t, job), "globals", trace_globals(t, job)));
	int status = file_close(&t->file);
	if (status < 0)
		tool_say("cannot write the trace to '%s': %s", job->settings.config.trace, strerror(-status));
	return status;
}
