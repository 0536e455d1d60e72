/* SPDX-License-Identifier: BSD-3-Clause */
/* state.c - hidden state of the C library and the kernel's for a process: seen by all threads, or each thread's own. */
#include <ctype.h>
#include <libgen.h>
#include <limits.h>
#include <locale.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/utsname.h>
#include <time.h>
#include "process.h"

/* ---- random numbers ---- */

static void rand_step(void *arg, int me)
{
	(void)arg;
	say("%d rand %d", me, rand());
	say(" %d\n", rand());
}

CASE(rand_in_turn)
{
	srand(42);
	say("0 rand %d\n", rand());
	turns(rand_step, NULL);
	say("0 rand %d\n", rand());
}

static void srand_step(void *arg, int me)
{
	(void)arg;
	if (me == threads)
		srand(7);
}

CASE(srand_in_thread)
{
	srand(1);
	turns(srand_step, NULL);
	say("0 rand %d\n", rand());
	turns(rand_step, NULL);
}

static void random_step(void *arg, int me)
{
	(void)arg;
	if (me == 1)
		srandom(5);
	say("%d random %ld\n", me, random());
}

CASE(random_in_turn)
{
	srandom(99);
	say("0 random %ld\n", random());
	turns(random_step, NULL);
	say("0 random %ld\n", random());
}

static void random_more_step(void *arg, int me)
{
	(void)arg;
	if (me == threads)
		srandom(17);
	random();
}

CASE(srandom_in_thread)
{
	srandom(1);
	turns(random_more_step, NULL);
	say("0 random %ld\n", random());
}

static char random_state[64];

static void initstate_step(void *arg, int me)
{
	(void)arg;
	if (me == 1)
		initstate(3, random_state, sizeof random_state);
	say("%d random %ld\n", me, random());
}

CASE(initstate_in_thread)
{
	static char other[128];

	turns(initstate_step, NULL);
	say("0 random %ld\n", random());
	initstate(1, other, sizeof other);
	say("0 random %ld\n", random());
	say("back %d\n", setstate(random_state) == other);
	say("0 random %ld\n", random());
	setstate(other);
}

static void drand_step(void *arg, int me)
{
	(void)arg;
	say("%d drand48 %.6f", me, drand48());
	say(" lrand48 %ld", lrand48());
	say(" mrand48 %ld\n", mrand48());
}

CASE(drand48_in_turn)
{
	srand48(11);
	drand_step(NULL, 0);
	turns(drand_step, NULL);
	drand_step(NULL, 0);
}

static void srand48_step(void *arg, int me)
{
	unsigned short seed[3] = {1, 2, 3};

	(void)arg;
	if (me == 1)
		srand48(12);
	if (me == 2)
		seed48(seed);
	drand_step(NULL, me);
}

CASE(srand48_in_thread)
{
	srand48(1);
	turns(srand48_step, NULL);
	drand_step(NULL, 0);
}

static void rand_r_step(void *arg, int me)
{
	unsigned own = (unsigned)me;

	int a = rand_r(&own), b = rand_r(arg);
	say("%d rand_r %d %d\n", me, a, b);
}

CASE(rand_r_own_and_shared)
{
	unsigned seed = 5;

	turns(rand_r_step, &seed);
	say("%d %d\n", rand_r(&seed), 0);
}

static void rand_r_all_step(void *arg, int me)
{
	unsigned *seed = arg;

	for (int i = 0; i < 1000; i++)
		rand_r(&seed[me]);
}

CASE(rand_r_together)
{
	unsigned seed[MANY + 1] = {1, 2, 3, 4};

	with_main(rand_r_all_step, seed);
	for (int i = 0; i <= threads; i++)
		say("%u\n", seed[i]);
}

/* ---- text ---- */

static void strtok_step(void *arg, int me)
{
	(void)arg;
	char *word = strtok(NULL, " ");
	say("%d %s\n", me, word ? word : "end");
}

CASE(strtok_goes_on)
{
	char text[] = "one two three four five six";

	say("0 %s\n", strtok(text, " "));
	turns(strtok_step, NULL);
	say("0 %s\n", strtok(NULL, " "));
}

static char words[] = "alpha,beta,gamma,delta,epsilon";

static void strtok_start_step(void *arg, int me)
{
	(void)arg;
	say("%d %s\n", me, strtok(me == 1 ? words : NULL, ","));
}

CASE(strtok_started_by_thread)
{
	turns(strtok_start_step, NULL);
	say("0 %s\n", strtok(NULL, ","));
}

