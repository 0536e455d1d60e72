/* SPDX-License-Identifier: BSD-3-Clause */
/* descriptors.c - numbers of open files, their offsets, flags and locks, used by several threads. */
#include <sys/file.h>
#include <sys/uio.h>
#include "process.h"

#define ABC "abcdefghijklmnopqrstuvwxyz0123456789"

static int fd, other, fds[16];

/* ---- offsets ---- */

static void read_five(void *arg, int me)
{
	reads(me, *(int *)arg, 5);
}

CASE(read_in_turn)
{
	int here = open("lines.txt", O_RDONLY);

	reads(0, here, 7);
	turns(read_five, &here);
	reads(0, here, 9);
	say("offset %ld\n", (long)lseek(here, 0, SEEK_CUR));
	close(here);
}

static long bytes[MANY + 1], sum[MANY + 1];

static void read_bytes(void *arg, int me)
{
	unsigned char c[3];
	long n;

	(void)arg;
	bytes[me] = sum[me] = 0;
	while ((n = read(fd, c, sizeof c)) > 0)
		for (long i = 0; i < n; i++, bytes[me]++)
			sum[me] += c[i] * c[i];
}

static void say_sums(void)
{
	for (int i = 1; i <= threads; i++) {
		bytes[0] += bytes[i];
		sum[0] += sum[i];
	}
	say("%ld bytes, sum %ld\n", bytes[0], sum[0]);
}

CASE(read_together)
{
	fd = open("lines.txt", O_RDONLY);
	with_main(read_bytes, NULL);
	say_sums();
	reads(0, fd, 5);
	close(fd);
}

static void write_line(void *arg, int me)
{
	(void)arg;
	writes(me, fd, "thread %d\n", me);
}

CASE(write_in_turn)
{
	fd = open("write_in_turn", O_WRONLY | O_CREAT | O_TRUNC, 0644);
	writes(0, fd, "main\n");
	turns(write_line, NULL);
	writes(0, fd, "end\n");
	say("offset %ld\n", (long)lseek(fd, 0, SEEK_CUR));
	close(fd);
	shows(0, "write_in_turn");
}

static void write_records(void *arg, int me)
{
	char record[9] = "record ?";

	(void)arg;
	record[7] = (char)('0' + me);
	for (int i = 0; i < 20; i++)
		if (write(fd, record, 8) != 8)
			say("%d: a write failed\n", me);
}

/* Records of 8 bytes that are whole: how many of each. */
static void count_records(const char *name)
{
	char record[9] = "";
	int in = open(name, O_RDONLY), n[10] = {0}, torn = 0;

	while (read(in, record, 8) == 8)
		if (!memcmp(record, "record ", 7) && record[7] >= '0' && record[7] <= '9')
			n[record[7] - '0']++;
		else
			torn++;
	close(in);
	for (int i = 0; i <= threads; i++)
		say("%d records of %d\n", n[i], i);
	say("%d torn\n", torn);
}

CASE(write_together)
{
	fd = open("write_together", O_WRONLY | O_CREAT | O_TRUNC, 0644);
	with_main(write_records, NULL);
	say("offset %ld\n", (long)lseek(fd, 0, SEEK_CUR));
	close(fd);
	count_records("write_together");
	unlink("write_together");
}

static void append_records(void *arg, int me)
{
	int mine = open("append_together", O_WRONLY | O_APPEND);

	(void)arg;
	for (int i = 0; i < 20; i++)
		if (dprintf(mine, "record %d", me) != 8)
			say("%d: a write failed\n", me);
	close(mine);
}

CASE(append_together)
{
	make_file("append_together", "");
	with_main(append_records, NULL);
	count_records("append_together");
	unlink("append_together");
}

static void append_after_seek(void *arg, int me)
{
	(void)arg;
	lseek(fd, 0, SEEK_SET);
	writes(me, fd, "<%d>", me);
}

CASE(append_after_seek)
{
	make_file("append_after_seek", "start");
	fd = open("append_after_seek", O_RDWR | O_APPEND);
	turns(append_after_seek, NULL);
	lseek(fd, 2, SEEK_SET);
	reads(0, fd, 100);
	close(fd);
}

static void pread_pwrite_step(void *arg, int me)
{
	char text[9] = "";

	(void)arg;
	say("%d pwrite %zd\n", me, pwrite(fd, "12345678", 8, me * 8 + 100));
	say_text(me, "pread", pread(fd, text, 8, me * 3), text);
}

