/* SPDX-License-Identifier: BSD-3-Clause */
/* support.h - programs that were written for the threads of one process, on the processors of a job: shared by the
 * run-times of OpenMP (runtime/openmp/) and of POSIX threads (runtime/pthreads/).
 *
 * Processor 0 runs main(); the others run what their run-time gives them.  Global variables, the heap and all stacks
 * are shared memory.  Variables declared here are private to the process: the linker's script leaves them out of the
 * shared variables.  Only the thread that runs the program (stack.c) uses them. */
#ifndef TW_RUNTIME_THREADS_SUPPORT_H
#define TW_RUNTIME_THREADS_SUPPORT_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/job/job.h"
#include "tweed/tweed.h"

/* A replacement of a function of the C library, for which the program may have one of its own. */
#define TH_WEAK __attribute__((weak))

/* ---- what each run-time provides */
/* th_kind_open - called by each processor after it has joined the job and before any part of the program runs.  Returns
 * the size of a stack in bytes; 0: the shell's limit. */
size_t th_kind_open(void);
/* th_kind_work - called by processors other than 0: run what there is, until the program ends. */
void th_kind_work(void);
/* th_kind_exit - exit(@status) was called.  Let the others return from th_kind_work, or end the job where that is
 * impossible. */
void th_kind_exit(int status);
/* th_kind_crowd - the calling processor is about to have several threads, and has not called Tweed for that yet.
 * Returns whether all others will have called pt_threads_follow, or its like, before they run more of the program. */
bool th_kind_crowd(void);
/* th_kind_thread - called by a thread of the program's own, before it runs. */
void th_kind_thread(void);

/* ---- support.c */
/* th_result - what a call of the C library returns: 0, or -1 with @error in errno.  Without an error errno stays. */
static inline int th_result(int error)
{
	if (error)
		errno = error;
	return error ? -1 : 0;
}
/* Locks, the same on all processors; created by th_open, collectively. */
struct th_locks {
	tw_lock_t fence;
	tw_lock_t order;    /* of th_order */
	tw_lock_t pointers; /* of the C++ library */
};
extern struct th_locks th_locks;
void th_open(void);
/* th_far - may another node use the same data?  If not, the processor's own atomics are used.  Maintained by the
 * run-time. */
extern bool th_far;
/* th_words - do atomic operations between nodes act on the newest copy, without a lock?  The same on all processors. */
extern bool th_words;
/* th_lock_in - the lock whose number is in the program's variable @word, in shared memory.  0: none yet; it is created,
 * at the cost of an atomic operation.
 * The word's highest bit is free for the caller. */
tw_lock_t th_lock_in(uint32_t *word);
/* th_lock_in_some - the same, or id 0 where half of the node's slots were used (tw_sync_lock_create_some).  Then the
 * word itself is a lock: its bits but the highest are TH_WORD_FREE while it is free, and more while it is held. */
#define TH_NUMBER    0x7fffffffu
#define TH_WORD_FREE 0x7ffffff0u
tw_lock_t th_lock_in_some(uint32_t *word);
/* th_word_lock, th_word_unlock - that lock, for a short time; nothing while no other processor runs the program. */
void th_word_lock(uint32_t *word);
void th_word_unlock(uint32_t *word);
/* th_allocate_all - tw_malloc_all(@bytes), or the job ends with a sentence. */
void *th_allocate_all(size_t bytes);
/* th_others - may other processors run parts of the program? Maintained by the run-time. */
extern bool th_others;
/* th_call - call @function, a function of the program with at most three arguments.  It may end with a jump, to malloc,
 * say; th_call is the caller then, and counts as the program's code (runtime/stores/globals.ld). */
