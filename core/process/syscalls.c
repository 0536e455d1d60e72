/* SPDX-License-Identifier: BSD-3-Clause */
/* syscalls.c - wraps the C library's system calls. Under a backend without TW_FAULT_SYSCALLS the kernel returns EFAULT
 * when a buffer lacks rights, so buffers in shared memory are touched first. A buffer elsewhere costs two comparisons.
 *
 * Touching suffices except in two cases. Resolving a later page's fault may take rights from an earlier page, when the
 * protocol runs short of twins; hence two rounds of touching, and calls that return EFAULT are repeated. A transfer
 * larger than all twins cannot be touched as a whole; hence regular files and stdio are transferred in pieces.
 *
 * What the kernel has stored is announced to the log of stores (core/memory/stores.h). */
#undef _FORTIFY_SOURCE /* its inline wrappers have the names defined here */
/* Both names of each call are defined here: neither may be redirected to the other. */
#undef _FILE_OFFSET_BITS

#include "core/process/syscalls.h"

#include "core/base/fd.h"
#include "core/process/descriptors.h"
#include "core/job/job.h"
#include "core/memory/stores.h"

#include <dlfcn.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

void (*tw_syscalls_mapped)(int fd, off_t at, const struct iovec *v, int count, ssize_t written, const void *caller);
int (*tw_syscalls_block)(int fd, short events, const void *caller);
bool (*tw_syscalls_wait)(const struct pollfd *fds, nfds_t n, int *ms, const void *caller);
void (*tw_syscalls_look)(void);
bool (*tw_syscalls_again)(void);
_Thread_local volatile bool tw_syscalls_blocked;

#if TW_ASAN || TW_TSAN

void tw_syscalls_init(void) {}

bool tw_redirect(const char *name, void (*to)(void))
{
	(void)name;
	(void)to;
	return false;
}

bool tw_syscalls_whole(void)
{
	return false;
}

#else

#define SYS_TRIES 16
#define SYS_PIECE ((size_t)1 << 20) /* bytes of a transfer that are touched at a time */

#undef fread_unlocked /* macros, when optimizing */
#undef fwrite_unlocked

/* The wrapped functions. */
/* clang-format off */
#define SYS_NAMES(X) \
	X(read) X(write) X(pread) X(pwrite) X(pread64) X(pwrite64) X(readv) X(writev) X(preadv) X(pwritev) \
	X(preadv64) X(pwritev64) X(recv) X(send) X(recvfrom) X(sendto) X(recvmsg) X(sendmsg) X(fread) X(fwrite) \
	X(fread_unlocked) X(fwrite_unlocked) X(fputs) X(puts) X(stat) X(lstat) X(fstat) X(fstatat) X(stat64) \
	X(lstat64) X(fstat64) X(fstatat64) X(open) X(open64) X(openat) X(openat64) X(fopen) X(fopen64) X(access) \
	X(unlink) X(getcwd) X(readlink) X(getrandom) X(getrusage) X(poll) X(getdents64)
/* clang-format on */

/* A program's own functions of these names replace these. */
#define SYS_PRAGMA(text) _Pragma(#text)
#define X(name)          SYS_PRAGMA(weak name)
SYS_NAMES(X)
#undef X

static struct {
#define X(name) __typeof__(name) *name;
	SYS_NAMES(X)
#undef X
} next;
static bool sys_ready;

static void sys_find(const char *name, void **where)
{
	static const char text[] = "tweed: the C library must be linked dynamically\n";
	*where = dlsym(RTLD_NEXT, name);
	if (*where)
		return;
	syscall(SYS_write, STDERR_FILENO, text, sizeof(text) - 1);
	_exit(1);
}

/* Also a constructor: dlsym is not safe in signal handlers, where these functions may be called first. */
__attribute__((constructor)) void tw_syscalls_init(void)
{
	if (sys_ready)
		return;
#define X(name) sys_find(#name, (void **)&next.name);
	SYS_NAMES(X)
#undef X
	sys_ready = true;
}

/* ---- calls from inside the C library ---- */

static ssize_t sys_raw_read(int fd, void *buf, size_t n)
{
	return syscall(SYS_read, fd, buf, n);
}

static ssize_t sys_raw_write(int fd, const void *buf, size_t n)
{
	return syscall(SYS_write, fd, buf, n);
}

