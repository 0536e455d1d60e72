/* SPDX-License-Identifier: BSD-3-Clause */
/* ofi_open.c - an endpoint greets every node's server, and takes leave of them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

#include "net/map.h"
#include "net/ofi_endpoint.h"

#define OFI_SENDS_MORE    16u          /* than open batches */
#define OFI_RECEIVES_MORE 16u          /* than three answers of each node */
#define OFI_HELLO_NS      10000000000u /* until a server has answered */

static int ofi_greet(struct tw_net *net, unsigned node)
{
	struct ofi *o = net->priv;
	struct ofi_peer *peer = &o->peer[node];
	struct ofi_buffer *buffer = ofi_idle(net, node, &o->port.sends);

	struct ofi_hello *hello = (void *)buffer->head;
	uint16_t address = o->port.address.len;

	int error = ofi_port_peer(&o->port, &net->config.address[node], &peer->to);

	if (!error && getrandom(&peer->hello, sizeof(peer->hello), 0) != sizeof(peer->hello))
		error = -errno;
	if (error == -EMFILE)
		tw_log("transport ofi: no descriptor is left for a connection to node %u; 'ulimit -n' allows more",
		       node);
	else if (error)
		tw_log("transport ofi: the address of node %u is none of provider %s's", node,
		       o->port.info->fabric_attr->prov_name);
	if (error)
		return -EINVAL;
	hello->head = (struct ofi_head){.number = peer->hello,
	                                .bytes = (uint16_t)(offsetof(struct ofi_hello, address) + address),
	                                .kind = OFI_HELLO,
	                                .node = (uint16_t)net->config.node,
	                                .port = (uint8_t)net->config.port};
	hello->server = node;
	memcpy(hello->address, o->port.address.bytes, address);
	ofi_prove(net->config.secret, &hello->head);
	ofi_give(net, node, buffer, true);
	return 0;
}

/* Greet every server, and wait until all have answered. */
static int ofi_greet_all(struct tw_net *net)
{
	struct ofi *o = net->priv;
	uint64_t until = tw_time_ns() + OFI_HELLO_NS;
	int error;

	for (unsigned node = 0; node < net->config.nodes; node++)
		if (!ofi_own(net, node) && (error = ofi_greet(net, node)))
			return error;
	for (unsigned node = 0; node < net->config.nodes; node++) {
		while (!ofi_own(net, node) && !o->peer[node].session) {
			if (ofi_advance(net))
				continue;
			if (tw_time_ns() > until || o->peer[node].broken) {
				tw_log("the server of %s does not answer; has it the same job's secret?",
				       tw_log_node(node));
				return -EHOSTUNREACH;
			}
			ofi_sleep(&o->port, -1, 10000000);
		}
	}
	return 0;
}

static void ofi_release(struct tw_net *net)
{
	struct ofi *o = net->priv;

	ofi_port_close(&o->port);
	munmap(net->base, net->config.bytes);
	free(o->mates);
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
	struct ofi *o = calloc(1, sizeof(*o) + config->nodes * sizeof(o->peer[0]));
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
	o->spin = ofi_spin_new(config->spin_ns);
	o->self = ofi_mailbox(net, config->port);
	error = ofi_port_open(&o->port, config, OFI_SENDS_MORE + config->nodes, OFI_TELLS_MORE + config->nodes,
	                      OFI_RECEIVES_MORE + 3 * config->nodes, OFI_TRANSFERS_MOST,
	                      config->nodes * (1 + OFI_LANES * config->ports));
	if (error) {
		munmap(net->base, config->bytes);
		free(o);
		return error;
	}
	error = ofi_greet_all(net);
	if (!error)
		error = ofi_mates_open(net);
	if (error)
		ofi_release(net);
	return error;
}

void ofi_close(struct tw_net *net)
{
	struct ofi *o = net->priv;

	for (unsigned node = 0; node < net->config.nodes; node++)
		if (!ofi_own(net, node))
			ofi_close_batch(net, node, true);
	for (unsigned node = 0; node < net->config.nodes; node++)
		ofi_wait(net, node, &o->peer[node].answered, o->peer[node].sent);
	ofi_mates_leave(net);
	ofi_release(net);
}
