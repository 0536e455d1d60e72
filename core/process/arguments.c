/* SPDX-License-Identifier: BSD-3-Clause */
/* arguments.c - wraps further functions of the C library that pass pointers to the kernel, as syscalls.c does: what is
 * shared memory is touched first, and the call is repeated if rights were lost meanwhile.
 *
 * The wrappers are weak, so that a program's own function of such a name can be linked. */
#undef _FORTIFY_SOURCE
#undef _FILE_OFFSET_BITS

#include "core/base/base.h"
#include "core/base/clock.h"
#include "core/process/fork.h"
#include "core/process/syscalls.h"

#if !TW_ASAN && !TW_TSAN

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <grp.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/times.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>

#define ARG_TRIES   16
#define ARG_FOLDER  ((size_t)33 << 10) /* of a DIR with its buffer */
#define ARG_WRAP    __attribute__((weak, visibility("default")))
#define ARG_IN(p)   tw_touch(p, sizeof(*(p)), false)
#define ARG_OUT(p)  tw_touch(p, sizeof(*(p)), true)
#define ARG_PATH(p) tw_touch_string(p)
#define ARG_SET(p)  tw_touch(p, sizeof(fd_set), true)
#define ARG_TWO(p)  tw_touch(p, 2 * sizeof(*(p)), false)

