/* SPDX-License-Identifier: BSD-3-Clause */
/* collect.h - collects the processors' records in one file (doc/guide/tracing.md): an agent sends its node's rings in
 * pieces, the launcher writes each piece as it arrives. */
#ifndef TW_TOOLS_TRACE_COLLECT_H
#define TW_TOOLS_TRACE_COLLECT_H

#include "core/memory/regions.h"
#include "core/observe/recorder.h"
#include "tools/file.h"
#include "tools/tools.h"
#include "tools/wire/wire.h"

/* ---- the agent --------------------------------------------------------------------------------------------------- */

struct trace_source {
	char *rings; /* the node's rings; NULL: nothing is traced, or all is sent */
	const struct tw_config *config;
	size_t bytes;                                           /* of one processor */
	unsigned count, ring, round;                            /* round: pieces sent of each ring */
	bool more;                                              /* there is another round */
	uint64_t end[(TW_MAX_PROCESSORS + 1) * TW_TRACE_RINGS]; /* events of each ring at the beginning */
};

/* trace_begin - start sending what the rings contain now.  The processors have ended, or record nothing of interest any
 * more.  Called once. */
void trace_begin(struct trace_source *source, const struct tw_config *config, const struct tw_layout *layout);
/* trace_pump - send as much as the stream takes.  Returns whether there is more. */
bool trace_pump(struct trace_source *source, struct wire *wire);

/* ---- the launcher ------------------------------------------------------------------------------------------------ */

#define TRACE_SITES 4096u /* call sites that get a name; a power of two */

/* Offset of an agent's clock relative to the launcher's; the best of some estimates, each with an error of at most half
 * its round trip. */
struct trace_clock {
	unsigned asked;
	int64_t offset_ns;
	uint64_t error_ns;
};

struct trace_file {
	struct file file;
	bool begun, failed;
	uint64_t space;             /* address of the shared space in processors */
	uint32_t site[TRACE_SITES]; /* hashed; 0: free */
	struct trace_clock clock[TW_MAX_NODES];
};

/* trace_check - can the file be written?  0, or -errno with a sentence in @error. */
int trace_check(const struct tw_config *config, char *error, size_t error_bytes);
/* trace_clock_asks - should the clock of @node be asked for (again)?  trace_clock_answer - its answer. */
bool trace_clock_asks(const struct trace_file *t, unsigned node);
void trace_clock_answer(struct trace_file *t, unsigned node, const struct wire_clock *answer);
/* trace_take - a piece from @node. */
void trace_take(struct trace_file *t, const struct tool_job *job, unsigned node, const struct wire_trace *piece);
/* trace_end - finish the file, if any data arrived; @handshake: [nodes].  0 or -errno, printed. */
int trace_end(struct trace_file *t, const struct tool_job *job, const struct wire_handshake *const *handshake);

#endif
