/* SPDX-License-Identifier: BSD-3-Clause */
/* agent.c - `tweed agent`: owns a node's memories, starts and watches its processors.
 *
 * The agent leaves no process behind: it is the subreaper of all that its processors start, and kills what is left
 * before it exits.  If it is killed itself, its processors die by their parent-death signal and the launcher, subreaper
 * above it, kills the rest.  If the launcher dies, the connection closes. */
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
#include "tools/tag.h"
#include "tools/tools.h"
#include "tools/wire.h"

struct agent_processor {
	pid_t pid; /* 0: not running */
	struct tag_stream out, err;
};

struct agent {
	int sock, signals, boot_fd;
	sigset_t mask; /* the processors' */
	struct tw_boot boot;
	struct tw_layout layout;
	const struct tw_transport *transport;
	struct tw_net_server *server; /* NULL where the transport needs none */
	struct tw_stats *stats;       /* [processors + 1], in the node's private memory */
	_Atomic int *exec_errno;      /* [processors], shared with children until they exec */
	struct agent_processor *processor;
	unsigned running;
	const char *path;
	char **argv;
};

static void agent_fail(struct agent *a) __attribute__((noreturn));
static void agent_fail(struct agent *a)
{
	wire_send(a->sock, WIRE_FAILED, NULL, 0, NULL, 0);
	tool_kill_descendants();
	_exit(TOOL_USAGE);
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

/* The next message, which must be of @type; an end or a closed connection ends the agent. */
static void agent_expect(struct agent *a, enum wire_type type, struct wire_msg *msg)
{
	if (wire_recv(a->sock, true, msg) == 1 && msg->type == type)
		return;
	tool_kill_descendants();
	_exit(0);
}

/* Tell the others how to reach this node's memory: through its server, or the file itself. */
static void agent_offer(struct agent *a, int exported)
{
	struct tw_net_address own = {0};
	struct tw_net_config config;

	a->transport = tw_transport_find(a->boot.config.transport);
	if (!a->transport || !a->transport->serve) {
		wire_send(a->sock, WIRE_MEMORY, &own, sizeof(own), &exported, 1);
		close(exported);
		return;
	}
	a->boot.exported_fd[a->boot.node] = exported;
	tw_job_net_config(&a->boot, &a->layout, &config);
	if (a->transport->serve(&config, &a->server, &own) < 0)
		agent_fail(a);
	wire_send(a->sock, WIRE_MEMORY, &own, sizeof(own), NULL, 0);
}

static void agent_take_nodes(struct agent *a, struct wire_msg *msg)
{
	for (unsigned have = 0; have < a->boot.config.nodes;) {
		agent_expect(a, WIRE_NODES, msg);
		for (unsigned i = 0; i < msg->nodes.count; i++, have++) {
			unsigned node = msg->nodes.first + i;
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

static void agent_bring_up(struct agent *a)
{
	static struct wire_msg msg;
	char who[32];

	agent_expect(a, WIRE_JOB, &msg);
	a->boot = (struct tw_boot){.magic = TW_BOOT_MAGIC, .bytes = sizeof(a->boot)};
	a->boot.config = msg.job.config;
	a->boot.node = msg.job.node;
	a->boot.host_processes = msg.job.host_processes;
	memcpy(a->boot.secret, msg.job.secret, sizeof(a->boot.secret));
	snprintf(who, sizeof(who), "agent %u", a->boot.node);
	tw_log_who(who);
	for (unsigned i = 0; i < TW_MAX_NODES; i++)
		a->boot.exported_fd[i] = -1;

	tw_layout_compute(&a->layout, &a->boot.config);
	int exported = agent_memory(a, "exported", a->layout.exported_bytes);
	a->boot.private_fd = agent_memory(a, "private", a->layout.private_bytes);
	agent_offer(a, exported);
	agent_take_nodes(a, &msg);
	agent_handles(a);
	agent_write_boot(a);

	size_t processors = a->boot.config.processors;
	a->stats = agent_map(a, a->boot.private_fd, a->layout.stats, (processors + 1) * sizeof(struct tw_stats));
	a->exec_errno = mmap(NULL, processors * sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	a->processor = calloc(processors, sizeof(*a->processor));
	if (a->exec_errno == MAP_FAILED || !a->processor) {
		tool_say("out of memory");
		agent_fail(a);
	}
	if (tw_service_start(&a->boot) < 0)
		agent_fail(a);
	wire_send(a->sock, WIRE_READY, NULL, 0, NULL, 0);
	agent_expect(a, WIRE_GO, &msg);
}

/* ---- processors ------------------------------------------------------------------------------------------------ */

/* The environment with TWEED_BOOT and TWEED_PROCESSOR last; their strings are rewritten for each processor. */
static char **agent_environment(int boot_fd, char **processor_text)
{
	static char boot[32], processor[32];
	size_t n = 0, kept = 0;

	while (environ[n])
		n++;
	char **out = calloc(n + 3, sizeof(*out));
	if (!out)
		return NULL;
	for (size_t i = 0; i < n; i++)
		if (strncmp(environ[i], "TWEED_BOOT=", 11) != 0 && strncmp(environ[i], "TWEED_PROCESSOR=", 16) != 0)
			out[kept++] = environ[i];
	snprintf(boot, sizeof(boot), "TWEED_BOOT=%d", boot_fd);
	out[kept++] = boot;
	out[kept++] = processor;
	*processor_text = processor;
	return out;
}

/* In the child: only async-signal-safe calls, for the agent has threads. */
static void agent_exec(struct agent *a, unsigned k, pid_t parent, int null, const int out[2], char **environment)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, &a->mask, NULL);
	if (a->boot.node != 0 || k != 0)
		dup2(null, STDIN_FILENO);
	for (int i = 0; i < 2; i++)
		if (out[i] >= 0)
			dup2(out[i], STDOUT_FILENO + i);
	execve(a->path, a->argv, environment);
	a->exec_errno[k] = errno;
	_exit(127);
}

static void agent_start_one(struct agent *a, unsigned k, int null, char **environment)
{
	struct agent_processor *p = &a->processor[k];
	int out[2] = {-1, -1};

	p->out.fd = p->err.fd = -1;
	if (a->boot.config.tag && (tag_open(&p->out, STDOUT_FILENO, a->boot.node, k, &out[0]) < 0 ||
	                           tag_open(&p->err, STDERR_FILENO, a->boot.node, k, &out[1]) < 0)) {
		tool_say("cannot make a pipe for processor %u: %s; use fewer processors or no --tag", k,
		         strerror(errno));
		agent_fail(a);
	}
	pid_t parent = getpid();
	p->pid = fork();
	if (p->pid == 0)
		agent_exec(a, k, parent, null, out, environment);
	if (p->pid < 0) {
		tool_say("cannot start processor %u: %s; use fewer processors", k, strerror(errno));
		agent_fail(a);
	}
	a->running++;
	for (int i = 0; i < 2; i++)
		if (out[i] >= 0)
			close(out[i]);
}

static void agent_start_processors(struct agent *a)
{
	char *text;
	char **environment = agent_environment(a->boot_fd, &text);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (!environment || null < 0) {
		tool_say("cannot prepare the processors: %s", strerror(errno));
		agent_fail(a);
	}
	for (unsigned k = 0; k < a->boot.config.processors; k++) {
		snprintf(text, 32, "TWEED_PROCESSOR=%u", k);
		agent_start_one(a, k, null, environment);
	}
	dup2(null, STDIN_FILENO); /* the input is processor 0's alone */
	free(environment);
	close(null);
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

	tag_pump(&p->out);
	tag_pump(&p->err);
	p->pid = 0;
	a->running--;
	if (status != 0 || (death.initialized && !death.finalized))
		wire_send(a->sock, WIRE_DEATH, &death, sizeof(death), NULL, 0);
	if (a->running == 0)
		wire_send(a->sock, WIRE_EXITED, NULL, 0, NULL, 0);
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

/* ---- the loop -------------------------------------------------------------------------------------------------- */

static void agent_finish(struct agent *a) __attribute__((noreturn));
static void agent_finish(struct agent *a)
{
	tool_kill_descendants();
	for (unsigned k = 0; k < a->boot.config.processors; k++) {
		tag_close(&a->processor[k].out);
		tag_close(&a->processor[k].err);
	}
	_exit(0);
}

static void agent_command(struct agent *a)
{
	static struct wire_msg msg;
	int got = wire_recv(a->sock, false, &msg);

	if (got == -EAGAIN)
		return;
	if (got == 1 && msg.type == WIRE_STOP) {
		tw_service_stop();
		if (a->server)
			a->transport->serve_end(a->server, NULL);
		wire_send(a->sock, WIRE_STATS, a->stats, (a->boot.config.processors + 1) * sizeof(struct tw_stats),
		          NULL, 0);
	}
	agent_finish(a); /* stopped, ended, closed or damaged */
}

static void agent_loop(struct agent *a)
{
	size_t processors = a->boot.config.processors;
	struct pollfd poller[2 + 2 * TW_MAX_PROCESSORS] = {{a->sock, POLLIN, 0}, {a->signals, POLLIN, 0}};

	for (;;) {
		for (size_t k = 0; k < processors; k++) {
			poller[2 + 2 * k] = (struct pollfd){a->processor[k].out.fd, POLLIN, 0};
			poller[3 + 2 * k] = (struct pollfd){a->processor[k].err.fd, POLLIN, 0};
		}
		if (poll(poller, 2 + 2 * processors, -1) < 0)
			continue;
		if (poller[0].revents)
			agent_command(a);
		for (size_t k = 0; k < processors; k++) {
			if (poller[2 + 2 * k].revents)
				tag_pump(&a->processor[k].out);
			if (poller[3 + 2 * k].revents)
				tag_pump(&a->processor[k].err);
		}
		if (poller[1].revents)
			agent_reap(a);
	}
}

/* argv: agent SOCKET PATH PROGRAM ARGS... */
int tool_agent(int argc, char **argv)
{
	static struct agent a;
	int type = 0;
	sigset_t child;

	a.sock = argc >= 4 ? atoi(argv[1]) : -1;
	if (getsockopt(a.sock, SOL_SOCKET, SO_TYPE, &type, &(socklen_t){sizeof(type)}) < 0 || type != SOCK_SEQPACKET) {
		tool_say("'tweed agent' is started by 'tweed run' only");
		return TOOL_USAGE;
	}
	fcntl(a.sock, F_SETFD, FD_CLOEXEC);
	a.path = argv[2];
	a.argv = argv + 3;
	prctl(PR_SET_NAME, "tweed-agent");
	/* A launcher's death closes the connection; the signal only wakes an agent that is stopped. */
	prctl(PR_SET_PDEATHSIG, SIGCONT);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, &a.mask);
	a.signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);

	agent_bring_up(&a);
	agent_start_processors(&a);
	agent_loop(&a);
	return 0;
}
