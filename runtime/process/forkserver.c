/* SPDX-License-Identifier: BSD-3-Clause */
/* forkserver.c - the processors of one host are forked from one process, and share its table of descriptors, its
 * working folder and its file mode mask (clone(2), CLONE_FILES and CLONE_FS), as threads do.  What libraries have set
 * up before, environment and arguments are equal in all of them.
 *
 * exec gives a process a table of its own, so no process that an agent starts can be such a processor.  Each of them
 * sends what the agent has given it (descriptors, variables, CPUs) to the host's fork server, which forks the
 * processor, and waits for its end, to end in the same way: the agent's child stands for the processor.  If that child
 * is killed, the server kills the processor; if the server is killed, all processors of the host die.
 *
 * The first process of the job that binds a name made from the job's secret starts the server.  Standard input, output
 * and error are those of the host's first processor. */
#include "runtime/process/forkserver.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/fd.h"
#include "core/job/boot.h"
#include "net/auth.h"
#include "runtime/process/hosts/first_host.h"

/* most descriptors of a processor */
#define SERVER_FILES   (3 + 1 + 2 * (TW_MAX_PROCESSORS + 1) + TW_MAX_NODES + TW_BOOT_INHERITED)
#define SERVER_BATCH   200 /* in a message; the kernel takes 253 */
#define SERVER_CALLERS (TW_MAX_NODES * TW_MAX_PROCESSORS)
#define SERVER_POLL_MS 1000

static const char *const server_variable[] = {"TWEED_PROCESSOR", "TWEED_RANK", "TWEED_SIZE"};
#define SERVER_VARIABLES (sizeof(server_variable) / sizeof(server_variable[0]))

/* What an agent's child asks for.  Its descriptors follow: 0, 1, 2, then those of the boot file, in order, last the
 * inherited ones. */
struct server_request {
	cpu_set_t cpus;
	uint32_t files;
	char value[SERVER_VARIABLES][24];
};

struct server_caller {
	int fd; /* -1: free */
	pid_t pid;
};

static struct {
	struct tw_boot boot; /* of the caller that is served */
	struct server_caller *caller;
	unsigned used, running;
	int listener, signals;
	unsigned first; /* the processor whose standard descriptors are the table's */
	sigset_t mask;  /* of the program */
} server = {.listener = -1, .first = UINT32_MAX};

static void __attribute__((noreturn)) server_fail(const char *what)
{
	tw_fatal("cannot start the processors of this host: %s: %s", what, strerror(errno));
}

static unsigned server_id(const struct tw_boot *boot, const struct server_request *request)
{
	return boot->node * (unsigned)boot->config.processors + (unsigned)atoi(request->value[0]);
}

/* Call @each for every descriptor that the boot file names. */
static void server_each(struct tw_boot *boot, void (*each)(int32_t *fd, void *arg), void *arg)
{
	each(&boot->private_fd, arg);
	for (unsigned k = 0; k <= TW_MAX_PROCESSORS; k++)
		for (unsigned i = 0; i < 2; i++)
			each(&boot->handle_fd[k][i], arg);
	for (unsigned node = 0; node < TW_MAX_NODES; node++)
		each(&boot->exported_fd[node], arg);
}

