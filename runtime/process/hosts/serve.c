/* SPDX-License-Identifier: BSD-3-Clause */
/* serve.c - makes the calls of threads on other hosts, on the first host.  The process shares descriptors and working
 * folder with the processors there.  A thread serves a connection; whoever connects proves that it has the job's
 * secret. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "core/base/fd.h"
#include "net/auth.h"
#include "net/interface.h"
#include "runtime/process/hosts/calls.h"
#include "runtime/process/hosts/first_host.h"

#define SERVE_STACK ((size_t)256 << 10)
#define SERVE_MOST  ((size_t)1 << 30)

#define SERVE_WORDS ((size_t)4 << 20) /* most bytes of the addresses of a program's arguments and environment */

struct th_hosts_place th_hosts_own;
struct th_hosts_work th_hosts_work;

static struct {
	const struct tw_boot *boot;
	bool child; /* this process stands for a child of a thread on another host */
	int listener[TH_HOSTS_ADDRESSES];
} serve;

struct serve_room {
	char *at;
	size_t bytes;
};

bool th_hosts_many(const struct tw_boot *boot)
{
	return boot->interface == tw_boot_interface && boot->config.nodes > 1 && boot->address[0].len;
}

/* ---- a connection ------------------------------------------------------------------------------------------------ */

static bool serve_receive(int fd, void *to, size_t bytes)
{
	return bytes == 0 || syscall(SYS_recvfrom, fd, to, bytes, MSG_WAITALL, NULL, NULL) == (long)bytes;
}

static bool serve_grow(struct serve_room *room, size_t bytes)
{
	if (bytes <= room->bytes)
		return true;
	bytes = TW_ALIGN_UP(bytes, (size_t)1 << 20);
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		return false;
	if (room->at)
		munmap(room->at, room->bytes);
	*room = (struct serve_room){at, bytes};
	return true;
}

/* The @count texts that follow each other at @text, as an array; NULL: no memory. */
static char **serve_words(char *text, uint64_t count)
{
	size_t bytes = (size_t)TW_MIN(count + 1, (uint64_t)(SERVE_WORDS / sizeof(char *))) * sizeof(char *);
	char **words = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (words == MAP_FAILED)
		return NULL;
	for (uint64_t i = 0; i + 1 < bytes / sizeof(char *); i++) {
		words[i] = text;
		text += strlen(text) + 1;
	}
	return words;
}

/* Returns only if that fails. */
static long serve_execute(const struct th_call_request *q)
{
	char **argv = serve_words((char *)(uintptr_t)q->arg[1], q->arg[3]);
	char **envp = serve_words((char *)(uintptr_t)q->arg[2], q->arg[4]);

	return syscall(SYS_execve, q->arg[0], argv, envp);
}

static long serve_message(const struct th_call_request *q)
{
	struct th_call_message *head = (void *)(uintptr_t)q->arg[5];
	struct iovec part = {(void *)(uintptr_t)q->arg[1], head->bytes};
	struct msghdr m = {.msg_name = head->name ? (void *)(uintptr_t)q->arg[4] : NULL,
	                   .msg_namelen = head->name,
	                   .msg_iov = &part,
	                   .msg_iovlen = 1,
	                   .msg_control = head->control ? (void *)(uintptr_t)q->arg[3] : NULL,
	                   .msg_controllen = head->control};
	long result = syscall(head->receives ? SYS_recvmsg : SYS_sendmsg, q->arg[0], &m, q->arg[2]);

	head->name = m.msg_namelen;
	head->control = (uint32_t)m.msg_controllen;
	head->flags = m.msg_flags;
	return result;
}

/* The limits of the first host's processors are the program's. */
static long serve_limit(const struct th_call_request *q)
{
	bool plain = q->number == SYS_setrlimit;
	const void *limit = (const void *)(uintptr_t)q->arg[plain ? 1 : 2];
	long result = syscall(SYS_prlimit64, 0, q->arg[!plain], limit, plain ? 0 : q->arg[3]);

	if (result == 0 && limit && !serve.child)
		th_hosts_work.limit((int)q->arg[!plain], limit);
	return result;
}

