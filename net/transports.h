/* SPDX-License-Identifier: BSD-3-Clause */
/* transports.h - the transports that list.c names. */
#ifndef TW_NET_TRANSPORTS_H
#define TW_NET_TRANSPORTS_H

#include "tweed/driver/transport.h"

extern const struct tw_transport tw_transport_shm;
extern const struct tw_transport tw_transport_sim;
extern const struct tw_transport tw_transport_ofi;   /* where libfabric's headers have been found */
extern const struct tw_transport tw_transport_verbs; /* where those of libibverbs and librdmacm have been found */

#endif
