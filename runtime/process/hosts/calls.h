/* SPDX-License-Identifier: BSD-3-Clause */
/* calls.h - system calls as messages between hosts. */
#ifndef TW_RUNTIME_PROCESS_CALLS_H
#define TW_RUNTIME_PROCESS_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TH_CALL_MOST ((size_t)32 << 20) /* bytes of an argument; calls that move more move a part */

/* The first bits of an argument's way: its contents travel with the request, with the reply. */
enum th_call_way { TH_VALUE = 0, TH_IN = 1, TH_OUT = 2, TH_BOTH = 3 };

/* Beyond the kernel's numbers:
 * KEEP - tw_fd_keep(dup(fd)).
 * FORK - make a process, with the mask in argument 0, that has a copy of the table of descriptors, and makes the calls
 * of this connection from now on.  It ends with the connection.  Returns its number.
 * EXEC - there: execve of the path in argument 0.  Argument 1 has the texts of the arguments, as many as argument 3,
 * argument 2 those of the environment, as many as argument 4.
 * MESSAGE - sendmsg or recvmsg (struct th_call_message in argument 5) with parts in one piece, argument 1, control
 * messages, argument 3, and an address, argument 4.
 * EVENT - th_hosts_work.event of the contents of arguments 0 and 1. */
#define TH_CALL_KEEP    0x10000u
#define TH_CALL_FORK    0x10001u
#define TH_CALL_EXEC    0x10002u
#define TH_CALL_EVENT   0x10003u
#define TH_CALL_MESSAGE 0x10004u

struct th_call_message {
	uint32_t receives, bytes, control, name; /* not 0: recvmsg; sizes */
	int32_t flags;                           /* msg_flags */
};

/* A request: followed by the contents of the arguments that travel in, in order.  In place of each argument with
 * contents the other host passes the address of so many bytes. */
struct th_call_request {
	uint32_t number;
	uint32_t counted; /* not 0: what the call has stored has so many bytes times the result */
	uint64_t arg[6];
	uint32_t bytes[6];
	uint8_t way[6], none[2];
};

/* Followed by the contents of the arguments that travel out, which have @bytes; none if @result is an error. */
struct th_call_reply {
	int64_t result; /* as the kernel's: negative is -errno */
	uint64_t bytes;
};

/* How the contents of an argument are found. */
struct th_call_arg {
	uint8_t kind; /* TH_VALUE...TH_BOTH, or TH_FD... */
	uint8_t
	    of; /* TH_FIXED: @unit bytes; an argument: as many as that says, times @unit; + TH_AT: as it points to */
	uint16_t unit;
};
enum { TH_FD = 4, TH_FOLDER, TH_PATH }; /* a descriptor; one, or AT_FDCWD; a string */
enum { TH_FIXED = 7, TH_AT = 8 };

struct th_call {
	bool known;
	uint8_t counted;
	struct th_call_arg arg[6];
};

/* th_call_find - how call @number travels; NULL: it concerns no files.  It is made on the first host if any of its
 * descriptors is the program's (below @first, or with the
 * bit @far), or if it has none. */
const struct th_call *th_call_find(uint64_t number);
bool th_call_travels(const struct th_call *call, const uint64_t arg[6], int first, int far);

/* th_call_argument - the contents of argument @i: how they travel, and their number of bytes. */
enum th_call_way th_call_argument(const struct th_call *call, const uint64_t arg[6], unsigned i, uint32_t *bytes);

/* The same for the argument behind the command of fcntl() and ioctl(). */
enum th_call_way th_call_fcntl(int command, uint32_t *bytes);
enum th_call_way th_call_ioctl(uint32_t command, uint32_t *bytes);

/* th_call_touched - syscall(2) with the arguments @a, whose shared memory is touched first, as the wrappers of the C
 * library's functions do.  Calls that concern no files are made as they are.  Context: as tw_touch. */
long th_call_touched(long number, const long a[6]);

#endif