typedef void th_called(void);
uintptr_t th_call(th_called *function, const void *a, const void *b, const void *c);
#define TH_CALLED(function) ((th_called *)(uintptr_t)(function))
/* th_end_job - end the job with @status, at the program's end, while other processors are busy. */
void th_end_job(int status) __attribute__((noreturn));
void th_refuse(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* ---- atomic.c */
/* th_fence - a release and an acquire of everything.  @ptr: what the program's next instruction reads; NULL: unknown,
 * or nothing. */
void th_fence(const void *ptr);
/* th_order - a release and an acquire of everything, if another node may use the data.  For calls that imply an order
 * of memory accesses, though the C standard does not say so.  Preserves errno.  Not under a lock of Tweed's. [sync] */
void th_order(void);
/* th_pause - th_order in a loop that waits for another thread, perhaps of this processor.  Under no lock of Tweed's. */
void th_pause(void);
/* th_compare_and_swap - if *@p, a variable of the program, is @seen, it becomes @value; returns what it was.  Orders
 * nothing else.  Unlike the program's own operations it ends no turn and runs no handler.  [sync] */
uint32_t th_compare_and_swap(uint32_t *p, uint32_t seen, uint32_t value);
uint64_t th_compare_and_swap_8(uint64_t *p, uint64_t seen, uint64_t value);

/* ---- stack.c */
/* th_stack_reserve - extend the pinned part of the stack well below the caller's frame.  Called before everything that
 * may call Tweed.
 * th_stack_reserve_at - the same for the frame @here of the calling thread's stack.
 * th_stack_reserved_at - is that done? */
#define TH_STACK_SLACK ((size_t)64 << 10)
extern __thread char *th_stack_pinned; /* lowest byte */
extern __thread size_t th_stack_span;  /* bytes from there; 0: not known yet; all: not on such a stack */
void th_stack_extend(char *below);
static inline bool th_stack_reserved_at(const char *here)
{
	return __builtin_expect((size_t)(here - TH_STACK_SLACK - th_stack_pinned) < th_stack_span, 1);
}
static inline void th_stack_reserve_at(char *here)
{
	if (!th_stack_reserved_at(here))
		th_stack_extend(here - TH_STACK_SLACK);
}
static inline void th_stack_reserve(void)
{
	th_stack_reserve_at(__builtin_frame_address(0));
}
/* ---- library.c
 * th_library_private - is @code in a library whose variables each process has for itself?  Its threads would see
 * different ones. */
bool th_library_private(const void *code);
/* th_library_foreign - returns the path of that library if other compilers have made it; else NULL. */
const char *th_library_foreign(const void *code);
/* th_library_thread - the calling thread, which is none of the program's, calls Tweed for the first time: ends the job
 * with a sentence if such a library has made it. */
void th_library_thread(void);
/* ---- foreign.c
 * th_foreign_pin - the caller's @frame is on a stack of the program's own making: pin what calls may use of it, or end
 * the job with a sentence.  Returns the lowest byte. */
char *th_foreign_pin(char *frame);
/* More stacks, for more threads of a processor.  Each is named by its end, one behind its highest byte.
 * th_stack_create - make one at @node, by any processor, with @least bytes besides thread-local variables; in any case
 * as many as the limit of stacks says.  NULL: no memory is left for it.
 * th_stack_scarce - end the job with a sentence about that.
 * th_stack_holds - does it have so many?
 * th_stack_base - its lowest byte.
 * th_stack_attr - pin the top of the stack @end, of the caller's node, and set @attr for a thread there.
 * th_stack_enter - the calling thread runs on the stack @end.
 * th_stack_leave - it will not any more; another thread will.
 * th_stack_own - the end of the caller's stack; NULL: not such a stack.
 * th_stack_bytes - its size.
 * th_stack_room - 512 zeroed bytes of shared memory of the stack, aligned to 64; at the same distance from
 * pthread_self() for all such stacks. */
#define TH_ROOM 576u
char *th_stack_create(unsigned node, size_t least);
void th_stack_scarce(size_t least) __attribute__((noreturn));
bool th_stack_holds(char *end, size_t least);
char *th_stack_base(char *end);
void th_stack_attr(char *end, pthread_attr_t *attr);
void th_stack_enter(char *end);
void th_stack_leave(void);
char *th_stack_own(void);
size_t th_stack_bytes(void);
void *th_stack_room(char *end);

/* ---- runtime/threads/baton.c
 * th_lock_acquire, th_lock_try - tw_lock_acquire and tw_lock_try_acquire of a lock of the program, which may run
 * anything while it holds the lock.  Other threads of the processor run while the caller waits. */
extern unsigned th_siblings; /* threads of this processor besides the caller, the dispatcher included */
void th_lock_among(tw_lock_t lock);
static inline void th_lock_acquire(tw_lock_t lock)
{
	if (th_siblings)
		th_lock_among(lock);
	else
		tw_lock_acquire(lock);
}
/* th_lock_release - the same for a lock that a thread of another processor may have taken: that is undefined, but the C
 * library and libgomp unlock. */
void th_lock_release(tw_lock_t lock);
/* th_turn_is_over - how often the caller's turn has ended while Tweed or a library was active.  Then th_turn_end lets
 * others run: first where a mutex was unlocked, because they may want it; the second time, in any call. */
extern volatile unsigned th_turn_is_over;
void th_turn_end(void);
bool th_lock_try(tw_lock_t lock);
/* th_evictable_take - tw_sync_evictable_take, for threads that share a processor. */
bool th_evictable_take(uint64_t id);

#endif
