/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/memory/wide.h"

#include <string.h>

#include "core/job/job.h"

struct wide_request {
	uint64_t offset, op;
	uint64_t value[2], expect[2];
};

static bool wide_cas(struct tw_wide128 *at, struct tw_wide128 *seen, struct tw_wide128 value)
{
	return tw_amo_wide(at, seen->word, value.word);
}

/* Compute the new @value from @seen. Returns false when the word stays. */
static bool wide_next(enum tw_wide_op op, struct tw_wide128 seen, struct tw_wide128 expect, struct tw_wide128 *value)
{
	bool same = seen.word[0] == expect.word[0], counted = op >= TW_WIDE_SWAP_COUNTED;

	if (op == TW_WIDE_LOAD || (op == TW_WIDE_CAS_OBJECT_COUNTED && !same))
		return false;
	if ((op == TW_WIDE_CAS || op == TW_WIDE_CAS_COUNTED) && (!same || seen.word[1] != expect.word[1]))
		return false;
	if (counted)
		value->word[1] = seen.word[1] + 1;
	return true;
}

struct tw_wide128 tw_wide_here(struct tw_wide128 *at, enum tw_wide_op op, struct tw_wide128 value,
                               struct tw_wide128 expect)
{
	struct tw_wide128 seen = {{0, 0}};

	/* An atomic first load: storing a value over itself does no harm. */
	wide_cas(at, &seen, seen);
	while (wide_next(op, seen, expect, &value) && !wide_cas(at, &seen, value))
		;
	return seen;
}

struct tw_wide128 tw_wide_call(struct tw_proc *me, unsigned node, size_t offset, enum tw_wide_op op,
                               struct tw_wide128 value, struct tw_wide128 expect)
{
	struct wide_request request = {offset, op, {value.word[0], value.word[1]}, {expect.word[0], expect.word[1]}};
	struct tw_msg msg = {.type = TW_MSG_WIDE, .len = sizeof(request)};
	struct tw_wide128 seen;

	memcpy(msg.body, &request, sizeof(request));
	tw_protocol_enter(me); /* replies come to one caller of the process at a time */
	tw_call(me, node, &msg);
	tw_protocol_leave(me);
	memcpy(&seen, msg.body, sizeof(seen));
	return seen;
}

void tw_wide_serve(struct tw_proc *me, const struct tw_msg *msg)
{
	struct wide_request r;
	struct tw_msg reply = {.len = sizeof(struct tw_wide128)};

	memcpy(&r, msg->body, sizeof(r));
	if (msg->len != sizeof(r) || r.offset % 16 || r.offset < me->layout.segments ||
	    r.offset >= me->layout.segments + me->layout.processors * me->layout.segment_bytes || r.op >= TW_WIDE_OPS)
		tw_fatal("node %u asks for an operation that makes no sense on 16 bytes at %llu", msg->src_node,
		         (unsigned long long)r.offset);
	struct tw_wide128 seen = tw_wide_here((void *)(me->net->base + r.offset), (enum tw_wide_op)r.op,
	                                      (struct tw_wide128){{r.value[0], r.value[1]}},
	                                      (struct tw_wide128){{r.expect[0], r.expect[1]}});
	memcpy(reply.body, &seen, sizeof(seen));
	tw_reply(me, msg, &reply);
}
