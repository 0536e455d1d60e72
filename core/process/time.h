/* SPDX-License-Identifier: BSD-3-Clause */
/* time.h - the C library's clocks in virtual time. */
#ifndef TW_CORE_PROCESS_TIME_H
#define TW_CORE_PROCESS_TIME_H

#include <stdbool.h>
#include <time.h>

/* tw_time_virtual - does @clock show virtual time here?  Then *@t is it, and others may have gone first. */
bool tw_time_virtual(clockid_t clock, struct timespec *t);

#endif