static ssize_t sys_raw_recvfrom(int fd, void *restrict buf, size_t n, int flags, __SOCKADDR_ARG from,
                                socklen_t *restrict length)
{
	return syscall(SYS_recvfrom, fd, buf, n, flags, from.__sockaddr__, length);
}

static ssize_t sys_raw_recvmsg(int fd, struct msghdr *m, int flags)
{
	return syscall(SYS_recvmsg, fd, m, flags);
}

static int sys_raw_fstatat(int fd, const char *restrict path, struct stat *restrict st, int flags)
{
	return (int)syscall(SYS_newfstatat, fd, path, st, flags);
}

static int sys_raw_fstatat64(int fd, const char *restrict path, struct stat64 *restrict st, int flags)
{
	return (int)syscall(SYS_newfstatat, fd, path, st, flags);
}

static ssize_t sys_raw_getdents64(int fd, void *buf, size_t n)
{
	return syscall(SYS_getdents64, fd, buf, n);
}

static char *sys_raw_getcwd(char *buf, size_t n)
{
	return syscall(SYS_getcwd, buf, n) < 0 ? NULL : buf;
}

bool tw_redirect(const char *name, void (*to)(void))
{
	static const unsigned char jump[] = {0xff, 0x25, 0, 0, 0, 0}; /* jmp *0(%rip): to the address behind it */
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)dlsym(RTLD_NEXT, name);
	void *first = (void *)(from & ~(page - 1));
	size_t bytes = from % page + sizeof(jump) + sizeof(to);

#if !defined(__x86_64__)
	return false;
#endif
	if (!from || mprotect(first, bytes, PROT_READ | PROT_WRITE | PROT_EXEC))
		return false;
	memcpy((void *)from, jump, sizeof(jump));
	memcpy((void *)(from + sizeof(jump)), &to, sizeof(to));
	return mprotect(first, bytes, PROT_READ | PROT_EXEC) == 0;
}

/* The wrappers of this file, even if the program has functions of these names, which call the C library's. */
#define SYS_OWN(name, also) static __typeof__(name) own_##name __attribute__((alias(#name), also))
SYS_OWN(read, unused);
SYS_OWN(write, unused);
SYS_OWN(recvfrom, unused);
SYS_OWN(recvmsg, unused);
SYS_OWN(getcwd, nothrow);
SYS_OWN(fstatat, nothrow);
SYS_OWN(getdents64, nothrow);

bool tw_syscalls_whole(void)
{
	tw_syscalls_init();
	/* _nocancel: of streams that the C library has opened for itself, as of /etc/hosts. */
	static const struct {
		const char *name;
		void (*to)(void);
	} whole[] = {
#define X(name, function)                                                                                              \
	{                                                                                                              \
		name, (void (*)(void))(uintptr_t)(function)                                                            \
	}
	    X("read", own_read),
	    X("write", own_write),
	    X("__read_nocancel", own_read),
	    X("__write_nocancel", own_write),
	    X("recvfrom", own_recvfrom),
	    X("recvmsg", own_recvmsg),
	    X("getcwd", own_getcwd),
	    X("fstatat", own_fstatat),
	    X("getdents64", own_getdents64),
#undef X
	};
	bool all = true;

	next.read = sys_raw_read;
	next.write = sys_raw_write;
	next.recvfrom = sys_raw_recvfrom;
	next.recvmsg = sys_raw_recvmsg;
	next.getcwd = sys_raw_getcwd;
	next.fstatat = sys_raw_fstatat;
	next.fstatat64 = sys_raw_fstatat64;
	next.getdents64 = sys_raw_getdents64;
	for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++)
		all = tw_redirect(whole[i].name, whole[i].to) && all;
	return all;
}

/* Touch a buffer if the backend needs it. Returns 0 when no part of it is shared. */
static unsigned sys_buffer(const void *ptr, size_t len, bool write)
{
	char *start, *end;

	if (!sys_ready)
		tw_syscalls_init();
	if (!tw_touched(ptr, len, &start, &end) || (tw_me->fault.ops->caps & TW_FAULT_SYSCALLS))
		return 0;
	tw_touch(ptr, len, write);
	return 1;
}

