/* SPDX-License-Identifier: BSD-3-Clause */
/* arguments.c - calls whose names and buffers only the kernel reads or writes on the thread's processor: each is on a
 * page of its own, which main has filled. */
#include <dirent.h>
#include <fts.h>
#include <ftw.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <utime.h>
#include "process.h"

#define PAGES 32

static char *page[MANY + 1][PAGES];
static int used[MANY + 1], fd, pair[2];

/* A page that main has filled. */
static void *next(int me)
{
	return page[me][used[me]++];
}

/* One that begins with the name @format of thread @me. */
static char *named(int me, const char *format, int of)
{
	char *name = page[me][used[me]++];

	sprintf(name, format, of);
	return name;
}

static void fill(void)
{
	for (int i = 1; i <= threads; i++) {
		used[i] = 0;
		for (int k = 0; k < PAGES; k++) {
			if (!page[i][k])
				page[i][k] = aligned_alloc(4096, 4096);
			memset(page[i][k], 0x55, 4096);
		}
	}
}

/* Main's part: names, in the order in which the steps take pages; "%%": a page for a buffer. */
static void names(const char *const *formats)
{
	fill();
	for (int i = 1; i <= threads; i++) {
		for (int k = 0; formats[k]; k++)
			named(i, formats[k], i);
		used[i] = 0;
	}
}

/* ---- what files are ---- */

static void states_step(void *arg, int me)
{
	struct statx *x;
	struct statfs *f;
	struct statvfs *v;
	char *name;

	(void)arg;
	name = next(me), x = next(me);
	say("%d statx %s", me, err(statx(AT_FDCWD, name, 0, STATX_SIZE, x)));
	say(" %lld\n", (long long)x->stx_size);
	name = next(me), x = next(me);
	say("%d by number %s", me, err(syscall(SYS_statx, AT_FDCWD, name, 0, STATX_SIZE, x)));
	say(" %lld\n", (long long)x->stx_size);
	name = next(me), f = next(me);
	say("%d statfs64 %s\n", me, err(statfs64(name, (struct statfs64 *)f)));
	f = next(me);
	say("%d fstatfs64 %s\n", me, err(fstatfs64(fd, (struct statfs64 *)f)));
	name = next(me), v = next(me);
	say("%d statvfs %s", me, err(statvfs(name, v)));
	say(" %d\n", v->f_namemax > 0);
	name = next(me);
	say("%d faccessat %s\n", me, err(faccessat(AT_FDCWD, name, R_OK, 0)));
	name = next(me);
	say("%d euidaccess %s\n", me, err(euidaccess(name, R_OK)));
	name = next(me);
	say("%d pathconf %d\n", me, pathconf(name, _PC_NAME_MAX) > 0);
}

CASE(states_of_files)
{
	static const char *const order[] = {"lines.txt", "%%", "lines.txt", "%%",        "lines.txt", "%%", "%%",
	                                    "folder",    "%%", "lines.txt", "lines.txt", "folder",    NULL};

	fd = open("lines.txt", O_RDONLY);
	names(order);
	turns(states_step, NULL);
	close(fd);
}

/* ---- names ---- */

static void names_step(void *arg, int me)
{
	char *name, *other, *out;

	(void)arg;
	name = next(me);
	say("%d creat %s\n", me, err(close(creat(name, 0600))));
	name = next(me), other = next(me);
	say("%d renameat %s\n", me, err(renameat(AT_FDCWD, name, AT_FDCWD, other)));
	name = next(me), other = next(me);
	say("%d renameat2 %s\n", me, err(renameat2(AT_FDCWD, name, AT_FDCWD, other, RENAME_NOREPLACE)));
	name = next(me), other = next(me);
	say("%d linkat %s\n", me, err(linkat(AT_FDCWD, name, AT_FDCWD, other, 0)));
	name = next(me), other = next(me);
	say("%d symlinkat %s\n", me, err(symlinkat(name, AT_FDCWD, other)));
	name = next(me), out = next(me);
	say_text(me, "readlinkat", readlinkat(AT_FDCWD, name, out, 4000), out);
	name = next(me);
	say("%d fchmodat %s\n", me, err(fchmodat(AT_FDCWD, name, 0640, 0)));
	name = next(me);
	say("%d chown %s\n", me, err(chown(name, (uid_t)-1, (gid_t)-1)));
	name = next(me);
	say("%d lchown %s\n", me, err(lchown(name, (uid_t)-1, (gid_t)-1)));
	name = next(me);
	say("%d fchownat %s\n", me, err(fchownat(AT_FDCWD, name, (uid_t)-1, (gid_t)-1, 0)));
	name = next(me);
	say("%d truncate64 %s\n", me, err(truncate64(name, 3)));
	name = next(me);
	say("%d mkfifo %s\n", me, err(mkfifo(name, 0600)));
	name = next(me);
	say("%d mkfifoat %s\n", me, err(mkfifoat(AT_FDCWD, name, 0600)));
	name = next(me);
	say("%d mknod %s\n", me, err(mknod(name, S_IFREG | 0600, 0)));
	name = next(me);
	say("%d mknodat %s\n", me, err(mknodat(AT_FDCWD, name, S_IFREG | 0600, 0)));
}