CASE(pread_pwrite)
{
	make_file("pread_pwrite", ABC);
	fd = open("pread_pwrite", O_RDWR);
	lseek(fd, 4, SEEK_SET);
	turns(pread_pwrite_step, NULL);
	say("offset %ld, end %ld\n", (long)lseek(fd, 0, SEEK_CUR), (long)lseek(fd, 0, SEEK_END));
	close(fd);
}

static void pread_other_step(void *arg, int me)
{
	char text[5] = "";

	(void)arg;
	for (int i = 0; i < 50; i++)
		if (pread(fd, text, 4, 4 * me + i % 4) != 4 || text[0] != ABC[4 * me + i % 4])
			say("%d: another byte\n", me);
}

CASE(pread_together)
{
	make_file("pread_together", ABC);
	fd = open("pread_together", O_RDONLY);
	together(pread_other_step, NULL);
	reads(0, fd, 3);
	close(fd);
}

static void seek_step(void *arg, int me)
{
	(void)arg;
	say("%d at %ld\n", me, (long)lseek(fd, 10, SEEK_END));
	writes(me, fd, "%d", me);
}

CASE(lseek_beyond_end)
{
	fd = open("lseek_beyond_end", O_RDWR | O_CREAT | O_TRUNC, 0600);
	turns(seek_step, NULL);
	say("size %ld\n", (long)lseek(fd, 0, SEEK_END));
	lseek(fd, 0, SEEK_SET);
	reads(0, fd, 100);
	close(fd);
}

static void vector_step(void *arg, int me)
{
	char a[3], b[5];
	struct iovec in[2] = {{a, 3}, {b, 5}}, out[2] = {{(char *)"<->" + me % 3, 1}, {(char *)ABC + me, 2}};

	(void)arg;
	say("%d readv %zd %.3s %.5s\n", me, readv(fd, in, 2), a, b);
	say("%d writev %zd\n", me, writev(other, out, 2));
}

CASE(readv_writev)
{
	fd = open("lines.txt", O_RDONLY);
	other = open("readv_writev", O_WRONLY | O_CREAT | O_TRUNC, 0644);
	turns(vector_step, NULL);
	close(other);
	close(fd);
	shows(0, "readv_writev");
}

/* ---- numbers ---- */

static void dup_step(void *arg, int me)
{
	(void)arg;
	fds[me] = dup(fd);
	reads(me, fds[me], 3);
}

CASE(dup_shares_offset)
{
	fd = open("lines.txt", O_RDONLY);
	turns(dup_step, NULL);
	for (int i = 1; i <= threads; i++) {
		say("dup %d\n", fds[i] - fd);
		reads(0, fds[i], 3);
	}
	lseek(fd, 0, SEEK_SET);
	close(fd);
	for (int i = 1; i <= threads; i++) {
		reads(0, fds[i], 4);
		close(fds[i]);
	}
}

static void dup_outlives_step(void *arg, int me)
{
	(void)arg;
	if (me == 1)
		say("1 closes %s\n", err(close(fd)));
	reads(me, other, 6);
	say("%d first number: %s\n", me, err(lseek(fd, 0, SEEK_CUR)));
}

CASE(dup_outlives_close)
{
	fd = open("lines.txt", O_RDONLY);
	other = dup(fd);
	turns(dup_outlives_step, NULL);
	close(other);
}

static void dup2_step(void *arg, int me)
{
	char name[32];

	(void)arg;
	snprintf(name, sizeof name, "folder/%c.txt", 'a' + me % 3);
	int mine = open(name, O_RDONLY);
	say("%d dup2 %d\n", me, dup2(mine, fd) - fd);
	close(mine);
	reads(me, fd, 4);
}

CASE(dup2_over)
{
	fd = open("lines.txt", O_RDONLY);
	reads(0, fd, 4);
	turns(dup2_step, NULL);
	reads(0, fd, 20);
	close(fd);
}

static void redirect_step(void *arg, int me)
{
	if (me != threads)
		return;
	int file = open("stdout_redirected", O_WRONLY | O_CREAT | O_TRUNC, 0644);
	*(int *)arg = dup(1);
	dup2(file, 1);
	close(file);
	dprintf(1, "thread\n");
}

static void restore_step(void *arg, int me)
{
	if (me != 1)
		return;
	dup2(*(int *)arg, 1);
	close(*(int *)arg);
}

