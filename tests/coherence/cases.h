/* SPDX-License-Identifier: BSD-3-Clause */
/* cases.h - what every protocol must do, by file. */
#ifndef COHERENCE_CASES_H
#define COHERENCE_CASES_H

#include "tests/litmus/suite.h"

/* access.c: every width and place of an access */
void coh_identity(struct suite *s);
void coh_widths(struct suite *s);
void coh_page_crossing(struct suite *s);
void coh_page_cycle(struct suite *s);
void coh_sequential(struct suite *s);
void coh_strided(struct suite *s);
void coh_sparse(struct suite *s);
void coh_one_word_many_pages(struct suite *s);
void coh_first_touch_race(struct suite *s);
void coh_claim_under_notice(struct suite *s);
void coh_many_readers_chain(struct suite *s);
void coh_turns(struct suite *s);
void coh_again(struct suite *s);
void coh_describe(struct suite *s);

/* alloc.c: tw_malloc and its kin */
void coh_malloc(struct suite *s);
void coh_calloc(struct suite *s);
void coh_realloc(struct suite *s);
void coh_aligned_alloc(struct suite *s);
void coh_alloc_errors(struct suite *s);
void coh_alloc_large(struct suite *s);
void coh_alloc_disjoint(struct suite *s);
void coh_home(struct suite *s);
void coh_home_first_touch(struct suite *s);
void coh_prefetch_anything(struct suite *s);
void coh_pin(struct suite *s);

/* sync.c: locks, barriers, flags, statistics */
void coh_locks_many(struct suite *s);
void coh_locks_recycled(struct suite *s);
void coh_try_acquire(struct suite *s);
void coh_barrier_reuse(struct suite *s);
void coh_barriers_many(struct suite *s);
void coh_flags_many(struct suite *s);
void coh_flag_values(struct suite *s);
void coh_handles_in_memory(struct suite *s);
void coh_create_anywhere(struct suite *s);
void coh_stats(struct suite *s);
void coh_now(struct suite *s);

#endif