static unsigned sys_string(const char *s)
{
	return sys_buffer(s, 1, false) ? sys_buffer(s, strlen(s) + 1, false) : 0;
}

static unsigned sys_vector(const struct iovec *v, int count, bool write)
{
	unsigned shared = sys_buffer(v, count > 0 ? (size_t)count * sizeof(*v) : 0, false);
	for (int i = 0; i < count; i++)
		shared |= sys_buffer(v[i].iov_base, v[i].iov_len, write);
	return shared;
}

static unsigned sys_message(const struct msghdr *m, bool write)
{
	return sys_buffer(m, sizeof(*m), write) | sys_buffer(m->msg_name, m->msg_namelen, write) |
	       sys_buffer(m->msg_control, m->msg_controllen, write) | sys_vector(m->msg_iov, (int)m->msg_iovlen, write);
}

/* Announce what a call has stored; nothing when @len is negative. */
static void sys_stored(const void *ptr, ssize_t len)
{
	if (len > 0)
		tw_stores_add(ptr, (size_t)len);
}

static void sys_stored_vector(const struct iovec *v, size_t count, ssize_t len)
{
	for (; count > 0 && len > 0; v++, count--) {
		sys_stored(v->iov_base, TW_MIN((ssize_t)v->iov_len, len));
		len -= (ssize_t)v->iov_len;
	}
}

static void sys_stored_message(const struct msghdr *m, ssize_t len)
{
	sys_stored(m, sizeof(*m));
	sys_stored(m->msg_name, m->msg_name ? m->msg_namelen : 0);
	sys_stored(m->msg_control, m->msg_control ? (ssize_t)m->msg_controllen : 0);
	sys_stored_vector(m->msg_iov, m->msg_iovlen, len);
}

static void sys_stored_from(const void *buf, ssize_t len, const void *from, socklen_t room, const socklen_t *from_len)
{
	sys_stored(buf, len);
	if (from && from_len) {
		sys_stored(from, TW_MIN(room, *from_len));
		sys_stored(from_len, sizeof(*from_len));
	}
}

/* ---- calls that may block ---- */

static _Thread_local bool sys_switches; /* other threads may run in the midst of the next call */
static _Thread_local int sys_fails;     /* not 0: it is not made, but fails with this */

/* Before buffers are touched: threads that run while this one waits may take the rights to them. @flags: of recv and
 * the like. */
static void sys_await(int fd, int flags, short events, const void *caller)
{
	if (tw_descriptors_order && events == POLLOUT)
		tw_descriptors_order(fd, caller);
	int result = !(flags & MSG_DONTWAIT) && tw_syscalls_block ? tw_syscalls_block(fd, events, caller) : 0;
	sys_switches = result > 0;
	sys_fails = result < 0 ? errno : 0;
}

static ssize_t sys_fail(void)
{
	errno = sys_fails;
	return -1;
}

static void sys_block(void)
{
	tw_syscalls_blocked = sys_switches;
	if (sys_switches && tw_syscalls_look)
		tw_syscalls_look();
}

static ssize_t sys_unblock(ssize_t result, int fd, short events, const void *caller)
{
	tw_syscalls_blocked = 0;
	if (tw_descriptors_order && events == POLLIN && result >= 0)
		tw_descriptors_order(fd, caller);
	return result;
}

/* Flags of a transfer, of @any bytes: one of none does not wait. */
static int sys_waits(bool any)
{
	return any ? 0 : MSG_DONTWAIT;
}

static bool sys_vector_any(const struct iovec *v, int count)
{
	for (int i = 0; i < count; i++)
		if (v[i].iov_len)
			return true;
	return false;
}

/* In functions with a variable @caller. */
#define SYS_AWAITS(fd, flags, events, touch) (sys_await(fd, flags, events, caller), (touch))

#define SYS_BLOCKS(fd, events, call) (sys_fails ? sys_fail() : (sys_block(), sys_unblock(call, fd, events, caller)))

#define SYS_CALLER const void *caller = __builtin_return_address(0)

/* A call that moves all, with threads that may take the rights to a part of the buffer or interrupt it, goes on with
 * the rest, behind @done. */
