/* SPDX-License-Identifier: BSD-3-Clause */
/* word.h - atomic operations between nodes on the newest copy of a word, without a lock (tw_protocol.word). */
#ifndef TW_CORE_COHERENCE_WORD_H
#define TW_CORE_COHERENCE_WORD_H

#include "tweed/driver/protocol.h"

/* tw_word_direct - can words be operated on so in this job?  All processors get the same answer. */
bool tw_word_direct(const struct tw_proc *me);

/* tw_word_begin - where to operate on @bytes bytes at app + @offset, within a page, by one instruction.  The page is
 * locked: nothing else is executed until tw_word_end, of the same bytes. @changed: the instruction may have changed
 * them.  Neither is a release or an acquire.  [sync] */
void *tw_word_begin(struct tw_proc *me, size_t offset, size_t bytes);
void tw_word_end(struct tw_proc *me, size_t offset, size_t bytes, bool changed);

#endif
