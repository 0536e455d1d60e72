/* SPDX-License-Identifier: BSD-3-Clause */
/* files.c - sizes, names and copies of open files, folders, standard input, by several threads. */
#include <dirent.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include "process.h"

#define ABC "abcdefghijklmnopqrstuvwxyz0123456789"

static int fd, other, fds[16];

/* ---- sizes ---- */

static void ftruncate_step(void *arg, int me)
{
	struct stat s;

	(void)arg;
	say("%d ftruncate %s\n", me, err(ftruncate(fd, 20 - me * 4)));
	fstat(fd, &s);
	say("%d size %ld\n", me, (long)s.st_size);
	reads(me, fd, 8);
}

CASE(ftruncate_shrinks)
{
	struct stat s;

	make_file("ftruncate", ABC);
	fd = open("ftruncate", O_RDWR);
	turns(ftruncate_step, NULL);
	fstat(fd, &s);
	say("main size %ld\n", (long)s.st_size);
	reads(0, fd, 8);
	close(fd);
}

static void ftruncate_grow_step(void *arg, int me)
{
	(void)arg;
	say("%d %s %s\n", me, err(ftruncate(fd, 10 * me)), err(posix_fallocate(fd, 0, 10 * me + 2)));
	say("%d %s %s\n", me, err(fsync(fd)), err(fdatasync(fd)));
}

CASE(ftruncate_grows)
{
	fd = open("ftruncate_grows", O_RDWR | O_CREAT | O_TRUNC, 0640);
	turns(ftruncate_grow_step, NULL);
	reads(0, fd, 200);
	close(fd);
}

static void unlink_step(void *arg, int me)
{
	struct stat s;

	(void)arg;
	if (me == 1)
		say("1 unlink %s\n", err(unlink("unlinked")));
	reads(me, fd, 4);
	fstat(fd, &s);
	say("%d links %d, open again: %s\n", me, (int)s.st_nlink, err(open("unlinked", O_RDONLY)));
}

CASE(unlinked_file)
{
	make_file("unlinked", ABC);
	fd = open("unlinked", O_RDWR);
	turns(unlink_step, NULL);
	writes(0, fd, "still");
	lseek(fd, 0, SEEK_SET);
	reads(0, fd, 30);
	close(fd);
}

static void unlink_other_step(void *arg, int me)
{
	(void)arg;
	writes(me, fd, "text %d,", me);
	say("%d unlink %s\n", me, err(unlink("unlinked2")));
	lseek(fd, 0, SEEK_SET);
	reads(me, fd, 100);
}

CASE(unlinked_by_maker)
{
	fd = open("unlinked2", O_RDWR | O_CREAT | O_TRUNC, 0600);
	turns(unlink_other_step, NULL);
	close(fd);
}

static char template[MANY + 1][32];

static void mkstemp_step(void *arg, int me)
{
	(void)arg;
	strcpy(template[me], "mkstemp-XXXXXX");
	fds[me] = me % 2 ? mkstemp(template[me]) : mkostemp(template[me], O_APPEND);
	writes(me, fds[me], "of %d", me);
}

static void mkstemp_read_step(void *arg, int me)
{
	int of = me % threads + 1;

	(void)arg;
	lseek(fds[of], 0, SEEK_SET);
	reads(me, fds[of], 10);
	say("%d unlink %s\n", me, err(unlink(template[of])));
}

CASE(mkstemp_by_threads)
{
	turns(mkstemp_step, NULL);
	turns(mkstemp_read_step, NULL);
	for (int i = 1; i <= threads; i++)
		say("%s\n", err(close(fds[i])));
}

static void mkstemp_main_step(void *arg, int me)
{
	writes(me, fd, "%d", me);
	say("%d same name %d\n", me, !strncmp(arg, "mkstemp2-", 9) && !access(arg, R_OK | W_OK));
}

CASE(mkstemp_by_main)
{
	char name[] = "mkstemp2-XXXXXX";

	fd = mkstemp(name);
	turns(mkstemp_main_step, name);
	lseek(fd, 0, SEEK_SET);
	reads(0, fd, 10);
	close(fd);
	unlink(name);
}

static void statx_step(void *arg, int me)
{
	struct stat s;

	(void)arg;
	say("%d fchmod %s\n", me, err(fchmod(fd, (mode_t)(0600 + me))));
	say("%d %s\n", me, err(fstatat(AT_FDCWD, "fchmod", &s, 0)));
	say("%d mode %o\n", me, s.st_mode);
}

