/* SPDX-License-Identifier: BSD-3-Clause */
/* start.c - starting agents: here, or on other hosts through a remote shell.
 *
 * The remote shell's standard input and output are the wire.  It runs one command, the path of tweed and two words.
 * Everything else, including the secret and the program's arguments, is sent over the wire.  It has a process group of
 * its own, so that the terminal's signals reach only the launcher, which informs the agents. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/base.h"
#include "tools/launch/launch.h"
#include "tools/inherited.h"
#include "tools/nofile.h"

#define START_WORDS     64
#define START_AT_ONCE   64 /* remote shells that have not sent HANDSHAKE */
#define START_HOST_ONCE 4  /* the same, per host: sshd refuses more than ten */

/* ---- the remote shell's command -------------------------------------------------------------------------------- */

/* Split @rsh into words, in @text, which they point into; @word has room for five more. */
static unsigned start_words(const char *rsh, char *text, size_t bytes, char *word[START_WORDS])
{
	unsigned n = 0;

	snprintf(text, bytes, "%s", rsh);
	for (char *at = strtok(text, " \t"); at && n < START_WORDS - 6; at = strtok(NULL, " \t"))
		word[n++] = at;
	return n;
}

/* The path of this command on the hosts. */
static void start_own_path(const struct tw_launch *launch, char *path, size_t bytes)
{
	const char *given = launch->remote_tweed;
	ssize_t n = given[0] ? snprintf(path, bytes, "%s", given) : readlink("/proc/self/exe", path, bytes - 1);

	path[n < 0 ? 0 : TW_MIN((size_t)n, bytes - 1)] = '\0';
}

/* Quote @text for the remote host's shell, in single quotes. */
static void start_quote(const char *text, char *out, size_t bytes)
{
	size_t n = 0;

	out[n++] = '\'';
	for (; *text && n + 6 < bytes; text++)
		if (*text == '\'')
			n += (size_t)snprintf(out + n, bytes - n, "'\\''");
		else
			out[n++] = *text;
	snprintf(out + n, bytes - n, "'");
}

int tool_rsh(const struct tw_launch *launch, const char *host, const char *command, int in, int out)
{
	char text[sizeof(launch->rsh)], *word[START_WORDS], batch_option[] = "-o", batch[] = "BatchMode=yes";
	unsigned n = start_words(launch->rsh, text, sizeof(text), word);
	const char *name = n ? strrchr(word[0], '/') : NULL;

	if (n && strcmp(name ? name + 1 : word[0], "ssh") == 0) {
		word[n++] = batch_option;
		word[n++] = batch;
	}
	if (!n)
		return EINVAL;
	word[n++] = (char *)(uintptr_t)host;
	word[n++] = (char *)(uintptr_t)command;
	word[n] = NULL;
	setpgid(0, 0);
	signal(SIGPIPE, SIG_DFL);
	if (dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0)
		return errno;
	execvp(word[0], word);
	return errno;
}

void tool_remote_command(const struct tw_launch *launch, const char *arguments, char *out, size_t bytes)
{
	char path[PATH_MAX], quoted[2 * PATH_MAX];

	start_own_path(launch, path, sizeof(path));
	start_quote(path, quoted, sizeof(quoted));
	snprintf(out, bytes, "exec %s %s", quoted, arguments);
}

static void start_exec_remote(const struct launch *l, const struct launch_node *n, int sock) __attribute__((noreturn));
static void start_exec_remote(const struct launch *l, const struct launch_node *n, int sock)
{
	char command[2 * PATH_MAX + 32];

	tool_remote_command(&l->job->settings.launch, "agent --stdio", command, sizeof(command));
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	sigprocmask(SIG_SETMASK, &l->mask, NULL);
	nofile_restore(nofile_given());
	tool_say("cannot run '%s': %s; install it, or name another with --rsh", l->job->settings.launch.rsh,
	         strerror(tool_rsh(&l->job->settings.launch, n->host, command, sock, sock)));
	_exit(TOOL_USAGE);
}

static void start_exec_here(const struct launch *l, unsigned i, int sock) __attribute__((noreturn));
static void start_exec_here(const struct launch *l, unsigned i, int sock)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", sock);
	if (i != 0) {
		int null = open("/dev/null", O_RDONLY);
		if (null >= 0 && null != STDIN_FILENO) {
			dup2(null, STDIN_FILENO);
			close(null);
		}
	}
	fcntl(sock, F_SETFD, 0);
	if (i == 0)
		inherited_pass();
	nofile_restore(nofile_given());
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, &l->mask, NULL);
	execl("/proc/self/exe", "tweed", "agent", "--socket", number, NULL);
	_exit(127);
}

/* Use the agent of node @i, which a resource manager has started. */
static int start_connected(struct launch *l, unsigned i)
{
	int fd = l->job->connection[i], status = wire_open(&l->node[i].wire, fd, fd);

	if (status < 0)
		tool_say("cannot use the connection to the agent of node %u: %s", i, strerror(-status));
	else
		l->agents++;
	return status;
}

/* What the caller sends to its process group, as timeout(1) does, is for the launcher, which hands it on.  With a
 * terminal for its input a program must stay in the foreground.  The agent @pid and the launcher both call this, as
 * either may be first. */
