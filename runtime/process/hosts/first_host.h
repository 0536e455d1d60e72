/* SPDX-License-Identifier: BSD-3-Clause */
/* first_host.h - the files of a program whose threads are on several hosts: its first host, where main() runs, has the
 * one table of descriptors, the working folder and the names of files.  System calls of threads on other hosts that
 * concern them are made there.
 *
 * A thread on another host asks the kernel to hand over its system calls (system call user dispatch, Linux 5.11): the
 * handler of SIGSYS (away.c) makes each itself, or sends it with the contents of its arguments (calls.h) over TCP to a
 * process of the first host (serve.c), which shares the table with the processors there.  So calls from inside the C
 * library are found, too.  A connection has one call at a time and a thread at its end, so a call that blocks there
 * delays no other. */
#ifndef TW_RUNTIME_PROCESS_FIRST_HOST_H
#define TW_RUNTIME_PROCESS_FIRST_HOST_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "core/job/boot.h"

#define TH_HOSTS_ADDRESSES 8u
#define TH_HOSTS_NONCE     16u
#define TH_HOSTS_PURPOSE   "calls for the first host" /* what a connection's proof begins with; its nonce follows */
#define TH_HOSTS_WAIT_MS   10000                      /* for a connection, and its proof */

/* Where a host's service is.  Equal tokens: the same host. */
struct th_hosts_place {
	uint8_t token[TH_HOSTS_NONCE];
	uint32_t count;
	struct sockaddr_storage address[TH_HOSTS_ADDRESSES];
};

/* th_hosts_many - may the job of @boot have processors on other hosts? */
bool th_hosts_many(const struct tw_boot *boot);

/* th_hosts_serve - in the fork server of a job on several hosts, before its first processor.  @first: that is processor
 * 0, so start the process that makes the calls; @fork: starts one with the same table. */
void th_hosts_serve(const struct tw_boot *boot, bool first, pid_t (*fork)(void));
extern struct th_hosts_place th_hosts_own; /* of the calling processor's host; no addresses: not the first host */

/* th_hosts_open - collective, in a job on several hosts; nothing in others.
 * th_hosts_enter - from now on, the calling thread runs the program.  th_hosts_leave - not any more. */
void th_hosts_open(const struct tw_boot *boot);
void th_hosts_enter(void);
void th_hosts_leave(void);
/* th_hosts_create - pthread_create() by the run-time itself, with all signals blocked: the kernel must not hand that
 * call over. */
int th_hosts_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *arg), void *arg);

/* th_hosts_keep - a duplicate of the program's descriptor @fd, at one of Tweed's numbers of the first host, or of the
 * only one; -1 with errno.
 * th_hosts_kept - by what number this processor uses it, in a thread of the program. */
int th_hosts_keep(int fd);
int th_hosts_kept(int number);

/* ---- signals, timers and children (runtime/process/events)
 * th_hosts_self - the number of the calling processor's host; 0: the first or only one.  th_hosts_of - of that of
 * @node.
 * th_hosts_event - on another host than the first: have th_hosts_work.event called there with a copy of the @bytes at
 * @event, which gets the results.  Returns its result.  Async-signal-safe.
 * th_hosts_news - the same, with @more for further results; returns -EPIPE when the first host has ended. */
uint32_t th_hosts_self(void);
uint32_t th_hosts_of(unsigned node);
long th_hosts_event(void *event, size_t bytes);
long th_hosts_news(void *event, size_t bytes, void *more, size_t more_bytes);

/* What the process that makes the calls does beside; set before th_hosts_serve.
 * begin - in its first thread.  attend is called when one of the descriptors @fd can be read.
 * child - it has made the process @pid for a thread on another host; become - in that process: take the @mask.
 * limit - give the processors this limit. */
struct th_hosts_work {
	void (*begin)(int fd[2]);
	void (*attend)(void);
	long (*event)(void *event, void *more);
	void (*child)(pid_t pid);
	void (*become)(uint64_t mask);
	void (*limit)(int what, const void *limit);
};
extern struct th_hosts_work th_hosts_work;

/* ---- children of threads on other hosts: processes of the first one
 * th_hosts_fork - before fork(): have a process made that stands for the child.  Returns its number; 0: the caller is
 * on the first host; -1 with errno.
 * th_hosts_forked - after it.  In the child: its calls are made by that process, which ends when the child does.
 * th_hosts_start - let posix_spawn(), system() and popen() of threads on other hosts start programs there. */
pid_t th_hosts_fork(void);
void th_hosts_forked(bool child);
void th_hosts_start(void);

#endif
