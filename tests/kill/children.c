/* SPDX-License-Identifier: BSD-3-Clause */
/* children.c - processes that a program of each kind makes.  Every way to make one, by every processor: children never
 * touch the job, and
 * the job never touches them.  Then children use shared memory, call the library, leave the job: they end with a
 * sentence, the job goes on.
 * KIND_... says of which kind this is compiled. */
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef KIND_SHMEM
#include <shmem.h>
#define FIRST (shmem_my_pe() == 0)
static long *shared;
static void begin(void)
{
	shmem_init();
	shared = shmem_malloc(sizeof(*shared));
}
static void meet(void)
{
	shmem_barrier_all();
}
static void end(void)
{
	shmem_finalize();
}
#elif defined(KIND_OMP) || defined(KIND_PTHREADS)
#define FIRST 1
static long *shared;
static void begin(void)
{
	shared = malloc(sizeof(*shared));
}
static void end(void) {}
#ifdef KIND_OMP
#include <omp.h>
static void meet(void)
{
	int all = 0;
#pragma omp parallel
#pragma omp atomic
	all++;
	if (all != omp_get_num_procs())
		abort();
}
#else
#include <pthread.h>
static void *add(void *arg)
{
	return arg;
}
static void meet(void)
{
	pthread_t thread;
	void *got = NULL;
	if (pthread_create(&thread, NULL, add, shared) || pthread_join(thread, &got) || got != shared)
		abort();
}
#endif
#elif defined(KIND_PARMACS)
#include "tweed/parmacs.h"
#define FIRST 1
static long *shared;
static void forks(void);
static void begin(void)
{
	shared = tw_parmacs_malloc(sizeof(*shared));
}
static void meet(void) /* and workers' children */
{
	tw_parmacs_create(forks, tw_count());
	tw_parmacs_join();
}
static void end(void) {}
#else
#include "tweed/tweed.h"
#define FIRST (tw_id() == 0)
static long *shared;
static void begin(void)
{
	tw_init(NULL, NULL);
	shared = tw_malloc_all(sizeof(*shared));
}
static void meet(void)
{
	tw_barrier_all();
}
static void end(void)
{
	tw_finalize();
}
#endif

extern char **environ;
static long global = 7, zeroes[3000];
static int handled;

static void wrong(const char *what, int got)
{
	fprintf(stderr, "wrong: %s: %x\n", what, got);
	abort();
}

static int wait_for(pid_t child)
{
	int status = -1;
	if (child < 0 || waitpid(child, &status, 0) != child)
		wrong("waitpid", status);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status;
}

static void expect(const char *what, int got, int must)
{
	if (got != must)
		wrong(what, got);
}

static void at_exit(void)
{
	handled++;
}
static void __attribute__((unused)) on_child(int signal)
{
	handled += signal == SIGCHLD;
}

/* What a child of fork does, each time another thing. */
static void child(int what, long *mine, int up)
{
	char *const argv[] = {"sh", "-c", "test \"$SAID\" = here && test `pwd` = / && echo out && exit 9", NULL};

	switch (what) {
	case 0:
		exit(0);
	case 1:
		_exit(3);
	case 2: /* its own variables */
		for (int i = 0; i < 3000; i++)
			zeroes[i] += 5;
		exit(zeroes[2999] == 5 && ++global == 8 && --*mine == 10 ? 5 : 6);
	case 3:
		dup2(up, 1);
		close(up);
		setenv("SAID", "here", 1);
		if (chdir("/") == 0)
			execvp("sh", argv);
		_exit(1);
	case 4: { /* a child's child */
		pid_t below = fork();
		if (below == 0) {
			global += 100;
			exit(11);
		}
		exit(wait_for(below) == 11 && global == 7 ? 12 : 13);
	}
	default:
		raise(SIGKILL);
	}
}

static void forks(void)
{
	const int must[] = {0, 3, 5, 9, 12, 1000 + SIGKILL};
	long mine = 11;
	int ends[2];
	char text[8] = "";

	if (pipe(ends))
		wrong("pipe", 0);
	for (int i = 0; i < 6; i++) {
		pid_t one = fork();
		if (one == 0)
			child(i, &mine, ends[1]);
		mine++; /* at once: the child must not see it */
		expect("a child's end", wait_for(one), must[i]);
		mine--;
	}
	close(ends[1]);
	expect("what a child printed", (int)read(ends[0], text, sizeof(text)), 4);
	close(ends[0]);
	if (global != 7 || zeroes[2999] || mine != 11 || getenv("SAID"))
		wrong("a child's stores are seen", (int)global);
}

static void others(void)
{
	char *const argv[] = {"sh", "-c", "exit 6", NULL};
	char text[16] = "";
	pid_t one = -1;

	expect("system", WEXITSTATUS(system("exit 4")), 4);
	FILE *f = popen("echo popen; exit 8", "r");
	if (!f || !fgets(text, sizeof(text), f) || strcmp(text, "popen\n") != 0)
		wrong("popen", 0);
	expect("pclose", WEXITSTATUS(pclose(f)), 8);
	expect("posix_spawn", posix_spawnp(&one, "sh", NULL, NULL, argv, environ), 0);
	expect("its end", wait_for(one), 6);
	one = vfork();
	if (one == 0) {
		execvp("sh", argv);
		_exit(1);
	}
	expect("vfork", wait_for(one), 6);
}

#if defined(KIND_OMP) || defined(KIND_PTHREADS) /* whose children have copies of all that is shared */
#define MISUSES 1
#elif defined(KIND_PARMACS)
#define MISUSES 2
#else
#define MISUSES 3
#endif

/* The program's handler does not hide the sentence. */
static void hide(int signal)
{
	_exit(signal);
}

static void misuse(void)
{
	for (int how = 0; how < MISUSES; how++) {
		pid_t one = fork();
		if (one == 0) {
			signal(SIGSEGV, hide);
			signal(SIGBUS, hide);
			if (how == 0)
				meet();
			else if (how == 1)
				*(volatile long *)shared = 1;
			else
				end();
			_exit(0);
		}
		expect("a child that is none of the job's", wait_for(one) > 0, 1);
	}
}

int main(void)
{
	begin();
	*shared = 1;
	atexit(at_exit);
	meet();
#if defined(KIND_GLOBALS) || defined(KIND_PARMACS) /* which a handler may not use: they are shared memory */
	handled = 1000;
#else
	signal(SIGCHLD, on_child);
#endif
	for (int round = 0; round < 2; round++) {
		forks();
		others();
		meet();
	}
	if (handled < 2 * 9) /* system() takes its own */
		wrong("SIGCHLD", handled);
	if (FIRST) {
		misuse();
		printf("right\n");
	}
	fflush(stdout);
	meet();
	end();
	return 0;
}