static void strerror_step(void *arg, int me)
{
	(void)arg;
	say("%d %s, %s, %s\n", me, strerror(me), strerror(1000 + me), strsignal(me));
}

CASE(strerror_in_turn)
{
	turns(strerror_step, NULL);
	say("%s\n", strerror(1000));
}

/* ---- time ---- */

static struct tm *kept;
static char *kept_text;

static void gmtime_step(void *arg, int me)
{
	time_t t = 86400L * 365 * me;

	(void)arg;
	if (me == 1)
		kept = gmtime(&t);
	else
		localtime(&t);
	say("%d year %d\n", me, kept->tm_year);
}

CASE(gmtime_is_one)
{
	time_t t = 0;

	struct tm *mine = gmtime(&t);
	say("same %d\n", mine == localtime(&t));
	turns(gmtime_step, NULL);
	say("year %d in main's\n", mine->tm_year);
	say("year %d, same %d\n", kept->tm_year, gmtime(&t) == kept);
	say("year %d\n", kept->tm_year);
}

static void asctime_step(void *arg, int me)
{
	struct tm t = {.tm_mday = me, .tm_year = 100 + me, .tm_wday = me};

	(void)arg;
	if (me == 1)
		kept_text = asctime(&t);
	else
		asctime(&t);
	say("%d %s", me, kept_text);
}

CASE(asctime_is_one)
{
	time_t t = 1000000000;

	turns(asctime_step, NULL);
	kept = gmtime(&t);
	say("%s", asctime(kept));
	say("%s", kept_text);
}

static void asctime_seen_step(void *arg, int me)
{
	struct tm t = {.tm_mday = 1, .tm_mon = me, .tm_year = 70 + me};

	(void)arg;
	say("%d %s", me, kept_text);
	if (me == threads)
		asctime(&t);
}

CASE(asctime_of_main)
{
	time_t t = 500000000;

	kept_text = asctime(gmtime(&t));
	turns(asctime_seen_step, NULL);
	say("0 %s", kept_text);
}

static void tzset_step(void *arg, int me)
{
	time_t t = 1000000000;

	(void)arg;
	if (me == 1) {
		setenv("TZ", "XYZ-5:30", 1);
		tzset();
	}
	say("%d %s %ld, %s", me, tzname[0], timezone, ctime(&t));
}

CASE(tzset_in_thread)
{
	time_t t = 1000000000;
	char text[40];

	setenv("TZ", "UTC0", 1);
	tzset();
	say("0 %s", ctime(&t));
	turns(tzset_step, NULL);
	strftime(text, sizeof text, "%H:%M %Z", localtime(&t));
	say("0 %s %ld\n", text, timezone);
}

static void mktime_step(void *arg, int me)
{
	struct tm t = {.tm_year = 101, .tm_mon = 0, .tm_mday = 1, .tm_isdst = -1};

	(void)arg;
	tzset();
	say("%d %ld %d %s\n", me, (long)mktime(&t), daylight, tzname[1]);
}

CASE(tzset_in_main)
{
	setenv("TZ", "AAA3BBB", 1);
	turns(mktime_step, NULL);
	setenv("TZ", "CCC-2", 1);
	tzset();
	turns(mktime_step, NULL);
}

/* ---- locale ---- */

static void locale_step(void *arg, int me)
{
	(void)arg;
	if (me == 1)
		say("1 setlocale %s\n", setlocale(LC_ALL, "C.UTF-8") ? "ok" : "none");
	wchar_t wide = 0;
	int n = mbtowc(&wide, "\xc3\xa9", 2);
	say("%d %s, MB_CUR_MAX %d, mbtowc %d %x\n", me, setlocale(LC_CTYPE, NULL), (int)MB_CUR_MAX, n, (int)wide);
	say("%d %.2f %g %c %c\n", me, 1.5, strtod("2,5", NULL), toupper('a' + me), isalpha(0xe9) ? 'y' : 'n');
}

CASE(setlocale_in_thread)
{
	locale_step(NULL, 0);
	turns(locale_step, NULL);
	locale_step(NULL, 0);
	setlocale(LC_ALL, "C");
}

static void locale_seen_step(void *arg, int me)
{
	(void)arg;
	wchar_t wide[4] = {0};
	int n = (int)mbstowcs(wide, "\xe2\x82\xac!", 4);
	say("%d %s, mbstowcs %d %x, point '%s', %.1f %g %c\n", me, setlocale(LC_ALL, NULL), n, n > 0 ? (int)wide[0] : 0,
	    localeconv()->decimal_point, 2.5, strtod("1.25", NULL), toupper('b'));
}