/* Returns the next inherited descriptor of processor @id behind @fd; -1: no more. */
static int server_inherited(const struct tw_boot *boot, unsigned id, int fd)
{
	while (id == 0 && ++fd < TW_BOOT_INHERITED)
		if (boot->inherited[fd / 64] >> fd % 64 & 1)
			return fd;
	return -1;
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

union server_control {
	struct cmsghdr head;
	char room[CMSG_SPACE(SERVER_BATCH * sizeof(int))];
};

static bool server_send(int to, const void *data, size_t bytes, const int *files, unsigned count)
{
	union server_control control;
	struct iovec part = {(void *)(uintptr_t)data, bytes};
	struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};

	memset(&control, 0, sizeof(control));
	if (count) {
		m.msg_control = &control;
		m.msg_controllen = CMSG_SPACE(count * sizeof(int));
		control.head = (struct cmsghdr){CMSG_LEN(count * sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
		memcpy(CMSG_DATA(&control.head), files, count * sizeof(int));
	}
	return sendmsg(to, &m, MSG_NOSIGNAL) == (ssize_t)bytes;
}

/* Returns how many descriptors came; -1: not such a message. */
static int server_receive(int from, void *data, size_t bytes, int *files)
{
	union server_control control;
	struct iovec part = {data, bytes};
	struct msghdr m = {
	    .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
	ssize_t n;

	do
		n = recvmsg(from, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)bytes)
		return -1;
	const struct cmsghdr *head = CMSG_FIRSTHDR(&m);
	if (!head || head->cmsg_type != SCM_RIGHTS)
		return 0;
	unsigned count = (unsigned)((head->cmsg_len - CMSG_LEN(0)) / sizeof(int));
	memcpy(files, CMSG_DATA(head), count * sizeof(int));
	return (int)count;
}

/* ---- in the server ----------------------------------------------------------------------------------------------- */

struct server_files {
	int fd[SERVER_FILES];
	unsigned count, at;
};

static void server_take_file(int32_t *fd, void *arg)
{
	struct server_files *files = arg;
	if (*fd >= 0)
		*fd = files->at < files->count ? tw_fd_keep(files->fd[files->at++]) : -1;
}

/* Give processor 0's inherited descriptors the numbers that they had.  Where a later one has been received under such
 * a number, that one moves first. */
static void server_take_inherited(unsigned id, struct server_files *files)
{
	for (int fd = -1; (fd = server_inherited(&server.boot, id, fd)) >= 0 && files->at < files->count;) {
		int from = files->fd[files->at++];
		for (unsigned i = files->at; from != fd && i < files->count; i++)
			if (files->fd[i] == fd)
				files->fd[i] = dup(fd);
		dup2(from, fd);
		if (from != fd)
			close(from);
		else
			fcntl(fd, F_SETFD, 0);
	}
}

/* Read a caller's request.  Its standard descriptors replace the table's if it is the first processor so far. */
static bool server_take(int from, struct server_request *request)
{
	static struct server_files files;
	int got = server_receive(from, request, sizeof(*request), files.fd);

	files.count = files.at = 0;
	while (got > 0) {
		char more;
		files.count += (unsigned)got;
		if (files.count >= request->files)
			break;
		got = server_receive(from, &more, sizeof(more), files.fd + files.count);
	}
	if (got <= 0 || files.count < 4 ||
	    pread(files.fd[3], &server.boot, sizeof(server.boot), 0) != (ssize_t)sizeof(server.boot))
		return false;
	unsigned id = server_id(&server.boot, request);
	for (int i = 0; i < 3; i++) {
		if (id < server.first)
			dup2(files.fd[i], i);
		close(files.fd[i]);
	}
	close(files.fd[3]);
	server.first = TW_MIN(server.first, id);
	files.at = 4;
	server_each(&server.boot, server_take_file, &files);
	server_take_inherited(id, &files);
	return true;
}

/* As fork(), but the child shares the table of descriptors, working folder and file mode mask.  The C library keeps the
 * thread's number where the kernel clears it at the thread's end. */
static pid_t server_fork(void)
{
	void *robust = NULL, *number = NULL;
	size_t bytes = 0;
	unsigned long flags = CLONE_FILES | CLONE_FS | SIGCHLD;

	syscall(SYS_get_robust_list, 0, &robust, &bytes);
	if (prctl(PR_GET_TID_ADDRESS, &number) == 0 && number)
		flags |= CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID;
	pid_t pid = (pid_t)syscall(SYS_clone, flags, NULL, NULL, number, 0);
	if (pid == 0 && robust)
		syscall(SYS_set_robust_list, robust, bytes);
	return pid;
}

/* In the child: become the processor that @request describes. */
static void server_become(const struct server_request *request, pid_t parent)
{
	char text[16];
	int boot = tw_fd_keep(memfd_create("tweed-boot", MFD_CLOEXEC));

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	if (boot < 0 || write(boot, &server.boot, sizeof(server.boot)) != (ssize_t)sizeof(server.boot))
		server_fail("the boot file");
	tw_format(text, sizeof(text), "%d", boot);
	setenv("TWEED_BOOT", text, 1);
	for (unsigned i = 0; i < SERVER_VARIABLES; i++)
		setenv(server_variable[i], request->value[i], 1);
	sched_setaffinity(0, sizeof(request->cpus), &request->cpus);
	sigprocmask(SIG_SETMASK, &server.mask, NULL);
}

/* Accept a caller.  Returns true in the process forked for it. */
static bool server_accept(void)
{
	struct server_request request;
	pid_t self = getpid(), pid;
	int fd = tw_fd_keep(accept4(server.listener, NULL, NULL, SOCK_CLOEXEC));

	if (fd < 0)
		return false;
	if (server.used == SERVER_CALLERS || !server_take(fd, &request)) {
		tw_fd_close(fd);
		return false;
	}
	if (th_hosts_many(&server.boot))
		th_hosts_serve(&server.boot, server_id(&server.boot, &request) == 0, server_fork);
	pid = server_fork();
	if (pid == 0) {
		server_become(&request, self);
		return true;
	}
	if (pid < 0)
		server_fail("clone");
	server.caller[server.used++] = (struct server_caller){fd, pid};
	server.running++;
	server_send(fd, &pid, sizeof(pid), NULL, 0);
	return false;
}

static void server_reap(void)
{
	struct signalfd_siginfo info;
	int status;
	pid_t pid;

	while (read(server.signals, &info, sizeof(info)) > 0)
		;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		for (unsigned i = 0; i < server.used; i++)
			if (server.caller[i].pid == pid) {
				server_send(server.caller[i].fd, &status, sizeof(status), NULL, 0);
				tw_fd_close(server.caller[i].fd);
				server.caller[i] = (struct server_caller){-1, 0};
				server.running--;
			}
}

/* Returns in the processors. @started: the process that has started the server. */
static void server_run(pid_t started)
{
	static struct pollfd poller[SERVER_CALLERS + 2];

	for (;;) {
		poller[0] = (struct pollfd){server.listener, POLLIN, 0};
		poller[1] = (struct pollfd){server.signals, POLLIN, 0};
		for (unsigned i = 0; i < server.used; i++) /* a caller says nothing more: only its end shows */
			poller[2 + i] = (struct pollfd){server.caller[i].fd, POLLIN, 0};
		unsigned callers = server.used;
		poll(poller, callers + 2, SERVER_POLL_MS);
		server_reap();
		for (unsigned i = 0; i < callers; i++)
			if (poller[2 + i].revents && server.caller[i].pid)
				kill(server.caller[i].pid, SIGKILL);
		if (poller[0].revents && server_accept())
			return;
		if (!server.running && (server.used || getppid() != started))
			_exit(0);
	}
}

/* ---- the agent's child ------------------------------------------------------------------------------------------- */

static void child_add_file(int32_t *fd, void *arg)
{
	struct server_files *files = arg;
	if (*fd >= 0)
		files->fd[files->count++] = *fd;
}

static void child_ask(int to, int boot_fd)
{
	static struct server_files files;
	struct server_request request;
	bool sent;

	memset(&request, 0, sizeof(request));
	for (unsigned i = 0; i < SERVER_VARIABLES; i++)
		snprintf(request.value[i], sizeof(request.value[i]), "%s", getenv(server_variable[i]));
	for (int i = 0; i < 3; i++)
		files.fd[files.count++] = i;
	files.fd[files.count++] = boot_fd;
	server_each(&server.boot, child_add_file, &files);
	for (int fd = -1; (fd = server_inherited(&server.boot, server_id(&server.boot, &request), fd)) >= 0;)
		files.fd[files.count++] = fd;
	request.files = files.count;
	sched_getaffinity(0, sizeof(request.cpus), &request.cpus);
	unsigned n = TW_MIN(files.count, SERVER_BATCH);
	sent = server_send(to, &request, sizeof(request), files.fd, n);
	for (unsigned at = n; sent && at < files.count; at += n) {
		n = TW_MIN(files.count - at, SERVER_BATCH);
		sent = server_send(to, "", 1, files.fd + at, n);
	}
	if (!sent)
		server_fail("the fork server");
}

/* End as the processor has ended. */
static void __attribute__((noreturn)) child_end(int status)
{
	sigset_t all;

	if (WIFEXITED(status))
		_exit(WEXITSTATUS(status));
	prctl(PR_SET_DUMPABLE, 0);
	signal(WTERMSIG(status), SIG_DFL);
	sigemptyset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	kill(getpid(), WTERMSIG(status));
	kill(getpid(), SIGKILL);
	_exit(1);
}

/* Signals sent to this process are meant for the processor; a terminal sends its own to both. */
static void child_forward(int signals, pid_t pid)
{
	struct signalfd_siginfo info;

	while (read(signals, &info, sizeof(info)) > 0)
		if (info.ssi_code == SI_USER)
			kill(pid, (int)info.ssi_signo);
}

static void __attribute__((noreturn)) child_wait(int from, int signals)
{
	pid_t pid = 0;
	int status;

	if (recv(from, &pid, sizeof(pid), 0) != (ssize_t)sizeof(pid))
		child_end(SIGKILL);
	for (;;) {
		struct pollfd poller[] = {{from, POLLIN, 0}, {signals, POLLIN, 0}};
		poll(poller, 2, -1);
		if (poller[1].revents)
			child_forward(signals, pid);
		if (poller[0].revents)
			child_end(recv(from, &status, sizeof(status), 0) == (ssize_t)sizeof(status) ? status : SIGKILL);
	}
}

/* ---- start ------------------------------------------------------------------------------------------------------- */

static socklen_t server_name(struct sockaddr_un *name)
{
	static const char what[] = "fork server";
	uint8_t proof[TW_AUTH_PROOF_BYTES];

	memset(name, 0, sizeof(*name));
	name->sun_family = AF_UNIX;
	tw_auth_prove(server.boot.secret, what, sizeof(what), proof);
	for (unsigned i = 0; i < TW_AUTH_PROOF_BYTES; i++)
		snprintf(name->sun_path + 1 + 2 * i, 3, "%02x", proof[i]);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + 2 * TW_AUTH_PROOF_BYTES);
}

static int server_socket(void)
{
	int fd = tw_fd_keep(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));

	if (fd < 0)
		server_fail("a socket");
	return fd;
}

