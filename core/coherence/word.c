/* SPDX-License-Identifier: BSD-3-Clause */
/* word.c - operations on words: in place, or, where nodes share no memory, on a copy.
 *
 * A copy.  The unit around the word, of 4 or 8 bytes, is copied from this node's frame, which may be old; a
 * compare-and-swap at the master then replaces what was copied by what the instruction has made of it.  If the master
 * had another value, the instruction is executed again, on that.  So the operation takes effect once, at the
 * compare-and-swap, which is atomic with all other operations on the master, by processors, too.  An instruction that
 * changes nothing is right if the master is read and has the copied value.  Bytes around the word, to which others may
 * store meanwhile, are compared, so they are never overwritten by older ones.
 *
 * An operation that the transport has, too, is performed at the master by it: one round trip.
 *
 * Posted operations have no result, and no answer is waited for.  The node's copy of the page takes the operation at
 * once, so that the processor loads what it has done; what others have done it need not show before the next acquire.
 * A posted operation is performed before the processor's next hook of the protocol but for further operations:
 * tw_protocol_enter waits for it (trail.h).  So it is performed before the processor releases, fetches, or takes or
 * gives up a right, which is all that could move the master.  The processor is its node's only one, so no other one
 * does that for the node.
 *
 * Two units, of 16 bytes, take one compare-and-swap of the transport's, which is executed even if nothing changes: no
 * other operation reads both at once.
 *
 * tests/models/word.pml checks the use under Cashmere, posted operations among it. */
#include "core/coherence/word.h"

#include <string.h>

#include "core/base/word_copy.h"
#include "core/coherence/shootdown.h"
#include "core/job/job.h"
#include "net/amo.h"
#include "tweed/driver/diff.h"

#define WORD_UNITS   2u
#define WORD_IDLE_NS 20000u /* without a posted operation; then the next one is sent at once */

/* The operation under way.  A processor has one at a time. */
static struct {
	_Alignas(16) char copy[WORD_UNITS * 8 + 16]; /* an instruction may reach beyond the units */
	char beyond[16];
	uint64_t seen[WORD_UNITS];
	struct tw_location master;
	size_t offset; /* of the first unit in the shared space */
	unsigned unit; /* bytes */
	unsigned units;
	bool fresh; /* the copy is the master's value */
} word;

/* Not where stores are announced instead of found, nor where homes have twins, to find races. */
bool tw_word_direct(const struct tw_proc *me)
{
	return me->protocol->word && (me->net->ops->caps & TW_NET_COHERENT_ATOMICS) && me->net->ops->cas_wide &&
	       !(me->protocol->flags & TW_PROTOCOL_NEEDS_STORES) && !me->config.race && !me->config.survive;
}

bool tw_word_away(const struct tw_proc *me)
{
	return !me->net->ops->direct;
}

/* The program may do nothing but such loads: processors that must answer others in calls do so here. */
bool tw_word_peek(struct tw_proc *me, size_t offset, size_t bytes, void *value)
{
	tw_word_near();
	tw_shootdown_poll(me);
	return me->protocol->word_peek && me->protocol->word_peek(me, offset, bytes, value);
}

/* ---- a copy ---- */

static void __attribute__((noreturn)) word_refuse(const struct tw_proc *me)
{
	tw_fatal("an atomic operation on bytes that are not aligned, at %p or behind it: align them, or use "
	         "--transport shm",
	         (void *)(me->app + word.offset));
}

/* Choose the units around the bytes. */
static void word_units(const struct tw_proc *me, size_t offset, size_t bytes)
{
	word.unit = offset % 4 + bytes <= 4 ? 4 : 8;
	word.offset = offset & ~(size_t)(word.unit - 1);
	word.units = (unsigned)((offset + bytes - word.offset + word.unit - 1) / word.unit);
	if (word.units > 1 && (word.units > WORD_UNITS || offset % 16))
		word_refuse(me);
}

static uint64_t word_unit(unsigned i)
{
	uint64_t value = 0;

	memcpy(&value, word.copy + i * word.unit, word.unit);
	return value;
}