CASE(setlocale_in_main)
{
	say("%s\n", setlocale(LC_CTYPE, "C.UTF-8") ? "ok" : "none");
	turns(locale_seen_step, NULL);
	setlocale(LC_ALL, "C");
	turns(locale_seen_step, NULL);
}

static void uselocale_step(void *arg, int me)
{
	(void)arg;
	locale_t mine = newlocale(LC_ALL_MASK, me % 2 ? "C.UTF-8" : "C", (locale_t)0), was = uselocale(mine);
	say("%d MB_CUR_MAX %d\n", me, (int)MB_CUR_MAX);
	uselocale(was);
	freelocale(mine);
}

CASE(uselocale_of_thread)
{
	turns(uselocale_step, NULL);
	say("0 MB_CUR_MAX %d\n", (int)MB_CUR_MAX);
}

/* ---- folder, mask ---- */

static void chdir_step(void *arg, int me)
{
	char path[PATH_MAX] = "", name[20];

	(void)arg;
	snprintf(name, sizeof name, "in%d", me);
	say("%d mkdir %s", me, err(mkdir(name, 0755)));
	say(" chdir %s", err(chdir(name)));
	say(" %s\n", getcwd(path, sizeof path) ? basename(path) : "none");
	make_file("here", name);
}

CASE(chdir_in_threads)
{
	char path[PATH_MAX] = "", *home = getcwd(NULL, 0);

	turns(chdir_step, NULL);
	say("0 %s\n", basename(getcwd(path, sizeof path)));
	shows(0, "here");
	shows(0, "../../lines.txt");
	say("%s\n", err(chdir(home)));
	free(home);
}

static void fchdir_step(void *arg, int me)
{
	int *folder = arg;
	char path[PATH_MAX] = "";

	if (me == 1)
		say("1 fchdir %s\n", err(fchdir(*folder)));
	say("%d %s\n", me, basename(getcwd(path, sizeof path)));
	shows(me, "a.txt");
	if (me == threads)
		say("%d chdir %s\n", me, err(chdir("..")));
}

CASE(fchdir_in_thread)
{
	int folder = open("folder", O_RDONLY | O_DIRECTORY);

	turns(fchdir_step, &folder);
	shows(0, "folder/b.txt");
	close(folder);
}

static void umask_step(void *arg, int me)
{
	char name[20];
	struct stat s;

	(void)arg;
	mode_t was = umask((mode_t)(022 + me));
	snprintf(name, sizeof name, "umask%d", me);
	close(open(name, O_WRONLY | O_CREAT | O_TRUNC, 0666));
	stat(name, &s);
	say("%d was %o, file %o\n", me, was, s.st_mode & 0777);
}

CASE(umask_in_threads)
{
	struct stat s;

	umask(077);
	turns(umask_step, NULL);
	mkdir("umask_main", 0777);
	stat("umask_main", &s);
	say("0 %o", s.st_mode & 0777);
	say(", was %o\n", umask(022));
}

static void umask_seen_step(void *arg, int me)
{
	struct stat s;

	(void)arg;
	FILE *f = fopen("umask_file", "w");
	fclose(f);
	stat("umask_file", &s);
	say("%d %o\n", me, s.st_mode & 0777);
	unlink("umask_file");
}

CASE(umask_of_main)
{
	umask(027);
	turns(umask_seen_step, NULL);
	umask(022);
	turns(umask_seen_step, NULL);
}

/* ---- a thread's own ---- */

static int *addresses[MANY + 1];

static void errno_step(void *arg, int me)
{
	(void)arg;
	errno = 100 + me;
	addresses[me] = &errno;
	meet();
	if (me == threads)
		close(-1);
	meet();
	int here = errno;
	say("%s", here == (me == threads ? EBADF : 100 + me) ? "" : "another's errno\n");
	for (int i = 0; i < me; i++)
		if (addresses[i] == &errno)
			say("errno is one\n");
	meet();
}

CASE(errno_is_own)
{
	with_main(errno_step, NULL);
	say("main %d\n", errno);
}

static void errno_kept_step(void *arg, int me)
{
	(void)arg;
	if (!me) {
		errno = E2BIG;
		meet();
		meet();
		say("main %s\n", strerrorname_np(errno));
		return;
	}
	meet();
	open("absent", O_RDONLY);
	if (errno != ENOENT)
		say("%d %s\n", me, strerrorname_np(errno));
	meet();
}

