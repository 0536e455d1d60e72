/* SPDX-License-Identifier: BSD-3-Clause */
/* agent.c - `tweed agent`: owns a node's memories, starts and watches its processors.
 *
 * The agent leaves no process behind: it is the subreaper of all that its processors start, and kills what is left
 * before it exits.  If it is killed itself, its processors die by their parent-death signal and the process above it, which is the
 * launcher or a guard (guard.h), kills the rest.  If the launcher dies, the connection closes; if it can no longer be
 * reached, it is silent.
 *
 * Exit status: 0, or 2 after FAILED, or that of tw_fatal, 1: the reason has been said. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/util.h"
#include "core/job.h"
#include "tools/agent.h"
#include "tools/bind.h"
#include "tools/guard.h"
#include "tools/hello.h"
#include "tools/manager.h"
#include "tools/output.h"
#include "tools/tools.h"
#include "tools/trace.h"
#include "tools/watch.h"
#include "tools/wire.h"

/* A launcher that lives finds a cut link first, and ends the others before our end breaks their connections. */
#define AGENT_LATER_NS ((uint64_t)1500000000)

struct agent_processor {
	pid_t pid; /* 0: not running */
	struct output output[2];
};

/* Standard input on its way to processor 0. */
struct agent_input {
	int fd; /* -1: nobody reads it any more */
	size_t length;
	bool ended; /* close it when all is written */
	char held[WIRE_WINDOW];
};

/* Another node's agent, as the beats of its service show it. */
struct agent_peer {
	uint64_t beats;
	struct watch watch;
};

struct agent {
	struct wire wire;
	int signals, boot_fd;
	sigset_t mask; /* the processors' */
	struct tw_boot boot;
	struct tw_layout layout;
	const struct tw_transport *transport;
	struct tw_net_server *server; /* NULL where the transport needs none */
	struct tw_stats *stats;       /* [processors + 1], in the node's private memory */
	_Atomic int *exec_errno;      /* [processors], shared with children until they exec */
	struct agent_processor *processor;
	struct trace_source trace;
	struct agent_input input;
	struct tool_cpus *cpus; /* [processors], or NULL: not bound */
	unsigned running, turn; /* turn: whose output is looked at first */
	size_t window;          /* bytes of output that may be sent */
	struct watch launcher;
	struct agent_peer *peer; /* [nodes] as seen through the transport; NULL: not watched */
	bool output, takes_input, watched, paused, exited, stopped, accounted, finishing, parted;
	const uint8_t *secret; /* NULL: JOB brings it */
	char *program; /* what PROGRAM brought */
	const char *path;
	char **argv, **variables;
};

static void agent_fail(struct agent *a) __attribute__((noreturn));
static void agent_fail(struct agent *a)
{
	wire_send(&a->wire, WIRE_FAILED, &(uint32_t){TOOL_USAGE}, sizeof(uint32_t), NULL, 0);
	tool_kill_descendants();
	_exit(TOOL_USAGE);
}

static void agent_leave(void) __attribute__((noreturn));
static void agent_leave(void)
{
	tool_kill_descendants();
	_exit(0);
}

/* ---- watching the launcher ------------------------------------------------------------------------------------- */

/* Tell the launcher of each node whose beats do not come any more, at every tick anew. */
static void agent_watch_peers(struct agent *a, uint64_t limit_ns)
{
	for (uint32_t i = 0; a->peer && limit_ns && !a->finishing && i < a->boot.config.nodes; i++) {
		struct agent_peer *p = &a->peer[i];
		uint64_t beats = tw_service_beat(i);
		if (beats != p->beats || a->paused)
			watch_heard(&p->watch);
		p->beats = beats;
		if (i != a->boot.node && watch_tick(&p->watch) > limit_ns && !wire_waits(&a->wire))
			wire_send(&a->wire, WIRE_CUT, &i, sizeof(i), NULL, 0);
	}
}

