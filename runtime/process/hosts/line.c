/* SPDX-License-Identifier: BSD-3-Clause */
#include "runtime/process/hosts/line.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/fd.h"
#include "net/auth.h"
#include "runtime/threads/support.h"

#define AWAY_LINES 256 /* connections of a processor, each with a call at a time */
#define AWAY_ROOM  ((size_t)256 << 10)

static struct {
	bool child;
	struct th_hosts_place first;
	uint8_t secret[TW_NET_SECRET_BYTES];
	struct away_line line[AWAY_LINES];
} away;

/* ---- the kernel -------------------------------------------------------------------------------------------------- */

__asm__(".text\n"
        "	.globl	away_code, away_kernel, away_restore, away_code_end\n"
        "	.hidden	away_code, away_kernel, away_restore, away_code_end\n"
        "away_code:\n"
        "away_kernel:\n"
        "	movq	%rdi, %rax\n"
        "	movq	%rsi, %rdi\n"
        "	movq	%rdx, %rsi\n"
        "	movq	%rcx, %rdx\n"
        "	movq	%r8, %r10\n"
        "	movq	%r9, %r8\n"
        "	movq	8(%rsp), %r9\n"
        "	syscall\n"
        "	ret\n"
        "away_restore:\n"
        "	movq	$15, %rax\n"
        "	syscall\n"
        "	ud2\n"
        "away_code_end:\n");

static void __attribute__((noreturn)) away_lost(const char *what)
{
	if (away.child) /* the process that stands for it there is gone */
		AWAY_KERNEL(SYS_exit_group, 1, 0, 0, 0, 0, 0);
	tw_fd_away = 0;
	th_refuse("the first host, which has the program's open files, cannot be reached from this host: %s: mend the "
	          "network, or name one that both have by --net-interface",
	          what);
}

/* ---- connections ------------------------------------------------------------------------------------------------- */

