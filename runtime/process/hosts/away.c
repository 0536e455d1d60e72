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
#include "runtime/process/hosts/line.h"
#include "runtime/process/hosts/start.h"
#include "runtime/threads/support.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
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

static struct {
	bool elsewhere;              /* than on the first host */
	uint32_t self;               /* this host */
	uint16_t host[TW_MAX_NODES]; /* of a node */
	struct away_line *fork;      /* of the process made for a child */
} away;

/* ---- a call ------------------------------------------------------------------------------------------------------ */

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

static long away_message(struct away_call *c, struct msghdr *m, uint64_t flags, bool receives)
{
	struct th_call_request *q = &c->request;
	struct th_call_message head = {receives, 0, (uint32_t)m->msg_controllen, m->msg_name ? m->msg_namelen : 0, 0};

	away_vector(c, TH_CALL_MESSAGE, receives ? TH_OUT : TH_IN, m->msg_iov, m->msg_iovlen);
	head.bytes = q->bytes[1];
	q->arg[2] = flags;
	q->counted = receives;
	const struct {
		void *at;
		size_t bytes;
	} more[] = {{m->msg_control, head.control}, {m->msg_name, head.name}, {&head, sizeof(head)}};
	for (unsigned i = 0; i < 3; i++) {
		q->arg[3 + i] = (uintptr_t)more[i].at;
		q->bytes[3 + i] = (uint32_t)more[i].bytes;
		q->way[3 + i] = more[i].bytes ? TH_BOTH : TH_VALUE;
	}
	long result = away_make(c);
	if (receives && result >= 0) {
		m->msg_controllen = head.control;
		m->msg_namelen = head.name;
		m->msg_flags = head.flags;
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
		return away_message(&c, (struct msghdr *)(uintptr_t)what, arg[2], number == SYS_recvmsg);
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

/* A call with numbers alone, by the process that stands for this one. */
static long away_there(long number, const uint64_t arg[6])
{
	struct away_call c = {.request = {.number = (uint32_t)number}};

	memcpy(c.request.arg, arg, sizeof(c.request.arg));
	return away_make(&c);
}

/* In a child of fork(): does it concern what others see of the process?  Then *@result is the call's. */
static bool away_child_call(long number, const uint64_t arg[6], long *result)
{
	struct {
		void (*handler)(int signal);
		unsigned long rest[3];
	} action = {SIG_DFL, {0}}; /* the kernel's layout */

	switch (number) {
	case SYS_getpid:
	case SYS_setsid:
	case SYS_kill:
		*result = away_there(number, arg);
		return true;
	case SYS_tgkill: /* raise(), with the number of that process */
		AWAY_KERNEL(SYS_rt_sigaction, arg[2], NULL, &action, sizeof(uint64_t), 0, 0);
		if (action.handler == SIG_DFL)
			away_there(SYS_kill, (const uint64_t[6]){(uint64_t)away_there(SYS_getpid, arg), arg[2]});
		*result = AWAY_KERNEL(SYS_tgkill, AWAY_KERNEL(SYS_getpid, 0, 0, 0, 0, 0, 0), arg[1], arg[2], 0, 0, 0);
		return true;
	case SYS_exit_group:
		away_there(number, arg);
		return false;
	default:
		return false;
	}
}

static long away_call(long number, const uint64_t arg[6], ucontext_t *uc)
{
	const struct th_call *call = th_call_find((uint64_t)number);
	uint64_t none = 0;
	int first = tw_fd_first();

	if (call && th_call_travels(call, arg, first, AWAY_FAR) && away_waits(number, arg, first) &&
	    (number != SYS_prlimit64 || !arg[0])) {
		long result = away_send_call(number, call, arg);
		if (result == -EPIPE && away_raises(number, arg))
			AWAY_KERNEL(SYS_tgkill, AWAY_KERNEL(SYS_getpid, 0, 0, 0, 0, 0, 0),
			            AWAY_KERNEL(SYS_gettid, 0, 0, 0, 0, 0, 0), SIGPIPE, 0, 0, 0);
		return result;
	}
	switch (number) {
	case SYS_rt_sigprocmask:
		return away_mask(uc, arg);
	case SYS_getpgid:
	case SYS_getsid:
	case SYS_setpgid:
		return away_there(number, arg);
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
		if (away_is_child())
			tw_fatal("a child of fork() on another host than main's cannot start a process (fork, vfork): "
			         "fork in a thread of the first host, or call exec");
		/* the C library has blocked the signals that shared memory needs */
		AWAY_KERNEL(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof(none), 0, 0);
		th_refuse("vfork, clone: a thread on another host than main's cannot start a process so: let it call "
		          "fork or posix_spawn, or do it in a thread of the first host");
	case SYS_execve:
		if (away_is_child())
			return th_hosts_execute((const char *)(uintptr_t)arg[0], (char *const *)(uintptr_t)arg[1],
			                        (char *const *)(uintptr_t)arg[2]);
		th_refuse("exec: a thread on another host than main's cannot replace the program: do it in a thread "
		          "of the first host, or call fork first");
	case SYS_execveat:
		th_refuse(
		    "fexecve, execveat: impossible on another host than main's: call execve, or do it in a thread "
		    "of the first host");
	}
	long result;
	if (away_is_child() && away_child_call(number, arg, &result))
		return result;
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
	struct away_places {
		struct th_hosts_place first;
		uint8_t token[TW_MAX_NODES][TH_HOSTS_NONCE];
	} *shared = th_allocate_all(sizeof(*shared));
	if (tw_id() == 0)
		shared->first = th_hosts_own;
	if (tw_me->local == 0)
		memcpy(shared->token[tw_node()], th_hosts_own.token, TH_HOSTS_NONCE);
	tw_barrier_all();
	for (int i = 0; i < tw_nodes(); i++) {
		int k = 0;
		while (memcmp(shared->token[k], shared->token[i], TH_HOSTS_NONCE) != 0)
			k++;
		away.host[i] = (uint16_t)k; /* its first node */
	}
	away_open(&shared->first, boot->secret);
	bool there = shared->first.count && away.host[tw_node()];
	tw_barrier_all();
	if (!there)
		return;
	away.self = away.host[tw_node()];
	tw_signal_take(SIGSYS, away_handed);
	away.elsewhere = syscall(SYS_rt_sigaction, SIGSYS, &action, NULL, sizeof(action.mask)) == 0;
}

uint32_t th_hosts_self(void)
{
	return away.self;
}

uint32_t th_hosts_of(unsigned node)
{
	return away.host[node];
}

static struct away_call away_event(void *event, size_t bytes)
{
	return (struct away_call){
	    .request = {
	        .number = TH_CALL_EVENT, .arg = {(uintptr_t)event}, .bytes = {(uint32_t)bytes}, .way = {TH_BOTH}}};
}

long th_hosts_event(void *event, size_t bytes)
{
	struct away_call c = away_event(event, bytes);

	return away_make(&c);
}

long th_hosts_news(void *event, size_t bytes, void *more, size_t more_bytes)
{
	struct away_call c = away_event(event, bytes);
	struct away_line *line = away_take();
	long result;

	c.request.arg[1] = (uintptr_t)more;
	c.request.bytes[1] = (uint32_t)more_bytes;
	c.request.way[1] = TH_OUT;
	bool replied = away_try(line, &c, &result);
	away_free(line, !replied);
	return replied ? result : -EPIPE;
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

/* ---- children ---------------------------------------------------------------------------------------------------- */

pid_t th_hosts_fork(void)
{
	if (!away.elsewhere)
		return 0;
	away.fork = away_take();
	long pid = th_hosts_new(away.fork);
	if (pid > 0)
		return (pid_t)pid;
	away_free(away.fork, true);
	errno = (int)-pid;
	return -1;
}

void th_hosts_forked(bool child)
{
	if (!away.elsewhere)
		return;
	if (!child) {
		away_free(away.fork, true);
		return;
	}
	away_child(away.fork);
	th_hosts_enter();
}
