/* SPDX-License-Identifier: BSD-3-Clause */
/* util.h - what base offers: to all, in driver/util.h; and here, to the layers of the project alone. */
#ifndef TW_CORE_BASE_BASE_H
#define TW_CORE_BASE_BASE_H

#include "tweed/driver/util.h"

/* Which sanitizer this is built with: 0 or 1. */
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

#define TW_HUGE_BYTES ((size_t)2 << 20)

/* tw_log_who - the prefix for this process, "node.processor"; copied, 31 bytes at most. */
void tw_log_who(const char *who);
/* tw_log_hosts - @host[i] is what node i's host is called, "": none of its own; it stays the caller's.
 * tw_log_node - "node 1", or "node 1 on host b"; in one of two buffers in turn.  Async-signal-safe. */
#define TW_HOST_BYTES 64
void tw_log_hosts(const char (*host)[TW_HOST_BYTES], unsigned nodes);
const char *tw_log_node(unsigned node);
/* tw_fatal_hook - what tw_fatal runs before it exits, or NULL; async-signal-safe. */
extern void (*tw_fatal_hook)(void);
/* tw_format - the formatter of tw_log.  Returns the length, at most @bytes - 1. */
size_t tw_format(char *out, size_t bytes, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
