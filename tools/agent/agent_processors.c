/* SPDX-License-Identifier: BSD-3-Clause */
/* agent_processors.c - an agent's processors: start, output and input, end. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/base.h"
#include "tools/agent/agent_parts.h"
#include "tools/agent/bind.h"
#include "tools/inherited.h"
#include "tools/nofile.h"

/* Environment variables of each processor: the first two for Tweed, the others for programs, also before they join. */
enum { AGENT_BOOT, AGENT_PROCESSOR, AGENT_RANK, AGENT_SIZE, AGENT_VARIABLES };
static const char *const agent_variable[AGENT_VARIABLES] = {"TWEED_BOOT", "TWEED_PROCESSOR", "TWEED_RANK",
                                                            "TWEED_SIZE"};
static char agent_text[AGENT_VARIABLES][32];

static void agent_set_variable(unsigned which, unsigned long value)
{
	snprintf(agent_text[which], sizeof(agent_text[which]), "%s=%lu", agent_variable[which], value);
}

static bool agent_own_variable(const char *text)
{
	for (unsigned i = 0; i < AGENT_VARIABLES; i++) {
		size_t n = strlen(agent_variable[i]);
		if (strncmp(text, agent_variable[i], n) == 0 && text[n] == '=')
			return true;
	}
	return false;
}

/* The environment with the job's variables, and those of agent_text, which are rewritten for each processor. */
static char **agent_environment(struct agent *a)
{
	size_t n = 0, kept = 0;

	for (char **v = a->variables; *v; v++)
		putenv(*v);
	while (environ[n])
		n++;
	char **out = calloc(n + AGENT_VARIABLES + 1, sizeof(*out));
	if (!out)
		return NULL;
	for (size_t i = 0; i < n; i++)
		if (!agent_own_variable(environ[i]))
			out[kept++] = environ[i];
	for (unsigned i = 0; i < AGENT_VARIABLES; i++)
		out[kept++] = agent_text[i];
	agent_set_variable(AGENT_BOOT, (unsigned long)a->boot_fd);
	agent_set_variable(AGENT_SIZE, a->boot.config.nodes * a->boot.config.processors);
	return out;
}

static void agent_pass(int fd)
{
	if (fd > STDERR_FILENO)
		fcntl(fd, F_SETFD, 0);
}

/* Let processors inherit only the descriptors of their boot file: a transport's server has many more, and opens them at
 * any time. */
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

/* In the child, which shares the agent's memory until it executes the program.  Only async-signal-safe calls, because
 * the agent has threads. */
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
	nofile_restore(a->soft_files);
	agent_pass_only(a);
	if (k == 0)
		inherited_pass();
	execve(a->path, a->argv, environment);
	a->exec_errno[k] = errno;
	_exit(127);
}

/* @in: its standard input; -1: the agent's. */
static void agent_start_one(struct agent *a, unsigned k, int in, char **environment)
{
	struct agent_processor *p = &a->processor[k];
	int out[2] = {-1, -1};

	for (unsigned i = 0; a->output && i < 2; i++) {
		int status = output_open(&p->output[i], i + 1, a->settings.launch.tag, a->boot.node, k, &out[i]);
		if (status < 0) {
			tool_say("cannot make a pipe for processor %u: %s; use fewer processors", k, strerror(-status));
			agent_fail(a);
		}
	}
	pid_t parent = getpid(), pid = vfork(); /* an agent maps all nodes: a copy of that mapping would be expensive */
	if (pid == 0)
		agent_exec(a, k, parent, in, out, environment);
	p->pid = pid;
	if (p->pid < 0) {
		tool_say("cannot start processor %u: %s; use fewer processors", k, strerror(errno));
		agent_fail(a);
	}
	a->running++;
	for (int i = 0; i < 2; i++)
		if (out[i] >= 0)
			close(out[i]);
}

/* The standard input of processor 0 of node 0: the launcher's, or a pipe through which the agent passes it on. */
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

void agent_start_processors(struct agent *a)
{
	char **environment = agent_environment(a);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (!environment || null < 0) {
		tool_say("cannot prepare the processors: %s", strerror(errno));
		agent_fail(a);
	}
	for (unsigned k = 0; k < a->boot.config.processors && !a->finishing; k++) {
		bool reads = a->boot.node == 0 && k == 0;
		int in = reads ? agent_open_input(a) : null;
		agent_set_variable(AGENT_PROCESSOR, k);
		agent_set_variable(AGENT_RANK, a->boot.node * a->boot.config.processors + k);
		agent_start_one(a, k, in, environment);
		if (reads && in >= 0)
			close(in);
		if (watch_due(&a->launcher)) { /* starting many takes time */
			agent_receive(a);
			agent_tick(a);
		}
	}
	dup2(null, STDIN_FILENO); /* only processor 0 gets the input */
	inherited_close();
	free(environment);
	close(null);
}

/* Returns whether there is more output, now or when the window opens. */
static bool agent_pump(struct agent *a, unsigned k)
{
	bool more = output_pump(&a->processor[k].output[0], &a->wire, &a->window, a->finishing);
	return output_pump(&a->processor[k].output[1], &a->wire, &a->window, a->finishing) || more;
}

bool agent_outputs(struct agent *a)
{
	unsigned processors = (unsigned)a->boot.config.processors;
	bool more = false;

	for (unsigned i = 0; a->output && i < processors; i++)
		more = agent_pump(a, (a->turn + i) % processors) || more;
	a->turn++;
	return more;
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
	                           .refused = s->refused,
	                           .joined = s->started_ns != 0};

	agent_pump(a, k); /* its last output before its end is reported */
	p->pid = 0;
	a->running--;
	if (status != 0 || !death.finalized)
		wire_send(&a->wire, WIRE_DEATH, &death, sizeof(death), NULL, 0);
}

void agent_signal(struct agent *a, uint32_t sent)
{
	uint32_t number = sent & ~WIRE_BY_KEY, left = number;

	if (a->processor && a->processor[0].pid && number &&
	    (atomic_load(&a->stats[0].waits.handles) >> (number - 1) & 1) &&
	    ((sent & WIRE_BY_KEY) || kill(a->processor[0].pid, (int)number) == 0))
		left = 0;
	wire_send(&a->wire, WIRE_SIGNAL, &left, sizeof(left), NULL, 0);
}

void agent_reap(struct agent *a)
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

/* ---- standard input, for processor 0 of node 0 ---- */

void agent_input_close(struct agent *a)
{
	if (a->input.fd >= 0)
		close(a->input.fd);
	a->input.fd = -1;
	a->input.length = 0;
}

void agent_input_write(struct agent *a)
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

void agent_take_input(struct agent *a, const struct wire_msg *msg)
{
	struct agent_input *in = &a->input;

	if (msg->bytes > sizeof(in->held) - in->length)
		agent_leave(); /* more than the window */
	memcpy(in->held + in->length, msg->input, msg->bytes);
	in->length += msg->bytes;
	in->ended = in->ended || msg->bytes == 0;
	agent_input_write(a);
}