/* type, name, parameters, arguments, what is touched */
/* clang-format off */
#define ARG_CALLS(X) \
	X(int, bind, (int fd, __CONST_SOCKADDR_ARG to, socklen_t n), (fd, to, n), tw_touch(to.__sockaddr__, n, false)) \
	X(int, getsockname, (int fd, __SOCKADDR_ARG of, socklen_t *restrict n), (fd, of, n), \
	  (ARG_OUT(n), tw_touch(of.__sockaddr__, *n, true))) \
	X(int, getpeername, (int fd, __SOCKADDR_ARG of, socklen_t *restrict n), (fd, of, n), \
	  (ARG_OUT(n), tw_touch(of.__sockaddr__, *n, true))) \
	X(int, setsockopt, (int fd, int level, int name, const void *p, socklen_t n), (fd, level, name, p, n), \
	  tw_touch(p, n, false)) \
	X(int, getsockopt, (int fd, int level, int name, void *restrict p, socklen_t *restrict n), \
	  (fd, level, name, p, n), (ARG_OUT(n), tw_touch(p, *n, true))) \
	X(int, epoll_ctl, (int fd, int op, int of, struct epoll_event *e), (fd, op, of, e), ARG_IN(e)) \
	X(int, select, (int n, fd_set *restrict in, fd_set *restrict out, fd_set *restrict other, \
	  struct timeval *restrict t), (n, in, out, other, t), \
	  (ARG_SET(in), ARG_SET(out), ARG_SET(other), ARG_OUT(t))) \
	X(int, getentropy, (void *p, size_t n), (p, n), tw_touch(p, n, true)) \
	X(int, adjtimex, (struct timex *t), (t), ARG_OUT(t)) \
	X(int, clock_adjtime, (clockid_t c, struct timex *t), (c, t), ARG_OUT(t)) \
	X(int, sched_getparam, (pid_t pid, struct sched_param *s), (pid, s), ARG_OUT(s)) \
	X(int, sched_rr_get_interval, (pid_t pid, struct timespec *t), (pid, t), ARG_OUT(t)) \
	X(int, getresuid, (uid_t *real, uid_t *now, uid_t *saved), (real, now, saved), \
	  (ARG_OUT(real), ARG_OUT(now), ARG_OUT(saved))) \
	X(int, getresgid, (gid_t *real, gid_t *now, gid_t *saved), (real, now, saved), \
	  (ARG_OUT(real), ARG_OUT(now), ARG_OUT(saved))) \
	X(int, msgctl, (int id, int command, struct msqid_ds *m), (id, command, m), \
	  command == IPC_RMID ? (void)0 : ARG_OUT(m)) \
	X(ssize_t, process_vm_readv, (pid_t pid, const struct iovec *to, unsigned long n, const struct iovec *from, \
	  unsigned long m, unsigned long flags), (pid, to, n, from, m, flags), \
	  (arg_touch_vector(to, n, true), tw_touch(from, m * sizeof(*from), false))) \
	X(ssize_t, process_vm_writev, (pid_t pid, const struct iovec *from, unsigned long n, const struct iovec *to, \
	  unsigned long m, unsigned long flags), (pid, from, n, to, m, flags), \
	  (arg_touch_vector(from, n, false), tw_touch(to, m * sizeof(*to), false))) \
	X(int, chdir, (const char *path), (path), ARG_PATH(path)) \
	X(int, mkdir, (const char *path, mode_t mode), (path, mode), ARG_PATH(path)) \
	X(int, rmdir, (const char *path), (path), ARG_PATH(path)) \
	X(int, chmod, (const char *path, mode_t mode), (path, mode), ARG_PATH(path)) \
	X(int, truncate, (const char *path, off_t n), (path, n), ARG_PATH(path)) \
	X(int, rename, (const char *from, const char *to), (from, to), (ARG_PATH(from), ARG_PATH(to))) \
	X(int, link, (const char *from, const char *to), (from, to), (ARG_PATH(from), ARG_PATH(to))) \
	X(int, symlink, (const char *from, const char *to), (from, to), (ARG_PATH(from), ARG_PATH(to))) \
	X(int, unlinkat, (int fd, const char *path, int flags), (fd, path, flags), ARG_PATH(path)) \
	X(int, mkdirat, (int fd, const char *path, mode_t mode), (fd, path, mode), ARG_PATH(path)) \
	X(int, remove, (const char *path), (path), ARG_PATH(path)) \
	X(int, statfs, (const char *path, struct statfs *st), (path, st), (ARG_PATH(path), ARG_OUT(st))) \
	X(int, fstatfs, (int fd, struct statfs *st), (fd, st), ARG_OUT(st)) \
	X(int, utimensat, (int fd, const char *path, const struct timespec t[2], int flags), (fd, path, t, flags), \
	  (ARG_PATH(path), ARG_TWO(t))) \
	X(int, futimens, (int fd, const struct timespec t[2]), (fd, t), ARG_TWO(t)) \
	X(DIR *, opendir, (const char *path), (path), ARG_PATH(path)) \
	X(struct dirent *, readdir, (DIR *d), (d), tw_touch(d, ARG_FOLDER, true)) \
	X(struct dirent64 *, readdir64, (DIR *d), (d), tw_touch(d, ARG_FOLDER, true)) \
	X(ssize_t, splice, (int from, off64_t *at, int to, off64_t *as, size_t n, unsigned flags), \
	  (from, at, to, as, n, flags), (ARG_OUT(at), ARG_OUT(as))) \
	X(int, timerfd_settime, (int fd, int flags, const struct itimerspec *t, struct itimerspec *old), \
	  (fd, flags, t, old), (ARG_IN(t), ARG_OUT(old))) \
	X(int, timerfd_gettime, (int fd, struct itimerspec *t), (fd, t), ARG_OUT(t)) \
	X(int, setitimer, (__itimer_which_t which, const struct itimerval *restrict t, struct itimerval *restrict old), \
	  (which, t, old), (ARG_IN(t), ARG_OUT(old))) \
	X(int, getitimer, (__itimer_which_t which, struct itimerval *t), (which, t), ARG_OUT(t)) \
	X(int, timer_create, (clockid_t clock, struct sigevent *restrict e, timer_t *restrict id), (clock, e, id), \
	  (ARG_IN(e), ARG_OUT(id))) \
	X(int, timer_settime, (timer_t id, int flags, const struct itimerspec *restrict t, \
	  struct itimerspec *restrict old), (id, flags, t, old), (ARG_IN(t), ARG_OUT(old))) \
	X(int, timer_gettime, (timer_t id, struct itimerspec *t), (id, t), ARG_OUT(t)) \
	X(pid_t, waitpid, (pid_t pid, int *status, int options), (pid, status, options), ARG_OUT(status)) \
	X(pid_t, wait4, (pid_t pid, int *status, int options, struct rusage *usage), (pid, status, options, usage), \
	  (ARG_OUT(status), ARG_OUT(usage))) \
	X(pid_t, wait, (int *status), (status), ARG_OUT(status)) \
	X(int, waitid, (idtype_t type, id_t id, siginfo_t *info, int options), (type, id, info, options), \
	  ARG_OUT(info)) \
	X(int, sigtimedwait, (const sigset_t *restrict set, siginfo_t *restrict info, \
	  const struct timespec *restrict t), (set, info, t), (ARG_IN(set), ARG_OUT(info), ARG_IN(t))) \
	X(int, sigwaitinfo, (const sigset_t *restrict set, siginfo_t *restrict info), (set, info), \
	  (ARG_IN(set), ARG_OUT(info))) \
	X(int, sigpending, (sigset_t *set), (set), ARG_OUT(set)) \
	X(int, nanosleep, (const struct timespec *t, struct timespec *left), (t, left), (ARG_IN(t), ARG_OUT(left))) \
	X(int, getrlimit, (__rlimit_resource_t what, struct rlimit *limit), (what, limit), ARG_OUT(limit)) \
	X(int, setrlimit, (__rlimit_resource_t what, const struct rlimit *limit), (what, limit), ARG_IN(limit)) \
	X(int, uname, (struct utsname *name), (name), ARG_OUT(name)) \
	X(int, sysinfo, (struct sysinfo *info), (info), ARG_OUT(info)) \
	X(int, statx, (int fd, const char *restrict path, int flags, unsigned mask, struct statx *restrict st), \
	  (fd, path, flags, mask, st), (ARG_PATH(path), ARG_OUT(st))) \
	X(int, statvfs, (const char *restrict path, struct statvfs *restrict st), (path, st), \
	  (ARG_PATH(path), ARG_OUT(st))) \
	X(int, faccessat, (int fd, const char *path, int mode, int flags), (fd, path, mode, flags), ARG_PATH(path)) \
	X(int, euidaccess, (const char *path, int mode), (path, mode), ARG_PATH(path)) \
	X(int, eaccess, (const char *path, int mode), (path, mode), ARG_PATH(path)) \
	X(long, pathconf, (const char *path, int name), (path, name), ARG_PATH(path)) \
	X(ssize_t, readlinkat, (int fd, const char *restrict path, char *restrict buf, size_t n), \
	  (fd, path, buf, n), (ARG_PATH(path), tw_touch(buf, n, true))) \
	X(int, renameat, (int fd, const char *from, int in, const char *to), (fd, from, in, to), \
	  (ARG_PATH(from), ARG_PATH(to))) \
	X(int, renameat2, (int fd, const char *from, int in, const char *to, unsigned flags), \
	  (fd, from, in, to, flags), (ARG_PATH(from), ARG_PATH(to))) \
	X(int, linkat, (int fd, const char *from, int in, const char *to, int flags), (fd, from, in, to, flags), \
	  (ARG_PATH(from), ARG_PATH(to))) \
	X(int, symlinkat, (const char *from, int in, const char *to), (from, in, to), (ARG_PATH(from), ARG_PATH(to))) \
	X(int, fchmodat, (int fd, const char *path, mode_t mode, int flags), (fd, path, mode, flags), \
	  ARG_PATH(path)) \
	X(int, chown, (const char *path, uid_t user, gid_t group), (path, user, group), ARG_PATH(path)) \
	X(int, lchown, (const char *path, uid_t user, gid_t group), (path, user, group), ARG_PATH(path)) \
	X(int, fchownat, (int fd, const char *path, uid_t user, gid_t group, int flags), \
	  (fd, path, user, group, flags), ARG_PATH(path)) \
	X(int, mkfifo, (const char *path, mode_t mode), (path, mode), ARG_PATH(path)) \
	X(int, mkfifoat, (int fd, const char *path, mode_t mode), (fd, path, mode), ARG_PATH(path)) \
	X(int, mknod, (const char *path, mode_t mode, dev_t device), (path, mode, device), ARG_PATH(path)) \
	X(int, mknodat, (int fd, const char *path, mode_t mode, dev_t device), (fd, path, mode, device), \
	  ARG_PATH(path)) \
	X(int, utimes, (const char *path, const struct timeval t[2]), (path, t), (ARG_PATH(path), ARG_TWO(t))) \
	X(int, lutimes, (const char *path, const struct timeval t[2]), (path, t), (ARG_PATH(path), ARG_TWO(t))) \
	X(int, futimes, (int fd, const struct timeval t[2]), (fd, t), ARG_TWO(t)) \
	X(int, futimesat, (int fd, const char *path, const struct timeval t[2]), (fd, path, t), \
	  (ARG_PATH(path), ARG_TWO(t))) \
	X(int, utime, (const char *path, const struct utimbuf *t), (path, t), (ARG_PATH(path), ARG_IN(t))) \
	X(int, setxattr, (const char *path, const char *name, const void *p, size_t n, int flags), \
	  (path, name, p, n, flags), (ARG_PATH(path), ARG_PATH(name), tw_touch(p, n, false))) \
	X(int, lsetxattr, (const char *path, const char *name, const void *p, size_t n, int flags), \
	  (path, name, p, n, flags), (ARG_PATH(path), ARG_PATH(name), tw_touch(p, n, false))) \
	X(int, fsetxattr, (int fd, const char *name, const void *p, size_t n, int flags), (fd, name, p, n, flags), \
	  (ARG_PATH(name), tw_touch(p, n, false))) \
	X(ssize_t, getxattr, (const char *path, const char *name, void *p, size_t n), (path, name, p, n), \
	  (ARG_PATH(path), ARG_PATH(name), tw_touch(p, n, true))) \
	X(ssize_t, lgetxattr, (const char *path, const char *name, void *p, size_t n), (path, name, p, n), \
	  (ARG_PATH(path), ARG_PATH(name), tw_touch(p, n, true))) \
	X(ssize_t, fgetxattr, (int fd, const char *name, void *p, size_t n), (fd, name, p, n), \
	  (ARG_PATH(name), tw_touch(p, n, true))) \
	X(ssize_t, listxattr, (const char *path, char *p, size_t n), (path, p, n), \
	  (ARG_PATH(path), tw_touch(p, n, true))) \
	X(ssize_t, llistxattr, (const char *path, char *p, size_t n), (path, p, n), \
	  (ARG_PATH(path), tw_touch(p, n, true))) \
	X(ssize_t, flistxattr, (int fd, char *p, size_t n), (fd, p, n), tw_touch(p, n, true)) \
	X(int, removexattr, (const char *path, const char *name), (path, name), (ARG_PATH(path), ARG_PATH(name))) \
	X(int, lremovexattr, (const char *path, const char *name), (path, name), (ARG_PATH(path), ARG_PATH(name))) \
	X(int, fremovexattr, (int fd, const char *name), (fd, name), ARG_PATH(name)) \
	X(int, inotify_add_watch, (int fd, const char *path, uint32_t mask), (fd, path, mask), ARG_PATH(path)) \
	X(int, prlimit, (pid_t pid, enum __rlimit_resource what, const struct rlimit *limit, struct rlimit *old), \
	  (pid, what, limit, old), (ARG_IN(limit), ARG_OUT(old))) \
	X(int, getgroups, (int n, gid_t *list), (n, list), tw_touch(list, (size_t)TW_MAX(n, 0) * sizeof(*list), true)) \
	X(int, semop, (int id, struct sembuf *p, size_t n), (id, p, n), tw_touch(p, n * sizeof(*p), false)) \
	X(int, semtimedop, (int id, struct sembuf *p, size_t n, const struct timespec *t), (id, p, n, t), \
	  (tw_touch(p, n * sizeof(*p), false), ARG_IN(t))) \
	X(int, statfs64, (const char *path, struct statfs64 *st), (path, st), (ARG_PATH(path), ARG_OUT(st))) \
	X(int, fstatfs64, (int fd, struct statfs64 *st), (fd, st), ARG_OUT(st)) \
	X(int, statvfs64, (const char *restrict path, struct statvfs64 *restrict st), (path, st), \
	  (ARG_PATH(path), ARG_OUT(st))) \
	X(int, truncate64, (const char *path, off64_t n), (path, n), ARG_PATH(path)) \
	X(int, prlimit64, (pid_t pid, enum __rlimit_resource what, const struct rlimit64 *limit, \
	  struct rlimit64 *old), (pid, what, limit, old), (ARG_IN(limit), ARG_OUT(old))) \
	X(int, getrlimit64, (__rlimit_resource_t what, struct rlimit64 *limit), (what, limit), ARG_OUT(limit)) \
	X(int, setrlimit64, (__rlimit_resource_t what, const struct rlimit64 *limit), (what, limit), ARG_IN(limit))
