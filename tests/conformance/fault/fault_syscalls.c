/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared memory as the argument of system calls: by the backend itself, or by core/process/syscalls.c.  Before each
 * call the
 * memory has no rights. */
#include "rig.h"

#include "core/job/job.h"
#include "core/process/syscalls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define UNIT  ((size_t)8192)
#define UNITS ((size_t)512)
#define BIG   ((size_t)2500 * 1000 + 13)

static char *app, *view;
static char *plain; /* private memory of known contents, BIG bytes */

static void rights_all(struct rig *rig, enum tw_rights to)
{
	for (size_t i = 0; i < UNITS; i++)
		rig_set(rig, i, 1, to);
	rig->writable = 0;
}

#define CHECK(c)                                                                                                       \
	do {                                                                                                           \
		if (!(c)) {                                                                                            \
			static char why[200];                                                                          \
			snprintf(why, sizeof(why), "%s (%s)", #c, strerror(errno));                                    \
			return why;                                                                                    \
		}                                                                                                      \
	} while (0)

static const char *files(struct rig *rig)
{
	int fd = memfd_create("file", MFD_CLOEXEC);
	char *at = app + 100;

	for (enum tw_rights r = TW_NONE; r <= TW_READ; r++) {
		memcpy(view + 100, plain, BIG);
		rights_all(rig, r);
		CHECK(pwrite(fd, at, BIG, 0) == (ssize_t)BIG);
		rights_all(rig, r);
		CHECK(lseek(fd, 0, SEEK_SET) == 0 && write(fd, at, BIG) == (ssize_t)BIG);
		memset(view, 0, UNIT * UNITS);
		rights_all(rig, r);
		CHECK(pread(fd, at, BIG + 500, 0) == (ssize_t)BIG);
		CHECK(memcmp(view + 100, plain, BIG) == 0 && view[99] == 0 && view[100 + BIG] == 0);
		memset(view, 0, UNIT * UNITS);
		rights_all(rig, r);
		CHECK(lseek(fd, 0, SEEK_SET) == 0 && read(fd, at, BIG) == (ssize_t)BIG);
		CHECK(memcmp(view + 100, plain, BIG) == 0 && view[100 + BIG] == 0);
	}
	close(fd);
	return NULL;
}

static const char *vectors(struct rig *rig)
{
	int fd = memfd_create("file", MFD_CLOEXEC);
	struct iovec v[3] = {{app + 5, 9000}, {plain, 10}, {app + 30 * UNIT, 50000}};
	struct iovec *shared = (struct iovec *)(void *)(app + 100 * UNIT);

	memcpy(view, plain, 40 * UNIT);
	rights_all(rig, TW_NONE);
	CHECK(writev(fd, v, 3) == 59010);
	CHECK(pwritev(fd, v, 3, 0) == 59010);
	memset(view, 0, 40 * UNIT);
	memcpy(view + 100 * UNIT, v, sizeof(v));
	rights_all(rig, TW_NONE);
	CHECK(preadv(fd, shared, 3, 0) == 59010);
	CHECK(memcmp(view + 5, plain + 5, 9000) == 0 && memcmp(view + 30 * UNIT, plain + 30 * UNIT, 50000) == 0);
	memset(view, 0, 40 * UNIT);
	rights_all(rig, TW_READ);
	CHECK(lseek(fd, 0, SEEK_SET) == 0 && readv(fd, shared, 3) == 59010);
	CHECK(memcmp(view + 5, plain + 5, 9000) == 0 && memcmp(view + 30 * UNIT, plain + 30 * UNIT, 50000) == 0);
	close(fd);
	return NULL;
}

static const char *sockets(struct rig *rig)
{
	int s[2], in = socket(AF_INET, SOCK_DGRAM, 0), out = socket(AF_INET, SOCK_DGRAM, 0);
	struct sockaddr_in *to = (void *)(app + 50 * UNIT), *from = (void *)(app + 60 * UNIT);
	socklen_t *len = (void *)(app + 70 * UNIT);
	struct iovec *v = (void *)(app + 80 * UNIT);
	struct msghdr *m = (void *)(app + 90 * UNIT);

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, s) == 0);
	memcpy(view, plain, 20000);
	rights_all(rig, TW_NONE);
	CHECK(send(s[0], app, 20000, 0) == 20000 && recv(s[1], app + 20 * UNIT, 20000, MSG_WAITALL) == 20000);
	CHECK(memcmp(view + 20 * UNIT, plain, 20000) == 0);

	*to = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	*len = sizeof(*to);
	CHECK(bind(in, (struct sockaddr *)to, sizeof(*to)) == 0);
	CHECK(getsockname(in, (struct sockaddr *)to, len) == 0);
	memset(view + 20 * UNIT, 0, 20000);
	rights_all(rig, TW_NONE);
	CHECK(sendto(out, app, 20000, 0, (struct sockaddr *)to, sizeof(*to)) == 20000);
	CHECK(recvfrom(in, app + 20 * UNIT, 20000, 0, (struct sockaddr *)from, len) == 20000);
	CHECK(memcmp(view + 20 * UNIT, plain, 20000) == 0 && from->sin_family == AF_INET && *len == sizeof(*from));

	memset(view + 20 * UNIT, 0, 20000);
	*v = (struct iovec){app, 20000};
	*m = (struct msghdr){.msg_name = to, .msg_namelen = sizeof(*to), .msg_iov = v, .msg_iovlen = 1};
	rights_all(rig, TW_NONE);
	CHECK(sendmsg(out, m, 0) == 20000);
	v->iov_base = app + 20 * UNIT;
	m->msg_name = from;
	rights_all(rig, TW_NONE);
	CHECK(recvmsg(in, m, 0) == 20000 && memcmp(view + 20 * UNIT, plain, 20000) == 0);
	close(s[0]);
	close(s[1]);
	close(in);
	close(out);
	return NULL;
}

