/* SPDX-License-Identifier: BSD-3-Clause */
#include "runtime/process/hosts/calls.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/timerfd.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "core/base/base.h"
#include "core/process/syscalls.h"

#define FD                                                                                                             \
	{                                                                                                              \
		TH_FD, 0, 0                                                                                            \
	}
#define FOLDER                                                                                                         \
	{                                                                                                              \
		TH_FOLDER, 0, 0                                                                                        \
	}
#define PATH                                                                                                           \
	{                                                                                                              \
		TH_PATH, 0, 0                                                                                          \
	}
#define VALUE                                                                                                          \
	{                                                                                                              \
		TH_VALUE, 0, 0                                                                                         \
	}
#define IN(n)                                                                                                          \
	{                                                                                                              \
		TH_IN, TH_FIXED, n                                                                                     \
	}
#define OUT(n)                                                                                                         \
	{                                                                                                              \
		TH_OUT, TH_FIXED, n                                                                                    \
	}
#define BOTH(n)                                                                                                        \
	{                                                                                                              \
		TH_BOTH, TH_FIXED, n                                                                                   \
	}
#define IN_OF(i)                                                                                                       \
	{                                                                                                              \
		TH_IN, i, 1                                                                                            \
	}
#define OUT_OF(i)                                                                                                      \
	{                                                                                                              \
		TH_OUT, i, 1                                                                                           \
	}
#define BOTH_OF(i)                                                                                                     \
	{                                                                                                              \
		TH_BOTH, i, 1                                                                                          \
	}
#define ADDRESS(i)                                                                                                     \
	{                                                                                                              \
		TH_BOTH, (i) | TH_AT, 1                                                                                \
	}
#define SET                                                                                                            \
	{                                                                                                              \
		TH_BOTH, 0, 0                                                                                          \
	} /* of select(): as many bits as argument 0 says */
#define LENGTH   BOTH(sizeof(socklen_t))
#define TIMESPEC sizeof(struct timespec)

#define CALL(name, ...)           [SYS_##name] = {true, 0, {__VA_ARGS__}}
#define COUNTED(name, bytes, ...) [SYS_##name] = {true, bytes, {__VA_ARGS__}}

