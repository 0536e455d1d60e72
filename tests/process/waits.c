/* SPDX-License-Identifier: BSD-3-Clause */
/* waits.c - descriptors that count, wait for others, or show signals and changes of files. */
#include <aio.h>
#include <linux/aio_abi.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/syscall.h>
#include "process.h"

static int fd, epoll, ends[2 * MANY + 4], fds[16];

/* Two ends: to read from ends[0], or of a pair of sockets. */
static void new_pipe(void)
{
	say("pipe %s\n", err(pipe(ends)));
}

static void close_ends(void)
{
	say("closed %s", err(close(ends[0])));
	say(" %s\n", err(close(ends[1])));
}

/* ---- counters and timers ---- */

static void eventfd_step(void *arg, int me)
{
	(void)arg;
	for (int i = 0; i < 10; i++)
		if (eventfd_write(fd, (eventfd_t)me))
			say("%d: %s\n", me, err(-1));
}

CASE(eventfd_adds)
{
	eventfd_t n = 0;

	fd = eventfd(5, EFD_NONBLOCK);
	together(eventfd_step, NULL);
	say("%s", err(eventfd_read(fd, &n)));
	say(" %d", (int)n);
	say(", then %s\n", err(eventfd_read(fd, &n)));
	close(fd);
}

static void eventfd_take_step(void *arg, int me)
{
	uint64_t n = 9;

	(void)arg;
	if (!me) {
		eventfd_write(fd, (eventfd_t)threads);
		return;
	}
	long got = read(fd, &n, sizeof n);
	if (got != 8 || n != 1)
		say("%d read %ld %d\n", me, got, (int)n);
}

CASE(eventfd_semaphore)
{
	uint64_t n;

	fd = eventfd(0, EFD_SEMAPHORE);
	with_main(eventfd_take_step, NULL);
	fcntl(fd, F_SETFL, O_NONBLOCK);
	say("then %s\n", err(read(fd, &n, sizeof n)));
	close(fd);
}

static void timerfd_step(void *arg, int me)
{
	uint64_t n = 0;

	(void)arg;
	long got = read(fd, &n, sizeof n);
	say("%d %ld %s %d\n", me, got, n ? "expired" : "not", got > 0 && n > 0);
}

CASE(timerfd_read_by_threads)
{
	struct itimerspec t = {{0, 1000000}, {0, 1000000}}, was = {{0, 0}, {0, 0}};

	fd = timerfd_create(CLOCK_MONOTONIC, 0);
	say("%s\n", err(timerfd_settime(fd, 0, &t, NULL)));
	turns(timerfd_step, NULL);
	t = (struct itimerspec){{0, 0}, {0, 0}};
	say("%s\n", err(timerfd_settime(fd, 0, &t, &was)));
	say("interval %ld\n", was.it_interval.tv_nsec);
	close(fd);
}

static void timerfd_set_step(void *arg, int me)
{
	struct itimerspec t = {{0, 0}, {me == threads ? 0 : 1000, me == threads ? 1000000 : 0}};

	(void)arg;
	if (me == 1)
		fd = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC);
	say("%d %s\n", me, err(timerfd_settime(fd, 0, &t, NULL)));
}

CASE(timerfd_set_by_threads)
{
	uint64_t n = 0;
	struct itimerspec t;

	turns(timerfd_set_step, NULL);
	struct pollfd p = {.fd = fd, .events = POLLIN};
	say("poll %d\n", poll(&p, 1, 10000));
	say("read %zd", read(fd, &n, sizeof n));
	say(" %d\n", (int)n);
	say("%s", err(timerfd_gettime(fd, &t)));
	say(" %ld\n", t.it_value.tv_nsec);
	close(fd);
}

/* ---- waiting ---- */

static void epoll_wait_step(void *arg, int me)
{
	struct epoll_event e = {.events = 0, .data = {.u32 = 0}};

	(void)arg;
	int n = epoll_wait(fd, &e, 1, 5000);
	say("%d epoll %d %x %u\n", me, n, e.events, e.data.u32);
	reads(me, ends[0], 2);
}

