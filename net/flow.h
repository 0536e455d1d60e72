/* SPDX-License-Identifier: BSD-3-Clause */
/* flow.h - started operations, for transports that start some of them and perform others at once. */
#ifndef TW_NET_FLOW_H
#define TW_NET_FLOW_H

#include "tweed/driver/transport.h"

/* tw_flow_amo - perform an atomic at once. */
void tw_flow_amo(struct tw_net *net, const struct tw_net_work *work);
/* tw_flow_count_amo - count the bytes of an atomic that is started. */
static inline void tw_flow_count_amo(struct tw_net *net, const struct tw_net_work *work)
{
	net->traffic->bytes_out += work->len;
	net->traffic->bytes_in += work->local ? work->len : 0;
}

#endif
