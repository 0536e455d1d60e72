/* SPDX-License-Identifier: BSD-3-Clause */
/* service.c - both ends of what far.h says: what the process of the first host that makes other hosts' calls does for
 * signals and children, and the relays that bring other hosts the news. */
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/fd.h"
#include "core/base/signals.h"
#include "runtime/process/events/accept.h"
#include "runtime/process/events/far.h"
#include "runtime/process/events/signalfd.h"
#include "runtime/process/hosts/first_host.h"

#define SERVICE_NEWS_NS 1000000000 /* a relay is answered at least so often */
#define SERVICE_WAIT_MS 20         /* the same for a thread that waits for a child: it can take signals in between */

static int service_signals; /* signalfd */

/* What a relay gets beside struct far_event. */
struct service_actions {
	struct sigaction action[NSIG];
	uint32_t changed[NSIG];
};

/* ---- the process of the first host ------------------------------------------------------------------------------- */

static void service_begin(int fd[2])
{
	struct host_processor *p = &host->processor[HOST_SERVICE];
	uint64_t all = ~(uint64_t)0;

	host_self = HOST_SERVICE;
	p->pid = (int32_t)syscall(SYS_getpid);
	p->event = tw_fd_keep(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
	service_signals = tw_fd_keep((int)syscall(SYS_signalfd4, -1, &all, sizeof(all), SFD_NONBLOCK | SFD_CLOEXEC));
	fd[0] = p->event;
	fd[1] = service_signals;
}

/* Children of this process are the program's: what they send to their parent is for the program. */
static bool service_child(pid_t pid)
{
	for (unsigned i = 0; i < HOST_CHILDREN; i++)
		if (host->child[i].pid == pid)
			return true;
	return false;
}

static void service_attend(void)
{
	struct host_processor *p = &host->processor[HOST_SERVICE];
	struct signalfd_siginfo from;
	uint64_t count;

	syscall(SYS_read, p->event, &count, sizeof(count));
	host_serve(p);
	while (syscall(SYS_read, service_signals, &from, sizeof(from)) == (long)sizeof(from)) {
		struct host_signal s = {.info = {.si_signo = (int)from.ssi_signo, .si_code = from.ssi_code}};
		s.info.si_pid = (pid_t)from.ssi_pid;
		s.info.si_uid = from.ssi_uid;
		if (from.ssi_signo == SIGCHLD)
			s.info.si_status = from.ssi_status;
		else
			s.info.si_value.sival_ptr = (void *)(uintptr_t)from.ssi_ptr;
		if (service_child((pid_t)from.ssi_pid))
			signals_deliver(UINT32_MAX, &s);
	}
}

static void service_made(pid_t pid)
{
	children_known(pid, HOST_SERVICE);
}

/* What the program ignores stays ignored. */
static void service_become(uint64_t mask)
{
	for (int s = 1; s < NSIG; s++) {
		struct sigaction a = {.sa_handler = SIG_DFL};
		if (!(host->action[s].sa_flags & SA_SIGINFO) && host->action[s].sa_handler == SIG_IGN)
			a.sa_handler = SIG_IGN;
		if (s != SIGKILL && s != SIGSTOP)
			tw_signal_set(s, &a, NULL);
	}
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof(mask));
}

static void service_limit(int what, const void *limit)
{
	for (uint32_t k = 0; k < host->processors; k++)
		syscall(SYS_prlimit64, host->processor[k].pid, what, limit, NULL);
}

/* Until there are news for the host @f, which has seen those up to @seen. */
static long service_next(struct host_far *f, struct far_event *e, struct service_actions *actions)
{
	sigset_t before;

	atomic_store(&f->known, 1);
	if (atomic_exchange(&f->done, e->next.seen) != e->next.seen)
		tw_kernel_wake(&f->done, INT32_MAX);
	if (e->next.seen && atomic_load(&f->news) == e->next.seen)
		tw_kernel_wait(&f->news, e->next.seen, SERVICE_NEWS_NS);
	host_lock(&before);
	e->next.seen = atomic_load(&f->news);
	if (!e->next.seen) /* 0: none yet */
		e->next.seen = atomic_fetch_add(&f->news, 1) + 1;
	memcpy(actions->action, host->action, sizeof(actions->action));
	memcpy(actions->changed, host->changed, sizeof(actions->changed));
	host_unlock(&before);
	e->next.count = 0;
	while (e->next.count < FAR_SIGNALS && host_far_next(f, &e->next.signal[e->next.count]))
		e->next.count++;
	if (e->next.count == FAR_SIGNALS) /* perhaps more: with the next answer */
		e->next.seen--;
	return 0;
}

