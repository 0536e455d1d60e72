/* SPDX-License-Identifier: BSD-3-Clause */
/* impl.h - between the files of this folder. */
#ifndef TW_PGAS_SEGMENT_SEGMENT_IMPL_H
#define TW_PGAS_SEGMENT_SEGMENT_IMPL_H

/* Signals of the barrier: the first bytes of each segment, a line for each round. */
#define SEGMENT_BARRIER_ROUNDS 16u
#define SEGMENT_LINE           64u
#define SEGMENT_CPU            3072u /* offset of a word: 1 + where the PE was last seen; 0: nowhere (wait.c) */
/* Behind them, in jobs that survive deaths: [pes] words, how often each PE has come to a barrier. */
#define SEGMENT_ARRIVALS ((size_t)4096)

/* tw_segment_remote_open, tw_segment_remote_close - the flows that every process has. */
void tw_segment_remote_open(void);
void tw_segment_remote_close(void);

/* tw_segment_remote_announce_sleep - tell @pe that this PE sleeps, in a wait for it. */
void tw_segment_remote_announce_sleep(unsigned pe);

#endif