/* Called about once in a->launcher.tick_ns, at any time after the job is known. */
static void agent_tick(struct agent *a)
{
	struct wire_beat beat = {0};
	uint64_t limit_ns = a->boot.config.watch * 1000000000u;
	uint64_t silent_ns = watch_tick(&a->launcher);

	for (unsigned k = 0; a->processor && k < a->boot.config.processors && !beat.stopped; k++)
		beat.stopped = a->processor[k].pid && tool_stopped(a->processor[k].pid);
	guard_beat(limit_ns ? 2 * limit_ns + 1000000000u : 0);
	if (!wire_waits(&a->wire))
		wire_send(&a->wire, WIRE_BEAT, &beat, sizeof(beat), NULL, 0);
	agent_watch_peers(a, limit_ns);
	if (a->watched && !a->paused && limit_ns && silent_ns > limit_ns + AGENT_LATER_NS) {
		tool_say("the launcher has been silent for %u s; the node's processes are ended",
		         (unsigned)a->boot.config.watch);
		agent_leave();
	}
}

/* ---- bring-up -------------------------------------------------------------------------------------------------- */

static int agent_memory(struct agent *a, const char *kind, size_t bytes)
{
	char name[64];
	snprintf(name, sizeof(name), "tweed-%s-%u", kind, a->boot.node);
	int fd = memfd_create(name, 0);
	if (fd < 0 || ftruncate(fd, (off_t)bytes) < 0) {
		tool_say("cannot make a memory file of %zu bytes: %s; lower TWEED_MEMORY", bytes, strerror(errno));
		agent_fail(a);
	}
	return fd;
}

static void *agent_map(struct agent *a, int fd, size_t offset, size_t bytes)
{
	size_t aligned = offset & ~(size_t)4095;
	char *p = mmap(NULL, bytes + offset - aligned, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)aligned);
	if (p == MAP_FAILED) {
		tool_say("cannot map %zu bytes: %s", bytes, strerror(errno));
		agent_fail(a);
	}
	return p + (offset - aligned);
}

/* A message that may come between any two. */
static bool agent_expects_always(struct agent *a)
{
	struct wire_clock clock = a->wire.msg->clock;

	if (a->wire.msg->type == WIRE_CLOCK) {
		clock.agent_ns = tw_time_ns();
		wire_send(&a->wire, WIRE_CLOCK, &clock, sizeof(clock), NULL, 0);
	}
	return a->wire.msg->type == WIRE_CLOCK || a->wire.msg->type == WIRE_BEAT;
}

/* The next message, which must be of @type; an end or a closed connection ends the agent. */
static void agent_expect(struct agent *a, enum wire_type type)
{
	struct pollfd poller[2];
	int got;

	for (;;) {
		while ((got = wire_recv(&a->wire)) == 1 && agent_expects_always(a))
			watch_heard(&a->launcher);
		if (got == 1 && a->wire.msg->type == type)
			return;
		if (got == 1) /* the job's end */
			wire_send(&a->wire, WIRE_END, NULL, 0, NULL, 0);
		if (got != -EAGAIN)
			agent_leave();
		wire_events(&a->wire, poller);
		poll(poller, 2, watch_ms(&a->launcher));
		if (wire_push(&a->wire) < 0 && errno != EAGAIN)
			agent_leave();
		if (watch_due(&a->launcher))
			agent_tick(a);
	}
}

/* The program's file, arguments and variables, and its directory, in which the agent goes on. */
static void agent_take_program(struct agent *a, const struct wire_job *job)
{
	size_t whole = job->program_bytes, have = 0, strings = 0;
	char **list = calloc((size_t)job->arguments + job->variables + 2, sizeof(*list));

	a->program = malloc(whole);
	if (!a->program || !list) {
		tool_say("out of memory");
		agent_fail(a);
	}
	while (have < whole) {
		agent_expect(a, WIRE_PROGRAM);
		size_t bytes = TW_MIN((size_t)a->wire.msg->bytes, whole - have);
		memcpy(a->program + have, a->wire.msg->program, bytes);
		have += bytes;
	}
	for (size_t i = 0; i < whole; i++)
		strings += a->program[i] == '\0';
	if (strings != (size_t)job->arguments + job->variables + 2 || a->program[whole - 1] != '\0') {
		tool_say("the launcher's message about the program is damaged");
		agent_fail(a);
	}
	const char *directory = a->program;
	char *at = a->program + strlen(a->program) + 1;
	a->path = at;
	at += strlen(at) + 1;
	a->argv = list;
	a->variables = list + job->arguments + 1;
	for (uint32_t i = 0; i < job->arguments + job->variables; i++, at += strlen(at) + 1)
		list[i + (i >= job->arguments)] = at;
	if (directory[0] && chdir(directory) < 0) {
		tool_say("cannot enter the directory '%s': %s; start from one that all hosts have", directory,
		         strerror(errno));
		agent_fail(a);
	}
	if (!tool_executable(a->path, a->path, false))
		agent_fail(a);
}

