/* SPDX-License-Identifier: BSD-3-Clause */
/* agent_parts.h - shared by the parts of an agent: agent.c, the loop and the launcher's commands; agent_node.c, the
 * node's setup; agent_processors.c, the processors, their output and input; agent_waits.c, their waits.  One thread. */
#ifndef TW_TOOLS_AGENT_AGENT_PARTS_H
#define TW_TOOLS_AGENT_AGENT_PARTS_H

#include <signal.h>

#include "core/job/deaths.h"
#include "core/job/job.h"
#include "tools/agent/output.h"
#include "tools/tools.h"
#include "tools/trace/collect.h"
#include "tools/wire/watch.h"
#include "tools/wire/wire.h"

struct agent_processor {
	pid_t pid; /* 0: not running */
	struct output output[2];
};

/* Standard input, passed on to processor 0. */
struct agent_input {
	int fd; /* -1: no process reads it any more */
	size_t length;
	bool ended; /* close it when all is written */
	char held[WIRE_WINDOW];
};

/* Another node's agent, as its service's beats show it. */
struct agent_peer {
	uint64_t beats;
	struct watch watch;
};

struct agent {
	struct wire wire;
	int signals, boot_fd;
	sigset_t mask;               /* of the processors */
	struct tw_settings settings; /* as the launcher has sent them; boot.config has the drivers in use */
	struct tw_boot boot;
	unsigned long soft_files; /* the program's limit of open files */
	struct tw_layout layout;
	const struct tw_transport *transport;
	struct tw_net_server *server; /* NULL where the transport needs none */
	struct tw_stats *stats;       /* [processors + 1], in the node's private memory */
	_Atomic int *exec_errno;      /* [processors], shared with children until they exec */
	struct agent_processor *processor;
	struct tw_deaths *deaths;          /* for the node's processors; NULL: the job does not survive deaths */
	uint64_t polls[TW_MAX_PROCESSORS]; /* the processors' polls in waits, at the last tick */
	unsigned asked;                    /* ticks until WAITS is answered; 0: no question */
	int where;                         /* what `tweed where` prints; -1: it does not run */
	struct trace_source trace;
	struct agent_input input;
	struct tool_cpus *cpus; /* [processors], or NULL: not bound */
	unsigned running, turn; /* turn: the processor whose output is read first */
	size_t window;          /* bytes of output that may be sent */
	struct watch launcher;
	struct agent_peer *peer; /* [nodes] as seen through the transport; NULL: not watched */
	bool output, takes_input, watched, paused, exited, stopped, accounted, finishing, parted;
	const uint8_t *secret; /* NULL: JOB contains it */
	char *program;         /* the contents of PROGRAM */
	const char *path;
	char **argv, **variables;
};

/* agent.c */

/* agent_fail - report to the launcher that the agent cannot continue, after it has printed why.  The node's processes
 * are killed. */
void agent_fail(struct agent *a) __attribute__((noreturn));

/* agent_leave - the launcher is lost or has ended the job: kill the node's processes, and exit. */
void agent_leave(void) __attribute__((noreturn));

/* agent_tick - called about every a->launcher.tick_ns once the job is known: send beats to the launcher and the
 * supervisor, and check for silent ones. */
void agent_tick(struct agent *a);

/* agent_receive - execute the launcher's commands that have arrived.  Not before the node is set up. */
void agent_receive(struct agent *a);

/* agent_node.c */

/* agent_bring_up - from HANDSHAKE to GO: the job, the program, the node's memories, the other nodes', the service. */
void agent_bring_up(struct agent *a);

/* agent_waits.c */

/* agent_waits_look - at each tick: do all processors of the node wait for calls of others, have they polled since the
 * last tick, and how many waits have they begun?
 * agent_waits_tick - then: answer the launcher's question, if it is time. */
bool agent_waits_look(struct agent *a, uint64_t *begun);
void agent_waits_tick(struct agent *a, bool all, uint64_t begun);

/* agent_where - WHERE: start `tweed where`.  agent_where_read - send what it has printed. */
void agent_where(struct agent *a);
void agent_where_read(struct agent *a);

/* agent_processors.c */

/* agent_start_processors - start all; fewer if the job ends meanwhile. */
void agent_start_processors(struct agent *a);

/* agent_outputs - send output as the window allows, starting with another processor each time.  Returns whether there
 * is more, now or when the window opens. */
bool agent_outputs(struct agent *a);

/* agent_signal - let processor 0 have the signal @sent (wire.h) if the program handles it; answer the launcher. */
void agent_signal(struct agent *a, uint32_t sent);
/* agent_reap - reap processors that have ended, after their last output, and adopted orphans. */
void agent_reap(struct agent *a);

/* agent_take_input - store input that the launcher has sent for processor 0.  More than the window ends the agent. */
void agent_take_input(struct agent *a, const struct wire_msg *msg);

/* agent_input_write - write as much as the processor's pipe takes, and open the launcher's window by that amount. */
void agent_input_write(struct agent *a);

/* agent_input_close - no process reads the input any more. */
void agent_input_close(struct agent *a);

#endif
