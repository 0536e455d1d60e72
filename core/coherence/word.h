/* SPDX-License-Identifier: BSD-3-Clause */
/* word.h - atomic operations between nodes on the newest copy of a word, without a lock (tw_protocol.word). */
#ifndef TW_CORE_COHERENCE_WORD_H
#define TW_CORE_COHERENCE_WORD_H

#include "core/base/clock.h"
#include "tweed/driver/protocol.h"

/* tw_word_direct - can words be operated on so in this job?  All processors get the same answer.
 * tw_word_away - do nodes share no memory? */
bool tw_word_direct(const struct tw_proc *me);
bool tw_word_away(const struct tw_proc *me);

struct tw_word {
	void *at;     /* where to operate */
	bool entered; /* tw_protocol_enter: the page lock suffices where nothing had to be waited for */
	bool away;    /* @at is a copy of another node's word, which the transport will change */
};

/* tw_word_near - in virtual time, before one access to a word of the node: when all others have come as far, at its
 * cost. */
static inline void tw_word_near(void)
{
	tw_charge(TW_COST_directory, 1);
	tw_gate_enter();
}

/* tw_word_peek - a relaxed atomic load of an aligned word of 1, 2, 4 or 8 bytes at app + @offset, without a lock.
 * false: *@value is not to be used, and nothing has happened.  Only where tw_word_direct, and not tw_word_away.
 * [sync] */
bool tw_word_peek(struct tw_proc *me, size_t offset, size_t bytes, void *value);

/* tw_word_begin - returns where to operate on @bytes bytes, at most 16, at app + @offset, within a page, by one
 * instruction.  @loads: it changes nothing.  It holds no page lock at the call, waits as a fault does, and leaves the
 * page locked, and tw_shootdown_enter entered.  Where tw_word_away, bytes that are not aligned end the job.
 * tw_word_end - the instruction was executed, and nothing else since; the same bytes.  @changed: it may have changed
 * them, and was a sequentially consistent read-modify-write.  Unlocks the page, and leaves.  Returns false where the
 * word had another value than the instruction has seen: nothing has happened, and @at has that value; execute the
 * instruction again, then call this again.
 * Neither is a release or an acquire.  Only where tw_word_direct.  [sync] */
struct tw_word tw_word_begin(struct tw_proc *me, size_t offset, size_t bytes, bool loads);
bool tw_word_end(struct tw_proc *me, struct tw_word w, size_t offset, size_t bytes, bool changed);

/* An operation that the transport has, too: on an aligned word of 4 or 8 bytes. */
struct tw_word_op {
	enum tw_amo op;
	unsigned bytes;
	uint64_t value, expect; /* expect: of TW_AMO_CAS */
};
/* tw_word_perform - perform @op at @at by this processor.
 * tw_word_operate - perform @op on the newest copy of the word at app + @offset: where nodes share no memory, by one
 * round trip.  @posted: there it may be on its way on return.  Then it is performed before this processor's next hook
 * of the protocol, but for those of such operations, and before its later operations on the same word.
 * Neither is a release or an acquire.  As tw_word_begin else.
 * Both return the previous value, tw_word_operate none with @posted. */
static inline uint64_t tw_word_perform(void *at, const struct tw_word_op *op)
{
	return tw_amo_here(at, op->op, op->bytes, op->value, op->expect);
}
uint64_t tw_word_operate(struct tw_proc *me, size_t offset, const struct tw_word_op *op, bool posted);

/* tw_word_send - send what is posted and not sent yet, and do not wait for it: the processor may call nothing of
 * Tweed's for some time.  Operations that are not posted do so first: the program may wait for others then.  [sync] */
void tw_word_send(struct tw_proc *me);

#endif