CASE(epoll_in_threads)
{
	struct epoll_event e = {.events = EPOLLIN, .data = {.u32 = 77}};

	new_pipe();
	fd = epoll_create1(0);
	say("%s\n", err(epoll_ctl(fd, EPOLL_CTL_ADD, ends[0], &e)));
	writes(0, ends[1], "0123456789");
	turns(epoll_wait_step, NULL);
	say("again: %s\n", err(epoll_ctl(fd, EPOLL_CTL_ADD, ends[0], &e)));
	close_ends();
	say("left %d\n", epoll_wait(fd, &e, 1, 0));
	close(fd);
}

static void epoll_add_step(void *arg, int me)
{
	struct epoll_event e = {.events = EPOLLIN, .data = {.u32 = (uint32_t)me}};

	(void)arg;
	if (pipe(ends + 2 * me))
		say("%d: %s\n", me, err(-1));
	say("%d %s\n", me, err(epoll_ctl(fd, EPOLL_CTL_ADD, ends[2 * me], &e)));
}

static void epoll_del_step(void *arg, int me)
{
	struct epoll_event e = {.events = EPOLLIN, .data = {.u32 = 0}};

	(void)arg;
	say("%d %s", me, err(epoll_ctl(fd, me == 2 ? EPOLL_CTL_MOD : EPOLL_CTL_DEL, ends[2 * me], &e)));
	say(" %s\n", err(epoll_ctl(fd, EPOLL_CTL_DEL, ends[2 * me], &e)));
}

CASE(epoll_added_by_threads)
{
	struct epoll_event e[MANY];
	unsigned sum = 0;

	fd = epoll_create1(EPOLL_CLOEXEC);
	turns(epoll_add_step, NULL);
	say("ready %d\n", epoll_wait(fd, e, MANY, 0));
	for (int i = 1; i <= threads; i++)
		writes(0, ends[2 * i + 1], "x");
	int n = epoll_wait(fd, e, MANY, 1000);
	for (int i = 0; i < n; i++)
		sum += e[i].data.u32;
	say("ready %d, sum %u\n", n, sum);
	turns(epoll_del_step, NULL);
	say("ready %d\n", epoll_wait(fd, e, MANY, 0));
	for (int i = 2; i < 2 * threads + 2; i++)
		close(ends[i]);
	close(fd);
}

static void epoll_blocked_step(void *arg, int me)
{
	struct epoll_event e = {.events = EPOLLIN, .data = {.u32 = 1}};

	(void)arg;
	if (me > 1)
		return;
	if (!me) {
		write(ends[1], "wake", 4);
		return;
	}
	int n = epoll_wait(fd, &e, 1, -1);
	say("1 epoll %d %x\n", n, e.events);
}

CASE(epoll_woken_by_main)
{
	struct epoll_event e = {.events = EPOLLIN | EPOLLET, .data = {.u32 = 1}};

	new_pipe();
	fd = epoll_create(1);
	epoll_ctl(fd, EPOLL_CTL_ADD, ends[0], &e);
	with_main(epoll_blocked_step, NULL);
	say("edge %d\n", epoll_wait(fd, &e, 1, 0));
	close(fd);
	close_ends();
}

static void poll_step(void *arg, int me)
{
	struct pollfd p[2] = {{.fd = ends[0], .events = POLLIN}, {.fd = ends[1], .events = POLLOUT}};

	(void)arg;
	int n = poll(p, 2, 0);
	say("%d poll %d %x %x\n", me, n, p[0].revents, p[1].revents);
	if (me == 1)
		writes(me, ends[1], "x");
	if (me == threads)
		close(ends[1]);
}

CASE(poll_of_pipe)
{
	new_pipe();
	turns(poll_step, NULL);
	struct pollfd p[2] = {{.fd = ends[0], .events = POLLIN}, {.fd = ends[1], .events = POLLOUT}};
	int n = poll(p, 2, 0);
	say("poll %d %x %x\n", n, p[0].revents, p[1].revents);
	close(ends[0]);
	n = poll(p, 2, 0);
	say("poll %d %x %x\n", n, p[0].revents, p[1].revents);
}

