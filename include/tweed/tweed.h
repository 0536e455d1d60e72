/* SPDX-License-Identifier: BSD-3-Clause */
/* tweed.h - shared memory for the processors of a cluster.
 *
 * A program that includes this file is started by `tweed run -n NODES -p PROCESSORS PROGRAM ARGS`.  Every processor
 * runs main() in a process of its own; they share the memory that tw_malloc() and its kin return, at equal
 * addresses, and nothing else: globals, stacks and malloc() stay private, unless `tweed cc` was told otherwise
 * (doc/guide/splash.md).
 *
 * The memory is coherent for data-race-free programs: when every two conflicting accesses are ordered by the
 * operations below (lock, barrier, flag), the program behaves as if sequentially consistent.  An acquire is what
 * tw_lock_acquire(), tw_flag_wait() and the end of a barrier do; a release is what tw_lock_release(), tw_flag_set()
 * and the start of a barrier do.  tw_malloc_all() and tw_bcast() do both.
 *
 * Context: unless said otherwise, a function may be called by the processor's one application thread, between
 * tw_init() and tw_finalize(), and not from a signal handler.  A mistaken call (a destroyed handle, an
 * unlock by a stranger) ends the job with a sentence on standard error.  The same thread alone uses shared memory:
 * other threads, forked children and signal handlers must not (doc/internals/faults.md has the details, and those of system
 * calls). */
#ifndef TWEED_H
#define TWEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define TW_API __attribute__((visibility("default")))
#else
#define TW_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the job -------------------------------------------------------------------------------------------------- */

/* tw_init - join the job.  Collective; the first call.
 * @argc, @argv: main()'s arguments, or NULL; Tweed takes none of them away.
 * Blocks until every processor has called it.
 * Returns: 0.  When the program was not started by `tweed run`, or its environment is damaged, prints one sentence
 * and exits with status 2. */
TW_API int tw_init(int *argc, char ***argv);

/* tw_finalize - leave the job.  Collective; a release and a barrier.  Shared memory is gone afterwards.  Returns: 0.
 * Ends the job with a sentence when the caller holds a lock, or when other processors are in tw_barrier_all(),
 * tw_bcast() or tw_malloc_all(). */
TW_API int tw_finalize(void);

/* tw_id, tw_count - this processor's number, 0 to tw_count() - 1, and how many processors the job has. */
TW_API int tw_id(void);
TW_API int tw_count(void);

/* tw_node, tw_nodes - this processor's node, 0 to tw_nodes() - 1, and how many nodes the job has.  Processor i is on
 * node i / (tw_count() / tw_nodes()). */
TW_API int tw_node(void);
TW_API int tw_nodes(void);

/* tw_abort - end the whole job at once: prints "tweed: node.processor: msg" and ends every process.
 * @code: the job's exit status, 1 to 255; 0 is taken as 1.
 * May be called in any context, also from a signal handler.  Does not return. */
TW_API void tw_abort(int code, const char *msg) __attribute__((noreturn));

/* tw_verified - record whether the program's own check of its answer succeeded; written to the statistics file.
 * The job's verdict is "yes" when at least one processor said true and none said false. */
TW_API void tw_verified(bool ok);

/* ---- memory --------------------------------------------------------------------------------------------------- */

/* tw_malloc, tw_calloc, tw_realloc, tw_aligned_alloc - shared memory; as the C library's functions of these names.
 * Any processor, any time.  The pointer means the same to every processor, who may use it once the allocator's
 * writes reached it through synchronization.  Blocks are 16-byte aligned at least; blocks of a page
 * (TWEED_PAGE_SIZE) and more are page-aligned.  Blocks of two allocating processors never share a page.  Fresh
 * memory has no home: a page's home becomes the node that first touches it (see tw_home_set); where tw_calloc must
 * store zeroes, it touches.
 * Returns: the block; NULL with errno ENOMEM when TWEED_MEMORY is used up, EINVAL for a bad alignment. */
TW_API void *tw_malloc(size_t bytes) __attribute__((malloc));
TW_API void *tw_calloc(size_t n, size_t bytes) __attribute__((malloc));
TW_API void *tw_realloc(void *ptr, size_t bytes);
TW_API void *tw_aligned_alloc(size_t align, size_t bytes) __attribute__((malloc));

/* tw_free - give a block back; any processor, also one that did not allocate it.  NULL is allowed.  A block of another
 * processor stays here over this processor's next release, returns to its owner at the one after it, and can be
 * allocated again after the owner's next two acquires. */
TW_API void tw_free(void *ptr);

/* tw_malloc_all - tw_calloc(1, bytes) by processor 0, the same pointer returned to all.  Collective; a release, a
 * barrier and an acquire: every processor may use the block at once, and sees it zeroed.
 * Returns: the block, or NULL at every processor with errno ENOMEM. */
TW_API void *tw_malloc_all(size_t bytes);

/* tw_bcast - copy @len bytes at @ptr of processor @root to @ptr of every other processor; @len, not 0, and @root
 * are the same everywhere.  Collective; a release, a barrier and an acquire.  The memory may be private or shared;
 * when it is shared, @ptr must differ between processors or be unused otherwise. */
TW_API void tw_bcast(void *ptr, size_t len, int root);