/* The same for cancellation points, most of which wait. */
#define ARG_POINTS(X) \
	X(ssize_t, preadv2, (int fd, const struct iovec *v, int n, off_t at, int flags), (fd, v, n, at, flags), \
	  arg_touch_vector(v, (size_t)TW_MAX(n, 0), true)) \
	X(ssize_t, pwritev2, (int fd, const struct iovec *v, int n, off_t at, int flags), (fd, v, n, at, flags), \
	  arg_touch_vector(v, (size_t)TW_MAX(n, 0), false)) \
	X(int, connect, (int fd, __CONST_SOCKADDR_ARG to, socklen_t n), (fd, to, n), \
	  tw_touch(to.__sockaddr__, n, false)) \
	X(int, sendmmsg, (int fd, struct mmsghdr *m, unsigned n, int flags), (fd, m, n, flags), \
	  arg_touch_messages(m, n, false)) \
	X(int, recvmmsg, (int fd, struct mmsghdr *m, unsigned n, int flags, struct timespec *t), \
	  (fd, m, n, flags, t), (arg_touch_messages(m, n, true), ARG_OUT(t))) \
	X(int, msgsnd, (int id, const void *p, size_t n, int flags), (id, p, n, flags), \
	  tw_touch(p, n + sizeof(long), false)) \
	X(ssize_t, msgrcv, (int id, void *p, size_t n, long type, int flags), (id, p, n, type, flags), \
	  tw_touch(p, n + sizeof(long), true))