static void start_group(struct launch *l, pid_t pid)
{
	if (isatty(STDIN_FILENO))
		return;
	if (!l->group)
		l->group = pid;
	setpgid(pid, l->group);
}

static int start_agent(struct launch *l, unsigned i)
{
	struct launch_node *n = &l->node[i];
	int pair[2], error = 0;

	n->started = true;
	watch_set(&n->watch);
	if (l->job->connection && l->job->connection[i] >= 0)
		return start_connected(l, i);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
		tool_say("cannot connect the agent of node %u: %s; use fewer nodes", i, strerror(errno));
		return -errno;
	}
	n->child = fork();
	if (n->child == 0 && n->host)
		start_exec_remote(l, n, pair[1]);
	if (n->child == 0) {
		start_group(l, getpid());
		start_exec_here(l, i, pair[1]);
	}
	if (n->child > 0 && !n->host)
		start_group(l, n->child);
	error = n->child < 0 ? errno : 0;
	close(pair[1]);
	if (i == 0)
		inherited_close();
	if (error) {
		n->child = 0;
		close(pair[0]);
	} else {
		error = -wire_open(&n->wire, pair[0], pair[0]);
		l->agents++;
	}
	if (error)
		tool_say("cannot start the agent of node %u: %s; use fewer nodes", i, strerror(error));
	return -error;
}

/* May the remote shell of @i be started, besides those that have not answered yet?  Node 0's must answer first. */
static bool start_may(const struct launch *l, unsigned i)
{
	unsigned all = 0, same = 0;

	for (unsigned k = 0; k < l->nodes && l->node[i].host; k++) {
		const struct launch_node *n = &l->node[k];
		bool in_flight = n->started && !n->connected && !n->gone;
		all += in_flight;
		same += in_flight && n->host && strcmp(n->host, l->node[i].host) == 0;
	}
	return all < START_AT_ONCE && same < START_HOST_ONCE && (i == 0 || !l->node[i].host || l->node[0].connected);
}

int start_agents(struct launch *l)
{
	for (unsigned i = 0; i < l->nodes && !l->ending; i++) {
		if (l->node[i].started || !start_may(l, i))
			continue;
		int status = start_agent(l, i);
		if (status < 0)
			return status;
	}
	return 0;
}

/* ---- the program ----------------------------------------------------------------------------------------------- */

static int start_add(struct launch *l, const char *text)
{
	size_t bytes = strlen(text) + 1;
	char *grown = realloc(l->program, l->program_bytes + bytes);

	if (!grown || l->program_bytes + bytes > WIRE_PROGRAM_MOST) {
		tool_say(grown ? "the program's arguments are too long" : "out of memory");
		return -E2BIG;
	}
	l->program = grown;
	memcpy(l->program + l->program_bytes, text, bytes);
	l->program_bytes += bytes;
	return 0;
}

int start_program(struct launch *l)
{
	char directory[PATH_MAX] = "";
	int status;

	if (l->job->hosts.host && !getcwd(directory, sizeof(directory))) {
		tool_say("cannot find out this directory's name: %s; start from one that all hosts have",
		         strerror(errno));
		return -errno;
	}
	status = start_add(l, directory);
	if (status == 0)
		status = start_add(l, l->job->executed ? l->job->executed : l->job->path);
	for (char **s = l->job->argv; *s && status == 0; s++)
		status = start_add(l, *s);
	for (size_t i = 0; i < l->job->variables && status == 0; i++)
		status = start_add(l, l->job->variable[i]);
	return status;
}

/* ---- the end of an agent --------------------------------------------------------------------------------------- */

void start_kill(const struct launch_node *n)
{
	if (n->child && n->host)
		kill(-n->child, SIGKILL);
	if (n->child)
		kill(n->child, SIGKILL);
}

int start_wait(struct launch_node *n)
{
	int status = 0;
	pid_t got = 0;

	/* A remote shell may close its output and continue; an agent does not. */
	for (unsigned round = 0; n->child && n->host && round < 100; round++) {
		got = waitpid(n->child, &status, WNOHANG);
		if (got != 0)
			break;
		usleep(10000);
	}
	if (n->child && got == 0) {
		if (n->host)
			start_kill(n);
		while (waitpid(n->child, &status, 0) < 0 && errno == EINTR)
			;
	}
	n->child = 0;
	return status;
}

void start_failed(struct launch *l, unsigned i, int status)
{
	const struct launch_node *n = &l->node[i];
	char path[PATH_MAX];
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;

	start_own_path(&l->job->settings.launch, path, sizeof(path));
	if (code == 126 || code == 127)
		tool_say("host %s cannot run '%s'; install tweed there in the same place, or name its path with "
		         "--remote-tweed",
		         n->host, path);
	else if (code != TOOL_USAGE) /* otherwise it has printed why */
		tool_say("host %s cannot be reached: '%s' %s %d; mend what it says, or try '%s %s true'", n->host,
		         l->job->settings.launch.rsh, code >= 0 ? "ended with status" : "was killed by signal",
		         code >= 0 ? code : WTERMSIG(status), l->job->settings.launch.rsh, n->host);
}
