/* SPDX-License-Identifier: BSD-3-Clause */
/* descriptors.h - what the program and libraries open and close, told apart (core/base/fd.h). */
#ifndef TW_CORE_PROCESS_DESCRIPTORS_H
#define TW_CORE_PROCESS_DESCRIPTORS_H

#include "core/job/boot.h"

/* tw_descriptors_open - take over what the agent has left to this process: from here on nothing of it is inherited by exec. */
void tw_descriptors_open(const struct tw_boot *boot);
/* tw_descriptors_alone - the same in a process that no agent has started.  @own: how many of ours there will be, at most. */
void tw_descriptors_alone(unsigned own);
/* tw_descriptors_opened - @fd was opened by @caller, an address of code: one of a library of ours gets a number of ours.  Returns it, as tw_fd_keep. */
int tw_descriptors_opened(int fd, const void *caller);

#endif