/* clang-format on */

static void arg_touch_vector(const struct iovec *v, size_t n, bool write)
{
	tw_touch(v, n * sizeof(*v), false);
	for (size_t i = 0; i < n; i++)
		tw_touch(v[i].iov_base, v[i].iov_len, write);
}

static void arg_touch_messages(struct mmsghdr *m, unsigned n, bool write)
{
	tw_touch(m, n * sizeof(*m), true);
	for (unsigned i = 0; i < n; i++) {
		tw_touch(m[i].msg_hdr.msg_name, m[i].msg_hdr.msg_namelen, write);
		tw_touch(m[i].msg_hdr.msg_control, m[i].msg_hdr.msg_controllen, write);
		arg_touch_vector(m[i].msg_hdr.msg_iov, m[i].msg_hdr.msg_iovlen, write);
	}
}

static struct {
#define X(type, name, parameters, arguments, touch) __typeof__(name) *name;
	ARG_CALLS(X)
	ARG_POINTS(X)
#undef X
	__typeof__(arc4random_buf) *arc4random_buf;
	__typeof__(epoll_wait) *epoll_wait;
	__typeof__(fcntl) *fcntl;
	__typeof__(ioctl) *ioctl;
} next;

static __typeof__(nanosleep) *next_nanosleep;