CASE(names_in_threads)
{
	static const char *const order[] = {"new%d",  "new%d",   "moved%d", "moved%d",  "again%d", "again%d",  "link%d",
	                                    "link%d", "soft%d",  "soft%d",  "%%",       "link%d",  "link%d",   "soft%d",
	                                    "link%d", "again%d", "fifo%d",  "fifoat%d", "node%d",  "nodeat%d", NULL};

	names(order);
	turns(names_step, NULL);
}

/* ---- times, attributes ---- */

static void attributes_step(void *arg, int me)
{
	char *name, *key, *out;
	struct timeval *t;
	struct utimbuf *u;

	(void)arg;
	name = next(me), t = next(me);
	say("%d utimes %s\n", me, err(utimes(name, t)));
	name = next(me), t = next(me);
	say("%d lutimes %s\n", me, err(lutimes(name, t)));
	t = next(me);
	say("%d futimes %s\n", me, err(futimes(fd, t)));
	name = next(me), u = next(me);
	say("%d utime %s\n", me, err(utime(name, u)));
	name = next(me), key = next(me), out = next(me);
	say("%d setxattr %s\n", me, err(setxattr(name, key, out, 4, 0)));
	name = next(me), key = next(me), out = next(me);
	say("%d getxattr %s\n", me, err(getxattr(name, key, out, 100)));
	name = next(me), out = next(me);
	say("%d listxattr %s\n", me, err(listxattr(name, out, 100)));
	key = next(me), out = next(me);
	say("%d fgetxattr %s\n", me, err(fgetxattr(fd, key, out, 100)));
	name = next(me), key = next(me);
	say("%d removexattr %s\n", me, err(removexattr(name, key)));
	name = next(me);
	int watch = inotify_init();
	say("%d inotify_add_watch %s\n", me, err(inotify_add_watch(watch, name, IN_CREATE)));
	close(watch);
}

CASE(times_and_attributes)
{
	static const char *const order[] = {"times", "%%",         "times", "%%",    "%%",         "times",  "%%",
	                                    "times", "user.tweed", "%%",    "times", "user.tweed", "%%",     "times",
	                                    "%%",    "user.tweed", "%%",    "times", "user.tweed", "folder", NULL};
	static const int zero[] = {1, 3, 4, 6};

	make_file("times", "abc");
	fd = open("times", O_RDWR);
	names(order);
	for (int i = 1; i <= threads; i++)
		for (size_t k = 0; k < sizeof zero / sizeof *zero; k++)
			memset(page[i][zero[k]], 0, 64);
	turns(attributes_step, NULL);
	close(fd);
}

/* ---- data ---- */

