/* SPDX-License-Identifier: BSD-3-Clause */
/* verbs_open.c - an endpoint opens: a connection to every node's server; and closes. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/base/fd.h"
#include "net/map.h"
#include "net/verbs/verbs_endpoint.h"

#define OPEN_RESOLVE_MS  5000
#define OPEN_ACK_TIMEOUT 17 /* 0.5 s until a request without an answer is sent again */
#define OPEN_RETRIES     6  /* 7 means no limit to Soft-RoCE */
#define OPEN_READS       16u
#define OPEN_RING_LEAST  ((size_t)32 << 10)
#define OPEN_RING_MOST   ((size_t)256 << 10)
#define OPEN_RINGS       ((size_t)8 << 20) /* of all nodes together, unless a node's ring would be below the least */
#define CLOSE_NS         ((uint64_t)5000000000)

static int open_failed(unsigned node, const char *what, int error)
{
	tw_log("transport verbs: cannot connect to node %u: %s: %s", node, what, strerror(error));
	return -error;
}

/* The next event of this endpoint's connections, which must be @wanted; private data of at most @bytes go to @data. */
static int open_expect(struct verbs *v, unsigned node, enum rdma_cm_event_type wanted, void *data, size_t bytes)
{
	struct rdma_cm_event *event;

	if (verbs.rdma_get_cm_event(v->events, &event) < 0)
		return open_failed(node, "no event comes", errno);
	enum rdma_cm_event_type type = event->event;
	bool enough = event->param.conn.private_data_len >= bytes;

	if (type == wanted && bytes && enough)
		memcpy(data, event->param.conn.private_data, bytes);
	verbs.rdma_ack_cm_event(event);
	if (type == RDMA_CM_EVENT_REJECTED) {
		tw_log("transport verbs: node %u refuses the connection: it serves another job, or this endpoint is "
		       "connected",
		       node);
		return -EACCES;
	}
	if (type != wanted || !enough) {
		tw_log("transport verbs: cannot connect to node %u: %s instead of %s", node, verbs.rdma_event_str(type),
		       verbs.rdma_event_str(wanted));
		return -ECONNREFUSED;
	}
	return 0;
}

/* Move a descriptor that the libraries opened to Tweed's range; they read its number from these structures. */
static int open_keep(int *fd)
{
	*fd = tw_fd_keep(*fd);
	return *fd < 0 ? -errno : 0;
}

/* Resources of all connections, on the device of the first one. */
static int open_resources(struct tw_net *net, struct ibv_context *device)
{
	struct verbs *v = net->priv;
	struct ibv_device_attr attr;
	unsigned nodes = net->config.nodes;
	size_t bytes = nodes * v->ring_bytes;

	if (verbs.ibv_query_device(device, &attr) != 0)
		return open_failed(0, "the device does not say what it can do", errno);
	v->coherent = attr.atomic_cap == IBV_ATOMIC_GLOB;
	v->reads = TW_MIN(OPEN_READS, (uint32_t)TW_MAX(attr.max_qp_init_rd_atom, 1));
	v->depth = TW_MIN(VERBS_DEPTH, (uint32_t)TW_MIN(attr.max_qp_wr, attr.max_cqe / (int)nodes));
	v->inline_bytes = VERBS_INLINE;
	v->slots = calloc((size_t)nodes * v->depth, sizeof(*v->slots));
	if (v->depth < 2 * VERBS_BATCH || !v->slots) {
		tw_log("transport verbs: the device %s is too small for %u nodes",
		       verbs.ibv_get_device_name(device->device), nodes);
		return -ENOMEM;
	}
	if (!(v->pd = verbs.ibv_alloc_pd(device)) || !(v->channel = verbs.ibv_create_comp_channel(device)) ||
	    !(v->cq = verbs.ibv_create_cq(device, (int)(nodes * v->depth), NULL, v->channel, 0)) ||
	    !(v->rings = (verbs.ibv_reg_mr)(v->pd, v->ring, bytes, IBV_ACCESS_LOCAL_WRITE))) {
		int error = errno;

		tw_log("transport verbs: cannot set up an endpoint with %zu KiB of pinned memory on %s: %s; raise the "
		       "limit of "
		       "locked memory (ulimit -l)",
		       bytes >> 10, verbs.ibv_get_device_name(device->device), strerror(error));
		return -error;
	}
	int error;
	if ((error = open_keep(&device->cmd_fd)) || (error = open_keep(&device->async_fd)) ||
	    (error = open_keep(&v->channel->fd)))
		return open_failed(0, "no descriptors are left", -error);
	return 0;
}