/* Vectors and messages are in away.c. */
static const struct th_call calls[] = {
    COUNTED(read, 1, FD, OUT_OF(2)),
    CALL(write, FD, IN_OF(2)),
    COUNTED(pread64, 1, FD, OUT_OF(2)),
    CALL(pwrite64, FD, IN_OF(2)),
    CALL(readv, FD),
    CALL(writev, FD),
    CALL(preadv, FD),
    CALL(pwritev, FD),
    CALL(preadv2, FD),
    CALL(pwritev2, FD),
    CALL(prlimit64, VALUE, VALUE, IN(sizeof(struct rlimit)), OUT(sizeof(struct rlimit))),
    CALL(setrlimit, VALUE, IN(sizeof(struct rlimit))),
    CALL(getrlimit, VALUE, OUT(sizeof(struct rlimit))),
    CALL(getppid, VALUE),
    CALL(getpgrp, VALUE),
    CALL(recvmsg, FD),
    CALL(sendmsg, FD),
    CALL(open, PATH),
    CALL(openat, FOLDER, PATH),
    CALL(openat2, FOLDER, PATH, IN_OF(3)),
    CALL(creat, PATH),
    CALL(close, FD),
    CALL(close_range, VALUE),
    CALL(lseek, FD),
    CALL(dup, FD),
    CALL(dup2, FD),
    CALL(dup3, FD),
    CALL(fcntl, FD),
    CALL(ioctl, FD),
    CALL(flock, FD),
    CALL(fsync, FD),
    CALL(fdatasync, FD),
    CALL(syncfs, FD),
    CALL(sync_file_range, FD),
    CALL(fadvise64, FD),
    CALL(readahead, FD),
    CALL(fallocate, FD),
    CALL(ftruncate, FD),
    CALL(truncate, PATH),
    CALL(stat, PATH, OUT(sizeof(struct stat))),
    CALL(lstat, PATH, OUT(sizeof(struct stat))),
    CALL(fstat, FD, OUT(sizeof(struct stat))),
    CALL(newfstatat, FOLDER, PATH, OUT(sizeof(struct stat))),
    CALL(statx, FOLDER, PATH, VALUE, VALUE, OUT(sizeof(struct statx))),
    CALL(statfs, PATH, OUT(sizeof(struct statfs))),
    CALL(fstatfs, FD, OUT(sizeof(struct statfs))),
    CALL(access, PATH),
    CALL(faccessat, FOLDER, PATH),
    CALL(faccessat2, FOLDER, PATH),
    COUNTED(getdents64, 1, FD, OUT_OF(2)),
    COUNTED(getcwd, 1, OUT_OF(1)),
    CALL(chdir, PATH),
    CALL(fchdir, FD),
    CALL(umask, VALUE),
    CALL(mkdir, PATH),
    CALL(mkdirat, FOLDER, PATH),
    CALL(rmdir, PATH),
    CALL(unlink, PATH),
    CALL(unlinkat, FOLDER, PATH),
    CALL(rename, PATH, PATH),
    CALL(renameat, FOLDER, PATH, FOLDER, PATH),
    CALL(renameat2, FOLDER, PATH, FOLDER, PATH),
    CALL(link, PATH, PATH),
    CALL(linkat, FOLDER, PATH, FOLDER, PATH),
    CALL(symlink, PATH, PATH),
    CALL(symlinkat, PATH, FOLDER, PATH),
    COUNTED(readlink, 1, PATH, OUT_OF(2)),
    COUNTED(readlinkat, 1, FOLDER, PATH, OUT_OF(3)),
    CALL(chmod, PATH),
    CALL(fchmod, FD),
    CALL(fchmodat, FOLDER, PATH),
    CALL(chown, PATH),
    CALL(fchown, FD),
    CALL(lchown, PATH),
    CALL(fchownat, FOLDER, PATH),
    CALL(utimensat, FOLDER, PATH, IN(2 * TIMESPEC)),
    CALL(utimes, PATH, IN(2 * sizeof(struct timeval))),
    CALL(futimesat, FOLDER, PATH, IN(2 * sizeof(struct timeval))),
    CALL(utime, PATH, IN(2 * sizeof(long))),
    CALL(setxattr, PATH, PATH, IN_OF(3)),
    CALL(lsetxattr, PATH, PATH, IN_OF(3)),
    CALL(fsetxattr, FD, PATH, IN_OF(3)),
    COUNTED(getxattr, 1, PATH, PATH, OUT_OF(3)),
    COUNTED(lgetxattr, 1, PATH, PATH, OUT_OF(3)),
    COUNTED(fgetxattr, 1, FD, PATH, OUT_OF(3)),
    COUNTED(listxattr, 1, PATH, OUT_OF(2)),
    COUNTED(llistxattr, 1, PATH, OUT_OF(2)),
    COUNTED(flistxattr, 1, FD, OUT_OF(2)),
    CALL(removexattr, PATH, PATH),
    CALL(lremovexattr, PATH, PATH),
    CALL(fremovexattr, FD, PATH),
    CALL(mknod, PATH),
    CALL(mknodat, FOLDER, PATH),
    CALL(pipe, OUT(2 * sizeof(int))),
    CALL(pipe2, OUT(2 * sizeof(int))),
    CALL(memfd_create, PATH),
    CALL(eventfd, VALUE),
    CALL(eventfd2, VALUE),
    CALL(timerfd_create, VALUE),
    CALL(timerfd_settime, FD, VALUE, IN(sizeof(struct itimerspec)), OUT(sizeof(struct itimerspec))),
    CALL(timerfd_gettime, FD, OUT(sizeof(struct itimerspec))),
    CALL(inotify_init, VALUE),
    CALL(inotify_init1, VALUE),
    CALL(inotify_add_watch, FD, PATH),
    CALL(inotify_rm_watch, FD),
    CALL(epoll_create, VALUE),
    CALL(epoll_create1, VALUE),
    CALL(epoll_ctl, FD, VALUE, FD, IN(sizeof(struct epoll_event))),
    COUNTED(epoll_wait, sizeof(struct epoll_event), FD, {TH_OUT, 2, sizeof(struct epoll_event)}),
    COUNTED(epoll_pwait, sizeof(struct epoll_event), FD, {TH_OUT, 2, sizeof(struct epoll_event)}),
    CALL(poll, {TH_BOTH, 1, sizeof(struct pollfd)}),
    CALL(ppoll, {TH_BOTH, 1, sizeof(struct pollfd)}, VALUE, BOTH(TIMESPEC)),
    CALL(select, VALUE, SET, SET, SET, BOTH(sizeof(struct timeval))),
    CALL(pselect6, VALUE, SET, SET, SET, BOTH(TIMESPEC)),
    CALL(sendfile, FD, FD, BOTH(sizeof(off_t))),
    CALL(copy_file_range, FD, BOTH(sizeof(off_t)), FD, BOTH(sizeof(off_t))),
    CALL(splice, FD, BOTH(sizeof(off_t)), FD, BOTH(sizeof(off_t))),
    CALL(tee, FD, FD),
    CALL(socket, VALUE),
    CALL(socketpair, VALUE, VALUE, VALUE, OUT(2 * sizeof(int))),
    CALL(bind, FD, IN_OF(2)),
    CALL(connect, FD, IN_OF(2)),
    CALL(listen, FD),
    CALL(accept, FD, ADDRESS(2), LENGTH),
    CALL(accept4, FD, ADDRESS(2), LENGTH),
    CALL(getsockname, FD, ADDRESS(2), LENGTH),
    CALL(getpeername, FD, ADDRESS(2), LENGTH),
    CALL(getsockopt, FD, VALUE, VALUE, ADDRESS(4), LENGTH),
    CALL(setsockopt, FD, VALUE, VALUE, IN_OF(4)),
    CALL(shutdown, FD),
    CALL(sendto, FD, IN_OF(2), VALUE, VALUE, IN_OF(5)),
    CALL(recvfrom, FD, BOTH_OF(2), VALUE, VALUE, ADDRESS(5), LENGTH),
};