static void poll_blocked_step(void *arg, int me)
{
	struct pollfd p = {.fd = ends[0], .events = POLLIN};

	(void)arg;
	if (!me) {
		int n = poll(&p, 1, -1);
		say("0 poll %d %x\n", n, p.revents);
	} else if (me == threads) {
		write(ends[1], "x", 1);
	}
}

CASE(poll_woken_by_thread)
{
	new_pipe();
	with_main(poll_blocked_step, NULL);
	reads(0, ends[0], 5);
	close_ends();
}

static void select_step(void *arg, int me)
{
	fd_set in, out;
	struct timeval soon = {0, 1000};

	(void)arg;
	FD_ZERO(&in);
	FD_ZERO(&out);
	FD_SET(ends[0], &in);
	FD_SET(ends[1], &out);
	int n = select(ends[1] + 1, &in, me % 2 ? &out : NULL, NULL, &soon);
	say("%d select %d %d %d\n", me, n, n > 0 && FD_ISSET(ends[0], &in), FD_ISSET(ends[1], &out));
	writes(me, ends[1], "x");
}

CASE(select_of_pipe)
{
	fd_set in;
	struct timeval none = {0, 0};

	new_pipe();
	turns(select_step, NULL);
	close_ends();
	FD_ZERO(&in);
	FD_SET(ends[0], &in);
	say("%s\n", err(select(ends[0] + 1, &in, NULL, NULL, &none)));
}

static void select_blocked_step(void *arg, int me)
{
	fd_set in;

	(void)arg;
	if (me > 1)
		return;
	if (!me) {
		write(ends[1], "x", 1);
		return;
	}
	FD_ZERO(&in);
	FD_SET(ends[0], &in);
	say("1 select %d\n", pselect(ends[0] + 1, &in, NULL, NULL, NULL, NULL));
}

CASE(select_woken_by_main)
{
	fd_set in;
	struct timeval none = {0, 0};

	new_pipe();
	with_main(select_blocked_step, NULL);
	FD_ZERO(&in);
	FD_SET(ends[0], &in);
	say("select %d\n", select(ends[0] + 1, &in, NULL, NULL, &none));
	close_ends();
}

/* ---- files that change, signals ---- */

static void say_event(int me)
{
	union {
		struct inotify_event e;
		char space[sizeof(struct inotify_event) + 256];
	} got;

	got.e.len = 0;
	long n = read(fd, &got, sizeof got);
	say("%d %s", me, err(n));
	if (n > 0)
		say(" watch %d mask %x name %s", got.e.wd, got.e.mask, got.e.len ? got.e.name : "-");
	say("\n");
}

static void inotify_step(void *arg, int me)
{
	char name[32];

	(void)arg;
	snprintf(name, sizeof name, "watched/%d", me);
	say("%d %s\n", me, err(mknod(name, S_IFREG | 0600, 0)));
	if (me != threads)
		say_event(me);
}

CASE(inotify_by_main)
{
	mkdir("watched", 0700);
	fd = inotify_init1(IN_NONBLOCK);
	say("watch %d\n", inotify_add_watch(fd, "watched", IN_CREATE));
	turns(inotify_step, NULL);
	say_event(0);
	say_event(0);
	close(fd);
}

static void inotify_watch_step(void *arg, int me)
{
	(void)arg;
	if (me == 1) {
		fd = inotify_init();
		say("watch %d\n", inotify_add_watch(fd, "watched2", IN_MODIFY));
	}
	if (me == threads)
		fds[0] = open("watched2", O_WRONLY);
}

CASE(inotify_by_thread)
{
	make_file("watched2", "");
	turns(inotify_watch_step, NULL);
	writes(0, fds[0], "change");
	say_event(0);
	say("%s\n", err(inotify_rm_watch(fd, 1)));
	say_event(0);
	close(fd);
	close(fds[0]);
}