CASE(stdout_redirected)
{
	int kept = -1;

	print_said();
	turns(redirect_step, &kept);
	dprintf(1, "main\n");
	puts("puts of main");
	fflush(stdout);
	turns(restore_step, &kept);
	shows(0, "stdout_redirected");
}

static void dup3_step(void *arg, int me)
{
	(void)arg;
	say("%d dup3 %s", me, err(dup3(fd, fd + 10 + me, me % 2 ? O_CLOEXEC : 0)));
	say(", same %s\n", err(dup3(fd, fd, 0)));
}

CASE(dup3_cloexec)
{
	fd = open("lines.txt", O_RDONLY);
	turns(dup3_step, NULL);
	for (int i = 1; i <= threads; i++) {
		say("%d FD_CLOEXEC %d\n", i, fcntl(fd + 10 + i, F_GETFD));
		close(fd + 10 + i);
	}
	close(fd);
}

static void dup3_main_step(void *arg, int me)
{
	(void)arg;
	reads(me, other, 5);
	if (me == threads)
		say("%d dup3 %d\n", me, dup3(other, fd, 0) == fd);
}

CASE(dup3_by_main)
{
	fd = open("lines.txt", O_RDONLY);
	other = open("folder/a.txt", O_RDONLY);
	say("dup3 %d\n", dup3(fd, other, O_CLOEXEC) == other);
	turns(dup3_main_step, NULL);
	reads(0, fd, 5);
	close(fd);
	close(other);
}

static void close_step(void *arg, int me)
{
	(void)arg;
	say("%d closes: %s\n", me, err(close(fd)));
	reads(me, fd, 1);
}

CASE(close_elsewhere)
{
	fd = open("lines.txt", O_RDONLY);
	turns(close_step, NULL);
	reads(0, fd, 4);
	say("fstat %s, lseek %s\n", err(fcntl(fd, F_GETFD)), err(lseek(fd, 0, SEEK_SET)));
}

static void reuse_step(void *arg, int me)
{
	char name[32];

	(void)arg;
	reads(me, fd, 6);
	close(fd);
	snprintf(name, sizeof name, "folder/%c.txt", 'a' + me % 3);
	say("%d the same number: %d\n", me, open(name, O_RDONLY) == fd);
	reads(me, fd, 3);
}

CASE(number_reused)
{
	fd = open("lines.txt", O_RDONLY);
	turns(reuse_step, NULL);
	reads(0, fd, 20);
	close(fd);
}

static void reuse_by_main(void *arg, int me)
{
	(void)arg;
	for (int round = 0; round < 3; round++) {
		if (!me)
			fd = open(round % 2 ? "folder/a.txt" : "lines.txt", O_RDONLY);
		meet();
		if (me == threads)
			reads(me, fd, 9);
		meet();
		if (me == 1)
			close(fd);
		meet();
		if (!me)
			reads(me, fd, 9);
	}
}

CASE(number_reused_by_main)
{
	with_main(reuse_by_main, NULL);
}

static void open_step(void *arg, int me)
{
	char name[32];

	(void)arg;
	snprintf(name, sizeof name, "folder/%c.txt", 'a' + (me - 1) % 3);
	fds[me] = open(name, O_RDONLY);
}

CASE(opened_by_threads)
{
	turns(open_step, NULL);
	for (int i = 1; i <= threads; i++) {
		say("number %d\n", fds[i] - fds[1]);
		reads(0, fds[i], 30);
		say("%s\n", err(close(fds[i])));
	}
}

static void fstat_step(void *arg, int me)
{
	struct stat s;

	(void)arg;
	if (fstat(fds[me % threads + 1], &s))
		say("%d: %s\n", me, err(-1));
	else
		say("%d fstat %ld %o %d\n", me, (long)s.st_size, s.st_mode, (int)s.st_nlink);
}

CASE(opened_by_neighbour)
{
	turns(open_step, NULL);
	turns(fstat_step, NULL);
	fstat_step(NULL, 0);
	for (int i = 1; i <= threads; i++)
		close(fds[i]);
}

static void lowest_step(void *arg, int me)
{
	int base = *(int *)arg;

	close(base + 5 - me);
	close(base + me);
	int got = open("folder", O_RDONLY | O_DIRECTORY);
	say("%d got %d\n", me, got - base);
	fds[me] = got;
}

CASE(lowest_free)
{
	int base = open("lines.txt", O_RDONLY);

	for (int i = 1; i < 6; i++)
		say("%d", dup(base) - base);
	say("\n");
	turns(lowest_step, &base);
	int got = dup(base);
	say("main got %d\n", got - base);
	for (int i = 0; i < 7; i++)
		say("%s ", err(close(base + i)));
	say("\n");
}