CASE(fchmod_in_thread)
{
	make_file("fchmod", "");
	fd = open("fchmod", O_RDWR);
	turns(statx_step, NULL);
	close(fd);
}

/* ---- copies by the kernel ---- */

static void sendfile_step(void *arg, int me)
{
	off_t at = me;

	(void)arg;
	say("%d sendfile %zd", me, sendfile(other, fd, NULL, 6));
	say(" %zd, at %ld\n", sendfile(other, fd, &at, 3), (long)at);
}

CASE(sendfile_to_file)
{
	fd = open("lines.txt", O_RDONLY);
	other = open("sendfile", O_RDWR | O_CREAT | O_TRUNC, 0644);
	turns(sendfile_step, NULL);
	say("offsets %ld %ld\n", (long)lseek(fd, 0, SEEK_CUR), (long)lseek(other, 0, SEEK_CUR));
	close(fd);
	close(other);
	shows(0, "sendfile");
}

CASE(sendfile_to_socket)
{
	int pair[2];

	say("%s\n", err(socketpair(AF_UNIX, SOCK_STREAM, 0, pair)));
	fd = open("lines.txt", O_RDONLY);
	other = pair[0];
	turns(sendfile_step, NULL);
	reads(0, pair[1], 100);
	close(fd);
	close(pair[0]);
	close(pair[1]);
}

static void copy_range_step(void *arg, int me)
{
	off_t in = 2 * me, out = 30 + 2 * me;

	(void)arg;
	say("%d copies %zd", me, copy_file_range(fd, NULL, other, NULL, 4, 0));
	say(" %zd\n", copy_file_range(fd, &in, other, &out, 2, 0));
}

CASE(copy_file_range_in_turn)
{
	make_file("copy_in", ABC);
	fd = open("copy_in", O_RDONLY);
	other = open("copy_out", O_RDWR | O_CREAT | O_TRUNC, 0644);
	turns(copy_range_step, NULL);
	say("offsets %ld %ld\n", (long)lseek(fd, 0, SEEK_CUR), (long)lseek(other, 0, SEEK_CUR));
	close(fd);
	close(other);
	shows(0, "copy_out");
}

static void copy_opened_step(void *arg, int me)
{
	(void)arg;
	if (me == 1)
		fd = open("lines.txt", O_RDONLY);
	say("%d %zd\n", me, copy_file_range(fd, NULL, other, NULL, 10, 0));
	if (me == threads)
		close(fd);
}

CASE(copy_file_range_opened_by_thread)
{
	other = open("copy_out2", O_RDWR | O_CREAT | O_TRUNC, 0644);
	turns(copy_opened_step, NULL);
	say("closed %s\n", err(lseek(fd, 0, SEEK_CUR)));
	lseek(other, 3, SEEK_SET);
	reads(0, other, 50);
	close(other);
}

static void splice_step(void *arg, int me)
{
	int *p = arg;

	say("%d in %zd", me, splice(fd, NULL, p[1], NULL, 5, 0));
	say(" out %zd\n", splice(p[0], NULL, other, NULL, (size_t)(me == threads ? 100 : 3), 0));
}

CASE(splice_file_pipe_file)
{
	int p[2];

	say("%s\n", err(pipe(p)));
	fd = open("lines.txt", O_RDONLY);
	other = open("splice", O_RDWR | O_CREAT | O_TRUNC, 0644);
	turns(splice_step, p);
	say("offsets %ld %ld\n", (long)lseek(fd, 0, SEEK_CUR), (long)lseek(other, 0, SEEK_CUR));
	close(p[0]);
	close(p[1]);
	close(fd);
	close(other);
	shows(0, "splice");
}

static void tee_step(void *arg, int me)
{
	int *p = arg;

	if (me == 1)
		writes(1, p[1], "0123456789");
	say("%d tee %zd\n", me, tee(p[0], p[3], 4, 0));
	say("%d splice %zd\n", me, splice(p[0], NULL, p[3], NULL, 2, 0));
}

CASE(splice_between_pipes)
{
	int p[4];

	say("%s %s\n", err(pipe(p)), err(pipe(p + 2)));
	turns(tee_step, p);
	reads(0, p[0], 20);
	reads(0, p[2], 40);
	for (int i = 0; i < 4; i++)
		close(p[i]);
}

