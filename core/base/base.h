/* SPDX-License-Identifier: BSD-3-Clause */
/* base.h - what base offers to the layers of the project.  What it offers to drivers as well is in driver/util.h. */
#ifndef TW_CORE_BASE_BASE_H
#define TW_CORE_BASE_BASE_H

#include "tweed/driver/util.h"

/* The sanitizer of this build: 1 when present, else 0. */
#if defined(__has_feature)
#define TW_HAS_FEATURE(name) __has_feature(name)
#else
#define TW_HAS_FEATURE(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || TW_HAS_FEATURE(address_sanitizer)
#define TW_ASAN 1
#else
#define TW_ASAN 0
#endif
#if defined(__SANITIZE_THREAD__) || TW_HAS_FEATURE(thread_sanitizer)
#define TW_TSAN 1
#else
#define TW_TSAN 0
#endif

/* tw_unwatched_begin, tw_unwatched_end - around what a thread does that ThreadSanitizer cannot judge. */
#if TW_TSAN
void __tsan_ignore_thread_begin(void), __tsan_ignore_thread_end(void);
#define tw_unwatched_begin __tsan_ignore_thread_begin
#define tw_unwatched_end   __tsan_ignore_thread_end
#else
static inline void tw_unwatched_begin(void) {}
static inline void tw_unwatched_end(void) {}
#endif

#define TW_HUGE_BYTES ((size_t)2 << 20)

/* tw_log_who - set the prefix of this process's messages, "node.processor".  Copies at most 31 bytes. */
void tw_log_who(const char *who);
/* tw_log_hosts - @host[i] is the name of node i's host; "": the node has no host of its own.  The array remains the
 * caller's.
 * tw_log_node - returns "node 1", or "node 1 on host b", in one of two static buffers used in turn.
 * Async-signal-safe. */
#define TW_HOST_BYTES 64
void tw_log_hosts(const char (*host)[TW_HOST_BYTES], unsigned nodes);
const char *tw_log_node(unsigned node);
/* tw_say_last - tw_log of the sentence for which the process will end, with the program's functions that have led to
 * it, if tw_say_where is set and can: it returns whether it has printed the sentence.  tw_fatal does the same.
 * Allocates nothing; waits for a child, 5 s at most.  Any context of a processor, with any lock. */
void tw_say_last(const char *sentence);
extern bool (*tw_say_where)(const char *sentence);
/* tw_fatal_hook - tw_fatal calls it before exiting, unless it is NULL.  Must be async-signal-safe. */
extern void (*tw_fatal_hook)(void);
/* tw_format - tw_log's formatter.  Returns the length, at most @bytes - 1. */
size_t tw_format(char *out, size_t bytes, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* tw_yield - between two tests of what another thread will change: let others run.  In virtual time a test takes a
 * little of it.  [all contexts without locks] */
void tw_yield(void);

/* tw_kernel_ns, tw_kernel_wait, tw_kernel_wake - tw_time_ns, tw_futex_wait and tw_futex_wake in real time, whatever the
 * thread's time is. */
uint64_t tw_kernel_ns(void);
void tw_kernel_wait(_Atomic uint32_t *word, uint32_t seen, uint64_t timeout_ns);
void tw_kernel_wake(_Atomic uint32_t *word, int how_many);

#endif