/* A queue pair, with as much inline data as the device allows. */
static int open_queue(struct tw_net *net, unsigned node)
{
	struct verbs *v = net->priv;
	struct verbs_peer *p = &v->peer[node];

	if (!v->pd) {
		int error = open_resources(net, p->id->verbs);

		if (error)
			return error;
	}
	p->slot = v->slots + (size_t)node * v->depth;
	if (v->pd->context != p->id->verbs) {
		tw_log("transport verbs: node %u is reached by another device than node 0; name one network with "
		       "TWEED_NET_INTERFACE",
		       node);
		return -EINVAL;
	}
	for (;;) {
		struct ibv_qp_init_attr init = {.send_cq = v->cq,
		                                .recv_cq = v->cq,
		                                .cap = {.max_send_wr = v->depth,
		                                        .max_recv_wr = 1,
		                                        .max_send_sge = 1,
		                                        .max_recv_sge = 1,
		                                        .max_inline_data = v->inline_bytes},
		                                .qp_type = IBV_QPT_RC};

		if (verbs.rdma_create_qp(p->id, v->pd, &init) == 0)
			return 0;
		if (v->inline_bytes == 0)
			return open_failed(node, "no queue pair", errno);
		v->inline_bytes /= 2;
	}
}

static int open_handshake(struct tw_net *net, unsigned node, const struct verbs_address *server)
{
	const struct tw_net_config *config = &net->config;
	struct verbs *v = net->priv;
	struct verbs_peer *p = &v->peer[node];
	struct verbs_handshake handshake;
	struct verbs_welcome welcome;
	uint8_t answer[sizeof(welcome)];
	struct rdma_conn_param param = {.private_data = &handshake,
	                                .private_data_len = sizeof(handshake),
	                                .initiator_depth = (uint8_t)v->reads,
	                                .retry_count = OPEN_RETRIES,
	                                .rnr_retry_count = 7};

	verbs_handshake_write(&handshake, config, node, server->nonce, tw_time_ns());
	if (verbs.rdma_connect(p->id, &param) < 0)
		return open_failed(node, "no connection", errno);
	int error = open_expect(v, node, RDMA_CM_EVENT_ESTABLISHED, answer, sizeof(answer));
	if (error)
		return error;
	if (!verbs_welcome_read(&welcome, config, server->nonce, &handshake, answer, sizeof(answer))) {
		tw_log("transport verbs: the server that answers for node %u does not hold the job's secret", node);
		return -EACCES;
	}
	p->base = welcome.base;
	p->rkey = welcome.rkey;
	return 0;
}

static int open_address(const struct tw_net_config *config, unsigned node, struct verbs_address *server)
{
	if (verbs_address_read(server, &config->address[node]))
		return 0;
	tw_log("transport verbs: node %u has no address for it", node);
	return -EINVAL;
}

/* Connect to @node's server, from the address at which the own node's server listens. */
static int open_peer(struct tw_net *net, unsigned node)
{
	const uint8_t timeout = OPEN_ACK_TIMEOUT;
	struct verbs *v = net->priv;
	struct verbs_peer *p = &v->peer[node];
	struct verbs_address server, own;
	struct sockaddr_storage to, from;
	int error;

	p->ring = v->ring + node * v->ring_bytes;
	if ((error = open_address(&net->config, node, &server)) ||
	    (error = open_address(&net->config, net->config.node, &own)))
		return error;
	if (server.family != own.family) {
		tw_log("transport verbs: node %u is reached by %s, but node %u by %s; name a network of all nodes with "
		       "TWEED_NET_INTERFACE",
		       node, server.family == AF_INET ? "IPv4" : "IPv6", net->config.node,
		       own.family == AF_INET ? "IPv4" : "IPv6");
		return -EINVAL;
	}
	verbs_sockaddr(&server, server.port, &to);
	verbs_sockaddr(&own, 0, &from);
	if (verbs.rdma_create_id(v->events, &p->id, p, RDMA_PS_TCP) < 0)
		return open_failed(node, "no connection identifier", errno);
	if (verbs.rdma_resolve_addr(p->id, (struct sockaddr *)&from, (struct sockaddr *)&to, OPEN_RESOLVE_MS) < 0)
		return open_failed(node, "no way to its address", errno);
	if ((error = open_expect(v, node, RDMA_CM_EVENT_ADDR_RESOLVED, NULL, 0)))
		return error;
	/* Older kernels have no such option; then the loss of a node is noticed later. */
	verbs.rdma_set_option(p->id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, (void *)(uintptr_t)&timeout,
	                      sizeof(timeout));
	if (verbs.rdma_resolve_route(p->id, OPEN_RESOLVE_MS) < 0)
		return open_failed(node, "no route", errno);
	if ((error = open_expect(v, node, RDMA_CM_EVENT_ROUTE_RESOLVED, NULL, 0)) || (error = open_queue(net, node)))
		return error;
	return open_handshake(net, node, &server);
}