static const char *stdio(struct rig *rig)
{
	FILE *f = tmpfile();

	CHECK(f != NULL);
	memcpy(view, plain, BIG);
	rights_all(rig, TW_NONE);
	CHECK(fwrite(app, 1, BIG, f) == BIG);
	rewind(f);
	memset(view, 0, BIG);
	rights_all(rig, TW_NONE);
	CHECK(fread(app, 7, BIG / 7 + 1, f) == BIG / 7 && feof(f) && memcmp(view, plain, BIG / 7 * 7) == 0);
	rewind(f);
	memset(view, 'x', 50000);
	view[50000] = '\0';
	rights_all(rig, TW_NONE);
	CHECK(fputs(app, f) >= 0 && fflush(f) == 0 && ftell(f) == 50000);
	rewind(f);
	memset(view, 0, 60000);
	rights_all(rig, TW_READ);
	CHECK(fgets(app, 40000, f) == app && memchr(view, '\0', 60000) == view + 39999);
	fclose(f);
	return NULL;
}

static const char *results(struct rig *rig)
{
	struct stat *st = (void *)(app + UNIT - 16); /* across two units */
	char *path = app + 10 * UNIT - 3;
	struct pollfd *p = (void *)(app + 20 * UNIT);
	int fd;

	strcpy(path, "/proc/self/exe");
	rights_all(rig, TW_NONE);
	CHECK((fd = open(path, O_RDONLY)) >= 0);
	rights_all(rig, TW_NONE);
	CHECK(fstat(fd, st) == 0 && S_ISREG(st->st_mode));
	rights_all(rig, TW_NONE);
	CHECK(stat(path, st) == 0 && S_ISREG(st->st_mode));
	rights_all(rig, TW_NONE);
	CHECK(lstat(path, st) == 0 && S_ISLNK(st->st_mode));
	rights_all(rig, TW_NONE);
	CHECK(fstatat(AT_FDCWD, path, st, 0) == 0 && S_ISREG(st->st_mode));
	rights_all(rig, TW_NONE);
	CHECK(readlink(path, app + 30 * UNIT - 2, 400) > 1 && view[30 * UNIT - 2] == '/');
	rights_all(rig, TW_NONE);
	CHECK(getcwd(app + 31 * UNIT - 2, 4096) && view[31 * UNIT - 2] == '/');
	rights_all(rig, TW_NONE);
	CHECK(access(path, R_OK) == 0 && getrandom(app + 40 * UNIT, 3 * UNIT, 0) > 0);
	*p = (struct pollfd){fd, POLLIN, 0};
	rights_all(rig, TW_NONE);
	CHECK(poll(p, 1, 0) == 1 && p->revents & POLLIN);
	rights_all(rig, TW_NONE);
	CHECK(getrusage(RUSAGE_SELF, (struct rusage *)(void *)(app + 50 * UNIT)) == 0);
	close(fd);
	return NULL;
}

