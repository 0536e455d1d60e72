/* SPDX-License-Identifier: BSD-3-Clause */
/* diff.h - twins against pages: exact to the byte, vectorised (AVX-512, AVX2, SSE2 or scalar, chosen at first use).
 *
 * Pages are 4 KiB to 64 KiB, 64-byte aligned.  Other processors of the node may store to @frame meanwhile (in
 * data-race-free programs never to bytes that matter to this call), so a compared byte is not read again: the value
 * that is sent and the value that enters the twin are the same.
 *
 * Context: fault handlers; no allocation, no locks.  The caller holds the page's lock. */
#ifndef TWEED_DRIVER_DIFF_H
#define TWEED_DRIVER_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A receiver of runs: @len changed bytes at page offset @offset. */
typedef void (*tw_run_fn)(void *ctx, size_t offset, const void *bytes, size_t len);

/* tw_diff_out - pass each maximal run of bytes in which frame and twin differ to @run, in rising order.  Runs
 * separated by equal bytes are never merged: a neighbour byte may be another node's.  With @update the twin gets the
 * bytes as well (flush-update, section 2.5).  The bytes passed are a snapshot, unchanged until @run returns.  Only
 * at page offsets that are multiples of 4096 may a longer run be passed in two pieces.  Returns the number of
 * differing bytes. */
size_t tw_diff_out(const void *frame, void *twin, size_t bytes, int update, tw_run_fn run, void *ctx);

/* tw_diff_any - do frame and twin differ?  Each byte of the frame is read once, so what other threads store meanwhile
 * does not hide a byte that differs throughout.  memcmp may read a difference again, find none, and return 0. */
bool tw_diff_any(const void *frame, const void *twin, size_t bytes);

/* tw_diff_store - as tw_diff_out, but store the differing bytes to the page @to; no other byte of it is written. */
size_t tw_diff_store(const void *frame, void *twin, size_t bytes, int update, char *to);

/* tw_diff_apply - store a run that tw_diff_out has passed elsewhere; its bytes of one aligned word of 8 bytes are
 * stored at once. */
void tw_diff_apply(void *to, const void *bytes, size_t len);
/* tw_diff_load - the reverse: @len bytes of a page that others store to; each aligned element by one access. */
void tw_diff_load(void *to, const void *page, size_t len);

/* tw_diff_in - incoming diff (section 2.2): where @incoming differs from the twin, store it to frame and twin.  All
 * other bytes of the frame are not written.  Returns the number of bytes changed. */
size_t tw_diff_in(void *frame, void *twin, const void *incoming, size_t bytes);

/* tw_diff_race - before tw_diff_in: pass each run of bytes that this node (@frame) and another (@incoming) both
 * changed since @twin, to different values, to @run as tw_diff_out does, with the incoming bytes.  Returns the
 * number of bytes. */
size_t tw_diff_race(const void *frame, const void *twin, const void *incoming, size_t bytes, tw_run_fn run, void *ctx);

/* tw_diff_merge - merge the frame's changes since @twin and the home's (Endo and Taura, section 3.2, table 1): twin
 * and frame become home ^ twin ^ frame.  Where both changed a byte, a race, the frame's value stays, whole.  Frame
 * bytes that are the same at @home as in the twin are not written.  @home may be @twin: nothing changed there.
 * Where the two values of a race differ, passes each run to @race, unless NULL, as tw_diff_race does.  Returns the
 * number of these bytes. */
size_t tw_diff_merge(void *frame, void *twin, const void *home, size_t bytes, tw_run_fn race, void *ctx);

/* tw_diff_select - force an implementation by name ("scalar", "sse2", "avx2", "avx512") for tests.  Returns 0, or
 * -ENOTSUP when this processor lacks it. */
int tw_diff_select(const char *name);

/* tw_diff_set_unit - compare and store in aligned units of 1 (the default), 2, 4 or 8 bytes.  Where one byte of a
 * unit differs, all of it counts as differing; of a unit that two nodes changed, one node's value stays whole.  Only
 * for programs in which no two nodes write different parts of a unit without synchronization. */
void tw_diff_set_unit(unsigned bytes);

#endif
