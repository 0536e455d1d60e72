/* SPDX-License-Identifier: BSD-3-Clause */
/* descriptors.h - distinguishes what the program opens and closes from what libraries do (core/base/fd.h). */
#ifndef TW_CORE_PROCESS_DESCRIPTORS_H
#define TW_CORE_PROCESS_DESCRIPTORS_H

#include "core/job/boot.h"

/* tw_descriptors_open - take over the descriptors that the agent has left to this process, so that exec inherits none
 * of them. */
void tw_descriptors_open(const struct tw_boot *boot);
/* tw_descriptors_alone - the same in a process that no agent started. @own: most descriptors that Tweed will have. */
void tw_descriptors_alone(unsigned own);
/* tw_descriptors_opened - @fd was opened by code at @caller. If that is one of Tweed's libraries, @fd gets one of
 * Tweed's numbers. Returns the number, as tw_fd_keep. */
int tw_descriptors_opened(int fd, const void *caller);
/* tw_descriptors_here - Tweed's libraries open what they open on this host: if @caller is in one, clear tw_fd_away.
 * Returns what it was. */
unsigned char tw_descriptors_here(const void *caller);
/* tw_descriptors_changed - called when the number @fd is opened or closed by one of the calls wrapped here.
 * @channel: it is a pipe, a socket or an eventfd now. May be NULL. */
extern void (*tw_descriptors_changed)(int fd, bool channel);
/* tw_descriptors_order - called in the program's threads before a call of @caller sends something through @fd, or
 * closes it, and after one has received something: messages between threads through the kernel order their accesses.
 * May be NULL. Preserves errno. */
extern void (*tw_descriptors_order)(int fd, const void *caller);

#endif