static bool server_open(const struct sockaddr_un *name, socklen_t bytes)
{
	server.listener = server_socket();
	if (bind(server.listener, (const struct sockaddr *)name, bytes) == 0)
		return listen(server.listener, SERVER_CALLERS) == 0;
	if (errno != EADDRINUSE)
		server_fail("bind");
	tw_fd_close(server.listener);
	return false;
}

/* Is this process in a debugger?  Its user would wait for breakpoints in vain. */
static bool child_traced(void)
{
	static const char name[] = "\nTracerPid:\t";
	char text[1024];
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	text[TW_MAX(n, (ssize_t)0)] = '\0';
	const char *tracer = strstr(text, name);
	return tracer && atoi(tracer + sizeof(name) - 1);
}

/* Returns the connection, or -1 in a processor that the server has forked. */
static int server_connect(int *signals)
{
	struct sockaddr_un name;
	socklen_t bytes = server_name(&name);
	sigset_t all, child;
	pid_t self = getpid();

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &server.mask);
	if (server_open(&name, bytes)) {
		pid_t pid = fork();
		if (pid == 0) {
			sigemptyset(&child);
			sigaddset(&child, SIGCHLD);
			server.signals = tw_fd_keep(signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
			server.caller = calloc(SERVER_CALLERS, sizeof(*server.caller));
			if (server.signals < 0 || !server.caller)
				server_fail("the fork server");
			server_run(self);
			return -1;
		}
		if (pid < 0)
			server_fail("fork");
		tw_fd_close(server.listener);
	}
	*signals = tw_fd_keep(signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK));
	int fd = server_socket();
	while (connect(fd, (const struct sockaddr *)&name, bytes) < 0) {
		if (errno != ECONNREFUSED)
			server_fail("connect");
		usleep(1000); /* bound, but not yet listening */
	}
	return fd;
}