static long serve_make(const struct th_call_request *q)
{
	switch (q->number) {
	case TH_CALL_KEEP:
		return tw_fd_keep(dup((int)q->arg[0]));
	case TH_CALL_EVENT:
		return th_hosts_work.event((void *)(uintptr_t)q->arg[0], (void *)(uintptr_t)q->arg[1]);
	case TH_CALL_MESSAGE:
		return serve_message(q);
	case SYS_prlimit64:
	case SYS_setrlimit:
		return serve_limit(q);
	case TH_CALL_EXEC:
		return serve.child ? serve_execute(q) : -1;
	case SYS_close:
		if (!serve.child) /* the record is that of the processors' table */
			tw_fd_gone((int)q->arg[0]);
	}
	return syscall(q->number, q->arg[0], q->arg[1], q->arg[2], q->arg[3], q->arg[4], q->arg[5]);
}

/* TH_CALL_FORK.  The new process goes on with the connection; its maker replies, when the child is known. */
static bool serve_fork(int fd, uint64_t mask)
{
	int first = tw_fd_first();
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	struct th_call_reply reply = {pid < 0 ? -errno : pid, 0};

	if (pid == 0) {
		serve.child = true;
		close_range((unsigned)first, (unsigned)fd - 1, 0);
		close_range((unsigned)fd + 1, ~0u, 0);
		th_hosts_work.become(mask);
		return true;
	}
	if (pid > 0)
		th_hosts_work.child(pid);
	syscall(SYS_sendto, fd, &reply, sizeof(reply), MSG_NOSIGNAL, NULL, 0);
	return pid < 0;
}

/* Make a call.  Returns false at the connection's end. */
static bool serve_call(int fd, struct serve_room *room)
{
	struct th_call_request q;
	struct th_call_reply reply = {0, 0};
	struct iovec part[7] = {{&reply, sizeof(reply)}};
	struct msghdr m = {.msg_iov = part, .msg_iovlen = 1};
	size_t need = 0;

	if (!serve_receive(fd, &q, sizeof(q)))
		return false;
	if (q.number == TH_CALL_FORK)
		return serve_fork(fd, q.arg[0]);
	for (unsigned i = 0; i < 6; i++)
		need += TW_ALIGN_UP((size_t)q.bytes[i], (size_t)16);
	if (!serve_grow(room, need))
		return false;
	char *at = room->at;
	for (unsigned i = 0; i < 6; at += TW_ALIGN_UP((size_t)q.bytes[i], (size_t)16), i++) {
		if (q.way[i] == TH_VALUE)
			continue;
		q.arg[i] = (uintptr_t)at;
		if (q.way[i] & TH_IN && !serve_receive(fd, at, q.bytes[i]))
			return false;
	}
	long result = serve_make(&q);
	reply.result = result == -1 ? -errno : result;
	for (unsigned i = 0; i < 6 && result >= 0; i++)
		if (q.way[i] & TH_OUT) {
			size_t stored = q.counted && q.way[i] == TH_OUT ? (size_t)result * q.counted : q.bytes[i];
			stored = TW_MIN(stored, (size_t)q.bytes[i]);
			part[m.msg_iovlen++] = (struct iovec){(void *)(uintptr_t)q.arg[i], stored};
			reply.bytes += stored;
		}
	for (size_t left = sizeof(reply) + reply.bytes; left;) {
		long sent = syscall(SYS_sendmsg, fd, &m, MSG_NOSIGNAL);
		if (sent <= 0)
			return false;
		left -= (size_t)sent;
		for (; left && (size_t)sent >= m.msg_iov->iov_len; m.msg_iov++, m.msg_iovlen--)
			sent -= (long)m.msg_iov->iov_len;
		m.msg_iov->iov_base = (char *)m.msg_iov->iov_base + sent;
		m.msg_iov->iov_len -= left ? (size_t)sent : 0;
	}
	return true;
}

/* The peer proves that it has the secret. */
static bool serve_knows(int fd)
{
	uint8_t nonce[TH_HOSTS_NONCE], proof[TW_AUTH_PROOF_BYTES];
	uint8_t text[sizeof(TH_HOSTS_PURPOSE) + sizeof(nonce)] = TH_HOSTS_PURPOSE;

	if (getrandom(nonce, sizeof(nonce), 0) != sizeof(nonce) ||
	    syscall(SYS_sendto, fd, nonce, sizeof(nonce), MSG_NOSIGNAL, NULL, 0) != sizeof(nonce) ||
	    !serve_receive(fd, proof, sizeof(proof)))
		return false;
	memcpy(text + sizeof(TH_HOSTS_PURPOSE), nonce, sizeof(nonce));
	return tw_auth_holds(serve.boot->secret, text, sizeof(text), proof);
}

