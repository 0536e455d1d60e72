/* SPDX-License-Identifier: BSD-3-Clause */
/* litmus.h - the cases, by file.  Each names the outcomes that the memory model forbids. */
#ifndef LITMUS_H
#define LITMUS_H

#include "tests/litmus/suite.h"

/* order.c: which writes an acquire must show */
void lit_message_flag(struct suite *s);
void lit_message_lock(struct suite *s);
void lit_message_barrier(struct suite *s);
void lit_store_buffering(struct suite *s);
void lit_two_readers(struct suite *s);
void lit_no_going_back(struct suite *s);
void lit_causality(struct suite *s);
void lit_flag_ring(struct suite *s);
void lit_flag_setters(struct suite *s);
void lit_flag_relay(struct suite *s);
void lit_barrier_subsets(struct suite *s);

/* locks.c: mutual exclusion and what is written under several locks */
void lit_hand_over(struct suite *s);
void lit_hand_over_page(struct suite *s);
void lit_try_acquire(struct suite *s);
void lit_nested(struct suite *s);
void lit_dirty_of_other_lock(struct suite *s);
void lit_neighbours_locks(struct suite *s);
void lit_migratory(struct suite *s);
void lit_woken(struct suite *s);

/* sharing.c: several writers and readers of one page */
void lit_false_sharing(struct suite *s);
void lit_false_sharing_owners(struct suite *s);
void lit_whole_words(struct suite *s);
void lit_read_mostly(struct suite *s);
void lit_home_writes(struct suite *s);
void lit_exclusive_reader(struct suite *s);
void lit_exclusive_crowd(struct suite *s);
void lit_exclusive_writer(struct suite *s);
void lit_own_writes(struct suite *s);
void lit_restored_value(struct suite *s);

/* memory.c: allocation, homes, broadcast, prefetch, system calls */
void lit_free_elsewhere(struct suite *s);
void lit_free_ring(struct suite *s);
void lit_malloc_all(struct suite *s);
void lit_bcast(struct suite *s);
void lit_home_set(struct suite *s);
void lit_prefetch(struct suite *s);
void lit_prefetch_stale(struct suite *s);
void lit_columns(struct suite *s);
void lit_system_calls(struct suite *s);

/* atomics.c: the C11 memory model */
void lit_atomic_message(struct suite *s);
void lit_atomic_release_sequence(struct suite *s);
void lit_atomic_store_buffering(struct suite *s);
void lit_atomic_load_buffering(struct suite *s);
void lit_atomic_two_readers(struct suite *s);
void lit_atomic_coherence(struct suite *s);
void lit_atomic_halves(struct suite *s);
void lit_atomic_whole(struct suite *s);
void lit_atomic_posted(struct suite *s);
void lit_atomic_beside(struct suite *s);

#endif