static long service_accept(struct host_far *f, uint32_t number, uint32_t says, uint64_t set)
{
	sigset_t before;
	uint64_t was;

	host_lock(&before);
	was = atomic_load(&f->accepts);
	if ((int32_t)(says - f->said) > 0) {
		f->said = says;
		atomic_store(&f->accepts, set);
	}
	host_unlock(&before);
	if (set & ~was) {
		host_inform(true);
		host_far_inform(number, true);
	}
	return 0;
}

static long service_pending(uint64_t *bits)
{
	host_inform(true);
	for (uint32_t k = 0; k < host->processors; k++)
		*bits |= atomic_load(&host->processor[k].pending);
	*bits |= signalfd_pending();
	return 0;
}

static long service_call(struct far_call *c)
{
	char *in = host->data, *out = host->data + HOST_DATA / 2;
	sigset_t before;

	host_lock(&before);
	memcpy(in, c->data, c->bytes);
	if (c->in < 6)
		c->argument[c->in] = (long)(uintptr_t)in;
	if (c->out < 6)
		c->argument[c->out] = (long)(uintptr_t)out;
	long result = host_call(host->main, c->number, c->argument);
	memcpy(c->data, out, c->bytes);
	host_unlock(&before);
	return result;
}

static long service_event(void *event, void *more)
{
	struct far_event *e = event;
	struct host_far *f = &host->far[e->host];

	switch (e->what) {
	case FAR_NEXT:
		return service_next(f, e, more);
	case FAR_ACTION:
		signals_set(e->action.signal, e->action.set ? &e->action.action : NULL, &e->action.action);
		return 0;
	case FAR_SEND:
		return -signals_deliver(e->send.host, &e->send.signal);
	case FAR_ACCEPT:
		return service_accept(f, e->host, e->accept.says, e->accept.set);
	case FAR_PENDING:
		return service_pending(&e->pending);
	case FAR_CALL:
		return service_call(&e->call);
	case FAR_WAIT:
		return children_try(&e->wait, SERVICE_WAIT_MS);
	}
	return -EINVAL;
}

void service_share(void)
{
	th_hosts_work = (struct th_hosts_work){service_begin, service_attend, service_event,
	                                       service_made,  service_become, service_limit};
}

/* ---- the relay of another host ----------------------------------------------------------------------------------- */

static void relay_signal(const struct host_signal *s)
{
	siginfo_t info = s->info;
	long result;

	if (s->pid) {
		syscall(SYS_rt_tgsigqueueinfo, s->pid, s->tid, info.si_signo, &info);
		return;
	}
	const struct host_thread *t = signals_acceptor(info.si_signo, UINT32_MAX);
	result = t ? signals_queue(t, &info) : -1;
	if (result < 0)
		far_send(UINT32_MAX, s);
}

static void *relay_run(void *arg)
{
	static struct service_actions actions;
	static uint32_t changed[NSIG];
	struct far_event e = {.what = FAR_NEXT, .host = th_hosts_self()};
	sigset_t before;

	(void)arg;
	while (th_hosts_news(&e, sizeof(e), &actions, sizeof(actions)) == 0) {
		bool some = false;
		host_lock(&before);
		for (int s = 1; s < NSIG; s++)
			if (changed[s] != actions.changed[s]) {
				changed[s] = actions.changed[s];
				host->action[s] = actions.action[s];
				host->changed[s]++;
				some = true;
			}
		host_unlock(&before);
		if (some)
			host_inform(true);
		for (uint32_t i = 0; i < e.next.count; i++)
			relay_signal(&e.next.signal[i]);
	}
	return NULL;
}

void service_open(void)
{
	int error = far_here() && !host_self ? host_thread(relay_run) : 0;

	if (error)
		tw_fatal("no thread for signals of other hosts: %s", strerror(error));
}