static void block_step(void *arg, int me)
{
	(void)me;
	pthread_sigmask(SIG_BLOCK, arg, NULL);
}

static void say_signal(int me)
{
	struct signalfd_siginfo s = {.ssi_signo = 0};

	long n = read(fd, &s, sizeof s);
	say("%d %s signal %d, from itself %d\n", me, err(n), (int)s.ssi_signo, (pid_t)s.ssi_pid == getpid());
}

static void signalfd_step(void *arg, int me)
{
	pthread_sigmask(SIG_BLOCK, arg, NULL);
	if (me == 1) {
		say("kill %s\n", err(kill(getpid(), SIGUSR1)));
		say("kill %s\n", err(kill(getpid(), SIGUSR2)));
	}
	if (me == threads)
		say_signal(me);
}

CASE(signalfd_by_main)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	with_main(block_step, &set);
	fd = signalfd(-1, &set, SFD_NONBLOCK);
	turns(signalfd_step, &set);
	say_signal(0);
	say_signal(0);
	close(fd);
}

/* What is pending is seen by poll and epoll in every thread, and read once. */
static void signalfd_poll_step(void *arg, int me)
{
	struct pollfd one = {.fd = fd, .events = POLLIN};
	struct epoll_event event = {0};
	sigset_t set;

	pthread_sigmask(SIG_BLOCK, arg, NULL);
	if (me == 1) {
		say("kill %s\n", err(kill(getpid(), SIGUSR1)));
		say("kill %s\n", err(kill(getpid(), SIGUSR1)));
		say("queue %s\n", err(sigqueue(getpid(), SIGRTMIN + 3, (union sigval){.sival_int = 5})));
		say("queue %s\n", err(sigqueue(getpid(), SIGRTMIN + 3, (union sigval){.sival_int = 6})));
	}
	int ready = poll(&one, 1, 0), waited = epoll_wait(epoll, &event, 1, 0);
	sigpending(&set);
	say("%d poll %d, epoll %d, pending %d %d\n", me, ready, waited, sigismember(&set, SIGUSR1),
	    sigismember(&set, SIGUSR2));
	if (me == threads)
		for (int i = 0; i < 4; i++) {
			struct signalfd_siginfo s = {.ssi_signo = 0};
			long n = read(fd, &s, sizeof s);
			say("%d %s signal %d, value %d\n", me, err(n), (int)s.ssi_signo, (int)s.ssi_int);
		}
}

static void *signalfd_wait(void *arg)
{
	struct epoll_event event = {0};
	struct signalfd_siginfo s = {.ssi_signo = 0};

	if (epoll_wait(epoll, &event, 1, -1) == 1)
		read(fd, &s, sizeof s);
	say("waited for %d\n", (int)s.ssi_signo);
	return arg;
}

CASE(signalfd_polled)
{
	struct epoll_event event = {.events = EPOLLIN};
	pthread_t t;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGRTMIN + 3);
	with_main(block_step, &set);
	fd = signalfd(-1, &set, SFD_NONBLOCK);
	epoll = epoll_create1(0);
	epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
	turns(signalfd_poll_step, &set);
	sigaddset(&set, SIGUSR2);
	sigaddset(&set, SIGCHLD);
	with_main(block_step, &set);
	turns(block_step, &set);
	say("changed %d\n", signalfd(fd, &set, 0) == fd);
	int wrong = 0;
	for (int i = 0; i < 100; i++)
		wrong += signalfd(epoll, &set, 0) < 0 && errno == EINVAL;
	say("wrong %d\n", wrong);
	pthread_create(&t, NULL, signalfd_wait, NULL);
	usleep(20000);
	kill(getpid(), SIGUSR2);
	pthread_join(t, NULL);
	pthread_create(&t, NULL, signalfd_wait, NULL);
	usleep(20000);
	pid_t child = fork();
	if (!child)
		_exit(3);
	pthread_join(t, NULL);
	waitpid(child, NULL, 0);
	pthread_kill(pthread_self(), SIGUSR1);
	signalfd_wait(NULL);
	close(fd);
	close(epoll);
}