#define SYS_WHOLE(n, call)                                                                                             \
	size_t done = 0;                                                                                               \
	ssize_t moved;                                                                                                 \
	do {                                                                                                           \
		moved = (call);                                                                                        \
		done += moved > 0 ? (size_t)moved : 0;                                                                 \
	} while (moved > 0 && done < (n) && tw_syscalls_block);                                                        \
	return done ? (ssize_t)done : moved

/* The body of a wrapper. @touch: an expression that touches every buffer; 0 when none is shared. @stored: one that
 * announces what a call with @result has stored. */
#define SYS_RETURN_STORED(type, touch, call, stored)                                                                   \
	unsigned shared, tries = 0;                                                                                    \
	type result;                                                                                                   \
	do {                                                                                                           \
		shared = (touch);                                                                                      \
		result = (call);                                                                                       \
	} while (shared && result == -1 && errno == EFAULT && ++tries < SYS_TRIES);                                    \
	if (result != -1)                                                                                              \
		stored;                                                                                                \
	return result
#define SYS_RETURN(type, touch, call) SYS_RETURN_STORED(type, touch, call, (void)0)
enum sys_op { SYS_READ, SYS_WRITE, SYS_PREAD, SYS_PWRITE };

static inline __attribute__((always_inline)) ssize_t sys_transfer_once(enum sys_op op, int fd, void *buf, size_t n,
                                                                       off_t at, const void *caller)
{
	for (unsigned tries = 0;; tries++) {
		bool to_buffer = op == SYS_READ || op == SYS_PREAD;
		if (op == SYS_READ || op == SYS_WRITE)
			sys_await(fd, sys_waits(n > 0), to_buffer ? POLLIN : POLLOUT, caller);
		unsigned shared = sys_buffer(buf, n, to_buffer);
		ssize_t r = op == SYS_READ    ? SYS_BLOCKS(fd, POLLIN, next.read(fd, buf, n))
		            : op == SYS_WRITE ? SYS_BLOCKS(fd, POLLOUT, next.write(fd, buf, n))
		            : op == SYS_PREAD ? next.pread(fd, buf, n, at)
		                              : next.pwrite(fd, buf, n, at);
		if (r > 0 && to_buffer)
			sys_stored(buf, r);
		if (r >= 0 || errno != EFAULT || !shared || tries == SYS_TRIES)
			return r;
		/* Another processor has taken a page; or fewer pages are available at once: transfer only the
		 * beginning. */
		if (tries >= SYS_TRIES / 2 && n > 1)
			n /= 2;
	}
}

/* A second call never blocks on a regular file: only there a transfer with shared memory is completed in pieces. */
static bool sys_in_pieces(int fd, const void *buf, size_t n)
{
	char *start, *end;
	struct stat st;

	return tw_touched(buf, n, &start, &end) && n <= SSIZE_MAX && !next.fstat(fd, &st) && S_ISREG(st.st_mode);
}

static __attribute__((noinline)) ssize_t sys_transfer_all(enum sys_op op, int fd, void *buf, size_t n, off_t at,
                                                          const void *caller)
{
	size_t done = 0;

	if (!sys_in_pieces(fd, buf, n))
		return sys_transfer_once(op, fd, buf, n, at, caller);
	while (done < n) {
		size_t piece = TW_MIN(n - done, SYS_PIECE);
		ssize_t r = sys_transfer_once(op, fd, (char *)buf + done, piece, at + (off_t)done, caller);
		if (r <= 0)
			return done ? (ssize_t)done : r;
		done += (size_t)r;
	}
	return (ssize_t)done;
}

/* @done of @n bytes were moved: complete it, for a page's right may have been taken between touch and transfer. */
static __attribute__((noinline, cold)) ssize_t sys_transfer_rest(enum sys_op op, int fd, void *buf, size_t n, off_t at,
                                                                 ssize_t done, const void *caller)
{
	if (!sys_in_pieces(fd, (char *)buf + done, n - (size_t)done))
		return done;
	ssize_t more = sys_transfer_all(op, fd, (char *)buf + done, n - (size_t)done, at + done, caller);
	return more > 0 ? done + more : done;
}

static void sys_mapped(int fd, off_t at, const struct iovec *v, int count, ssize_t written, const void *caller)
{
	if (tw_syscalls_mapped)
		tw_syscalls_mapped(fd, at, v, count, written, caller);
}

