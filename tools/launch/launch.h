/* SPDX-License-Identifier: BSD-3-Clause */
/* launch.h - the launcher's state, for launch.c, start.c, prepare.c, survive.c, waits.c, where.c, top.c and
 * stdio.c. */
#ifndef TW_TOOLS_LAUNCH_LAUNCH_H
#define TW_TOOLS_LAUNCH_LAUNCH_H

#include <poll.h>
#include <signal.h>

#include "tools/tools.h"
#include "tools/trace/collect.h"
#include "tools/wire/watch.h"
#include "tools/wire/wire.h"

/* Progress of an agent: the last message received from it, or sent to it. */
enum launch_step {
	LAUNCH_STARTED,
	LAUNCH_CONNECTED,  /* HANDSHAKE */
	LAUNCH_CONFIGURED, /* JOB: it creates its memories */
	LAUNCH_MEMORY,     /* MEMORY */
	LAUNCH_JOINED,     /* NODES: it starts its service */
	LAUNCH_CLOCK,      /* it was asked for its clock */
	LAUNCH_READY,      /* READY */
};

/* Clients that look at the running job (top.c). */
#define TOP_CLIENTS 4u
struct top_client {
	int fd; /* -1: free */
	bool asks;
	char *answer; /* NULL: none is under way */
	size_t bytes, sent;
};
struct launch_top {
	int listener; /* -1: none */
	struct top_client client[TOP_CLIENTS];
};

struct launch_node {
	const char *host; /* NULL: here */
	pid_t child;      /* the agent, or the remote shell; 0: gone, or started by a resource manager */
	struct wire wire; /* in -1: closed */
	struct watch watch;
	struct wire_handshake handshake;
	struct tw_net_address address;
	struct wire_ready ready;
	int memory;    /* exported memory, until it is passed on; -1: at the address */
	size_t credit; /* of its output, not yet sent */
	size_t window; /* of its output: bytes that it may send */
	enum launch_step step;
	uint64_t ended; /* a bit for each processor whose DEATH has arrived */
	bool started, connected, delivered, gone;
	bool parted;       /* it has sent END */
	bool fate_known;   /* its supervisor has reported how it ended */
	bool exited;       /* its processors have ended, and their output has arrived */
	bool lost;         /* it has died, and the job continues without it */
	bool stopped;      /* a processor of it is stopped */
	bool joined;       /* a processor of it has begun to join the job */
	uint32_t outsider; /* the last of its processors that ended well without joining, and its pid */
	pid_t outsider_pid;
	unsigned dead;        /* processors, in a job that survives deaths */
	uint64_t same, begun; /* unchanged beats that say that all wait; their number of waits (waits.c) */
	bool waits_asked;     /* it was asked for its waits */
	struct wire_waits waits;
	bool where_asked; /* where its threads are (where.c); */
	char *where;      /* what it has answered, allocated */
	size_t where_bytes;
	bool top_asked; /* for its statistics (top.c) */
	unsigned shut;  /* number of deaths that it has shut out */
};

struct launch {
	struct tool_job *job;
	unsigned nodes, agents; /* agents: not gone yet */
	pid_t group;            /* of the agents that it has started here, and of their processors; 0: its own */
	struct launch_node node[TW_MAX_NODES];
	unsigned connected, have_memory, ready, exited, delivered;
	unsigned living;            /* nodes that are not lost */
	bool as_asked;              /* the job was ended by its program, while processors were busy */
	bool strange;               /* the job was ended because a processor failed that had not joined it */
	unsigned outsiders;         /* processors that ended with status 0 and never joined the job */
	unsigned dead;              /* processors, in a job that survives deaths */
	int first_death;            /* the status that the job would have had */
	unsigned deaths, dead_sent; /* deaths to be shut out; deaths announced by DEAD */
	uint32_t death[TW_MAX_NODES * (TW_MAX_PROCESSORS + 1)]; /* as in SHUT (wire.h), each at most once */
	bool going, stopping, ending, late, closing;            /* closing: all remaining agents have parted */
	uint32_t signal;    /* processor 0's agent was asked whether the program handles it; 0: none */
	uint64_t signal_ns; /* when */
	bool asked;         /* all, for their waits */
	uint64_t where_ns;  /* when all were asked where their threads are; 0: they were not */
	void (*where_then)(struct launch *l);
	struct launch_top top;
	bool output, input; /* are passed on */
	int signals, output_event;
	size_t window; /* of the input */
	sigset_t mask;
	struct watch clock;
	uint64_t deadline_ns; /* 0: none */
	uint64_t began_ns;
	struct trace_file trace;
	char *program; /* the contents of PROGRAM */
	size_t program_bytes;
	uint8_t secret[TW_NET_SECRET_BYTES];
};

/* launch_end - end the job with this status, unless it is ending.  launch_send - to one agent, as wire_send.
 * launch_send_all - to all agents, without a body. */