static void signalfd_raise_step(void *arg, int me)
{
	pthread_sigmask(SIG_BLOCK, arg, NULL);
	if (me == 1)
		fd = signalfd(-1, arg, SFD_NONBLOCK | SFD_CLOEXEC);
	say("raise %s\n", err(raise(SIGUSR1)));
	say_signal(me);
}

CASE(signalfd_by_thread)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	with_main(block_step, &set);
	turns(signalfd_raise_step, &set);
	say("none: ");
	say_signal(0);
	close(fd);
}

/* ---- the kernel's asynchronous transfers ---- */

static aio_context_t ring;
static struct iocb blocks[3];
static char ring_text[16];

static struct io_event ring_event[3];
static long ring_events;

static void *ring_waits(void *arg)
{
	uint64_t ends;

	if (read(fd, &ends, sizeof ends) == sizeof ends)
		ring_events = syscall(SYS_io_getevents, ring, 3, 3, ring_event, NULL);
	return arg;
}

static void ring_step(void *arg, int me)
{
	struct iocb *list[3] = {&blocks[0], &blocks[1], &blocks[2]};

	if (me == 1)
		say("submit %ld\n", syscall(SYS_io_submit, ring, 1, list));
	if (me == 2)
		say("submit %ld\n", syscall(SYS_io_submit, ring, 2, list + 1));
	if (me == 3)
		say("wrong %s\n", err(syscall(SYS_io_submit, ring, 1, &(struct iocb *){arg})));
}

CASE(kernel_transfers)
{
	struct iocb wrong = {.aio_lio_opcode = 77};
	int file = open("transfers.txt", O_RDWR | O_CREAT | O_TRUNC, 0600);
	pthread_t t;

	fd = eventfd(0, 0);
	say("setup %s\n", err(syscall(SYS_io_setup, 8, &ring)));
	blocks[0] = (struct iocb){.aio_lio_opcode = IOCB_CMD_PWRITE, .aio_buf = (uintptr_t) "hello ", .aio_nbytes = 6};
	blocks[1] = (struct iocb){.aio_lio_opcode = IOCB_CMD_PREAD, .aio_buf = (uintptr_t)ring_text, .aio_nbytes = 6};
	blocks[2] =
	    (struct iocb){.aio_lio_opcode = IOCB_CMD_FSYNC, .aio_flags = IOCB_FLAG_RESFD, .aio_resfd = (unsigned)fd};
	for (unsigned i = 0; i < 3; i++) {
		blocks[i].aio_fildes = (unsigned)file;
		blocks[i].aio_data = i + 10;
	}
	wrong.aio_fildes = (unsigned)file;
	pthread_create(&t, NULL, ring_waits, NULL);
	turns(ring_step, &wrong);
	if (threads < 2)
		ring_step(NULL, 2);
	pthread_join(t, NULL);
	for (long i = 0; i < ring_events; i++)
		say("%d data %d result %d\n", (int)(ring_event[i].obj - (uintptr_t)blocks) / (int)sizeof *blocks,
		    (int)ring_event[i].data, (int)ring_event[i].res);
	say("%.6s, %ld more\n", ring_text, syscall(SYS_io_getevents, ring, 1, 3, ring_event, &(struct timespec){0, 0}));
	say("destroy %s\n", err(syscall(SYS_io_destroy, ring)));
	say("gone %s\n", err(syscall(SYS_io_submit, ring, 0, NULL)));
	close(file);
	close(fd);
}

/* ---- waits of a child of fork, which has one thread ---- */

static sem_t child_semaphore;
static pthread_mutex_t child_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t child_never = PTHREAD_COND_INITIALIZER;

static void child_posts(int signal)
{
	(void)signal;
	sem_post(&child_semaphore);
}