/* A call of @caller that does not wait, but at whose beginning a cancelled thread ends. */
static void sys_point(const void *caller)
{
	if (tw_syscalls_look && tw_syscalls_block)
		tw_syscalls_block(-1, 0, caller);
}

/* Inline, so that each of its callers knows @op. */
static inline __attribute__((always_inline)) ssize_t sys_transfer(enum sys_op op, int fd, void *buf, size_t n, off_t at,
                                                                  const void *caller)
{
	bool writes = op == SYS_WRITE || op == SYS_PWRITE;
	off_t where = op == SYS_PREAD || op == SYS_PWRITE ? at : -1;

	if (!writes)
		sys_mapped(fd, where, &(struct iovec){buf, n}, 1, -1, caller);
	ssize_t done = n <= SYS_PIECE ? sys_transfer_once(op, fd, buf, n, at, caller)
	                              : sys_transfer_all(op, fd, buf, n, at, caller);
	if (__builtin_expect(done > 0 && (size_t)done < n, 0))
		done = sys_transfer_rest(op, fd, buf, n, at, done, caller);
	if (writes && done > 0)
		sys_mapped(fd, where, &(struct iovec){buf, n}, 1, done, caller);
	return done;
}

#pragma GCC visibility push(default)

ssize_t read(int fd, void *buf, size_t n)
{
	return sys_transfer(SYS_READ, fd, buf, n, 0, __builtin_return_address(0));
}

static ssize_t sys_write(int fd, const void *buf, size_t n, const void *caller)
{
	SYS_WHOLE(n, sys_transfer(SYS_WRITE, fd, (char *)(uintptr_t)buf + done, n - done, 0, caller));
}

ssize_t write(int fd, const void *buf, size_t n)
{
	return sys_write(fd, buf, n, __builtin_return_address(0));
}

/* off_t and off64_t are the same on 64-bit machines. */
#define SYS_POSITIONED(suffix)                                                                                         \
	ssize_t pread##suffix(int fd, void *buf, size_t n, off_t at)                                                   \
	{                                                                                                              \
		sys_point(__builtin_return_address(0));                                                                \
		return sys_transfer(SYS_PREAD, fd, buf, n, at, __builtin_return_address(0));                           \
	}                                                                                                              \
	ssize_t pwrite##suffix(int fd, const void *buf, size_t n, off_t at)                                            \
	{                                                                                                              \
		sys_point(__builtin_return_address(0));                                                                \
		return sys_transfer(SYS_PWRITE, fd, (void *)buf, n, at, __builtin_return_address(0));                  \
	}                                                                                                              \
	ssize_t preadv##suffix(int fd, const struct iovec *v, int count, off_t at)                                     \
	{                                                                                                              \
		sys_point(__builtin_return_address(0));                                                                \
		sys_mapped(fd, at, v, count, -1, __builtin_return_address(0));                                         \
		SYS_RETURN_STORED(ssize_t, sys_vector(v, count, true), next.preadv(fd, v, count, at),                  \
		                  sys_stored_vector(v, (size_t)count, result));                                        \
	}                                                                                                              \
	ssize_t pwritev##suffix(int fd, const struct iovec *v, int count, off_t at)                                    \
	{                                                                                                              \
		sys_point(__builtin_return_address(0));                                                                \
		SYS_RETURN_STORED(ssize_t, sys_vector(v, count, false), next.pwritev(fd, v, count, at),                \
		                  sys_mapped(fd, at, v, count, result, __builtin_return_address(0)));                  \
	}
SYS_POSITIONED()
SYS_POSITIONED(64)

ssize_t readv(int fd, const struct iovec *v, int count)
{
	SYS_CALLER;
	sys_mapped(fd, -1, v, count, -1, caller);
	SYS_RETURN_STORED(
	    ssize_t, SYS_AWAITS(fd, sys_waits(sys_vector_any(v, count)), POLLIN, sys_vector(v, count, true)),
	    SYS_BLOCKS(fd, POLLIN, next.readv(fd, v, count)), sys_stored_vector(v, (size_t)count, result));
}

static ssize_t sys_writev(int fd, const struct iovec *v, int count, const void *caller)
{
	SYS_RETURN_STORED(
	    ssize_t, SYS_AWAITS(fd, sys_waits(sys_vector_any(v, count)), POLLOUT, sys_vector(v, count, false)),
	    SYS_BLOCKS(fd, POLLOUT, next.writev(fd, v, count)), sys_mapped(fd, -1, v, count, result, caller));
}

