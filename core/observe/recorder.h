/* SPDX-License-Identifier: BSD-3-Clause */
/* recorder.h - the core's part of traces. The part for all layers is in driver/trace.h. */
#ifndef TW_CORE_OBSERVE_RECORDER_H
#define TW_CORE_OBSERVE_RECORDER_H

#include "tweed/driver/protocol.h"

#define TW_TRACE_RINGS 2u /* of a processor: events, allocations */

/* tw_trace_ring_bytes - returns the bytes of a processor's rings in the private memory; 0 without TWEED_TRACE.
 * tw_trace_ring - returns ring number @ring of those at @rings. */
size_t tw_trace_ring_bytes(const struct tw_config *config);
struct tw_trace_ring *tw_trace_ring(void *rings, const struct tw_config *config, unsigned ring);
/* tw_trace_open - record from now on if the job is traced. Called when the views are open. [start] */
void tw_trace_open(struct tw_proc *me);
/* tw_trace_allocation - record that the code at @caller was given @bytes at @address, in the trace, if there is one;
 * and for `tweed top`, if they are at least TW_ALLOCATED_LEAST. [application] */
void tw_trace_allocation(struct tw_proc *me, const void *address, size_t bytes, const void *caller);
/* tw_trace_say - print this processor's last events on standard error, a line each. Any context. */
void tw_trace_say(const struct tw_proc *me);

/* tw_trace_kind_name - returns the name of a kind; NULL after the last. */
const char *tw_trace_kind_name(unsigned kind);

#endif