static void child_waits(void)
{
	struct timespec soon;
	int value = -1;

	say("try: %s", err(sem_trywait(&child_semaphore)));
	clock_gettime(CLOCK_REALTIME, &soon);
	soon.tv_sec++;
	say(", timed: %s", err(sem_timedwait(&child_semaphore, &soon)));
	signal(SIGALRM, child_posts);
	alarm(1);
	soon.tv_sec += 10;
	while (sem_timedwait(&child_semaphore, &soon) < 0 && errno == EINTR)
		;
	sem_post(&child_semaphore);
	sem_getvalue(&child_semaphore, &value);
	say(", value: %d, try: %s", value, err(sem_trywait(&child_semaphore)));
	pthread_mutex_lock(&child_lock);
	soon.tv_sec -= 20;
	say(", condition: %s\n", strerror(pthread_cond_timedwait(&child_never, &child_lock, &soon)));
}

static void child_waits_step(void *arg, int me)
{
	(void)arg;
	pid_t pid = me == 1 ? fork() : -1;
	if (!pid) {
		said = 0;
		child_waits();
		print_said();
		_exit(0);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

CASE(waits_in_child)
{
	sem_init(&child_semaphore, 0, 0);
	turns(child_waits_step, NULL);
}

/* ---- asynchronous transfers ---- */

static pthread_mutex_t aio_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t aio_more = PTHREAD_COND_INITIALIZER;
static int aio_ends;
static char *aio_block;

static void aio_ended(union sigval value)
{
	pthread_mutex_lock(&aio_lock);
	aio_ends += value.sival_int;
	pthread_cond_signal(&aio_more);
	pthread_mutex_unlock(&aio_lock);
}

/* The C library's threads look at a block after its transfer has ended. */
static struct aiocb aio_blocks[2][MANY + 1];

static ssize_t aio_wait(struct aiocb *a)
{
	const struct aiocb *list[1] = {a};

	while (aio_error(a) == EINPROGRESS)
		aio_suspend(list, 1, NULL);
	return aio_return(a);
}

static void aio_step(void *arg, int me)
{
	struct aiocb *w = &aio_blocks[0][me], *r = &aio_blocks[1][me];

	(void)arg;
	*w = (struct aiocb){.aio_fildes = fd, .aio_buf = aio_block + 100 * me, .aio_nbytes = 10, .aio_offset = 10 * me};
	w->aio_sigevent.sigev_notify = SIGEV_THREAD;
	w->aio_sigevent.sigev_notify_function = aio_ended;
	w->aio_sigevent.sigev_value.sival_int = 1;
	memset(aio_block + 100 * me, 'a' + me, 10);
	say("%d writes: %s", me, err(aio_write(w)));
	say(" %zd", aio_wait(w));
	*r = (struct aiocb){
	    .aio_fildes = fd, .aio_buf = aio_block + 100 * me + 50, .aio_nbytes = 10, .aio_offset = 10 * me - 1};
	r->aio_sigevent.sigev_notify = SIGEV_NONE;
	say(", reads: %s", err(aio_read(r)));
	say(" %zd %.10s\n", aio_wait(r), aio_block + 100 * me + 50);
}

static void aio_signalled(int number, siginfo_t *info, void *context)
{
	aio_ends += number == SIGUSR2 && context && info->si_code == SI_ASYNCIO ? info->si_value.sival_int : 100;
}

CASE(aio_of_all)
{
	static struct aiocb bad = {.aio_fildes = -1, .aio_sigevent.sigev_notify = SIGEV_NONE};

	aio_block = calloc(1, 1000);
	fd = open("aio", O_RDWR | O_CREAT, 0600);
	turns(aio_step, NULL);
	pthread_mutex_lock(&aio_lock);
	while (aio_ends < threads)
		pthread_cond_wait(&aio_more, &aio_lock);
	pthread_mutex_unlock(&aio_lock);
	say("%d ends of all, bad file: %s", aio_ends == threads, err(aio_read(&bad)));
	struct aiocb odd = {.aio_fildes = fd, .aio_reqprio = -1, .aio_sigevent.sigev_notify = SIGEV_NONE};
	struct aiocb *const list[] = {&odd};
	say(", priority: %s", err(aio_read(&odd)));
	odd.aio_reqprio = 0;
	odd.aio_lio_opcode = 77;
	say(", operation: %s", err(lio_listio(LIO_WAIT, list, 1, NULL)));
	say(" %s\n", strerror(aio_error(&odd)));
	aio_wait(&bad);
	sigaction(SIGUSR2, &(struct sigaction){.sa_sigaction = aio_signalled, .sa_flags = SA_SIGINFO}, NULL);
	odd.aio_sigevent = (struct sigevent){{.sival_int = 7}, .sigev_signo = SIGUSR2, .sigev_notify = SIGEV_SIGNAL};
	for (aio_read(&odd); aio_ends == threads;)
		usleep(1000);
	say("signal %d, %zd\n", aio_ends - threads, aio_wait(&odd));
	close(fd);
	free(aio_block);
}

/* ---- calls that end before there is something ---- */

static void limits_step(void *arg, int me)
{
	int pair[2];
	struct timeval limit = {.tv_usec = 20000};
	char text[4];
	struct iovec v = {text, sizeof text};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
	static char much[1 << 20];
	ssize_t n;

	(void)arg;
	socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
	setsockopt(pair[0], SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
	say("%d read %s", me, err((int)read(pair[0], text, sizeof text)));
	say(", recv %s", err((int)recv(pair[0], text, sizeof text, 0)));
	say(", recvmsg %s", err((int)recvmsg(pair[0], &m, 0)));
	while ((n = write(pair[0], much, sizeof much)) > 0)
		;
	say(", write %s\n", err((int)n));
	close(pair[0]);
	close(pair[1]);
}

CASE(limits_of_sockets)
{
	turns(limits_step, NULL);
}

static pthread_t waiter;
static volatile int waits_for;

static void on_signal(int signal)
{
	(void)signal;
}

static void interrupted_step(void *arg, int me)
{
	char text[4];

	(void)arg;
	if (me == 1) {
		waiter = pthread_self();
		__atomic_store_n(&waits_for, 1, __ATOMIC_RELEASE);
		say("recv %s\n", err((int)recv(ends[0], text, sizeof text, 0)));
		__atomic_store_n(&waits_for, 2, __ATOMIC_RELEASE);
		say("read %s\n", err((int)read(ends[0], text, sizeof text)));
		__atomic_store_n(&waits_for, 3, __ATOMIC_RELEASE);
		say("restarted read %d\n", (int)read(ends[0], text, sizeof text));
	}
	for (int k = 1; me == 0 && k <= 3; k++) {
		while (__atomic_load_n(&waits_for, __ATOMIC_ACQUIRE) < k)
			usleep(1000);
		struct sigaction a = {.sa_handler = on_signal, .sa_flags = k < 3 ? 0 : SA_RESTART};
		sigaction(SIGUSR1, &a, NULL);
		usleep(100000);
		pthread_kill(waiter, SIGUSR1);
		if (k == 3) {
			usleep(100000);
			write(ends[1], "ab", 2);
		}
	}
}

CASE(interrupted_waits)
{
	socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
	with_main(interrupted_step, NULL);
	close_ends();
}

MAIN(T(eventfd_adds), T(eventfd_semaphore), T(timerfd_read_by_threads), T(timerfd_set_by_threads), T(epoll_in_threads),
     T(epoll_added_by_threads), T(epoll_woken_by_main), T(poll_of_pipe), T(poll_woken_by_thread), T(select_of_pipe),
     T(select_woken_by_main), T(inotify_by_main), T(inotify_by_thread), ALONE(signalfd_by_main), ALONE(signalfd_polled),
     ALONE(signalfd_by_thread), T(aio_of_all), T(kernel_transfers), ALONE(waits_in_child), T(limits_of_sockets),
     ALONE(interrupted_waits))