ssize_t writev(int fd, const struct iovec *v, int count)
{
	SYS_CALLER;
	ssize_t done = sys_writev(fd, v, count, caller), moved = done;

	/* The rest of what was moved in part only. */
	for (int i = 0; tw_syscalls_block && moved >= 0 && i < count; i++) {
		size_t first = TW_MIN((size_t)moved, v[i].iov_len), rest = v[i].iov_len - first;
		ssize_t more = rest ? sys_write(fd, (char *)v[i].iov_base + first, rest, caller) : 0;

		moved = more == (ssize_t)rest ? moved - (ssize_t)first : -1;
		done += more > 0 ? more : 0;
	}
	return done;
}

static ssize_t sys_recv(int fd, char *buf, size_t n, int flags, const void *caller)
{
	SYS_RETURN_STORED(ssize_t, SYS_AWAITS(fd, flags, POLLIN, sys_buffer(buf, n, true)),
	                  SYS_BLOCKS(fd, POLLIN, next.recv(fd, buf, n, flags)),
	                  sys_stored(buf, TW_MIN(result, (ssize_t)n)));
}

ssize_t recv(int fd, void *buf, size_t n, int flags)
{
	SYS_CALLER;
	if ((flags & (MSG_WAITALL | MSG_PEEK)) != MSG_WAITALL)
		return sys_recv(fd, buf, n, flags, caller);
	SYS_WHOLE(n, sys_recv(fd, (char *)buf + done, n - done, flags, caller));
}

static ssize_t sys_send(int fd, const char *buf, size_t n, int flags, const void *caller)
{
	SYS_RETURN(ssize_t, SYS_AWAITS(fd, flags, POLLOUT, sys_buffer(buf, n, false)),
	           SYS_BLOCKS(fd, POLLOUT, next.send(fd, buf, n, flags)));
}

ssize_t send(int fd, const void *buf, size_t n, int flags)
{
	SYS_CALLER;
	SYS_WHOLE(n, sys_send(fd, (const char *)buf + done, n - done, flags, caller));
}

ssize_t recvfrom(int fd, void *buf, size_t n, int flags, __SOCKADDR_ARG from, socklen_t *from_len)
{
	SYS_CALLER;
	socklen_t room = from_len ? *from_len : 0;
	SYS_RETURN_STORED(ssize_t,
	                  SYS_AWAITS(fd, flags, POLLIN,
	                             sys_buffer(buf, n, true) | sys_buffer(from.__sockaddr__, room, true) |
	                                 sys_buffer(from_len, from_len ? sizeof(*from_len) : 0, true)),
	                  SYS_BLOCKS(fd, POLLIN, next.recvfrom(fd, buf, n, flags, from, from_len)),
	                  sys_stored_from(buf, TW_MIN(result, (ssize_t)n), from.__sockaddr__, room, from_len));
}

ssize_t sendto(int fd, const void *buf, size_t n, int flags, __CONST_SOCKADDR_ARG to, socklen_t to_len)
{
	SYS_CALLER;
	SYS_RETURN(
	    ssize_t,
	    SYS_AWAITS(fd, flags, POLLOUT, sys_buffer(buf, n, false) | sys_buffer(to.__sockaddr__, to_len, false)),
	    SYS_BLOCKS(fd, POLLOUT, next.sendto(fd, buf, n, flags, to, to_len)));
}

ssize_t recvmsg(int fd, struct msghdr *m, int flags)
{
	SYS_CALLER;
	SYS_RETURN_STORED(ssize_t, SYS_AWAITS(fd, flags, POLLIN, sys_message(m, true)),
	                  SYS_BLOCKS(fd, POLLIN, next.recvmsg(fd, m, flags)), sys_stored_message(m, result));
}

ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
	SYS_CALLER;
	SYS_RETURN(ssize_t, SYS_AWAITS(fd, flags, POLLOUT, sys_message(m, false)),
	           SYS_BLOCKS(fd, POLLOUT, next.sendmsg(fd, m, flags)));
}