static void data_step(void *arg, int me)
{
	struct iovec *v = next(me);
	struct mmsghdr *m;
	struct rlimit *limit;
	char *out = next(me);

	(void)arg;
	*v = (struct iovec){out, 5};
	say_text(me, "preadv2", preadv2(fd, v, 1, 5 * me, 0), out);
	out = next(me);
	say("%d pwritev2 %s\n", me, err(pwritev2(fd, &(struct iovec){out, 5}, 1, 100 + 5 * me, 0)));
	out = next(me), m = next(me);
	*m = (struct mmsghdr){.msg_hdr = {.msg_iov = &(struct iovec){out, 5}, .msg_iovlen = 1}};
	say("%d sendmmsg %d\n", me, sendmmsg(pair[0], m, 1, 0));
	out = next(me), m = next(me);
	*m = (struct mmsghdr){.msg_hdr = {.msg_iov = &(struct iovec){out, 5}, .msg_iovlen = 1}};
	say_text(me, "recvmmsg", recvmmsg(pair[1], m, 1, 0, NULL) == 1 ? (long)m->msg_len : -1, out);
	limit = next(me);
	say("%d prlimit %s\n", me, err(prlimit(0, RLIMIT_CORE, NULL, limit)));
	out = next(me);
	say("%d getgroups %d\n", me, getgroups(100, (gid_t *)out) >= 0);
	out = next(me);
	say("%d getcwd by number %d\n", me, syscall(SYS_getcwd, out, 4000) > 0);
	out = next(me);
	say("%d clock_gettime %s\n", me, err(clock_gettime(CLOCK_THREAD_CPUTIME_ID, (struct timespec *)out)));
	out = next(me);
	say("%d uname by number %s\n", me, err((int)syscall(SYS_uname, out)));
	out = next(me);
	say("%d getentropy %s\n", me, err(getentropy(out, 200)));
	out = next(me);
	arc4random_buf(out, 2000);
	say("%d arc4random_buf\n", me);
	out = next(me);
	say("%d sched_getparam %s\n", me, err(sched_getparam(0, (struct sched_param *)out)));
	out = next(me);
	say("%d sched_rr_get_interval %s\n", me, err(sched_rr_get_interval(0, (struct timespec *)out)));
	uid_t *id = next(me);
	say("%d getresuid %s\n", me, err(getresuid(id, id + 1, id + 2)));
	id = next(me);
	say("%d getresgid %s\n", me, err(getresgid(id, id + 1, id + 2)));
	out = next(me);
	say("%d adjtimex %d\n", me, adjtimex(memset(out, 0, sizeof(struct timex))) >= 0);
	out = next(me);
	say("%d process_vm_readv %zd\n", me,
	    process_vm_readv(getpid(), &(struct iovec){out, 3}, 1, &(struct iovec){(char *)"abc", 3}, 1, 0));
	int folder = open("folder", O_RDONLY | O_DIRECTORY);
	out = next(me);
	say("%d getdents64 %d\n", me, getdents64(folder, out, 4096) > 0);
	close(folder);
}

CASE(data_of_main)
{
	fd = open("lines.txt", O_RDWR);
	socketpair(AF_UNIX, SOCK_DGRAM, 0, pair);
	fill();
	turns(data_step, NULL);
	close(fd);
	close(pair[0]);
	close(pair[1]);
}

/* ---- folders: by the C library, from within ---- */

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

static FTS *walk;

static void fts_step(void *arg, int me)
{
	(void)arg;
	for (int i = 0; i < 3; i++) {
		FTSENT *e = fts_read(walk);
		say("%d %s %d %ld\n", me, e ? e->fts_path : "end", e ? e->fts_info : 0,
		    e && e->fts_info == FTS_F ? (long)e->fts_statp->st_size : 0);
	}
}

CASE(fts_of_main)
{
	char *paths[] = {strdup("folder"), NULL};

	walk = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
	turns(fts_step, NULL);
	fts_close(walk);
}

static int found;

static int nftw_found(const char *path, const struct stat *s, int kind, struct FTW *where)
{
	(void)where;
	found += kind == FTW_F ? (int)s->st_size : (int)strlen(path);
	return 0;
}

static void nftw_step(void *arg, int me)
{
	(void)arg;
	found = 0;
	say("%d nftw %s", me, err(nftw(next(me), nftw_found, 4, FTW_PHYS)));
	say(" %d\n", found);
}

CASE(nftw_in_threads)
{
	static const char *const order[] = {"folder", NULL};

	names(order);
	turns(nftw_step, NULL);
}

static DIR *dir;

static void readdir_r_step(void *arg, int me)
{
	(void)arg;
	rewinddir(dir);
	int n = 0;
	while (readdir64(dir))
		n++;
	say("%d entries %d\n", me, n);
}

CASE(readdir_of_main)
{
	dir = opendir("folder");
	turns(readdir_r_step, NULL);
	closedir(dir);
}

MAIN(T(states_of_files), ALONE(names_in_threads), ALONE(times_and_attributes), ALONE(data_of_main), T(fts_of_main),
     T(nftw_in_threads), T(readdir_of_main))
