/* SPDX-License-Identifier: BSD-3-Clause */
/* check.h - TWEED_SHMEM_CHECK: mistakes in calls end the job with a sentence that names the call's source line.
 *
 * Puts, gets and atomics are checked in the branch that an address takes which is in none of the ranges at hand (access.c): these are
 * empty then.  All other calls test sh.check, which is also set before shmem_init and after shmem_finalize. */
#ifndef TW_PGAS_SHMEM_CHECK_H
#define TW_PGAS_SHMEM_CHECK_H

#include "pgas/shmem/shmem_impl.h"

/* sh_line - "function+0x12 (file.c:34)" of the call that returns to @caller. */
#define SH_LINE_BYTES 256
void sh_line(const void *caller, char line[SH_LINE_BYTES]);

/* SH_MISTAKE - end the job: what is wrong, and where. */
#define SH_MISTAKE(CALLER, ...)                                                                                        \
	do {                                                                                                           \
		char text_[512];                                                                                       \
		tw_format(text_, sizeof(text_), __VA_ARGS__);                                                          \
		sh_mistake(text_, CALLER);                                                                             \
	} while (0)
void sh_mistake(const char *text, const void *caller) __attribute__((noreturn, cold));

/* sh_need_open - end the job, if shmem_init has not been called, or shmem_finalize has: all that follows begins with that, and sh.check
 * is set then. */
void sh_need_open(const void *caller);

/* SH_CHECK - call sh_check_WHAT, if calls are checked, with the program's call behind the other arguments. */
#define SH_CHECK(WHAT, ...)                                                                                            \
	do {                                                                                                           \
		if (__builtin_expect(sh.check, 0))                                                                     \
			sh_check_##WHAT(__VA_ARGS__, SH_CALLER);                                                       \
	} while (0)

/* sh_check_access - of memory that is symmetric: the context, the PE; atomics are aligned; a block of the heap holds all of it;
 * copies to oneself do not overlap.  sh_check_memory - @what is symmetric, aligned, in one block. */
void sh_check_access(const char *what, shmem_ctx_t ctx, unsigned pe, const void *addr, size_t len, const void *local,
                     const void *caller);
void sh_check_memory(const char *what, const void *addr, size_t len, size_t align, const void *caller);
void sh_check_team(const struct shmem_team *team, const void *caller);
/* sh_check_ctx - it exists, and may be used by this thread. */
void sh_check_ctx(const struct shmem_ctx *ctx, const void *caller);
void sh_check_strides(ptrdiff_t dst, ptrdiff_t sst, const void *caller);
void sh_check_signal(const void *dest, size_t bytes, const uint64_t *sig_addr, int sig_op, const void *caller);
/* sh_check_ivars - variables of @size bytes that are compared by @cmp. */
void sh_check_ivars(const void *ivars, size_t nelems, size_t size, int cmp, const void *caller);
/* sh_check_lock - before a call that takes the lock, or gives it back; sh_check_locked - it has been taken. */
void sh_check_lock(const long *lock, bool give, const void *caller);
void sh_check_locked(const long *lock);

/* A collective call, with what its kind has. */
struct sh_call {
	const char *name;
	const void *caller;
	struct shmem_team *team;
	bool active; /* instead of a team: */
	int start, log_stride, pes;
	const long *sync;
	const void *dest, *source, *work; /* work: pWrk */
	size_t dest_bytes, source_bytes, work_bytes;
	bool in_place; /* dest may be source */
	int root;
	size_t count; /* equal on all PEs; and so what follows */
	bool strided;
	ptrdiff_t dst, sst;
};

/* SH_CHECK_COLLECTIVE - if calls are checked: the arguments by themselves, and beside those of the set's other PEs, which all must make
 * the same call. */
#define SH_CHECK_COLLECTIVE(NAME, ...)                                                                                 \
	do {                                                                                                           \
		if (__builtin_expect(sh.check, 0))                                                                     \
			sh_check_collective(&(struct sh_call){.name = NAME, .caller = SH_CALLER, __VA_ARGS__});        \
	} while (0)
void sh_check_collective(const struct sh_call *call);
/* sh_agree - the second half of that. */
void sh_agree(const struct sh_call *call);

/* sh_check_bytes - of each segment, for what PEs tell each other.  sh_check_open - these are at @at. */
size_t sh_check_bytes(void);
void sh_check_open(size_t at);

#endif