void launch_end(struct launch *l, int status);
void launch_send_all(struct launch *l, enum wire_type type);
void launch_send(struct launch *l, unsigned node, enum wire_type type, const void *body, size_t bytes);
/* launch_host - the name of its host; NULL: an emulated node. */
const char *launch_host(const struct launch *l, unsigned node);
/* launch_where - "node 1", or "node 1 on host b"; in one of two buffers in turn. */
const char *launch_where(const struct launch *l, unsigned node);

/* launch_fate - "was killed by signal 9 (Killed)" or "exited with status 3", in @out; @status: as waitpid gives it. */
const char *launch_fate(int status, char *out, size_t bytes);

/* launch_look - continue with the job's end, if all living nodes have come so far. */
void launch_look(struct launch *l);

/* ---- survive.c: jobs that continue when a processor or a node dies ---- */

/* survive_death - a processor of @node has died; @status: what the job's would have been.  The job's status becomes
 * that of the others; if none is left, that of the first death.
 * survive_may - can the job continue without @node?
 * survive_then - the consequence of losing @node: the end of a sentence.
 * survive_lost - the agent of @node is gone: continue without the node, whose processors are dead or unreachable when
 * this returns.  False: the job cannot.
 * survive_shut - the agent of @node has shut the next death out of its node's memory. */
void survive_death(struct launch *l, unsigned node, const struct wire_death *d, int status);
bool survive_may(const struct launch *l, unsigned node);
const char *survive_then(const struct launch *l, unsigned node);
bool survive_lost(struct launch *l, unsigned node, int status);
void survive_shut(struct launch *l, unsigned node);

/* ---- start.c: starting agents, and their end ---- */

/* start_agents - start the agents that may be started now: all, but only a few remote shells at a time.  0 or -errno,
 * printed. */
int start_agents(struct launch *l);
/* start_program - collect the contents of PROGRAM.  0 or -errno, printed. */
int start_program(struct launch *l);
/* start_failed - the agent never sent HANDSHAKE: print why.  @status: of its remote shell, as waitpid gives it. */
void start_failed(struct launch *l, unsigned node, int status);
/* start_kill - kill the node's child; a remote shell with its whole process group. */
void start_kill(const struct launch_node *n);
/* start_wait - reap the node's child, which is gone or will be soon.  Returns its status, as waitpid gives it. */
int start_wait(struct launch_node *n);

/* ---- prepare.c: from HANDSHAKE to GO ---- */

/* prepare_connected, prepare_have_memory, prepare_agent_ready - the agent of node @i has sent HANDSHAKE, MEMORY, READY
 * (or CLOCK after it): send the next message to it, or to all. */
void prepare_connected(struct launch *l, unsigned i, const struct wire_msg *msg);
void prepare_have_memory(struct launch *l, unsigned i, const struct wire_msg *msg);
void prepare_agent_ready(struct launch *l, unsigned i);

/* ---- waits.c: processors that all wait for each other ---- */

/* waits_beat - a BEAT of node @i; when it is time, asks all for their waits.  waits_answered - the answer; ends the job
 * with a sentence when all wait for each other. */
void waits_beat(struct launch *l, unsigned i, const struct wire_beat *beat);
void waits_answered(struct launch *l, unsigned i, const struct wire_waits *waits);

/* ---- where.c: where all threads are ---- */

/* where_ask - ask all agents; print the answers when all have come, or some time has passed, and call @then, unless it
 * is NULL.  where_answered - a WHERE of node @i.  where_look - have all answered? */
void where_ask(struct launch *l, void (*then)(struct launch *l));
void where_answered(struct launch *l, unsigned i, const struct wire_msg *msg);
void where_look(struct launch *l);

/* ---- top.c: statistics of the running job ---- */

/* top_open - let clients connect.  top_answered - a TOP of node @i.  top_look - have all answered?
 * top_events - what to poll for.  top_act - handle the results. */
void top_open(struct launch *l);
void top_answered(struct launch *l, unsigned i, const struct wire_msg *msg);
void top_look(struct launch *l);
void top_events(const struct launch *l, struct pollfd poller[1 + TOP_CLIENTS]);
void top_act(struct launch *l, const struct pollfd poller[1 + TOP_CLIENTS]);

/* ---- stdio.c: output, input ---- */

/* stdio_start - start the output writer and input, if the job needs them.  0 or -errno, printed. */
int stdio_start(struct launch *l);
/* stdio_output - an OUTPUT message. */
void stdio_output(struct launch *l, unsigned node, const struct wire_msg *msg);
/* stdio_events - what to poll for: the output writer and standard input.  stdio_act - handle the results. */
void stdio_events(const struct launch *l, struct pollfd poller[2]);
void stdio_act(struct launch *l, const struct pollfd poller[2]);

#endif