static void open_undo(struct tw_net *net)
{
	struct verbs *v = net->priv;

	for (unsigned node = 0; node < net->config.nodes; node++) {
		struct rdma_cm_id *id = v->peer[node].id;

		if (!id)
			continue;
		if (id->qp)
			verbs.rdma_destroy_qp(id);
		verbs.rdma_destroy_id(id);
	}
	if (v->rings)
		verbs.ibv_dereg_mr(v->rings);
	if (v->cq)
		verbs.ibv_destroy_cq(v->cq);
	if (v->channel)
		verbs.ibv_destroy_comp_channel(v->channel);
	if (v->pd)
		verbs.ibv_dealloc_pd(v->pd);
	if (v->events)
		verbs.rdma_destroy_event_channel(v->events);
	if (v->ring)
		munmap(v->ring, net->config.nodes * v->ring_bytes);
	if (net->base)
		munmap(net->base, net->config.bytes);
	net->base = NULL;
	free(v->slots);
	free(v);
	net->priv = NULL;
}

static struct verbs *open_create(const struct tw_net_config *config)
{
	struct verbs *v = calloc(1, sizeof(*v) + config->nodes * sizeof(v->peer[0]));

	if (!v)
		return NULL;
	v->read_first = UINT_MAX;
	v->ring_bytes = OPEN_RING_MOST;
	while (v->ring_bytes > OPEN_RING_LEAST && v->ring_bytes * config->nodes > OPEN_RINGS)
		v->ring_bytes /= 2;
	v->chunk_bytes = v->ring_bytes / 8;
	v->ring = mmap(NULL, config->nodes * v->ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (v->ring == MAP_FAILED) {
		free(v);
		return NULL;
	}
	return v;
}

int verbs_open(struct tw_net *net)
{
	const struct tw_net_config *config = &net->config;
	char why[128];
	int error = verbs_load(why, sizeof(why));

	if (error) {
		tw_log("transport verbs: %s", why);
		return error;
	}
	if (!config->fd || !config->address) {
		tw_log("transport verbs: no memory file or no addresses of servers were given");
		return -EINVAL;
	}
	struct verbs *v = open_create(config);
	if (!v) {
		tw_log("transport verbs: out of memory");
		return -ENOMEM;
	}
	net->priv = v;
	error = tw_net_map(config, config->node, &net->base);
	if (!error && !(v->events = verbs.rdma_create_event_channel())) {
		error = -errno;
		tw_log("transport verbs: cannot use the RDMA connection manager: %s; load the module rdma_ucm",
		       strerror(errno));
	}
	if (!error)
		error = open_keep(&v->events->fd);
	for (unsigned node = 0; !error && node < config->nodes; node++)
		error = open_peer(net, node);
	if (error) {
		open_undo(net);
		return error;
	}
	v->self = tw_mailbox_of(config, net->base, config->port);
	return 0;
}

/* ---- closing ---- */

/* Handle the events of connections that ended; wait up to @timeout_ms for the first one. */
static void close_events(struct verbs *v, int timeout_ms)
{
	struct pollfd poller = {v->events->fd, POLLIN, 0};
	struct rdma_cm_event *event;

	while (poll(&poller, 1, timeout_ms) > 0 && verbs.rdma_get_cm_event(v->events, &event) == 0) {
		if (event->event == RDMA_CM_EVENT_DISCONNECTED)
			((struct verbs_peer *)event->id->context)->lost = true;
		verbs.rdma_ack_cm_event(event);
		timeout_ms = 0;
	}
}

/* Until all requests to nodes that are still there are performed. */
static void close_settle(struct tw_net *net, uint64_t until_ns)
{
	struct verbs *v = net->priv;
	unsigned nodes = net->config.nodes, left = 1;

	close_events(v, 0);
	for (unsigned node = 0; node < nodes; node++)
		if (!v->peer[node].lost && v->peer[node].settled < v->peer[node].queued)
			verbs_behind(net, node);
	while (left && tw_time_ns() < until_ns) {
		left = 0;
		if (!verbs_poll(v))
			close_events(v, 1);
		for (unsigned node = 0; node < nodes; node++)
			left += !v->peer[node].lost && v->peer[node].settled < v->peer[node].queued;
	}
}

void verbs_close(struct tw_net *net)
{
	struct verbs *v = net->priv;
	uint64_t until = tw_time_ns() + CLOSE_NS;
	unsigned nodes = net->config.nodes, left = 1;

	v->closing = true;
	close_settle(net, until);
	for (unsigned node = 0; node < nodes; node++)
		verbs.rdma_disconnect(v->peer[node].id);
	while (left && tw_time_ns() < until) {
		left = 0;
		for (unsigned node = 0; node < nodes; node++)
			left += !v->peer[node].lost;
		if (left)
			close_events(v, 10);
	}
	open_undo(net);
}
