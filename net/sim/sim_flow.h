/* SPDX-License-Identifier: BSD-3-Clause */
/* sim_flow.h - started operations over sim: kept, and performed when an operation promises that they are, or at
 * random. */
#ifndef TW_NET_SIM_SIM_FLOW_H
#define TW_NET_SIM_SIM_FLOW_H

#include "tweed/driver/transport.h"

#define SIM_STARTED 64u

struct sim_started {
	unsigned count;
	bool doing; /* performing one must not perform others */
	struct sim_start {
		struct tw_net_flow *flow;
		struct tw_net_work work;
	} start[SIM_STARTED];
};

/* sim_started_add - keep one.
 * sim_started_do - perform those to @node (or TW_NET_ALL) of @flow (NULL: of all flows), in their order.
 * sim_started_settle - perform those of @flow, and complete them. */
void sim_started_add(struct tw_net *net, struct sim_started *s, struct tw_net_flow *flow,
                     const struct tw_net_work *work);
void sim_started_do(struct tw_net *net, struct sim_started *s, unsigned node, const struct tw_net_flow *flow);
void sim_started_settle(struct tw_net *net, struct sim_started *s, struct tw_net_flow *flow);

#endif