static void memfd_step(void *arg, int me)
{
	(void)arg;
	if (me == 1)
		fd = memfd_create("case", MFD_CLOEXEC);
	writes(me, fd, "memory %d ", me);
}

CASE(memfd_by_thread)
{
	turns(memfd_step, NULL);
	lseek(fd, 0, SEEK_SET);
	reads(0, fd, 100);
	say("FD_CLOEXEC %d\n", fcntl(fd, F_GETFD));
	close(fd);
}

static void memfd_seal_step(void *arg, int me)
{
	(void)arg;
	say("%d grow %s\n", me, err(ftruncate(fd, 100 + me)));
	if (me == 1)
		say("seal %s\n", err(fcntl(fd, F_ADD_SEALS, F_SEAL_GROW)));
	say("%d seals %d\n", me, fcntl(fd, F_GET_SEALS));
}

CASE(memfd_sealed)
{
	struct stat s;

	fd = memfd_create("sealed", MFD_ALLOW_SEALING);
	turns(memfd_seal_step, NULL);
	fstat(fd, &s);
	say("size %ld, grow %s\n", (long)s.st_size, err(ftruncate(fd, 1000)));
	close(fd);
}

/* ---- folders ---- */

static char names[16][64];
static int n_names;

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void say_names(void)
{
	qsort(names, (size_t)n_names, sizeof names[0], by_name);
	for (int i = 0; i < n_names; i++)
		say("%s ", names[i]);
	say("\n");
	n_names = 0;
}

static void take_name(DIR *d)
{
	struct dirent *e = readdir(d);

	if (e)
		snprintf(names[n_names++], sizeof names[0], "%.60s", e->d_name);
}

static void readdir_step(void *arg, int me)
{
	(void)me;
	take_name(arg);
}

CASE(readdir_in_turn)
{
	DIR *d = opendir("folder");

	take_name(d);
	turns(readdir_step, d);
	for (int i = 0; i < 10; i++)
		take_name(d);
	say_names();
	say("end %d", readdir(d) == NULL);
	say(" %s\n", err(closedir(d)));
}

static DIR *folder;

static void opendir_step(void *arg, int me)
{
	(void)arg;
	if (me == 1)
		folder = opendir("folder");
	take_name(folder);
	if (me == threads) {
		rewinddir(folder);
		n_names = 0;
	}
}

CASE(opendir_in_thread)
{
	turns(opendir_step, NULL);
	for (int i = 0; i < 10; i++)
		take_name(folder);
	say_names();
	say("number valid %d\n", fcntl(dirfd(folder), F_GETFD) >= 0);
	closedir(folder);
	say("no folder: %s\n", opendir("absent") ? "found" : err(-1));
}

struct place {
	DIR *d;
	long at;
	char next[64];
};

static void seekdir_step(void *arg, int me)
{
	struct place *p = arg;

	seekdir(p->d, p->at);
	struct dirent *e = readdir(p->d);
	say("%d the same: %d\n", me, e && !strcmp(e->d_name, p->next));
}

CASE(seekdir_in_threads)
{
	struct place p = {.d = opendir("folder")};

	take_name(p.d);
	take_name(p.d);
	p.at = telldir(p.d);
	strcpy(p.next, readdir(p.d)->d_name);
	n_names = 0;
	turns(seekdir_step, &p);
	say("tell changed: %d\n", telldir(p.d) != p.at);
	closedir(p.d);
}

static void telldir_step(void *arg, int me)
{
	struct place *p = arg;

	if (me > 1)
		return;
	take_name(p->d);
	p->at = telldir(p->d);
	strcpy(p->next, readdir(p->d)->d_name);
	while (readdir(p->d))
		;
}

CASE(seekdir_in_main)
{
	struct place p = {.d = opendir("folder")};

	turns(telldir_step, &p);
	say("end %d\n", readdir(p.d) == NULL);
	seekdir(p.d, p.at);
	say("the same: %d\n", !strcmp(readdir(p.d)->d_name, p.next));
	rewinddir(p.d);
	n_names = 0;
	for (int i = 0; i < 10; i++)
		take_name(p.d);
	say_names();
	closedir(p.d);
}

static void fdopendir_step(void *arg, int me)
{
	(void)arg;
	if (me == 1)
		folder = fdopendir(fd);
	take_name(folder);
	say("%d number %d\n", me, dirfd(folder) == fd);
}

