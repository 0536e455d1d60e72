/* SPDX-License-Identifier: BSD-3-Clause */
/* signalfd.h - the program's signalfds; for the files of this folder.  Any thread; in between, signals are blocked. */
#ifndef TW_RUNTIME_PROCESS_EVENTS_SIGNALFD_H
#define TW_RUNTIME_PROCESS_EVENTS_SIGNALFD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/signalfd.h>

/* signalfd_set - the signals that one of them shows.
 * signalfd_put - write a signal that no thread accepts, as its reader is to see it; signalfd_send: the same.  Returns
 * false if none shows it, or it has no room.
 * signalfd_pending - the signals that are unread. */
uint64_t signalfd_set(void);
bool signalfd_put(const struct signalfd_siginfo *info);
bool signalfd_send(const siginfo_t *info);
uint64_t signalfd_pending(void);

#endif
