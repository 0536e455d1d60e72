/* SPDX-License-Identifier: BSD-3-Clause */
/* ofi_rdm.c - a port that is one endpoint of reliable datagrams (FI_EP_RDM): the provider connects to peers itself. */
#include "net/ofi/port/ofi_port.h"

#include <errno.h>

int ofi_rdm_up(struct ofi_port *port, const char **step)
{
	struct fi_av_attr av = {.type = FI_AV_TABLE};
	size_t bytes = sizeof(port->address.bytes);
	int error;

	if ((*step = "address vector", error = fi_av_open(port->domain, &av, &port->av, NULL)) ||
	    (*step = "endpoint", error = fi_endpoint(port->domain, port->info, &port->ep, NULL)) ||
	    (error = fi_ep_bind(port->ep, &port->av->fid, 0)) ||
	    (error = fi_ep_bind(port->ep, &port->cq->fid, FI_TRANSMIT | FI_RECV)) || (error = fi_enable(port->ep)) ||
	    (*step = "address", error = fi_getname(&port->ep->fid, port->address.bytes, &bytes)))
		return error;
	port->address.len = (uint16_t)bytes;
	return 0;
}

int ofi_rdm_peer(struct ofi_port *port, const struct tw_net_address *address, fi_addr_t *peer)
{
	return fi_av_insert(port->av, address->bytes, 1, peer, 0, NULL) == 1 ? 0 : -EINVAL;
}