static void word_set(unsigned i, uint64_t value)
{
	word.seen[i] = value;
	memcpy(word.copy + i * word.unit, &value, word.unit);
}

static void word_refresh(struct tw_proc *me)
{
	word_set(0, tw_net_amo(me->net, word.master.node, word.master.offset, TW_AMO_FETCH, word.unit, 0, 0));
	word.fresh = true;
}

static void word_copy(struct tw_proc *me, struct tw_location master, bool loads)
{
	size_t bytes = word.units * word.unit;

	word.master = master;
	memset(word.copy, 0, sizeof(word.copy));
	memcpy(word.copy, me->view + word.offset, bytes);
	memcpy(word.beyond, word.copy + bytes, sizeof(word.beyond));
	word.fresh = false;
	for (unsigned i = 0; i < word.units; i++)
		word.seen[i] = word_unit(i);
	if (loads && word.units == 1)
		word_refresh(me);
}

/* Bring the copy to the master.  Returns false, with the master's value in the copy, if that was another one. */
static bool word_perform(struct tw_proc *me)
{
	uint64_t old[WORD_UNITS] = {0}, value[WORD_UNITS] = {0};
	size_t at = word.master.offset;
	bool same = true;

	if (memcmp(word.beyond, word.copy + word.units * word.unit, sizeof(word.beyond)) != 0)
		word_refuse(me);
	for (unsigned i = 0; i < word.units; i++) {
		value[i] = word_unit(i);
		old[i] = word.seen[i];
	}
	if (word.units > 1)
		tw_net_cas_wide(me->net, word.master.node, at, old, value);
	else if (!word.fresh || value[0] != old[0])
		old[0] = tw_net_amo(me->net, word.master.node, at, TW_AMO_CAS, word.unit, value[0], old[0]);
	for (unsigned i = 0; i < word.units; i++)
		same &= old[i] == word.seen[i];
	if (same)
		return true;
	for (unsigned i = 0; i < word.units; i++)
		word_set(i, old[i]);
	word.fresh = true;
	return false;
}

/* ---- operations ---- */

/* One bit for each byte of @bits that is not 0. */
static unsigned word_bytes(uint64_t bits)
{
	bits |= bits >> 4;
	bits |= bits >> 2;
	bits |= bits >> 1;
	return (unsigned)((bits & 0x0101010101010101ull) * 0x0102040810204080ull >> 56);
}

/* Store the bytes of @value in @changed to the aligned word @at, by one access: neighbours may load it meanwhile. */
static void word_store(struct tw_proc *me, struct tw_location at, uint64_t value, unsigned changed)
{
	if (at.at) {
		tw_words_merge(at.at, value, changed);
		return;
	}
	for (unsigned j = 0, end; changed >> j; j = end) {
		j += (unsigned)__builtin_ctz(changed >> j);
		end = j + (unsigned)__builtin_ctz(~(changed >> j));
		tw_net_write(me->net, at.node, at.offset + j, (char *)&value + j, end - j);
	}
}

/* The bytes at @from, which lie at @at in an aligned word, and zeros.  Whole words are copied without a call. */
static uint64_t word_around(const char *from, size_t at, size_t bytes)
{
	uint64_t value = 0;

	if (bytes == sizeof(value))
		memcpy(&value, from, sizeof(value));
	else
		memcpy((char *)&value + at, from, bytes);
	return value;
}

/* tw_word_merge of bytes of one aligned word. */
static bool word_merge_one(struct tw_proc *me, struct tw_location word, size_t at, const char *now, char *twin,
                           size_t bytes)
{
	uint64_t value = word_around(now, at, bytes), before = word_around(twin, at, bytes);

	if (value == before)
		return false;
	memcpy(twin, now, bytes);
	word_store(me, word, value, word_bytes(value ^ before));
	return true;
}

