/* SPDX-License-Identifier: BSD-3-Clause */
/* away.c - system calls of threads that are not on the first host (first_host.h).
 *
 * The kernel hands over each call of such a thread that is not made between away_code and away_code_end, unless
 * tw_fd_away is 0.  The handler of SIGSYS makes its own calls there, so it may be interrupted by other handlers, whose
 * calls come here again.  Nothing is blocked while a call waits for its reply.
 *
 * The handler runs on the alternate stack.  It reads and writes the program's buffers itself: they may be shared
 * memory, and fault. */
#include "core/base/fd.h"
#include "core/base/signals.h"
#include "net/auth.h"
#include "runtime/process/hosts/calls.h"
#include "runtime/process/hosts/first_host.h"
#include "runtime/threads/support.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#define PR_SYS_DISPATCH_OFF          0
#define PR_SYS_DISPATCH_ON           1
#endif
#define AWAY_HANDED   2          /* si_code: SYS_USER_DISPATCH */
#define AWAY_RESTORER 0x04000000 /* SA_RESTORER */
#define AWAY_FAR      0x40000000 /* in a number: one of Tweed's on the first host */
#define AWAY_LINES    256        /* connections of a processor, each with a call at a time */
#define AWAY_ROOM     ((size_t)256 << 10)

/* A connection.  Calls are built in @room, since what the program passes may lie in shared memory. */
struct away_line {
	_Atomic uint32_t busy;
	int fd; /* 0: none yet */
	char *room;
	size_t bytes;
};

/* A call on its way.  @vector: the contents of argument 1 are these parts. */
struct away_call {
	struct th_call_request request;
	const struct iovec *vector;
	size_t parts;
};

static struct {
	bool elsewhere; /* than on the first host */
	struct th_hosts_place first;
	uint8_t secret[TW_NET_SECRET_BYTES];
	struct away_line line[AWAY_LINES];
} away;

/* ---- the kernel -------------------------------------------------------------------------------------------------- */

