/* SPDX-License-Identifier: BSD-3-Clause */
/* far.h - signals, timers and children of a program on several hosts: the first one's page (host.h) has what belongs to
 * the program.  Threads of other hosts send their calls there (far.c, service.c), over the connections for files
 * (runtime/process/hosts/).  A relay on each other host asks for news: dispositions, and signals for its threads. */
#ifndef TW_RUNTIME_PROCESS_EVENTS_FAR_H
#define TW_RUNTIME_PROCESS_EVENTS_FAR_H

#include <sys/resource.h>
#include <sys/wait.h>

#include "runtime/process/events/host.h"

enum far_what {
	FAR_NEXT,   /* the relay: news; what it got before has been done */
	FAR_ACTION, /* sigaction */
	FAR_SEND,   /* a signal to a host, or the program */
	FAR_ACCEPT, /* what threads of the host accept now */
	FAR_PENDING,
	FAR_CALL, /* a system call of the first processor */
	FAR_WAIT, /* wait4, waitid */
};

#define FAR_SIGNALS 8u /* at a time */
#define FAR_DATA    128u

/* A call that waits: wait4 or waitid, in the form of the latter.  @status, @usage, @info: the results. */
struct children_wait {
	idtype_t type;
	id_t id;
	int options;
	bool plain; /* wait4 */
	int status;
	struct rusage usage;
	siginfo_t info;
};

/* A system call with up to two arguments in memory, numbers @in and @out; 6: none. */
struct far_call {
	long number, argument[6];
	uint32_t in, out, bytes;
	char data[FAR_DATA];
};

struct far_event {
	enum far_what what;
	uint32_t host; /* of the caller */
	union {
		struct {
			uint32_t seen, count; /* seen: host_far.news */
			struct host_signal signal[FAR_SIGNALS];
		} next;
		struct {
			int signal;
			bool set;
			struct sigaction action; /* on return the old one */
		} action;
		struct {
			uint32_t host; /* UINT32_MAX: the program */
			struct host_signal signal;
		} send;
		struct {
			uint32_t says;
			uint64_t set;
		} accept;
		uint64_t pending;
		struct far_call call;
		struct children_wait wait;
	};
};

/* far_here - is the caller on another host than the first?
 * far_accept - after a change of what this host's threads accept: inform the first, if it matters.  What is
 * pending comes before the return.
 * far_send - a signal to @to; UINT32_MAX: the program.  Returns an error's number.
 * The others return as the system does, or -errno. */
bool far_here(void);
long far_action(int signal, const struct sigaction *action, struct sigaction *old);
void far_accept(void);
int far_send(uint32_t to, const struct host_signal *signal);
uint64_t far_pending(void);
long far_call(struct far_call *call);
long far_wait(struct children_wait *wait);

/* service_share - part of th_events_share, service_open of th_events_open. */
void service_share(void);
void service_open(void);

/* ---- for service.c
 * children_try - look for children as @wait says, for @ms at most.  children_known - the program has the process @pid,
 * a child of the entry @of. */
long children_try(struct children_wait *wait, int ms);
void children_known(pid_t pid, uint32_t of);
/* signals_set - the program's sigaction(), on the first host. */
void signals_set(int signal, const struct sigaction *action, struct sigaction *old);
/* signals_deliver - pass a signal on, as the program's, or to a thread; on the first host.  Returns an error's
 * number. */
int signals_deliver(uint32_t to, const struct host_signal *signal);

#endif
