/* SPDX-License-Identifier: BSD-3-Clause */
/* descriptors.c - where Tweed's descriptors are in a processor, and what the program can do to them.
 *
 * descriptors [LIMIT [shmem]] - a job as a program of tweed.h, or of OpenSHMEM.  Each process checks which descriptors
 * are open below its limit, closes all that it can in the ways that programs do, uses the job, and checks which
 * descriptors a command inherits; LIMIT is the limit that the command must see.  Prints what is wrong. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tweed/shmem.h>
#include <tweed/tweed.h>

#define WORDS      4096
#define MOST_READS 2000 /* libfabric's of /proc/kallsyms are 10,600 */

static int wrong;
static bool symmetric;
static long *word;

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vprintf(format, ap);
	va_end(ap);
	puts("");
	wrong = 1;
}

static int limit(void)
{
	struct rlimit files;

	return getrlimit(RLIMIT_NOFILE, &files) ? -1 : (int)files.rlim_cur;
}

static unsigned sockets; /* at the last count: of two connections that are requested at once one is closed again */

/* Count descriptors above standard error: below the limit, and from it on; report those that are not closed at exec. */
static void count_descriptors(unsigned *low, unsigned *high)
{
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *entry;

	*low = *high = sockets = 0;
	while (dir && (entry = readdir(dir))) {
		int fd = atoi(entry->d_name);
		char path[64], what[128] = "";
		if (fd <= STDERR_FILENO || fd == dirfd(dir))
			continue;
		++*(fd < limit() ? low : high);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		if (readlink(path, what, sizeof(what) - 1) < 0 || !(fcntl(fd, F_GETFD) & FD_CLOEXEC))
			say("descriptor %d (%s) is inherited", fd, what);
		else if (fd < limit())
			say("descriptor %d (%s) is the program's", fd, what);
		sockets += strncmp(what, "socket:", 7) == 0;
	}
	if (dir)
		closedir(dir);
}

/* Is all shared memory left out of cores? */
static void check_memory(pid_t pid)
{
	char path[64], line[512];
	bool ours = false;

	snprintf(path, sizeof(path), "/proc/%d/smaps", (int)pid);
	FILE *f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f)) {
		if (strstr(line, "/memfd:tweed"))
			ours = true;
		if (ours && strncmp(line, "VmFlags:", 8) == 0) {
			if (!strstr(line, " dd"))
				say("shared memory of process %d is in its core", (int)pid);
			ours = false;
		}
	}
	if (f)
		fclose(f);
}

/* Work at libfabric's loading that takes long and is not needed here (net/ofi/port/ofi_library.c). */
static void check_start(void)
{
	char line[512];
	long reads = 0;
	bool clock = false;

	FILE *f = fopen("/proc/self/io", "r");
	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "syscr: %ld", &reads);
	if (f)
		fclose(f);
	if (reads > MOST_READS)
		say("%ld reads before the program begins", reads);
	f = fopen("/proc/self/maps", "r");
	while (f && fgets(line, sizeof(line), f))
		clock = clock || strstr(line, "libinfinipath");
	if (f)
		fclose(f);
	if (clock && access("/sys/class/infiniband", F_OK))
		say("libinfinipath is loaded");
}

static void use(long turn)
{
	int me = symmetric ? shmem_my_pe() : tw_id(), all = symmetric ? shmem_n_pes() : tw_count();

	for (int i = me; i < WORDS; i += all)
		if (symmetric)
			shmem_long_p(&word[i], turn + i, (me + 1) % all);
		else
			word[i] = turn + i;
	if (symmetric)
		shmem_barrier_all();
	else
		tw_barrier_all();
	int from = symmetric ? (me + all - 1) % all : 0, step = symmetric ? all : 1;
	for (int i = from; i < WORDS; i += step)
		if (word[i] != turn + i) {
			say("word %d is %ld in turn %ld", i, word[i], turn);
			break;
		}
	if (symmetric)
		shmem_barrier_all();
	else
		tw_barrier_all();
}

static void close_all(void)
{
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *entry;
	int fd[1024], count = 0;

	while (dir && (entry = readdir(dir)) && count < 1024)
		if ((fd[count] = atoi(entry->d_name)) > STDERR_FILENO && fd[count] != dirfd(dir))
			count++;
	closedir(dir);
	for (int i = 0; i < count; i++) {
		if (close(fd[i]) == 0 || errno != EBADF)
			say("descriptor %d can be closed", fd[i]);
		if (dup2(STDIN_FILENO, fd[i]) >= 0 || dup3(STDIN_FILENO, fd[i], 0) >= 0)
			say("descriptor %d can be replaced", fd[i]);
	}
	for (int i = STDERR_FILENO + 1; i < limit(); i++)
		close(i);
	if (close_range(STDERR_FILENO + 1, ~0u, 0))
		say("close_range: %s", strerror(errno));
	closefrom(STDERR_FILENO + 1);
}

/* Does the program get the descriptor numbers that it gets without Tweed? */
static void open_own(void)
{
	int fd = open("/dev/null", O_RDWR), pair[2];

	if (fd != STDERR_FILENO + 1 || pipe(pair) || pair[0] != fd + 1 || pair[1] != fd + 2 || dup2(fd, 60) != 60 ||
	    close(60) || close(pair[0]) || close(pair[1]) || close(fd))
		say("descriptor %d is the first of the program's", fd);
}

/* A child that closes all, without an exec, does not harm its parent. */
static void fork_daemon(void)
{
	int status = -1;
	pid_t child = fork();

	if (child == 0) {
		closefrom(0);
		_exit(0);
	}
	if (waitpid(child, &status, 0) != child || status)
		say("a daemon ends with %d", status);
}

static void command(const char *given)
{
	char text[160];

	snprintf(text, sizeof(text),
	         "n=0; for f in /proc/$$/fd/*; do test -e $f && n=$((n + 1)); done; test $n,$(ulimit -Sn) = 3,%s",
	         given);
	if (system(text))
		say("what a command inherits is wrong: '%s'", text);
}

int main(int argc, char **argv)
{
	unsigned low, high, after;

	symmetric = argc > 2 && strcmp(argv[2], "shmem") == 0;
	if (symmetric) {
		shmem_init();
		word = shmem_calloc(WORDS, sizeof(*word));
	} else {
		tw_init(&argc, &argv);
		if (tw_id() == 0)
			word = tw_malloc(WORDS * sizeof(*word));
		tw_bcast(&word, sizeof(word), 0);
	}
	check_start();
	use(1);
	count_descriptors(&low, &high);
	high -= sockets;
	check_memory(getpid());
	if (argc > 1)
		check_memory(getppid());
	close_all();
	open_own();
	fork_daemon();
	use(2);
	count_descriptors(&low, &after);
	if (after - sockets < high)
		say("%u descriptors of Tweed's that are no sockets, then %u", high, after - sockets);
	if (argc > 1)
		command(argv[1]);
	use(3);
	if (symmetric)
		shmem_finalize();
	else
		tw_finalize();
	count_descriptors(&low, &after);
	if (after > 1 && !symmetric)
		say("%u are left", after);
	return wrong;
}