CASE(errno_of_main_stays)
{
	with_main(errno_kept_step, NULL);
}

/* Calls that succeed leave errno alone. */
#define STAYS(call)                                                                                                    \
	do {                                                                                                           \
		errno = E2BIG;                                                                                         \
		(void)(call);                                                                                          \
		if (errno != E2BIG)                                                                                    \
			say("%d " #call ": %s\n", me, errno ? strerrorname_np(errno) : "0");                           \
	} while (0)

static void errno_ignored(int signal)
{
	(void)signal;
}

static void errno_stays_step(void *arg, int me)
{
	struct sigaction action = {.sa_handler = errno_ignored};
	pthread_mutex_t *lock = arg;
	pid_t child;

	for (int i = 0; i < 20; i++) {
		STAYS(pthread_mutex_lock(lock));
		STAYS(pthread_mutex_unlock(lock));
	}
	meet();
	if (me != 1)
		return;
	STAYS(sigaction(SIGUSR1, &action, NULL));
	STAYS(raise(SIGUSR1));
	STAYS(pthread_kill(pthread_self(), SIGUSR1));
	STAYS(kill(getpid(), SIGUSR1));
	STAYS(dup2(1, 1));
	STAYS(free(malloc(100000)));
	STAYS(child = fork());
	if (!child)
		_exit(0);
	STAYS(waitpid(child, NULL, 0));
	say("%d has made all calls\n", me);
}

CASE(errno_stays)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	with_main(errno_stays_step, &lock);
}

/* ---- numbers of the process ---- */

static pid_t pids[4];

static void ids_step(void *arg, int me)
{
	(void)arg;
	say("%d getpid %d getppid %d getpgrp %d getsid %d\n", me, getpid() == pids[0], getppid() == pids[1],
	    getpgrp() == pids[2], getsid(0) == pids[3]);
	say("%d getpgid %d, ids %d\n", me, getpgid(0) == pids[2], getuid() == geteuid() && getgid() == getegid());
}

CASE(ids_equal)
{
	pids[0] = getpid();
	pids[1] = getppid();
	pids[2] = getpgrp();
	pids[3] = getsid(0);
	turns(ids_step, NULL);
}

static void ids_of_thread_step(void *arg, int me)
{
	(void)arg;
	if (me == threads) {
		pids[0] = getpid();
		pids[1] = getppid();
		pids[2] = getpgrp();
		pids[3] = getsid(0);
	}
}

CASE(ids_of_thread)
{
	turns(ids_of_thread_step, NULL);
	ids_step(NULL, 0);
	char text[64];
	snprintf(text, sizeof text, "/proc/%d", pids[0]);
	say("alive %s %s\n", err(access(text, F_OK)), err(getpgid(pids[0])));
}

static void burn_step(void *arg, int me)
{
	volatile double x = me;

	for (clock_t start = clock(); clock() - start < *(long *)arg;)
		for (int i = 0; i < 10000; i++)
			x = x / 3 + i;
}

CASE(clock_counts_threads)
{
	long ticks = 50000;
	struct tms t;
	struct rusage u;

	clock_t start = clock();
	turns(burn_step, &ticks);
	say("clock %d\n", clock() - start >= ticks * threads);
	say("times %d\n", times(&t) != (clock_t)-1 && t.tms_utime + t.tms_stime > 0);
	say("%s", err(getrusage(RUSAGE_SELF, &u)));
	say(" %d\n", u.ru_utime.tv_sec * 1000000 + u.ru_utime.tv_usec + u.ru_stime.tv_usec >= 40000 * threads);
	struct timespec s;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &s);
	say("%d\n", s.tv_sec * 1000000000 + s.tv_nsec >= 40000000L * threads);
}

static void times_step(void *arg, int me)
{
	struct tms t;
	struct rusage u;
	int good = times(&t) != (clock_t)-1;

	(void)arg;
	good += clock() > 0;
	good += !getrusage(RUSAGE_SELF, &u) && u.ru_maxrss > 0 &&
	        u.ru_utime.tv_sec + u.ru_utime.tv_usec + u.ru_stime.tv_sec + u.ru_stime.tv_usec > 0;
	good += !getrusage(RUSAGE_THREAD, &u);
	say("%d %d of 4\n", me, good);
}

