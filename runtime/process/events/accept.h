/* SPDX-License-Identifier: BSD-3-Clause */
/* accept.h - taking signals; for the files of this folder. */
#ifndef TW_RUNTIME_PROCESS_EVENTS_ACCEPT_H
#define TW_RUNTIME_PROCESS_EVENTS_ACCEPT_H

#include <signal.h>
#include <stdint.h>

#include "runtime/process/events/host.h"

/* This thread's entry; NULL: it is not one of the program's. */
extern __thread struct host_thread *signals_thread;

/* signals_code - the kernel lets no process set another's positive codes (si_code).  They are sent as other numbers;
 * signals_received undoes it, and names the program as the sender of what one of its processors has sent. */
int signals_code(int code);
void signals_received(siginfo_t *info);

/* signals_hidden - is this @signal to this process not for the program?  A child that only Tweed knows has sent it: all
 * children of the program are the first host's.  Or a terminal's key: that goes to all processes of the terminal, and
 * processor 0's is for the program.  @code: its si_code, above 0 if it is the kernel's.  Takes no locks; also in signal
 * handlers. */
bool signals_hidden(int signal, int code);

/* signals_accept - from now on the calling thread accepts @set, beside what its mask does not block; what is pending
 * comes before the return.  signals_masked - the thread's mask has changed. */
void signals_accept(uint64_t set);
void signals_masked(const sigset_t *mask);

/* signals_acceptor - a thread that accepts @signal, of a process other than @except; NULL: none. */
struct host_thread *signals_acceptor(int signal, uint32_t except);

/* signals_queue - send @info to the process of @t; waits while that forks.  Returns as the system call. */
long signals_queue(const struct host_thread *t, const siginfo_t *info);

/* signals_send_open - part of th_events_open. */
void signals_send_open(void);

/* The program has one number on all hosts. */
pid_t signals_program(void);

#endif
