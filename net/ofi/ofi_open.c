/* SPDX-License-Identifier: BSD-3-Clause */
/* ofi_open.c - an endpoint opens: a handshake with every node's server; and closes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

#include "net/map.h"
#include "net/ofi/ofi_endpoint.h"

#define OFI_SENDS_MORE    16u          /* send buffers beyond one open batch for each node */
#define OFI_RECEIVES_MORE 16u          /* receive buffers beyond three for each node */
#define OFI_HANDSHAKE_NS  10000000000u /* longest wait for a server's answer */

static const struct ofi_upcalls open_upcalls = {.introduced = ofi_peer_accept,
                                                .disconnected = ofi_peer_broken,
                                                .delegated = ofi_delegate_serve,
                                                .delegate_reply = ofi_delegate_reply,
                                                .delegate_wait = ofi_delegate_wait};

static int open_handshake(struct tw_net *net, unsigned node)
{
	struct ofi *o = net->priv;
	struct ofi_link *link = &o->link[node];
	struct ofi_buffer *buffer = ofi_idle_buffer(net, node, &o->port.sends);

	struct ofi_handshake *handshake = (void *)buffer->head;
	uint16_t address = o->port.address.len;

	int error = ofi_port_peer(&o->port, &net->config.address[node], &link->to);

	if (!error && getrandom(&link->handshake, sizeof(link->handshake), 0) != sizeof(link->handshake))
		error = -errno;
	if (error == -EMFILE)
		tw_log("transport ofi: no descriptor is left for a connection to node %u; 'ulimit -n' allows more",
		       node);
	else if (error)
		tw_log("transport ofi: the address of node %u is none of provider %s's", node,
		       o->port.info->fabric_attr->prov_name);
	if (error)
		return -EINVAL;
	handshake->head = (struct ofi_head){.number = link->handshake,
	                                    .bytes = (uint16_t)(offsetof(struct ofi_handshake, address) + address),
	                                    .kind = OFI_HANDSHAKE,
	                                    .node = (uint16_t)net->config.node,
	                                    .port = (uint8_t)net->config.port};
	handshake->server = node;
	memcpy(handshake->address, o->port.address.bytes, address);
	ofi_prove(net->config.secret, &handshake->head);
	ofi_submit(net, node, buffer, true);
	return 0;
}

/* A handshake with every server.  Returns 0 or -errno, logged. */
static int open_handshakes(struct tw_net *net)
{
	struct ofi *o = net->priv;
	uint64_t until = tw_time_ns() + OFI_HANDSHAKE_NS;
	int error;

	for (unsigned node = 0; node < net->config.nodes; node++)
		if (!ofi_own(net, node) && (error = open_handshake(net, node)))
			return error;
	for (unsigned node = 0; node < net->config.nodes; node++) {
		while (!ofi_own(net, node) && !o->link[node].session) {
			if (ofi_advance(net))
				continue;
			if (tw_time_ns() > until || o->link[node].broken) {
				tw_log("the server of %s does not answer; has it the same job's secret?",
				       tw_log_node(node));
				return -EHOSTUNREACH;
			}
			ofi_sleep(&o->port, -1, 10000000);
		}
	}
	return 0;
}

static void open_release(struct tw_net *net)
{
	struct ofi *o = net->priv;

	ofi_port_close(&o->port);
	munmap(net->base, net->config.bytes);
	free(o->peers);
	free(o);
	net->priv = NULL;
	net->base = NULL;
}

int ofi_open(struct tw_net *net)
{
	const struct tw_net_config *config = &net->config;

	if (!config->fd || !config->address) {
		tw_log("transport ofi: the node's memory file, or the servers' addresses, were not given");
		return -EINVAL;
	}
	struct ofi *o = calloc(1, sizeof(*o) + config->nodes * sizeof(o->link[0]));
	if (!o) {
		tw_log("transport ofi: out of memory");
		return -ENOMEM;
	}
	int error = tw_net_map(config, config->node, &net->base);
	if (error) {
		free(o);
		return error;
	}
	net->priv = o;
	o->upcalls = &open_upcalls;
	o->spin = ofi_spin_new(config->spin_ns);
	o->self = ofi_mailbox(net, config->port);
	error = ofi_port_open(&o->port, config, OFI_SENDS_MORE + config->nodes, OFI_SIGNALS_MORE + config->nodes,
	                      OFI_RECEIVES_MORE + 3 * config->nodes, OFI_TRANSFERS_MOST,
	                      config->nodes * (1 + OFI_LANES * config->ports));
	if (error) {
		munmap(net->base, config->bytes);
		free(o);
		return error;
	}
	error = open_handshakes(net);
	if (!error)
		error = ofi_peers_open(net);
	if (error)
		open_release(net);
	return error;
}

void ofi_close(struct tw_net *net)
{
	struct ofi *o = net->priv;

	for (unsigned node = 0; node < net->config.nodes; node++)
		if (!ofi_own(net, node))
			ofi_close_batch(net, node, true);
	for (unsigned node = 0; node < net->config.nodes; node++)
		ofi_wait(net, node, &o->link[node].answered, o->link[node].sent);
	ofi_peers_leave(net);
	open_release(net);
}