/* tw_prefetch - bring the pages of [ptr, ptr + len) here for reading, as a read of each would, but in large pieces.
 * A hint: it changes no value that the program can see, and passes over pages without a home. */
TW_API void tw_prefetch(const void *ptr, size_t len);

/* tw_pin - let this processor read and write the pages of [ptr, ptr + len) without a fault, also after
 * synchronization, which keeps them coherent as ever: for stacks, and for memory that signal handlers or code between
 * blocked signals touch.  Pins of a page add up; tw_unpin takes one back.  The Cashmere family pins what has its home at
 * this processor's node, or none yet, which it then gets.  Returns: 0; -ENOTSUP where the home is elsewhere, with
 * TWEED_RACE, and under protocols that cannot pin; -EINVAL when the range is empty or not shared memory. */
TW_API int tw_pin(const void *ptr, size_t len);
TW_API int tw_unpin(const void *ptr, size_t len);

/* tw_home - the node that holds the master copy of the page of @ptr; -1 when nobody has touched it, when it is not
 * shared memory, and under a protocol without homes (none).  Under 2LMigr and TS it may change at any time. */
TW_API int tw_home(const void *ptr);

/* tw_home_set - make @node the home of every page of [ptr, ptr + len) that nobody touched yet, and of the pages in
 * the same superpages (TWEED_SUPERPAGE).
 * Returns: 0; -EBUSY when some page had a home already, perhaps by its superpage, which it keeps (the others are
 * set); -EINVAL when the range is empty or not shared memory, or the node does not exist. */
TW_API int tw_home_set(const void *ptr, size_t len, int node);

/* ---- synchronization -------------------------------------------------------------------------------------------
 * Handles are plain values: they may be copied and kept in shared memory.  Any processor creates and
 * destroys them at any time, thousands of them; use by others must be ordered after creation by synchronization.  A
 * zeroed handle is no object: using it ends the job with a sentence. */

typedef struct { uint64_t id; } tw_lock_t;
typedef struct { uint64_t id; } tw_barrier_t;
typedef struct { uint64_t id; } tw_flag_t;

/* tw_lock_create - a new free lock.  As with barriers and flags, no communication; ends the job with a sentence
 * when this node has TWEED_SYNC_OBJECTS objects in use. */
TW_API tw_lock_t tw_lock_create(void);
/* tw_lock_acquire - wait until the lock is free, take it, acquire.  Not recursive. */
TW_API void tw_lock_acquire(tw_lock_t lock);
/* tw_lock_try_acquire - take the lock if that needs no waiting for another holder.  Returns: true when taken
 * (acquire). */
TW_API bool tw_lock_try_acquire(tw_lock_t lock);
/* tw_lock_release - release, then free the lock; only by the processor that holds it. */
TW_API void tw_lock_release(tw_lock_t lock);
/* tw_lock_destroy - the lock must be free, and nobody may use it again. */
TW_API void tw_lock_destroy(tw_lock_t lock);

/* tw_barrier_all - wait until every processor of the job is here.  A release, then an acquire. */
TW_API void tw_barrier_all(void);
/* tw_barrier_create - a barrier for any @n processors, 1 <= n <= tw_count(). */
TW_API tw_barrier_t tw_barrier_create(int n);
/* tw_barrier_wait - wait until n processors are here; reusable at once.  A release, then an acquire. */
TW_API void tw_barrier_wait(tw_barrier_t barrier);
/* tw_barrier_destroy - nobody may wait at it, or use it again.  A participant may call this as soon as its own wait has
 * returned; it waits until the others are let go. */
TW_API void tw_barrier_destroy(tw_barrier_t barrier);

/* tw_flag_create - a new flag of value 0. */
TW_API tw_flag_t tw_flag_create(void);
/* tw_flag_set - release, then raise the flag to @value for everyone.  A flag only grows: a smaller value changes
 * nothing, and of concurrent setters the greatest value stays. */
TW_API void tw_flag_set(tw_flag_t flag, uint64_t value);
/* tw_flag_wait - wait until the flag is @value or more, then acquire.  Returns: the value seen. */
TW_API uint64_t tw_flag_wait(tw_flag_t flag, uint64_t value);
/* tw_flag_get - the value now, as far as it has reached this node, without waiting and without acquiring. */
TW_API uint64_t tw_flag_get(tw_flag_t flag);
/* tw_flag_destroy - nobody may set it or use it again; processors that wait for a value it has reached are let go. */
TW_API void tw_flag_destroy(tw_flag_t flag);

/* ---- statistics ------------------------------------------------------------------------------------------------ */

/* tw_stats_reset - set this processor's counters and times to zero, and start its clock of total time anew.  Call it on
 * every processor after initialization, to measure the parallel part alone. */
TW_API void tw_stats_reset(void);

/* tw_stats_stop - keep this processor's counters and times as they are now for the statistics, so that a program's own
 * verification is not measured.  Of several calls the last counts; tw_finalize() is one if there was none. */
TW_API void tw_stats_stop(void);

/* tw_now - seconds since some fixed moment, equal on all processors of one host.  At any time and in any context. */
TW_API double tw_now(void);

#ifdef __cplusplus
}
#endif
#endif