/* Tell the others how to reach this node's memory: through its server, or the file itself. */
static void agent_offer(struct agent *a, int exported)
{
	struct tw_net_address own = {0};
	struct tw_net_config config;

	a->transport = tw_transport_find(a->boot.config.transport);
	if (!a->transport || !a->transport->serve) {
		wire_send(&a->wire, WIRE_MEMORY, &own, sizeof(own), &exported, 1);
		close(exported);
		return;
	}
	a->boot.exported_fd[a->boot.node] = exported;
	tw_job_net_config(&a->boot, &a->layout, &config);
	if (a->transport->serve(&config, &a->server, &own) < 0)
		agent_fail(a);
	wire_send(&a->wire, WIRE_MEMORY, &own, sizeof(own), NULL, 0);
}

static void agent_take_nodes(struct agent *a)
{
	const struct wire_msg *msg = a->wire.msg;

	for (unsigned have = 0; have < a->boot.config.nodes;) {
		agent_expect(a, WIRE_NODES);
		for (unsigned i = 0; i < msg->nodes.count; i++, have++) {
			unsigned node = msg->nodes.first + i;
			memcpy(a->boot.host[node], msg->nodes.host[i], sizeof(a->boot.host[node]));
			if (msg->fds)
				a->boot.exported_fd[node] = msg->fd[i];
			else
				a->boot.address[node] = msg->nodes.address[i];
		}
	}
}

static void agent_write_boot(struct agent *a)
{
	a->boot_fd = memfd_create("tweed-boot", 0);
	if (a->boot_fd < 0 || write(a->boot_fd, &a->boot, sizeof(a->boot)) != (ssize_t)sizeof(a->boot)) {
		tool_say("cannot write the boot file: %s", strerror(errno));
		agent_fail(a);
	}
}

/* Socket pairs by which the processes of the node hand each other their views. */
static void agent_handles(struct agent *a)
{
	for (unsigned k = 0; k <= TW_MAX_PROCESSORS; k++) {
		int32_t *pair = a->boot.handle_fd[k];
		pair[0] = pair[1] = -1;
		if (k > a->boot.config.processors || strcmp(a->boot.config.shootdown, "protect") != 0)
			continue;
		if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) < 0) {
			tool_say("cannot make a socket pair for each processor: %s; use fewer processors, or "
			         "--shootdown polled",
			         strerror(errno));
			agent_fail(a);
		}
	}
}

static void agent_take_job(struct agent *a)
{
	const struct wire_job *job = &a->wire.msg->job;

	a->boot = (struct tw_boot){.magic = TW_BOOT_MAGIC, .bytes = sizeof(a->boot)};
	a->boot.config = job->config;
	a->boot.node = job->node;
	a->boot.host_processes = job->host_processes;
	memcpy(a->boot.secret, a->secret ? a->secret : job->secret, sizeof(a->boot.secret));
	a->output = job->output;
	a->takes_input = job->input;
	a->watched = job->watch;
	a->window = WIRE_WINDOW;
	watch_set(&a->launcher, a->boot.config.watch);
	for (unsigned i = 0; i < TW_MAX_NODES; i++)
		a->boot.exported_fd[i] = -1;
}