static void lowest_pipe_step(void *arg, int me)
{
	int p[2];

	(void)arg;
	if (pipe(p))
		say("%d pipe: %s\n", me, err(-1));
	say("%d pipe %d %d\n", me, p[0] - fd, p[1] - fd);
	fds[2 * me] = p[0];
	close(p[1]);
}

CASE(lowest_free_pipe)
{
	fd = open("lines.txt", O_RDONLY);
	turns(lowest_pipe_step, NULL);
	for (int i = 1; i <= threads; i++)
		close(fds[2 * i]);
	close(fd);
}

/* ---- flags ---- */

static void setfl_step(void *arg, int me)
{
	(void)arg;
	int now = fcntl(fd, F_GETFL);
	say("%d append %d, access %d\n", me, !!(now & O_APPEND), now & O_ACCMODE);
	say("%d F_SETFL %s\n", me, err(fcntl(fd, F_SETFL, now ^ O_APPEND)));
}

CASE(setfl_append)
{
	make_file("setfl_append", ABC);
	fd = open("setfl_append", O_RDWR);
	for (int i = 0; i < 2; i++) {
		turns(setfl_step, NULL);
		say("main append %d\n", !!(fcntl(fd, F_GETFL) & O_APPEND));
		lseek(fd, 0, SEEK_SET);
		writes(0, fd, "main");
		say("offset %ld\n", (long)lseek(fd, 0, SEEK_CUR));
	}
	close(fd);
	shows(0, "setfl_append");
}

static void nonblock_step(void *arg, int me)
{
	int *p = arg;

	if (me == 1)
		say("1 %s\n", err(fcntl(p[0], F_SETFL, fcntl(p[0], F_GETFL) | O_NONBLOCK)));
	reads(me, p[0], 4);
}

CASE(setfl_nonblock)
{
	int p[2];

	say("%s\n", err(pipe(p)));
	turns(nonblock_step, p);
	say("main nonblock %d %d\n", !!(fcntl(p[0], F_GETFL) & O_NONBLOCK), !!(fcntl(p[1], F_GETFL) & O_NONBLOCK));
	reads(0, p[0], 4);
	writes(0, p[1], "12345");
	turns(nonblock_step, p);
	close(p[0]);
	close(p[1]);
}

static void dupfd_step(void *arg, int me)
{
	(void)arg;
	fds[me] = fcntl(fd, me % 2 ? F_DUPFD : F_DUPFD_CLOEXEC, 60);
	say("%d number %d\n", me, fds[me]);
}

CASE(dupfd_from_60)
{
	fd = open("lines.txt", O_RDONLY);
	turns(dupfd_step, NULL);
	for (int i = 1; i <= threads; i++) {
		say("%d %d\n", i, fcntl(fds[i], F_GETFD));
		reads(0, fds[i], 5);
		close(fds[i]);
	}
	close(fd);
}

static void getfd_step(void *arg, int me)
{
	(void)arg;
	say("%d had %d\n", me, fcntl(fd, F_GETFD));
	fcntl(fd, F_SETFD, fcntl(fd, F_GETFD) ^ FD_CLOEXEC);
	fds[me] = fcntl(fd, F_DUPFD, fd);
	say("%d copy %d has %d\n", me, fds[me] - fd, fcntl(fds[me], F_GETFD));
}

CASE(cloexec_by_threads)
{
	fd = open("lines.txt", O_RDONLY);
	turns(getfd_step, NULL);
	say("main has %d\n", fcntl(fd, F_GETFD));
	for (int i = 1; i <= threads; i++)
		close(fds[i]);
	close(fd);
}

/* ---- locks ---- */

/* What a lock of another process would meet. */
static void say_locked(const char *name)
{
	fflush(stdout);
	pid_t child = fork();
	if (!child) {
		int mine = open(name, O_RDWR);
		struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 0};
		_exit(fcntl(mine, F_GETLK, &l) ? 9 : l.l_type == F_UNLCK ? 0 : l.l_type == F_RDLCK ? 1 : 2);
	}
	int status = -1;
	waitpid(child, &status, 0);
	say("another process meets lock %d\n", WEXITSTATUS(status));
}

