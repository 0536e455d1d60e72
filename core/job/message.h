/* SPDX-License-Identifier: BSD-3-Clause */
/* message.h - the core's part of messages. tw_send, tw_call and tw_reply are in driver/protocol.h. */
#ifndef TW_CORE_JOB_MESSAGE_H
#define TW_CORE_JOB_MESSAGE_H

#include "tweed/driver/protocol.h"

/* tw_message_take - receive the next message into @msg.  Returns false when there is none. */
bool tw_message_take(struct tw_proc *me, struct tw_msg *msg);
/* tw_message_dispatch - execute @msg, which must not be a reply. Ends the job when neither the agent nor the protocol
 * handles its type. */
void tw_message_dispatch(struct tw_proc *me, const struct tw_msg *msg);
/* tw_message_agent - set by the agent: executes the core's own requests; returns false for other types. NULL in
 * processors. */
extern bool (*tw_message_agent)(struct tw_proc *me, const struct tw_msg *msg);
/* tw_message_lock - set by the agent before tw_service_start: executes TW_MSG_LOCK_RELEASE. */
extern void (*tw_message_lock)(struct tw_proc *me, const struct tw_msg *msg);

#endif