static void agent_bring_up(struct agent *a)
{
	char who[32];

	watch_set(&a->launcher, 0);
	hello_send(&a->wire);
	agent_expect(a, WIRE_JOB);
	agent_take_job(a);
	struct wire_job job = a->wire.msg->job;
	if (a->watched)
		snprintf(who, sizeof(who), "agent %u on %.16s", a->boot.node, hello_host());
	else
		snprintf(who, sizeof(who), "agent %u", a->boot.node);
	tw_log_who(who);
	agent_take_program(a, &job);
	if (tool_resolve(&a->boot.config) < 0)
		agent_fail(a);
	if (bind_choose(&a->boot.config, a->boot.node, job.cores_first, job.cores_processes, &a->cpus) < 0)
		agent_fail(a);

	tw_layout_compute(&a->layout, &a->boot.config);
	int exported = agent_memory(a, "exported", a->layout.exported_bytes);
	a->boot.private_fd = agent_memory(a, "private", a->layout.private_bytes);
	agent_offer(a, exported);
	agent_take_nodes(a);
	agent_handles(a);
	agent_write_boot(a);

	size_t processors = a->boot.config.processors;
	a->stats = agent_map(a, a->boot.private_fd, a->layout.stats, (processors + 1) * sizeof(struct tw_stats));
	if (a->layout.trace_bytes)
		a->trace.rings =
		    agent_map(a, a->boot.private_fd, a->layout.trace, a->layout.ports * a->layout.trace_bytes);
	a->exec_errno = mmap(NULL, processors * sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	a->processor = calloc(processors, sizeof(*a->processor));
	if (a->exec_errno == MAP_FAILED || !a->processor) {
		tool_say("out of memory");
		agent_fail(a);
	}
	if (tw_service_start(&a->boot) < 0)
		agent_fail(a);
	struct wire_ready ready = {0};
	memcpy(ready.fault, a->boot.config.fault, sizeof(ready.fault));
	memcpy(ready.shootdown, a->boot.config.shootdown, sizeof(ready.shootdown));
	wire_send(&a->wire, WIRE_READY, &ready, sizeof(ready), NULL, 0);
	agent_expect(a, WIRE_GO);
	/* By now every node's service has started. */
	if (!(a->transport->caps & TW_NET_ONE_HOST)) {
		a->peer = calloc(a->boot.config.nodes, sizeof(*a->peer));
		for (unsigned i = 0; a->peer && i < a->boot.config.nodes; i++)
			watch_set(&a->peer[i].watch, a->boot.config.watch);
	}
}

/* ---- processors ------------------------------------------------------------------------------------------------ */

static bool agent_own_variable(const char *text)
{
	return strncmp(text, "TWEED_BOOT=", 11) == 0 || strncmp(text, "TWEED_PROCESSOR=", 16) == 0;
}

/* The environment with the job's variables, and TWEED_BOOT and TWEED_PROCESSOR; the latter is rewritten for each. */
static char **agent_environment(struct agent *a, char **processor_text)
{
	static char boot[32], processor[32];
	size_t n = 0, kept = 0;

	for (char **v = a->variables; *v; v++)
		putenv(*v);
	while (environ[n])
		n++;
	char **out = calloc(n + 3, sizeof(*out));
	if (!out)
		return NULL;
	for (size_t i = 0; i < n; i++)
		if (!agent_own_variable(environ[i]))
			out[kept++] = environ[i];
	snprintf(boot, sizeof(boot), "TWEED_BOOT=%d", a->boot_fd);
	out[kept++] = boot;
	out[kept++] = processor;
	*processor_text = processor;
	return out;
}

static void agent_pass(int fd)
{
	if (fd > STDERR_FILENO)
		fcntl(fd, F_SETFD, 0);
}

/* Of the agent's descriptors, processors get those of their boot file; a transport's server has many more, and opens them at any time. */
static void agent_pass_only(const struct agent *a)
{
	close_range(STDERR_FILENO + 1, ~0u, CLOSE_RANGE_CLOEXEC);
	agent_pass(a->boot_fd);
	agent_pass(a->boot.private_fd);
	for (unsigned k = 0; k <= TW_MAX_PROCESSORS; k++)
		for (unsigned i = 0; i < 2; i++)
			agent_pass(a->boot.handle_fd[k][i]);
	for (unsigned node = 0; node < TW_MAX_NODES; node++)
		agent_pass(a->boot.exported_fd[node]);
}

/* In the child: only async-signal-safe calls, for the agent has threads. */
static void agent_exec(struct agent *a, unsigned k, pid_t parent, int in, const int out[2], char **environment)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, &a->mask, NULL);
	if (in >= 0)
		dup2(in, STDIN_FILENO);
	for (int i = 0; i < 2; i++)
		if (out[i] >= 0)
			dup2(out[i], STDOUT_FILENO + i);
	if (a->cpus)
		bind_apply(&a->cpus[k]);
	agent_pass_only(a);
	execve(a->path, a->argv, environment);
	a->exec_errno[k] = errno;
	_exit(127);
}

