/* SPDX-License-Identifier: BSD-3-Clause */
/* ofi_msg.c - a port of connected endpoints (FI_EP_MSG), one for each peer, that receive into the same buffers:
 * libfabric's provider tcp without the layer that makes datagrams of its connections, which costs a fifth of a round
 * trip.
 *
 * The first message to a peer travels with the request for a connection, and the first one back with the acceptance:
 * only a process that proves that it belongs to the job gets a connection.  Both are events of a queue of their own,
 * which is polled now and then. */
#include "net/ofi/port/ofi_port.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- the port ---- */

int ofi_msg_up(struct ofi_port *port, const char **step)
{
	struct fi_eq_attr eq = {.wait_obj = FI_WAIT_FD};
	size_t bytes = sizeof(port->address.bytes);
	int error;

	port->connection = calloc(port->connections, sizeof(port->connection[0]));
	if ((*step = "memory", error = port->connection ? 0 : -FI_ENOMEM) ||
	    (*step = "event queue", error = fi_eq_open(port->fabric, &eq, &port->eq, NULL)) ||
	    (error = fi_control(&port->eq->fid, FI_GETWAIT, &port->fds.events)) ||
	    (*step = "shared receives", error = fi_srx_context(port->domain, port->info->rx_attr, &port->ep, NULL)) ||
	    (*step = "passive endpoint", error = fi_passive_ep(port->fabric, port->info, &port->pep, NULL)) ||
	    (error = fi_pep_bind(port->pep, &port->eq->fid, 0)) || (error = fi_listen(port->pep)) ||
	    (*step = "address", error = fi_getname(&port->pep->fid, port->address.bytes, &bytes)))
		return error;
	port->address.len = (uint16_t)bytes;
	return 0;
}

void ofi_msg_down(struct ofi_port *port)
{
	for (unsigned i = 0; port->connection && i < port->connections; i++)
		ofi_msg_forget(port, i);
	free(port->connection);
}

/* ---- connections ---- */

static int msg_endpoint(struct ofi_port *port, struct fi_info *info, fi_addr_t *peer)
{
	unsigned i = 0;
	int error;

	while (i < port->connections && port->connection[i].ep)
		i++;
	if (i == port->connections)
		return -ENOSPC;
	struct ofi_connection *connection = &port->connection[i];
	*connection = (struct ofi_connection){0};
	if ((error = fi_endpoint(port->domain, info, &connection->ep, connection)))
		return error;
	*peer = i;
	if ((error = fi_ep_bind(connection->ep, &port->eq->fid, 0)) ||
	    (error = fi_ep_bind(connection->ep, &port->cq->fid, FI_TRANSMIT | FI_RECV)) ||
	    (error = fi_ep_bind(connection->ep, &port->ep->fid, 0)) || (error = fi_enable(connection->ep)))
		ofi_msg_forget(port, i);
	return error;
}

int ofi_msg_peer(struct ofi_port *port, const struct tw_net_address *address, fi_addr_t *peer)
{
	int error = address->len <= sizeof(port->connection[0].to) ? msg_endpoint(port, port->info, peer) : -EINVAL;

	if (!error)
		memcpy(port->connection[*peer].to, address->bytes, address->len);
	return error;
}

int ofi_msg_back(struct ofi_port *port, struct ofi_buffer *first, fi_addr_t *peer)
{
	int error = first->request ? msg_endpoint(port, first->request, peer) : -EINVAL;

	if (error)
		return error;
	port->connection[*peer].asked = true;
	ofi_calls.fi_freeinfo(first->request);
	first->request = NULL;
	return 0;
}

void ofi_msg_forget(struct ofi_port *port, fi_addr_t peer)
{
	if (port->connection[peer].ep)
		fi_close(&port->connection[peer].ep->fid);
	port->connection[peer] = (struct ofi_connection){0};
}

void ofi_msg_refuse(struct ofi_port *port, struct ofi_buffer *first)
{
	fi_reject(port->pep, first->request->handle, NULL, 0);
	ofi_calls.fi_freeinfo(first->request);
	first->request = NULL;
}

ssize_t ofi_msg_first(struct ofi_connection *connection, const struct ofi_head *head)
{
	int error;

	if (connection->state != OFI_NEW || !connection->ep)
		return connection->state == OFI_OPENING ? -FI_EAGAIN : -FI_ENOTCONN;
	error = connection->asked ? fi_accept(connection->ep, head, head->bytes)
	                          : fi_connect(connection->ep, connection->to, head, head->bytes);
	connection->state = error ? OFI_DOWN : OFI_OPENING;
	return error;
}

/* ---- their events ---- */

static enum ofi_event msg_broken(struct ofi_port *port, struct ofi_connection *connection, ssize_t *peer)
{
	connection->state = OFI_DOWN;
	*peer = connection - port->connection;
	return OFI_BROKEN;
}

enum ofi_event ofi_msg_event(struct ofi_port *port, struct ofi_buffer **buffer, ssize_t *peer)
{
	union {
		struct fi_eq_cm_entry entry;
		char bytes[sizeof(struct fi_eq_cm_entry) + OFI_FIRST];
	} got_event;
	struct fi_eq_err_entry error = {0};
	uint32_t event;

	if (!port->firsts.count) /* earlier ones are not handled yet */
		return OFI_NOTHING;
	ssize_t got = ofi_quirk_eq_read(port->eq, &event, &got_event, sizeof(got_event));
	if (got == -FI_EAVAIL && fi_eq_readerr(port->eq, &error, 0) > 0 && error.fid->fclass == FI_CLASS_EP)
		return msg_broken(port, error.context, peer);
	if (got < (ssize_t)sizeof(got_event.entry))
		return OFI_NOTHING;
	if (event == FI_SHUTDOWN)
		return msg_broken(port, got_event.entry.fid->context, peer);
	if (event == FI_CONNECTED)
		((struct ofi_connection *)got_event.entry.fid->context)->state = OFI_UP;
	if (event == FI_CONNECTED && got == sizeof(got_event.entry)) /* requested here */
		return ofi_msg_event(port, buffer, peer);
	*buffer = ofi_take(&port->firsts);
	(*buffer)->request = event == FI_CONNREQ ? got_event.entry.info : NULL;
	(*buffer)->bytes = (size_t)got - sizeof(got_event.entry);
	memcpy((*buffer)->head, got_event.entry.data, (*buffer)->bytes);
	return OFI_RECEIVED;
}