bool tw_word_merge(struct tw_proc *me, struct tw_location to, const char *now, char *twin, size_t bytes)
{
	bool differ = false;

	for (size_t i = 0, n; i < bytes; i += n) {
		size_t at = ((to.at ? (uintptr_t)to.at : to.offset) + i) % sizeof(uint64_t);
		struct tw_location word = to;

		n = TW_MIN(sizeof(uint64_t) - at, bytes - i);
		if (word.at)
			word.at += i - at;
		else
			word.offset += i - at;
		differ |= word_merge_one(me, word, at, now + i, twin + i, n);
	}
	if (!to.at && differ)
		tw_net_flush(me->net, to.node);
	return differ;
}

static bool word_unsent; /* something is posted, and may not be sent */

void tw_word_send(struct tw_proc *me)
{
	if (!word_unsent)
		return;
	word_unsent = false;
	me->net->ops->progress(me->net);
}

/* Find the newest copy.  Returns whether tw_protocol_enter was needed. */
static bool word_find(struct tw_proc *me, size_t offset, size_t bytes, bool loads, struct tw_location *where)
{
	tw_word_near();
	tw_shootdown_enter(me);
	if (me->protocol->word(me, offset, bytes, loads, false, where))
		return false;
	tw_protocol_enter(me);
	me->protocol->word(me, offset, bytes, loads, true, where);
	return true;
}

static void word_leave(struct tw_proc *me, bool entered)
{
	if (entered)
		tw_protocol_leave(me);
	tw_shootdown_leave(me);
}

struct tw_word tw_word_begin(struct tw_proc *me, size_t offset, size_t bytes, bool loads)
{
	struct tw_word w = {.at = NULL};
	struct tw_location where;
	size_t first = offset;

	if (tw_word_away(me)) {
		word_units(me, offset, bytes);
		first = word.offset;
		bytes = word.units * word.unit;
	}
	tw_word_send(me);
	w.entered = word_find(me, first, bytes, loads, &where);
	w.away = !where.at;
	if (w.away)
		word_copy(me, where, loads);
	w.at = (w.away ? word.copy : where.at) + (offset - first);
	return w;
}

bool tw_word_end(struct tw_proc *me, struct tw_word w, size_t offset, size_t bytes, bool changed)
{
	if (w.away && !word_perform(me))
		return false;
	if (tw_word_away(me)) {
		offset = word.offset;
		bytes = word.units * word.unit;
	}
	me->protocol->word_done(me, offset, bytes, changed, w.away ? word.copy : NULL);
	word_leave(me, w.entered);
	return true;
}

/* ---- operations that the transport has ---- */

/* Operations that follow each other are sent together.  A single one may be what another node waits for. */
static void word_post(struct tw_proc *me, const struct tw_location *where, const struct tw_word_op *op)
{
	static uint64_t last;
	uint64_t now = tw_time_ns();

	word_unsent = true;
	tw_net_amo_post(me->net, where->node, where->offset, op->op, op->bytes, op->value, op->expect);
	me->trails = true;
	if (now - last > WORD_IDLE_NS)
		tw_word_send(me);
	last = now;
}

uint64_t tw_word_operate(struct tw_proc *me, size_t offset, const struct tw_word_op *op, bool posted)
{
	struct tw_location where;

	if (!posted)
		tw_word_send(me);
	bool entered = word_find(me, offset, op->bytes, op->op == TW_AMO_FETCH, &where);
	uint64_t old = 0, now;

	if (where.at) {
		old = tw_word_perform(where.at, op);
	} else if (posted && me->locals == 1) {
		word_post(me, &where, op);
		memcpy(&old, me->view + offset, op->bytes);
	} else {
		old = tw_net_amo(me->net, where.node, where.offset, op->op, op->bytes, op->value, op->expect);
	}
	now = tw_amo_result(op->op, op->bytes, old, op->value, op->expect);
	bool changed = op->op != TW_AMO_FETCH && (op->op != TW_AMO_CAS || old == op->expect);
	me->protocol->word_done(me, offset, op->bytes, changed, where.at ? NULL : &now);
	word_leave(me, entered);
	return old;
}