/* The C library moves large blocks between file and buffer without a copy, and an EFAULT would be final. */
#define SYS_STDIO(name, constant, write)                                                                               \
	size_t name(constant void *restrict buf, size_t size, size_t n, FILE *restrict f)                              \
	{                                                                                                              \
		size_t bytes, done = 0, moved = 1;                                                                     \
		if (__builtin_mul_overflow(size, n, &bytes) || !sys_buffer(buf, TW_MIN(bytes, SYS_PIECE), write)) {    \
			done = next.name(buf, size, n, f);                                                             \
			sys_stored(buf, (write) ? (ssize_t)(done * size) : 0);                                         \
			return done;                                                                                   \
		}                                                                                                      \
		flockfile(f);                                                                                          \
		for (size_t piece; done < bytes && moved; done += moved) {                                             \
			piece = TW_MIN(bytes - done, SYS_PIECE);                                                       \
			sys_buffer((constant char *)buf + done, piece, write);                                         \
			moved = next.name((constant char *)buf + done, 1, piece, f);                                   \
		}                                                                                                      \
		funlockfile(f);                                                                                        \
		sys_stored(buf, (write) ? (ssize_t)done : 0);                                                          \
		return done == bytes ? n : done / size;                                                                \
	}
SYS_STDIO(fread, , true)
SYS_STDIO(fwrite, const, false)
SYS_STDIO(fread_unlocked, , true)
SYS_STDIO(fwrite_unlocked, const, false)

int fputs(const char *restrict s, FILE *restrict f)
{
	sys_string(s);
	return next.fputs(s, f);
}

int puts(const char *s)
{
	sys_string(s);
	return next.puts(s);
}