/* @in: its standard input; -1: ours. */
static void agent_start_one(struct agent *a, unsigned k, int in, char **environment)
{
	struct agent_processor *p = &a->processor[k];
	int out[2] = {-1, -1};

	for (unsigned i = 0; a->output && i < 2; i++) {
		int status = output_open(&p->output[i], i + 1, a->boot.config.tag, a->boot.node, k, &out[i]);
		if (status < 0) {
			tool_say("cannot make a pipe for processor %u: %s; use fewer processors", k, strerror(-status));
			agent_fail(a);
		}
	}
	pid_t parent = getpid();
	p->pid = fork();
	if (p->pid == 0)
		agent_exec(a, k, parent, in, out, environment);
	if (p->pid < 0) {
		tool_say("cannot start processor %u: %s; use fewer processors", k, strerror(errno));
		agent_fail(a);
	}
	a->running++;
	for (int i = 0; i < 2; i++)
		if (out[i] >= 0)
			close(out[i]);
}

static void agent_receive(struct agent *a);

/* What processor 0 of node 0 reads: the launcher's standard input, or the pipe through which we pass it on. */
static int agent_open_input(struct agent *a)
{
	int ends[2];

	if (!a->takes_input)
		return -1;
	if (pipe2(ends, O_CLOEXEC) < 0) {
		tool_say("cannot make a pipe for the standard input: %s", strerror(errno));
		agent_fail(a);
	}
	fcntl(ends[1], F_SETFL, O_NONBLOCK);
	a->input.fd = ends[1];
	return ends[0];
}

static void agent_start_processors(struct agent *a)
{
	char *text;
	char **environment = agent_environment(a, &text);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (!environment || null < 0) {
		tool_say("cannot prepare the processors: %s", strerror(errno));
		agent_fail(a);
	}
	for (unsigned k = 0; k < a->boot.config.processors && !a->finishing; k++) {
		bool reads = a->boot.node == 0 && k == 0;
		int in = reads ? agent_open_input(a) : null;
		snprintf(text, 32, "TWEED_PROCESSOR=%u", k);
		agent_start_one(a, k, in, environment);
		if (reads && in >= 0)
			close(in);
		if (watch_due(&a->launcher)) { /* many take their time */
			agent_receive(a);
			agent_tick(a);
		}
	}
	dup2(null, STDIN_FILENO); /* the input is processor 0's alone */
	free(environment);
	close(null);
}

/* Returns whether more output is to be had, now or when the window opens. */
static bool agent_pump(struct agent *a, unsigned k)
{
	bool more = output_pump(&a->processor[k].output[0], &a->wire, &a->window, a->finishing);
	return output_pump(&a->processor[k].output[1], &a->wire, &a->window, a->finishing) || more;
}

static void agent_ended(struct agent *a, unsigned k, int status)
{
	struct agent_processor *p = &a->processor[k];
	const struct tw_stats *s = &a->stats[k];
	struct wire_death death = {.processor = k,
	                           .pid = p->pid,
	                           .status = status,
	                           .exec_errno = a->exec_errno[k],
	                           .initialized = s->initialized,
	                           .finalized = s->finalized,
	                           .refused = s->refused};

	agent_pump(a, k); /* its last words before the news */
	p->pid = 0;
	a->running--;
	if (status != 0 || (death.initialized && !death.finalized))
		wire_send(&a->wire, WIRE_DEATH, &death, sizeof(death), NULL, 0);
}