CASE(times_in_threads)
{
	long ticks = 30000;

	burn_step(&ticks, 0);
	turns(times_step, NULL);
	times_step(NULL, 0);
}

/* ---- limits, priorities ---- */

static void rlimit_step(void *arg, int me)
{
	struct rlimit l = {0, 0};

	(void)arg;
	getrlimit(RLIMIT_NOFILE, &l);
	say("%d limit %d\n", me, (int)l.rlim_cur);
	l.rlim_cur = (rlim_t)(50 + me);
	say("%d %s\n", me, err(setrlimit(RLIMIT_NOFILE, &l)));
	say("%d %s %s\n", me, err(dup2(0, 49 + me)), err(dup2(0, 50 + me)));
	close(49 + me);
}

CASE(rlimit_of_files)
{
	struct rlimit l;

	getrlimit(RLIMIT_NOFILE, &l);
	l.rlim_cur = 60;
	say("%s\n", err(setrlimit(RLIMIT_NOFILE, &l)));
	turns(rlimit_step, NULL);
	getrlimit(RLIMIT_NOFILE, &l);
	say("limit %d, %ld\n", (int)l.rlim_cur, sysconf(_SC_OPEN_MAX));
}

static void seconds_step(void *arg, int me)
{
	struct rlimit l = {(rlim_t)(10000 * me), RLIM_INFINITY}, was;

	(void)arg;
	prlimit(0, RLIMIT_CPU, NULL, &was);
	l.rlim_max = was.rlim_max;
	say("%d had %d, %s\n", me, (int)was.rlim_cur, err(setrlimit(RLIMIT_CPU, &l)));
}

CASE(rlimit_set_by_threads)
{
	struct rlimit l;

	turns(seconds_step, NULL);
	getrlimit(RLIMIT_CPU, &l);
	say("%d\n", (int)l.rlim_cur);
}

static void priority_step(void *arg, int me)
{
	(void)arg;
	errno = 0;
	say("%d getpriority %d", me, getpriority(PRIO_PROCESS, 0));
	say(" nice %d\n", nice(1));
}

CASE(nice_in_turn)
{
	int was = getpriority(PRIO_PROCESS, 0);

	if (was)
		say("not at 0: %d\n", was);
	turns(priority_step, NULL);
}

static void nice_main_step(void *arg, int me)
{
	(void)arg;
	say("%d %d %s\n", me, getpriority(PRIO_PROCESS, 0), err(sched_yield()));
}

CASE(nice_of_main)
{
	say("%d\n", nice(2));
	turns(nice_main_step, NULL);
}

/* ---- names, options ---- */

static char host[2][256];

static void host_step(void *arg, int me)
{
	struct utsname u;

	(void)arg;
	gethostname(host[1], sizeof host[1]);
	uname(&u);
	say("%d %d %d %s\n", me, !strcmp(host[0], host[1]), !strcmp(u.nodename, host[0]), u.sysname);
}

CASE(gethostname_in_threads)
{
	gethostname(host[0], sizeof host[0]);
	turns(host_step, NULL);
}

static void host_first_step(void *arg, int me)
{
	(void)arg;
	if (me == threads)
		gethostname(host[0], sizeof host[0]);
}

CASE(gethostname_of_thread)
{
	turns(host_first_step, NULL);
	host_step(NULL, 0);
}

MAIN(ALONE(rand_in_turn), ALONE(srand_in_thread), ALONE(random_in_turn), T(initstate_in_thread), T(drand48_in_turn),
     ALONE(srand48_in_thread), ALONE(rand_r_own_and_shared), ALONE(rand_r_together), T(strtok_goes_on),
     T(strtok_started_by_thread), T(strerror_in_turn), T(gmtime_is_one), T(asctime_is_one), ALONE(tzset_in_thread),
     ALONE(tzset_in_main), T(setlocale_in_thread), T(setlocale_in_main), T(uselocale_of_thread),
     ALONE(chdir_in_threads), ALONE(fchdir_in_thread), T(umask_in_threads), T(umask_of_main), T(errno_is_own),
     T(errno_of_main_stays), ALONE(errno_stays), T(ids_equal), T(ids_of_thread), T(clock_counts_threads),
     T(times_in_threads), ALONE(rlimit_of_files), ALONE(rlimit_set_by_threads), ALONE(nice_in_turn),
     ALONE(nice_of_main), T(gethostname_in_threads), T(gethostname_of_thread), ALONE(srandom_in_thread),
     T(asctime_of_main))
