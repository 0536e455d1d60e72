/* SPDX-License-Identifier: BSD-3-Clause */
/* tweed.h - shared memory for the processors of a cluster.
 *
 * `tweed run -n NODES -p PROCESSORS PROGRAM ARGS` starts a program that includes this file.  Every processor runs
 * main() in a process of its own.  The processors share the memory that tw_malloc() and its kin return, at equal
 * addresses.  Everything else is private: globals, stacks and the C library's malloc().  Options of `tweed cc` change
 * that (doc/guide/splash.md).
 *
 * The memory is coherent for data-race-free programs: when the operations below (lock, barrier, flag) order every two
 * conflicting accesses, the program behaves as if sequentially consistent.  tw_lock_acquire(), tw_flag_wait() and the
 * end of a barrier are acquires.  tw_lock_release(), tw_flag_set() and the start of a barrier are releases.
 * tw_malloc_all() and tw_bcast() are both.
 *
 * Context, unless stated otherwise: a function is called by the processor's one application thread, between tw_init()
 * and tw_finalize(), and not by a signal handler.  Only this thread may use shared memory: other threads, forked
 * children and signal handlers must not (details, also of system calls: doc/internals/faults.md).  A call that breaks
 * these rules (a destroyed handle, release of a lock that the caller does not hold) ends the job with one sentence on
 * standard error. */
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

/* tw_init - join the job.  Collective; the first call.  Blocks until every processor has called it.
 * @argc, @argv: main()'s arguments, or NULL; they are not changed.
 * Returns: 0.  When `tweed run` did not start the program, or the environment is damaged, prints one sentence and exits
 * with status 2. */
TW_API int tw_init(int *argc, char ***argv);

/* tw_finalize - leave the job.  Collective; a release and a barrier.  Shared memory is gone afterwards.
 * Returns: 0.  Ends the job with a sentence when the caller holds a lock, or when other processors are in
 * tw_barrier_all(), tw_bcast() or tw_malloc_all(). */
TW_API int tw_finalize(void);

/* tw_id, tw_count - this processor's number, 0 to tw_count() - 1; the number of processors of the job. */
TW_API int tw_id(void);
TW_API int tw_count(void);

/* tw_node, tw_nodes - this processor's node, 0 to tw_nodes() - 1; the number of nodes of the job.  Processor i is on
 * node i / (tw_count() / tw_nodes()). */
TW_API int tw_node(void);
TW_API int tw_nodes(void);

/* tw_abort - end the whole job at once: print "tweed: node.processor: msg" and end every process.  Does not return.
 * @code: the job's exit status, 1 to 255; any other value means 1.
 * Context: any, also a signal handler, before tw_init() and after tw_finalize(). */
TW_API void tw_abort(int code, const char *msg) __attribute__((noreturn));

/* tw_verified - record in the statistics whether the program's own check of its result succeeded.  The job's verdict is
 * "yes" when at least one processor passed true and none passed false. */
TW_API void tw_verified(bool ok);

/* ---- memory --------------------------------------------------------------------------------------------------- */

/* tw_malloc, tw_calloc, tw_realloc, tw_aligned_alloc - shared memory; semantics of the C library's functions of these
 * names.  Any processor, any time.
 * The pointer is valid on every processor.  Another processor may use the block after synchronization has ordered its
 * use after the allocation.  Blocks are aligned to at least 16 bytes; blocks of at least a page (TWEED_PAGE_SIZE) to a
 * page.  Blocks that different processors allocated never share a page.  Fresh memory has no home: the first node that
 * touches a page becomes its home (see tw_home_set).  tw_calloc touches a block where it has to store zeroes.
 * Returns: the block; NULL with errno ENOMEM when TWEED_MEMORY is used up, or EINVAL when the alignment is not
 * valid. */
TW_API void *tw_malloc(size_t bytes) __attribute__((malloc));
TW_API void *tw_calloc(size_t n, size_t bytes) __attribute__((malloc));
TW_API void *tw_realloc(void *ptr, size_t bytes);
TW_API void *tw_aligned_alloc(size_t align, size_t bytes) __attribute__((malloc));

/* tw_free - free a block; on any processor, not only the one that allocated it.  NULL is allowed.
 * A block of another processor stays with the caller over its next release and returns to its owner at the release
 * after that one.  It can be allocated again after the owner's next two acquires. */
TW_API void tw_free(void *ptr);

/* tw_malloc_all - processor 0 calls tw_calloc(1, bytes); all processors return its pointer.  Collective; a release, a
 * barrier and an acquire.  Every processor may use the block at once, and reads zeroes.
 * Returns: the block, or NULL on every processor with errno ENOMEM. */
TW_API void *tw_malloc_all(size_t bytes);

/* tw_bcast - copy @len bytes at @ptr of processor @root to @ptr of every other processor.  Collective; a release, a
 * barrier and an acquire.  @len, not 0, and @root are the same on all processors.  The memory may be private or shared;
 * if shared, @ptr must differ between processors, or nothing else may use that memory during the call. */