/* Reaps processors, and orphans that were given to us. */
static void agent_reap(struct agent *a)
{
	struct signalfd_siginfo info;
	int status;
	pid_t pid;

	while (read(a->signals, &info, sizeof(info)) > 0)
		;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		for (unsigned k = 0; k < a->boot.config.processors; k++)
			if (a->processor[k].pid == pid) {
				agent_ended(a, k, status);
				break;
			}
}

/* ---- input, and the launcher's commands ----------------------------------------------------------------------- */

static void agent_input_close(struct agent *a)
{
	if (a->input.fd >= 0)
		close(a->input.fd);
	a->input.fd = -1;
	a->input.length = 0;
}

/* Pass on what the processor's pipe takes, and open the launcher's window by so much. */
static void agent_input_write(struct agent *a)
{
	struct agent_input *in = &a->input;
	uint32_t credit = (uint32_t)in->length;
	ssize_t n = 0;

	if (in->fd >= 0 && in->length)
		n = write(in->fd, in->held, in->length);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (in->fd >= 0 && n >= 0) {
		credit = (uint32_t)n;
		in->length -= (size_t)n;
		memmove(in->held, in->held + n, in->length);
	}
	if (n < 0 || (in->ended && !in->length))
		agent_input_close(a);
	if (in->fd < 0)
		in->length = 0;
	if (credit)
		wire_send(&a->wire, WIRE_CREDIT, &credit, sizeof(credit), NULL, 0);
}

static void agent_take_input(struct agent *a, const struct wire_msg *msg)
{
	struct agent_input *in = &a->input;

	if (msg->bytes > sizeof(in->held) - in->length)
		agent_leave(); /* more than the window */
	memcpy(in->held + in->length, msg->input, msg->bytes);
	in->length += msg->bytes;
	in->ended = in->ended || msg->bytes == 0;
	agent_input_write(a);
}

/* From here on the agent only sends what it has, and exits. */
static void agent_finish(struct agent *a)
{
	if (a->finishing)
		return;
	tool_kill_descendants();
	agent_input_close(a);
	a->running = 0;
	a->finishing = true;
	if (!a->stopped)
		trace_begin(&a->trace, &a->boot.config, &a->layout);
}

static void agent_stop(struct agent *a)
{
	free(a->peer);
	a->peer = NULL;
	tw_service_stop();
	a->stopped = true;
	trace_begin(&a->trace, &a->boot.config, &a->layout);
}

/* Send what the stream takes of the trace, and after the last of it the statistics.  Returns whether there is more. */
static bool agent_account(struct agent *a)
{
	if (trace_pump(&a->trace, &a->wire))
		return true;
	if (a->stopped && !a->accounted) {
		a->accounted = true;
		wire_send(&a->wire, WIRE_STATS, a->stats, (a->boot.config.processors + 1) * sizeof(struct tw_stats),
		          NULL, 0);
	}
	return false;
}

static void agent_end(struct agent *a)
{
	agent_finish(a);
	if (a->stopped && a->server) /* no endpoint of any node uses it any more */
		a->transport->serve_end(a->server, NULL);
	a->server = NULL;
}

static void agent_pause(struct agent *a, bool paused)
{
	a->paused = paused;
	tool_signal_below(getpid(), paused ? SIGSTOP : SIGCONT);
}

static void agent_command(struct agent *a)
{
	const struct wire_msg *msg = a->wire.msg;

	switch (msg->type) {
	case WIRE_BEAT:
		break;
	case WIRE_CREDIT:
		a->window = TW_MIN(a->window + msg->number, WIRE_WINDOW);
		break;
	case WIRE_INPUT:
		agent_take_input(a, msg);
		break;
	case WIRE_DEAF:
		for (unsigned k = 0; a->output && k < a->boot.config.processors; k++)
			output_close(&a->processor[k].output[msg->number - 1]);
		break;
	case WIRE_PAUSE:
	case WIRE_RESUME:
		agent_pause(a, msg->type == WIRE_PAUSE);
		break;
	case WIRE_STOP:
		agent_stop(a);
		break;
	default:
		agent_end(a);
		break;
	}
}

static void agent_receive(struct agent *a)
{
	int got;

	while ((got = wire_recv(&a->wire)) == 1) {
		watch_heard(&a->launcher);
		agent_command(a);
	}
	if (got != -EAGAIN || (wire_push(&a->wire) < 0 && errno != EAGAIN))
		agent_leave(); /* closed or damaged */
}