static void fcntl_lock_step(void *arg, int me)
{
	struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 10};

	(void)arg;
	say("%d F_GETLK %s", me, err(fcntl(fd, F_GETLK, &l)));
	say(" %s\n", l.l_type == F_UNLCK ? "free" : "locked");
	l.l_type = F_WRLCK;
	say("%d F_SETLK %s\n", me, err(fcntl(fd, F_SETLK, &l)));
}

CASE(fcntl_lock_of_process)
{
	make_file("fcntl_lock", ABC);
	fd = open("fcntl_lock", O_RDWR);
	say_locked("fcntl_lock");
	turns(fcntl_lock_step, NULL);
	say_locked("fcntl_lock");
	struct flock l = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
	say("unlock %s\n", err(fcntl(fd, F_SETLK, &l)));
	say_locked("fcntl_lock");
	close(fd);
}

static void fcntl_close_step(void *arg, int me)
{
	(void)arg;
	if (me == threads)
		close(open("fcntl_lock", O_RDONLY)); /* ends the process's locks of the file */
}

CASE(fcntl_lock_ends_by_close)
{
	struct flock l = {.l_type = F_RDLCK, .l_whence = SEEK_SET};

	make_file("fcntl_lock", ABC);
	fd = open("fcntl_lock", O_RDWR);
	say("F_SETLK %s\n", err(fcntl(fd, F_SETLK, &l)));
	say_locked("fcntl_lock");
	turns(fcntl_close_step, NULL);
	say_locked("fcntl_lock");
	close(fd);
}

static void flock_step(void *arg, int me)
{
	(void)arg;
	say("%d own %s", me, err(flock(fd, LOCK_EX | LOCK_NB)));
	say(" other %s\n", err(flock(other, LOCK_EX | LOCK_NB)));
	if (me == threads)
		flock(fd, LOCK_UN);
}

CASE(flock_of_file)
{
	make_file("flock", "");
	fd = open("flock", O_RDWR);
	other = open("flock", O_RDWR);
	flock(fd, LOCK_EX);
	turns(flock_step, NULL);
	say("main other %s\n", err(flock(other, LOCK_EX | LOCK_NB)));
	say("main own %s\n", err(flock(fd, LOCK_SH | LOCK_NB)));
	close(other);
	say("main own %s\n", err(flock(fd, LOCK_SH | LOCK_NB)));
	close(fd);
}

static long guarded;

static void flock_counts(void *arg, int me)
{
	int mine = open("flock_together", O_RDWR);
	char text[20] = "";

	(void)arg;
	(void)me;
	for (int i = 0; i < 10; i++) {
		flock(mine, LOCK_EX);
		long n = pread(mine, text, sizeof text - 1, 0);
		text[n > 0 ? n : 0] = 0;
		n = snprintf(text, sizeof text, "%d", atoi(text) + 1);
		pwrite(mine, text, (size_t)n, 0);
		flock(mine, LOCK_UN);
	}
	close(mine);
}

CASE(flock_together)
{
	make_file("flock_together", "0");
	guarded = 10L * (threads + 1);
	with_main(flock_counts, NULL);
	say("should be %ld\n", guarded);
	shows(0, "flock_together");
}

static void ofd_lock_step(void *arg, int me)
{
	struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	(void)arg;
	say("%d own %s", me, err(fcntl(fd, F_OFD_SETLK, &l)));
	say(" other %s\n", err(fcntl(other, F_OFD_SETLK, &l)));
}

CASE(ofd_lock)
{
	make_file("ofd_lock", "");
	fd = open("ofd_lock", O_RDWR);
	other = open("ofd_lock", O_RDWR);
	turns(ofd_lock_step, NULL);
	close(fd);
	turns(ofd_lock_step, NULL);
	close(other);
}

MAIN(T(read_in_turn), T(read_together), T(write_in_turn), T(write_together), T(append_together), T(append_after_seek),
     T(pread_pwrite), T(pread_together), T(lseek_beyond_end), T(readv_writev), T(dup_shares_offset),
     T(dup_outlives_close), T(dup2_over), T(stdout_redirected), T(dup3_cloexec), T(close_elsewhere), T(number_reused),
     T(number_reused_by_main), T(opened_by_threads), T(opened_by_neighbour), T(lowest_free), T(lowest_free_pipe),
     T(setfl_append), T(setfl_nonblock), T(dupfd_from_60), T(cloexec_by_threads), T(fcntl_lock_of_process),
     T(fcntl_lock_ends_by_close), T(flock_of_file), T(flock_together), T(ofd_lock), T(dup3_by_main))