TW_API void tw_bcast(void *ptr, size_t len, int root);

/* tw_prefetch - fetch the pages of [ptr, ptr + len) for reading, with fewer and larger transfers than reads would.  A
 * hint: it changes no value, and skips pages without a home.  Does nothing under protocols that cannot prefetch. */
TW_API void tw_prefetch(const void *ptr, size_t len);

/* tw_pin, tw_unpin - keep the pages of [ptr, ptr + len) readable and writable by this processor without a fault, also
 * after synchronization, and still coherent.  For stacks, and for memory that signal handlers, or code that blocks
 * signals, access.  Pins of a page are counted; tw_unpin undoes one.  The Cashmere family pins pages whose home is this
 * processor's node; a page without a home gets its home there.
 * Returns: 0; -ENOTSUP when the home of a page is another node, with TWEED_RACE, and under protocols that cannot pin;
 * -EINVAL when the range is empty or not shared memory. */
TW_API int tw_pin(const void *ptr, size_t len);
TW_API int tw_unpin(const void *ptr, size_t len);

/* tw_home - the node that holds the master copy of the page of @ptr; -1 when the page has no home yet, when @ptr is not
 * in shared memory, and under a protocol without homes (none).  Under 2LMigr and TS the home may change at any time. */
TW_API int tw_home(const void *ptr);

/* tw_home_set - make @node the home of every page of [ptr, ptr + len) that has none, and of the other pages in the same
 * superpages (TWEED_SUPERPAGE).
 * Returns: 0; -EBUSY when a page already had a home, perhaps through its superpage: such pages keep it, the others are
 * set; -EINVAL when the range is empty or not shared memory, or the node does not exist; -ENOMEM. */
TW_API int tw_home_set(const void *ptr, size_t len, int node);

/* ---- synchronization -------------------------------------------------------------------------------------------
 * Handles are plain values: they may be copied and stored in shared memory.  Any processor may create and destroy
 * objects at any time, thousands of them.  Synchronization must order another processor's use after the creation.  A
 * zeroed handle is not an object; its use ends the job with a sentence. */

typedef struct {
	uint64_t id;
} tw_lock_t;
typedef struct {
	uint64_t id;
} tw_barrier_t;
typedef struct {
	uint64_t id;
} tw_flag_t;

/* tw_lock_create - a new free lock.  Like the creation of barriers and flags, it needs no communication, and ends the
 * job with a sentence when TWEED_SYNC_OBJECTS objects of this node are in use. */
TW_API tw_lock_t tw_lock_create(void);
/* tw_lock_acquire - wait until the lock is free, take it, acquire.  Not recursive. */
TW_API void tw_lock_acquire(tw_lock_t lock);
/* tw_lock_try_acquire - take the lock if no other processor holds it.  Does not wait for a holder.
 * Returns: true when taken (acquire); false when held. */
TW_API bool tw_lock_try_acquire(tw_lock_t lock);
/* tw_lock_release - release, then free the lock.  Only the processor that holds it may call this. */
TW_API void tw_lock_release(tw_lock_t lock);
/* tw_lock_destroy - destroy a free lock.  It must not be used again. */
TW_API void tw_lock_destroy(tw_lock_t lock);

/* tw_barrier_all - wait until every processor of the job has called it.  A release, then an acquire. */
TW_API void tw_barrier_all(void);
/* tw_barrier_create - a barrier for any @n processors, 1 <= n <= tw_count(). */
TW_API tw_barrier_t tw_barrier_create(int n);
/* tw_barrier_wait - wait until n processors have called it.  Reusable at once.  A release, then an acquire. */
TW_API void tw_barrier_wait(tw_barrier_t barrier);
/* tw_barrier_destroy - destroy a barrier that will not be used again.  A participant may call this as soon as its own
 * wait has returned; the call waits until the others have left the barrier. */
TW_API void tw_barrier_destroy(tw_barrier_t barrier);

/* tw_flag_create - a new flag of value 0. */
TW_API tw_flag_t tw_flag_create(void);
/* tw_flag_set - release, then raise the flag to @value for all processors.  A flag only grows: a smaller value has no
 * effect, and of concurrent calls the greatest value remains. */
TW_API void tw_flag_set(tw_flag_t flag, uint64_t value);
/* tw_flag_wait - wait until the flag is at least @value, then acquire.
 * Returns: the value seen. */
TW_API uint64_t tw_flag_wait(tw_flag_t flag, uint64_t value);
/* tw_flag_get - the flag's value as known at this node.  Neither waits nor acquires. */
TW_API uint64_t tw_flag_get(tw_flag_t flag);
/* tw_flag_destroy - destroy a flag that will not be set or used again.  Processors that still wait for a value which
 * the flag has reached return from their wait. */
TW_API void tw_flag_destroy(tw_flag_t flag);

