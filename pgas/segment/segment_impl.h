/* SPDX-License-Identifier: BSD-3-Clause */
/* segment_impl.h - shared by the files of this folder. */
#ifndef TW_PGAS_SEGMENT_SEGMENT_IMPL_H
#define TW_PGAS_SEGMENT_SEGMENT_IMPL_H

/* Signals of the barrier: at the start of each segment, one line per round. */
#define SEGMENT_BARRIER_ROUNDS 16u
#define SEGMENT_LINE           64u
#define SEGMENT_CPU            3072u /* offset of a word: 1 + the PE's last known CPU; 0: unknown (wait.c) */
/* In jobs that survive deaths: [pes] words, how many barriers each PE has reached. */
#define SEGMENT_ARRIVALS ((size_t)4096)

/* tw_segment_remote_open, tw_segment_remote_close - the flows of every process. */
void tw_segment_remote_open(void);
void tw_segment_remote_close(void);

/* tw_segment_remote_announce_sleep - announce to @pe, for which this PE waits, that this PE sleeps. */
void tw_segment_remote_announce_sleep(unsigned pe);

#endif
