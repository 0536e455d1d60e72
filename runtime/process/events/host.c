/* SPDX-License-Identifier: BSD-3-Clause */
#include "runtime/process/events/host.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/base/fd.h"
#include "core/job/job.h"
#include "runtime/process/events/events.h"
#include "runtime/process/events/far.h"
#include "runtime/threads/support.h"

#define HOST_STACK_MOST ((size_t)1 << 30)
#define HOST_STACK      ((size_t)128 << 10)
#define HOST_PAUSE      2                     /* ms between two tries of what must be tried again */
#define HOST_WAIT_NS    500000000             /* for an attendant whose process is perhaps gone or stopped */
#define HOST_FAR_NS     (4ull * HOST_WAIT_NS) /* for a relay */

struct host *host;
uint32_t host_self;
static int host_signals = -1; /* signalfd */
static bool (*host_attend)(void);
static uint64_t host_watched;

/* A wrapper of this call may use shared memory. */
static void host_mask(const sigset_t *set, sigset_t *before)
{
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, set, before, (size_t)NSIG / 8);
}

void th_events_share(void)
{
	void *page = (void *)syscall(SYS_mmap, NULL, sizeof(*host), PROT_READ | PROT_WRITE,
	                             MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (page == MAP_FAILED)
		tw_fatal("no memory for what the processors of a host share: %s", strerror(errno));
	host = page;
	service_share();
}

bool host_shared(void)
{
	return tw_me && host_attend;
}

void host_take(_Atomic uint32_t *lock, sigset_t *before)
{
	sigset_t all;
	uint32_t free = 0;

	sigfillset(&all);
	host_mask(&all, before);
	if (atomic_compare_exchange_strong(lock, &free, 1))
		return;
	while (atomic_exchange(lock, 2))
		tw_kernel_wait(lock, 2, 0);
}

void host_give(_Atomic uint32_t *lock, const sigset_t *before)
{
	if (atomic_exchange(lock, 0) == 2)
		tw_kernel_wake(lock, 1);
	host_mask(before, NULL);
}

void host_lock(sigset_t *before)
{
	host_take(&host->lock, before);
}

void host_unlock(const sigset_t *before)
{
	host_give(&host->lock, before);
}

static void host_wake(uint32_t k)
{
	uint64_t one = 1;

	syscall(SYS_write, host->processor[k].event, &one, sizeof(one));
}

void host_inform(bool wait)
{
	uint32_t news = atomic_fetch_add(&host->news, 1) + 1;

	for (uint32_t k = 0; k < host->processors; k++)
		host_wake(k);
	for (uint32_t k = 0; wait && k < host->processors; k++) {
		uint32_t done = atomic_load(&host->processor[k].done);
		uint64_t until = tw_kernel_ns() + HOST_WAIT_NS;
		while ((int32_t)(done - news) < 0 && tw_kernel_ns() < until) {
			tw_kernel_wait(&host->processor[k].done, done, HOST_WAIT_NS);
			done = atomic_load(&host->processor[k].done);
		}
	}
}

long host_call(uint32_t k, long number, const long a[6])
{
	struct host_processor *p = &host->processor[k];

	if (k == host_self) {
		long result = syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
		return result < 0 ? -errno : result;
	}
	p->number = number;
	memcpy(p->argument, a, sizeof(p->argument));
	atomic_store(&p->asked, 1);
	host_wake(k);
	while (atomic_load(&p->asked))
		tw_kernel_wait(&p->asked, 1, 0);
	return p->result;
}

/* ---- other hosts ------------------------------------------------------------------------------------------------- */

static void host_far_wait(struct host_far *f)
{
	uint64_t until = tw_kernel_ns() + HOST_FAR_NS;
	uint32_t news = atomic_load(&f->news), done = atomic_load(&f->done);

	while ((int32_t)(done - news) < 0 && tw_kernel_ns() < until) {
		tw_kernel_wait(&f->done, done, HOST_WAIT_NS);
		done = atomic_load(&f->done);
	}
	if ((int32_t)(done - news) < 0)
		atomic_store(&f->known, 0); /* it has ended, unless it asks again */
}

void host_far_inform(uint32_t only, bool wait)
{
	for (uint32_t i = 1; i < TW_MAX_NODES; i++)
		if (atomic_load(&host->far[i].known) && (only == UINT32_MAX || only == i)) {
			atomic_fetch_add(&host->far[i].news, 1);
			tw_kernel_wake(&host->far[i].news, INT32_MAX);
		}
	for (uint32_t i = 1; wait && i < TW_MAX_NODES; i++)
		if (atomic_load(&host->far[i].known) && (only == UINT32_MAX || only == i))
			host_far_wait(&host->far[i]);
}

int host_far_send(uint32_t to, const struct host_signal *signal)
{
	struct host_far *f = &host->far[to];
	sigset_t before;
	int error = EAGAIN;

	host_take(&f->lock, &before);
	if (!atomic_load(&f->known))
		error = ESRCH;
	else if (f->count < HOST_SIGNALS) {
		f->signal[(f->first + f->count++) % HOST_SIGNALS] = *signal;
		error = 0;
	}
	host_give(&f->lock, &before);
	if (!error)
		host_far_inform(to, false);
	return error;
}

bool host_far_next(struct host_far *f, struct host_signal *signal)
{
	sigset_t before;

	host_take(&f->lock, &before);
	bool some = f->count;
	if (some) {
		*signal = f->signal[f->first];
		f->first = (f->first + 1) % HOST_SIGNALS;
		f->count--;
	}
	host_give(&f->lock, &before);
	return some;
}

uint32_t host_far_acceptor(int signal)
{
	for (uint32_t i = 1; i < TW_MAX_NODES; i++)
		if (atomic_load(&host->far[i].known) && (atomic_load(&host->far[i].accepts) & host_bit(signal)))
			return i;
	return 0;
}

/* ---- the attendant ----------------------------------------------------------------------------------------------- */

void host_watch(uint64_t set)
{
	if (set == host_watched)
		return;
	host_watched = set;
	syscall(SYS_signalfd4, host_signals, &set, sizeof(set), 0);
}

bool host_next(struct signalfd_siginfo *info)
{
	return syscall(SYS_read, host_signals, info, sizeof(*info)) == (long)sizeof(*info);
}

void host_serve(struct host_processor *p)
{
	const long *a = p->argument;

	if (!atomic_load(&p->asked))
		return;
	long result = syscall(p->number, a[0], a[1], a[2], a[3], a[4], a[5]);
	p->result = result < 0 ? -errno : result;
	atomic_store(&p->asked, 0);
	tw_kernel_wake(&p->asked, 1);
}

static void *host_run(void *arg)
{
	struct host_processor *p = &host->processor[host_self];
	bool again = false;
	uint64_t count;

	(void)arg;
	for (;;) {
		struct pollfd poller[] = {{p->event, POLLIN, 0}, {host_signals, POLLIN, 0}};
		syscall(SYS_poll, poller, 2, again ? HOST_PAUSE : -1);
		if (poller[0].revents)
			syscall(SYS_read, p->event, &count, sizeof(count));
		uint32_t news = atomic_load(&host->news);
		again = host_attend();
		host_serve(p);
		if (atomic_exchange(&p->done, news) != news)
			tw_kernel_wake(&p->done, INT32_MAX);
	}
	return NULL;
}

int host_thread(void *(*run)(void *arg))
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before); /* of Tweed's signals none: the C library has shared variables */
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	int error = EINVAL; /* the program's thread-local variables are part of the stack */
	for (size_t bytes = HOST_STACK; error == EINVAL && bytes <= HOST_STACK_MOST; bytes *= 2) {
		pthread_attr_setstacksize(&attr, bytes);
		error = pthread_create(&thread, &attr, run, NULL);
	}
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return error;
}

void host_open(void (*first)(void), bool (*attend)(void))
{
	sigset_t before;
	uint64_t none = 0;

	host_signals = tw_fd_keep((int)syscall(SYS_signalfd4, -1, &none, sizeof(none), SFD_NONBLOCK | SFD_CLOEXEC));
	int event = tw_fd_keep(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
	if (host_signals < 0 || event < 0)
		tw_fatal("no descriptors for signals: %s", strerror(errno));
	host_lock(&before);
	host_self = host->processors;
	if (!host_self)
		first();
	if (!tw_me->id)
		host->main = host_self;
	host->processor[host_self].pid = (int32_t)syscall(SYS_getpid);
	host->processor[host_self].event = event;
	host->processors++;
	host_attend = attend;
	host_unlock(&before);
	int error = host_thread(host_run);
	if (error)
		tw_fatal("no thread for signals: %s", strerror(error));
}