/* ---- atomic operations -----------------------------------------------------------------------------------------
 * On aligned words of 4 and 8 bytes of shared memory.  Each acts on the word's newest value, and all operations on a
 * word have one order.  Between nodes, an operation is one access to the word's master copy, without a lock; where
 * nodes share no memory, one round trip.  Protocols, transports and settings that do not allow this take a lock.  A
 * word that is not aligned, or not in shared memory, ends the job with a sentence.
 *
 * @order, as C11's: what a release orders is all that the caller has stored or acquired before; it is visible to the
 * processor whose acquire finds the value stored, or a later one.  A relaxed operation orders nothing.  Under
 * TW_SEQ_CST all operations of the job have one order.  Plain accesses of the word by another processor are races,
 * unless synchronization orders them; plain loads see the operations that were performed before. */
enum tw_order { TW_RELAXED, TW_ACQUIRE, TW_RELEASE, TW_ACQ_REL, TW_SEQ_CST };

/* tw_atomic_load_u32, tw_atomic_load_u64 - an acquire if @order is TW_ACQUIRE, TW_ACQ_REL or TW_SEQ_CST.  A loop that
 * waits for a value gives up the core now and then.
 * tw_atomic_store_u32, tw_atomic_store_u64 - a release if @order is TW_RELEASE, TW_ACQ_REL or TW_SEQ_CST. */
TW_API uint32_t tw_atomic_load_u32(const volatile uint32_t *word, enum tw_order order);
TW_API uint64_t tw_atomic_load_u64(const volatile uint64_t *word, enum tw_order order);
TW_API void tw_atomic_store_u32(volatile uint32_t *word, uint32_t value, enum tw_order order);
TW_API void tw_atomic_store_u64(volatile uint64_t *word, uint64_t value, enum tw_order order);

/* tw_atomic_add_u32, tw_atomic_add_u64, tw_atomic_add_double - add @value, relaxed, and return nothing: where nodes
 * share no memory, many of them are under way at a time, at the network's bandwidth.  Each is performed, at the latest,
 * before the caller's next release or acquire returns, and before its next operation on the same word. */
TW_API void tw_atomic_add_u32(volatile uint32_t *word, uint32_t value);
TW_API void tw_atomic_add_u64(volatile uint64_t *word, uint64_t value);
TW_API void tw_atomic_add_double(volatile double *word, double value);

/* All return the previous value, and are acquires and releases as @order says.  tw_atomic_exchange_u32 and its kin
 * store @value; tw_atomic_compare_exchange_u32 and its kin only if the word is @expect; the others add @value, or
 * combine it with the word bit by bit. */
TW_API uint32_t tw_atomic_exchange_u32(volatile uint32_t *word, uint32_t value, enum tw_order order);
TW_API uint64_t tw_atomic_exchange_u64(volatile uint64_t *word, uint64_t value, enum tw_order order);
TW_API uint32_t tw_atomic_compare_exchange_u32(volatile uint32_t *word, uint32_t expect, uint32_t value,
                                               enum tw_order order);
TW_API uint64_t tw_atomic_compare_exchange_u64(volatile uint64_t *word, uint64_t expect, uint64_t value,
                                               enum tw_order order);
TW_API uint32_t tw_atomic_fetch_add_u32(volatile uint32_t *word, uint32_t value, enum tw_order order);
TW_API uint64_t tw_atomic_fetch_add_u64(volatile uint64_t *word, uint64_t value, enum tw_order order);
TW_API double tw_atomic_fetch_add_double(volatile double *word, double value, enum tw_order order);
TW_API uint32_t tw_atomic_fetch_and_u32(volatile uint32_t *word, uint32_t value, enum tw_order order);
TW_API uint64_t tw_atomic_fetch_and_u64(volatile uint64_t *word, uint64_t value, enum tw_order order);
TW_API uint32_t tw_atomic_fetch_or_u32(volatile uint32_t *word, uint32_t value, enum tw_order order);
TW_API uint64_t tw_atomic_fetch_or_u64(volatile uint64_t *word, uint64_t value, enum tw_order order);
TW_API uint32_t tw_atomic_fetch_xor_u32(volatile uint32_t *word, uint32_t value, enum tw_order order);
TW_API uint64_t tw_atomic_fetch_xor_u64(volatile uint64_t *word, uint64_t value, enum tw_order order);

/* ---- statistics ------------------------------------------------------------------------------------------------ */

/* tw_stats_reset - set this processor's counters and times to zero and restart its total time.  Called on every
 * processor after initialization, it limits the measurement to the parallel part. */
TW_API void tw_stats_reset(void);

/* tw_stats_stop - save this processor's counters and times for the statistics, so that the program's own verification
 * is not measured.  The last call counts; without any, tw_finalize() does this. */
TW_API void tw_stats_stop(void);

/* tw_now - seconds since a fixed moment, equal on all processors of one host.  Any time, any context. */
TW_API double tw_now(void);

#ifdef __cplusplus
}
#endif
#endif