/* ---- the loop -------------------------------------------------------------------------------------------------- */

/* Send output, as the window allows, beginning with another processor each time. */
static bool agent_outputs(struct agent *a)
{
	unsigned processors = (unsigned)a->boot.config.processors;
	bool more = false;

	for (unsigned i = 0; a->output && i < processors; i++)
		more = agent_pump(a, (a->turn + i) % processors) || more;
	a->turn++;
	return more;
}

static int agent_wait(struct agent *a, bool more)
{
	struct pollfd poller[4 + 2 * TW_MAX_PROCESSORS];
	bool open = a->output && a->window >= WIRE_PIECE;
	nfds_t n = 4;

	wire_events(&a->wire, poller);
	poller[2] = (struct pollfd){a->signals, POLLIN, 0};
	poller[3] = (struct pollfd){a->input.length ? a->input.fd : -1, POLLOUT, 0};
	for (unsigned k = 0; open && k < a->boot.config.processors; k++)
		for (unsigned i = 0; i < 2; i++)
			poller[n++] = (struct pollfd){a->processor[k].output[i].fd, POLLIN, 0};
	return poll(poller, n, more && open ? 0 : watch_ms(&a->launcher));
}

static void agent_loop(struct agent *a)
{
	for (;;) {
		bool more = agent_outputs(a);

		if (a->running == 0 && !more && !a->exited) {
			a->exited = true;
			wire_send(&a->wire, WIRE_EXITED, NULL, 0, NULL, 0);
		}
		bool accounts = agent_account(a);
		if (a->finishing && !more && !accounts && !a->parted) {
			a->parted = true;
			wire_send(&a->wire, WIRE_END, NULL, 0, NULL, 0);
		}
		if (a->parted && !wire_waits(&a->wire))
			_exit(0);
		agent_wait(a, more);
		agent_receive(a);
		if (a->input.length)
			agent_input_write(a);
		agent_reap(a);
		if (watch_due(&a->launcher))
			agent_tick(a);
	}
}

void agent_run(int in, int out, const uint8_t *secret)
{
	static struct agent a;
	sigset_t child;

	a.input.fd = -1;
	a.secret = secret;
	if (wire_open(&a.wire, in, out) < 0) {
		tool_say("cannot use the connection to the launcher: %s", strerror(errno));
		_exit(TOOL_USAGE);
	}
	prctl(PR_SET_NAME, "tweed-agent");
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, &a.mask);
	a.signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);

	agent_bring_up(&a);
	agent_start_processors(&a);
	agent_loop(&a);
	_exit(0);
}

/* The remote shell's standard input and output are the wire; the processors' and ours is something else. */
static void agent_over_stdio(void)
{
	int in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3), out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (in < 0 || out < 0 || null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0 ||
	    guard_start(in, out) < 0) {
		tool_say("cannot prepare the agent: %s", strerror(errno));
		_exit(TOOL_USAGE);
	}
	agent_run(in, out, NULL);
}

/* argv: agent --socket NUMBER, by the launcher | --stdio, by a remote shell | [--] PROGRAM ARGS..., by a resource manager */
int tool_agent(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "--socket") == 0) {
		int sock = atoi(argv[2]), type = 0;
		if (getsockopt(sock, SOL_SOCKET, SO_TYPE, &type, &(socklen_t){sizeof(type)}) == 0) {
			/* A launcher's death closes the connection; the signal only wakes an agent that is stopped. */
			prctl(PR_SET_PDEATHSIG, SIGCONT);
			agent_run(sock, sock, NULL);
		}
	}
	if (argc == 2 && strcmp(argv[1], "--stdio") == 0 && !isatty(STDIN_FILENO))
		agent_over_stdio();
	if (argc > 1 && strcmp(argv[1], "--") == 0)
		argv++;
	else if (argc > 1 && argv[1][0] == '-') {
		tool_say(
		    "'tweed agent' takes no options; settings are environment variables, as in TWEED_PROCESSORS=4");
		return TOOL_USAGE;
	}
	return manager_run(argv + 1);
}
