/* SPDX-License-Identifier: BSD-3-Clause */
/* host.h - the page that the processors of a host share, and their attendants.  For the files of this folder.
 *
 * The page is plain memory of the host, at one address, so that signal handlers and attendants can use it. */
#ifndef TW_RUNTIME_PROCESS_EVENTS_HOST_H
#define TW_RUNTIME_PROCESS_EVENTS_HOST_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/job/boot.h"

#define HOST_PROCESSORS (TW_MAX_NODES * TW_MAX_PROCESSORS)
#define HOST_THREADS    16384u
#define HOST_CHILDREN   4096u
#define HOST_DATA       512u            /* for a call's arguments and results */
#define HOST_SERVICE    HOST_PROCESSORS /* the entry of the process that makes other hosts' calls */
#define HOST_SIGNALS    64u             /* on their way to another host */
#define HOST_FILES      65536u
#define HOST_SIGNALFDS  64u
#define HOST_UNREAD     256u /* signals, in each */

/* A thread of the program. */
struct host_thread {
	_Atomic int32_t tid; /* 0: free */
	int32_t pid;
	uint32_t processor;        /* index in the page */
	_Atomic uint64_t accepts;  /* signals that it does not block, or waits for; as host_bit */
	_Atomic uint32_t deferred; /* it has taken a signal whose handler is still to be called */
};

struct host_processor {
	int32_t pid;
	int event;                /* eventfd; the number is valid in all processes of the host */
	_Atomic uint32_t done;    /* what its attendant has seen of host.news */
	_Atomic uint64_t pending; /* for the process; as of then */
	_Atomic uint32_t queue;   /* lock: to send it a signal (signals_queue), and while it forks (th_signals_fork) */
	_Atomic uint32_t asked;   /* a call is to be made: below */
	long number, argument[6], result;
};

/* A signal for a host; @pid: 0: for any thread that accepts it. */
struct host_signal {
	int32_t pid, tid;
	siginfo_t info;
};

/* On the first host: another one, whose relay (service.c) asks for news. */
struct host_far {
	_Atomic uint32_t known; /* it has a relay */
	_Atomic uint32_t news;  /* of these it has seen @done; futexes */
	_Atomic uint32_t done;
	_Atomic uint64_t accepts; /* signals that a thread there accepts, as it said with @said */
	uint32_t said;
	_Atomic uint32_t lock; /* of the ring; attendants take it, who may not take host.lock (host_call) */
	uint32_t first, count; /* of a ring */
	struct host_signal signal[HOST_SIGNALS];
};

/* A signalfd of the program (signalfd.c). */
struct host_signalfd {
	bool used;
	int32_t fd; /* its pipe's other end, one of Tweed's; the number is valid in all processes of the host */
	_Atomic uint64_t set;
	uint32_t written;
	uint8_t last[HOST_UNREAD]; /* of the signals written */
};

struct host {
	_Atomic uint32_t lock;
	_Atomic uint32_t news;
	uint32_t processors, threads;  /* entries used */
	uint32_t main;                 /* on the first host: the entry of the processor that runs main */
	struct sigaction action[NSIG]; /* the program's */
	uint32_t changed[NSIG];
	_Atomic uint32_t signalfd_lock, signalfds; /* entries used; attendants take the lock */
	struct host_signalfd signalfd[HOST_SIGNALFDS];
	struct host_child {
		int32_t pid; /* 0: free */
		uint32_t processor;
	} child[HOST_CHILDREN];
	char data[HOST_DATA];
	_Atomic uint8_t file[HOST_FILES]; /* by descriptor: channels.c */
	struct host_thread thread[HOST_THREADS];
	struct host_processor processor[HOST_PROCESSORS + 1];
	_Atomic uint32_t says;             /* on another host than the first: how often it has sent what it accepts, */
	_Atomic uint64_t said;             /* and what, last */
	struct host_far far[TW_MAX_NODES]; /* by number; 0 is unused */
};
extern struct host *host;
extern uint32_t host_self; /* index of this processor */

static inline uint64_t host_bit(int signal)
{
	return (uint64_t)1 << (signal - 1);
}

/* host_shared - is the program one of several processes now?  False before and after the job, and in children. */
bool host_shared(void);

/* host_lock, host_unlock - exclude the other processors; in between, signals are blocked, and only private memory and
 * the page are used. */
void host_lock(sigset_t *before);
void host_unlock(const sigset_t *before);
/* host_take, host_give - the same for another lock of the page. */
void host_take(_Atomic uint32_t *lock, sigset_t *before);
void host_give(_Atomic uint32_t *lock, const sigset_t *before);

/* host_inform - wake all attendants; @wait: until each has seen what the page says.
 * host_serve - make the call that is asked of the entry @p.
 * host_call - with the lock: the processor @k makes a system call, which must not block.  Pointers point into
 * host->data.  Returns its result; -errno. */
void host_inform(bool wait);
long host_call(uint32_t k, long number, const long argument[6]);
void host_serve(struct host_processor *p);

/* On the first host:
 * host_far_inform - wake the relays of all others, or of @only; UINT32_MAX: of all; @wait: until they have seen all.
 * host_far_send - a signal for @host.  Returns an error's number.
 * host_far_next - take the oldest that waits for @far; false: none.
 * host_far_acceptor - a host other than the first that accepts @signal; 0: none. */
void host_far_inform(uint32_t only, bool wait);
int host_far_send(uint32_t host, const struct host_signal *signal);
bool host_far_next(struct host_far *far, struct host_signal *signal);
uint32_t host_far_acceptor(int signal);

/* host_open - this processor's entry, and its attendant, which calls @attend after each change, and again
 * soon if it returns true. */
void host_open(void (*first)(void), bool (*attend)(void));

/* host_thread - before the program runs: start a thread that never runs it, and blocks all signals.  Returns an error's
 * number. */
int host_thread(void *(*run)(void *arg));

/* children_open - part of th_events_open. */
void children_open(void);

/* host_watch - its attendant looks after signals of @set, too. */
void host_watch(uint64_t set);
/* host_next - the next of those; false: none. */
struct signalfd_siginfo;
bool host_next(struct signalfd_siginfo *info);

#endif
