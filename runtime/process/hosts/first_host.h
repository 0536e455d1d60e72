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

#endif