CASE(fdopendir_in_thread)
{
	fd = open("folder", O_RDONLY | O_DIRECTORY);
	turns(fdopendir_step, NULL);
	for (int i = 0; i < 10; i++)
		take_name(folder);
	say_names();
	say("%s", err(closedir(folder)));
	say(" then %s\n", err(close(fd)));
}

static void fdopendir_main_step(void *arg, int me)
{
	(void)arg;
	if (me == 1)
		fd = open("folder", O_RDONLY | O_DIRECTORY);
	else
		take_name(folder);
	if (me == 1)
		folder = fdopendir(dup(fd));
	if (me == threads)
		say("%s\n", err(closedir(folder)));
}

CASE(fdopendir_closed_by_thread)
{
	turns(fdopendir_main_step, NULL);
	n_names = 0;
	DIR *d = fdopendir(fd);
	rewinddir(d);
	for (int i = 0; i < 10; i++)
		take_name(d);
	say_names();
	closedir(d);
}

static void openat_step(void *arg, int me)
{
	char name[32];

	(void)arg;
	snprintf(name, sizeof name, "%c.txt", 'a' + (me - 1) % 3);
	int in = openat(fd, name, O_RDONLY);
	reads(me, in, 6);
	close(in);
	say("%d %s %s\n", me, err(faccessat(fd, name, W_OK, 0)), err(mkdirat(other, name, 0750)));
}

CASE(openat_of_folder)
{
	struct stat s;

	say("%s\n", err(mkdir("openat", 0755)));
	fd = open("folder", O_RDONLY | O_DIRECTORY);
	other = open("openat", O_PATH | O_DIRECTORY);
	turns(openat_step, NULL);
	say("%s", err(fstatat(other, "a.txt", &s, 0)));
	say(" %o\n", s.st_mode);
	close(fd);
	close(other);
}

/* ---- standard input ---- */

static void stdin_step(void *arg, int me)
{
	(void)arg;
	reads(me, 0, 8);
}

CASE(stdin_in_turn)
{
	reads(0, 0, 6);
	turns(stdin_step, NULL);
	turns(stdin_step, NULL);
	reads(0, 0, 12);
}

static long stdin_bytes, stdin_sum;
static pthread_mutex_t stdin_lock = PTHREAD_MUTEX_INITIALIZER;

static void stdin_all_step(void *arg, int me)
{
	unsigned char c[10];
	long n;

	(void)arg;
	(void)me;
	while ((n = read(0, c, sizeof c)) > 0) {
		pthread_mutex_lock(&stdin_lock);
		for (long i = 0; i < n; i++, stdin_bytes++)
			stdin_sum += c[i] * c[i];
		pthread_mutex_unlock(&stdin_lock);
	}
}

CASE(stdin_together)
{
	with_main(stdin_all_step, NULL);
	say("%ld bytes, sum %ld\n", stdin_bytes, stdin_sum);
	reads(0, 0, 10);
}

CASE(stdin_by_last_thread)
{
	together(stdin_all_step, NULL);
	say("%ld bytes, sum %ld\n", stdin_bytes, stdin_sum);
}

static void stdin_replaced_step(void *arg, int me)
{
	(void)arg;
	if (me == 1) {
		close(0);
		say("number %d\n", open("folder/b.txt", O_RDONLY));
	}
	reads(me, 0, 4);
}

CASE(stdin_replaced)
{
	reads(0, 0, 6);
	turns(stdin_replaced_step, NULL);
	reads(0, 0, 30);
}

MAIN(T(ftruncate_shrinks), T(ftruncate_grows), T(unlinked_file), T(unlinked_by_maker), T(mkstemp_by_threads),
     T(mkstemp_by_main), T(fchmod_in_thread), T(sendfile_to_file), T(sendfile_to_socket), T(copy_file_range_in_turn),
     T(copy_file_range_opened_by_thread), T(splice_file_pipe_file), T(splice_between_pipes), T(memfd_by_thread),
     T(memfd_sealed), T(readdir_in_turn), T(opendir_in_thread), T(seekdir_in_threads), T(seekdir_in_main),
     T(fdopendir_in_thread), T(fdopendir_closed_by_thread), T(openat_of_folder), ALONE(stdin_in_turn),
     ALONE(stdin_together), ALONE(stdin_by_last_thread), ALONE(stdin_replaced))