const struct tw_boot *th_fork_server(void)
{
	const char *text = getenv("TWEED_BOOT");
	int boot_fd = text ? atoi(text) : -1, signals = -1;

	/* What is wrong is found and reported by tw_init. */
	if (boot_fd < 0 || !tw_boot_same(&server.boot, pread(boot_fd, &server.boot, sizeof(server.boot), 0)) ||
	    (server.boot.host_processes < 2 && !th_hosts_many(&server.boot)))
		return &server.boot;
	tw_fd_open(server.boot.first_fd);
	tw_fd_share();
	int fd = server_connect(&signals);
	if (fd < 0)
		return &server.boot;
	child_ask(fd, boot_fd);
	if (child_traced())
		tw_log("the debugger has a process that only stands for a processor: 'tweed top --json' has the pid of "
		       "each, for gdb -p PID; one processor alone, -n 1 -p 1, is the debugger's");
	/* The processor alone keeps what the agent has given. */
	close_range(0, (unsigned)TW_MIN(fd, signals) - 1, 0);
	close_range((unsigned)TW_MIN(fd, signals) + 1, (unsigned)TW_MAX(fd, signals) - 1, 0);
	close_range((unsigned)TW_MAX(fd, signals) + 1, ~0u, 0);
	child_wait(fd, signals);
}
