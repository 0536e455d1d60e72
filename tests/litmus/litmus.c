/* SPDX-License-Identifier: BSD-3-Clause */
/* litmus.c - small races with forbidden outcomes, many rounds each, over all placements of their parts. */
#include "tests/litmus/litmus.h"

static const struct suite_case cases[] = {
    {"message_flag", lit_message_flag},
    {"message_lock", lit_message_lock},
    {"message_barrier", lit_message_barrier},
    {"store_buffering", lit_store_buffering},
    {"two_readers", lit_two_readers},
    {"no_going_back", lit_no_going_back},
    {"causality", lit_causality},
    {"flag_ring", lit_flag_ring},
    {"flag_setters", lit_flag_setters},
    {"flag_relay", lit_flag_relay},
    {"barrier_subsets", lit_barrier_subsets},
    {"hand_over", lit_hand_over},
    {"hand_over_page", lit_hand_over_page},
    {"try_acquire", lit_try_acquire},
    {"nested", lit_nested},
    {"dirty_of_other_lock", lit_dirty_of_other_lock},
    {"neighbours_locks", lit_neighbours_locks},
    {"migratory", lit_migratory},
    {"woken", lit_woken},
    {"false_sharing", lit_false_sharing},
    {"false_sharing_owners", lit_false_sharing_owners},
    {"whole_words", lit_whole_words},
    {"read_mostly", lit_read_mostly},
    {"home_writes", lit_home_writes},
    {"exclusive_reader", lit_exclusive_reader},
    {"exclusive_crowd", lit_exclusive_crowd},
    {"exclusive_writer", lit_exclusive_writer},
    {"own_writes", lit_own_writes},
    {"restored_value", lit_restored_value},
    {"free_elsewhere", lit_free_elsewhere},
    {"free_ring", lit_free_ring},
    {"malloc_all", lit_malloc_all},
    {"bcast", lit_bcast},
    {"home_set", lit_home_set},
    {"prefetch", lit_prefetch},
    {"prefetch_stale", lit_prefetch_stale},
    {"system_calls", lit_system_calls},
    {"atomic_message", lit_atomic_message},
    {"atomic_release_sequence", lit_atomic_release_sequence},
    {"atomic_store_buffering", lit_atomic_store_buffering},
    {"atomic_load_buffering", lit_atomic_load_buffering},
    {"atomic_two_readers", lit_atomic_two_readers},
    {"atomic_coherence", lit_atomic_coherence},
    {"atomic_halves", lit_atomic_halves},
    {"atomic_whole", lit_atomic_whole},
    {"atomic_posted", lit_atomic_posted},
    {"atomic_beside", lit_atomic_beside},
    {0},
};

int main(int argc, char **argv)
{
	return suite_main(argc, argv, cases);
}
