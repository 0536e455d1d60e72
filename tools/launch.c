/* SPDX-License-Identifier: BSD-3-Clause */
/* launch.c - the launcher: one agent per node, and one event loop from bring-up to the last exit.
 *
 * The first thing that goes wrong decides the job's status and is printed; what follows from ending the job is not
 * reported.  Signals are looked at before messages, so that a Ctrl-C that also hits the processors is seen as what it
 * is. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/util.h"
#include "tools/tools.h"
#include "tools/wire.h"

#define LAUNCH_GRACE_NS ((uint64_t)700000000)  /* for agents to end by themselves */
#define LAUNCH_LATE_NS  ((uint64_t)2000000000) /* for processors to end after one has failed after tw_finalize */

struct launch_node {
	pid_t agent; /* 0: gone */
	int sock;    /* -1: closed */
	int memory;  /* exported memory, until it is handed on; -1: at the address */
	struct tw_net_address address;
	bool delivered;
};

struct launch {
	struct tool_job *job;
	unsigned nodes, agents; /* agents: not gone yet */
	struct launch_node node[TW_MAX_NODES];
	unsigned have_memory, ready, exited, delivered;
	bool ending, late;
	int signals;
	sigset_t mask;
	uint64_t deadline_ns; /* 0: none */
	uint64_t began_ns;
	uint8_t secret[TW_NET_SECRET_BYTES];
};

/* ---- ending ---------------------------------------------------------------------------------------------------- */

static void launch_tell(struct launch *l, enum wire_type type)
{
	for (unsigned i = 0; i < l->nodes; i++)
		if (l->node[i].sock >= 0)
			wire_send(l->node[i].sock, type, NULL, 0, NULL,
			          0); /* a failure is an agent's death: seen soon */
}

static void launch_end(struct launch *l, int status)
{
	if (l->ending)
		return;
	l->ending = true;
	l->job->status = status;
	l->deadline_ns = tw_time_ns() + LAUNCH_GRACE_NS;
	launch_tell(l, WIRE_END);
}

static int launch_status(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* "was killed by signal 9 (Killed)" or "exited with status 3" */
static const char *launch_fate(int status, char *out, size_t bytes)
{
	if (WIFSIGNALED(status))
		snprintf(out, bytes, "was killed by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		snprintf(out, bytes, "exited with status %d", WEXITSTATUS(status));
	return out;
}

static void launch_processor_died(struct launch *l, unsigned node, const struct wire_death *d)
{
	char fate[96];
	bool exited = WIFEXITED(d->status);
	int status = launch_status(d->status);

	if (l->ending)
		return;
	if (d->exec_errno) {
		tool_say("cannot run '%s': %s; name a program for this machine", l->job->path, strerror(d->exec_errno));
		launch_end(l, TOOL_USAGE);
	} else if (exited && d->finalized) {
		/* The program's own verdict: the others are on their way out. */
		if (!l->late) {
			l->job->status = status;
			l->deadline_ns = tw_time_ns() + LAUNCH_LATE_NS;
		}
		l->late = true;
	} else {
		if (!d->refused)
			tool_say("node %u processor %u (pid %d) %s%s; the job is ended", node, d->processor, d->pid,
			         launch_fate(d->status, fate, sizeof(fate)),
			         exited && d->initialized ? " before tw_finalize" : "");
		launch_end(l, status ? status : 1);
	}
}

/* The connection is closed, so the agent is dead or about to be. */
static void launch_agent_gone(struct launch *l, unsigned i)
{
	struct launch_node *n = &l->node[i];
	char fate[96];
	int status = 0;

	close(n->sock);
	n->sock = -1;
	while (waitpid(n->agent, &status, 0) < 0 && errno == EINTR)
		;
	if (!l->ending && !n->delivered) {
		tool_say("the agent of node %u (pid %d) %s; the job is ended", i, n->agent,
		         launch_fate(status, fate, sizeof(fate)));
		status = launch_status(status);
		launch_end(l, status ? status : 1);
	}
	n->agent = 0;
	l->agents--;
}

/* ---- bring-up -------------------------------------------------------------------------------------------------- */

static void launch_exec_agent(struct launch *l, unsigned i, int sock)
{
	struct tool_job *job = l->job;
	char number[16];
	size_t n = 0;

	while (job->argv[n])
		n++;
	char **argv = calloc(n + 5, sizeof(*argv));
	if (!argv)
		_exit(127);
	snprintf(number, sizeof(number), "%d", sock);
	argv[0] = (char *)(uintptr_t) "tweed";
	argv[1] = (char *)(uintptr_t) "agent";
	argv[2] = number;
	argv[3] = job->path;
	memcpy(argv + 4, job->argv, n * sizeof(*argv));
	if (i != 0) {
		int null = open("/dev/null", O_RDONLY);
		if (null >= 0 && null != STDIN_FILENO) {
			dup2(null, STDIN_FILENO);
			close(null);
		}
	}
	fcntl(sock, F_SETFD, 0);
	sigprocmask(SIG_SETMASK, &l->mask, NULL);
	execv("/proc/self/exe", argv);
	_exit(127);
}

static int launch_start_agent(struct launch *l, unsigned i)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		tool_say("cannot connect the agent of node %u: %s; use fewer nodes", i, strerror(errno));
		return -errno;
	}
	pid_t pid = fork();
	if (pid == 0)
		launch_exec_agent(l, i, pair[1]);
	close(pair[1]);
	if (pid < 0) {
		tool_say("cannot start the agent of node %u: %s; use fewer nodes", i, strerror(errno));
		close(pair[0]);
		return -errno;
	}
	l->node[i].agent = pid;
	l->node[i].sock = pair[0];
	l->agents++;
	return 0;
}