static int away_connect_to(const struct sockaddr_storage *address)
{
	socklen_t bytes = address->ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
	int fd = tw_fd_keep(socket(address->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
	struct pollfd poller = {fd, POLLOUT, 0};
	int error = 0, on = 1;
	socklen_t room = sizeof(error);

	if (fd < 0)
		return -1;
	if ((connect(fd, (const struct sockaddr *)address, bytes) < 0 && errno != EINPROGRESS) ||
	    poll(&poller, 1, TH_HOSTS_WAIT_MS) != 1 || getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &room) || error) {
		errno = error ? error : errno ? errno : ETIMEDOUT;
		tw_fd_close(fd);
		return -1;
	}
	fcntl(fd, F_SETFL, 0);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return fd;
}

static bool away_prove(int fd)
{
	uint8_t proof[TW_AUTH_PROOF_BYTES], text[sizeof(TH_HOSTS_PURPOSE) + TH_HOSTS_NONCE] = TH_HOSTS_PURPOSE;

	if (recv(fd, text + sizeof(TH_HOSTS_PURPOSE), TH_HOSTS_NONCE, MSG_WAITALL) != TH_HOSTS_NONCE)
		return false;
	tw_auth_prove(away.secret, text, sizeof(text), proof);
	return send(fd, proof, sizeof(proof), MSG_NOSIGNAL) == sizeof(proof);
}

/* With this thread's calls made here, and no handler of the program at work. */
static void away_connect(struct away_line *line)
{
	unsigned char was = tw_fd_away;
	sigset_t all, before;
	int fd = -1, saved = errno;

	tw_fd_away = 0;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	for (uint32_t i = 0; i < away.first.count && fd < 0; i++)
		fd = away_connect_to(&away.first.address[i]);
	if (fd < 0 || !away_prove(fd))
		away_lost(strerror(errno));
	line->room = mmap(NULL, AWAY_ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (line->room == MAP_FAILED)
		away_lost(strerror(errno));
	line->bytes = AWAY_ROOM;
	line->fd = fd;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	tw_fd_away = was;
	errno = saved;
}

struct away_line *away_take(void)
{
	for (;;) {
		if (away.child && atomic_load(&away.line[0].busy))
			tw_fatal(
			    "a child of fork() on another host than main's cannot make a call in a handler that has "
			    "interrupted another call: fork in a thread of the first host");
		for (unsigned i = 0; i < AWAY_LINES; i++)
			if (!atomic_exchange(&away.line[i].busy, 1)) {
				if (!away.line[i].fd)
					away_connect(&away.line[i]);
				return &away.line[i];
			}
		AWAY_KERNEL(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
	}
}

static void away_grow(struct away_line *line, size_t bytes)
{
	if (bytes <= line->bytes)
		return;
	bytes = TW_ALIGN_UP(bytes, AWAY_ROOM);
	long at = AWAY_KERNEL(SYS_mremap, line->room, line->bytes, bytes, MREMAP_MAYMOVE, 0, 0);
	if (at < 0 && at > -4096)
		away_lost("no memory");
	line->room = (char *)at;
	line->bytes = bytes;
}

void away_free(struct away_line *line, bool close)
{
	if (close) {
		tw_fd_gone(line->fd);
		AWAY_KERNEL(SYS_close, line->fd, 0, 0, 0, 0, 0);
		AWAY_KERNEL(SYS_munmap, line->room, line->bytes, 0, 0, 0, 0);
		line->fd = 0;
	}
	atomic_store(&line->busy, 0);
}

/* Returns 0, or an error's number. */
static int away_send(int fd, const char *at, size_t bytes)
{
	while (bytes) {
		long n = AWAY_KERNEL(SYS_sendto, fd, at, bytes, MSG_NOSIGNAL, 0, 0);
		if (n < 0 && n != -EINTR)
			return (int)-n;
		at += n > 0 ? n : 0;
		bytes -= n > 0 ? (size_t)n : 0;
	}
	return 0;
}

static int away_receive(int fd, char *at, size_t bytes)
{
	while (bytes) {
		long n = AWAY_KERNEL(SYS_recvfrom, fd, at, bytes, MSG_WAITALL, 0, 0);
		if (n == 0 || (n < 0 && n != -EINTR))
			return n ? (int)-n : ECONNRESET;
		at += n > 0 ? n : 0;
		bytes -= n > 0 ? (size_t)n : 0;
	}
	return 0;
}

/* ---- a call ------------------------------------------------------------------------------------------------------ */

/* Copy the contents of argument @i: from the program, or @bytes to it. */
static void away_copy(const struct away_call *c, unsigned i, char *room, size_t bytes, bool in)
{
	size_t parts = c->vector && i == 1 ? c->parts : 1;

	for (size_t k = 0; k < parts && bytes; k++) {
		struct iovec own = {(void *)(uintptr_t)c->request.arg[i], bytes};
		const struct iovec *part = c->vector && i == 1 ? &c->vector[k] : &own;
		size_t n = TW_MIN(bytes, part->iov_len);
		if (in)
			memcpy(room, part->iov_base, n);
		else
			memcpy(part->iov_base, room, n);
		room += n;
		bytes -= n;
	}
}

/* Returns 0, or an error's number. */
static int away_request(struct away_line *line, const struct away_call *c)
{
	const struct th_call_request *q = &c->request;
	size_t bytes = sizeof(*q);

	for (unsigned i = 0; i < 6; i++)
		bytes += q->way[i] ? q->bytes[i] : 0;
	away_grow(line, bytes);
	memcpy(line->room, q, sizeof(*q));
	bytes = sizeof(*q);
	for (unsigned i = 0; i < 6; i++)
		if (q->way[i] & TH_IN) {
			away_copy(c, i, line->room + bytes, q->bytes[i], true);
			bytes += q->bytes[i];
		}
	return away_send(line->fd, line->room, bytes);
}

static int away_reply(struct away_line *line, const struct away_call *c, long *result)
{
	const struct th_call_request *q = &c->request;
	struct th_call_reply reply;
	size_t bytes = 0;
	int error = away_receive(line->fd, (char *)&reply, sizeof(reply));

	error = error ? error : away_receive(line->fd, line->room, reply.bytes);
	for (unsigned i = 0; !error && i < 6 && bytes < reply.bytes; i++)
		if (q->way[i] & TH_OUT) {
			size_t n = TW_MIN((size_t)q->bytes[i], (size_t)reply.bytes - bytes);
			away_copy(c, i, line->room + bytes, n, false);
			bytes += n;
		}
	*result = error ? -error : reply.result;
	return error;
}

bool away_try(struct away_line *line, struct away_call *c, long *result)
{
	int error = away_request(line, c);

	*result = -error;
	return !error && !away_reply(line, c, result);
}

long away_make(struct away_call *c)
{
	struct away_line *line = away_take();
	long result;

	if (!away_try(line, c, &result))
		away_lost(result == -ECONNRESET ? "it has closed the connection" : strerror((int)-result));
	away_free(line, false);
	return result;
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

void away_open(const struct th_hosts_place *first, const uint8_t *secret)
{
	away.first = *first;
	memcpy(away.secret, secret, sizeof(away.secret));
}

void away_child(struct away_line *line)
{
	struct away_line only = {.fd = line->fd, .room = line->room, .bytes = line->bytes};

	memset(away.line, 0, sizeof(away.line));
	away.line[0] = only;
	away.child = true;
}

bool away_is_child(void)
{
	return away.child;
}
