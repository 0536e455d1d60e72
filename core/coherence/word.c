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

void *tw_word_begin(struct tw_proc *me, size_t offset, size_t bytes)
{
	tw_shootdown_enter(me);
	tw_protocol_enter(me);
	void *at = me->protocol->word(me, offset, bytes);
	tw_shootdown_leave(me);
	return at;
}

void tw_word_end(struct tw_proc *me, size_t offset, size_t bytes, bool changed)
{
	tw_shootdown_enter(me);
	me->protocol->word_done(me, offset, bytes, changed);
	tw_protocol_leave(me);
	tw_shootdown_leave(me);
}
