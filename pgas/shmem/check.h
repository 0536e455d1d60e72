/* SPDX-License-Identifier: BSD-3-Clause */
/* check.h - TWEED_SHMEM_CHECK: a mistake in a call ends the job with a sentence that names the call's source line.
 *
 * Puts, gets and atomics are checked in the slow path for addresses outside the ranges at hand (access.c); with checks,
 * these ranges are empty.  All other calls test sh.check, which is also set before shmem_init and after
 * shmem_finalize. */
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

/* sh_need_open - end the job if shmem_init has not been called, or shmem_finalize has been.  All functions below begin
 * with this; in these states sh.check is set. */
void sh_need_open(const void *caller);

/* SH_CHECK - if calls are checked, call sh_check_WHAT with the program's call site as the last argument. */
#define SH_CHECK(WHAT, ...)                                                                                            \
	do {                                                                                                           \
		if (__builtin_expect(sh.check, 0))                                                                     \
			sh_check_##WHAT(__VA_ARGS__, SH_CALLER);                                                       \
	} while (0)

/* sh_check_access - checks an access to symmetric memory: the context and the PE are valid, atomics are aligned, one
 * block of the heap holds all of it, copies to the own PE do not overlap.
 * sh_check_memory - @what is symmetric, aligned, and in one block. */
void sh_check_access(const char *what, shmem_ctx_t ctx, unsigned pe, const void *addr, size_t len, const void *local,
                     const void *caller);
void sh_check_memory(const char *what, const void *addr, size_t len, size_t align, const void *caller);
void sh_check_team(const struct shmem_team *team, const void *caller);
/* sh_check_ctx - the context exists, and this thread may use it. */
void sh_check_ctx(const struct shmem_ctx *ctx, const void *caller);
void sh_check_strides(ptrdiff_t dst, ptrdiff_t sst, const void *caller);
void sh_check_signal(const void *dest, size_t bytes, const uint64_t *sig_addr, int sig_op, const void *caller);
/* sh_check_ivars - variables of @size bytes that are compared by @cmp. */
void sh_check_ivars(const void *ivars, size_t nelems, size_t size, int cmp, const void *caller);
/* sh_check_lock - before a call that takes (or, @give, releases) the lock.  sh_check_locked - it has been taken. */
void sh_check_lock(const long *lock, bool give, const void *caller);
void sh_check_locked(const long *lock);

/* A collective call and its arguments, as far as its kind has them. */
struct sh_call {
	const char *name;
	const void *caller;
	struct shmem_team *team;
	bool active; /* the fields below replace the team */
	int start, log_stride, pes;
	const long *sync;
	const void *dest, *source, *work; /* work: pWrk */
	size_t dest_bytes, source_bytes, work_bytes;
	bool in_place; /* dest may be source */
	int root;
	size_t count; /* this and the fields below are equal on all PEs */
	bool strided;
	ptrdiff_t dst, sst;
};

/* SH_CHECK_COLLECTIVE - if calls are checked: check the arguments alone, then against those of the set's other PEs,
 * which all must make the same call. */
#define SH_CHECK_COLLECTIVE(NAME, ...)                                                                                 \
	do {                                                                                                           \
		if (__builtin_expect(sh.check, 0))                                                                     \
			sh_check_collective(&(struct sh_call){.name = NAME, .caller = SH_CALLER, __VA_ARGS__});        \
	} while (0)
void sh_check_collective(const struct sh_call *call);
/* sh_agree - the second half of that. */
void sh_agree(const struct sh_call *call);

/* sh_check_bytes - bytes of each segment for the records of calls.  sh_check_open - they are at @at. */
size_t sh_check_bytes(void);
void sh_check_open(size_t at);

#endif