/* away_kernel - the system call, without the C library; returns -errno.  away_restore - returns from a handler. */
extern long away_kernel(long number, long a, long b, long c, long d, long e, long f);
extern const char away_code[], away_code_end[];
extern void away_restore(void);
__asm__(".text\n"
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

#define AWAY_KERNEL(number, a, b, c, d, e, f)                                                                          \
	away_kernel(number, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

static void __attribute__((noreturn)) away_lost(const char *what)
{
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
	int fd = -1;

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
}

static struct away_line *away_take(void)
{
	for (;;) {
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

static void away_send(int fd, const char *at, size_t bytes)
{
	while (bytes) {
		long n = AWAY_KERNEL(SYS_sendto, fd, at, bytes, MSG_NOSIGNAL, 0, 0);
		if (n < 0 && n != -EINTR)
			away_lost(strerror((int)-n));
		at += n > 0 ? n : 0;
		bytes -= n > 0 ? (size_t)n : 0;
	}
}

static void away_receive(int fd, char *at, size_t bytes)
{
	while (bytes) {
		long n = AWAY_KERNEL(SYS_recvfrom, fd, at, bytes, MSG_WAITALL, 0, 0);
		if (n == 0 || (n < 0 && n != -EINTR))
			away_lost(n ? strerror((int)-n) : "it has closed the connection");
		at += n > 0 ? n : 0;
		bytes -= n > 0 ? (size_t)n : 0;
	}
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

/* Returns the result, or -errno. */
static long away_make(struct away_call *c)
{
	struct th_call_request *q = &c->request;
	struct away_line *line = away_take();
	struct th_call_reply reply;
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
	away_send(line->fd, line->room, bytes);
	away_receive(line->fd, (char *)&reply, sizeof(reply));
	away_receive(line->fd, line->room, reply.bytes);
	bytes = 0;
	for (unsigned i = 0; i < 6 && bytes < reply.bytes; i++)
		if (q->way[i] & TH_OUT) {
			size_t n = TW_MIN((size_t)q->bytes[i], (size_t)reply.bytes - bytes);
			away_copy(c, i, line->room + bytes, n, false);
			bytes += n;
		}
	atomic_store(&line->busy, 0);
	return reply.result;
}

static void away_vector(struct away_call *c, uint32_t number, enum th_call_way way, const struct iovec *v, size_t parts)
{
	size_t bytes = 0;

	for (size_t i = 0; i < parts; i++)
		bytes += v[i].iov_len;
	bytes = TW_MIN(bytes, TH_CALL_MOST);
	c->request.number = number;
	c->request.counted = way == TH_OUT;
	c->request.arg[2] = bytes;
	c->request.bytes[1] = (uint32_t)bytes;
	c->request.way[1] = bytes ? (uint8_t)way : TH_VALUE;
	c->vector = v;
	c->parts = parts;
}

static long away_message(struct away_call *c, struct msghdr *m, bool receives)
{
	struct th_call_request *q = &c->request;

	if (m->msg_controllen && !receives)
		th_refuse("sendmsg: a thread on another host than main's cannot send control messages: send them in a "
		          "thread of the first host");
	q->arg[3] = q->arg[2];
	q->arg[4] = (uintptr_t)m->msg_name;
	q->arg[5] = receives && m->msg_name ? (uintptr_t)&m->msg_namelen : m->msg_namelen;
	away_vector(c, receives ? SYS_recvfrom : SYS_sendto, receives ? TH_OUT : TH_IN, m->msg_iov, m->msg_iovlen);
	if (m->msg_name && m->msg_namelen) {
		q->way[4] = receives ? TH_BOTH : TH_IN;
		q->bytes[4] = m->msg_namelen;
		q->way[5] = receives ? TH_BOTH : TH_VALUE;
		q->bytes[5] = receives ? sizeof(m->msg_namelen) : 0;
	}
	long result = away_make(c);
	if (receives && result >= 0) {
		m->msg_controllen = 0;
		m->msg_flags = 0;
	}
	return result;
}

static void away_rest(struct th_call_request *q, const struct th_call *call)
{
	for (unsigned i = 0; i < 6; i++) {
		unsigned of = call->arg[i].of;
		if ((call->arg[i].kind == TH_IN || call->arg[i].kind == TH_OUT) && of < 6 && call->arg[i].unit == 1)
			q->arg[of] = TW_MIN(q->arg[of], (uint64_t)TH_CALL_MOST);
		q->way[i] = (uint8_t)th_call_argument(call, q->arg, i, &q->bytes[i]);
	}
	if (q->number == SYS_fcntl)
		q->way[2] = (uint8_t)th_call_fcntl((int)q->arg[1], &q->bytes[2]);
	if (q->number == SYS_ioctl && q->arg[2])
		q->way[2] = (uint8_t)th_call_ioctl((uint32_t)q->arg[1], &q->bytes[2]);
	if (q->number == SYS_ppoll || q->number == SYS_pselect6 || q->number == SYS_epoll_pwait)
		q->arg[q->number == SYS_ppoll ? 3 : q->number == SYS_pselect6 ? 5 : 4] = 0; /* the mask */
}

static long away_send_call(long number, const struct th_call *call, const uint64_t arg[6])
{
	struct away_call c = {.request = {.number = (uint32_t)number, .counted = call ? call->counted : 0}};
	struct th_call_request *q = &c.request;
	bool reads = number == SYS_readv || number == SYS_preadv || number == SYS_preadv2;
	bool at = number == SYS_preadv || number == SYS_preadv2 || number == SYS_pwritev || number == SYS_pwritev2;

	for (unsigned i = 0; i < 6; i++) {
		q->arg[i] = arg[i];
		if (call && (call->arg[i].kind == TH_FD || call->arg[i].kind == TH_FOLDER) && (int)arg[i] >= 0)
			q->arg[i] = arg[i] & ~(uint64_t)AWAY_FAR;
	}
	const void *what = (const void *)(uintptr_t)arg[1];
	switch (number) {
	case SYS_preadv2:
	case SYS_pwritev2:
		at = (int64_t)arg[3] != -1;
		if (arg[5])
			return -EOPNOTSUPP;
		__attribute__((fallthrough));
	case SYS_readv:
	case SYS_writev:
	case SYS_preadv:
	case SYS_pwritev:
		away_vector(&c,
		            at      ? reads ? SYS_pread64 : SYS_pwrite64
		            : reads ? SYS_read
		                    : SYS_write,
		            reads ? TH_OUT : TH_IN, what, (size_t)arg[2]);
		return away_make(&c);
	case SYS_sendmsg:
	case SYS_recvmsg:
		return away_message(&c, (struct msghdr *)(uintptr_t)what, number == SYS_recvmsg);
	default:
		if (call)
			away_rest(q, call);
		return away_make(&c);
	}
}

/* A mapping of a file: a copy of its contents.  What the program maps is shared memory already (mapping.c); this is
 * for libraries, as dlopen() maps them. */
static long away_map(const uint64_t arg[6])
{
	long flags = ((long)arg[3] & ~(long)(MAP_SHARED | MAP_SHARED_VALIDATE)) | MAP_PRIVATE | MAP_ANONYMOUS;
	long at = AWAY_KERNEL(SYS_mmap, arg[0], arg[1], PROT_READ | PROT_WRITE, flags, -1, 0), n = 1;

	if (at < 0 && at > -4096)
		return at;
	for (uint64_t done = 0; done < arg[1] && n > 0; done += (uint64_t)n) {
		n = away_send_call(SYS_pread64, th_call_find(SYS_pread64),
		                   (uint64_t[6]){arg[4], (uint64_t)at + done, arg[1] - done, arg[5] + done});
		if (n < 0) {
			AWAY_KERNEL(SYS_munmap, at, arg[1], 0, 0, 0, 0);
			return n;
		}
	}
	AWAY_KERNEL(SYS_mprotect, at, arg[1], arg[2], 0, 0, 0);
	return at;
}

/* The mask that the handler's end restores. */
static long away_mask(ucontext_t *uc, const uint64_t arg[6])
{
	uint64_t was, set, handed = (uint64_t)1 << (SIGSYS - 1);

	memcpy(&was, &uc->uc_sigmask, sizeof(was));
	if (arg[3] != sizeof(was))
		return -EINVAL;
	if (arg[1]) {
		memcpy(&set, (const void *)(uintptr_t)arg[1], sizeof(set));
		set = arg[0] == SIG_BLOCK ? was | set : arg[0] == SIG_UNBLOCK ? was & ~set : set;
		set &= ~handed;
		memcpy(&uc->uc_sigmask, &set, sizeof(set));
	}
	if (arg[2])
		memcpy((void *)(uintptr_t)arg[2], &was, sizeof(was));
	return 0;
}

static bool away_raises(long number, const uint64_t arg[6])
{
	return number == SYS_write || number == SYS_writev || number == SYS_sendfile || number == SYS_splice ||
	       (number == SYS_sendto && !(arg[3] & MSG_NOSIGNAL)) ||
	       (number == SYS_sendmsg && !(arg[2] & MSG_NOSIGNAL));
}

/* Does a wait for several descriptors concern the program's? */
static bool away_waits(long number, const uint64_t arg[6], int first)
{
	const struct pollfd *fds = (const void *)(uintptr_t)arg[0];

	if (number != SYS_poll && number != SYS_ppoll)
		return (number != SYS_select && number != SYS_pselect6) || (int)arg[0] > 0;
	for (uint64_t i = 0; i < arg[1]; i++)
		if (fds[i].fd >= 0 && fds[i].fd < first)
			return true;
	return false;
}

static long away_call(long number, const uint64_t arg[6], ucontext_t *uc)
{
	const struct th_call *call = th_call_find((uint64_t)number);
	uint64_t none = 0;
	int first = tw_fd_first();

	if (call && th_call_travels(call, arg, first, AWAY_FAR) && away_waits(number, arg, first)) {
		long result = away_send_call(number, call, arg);
		if (result == -EPIPE && away_raises(number, arg))
			AWAY_KERNEL(SYS_tgkill, AWAY_KERNEL(SYS_getpid, 0, 0, 0, 0, 0, 0),
			            AWAY_KERNEL(SYS_gettid, 0, 0, 0, 0, 0, 0), SIGPIPE, 0, 0, 0);
		return result;
	}
	switch (number) {
	case SYS_rt_sigprocmask:
		return away_mask(uc, arg);
	case SYS_mmap:
		if (!(arg[3] & MAP_ANONYMOUS) && (int)arg[4] >= 0 && ((int)arg[4] < first || arg[4] & AWAY_FAR))
			return away_map(arg);
		break;
	case SYS_io_uring_setup:
		return -ENOSYS;
	case SYS_signalfd:
	case SYS_signalfd4:
		th_refuse("signalfd: a thread on another host than main's cannot have one: make it in a thread of the "
		          "first host");
	case SYS_clone:
	case SYS_clone3:
	case SYS_fork:
	case SYS_vfork:
		/* the C library has blocked the signals that shared memory needs */
		AWAY_KERNEL(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof(none), 0, 0);
		th_refuse("a thread on another host than main's cannot start a program (system, popen, posix_spawn): "
		          "start it in a thread of the first host");
	}
	return AWAY_KERNEL(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}

static void away_handed(int signal, siginfo_t *si, void *context)
{
	ucontext_t *uc = context;
	greg_t *r = uc->uc_mcontext.gregs;

	if (si->si_code != AWAY_HANDED) {
		tw_signal_chain(signal, si, context);
		return;
	}
	if (r[REG_RAX] == SYS_rt_sigreturn) { /* made again, with the same stack */
		r[REG_RIP] = (greg_t)(uintptr_t)away_restore;
		return;
	}
	int saved = errno;
	uint64_t arg[6] = {(uint64_t)r[REG_RDI], (uint64_t)r[REG_RSI], (uint64_t)r[REG_RDX],
	                   (uint64_t)r[REG_R10], (uint64_t)r[REG_R8],  (uint64_t)r[REG_R9]};
	r[REG_RAX] = away_call(r[REG_RAX], arg, uc);
	errno = saved;
}

/* ---- the run-time ------------------------------------------------------------------------------------------------ */

int th_hosts_keep(int fd)
{
	if (!away.elsewhere)
		return tw_fd_keep(dup(fd));
	long number = away_send_call(TH_CALL_KEEP, NULL, (uint64_t[6]){(uint64_t)fd});
	if (number < 0)
		errno = (int)-number;
	return number < 0 ? -1 : (int)number;
}

int th_hosts_kept(int number)
{
	return away.elsewhere && number >= 0 ? number | AWAY_FAR : number;
}

void th_hosts_open(const struct tw_boot *boot)
{
	/* The kernel's layout of a handler's description. */
	struct {
		void (*handler)(int signal, siginfo_t *si, void *context);
		unsigned long flags;
		void (*restorer)(void);
		uint64_t mask;
	} action = {away_handed, SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTART | AWAY_RESTORER, away_restore, 0};

	if (!th_hosts_many(boot))
		return;
	struct th_hosts_place *shared = th_allocate_all(sizeof(*shared));
	if (tw_id() == 0)
		*shared = th_hosts_own;
	tw_barrier_all();
	away.first = *shared;
	tw_barrier_all();
	if (!away.first.count || memcmp(away.first.token, th_hosts_own.token, TH_HOSTS_NONCE) == 0)
		return;
	memcpy(away.secret, boot->secret, sizeof(away.secret));
	tw_signal_take(SIGSYS, away_handed);
	away.elsewhere = syscall(SYS_rt_sigaction, SIGSYS, &action, NULL, sizeof(action.mask)) == 0;
}

void th_hosts_enter(void)
{
	if (!away.elsewhere)
		return;
	if (prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, away_code, away_code_end - away_code, &tw_fd_away))
		th_refuse("the kernel of this host cannot hand over system calls, which files on several hosts need: "
		          "use Linux 5.11 or later, or one host");
	tw_fd_away = 1;
}

int th_hosts_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *arg), void *arg)
{
	unsigned char was = tw_fd_away;
	sigset_t all, before;

	tw_fd_away = 0;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int error = pthread_create(thread, attr, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	tw_fd_away = was;
	return error;
}

void th_hosts_leave(void)
{
	if (!away.elsewhere)
		return;
	tw_fd_away = 0;
	prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_OFF, 0, 0, 0);
}