/* In virtual time the clock goes on, and this process does not sleep. */
static int arg_nanosleep(const struct timespec *t, struct timespec *left)
{
	if (!tw_virtual || tw_forked() || t->tv_sec < 0 || (unsigned long)t->tv_nsec >= 1000000000u)
		return next_nanosleep(t, left);
	tw_gate_enter();
	tw_delay((uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_nsec);
	return 0;
}

/* Also a constructor: dlsym is not safe in signal handlers, where these functions may be called first. */
static void __attribute__((constructor)) arg_find(void)
{
	if (next.ioctl)
		return;
#define X(type, name, parameters, arguments, touch) *(void **)&next.name = dlsym(RTLD_NEXT, #name);
	ARG_CALLS(X)
	ARG_POINTS(X)
#undef X
	next_nanosleep = next.nanosleep;
	next.nanosleep = arg_nanosleep;
	*(void **)&next.arc4random_buf = dlsym(RTLD_NEXT, "arc4random_buf");
	*(void **)&next.epoll_wait = dlsym(RTLD_NEXT, "epoll_wait");
	*(void **)&next.fcntl = dlsym(RTLD_NEXT, "fcntl");
	*(void **)&next.ioctl = dlsym(RTLD_NEXT, "ioctl");
}

/* Does a call of @caller begin that waits? */
static void arg_block(const void *caller)
{
	arg_find();
	tw_syscalls_blocked = tw_syscalls_block && tw_syscalls_block(-1, 0, caller) > 0;
	if (tw_syscalls_blocked && tw_syscalls_look)
		tw_syscalls_look();
}

/* It has failed.  Is it to be made again? */
static bool arg_again(unsigned *tries)
{
	return (errno == EFAULT && ++*tries < ARG_TRIES) ||
	       (errno == EINTR && tw_syscalls_blocked && tw_syscalls_again && tw_syscalls_again());
}

#define ARG_BODY(type, name, parameters, arguments, touch, begin)                                                      \
	ARG_WRAP type name parameters                                                                                  \
	{                                                                                                              \
		unsigned tries = 0;                                                                                    \
		type result;                                                                                           \
		begin;                                                                                                 \
		do {                                                                                                   \
			touch;                                                                                         \
			result = next.name arguments;                                                                  \
		} while ((intptr_t)result == (intptr_t)(type)-1 && arg_again(&tries));                                 \
		tw_syscalls_blocked = false;                                                                           \
		return result;                                                                                         \
	}
#define X(type, name, parameters, arguments, touch) ARG_BODY(type, name, parameters, arguments, touch, arg_find())
ARG_CALLS(X)
#undef X
#define X(type, name, parameters, arguments, touch)                                                                    \
	ARG_BODY(type, name, parameters, arguments, touch, arg_block(__builtin_return_address(0)))
ARG_POINTS(X)
#undef X

/* The C library ends the process where the kernel cannot store: so it does into the stack. */
ARG_WRAP void arc4random_buf(void *p, size_t n)
{
	char piece[256];

	arg_find();
	for (size_t done = 0, some; done < n; done += some) {
		some = TW_MIN(n - done, sizeof(piece));
		next.arc4random_buf(piece, some);
		memcpy((char *)p + done, piece, some);
	}
}

/* The kernel moves data of files, which may be mapped. */
static void arg_mapped(int fd, off64_t at, size_t n, ssize_t written, const void *caller)
{
	if (tw_syscalls_mapped)
		tw_syscalls_mapped(fd, at, &(struct iovec){.iov_len = n}, 1, written, caller);
}

static ssize_t arg_send_file(int to, int from, off64_t *at, size_t n, const void *caller)
{
	ARG_OUT(at);
	arg_mapped(from, at ? *at : -1, n, -1, caller);
	ssize_t moved = syscall(SYS_sendfile, to, from, at, n);
	if (moved > 0)
		arg_mapped(to, -1, (size_t)moved, moved, caller);
	return moved;
}

ARG_WRAP ssize_t sendfile(int to, int from, off_t *at, size_t n)
{
	return arg_send_file(to, from, at, n, __builtin_return_address(0));
}

ARG_WRAP ssize_t sendfile64(int to, int from, off64_t *at, size_t n)
{
	return arg_send_file(to, from, at, n, __builtin_return_address(0));
}

ARG_WRAP ssize_t copy_file_range(int from, off64_t *at, int to, off64_t *as, size_t n, unsigned flags)
{
	const void *caller = __builtin_return_address(0);

	ARG_OUT(at);
	ARG_OUT(as);
	arg_mapped(from, at ? *at : -1, n, -1, caller);
	ssize_t moved = syscall(SYS_copy_file_range, from, at, to, as, n, flags);
	if (moved > 0)
		arg_mapped(to, as ? *as - moved : -1, (size_t)moved, moved, caller);
	return moved;
}

/* Libraries of other compilers wait here, libevent for instance. */
ARG_WRAP int epoll_wait(int fd, struct epoll_event *e, int most, int ms)
{
	const void *caller = __builtin_return_address(0);
	struct pollfd one = {.fd = fd, .events = POLLIN};
	int result, rest = ms;
	unsigned tries = 0;

	arg_find();
	do {
		if (tw_syscalls_wait && !tw_syscalls_wait(&one, 1, &rest, caller))
			return -1;
		tw_touch(e, sizeof(*e) * (most < 0 ? 0 : (size_t)most), true);
		result = next.epoll_wait(fd, e, most, rest);
		if (!result && ms < 0)
			rest = ms; /* another processor has taken the event */
	} while ((result < 0 && errno == EFAULT && ++tries < ARG_TRIES) || (!result && ms < 0));
	return result;
}

/* With an argument that is a number or a pointer. */
static void arg_touch_lock(int command, const void *argument)
{
	switch (command) {
	case F_GETLK:
	case F_SETLK:
	case F_SETLKW:
	case F_OFD_GETLK:
	case F_OFD_SETLK:
	case F_OFD_SETLKW:
		tw_touch(argument, sizeof(struct flock), true);
		break;
	default:
		break;
	}
}

static int arg_fcntl(int fd, int command, void *argument)
{
	arg_find();
	arg_touch_lock(command, argument);
	return next.fcntl(fd, command, argument);
}

ARG_WRAP int fcntl(int fd, int command, ...)
{
	va_list ap;

	va_start(ap, command);
	void *argument = va_arg(ap, void *);
	va_end(ap);
	return arg_fcntl(fd, command, argument);
}

ARG_WRAP int fcntl64(int fd, int command, ...)
{
	va_list ap;

	va_start(ap, command);
	void *argument = va_arg(ap, void *);
	va_end(ap);
	return arg_fcntl(fd, command, argument);
}

/* A number is not an address in shared memory. */
ARG_WRAP int ioctl(int fd, unsigned long request, ...)
{
	va_list ap;

	va_start(ap, request);
	void *argument = va_arg(ap, void *);
	va_end(ap);
	arg_find();
	tw_touch(argument, _IOC_SIZE(request) ? _IOC_SIZE(request) : sizeof(long), true);
	return next.ioctl(fd, request, argument);
}

#endif
