/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/coherence/word.h"

#include "core/coherence/shootdown.h"
#include "core/job/job.h"

/* Not where stores are announced instead of found, nor where homes have twins, to find races. */
bool tw_word_direct(const struct tw_proc *me)
{
	return me->protocol->word && me->net->ops->direct && (me->net->ops->caps & TW_NET_COHERENT_ATOMICS) &&
	       !(me->protocol->flags & TW_PROTOCOL_NEEDS_STORES) && !me->config.race && !me->config.survive;
}

/* Not in processors that must answer others in calls (shootdown.h): the program may do nothing but such loads. */
bool tw_word_peek(struct tw_proc *me, size_t offset, size_t bytes, void *value)
{
	return !me->target && me->protocol->word_peek && me->protocol->word_peek(me, offset, bytes, value);
}

struct tw_word tw_word_begin(struct tw_proc *me, size_t offset, size_t bytes)
{
	tw_shootdown_enter(me);
	struct tw_word w = {.at = me->protocol->word(me, offset, bytes, false)};
	if (!w.at) {
		tw_protocol_enter(me);
		w.entered = true;
		w.at = me->protocol->word(me, offset, bytes, true);
	}
	return w;
}

void tw_word_end(struct tw_proc *me, struct tw_word w, size_t offset, size_t bytes, bool changed)
{
	me->protocol->word_done(me, offset, bytes, changed);
	if (w.entered)
		tw_protocol_leave(me);
	tw_shootdown_leave(me);
}