/* Node 0 goes first at each step of the bring-up, so that what fails on every node is said once. */

static void launch_send_jobs(struct launch *l, unsigned first, unsigned end)
{
	struct wire_job job = {.host_processes = (uint32_t)(l->nodes * l->job->config.processors),
	                       .config = l->job->config};

	snprintf(job.config.fault, sizeof(job.config.fault), "%s", l->job->fault);
	snprintf(job.config.shootdown, sizeof(job.config.shootdown), "%s", l->job->shootdown);
	memcpy(job.secret, l->secret, sizeof(job.secret));
	for (unsigned i = first; i < end; i++) {
		job.node = i;
		if (l->node[i].sock >= 0)
			wire_send(l->node[i].sock, WIRE_JOB, &job, sizeof(job), NULL, 0);
	}
}

static void launch_send_part(struct launch *l, unsigned i, const struct wire_nodes *part)
{
	int fd[WIRE_NODES_MOST];

	for (unsigned n = 0; n < part->count; n++)
		fd[n] = l->node[part->first + n].memory;
	if (l->node[i].sock >= 0)
		wire_send(l->node[i].sock, WIRE_NODES, part, sizeof(*part), fd, fd[0] >= 0 ? part->count : 0);
}

/* All memories exist: hand their descriptors, or addresses, to agents. */
static void launch_send_nodes(struct launch *l, unsigned first, unsigned end)
{
	static struct wire_nodes part;

	for (part.first = 0; part.first < l->nodes; part.first += part.count) {
		part.count = TW_MIN(l->nodes - part.first, (unsigned)WIRE_NODES_MOST);
		for (unsigned n = 0; n < part.count; n++)
			part.address[n] = l->node[part.first + n].address;
		for (unsigned i = first; i < end; i++)
			launch_send_part(l, i, &part);
	}
}

static void launch_have_memory(struct launch *l, unsigned i, const struct wire_msg *msg)
{
	l->node[i].memory = msg->fds ? msg->fd[0] : -1;
	l->node[i].address = msg->memory;
	l->have_memory++;
	if (i == 0)
		launch_send_jobs(l, 1, l->nodes);
	if (l->have_memory == l->nodes)
		launch_send_nodes(l, 0, 1);
}

static void launch_have_ready(struct launch *l, unsigned i)
{
	l->ready++;
	if (i == 0) {
		launch_send_nodes(l, 1, l->nodes);
		for (unsigned n = 0; n < l->nodes; n++)
			if (l->node[n].memory >= 0)
				close(l->node[n].memory);
	}
	if (l->ready == l->nodes) {
		l->began_ns = tw_time_ns();
		launch_tell(l, WIRE_GO);
	}
}

/* ---- events ---------------------------------------------------------------------------------------------------- */

static void launch_take_stats(struct launch *l, unsigned i, const struct wire_msg *msg)
{
	size_t slots = l->job->config.processors + 1;
	if (l->node[i].delivered || msg->bytes != slots * sizeof(struct tw_stats))
		return;
	memcpy(l->job->stats + i * slots, msg->stats, msg->bytes);
	l->node[i].delivered = true;
	l->delivered++;
}

