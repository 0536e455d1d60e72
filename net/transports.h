/* SPDX-License-Identifier: BSD-3-Clause */
/* transports.h - the transports that transports.c lists. */
#ifndef TW_NET_TRANSPORTS_H
#define TW_NET_TRANSPORTS_H

#include "tweed/driver/transport.h"

extern const struct tw_transport tw_transport_shm;
extern const struct tw_transport tw_transport_sim;
extern const struct tw_transport tw_transport_ofi;   /* if libfabric's headers were found */
extern const struct tw_transport tw_transport_verbs; /* if those of libibverbs and librdmacm were found */
extern const struct tw_transport tw_transport_sim_ofi, tw_transport_sim_verbs; /* sim over these */

int ofi_serve(const struct tw_net_config *config, struct tw_net_server **server, struct tw_net_address *own);
void ofi_serve_end(struct tw_net_server *server, struct tw_net_counts *counts);
void ofi_shut_out(struct tw_net_server *server, unsigned node, unsigned port);
int verbs_serve(const struct tw_net_config *config, struct tw_net_server **server, struct tw_net_address *own);
void verbs_serve_end(struct tw_net_server *server, struct tw_net_counts *counts);
void verbs_shut_out(struct tw_net_server *server, unsigned node, unsigned port);

#endif