#define SYS_STAT(suffix)                                                                                               \
	int stat##suffix(const char *restrict path, struct stat##suffix *restrict st)                                  \
	{                                                                                                              \
		SYS_RETURN_STORED(int, sys_string(path) | sys_buffer(st, sizeof(*st), true),                           \
		                  next.stat##suffix(path, st), sys_stored(st, sizeof(*st)));                           \
	}                                                                                                              \
	int lstat##suffix(const char *restrict path, struct stat##suffix *restrict st)                                 \
	{                                                                                                              \
		SYS_RETURN_STORED(int, sys_string(path) | sys_buffer(st, sizeof(*st), true),                           \
		                  next.lstat##suffix(path, st), sys_stored(st, sizeof(*st)));                          \
	}                                                                                                              \
	int fstat##suffix(int fd, struct stat##suffix *st)                                                             \
	{                                                                                                              \
		SYS_RETURN_STORED(int, sys_buffer(st, sizeof(*st), true), next.fstat##suffix(fd, st),                  \
		                  sys_stored(st, sizeof(*st)));                                                        \
	}                                                                                                              \
	int fstatat##suffix(int fd, const char *restrict path, struct stat##suffix *restrict st, int flags)            \
	{                                                                                                              \
		SYS_RETURN_STORED(int, sys_string(path) | sys_buffer(st, sizeof(*st), true),                           \
		                  next.fstatat##suffix(fd, path, st, flags), sys_stored(st, sizeof(*st)));             \
	}
SYS_STAT()
SYS_STAT(64)

/* libfabric searches the kernel's symbols, twice in each process, for the module of GPUs whose memory verbs could
 * register: 10,600 reads of 4 KiB. Tweed uses no such memory. */
static bool sys_spared(const char *path, const void *caller)
{
	if (!tw_fd_by_library(caller) || strcmp(path, "/proc/kallsyms") != 0)
		return false;
	errno = EACCES;
	return true;
}

FILE *tw_fopen(const char *path, const char *mode, const void *caller)
{
	unsigned shared, tries = 0;
	FILE *f;

	do {
		shared = sys_string(path);
		f = sys_spared(path, caller) ? NULL : next.fopen64(path, mode);
	} while (!f && shared && errno == EFAULT && ++tries < SYS_TRIES);
	return f;
}

#define SYS_OPEN(suffix)                                                                                               \
	static int sys_open##suffix(const char *path, int flags, mode_t mode)                                          \
	{                                                                                                              \
		SYS_RETURN(int, sys_string(path), next.open##suffix(path, flags, mode));                               \
	}                                                                                                              \
	static int sys_open_for##suffix(const char *path, int flags, mode_t mode, const void *caller)                  \
	{                                                                                                              \
		sys_point(caller);                                                                                     \
		unsigned char away = tw_descriptors_here(caller);                                                      \
		int opened = tw_descriptors_opened(sys_open##suffix(path, flags, mode), caller);                       \
		tw_fd_away = away;                                                                                     \
		return opened;                                                                                         \
	}                                                                                                              \
	int open##suffix(const char *path, int flags, ...)                                                             \
	{                                                                                                              \
		va_list ap;                                                                                            \
		va_start(ap, flags);                                                                                   \
		mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(ap, mode_t) : 0;                                \
		va_end(ap);                                                                                            \
		return sys_open_for##suffix(path, flags, mode, __builtin_return_address(0));                           \
	}                                                                                                              \
	__attribute__((weak)) int creat##suffix(const char *path, mode_t mode)                                         \
	{                                                                                                              \
		return sys_open_for##suffix(path, O_CREAT | O_WRONLY | O_TRUNC, mode, __builtin_return_address(0));    \
	}                                                                                                              \
	int openat##suffix(int fd, const char *path, int flags, ...)                                                   \
	{                                                                                                              \
		va_list ap;                                                                                            \
		va_start(ap, flags);                                                                                   \
		mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(ap, mode_t) : 0;                                \
		va_end(ap);                                                                                            \
		SYS_RETURN(int, sys_string(path), next.openat##suffix(fd, path, flags, mode));                         \
	}                                                                                                              \
	FILE *fopen##suffix(const char *restrict path, const char *restrict mode)                                      \
	{                                                                                                              \
		return tw_fopen(path, mode, __builtin_return_address(0));                                              \
	}
SYS_OPEN()
SYS_OPEN(64)

int access(const char *path, int mode)
{
	SYS_RETURN(int, sys_string(path), next.access(path, mode));
}

int unlink(const char *path)
{
	SYS_RETURN(int, sys_string(path), next.unlink(path));
}

char *getcwd(char *buf, size_t n)
{
	char own[PATH_MAX];

	if (!buf) { /* the C library would let the kernel write into what malloc has given */
		char *path = next.getcwd(own, n && n < sizeof(own) ? n : sizeof(own));
		return path ? strdup(path) : NULL;
	}
	sys_buffer(buf, n, true);
	char *path = next.getcwd(buf, n);
	if (path)
		sys_stored(buf, (ssize_t)strlen(path) + 1);
	return path;
}

ssize_t readlink(const char *restrict path, char *restrict buf, size_t n)
{
	SYS_RETURN_STORED(ssize_t, sys_string(path) | sys_buffer(buf, n, true), next.readlink(path, buf, n),
	                  sys_stored(buf, result));
}

ssize_t getrandom(void *buf, size_t n, unsigned flags)
{
	SYS_RETURN_STORED(ssize_t, sys_buffer(buf, n, true), next.getrandom(buf, n, flags), sys_stored(buf, result));
}

int getrusage(__rusage_who_t who, struct rusage *usage)
{
	SYS_RETURN_STORED(int, sys_buffer(usage, sizeof(*usage), true), next.getrusage(who, usage),
	                  sys_stored(usage, sizeof(*usage)));
}

static int sys_poll(struct pollfd *fds, nfds_t n, int timeout)
{
	SYS_RETURN_STORED(int, sys_buffer(fds, n * sizeof(*fds), true), next.poll(fds, n, timeout),
	                  sys_stored(fds, (ssize_t)(n * sizeof(*fds))));
}

/* Libraries of other compilers wait here. */
int poll(struct pollfd *fds, nfds_t n, int timeout)
{
	const void *caller = __builtin_return_address(0);
	int result;

	do {
		int rest = timeout;
		if (tw_syscalls_wait && timeout && !tw_syscalls_wait(fds, n, &rest, caller))
			return -1;
		result = sys_poll(fds, n, rest);
	} while (!result && timeout < 0); /* another processor has taken what came */
	return result;
}

ssize_t getdents64(int fd, void *buf, size_t n)
{
	SYS_RETURN_STORED(ssize_t, sys_buffer(buf, n, true), next.getdents64(fd, buf, n), sys_stored(buf, result));
}

#pragma GCC visibility pop

#endif