#define CALLS      (sizeof(calls) / sizeof(calls[0]))
#define CALL_TRIES 16

const struct th_call *th_call_find(uint64_t number)
{
	return number < CALLS && calls[number].known ? &calls[number] : NULL;
}

bool th_call_travels(const struct th_call *call, const uint64_t arg[6], int first, int far)
{
	bool any = false, travels = false;

	for (unsigned i = 0; i < 6; i++)
		if (call->arg[i].kind == TH_FD || call->arg[i].kind == TH_FOLDER) {
			int fd = (int)arg[i];
			any = true;
			travels |= (fd < first && (fd >= 0 || call->arg[i].kind == TH_FOLDER)) || (fd >= 0 && fd & far);
		}
	return travels || !any;
}

enum th_call_way th_call_argument(const struct th_call *call, const uint64_t arg[6], unsigned i, uint32_t *bytes)
{
	const struct th_call_arg *a = &call->arg[i];
	const void *at = (const void *)(uintptr_t)arg[i];
	uint64_t of = a->of < 6 ? arg[a->of] : 0, n;

	*bytes = 0;
	if (a->kind == TH_VALUE || a->kind == TH_FD || a->kind == TH_FOLDER || !at)
		return TH_VALUE;
	if (a->kind == TH_PATH) {
		*bytes = (uint32_t)strlen(at) + 1;
		return TH_IN;
	}
	if (a->of == TH_FIXED)
		n = a->unit;
	else if (a->of & TH_AT)
		n = *(const socklen_t *)(uintptr_t)arg[a->of & ~TH_AT];
	else if (a->unit)
		n = of * a->unit;
	else
		n = TW_ALIGN_UP(of, 64) / 8;
	*bytes = (uint32_t)TW_MIN(n, (uint64_t)TH_CALL_MOST);
	return *bytes ? (enum th_call_way)a->kind : TH_VALUE;
}

static void call_touch(const struct th_call *call, const uint64_t arg[6])
{
	uint32_t bytes;

	for (unsigned i = 0; i < 6; i++) {
		const void *at = (const void *)(uintptr_t)arg[i];
		if (call->arg[i].kind == TH_PATH) {
			tw_touch_string(at);
		} else {
			enum th_call_way way = th_call_argument(call, arg, i, &bytes);
			tw_touch(at, way ? bytes : 0, way & TH_OUT);
		}
	}
}

/* What a call's argument points to, which is not known here. */
#define CALL_SOME ((size_t)4096)

long th_call_touched(long number, const long a[6])
{
	const struct th_call *call = th_call_find((uint64_t)number);
	uint64_t arg[6];
	long result;
	unsigned tries = 0;

	memcpy(arg, a, sizeof(arg));
	do {
		if (call)
			call_touch(call, arg);
		for (unsigned i = 0; i < 6 && !call && tries; i++)
			tw_touch((const void *)(uintptr_t)a[i], CALL_SOME, true);
		result = syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	} while (result == -1 && errno == EFAULT && ++tries < CALL_TRIES);
	return result;
}

enum th_call_way th_call_fcntl(int command, uint32_t *bytes)
{
	bool lock = command == F_GETLK || command == F_SETLK || command == F_SETLKW || command == F_OFD_GETLK ||
	            command == F_OFD_SETLK || command == F_OFD_SETLKW;
	bool owner = command == F_GETOWN_EX || command == F_SETOWN_EX;

	*bytes = lock ? sizeof(struct flock) : owner ? sizeof(struct f_owner_ex) : 0;
	return *bytes ? TH_BOTH : TH_VALUE;
}

enum th_call_way th_call_ioctl(uint32_t command, uint32_t *bytes)
{
	static const struct {
		uint32_t command, bytes;
	} known[] = {{FIONREAD, 4}, {FIONBIO, 4}, {FIOASYNC, 4}, {TIOCOUTQ, 4}, {TIOCGPGRP, 4},  {TIOCSPGRP, 4},
	             {TCGETS, 36},  {TCSETS, 36}, {TCSETSW, 36}, {TCSETSF, 36}, {TIOCGWINSZ, 8}, {TIOCSWINSZ, 8}};

	*bytes = _IOC_SIZE(command);
	for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].command == command)
			*bytes = known[i].bytes;
	return *bytes ? TH_BOTH : TH_VALUE;
}
