/* SPDX-License-Identifier: BSD-3-Clause */
/* line.h - connections of a thread on another host to the first host; for the files of this folder. */
#ifndef TW_RUNTIME_PROCESS_LINE_H
#define TW_RUNTIME_PROCESS_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "core/job/boot.h"
#include "runtime/process/hosts/calls.h"
#include "runtime/process/hosts/first_host.h"

/* away_kernel - the system call, without the C library; returns -errno.  away_restore - returns from a handler.  The
 * kernel hands over no call between away_code and away_code_end. */
extern long away_kernel(long number, long a, long b, long c, long d, long e, long f);
extern const char away_code[], away_code_end[];
extern void away_restore(void);
#define AWAY_KERNEL(number, a, b, c, d, e, f)                                                                          \
	away_kernel(number, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

/* A connection.  Calls are built in @room, since what the program passes may lie in shared memory. */
struct away_line {
	_Atomic uint32_t busy;
	int fd; /* 0: none yet */
	char *room;
	size_t bytes;
};

/* A call on its way.  @vector: the contents of argument 1 are these parts. */
struct away_call {
	struct th_call_request request;
	const struct iovec *vector;
	size_t parts;
};

/* away_open - the first host is at @first.  away_child - this process is a child of fork(), whose calls are made by the
 * process at the end of @line; further ones have none. */
void away_open(const struct th_hosts_place *first, const uint8_t *secret);
void away_child(struct away_line *line);
bool away_is_child(void);

/* away_take, away_free - a connection for a call at a time; @close: it is of no use any more.
 * away_try - make a call on it; returns false when the other end has closed it.
 * away_make - the same on any connection; the job ends if there is none.  Returns the result, or -errno.
 * All are async-signal-safe; they access the program's memory, which may be shared. */
struct away_line *away_take(void);
void away_free(struct away_line *line, bool close);
bool away_try(struct away_line *line, struct away_call *c, long *result);
long away_make(struct away_call *c);

#endif