static void launch_event(struct launch *l, unsigned i, const struct wire_msg *msg)
{
	switch (msg->type) {
	case WIRE_MEMORY:
		launch_have_memory(l, i, msg);
		break;
	case WIRE_READY:
		launch_have_ready(l, i);
		break;
	case WIRE_DEATH:
		launch_processor_died(l, i, &msg->death);
		break;
	case WIRE_EXITED:
		if (++l->exited == l->nodes && !l->ending) {
			l->job->wall_s = (double)(tw_time_ns() - l->began_ns) * 1e-9;
			l->deadline_ns = tw_time_ns() + LAUNCH_LATE_NS;
			launch_tell(l, WIRE_STOP);
		}
		break;
	case WIRE_STATS:
		launch_take_stats(l, i, msg);
		break;
	case WIRE_FAILED: /* the agent has said why */
		launch_end(l, TOOL_USAGE);
		break;
	default:
		break;
	}
}

static void launch_receive(struct launch *l, unsigned i)
{
	static struct wire_msg msg;
	int got;

	while ((got = wire_recv(l->node[i].sock, false, &msg)) == 1)
		launch_event(l, i, &msg);
	if (got != -EAGAIN)
		launch_agent_gone(l, i);
}

static void launch_signal(struct launch *l)
{
	struct signalfd_siginfo info;
	while (read(l->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		int number = (int)info.ssi_signo;
		if (!l->ending)
			tool_say("interrupted by signal %d (%s); the job is ended", number, strsignal(number));
		launch_end(l, 128 + number);
	}
}

/* The deadline has passed: no more waiting for anybody. */
static void launch_overdue(struct launch *l)
{
	l->deadline_ns = 0;
	if (!l->ending) {
		if (!l->late)
			tool_say("the job's end takes too long; it is ended by force");
		launch_end(l, l->job->status ? l->job->status : 1);
		return;
	}
	for (unsigned i = 0; i < l->nodes; i++)
		if (l->node[i].agent)
			kill(l->node[i].agent, SIGKILL);
}

static int launch_timeout_ms(const struct launch *l)
{
	if (!l->deadline_ns)
		return -1;
	uint64_t now = tw_time_ns();
	return now >= l->deadline_ns ? 0 : (int)((l->deadline_ns - now) / 1000000 + 1);
}

static void launch_loop(struct launch *l)
{
	struct pollfd poller[1 + TW_MAX_NODES];

	while (l->agents) {
		poller[0] = (struct pollfd){l->signals, POLLIN, 0};
		for (unsigned i = 0; i < l->nodes; i++)
			poller[1 + i] = (struct pollfd){l->node[i].sock, POLLIN, 0};
		int n = poll(poller, 1 + l->nodes, launch_timeout_ms(l));
		launch_signal(l);
		for (unsigned i = 0; n > 0 && i < l->nodes; i++)
			if (poller[1 + i].revents)
				launch_receive(l, i);
		if (l->deadline_ns && tw_time_ns() >= l->deadline_ns)
			launch_overdue(l);
	}
}

/* ---- the whole ------------------------------------------------------------------------------------------------- */

/* End on the usual signals, but not on those that our caller had ignored (nohup, background jobs). */
static void launch_catch_signals(struct launch *l)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		struct sigaction old;
		if (sigaction(ends[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaddset(&set, ends[i]);
	}
	signal(SIGCHLD, SIG_DFL);
	sigprocmask(SIG_BLOCK, &set, &l->mask);
	l->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void launch_raise_limits(void)
{
	struct rlimit files;
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
}

int tool_launch(struct tool_job *job)
{
	static struct launch l;

	l.job = job;
	l.nodes = (unsigned)job->config.nodes;
	size_t bytes = l.nodes * (job->config.processors + 1) * sizeof(struct tw_stats);
	job->stats = aligned_alloc(_Alignof(struct tw_stats), bytes);
	if (!job->stats) {
		tool_say("out of memory");
		return 1;
	}
	memset(job->stats, 0, bytes);
	for (unsigned i = 0; i < l.nodes; i++)
		l.node[i].sock = -1;
	/* A shell may have exec'ed us with children of its own: those are not ours to kill, nor are their orphans. */
	bool childless = waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	launch_catch_signals(&l);
	launch_raise_limits();
	if (getrandom(l.secret, sizeof(l.secret), 0) != (ssize_t)sizeof(l.secret)) {
		tool_say("cannot draw the job's secret: %s", strerror(errno));
		return 1;
	}
	for (unsigned i = 0; i < l.nodes && !l.ending; i++)
		if (launch_start_agent(&l, i) < 0)
			launch_end(&l, TOOL_USAGE);
	launch_send_jobs(&l, 0, 1);
	launch_loop(&l);
	if (childless)
		tool_kill_descendants();
	else
		tool_kill_orphans();
	job->complete = l.delivered == l.nodes;
	return job->status;
}
