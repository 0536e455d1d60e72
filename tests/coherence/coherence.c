/* SPDX-License-Identifier: BSD-3-Clause */
/* coherence.c - conformance of a protocol to tweed.h: deterministic cases, judged by results alone. */
#include "tests/coherence/cases.h"

static const struct suite_case cases[] = {
    {"identity", coh_identity},
    {"widths", coh_widths},
    {"page_crossing", coh_page_crossing},
    {"page_cycle", coh_page_cycle},
    {"sequential", coh_sequential},
    {"strided", coh_strided},
    {"sparse", coh_sparse},
    {"one_word_many_pages", coh_one_word_many_pages},
    {"first_touch_race", coh_first_touch_race},
    {"claim_under_notice", coh_claim_under_notice},
    {"many_readers_chain", coh_many_readers_chain},
    {"turns", coh_turns},
    {"again", coh_again},
    {"describe", coh_describe},
    {"malloc", coh_malloc},
    {"calloc", coh_calloc},
    {"realloc", coh_realloc},
    {"aligned_alloc", coh_aligned_alloc},
    {"alloc_errors", coh_alloc_errors},
    {"alloc_large", coh_alloc_large},
    {"alloc_disjoint", coh_alloc_disjoint},
    {"home", coh_home},
    {"home_first_touch", coh_home_first_touch},
    {"prefetch_anything", coh_prefetch_anything},
    {"pin", coh_pin},
    {"locks_many", coh_locks_many},
    {"locks_recycled", coh_locks_recycled},
    {"try_acquire", coh_try_acquire},
    {"barrier_reuse", coh_barrier_reuse},
    {"barriers_many", coh_barriers_many},
    {"flags_many", coh_flags_many},
    {"flag_values", coh_flag_values},
    {"handles_in_memory", coh_handles_in_memory},
    {"create_anywhere", coh_create_anywhere},
    {"stats", coh_stats},
    {"now", coh_now},
    {0},
};

int main(int argc, char **argv)
{
	return suite_main(argc, argv, cases);
}