/* Runs @call in a child that has this memory; its status must be 7. */
#define CHECK_EXEC(call)                                                                                               \
	do {                                                                                                           \
		rights_all(rig, TW_NONE);                                                                              \
		pid_t child = vfork();                                                                                 \
		if (child == 0) {                                                                                      \
			call;                                                                                          \
			_exit(errno);                                                                                  \
		}                                                                                                      \
		CHECK(waitpid(child, &status, 0) == child);                                                            \
		errno = WEXITSTATUS(status);                                                                           \
		CHECK(status == 7 << 8 && #call);                                                                      \
	} while (0)

static const char *starts(struct rig *rig)
{
	static char *const plain_environment[] = {"SAID=7", NULL};
	char *path = app + 10 * UNIT - 3, *name = app + 20 * UNIT - 1, *command = app + 30 * UNIT - 2;
	char **argv = (void *)(app + 40 * UNIT - 2 * sizeof(char *)), **env = (void *)(app + 50 * UNIT);
	pid_t *pid = (void *)(app + 60 * UNIT);
	int status;

	strcpy(path, "/bin/sh");
	strcpy(name, "sh");
	strcpy(command, "exit ${SAID:-7}");
	memcpy(argv, (char *[]){name, strcpy(app + 70 * UNIT - 1, "-c"), command, NULL}, 4 * sizeof(*argv));
	memcpy(env, (char *[]){strcpy(app + 80 * UNIT - 3, "SAID=7"), NULL}, 2 * sizeof(*env));
	CHECK_EXEC(execve(path, argv, env));
	CHECK_EXEC(execv(path, argv));
	CHECK_EXEC(execvp(name, argv));
	CHECK_EXEC(execvpe(name, argv, env));
	CHECK_EXEC(execl(path, name, argv[1], command, NULL));
	CHECK_EXEC(execlp(name, name, argv[1], command, NULL));
	CHECK_EXEC(execle(path, name, argv[1], command, NULL, env));
	CHECK_EXEC(execve(path, argv, plain_environment));
	rights_all(rig, TW_NONE);
	CHECK(posix_spawn(pid, path, NULL, NULL, argv, env) == 0);
	CHECK(waitpid(*pid, &status, 0) == *pid && status == 7 << 8);
	rights_all(rig, TW_NONE);
	CHECK(posix_spawnp(pid, name, NULL, NULL, argv, env) == 0);
	CHECK(waitpid(*pid, &status, 0) == *pid && status == 7 << 8);
	rights_all(rig, TW_NONE);
	CHECK(system(command) == 7 << 8);
	rights_all(rig, TW_NONE);
	FILE *f = popen(command, "r");
	CHECK(f && pclose(f) == 7 << 8);
	CHECK(system(NULL) != 0 && execv("/nowhere", argv) == -1 && errno == ENOENT);
	return NULL;
}

/* Fewer units can be writable at once than the call needs. */
static const char *scarce(struct rig *rig)
{
	int fd = memfd_create("file", MFD_CLOEXEC), p[2];
	size_t done = 0;

	CHECK(write(fd, plain, BIG) == (ssize_t)BIG && pipe(p) == 0);
	rights_all(rig, TW_NONE);
	memset(view, 0, BIG);
	rig->scarce = 3;
	CHECK(pread(fd, app, BIG, 0) == (ssize_t)BIG && memcmp(view, plain, BIG) == 0);
	CHECK(write(p[1], plain, 65536) == 65536);
	rights_all(rig, TW_NONE);
	memset(view, 0, BIG);
	while (done < 65536) {
		ssize_t r = read(p[0], app + done, 65536 - done);
		CHECK(r > 0);
		done += (size_t)r;
	}
	rig->scarce = 0;
	CHECK(memcmp(view, plain, 65536) == 0);
	close(fd);
	close(p[0]);
	close(p[1]);
	return NULL;
}

static const char *touching(struct rig *rig)
{
	unsigned before;
	rights_all(rig, TW_NONE);
	before = rig->faults;
	tw_touch(app + 3 * UNIT - 1, 2 * UNIT + 2, false);
	CHECK(rig->faults == before + 4 && rig->rights[2] == TW_READ && rig->rights[5] == TW_READ);
	CHECK(rig->rights[1] == TW_NONE && rig->rights[6] == TW_NONE);
	tw_touch(app + 3 * UNIT, UNIT, true);
	CHECK(rig->faults == before + 5 && rig->rights[3] == TW_WRITE && rig->rights[4] == TW_READ);
	tw_touch(app, 0, true);
	tw_touch(plain, BIG, true);
	tw_touch(app + UNIT * UNITS, UNIT, true);
	CHECK(rig->faults == before + 5);
	tw_touch(app - UNIT, UNIT + 1, true);
	CHECK(rig->faults == before + 6 && rig->rights[0] == TW_WRITE);
	return NULL;
}

void syscalls_run(const struct tw_fault_ops *ops)
{
	static const struct {
		const char *name;
		const char *(*run)(struct rig *rig);
	} cases[] = {{"tw_touch", touching},
	             {"read, write, pread, pwrite", files},
	             {"readv, writev, preadv, pwritev", vectors},
	             {"send, recv, -to, -msg", sockets},
	             {"fread, fwrite, fputs, fgets", stdio},
	             {"stat, open, getcwd, poll and others", results},
	             {"exec, posix_spawn, system, popen", starts},
	             {"more than can be writable at once", scarce}};
	static struct tw_proc me;
	static struct tw_stats stats;
	struct rig rig;

	plain = malloc(BIG);
	for (size_t i = 0; i < BIG; i++)
		plain[i] = (char)(i * 2654435761u >> 11);
	rig_open(&rig, ops, UNIT, UNITS, false);
	me.fault = rig.fault;
	me.stats = &stats;
	rig.counted = &stats.now.read_faults;
	app = me.app = rig.fault.app;
	view = me.view = rig.fault.view;
	me.layout.page_shift = (unsigned)__builtin_ctzl(UNIT);
	me.config.memory = rig.fault.bytes;
	tw_syscalls_init();
	tw_me = &me;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (i > 0 && SANITIZED && !(ops->caps & TW_FAULT_SYSCALLS))
			break;
		rights_all(&rig, TW_NONE);
		result(&rig, cases[i].name, cases[i].run(&rig));
	}
	tw_me = NULL;
	rig_close(&rig);
	free(plain);
}