static void *serve_connection(void *arg)
{
	int fd = (int)(intptr_t)arg, on = 1;
	struct timeval wait = {TH_HOSTS_WAIT_MS / 1000, 0}, none = {0, 0};
	struct serve_room room = {NULL, 0};

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	if (serve_knows(fd)) {
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &none, sizeof(none));
		while (serve_call(fd, &room))
			;
	}
	if (serve.child) /* the other one was ended by a signal, without a word */
		for (;;)
			syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
	if (room.at)
		munmap(room.at, room.bytes);
	tw_fd_close(fd);
	return NULL;
}

/* ---- the process ------------------------------------------------------------------------------------------------- */

static void serve_begin(int fd)
{
	pthread_attr_t attr;
	pthread_t thread;
	int error = EINVAL; /* the program's thread-local variables are part of the stack */

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	for (size_t bytes = SERVE_STACK; error == EINVAL && bytes <= SERVE_MOST; bytes *= 2) {
		pthread_attr_setstacksize(&attr, bytes);
		error = pthread_create(&thread, &attr, serve_connection, (void *)(intptr_t)fd);
	}
	pthread_attr_destroy(&attr);
	if (error)
		tw_fd_close(fd);
}

static void __attribute__((noreturn)) serve_run(pid_t parent)
{
	struct pollfd poller[TH_HOSTS_ADDRESSES + 2];
	int work[2] = {-1, -1};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	th_hosts_work.begin(work);
	while (getppid() == parent) {
		struct pollfd *more = poller + th_hosts_own.count;
		for (unsigned i = 0; i < th_hosts_own.count; i++)
			poller[i] = (struct pollfd){serve.listener[i], POLLIN, 0};
		more[0] = (struct pollfd){work[0], POLLIN, 0};
		more[1] = (struct pollfd){work[1], POLLIN, 0};
		poll(poller, th_hosts_own.count + 2, -1);
		if (more[0].revents || more[1].revents)
			th_hosts_work.attend();
		for (unsigned i = 0; i < th_hosts_own.count; i++) {
			int fd =
			    poller[i].revents ? tw_fd_keep(accept4(serve.listener[i], NULL, NULL, SOCK_CLOEXEC)) : -1;
			if (fd >= 0)
				serve_begin(fd);
		}
	}
	_exit(0);
}

static void serve_listen(const struct sockaddr *address)
{
	unsigned n = th_hosts_own.count;
	struct sockaddr_storage *own = &th_hosts_own.address[n];
	socklen_t bytes = address->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
	int fd = tw_fd_keep(socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));

	memcpy(own, address, bytes);
	if (address->sa_family == AF_INET)
		((struct sockaddr_in *)(void *)own)->sin_port = 0;
	else
		((struct sockaddr_in6 *)(void *)own)->sin6_port = 0;
	if (fd >= 0 && bind(fd, (struct sockaddr *)own, bytes) == 0 && listen(fd, SOMAXCONN) == 0 &&
	    getsockname(fd, (struct sockaddr *)own, &bytes) == 0)
		serve.listener[th_hosts_own.count++] = fd;
	else if (fd >= 0)
		tw_fd_close(fd);
}

void th_hosts_serve(const struct tw_boot *boot, bool first, pid_t (*fork)(void))
{
	static bool begun;
	struct ifaddrs *all;
	pid_t self = getpid();

	if (!begun && getrandom(th_hosts_own.token, TH_HOSTS_NONCE, 0) != TH_HOSTS_NONCE)
		tw_fatal("no random numbers: %s", strerror(errno));
	begun = true;
	if (!first || getifaddrs(&all))
		return;
	serve.boot = boot;
	for (const struct ifaddrs *a = all; a && th_hosts_own.count < TH_HOSTS_ADDRESSES; a = a->ifa_next)
		if (tw_interface_fits(a, boot->config.net_interface))
			serve_listen(a->ifa_addr);
	freeifaddrs(all);
	if (th_hosts_own.count && fork() == 0)
		serve_run(self);
}
