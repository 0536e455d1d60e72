/* SPDX-License-Identifier: BSD-3-Clause */
/* verbs_server.c - a node's server under verbs: registers the node's memory for remote access, once; accepts the
 * endpoints that hold the secret; and passes on their messages and notifies (net/verbs/verbs_inbox.h).  Reads, writes
 * and atomics are executed by the device.
 *
 * Messages of all connections land in the buffers of one shared receive queue.  The receive completion of a send says
 * that the writes before it on its connection are in memory (InfiniBand specification, section 9.5: a responder
 * executes in the order of arrival), so putting the message into a mailbox then keeps "after the writes before it".  A
 * buffer whose mailbox is full stays where it is, in its port's list; when all buffers stay, the device makes the
 * senders wait (receiver not ready), which is the back-pressure. */
#include "net/verbs/verbs.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include "net/interface.h"
#include "net/map.h"
#include "net/verbs/verbs_inbox.h"

#define SERVER_READS     16u     /* reads and atomics in flight on one connection */
#define SERVER_RNR_TIMER 12      /* a sender without a buffer tries again after 0.64 ms */
#define SERVER_RETRY_NS  100000u /* full mailboxes are tried again after that time */
#define SERVER_SPINS     10u /* so many times spin_ns, while messages arrive, until events of connections are handled */
#define SERVER_POLLS     16u /* between two reads of the clock */

struct server_connection {
	struct rdma_cm_id *id; /* NULL: none */
	uint64_t number;       /* of the last connection */
};

struct tw_net_server {
	struct tw_net_config config;
	char *base;
	struct rdma_event_channel *events;
	struct rdma_cm_id *listener;
	struct ibv_device_attr device;
	struct ibv_pd *pd;
	struct ibv_mr *memory, *buffers;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct verbs_inbox inbox;
	struct server_connection *connection; /* [nodes * ports] */
	uint8_t nonce[VERBS_NONCE_BYTES];
	uint64_t connections, refused; /* counted for tw_net_counts */
	_Atomic uint32_t leaving;      /* an endpoint that is to be shut out, + 1; 0: none */
	_Atomic bool stopping;
	int stop; /* eventfd that wakes the thread */
	bool running;
	pthread_t thread;
};

/* ---- messages ---- */

static void server_post(struct tw_net_server *s, uint32_t buffer)
{
	struct ibv_sge sge = {.addr = (uintptr_t)verbs_inbox_buffer(&s->inbox, buffer),
	                      .length = VERBS_BUFFER_BYTES,
	                      .lkey = s->buffers->lkey};
	struct ibv_recv_wr wr = {.wr_id = buffer, .sg_list = &sge, .num_sge = 1}, *bad;
	int error = ibv_post_srq_recv(s->srq, &wr, &bad);

	if (error)
		tw_fatal("transport verbs: cannot post a receive buffer: %s", strerror(error));
}

static void server_received(struct tw_net_server *s, const struct ibv_wc *wc)
{
	uint32_t buffer = (uint32_t)wc->wr_id;
	bool sent = wc->status == IBV_WC_SUCCESS && (wc->wc_flags & IBV_WC_WITH_IMM);

	s->inbox.damaged += !sent;
	if (!sent || verbs_inbox_received(&s->inbox, buffer, ntohl(wc->imm_data), wc->byte_len))
		server_post(s, buffer);
}

static void server_retry(struct tw_net_server *s)
{
	for (uint32_t buffer; (buffer = verbs_inbox_retry(&s->inbox)) != VERBS_NONE;)
		server_post(s, buffer);
}

static bool server_receive(struct tw_net_server *s)
{
	struct ibv_wc wc[16];
	int n, all = 0;

	while ((n = ibv_poll_cq(s->cq, 16, wc)) > 0) {
		for (int i = 0; i < n; i++)
			server_received(s, &wc[i]);
		all += n;
	}
	return all > 0;
}

/* Pass messages on until none has arrived for as long as waits spin; not for long if they keep arriving, because
 * connections wait. */
static void server_spin(struct tw_net_server *s)
{
	uint64_t spin = s->config.spin_ns, begun = spin ? tw_time_ns() : 0, now = begun, until = begun + spin;

	server_receive(s);
	while (now < until && now < begun + SERVER_SPINS * spin && !s->inbox.kept) {
		for (unsigned i = 0; i < SERVER_POLLS; i++) {
			if (server_receive(s))
				until = now + spin;
			tw_pause();
		}
		now = tw_time_ns();
	}
}

/* Messages have arrived: pass them on first, because endpoints wait for them; then take the event, arm the next one,
 * and handle messages that arrived before that. */
static void server_wake(struct tw_net_server *s)
{
	struct ibv_cq *cq;
	void *context;

	server_spin(s);
	if (verbs.ibv_get_cq_event(s->channel, &cq, &context) == 0)
		verbs.ibv_ack_cq_events(cq, 1);
	ibv_req_notify_cq(s->cq, 0);
	server_receive(s);
}

/* ---- connections ---- */

static void server_forget(struct server_connection *c)
{
	verbs.rdma_destroy_qp(c->id);
	verbs.rdma_destroy_id(c->id);
	c->id = NULL;
}

/* The connection for @handshake; NULL: it is refused. */
static struct server_connection *server_admit(struct tw_net_server *s, const struct verbs_handshake *handshake)
{
	struct server_connection *c = &s->connection[handshake->node * s->config.ports + handshake->port];

	if (c->id || handshake->number <= c->number)
		return NULL;
	c->number = handshake->number;
	return c;
}

static int server_accept(struct tw_net_server *s, struct rdma_cm_id *id, const struct verbs_handshake *handshake,
                         unsigned reads)
{
	struct ibv_qp_init_attr init = {.send_cq = s->cq,
	                                .recv_cq = s->cq,
	                                .srq = s->srq,
	                                .cap = {.max_send_wr = 1, .max_send_sge = 1},
	                                .qp_type = IBV_QPT_RC};
	struct verbs_welcome welcome;
	struct rdma_conn_param param = {.private_data = &welcome,
	                                .private_data_len = sizeof(welcome),
	                                .responder_resources = (uint8_t)TW_MIN(reads, SERVER_READS),
	                                .rnr_retry_count = 7};
	struct ibv_qp_attr timer = {.min_rnr_timer = SERVER_RNR_TIMER};

	verbs_welcome_write(&welcome, &s->config, s->nonce, handshake, (uintptr_t)s->base, s->memory->rkey);
	if (verbs.rdma_create_qp(id, s->pd, &init) < 0)
		return -errno;
	if (verbs.rdma_accept(id, &param) < 0 || verbs.ibv_modify_qp(id->qp, &timer, IBV_QP_MIN_RNR_TIMER) != 0) {
		int error = errno;

		verbs.rdma_destroy_qp(id);
		return -error;
	}
	return 0;
}

static void server_request(struct tw_net_server *s, struct rdma_cm_id *id, const struct verbs_handshake *handshake,
                           unsigned reads)
{
	struct server_connection *c = handshake ? server_admit(s, handshake) : NULL;
	int error = 0;

	if (c && id->verbs == s->listener->verbs && (error = server_accept(s, id, handshake, reads)) == 0) {
		id->context = c;
		c->id = id;
		s->connections++;
		return;
	}
	if (error)
		tw_log("transport verbs: cannot accept the connection of %u.%u: %s", handshake->node, handshake->port,
		       strerror(-error));
	s->refused++;
	verbs.rdma_reject(id, NULL, 0);
	verbs.rdma_destroy_id(id);
}

static void server_event(struct tw_net_server *s)
{
	struct rdma_cm_event *event;
	struct verbs_handshake handshake;

	if (verbs.rdma_get_cm_event(s->events, &event) < 0)
		return;
	enum rdma_cm_event_type type = event->event;
	struct rdma_cm_id *id = event->id;
	unsigned reads = event->param.conn.responder_resources;
	bool proven = type == RDMA_CM_EVENT_CONNECT_REQUEST &&
	              verbs_handshake_read(&handshake, &s->config, s->nonce, event->param.conn.private_data,
	                                   event->param.conn.private_data_len);

	verbs.rdma_ack_cm_event(event);
	switch (type) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		server_request(s, id, proven ? &handshake : NULL, reads);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		server_receive(s); /* messages from before the end */
		verbs.rdma_disconnect(id);
		server_forget(id->context);
		break;
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
		server_forget(id->context);
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		tw_fatal("transport verbs: the device %s has been removed",
		         verbs.ibv_get_device_name(id->verbs->device));
	default:
		break;
	}
}

static void server_shut_out(struct tw_net_server *s, struct server_connection *c)
{
	eventfd_t woken;

	eventfd_read(s->stop, &woken);
	server_receive(s); /* messages from before the end */
	if (c->id) {
		verbs.rdma_disconnect(c->id);
		server_forget(c);
	}
	c->number = UINT64_MAX;
	atomic_store(&s->leaving, 0);
	tw_futex_wake(&s->leaving, 1);
}

static void *server_run(void *arg)
{
	struct tw_net_server *s = arg;
	const struct timespec retry = {.tv_nsec = SERVER_RETRY_NS};
	struct pollfd poller[3] = {{s->events->fd, POLLIN, 0}, {s->channel->fd, POLLIN, 0}, {s->stop, POLLIN, 0}};

	while (!atomic_load(&s->stopping)) {
		if (ppoll(poller, 3, s->inbox.kept ? &retry : NULL, NULL) < 0)
			continue;
		if (atomic_load(&s->leaving))
			server_shut_out(s, &s->connection[atomic_load(&s->leaving) - 1]);
		if (poller[1].revents)
			server_wake(s);
		if (s->inbox.kept)
			server_retry(s);
		if (poller[0].revents)
			server_event(s);
	}
	return NULL;
}

/* ---- starting ---- */

/* Listen at @address, if it is an RDMA device's that the settings allow; else s->listener stays NULL. */
static void server_bind(struct tw_net_server *s, const struct ifaddrs *address)
{
	const char *wanted = s->config.device ? s->config.device : "", *colon = strchr(wanted, ':');
	size_t length = colon ? (size_t)(colon - wanted) : strlen(wanted);

	if (verbs.rdma_create_id(s->events, &s->listener, NULL, RDMA_PS_TCP) < 0)
		return;
	if (verbs.rdma_bind_addr(s->listener, address->ifa_addr) == 0 && s->listener->verbs) {
		const char *name = verbs.ibv_get_device_name(s->listener->verbs->device);

		if (!*wanted || (strlen(name) == length && memcmp(name, wanted, length) == 0 &&
		                 (!colon || atoi(colon + 1) == s->listener->port_num)))
			return;
	}
	verbs.rdma_destroy_id(s->listener);
	s->listener = NULL;
}

static int server_listen(struct tw_net_server *s, struct tw_net_address *own)
{
	static const int families[] = {AF_INET, AF_INET6};
	const char *interface = s->config.interface, *device = s->config.device;
	struct ifaddrs *list;

	if (getifaddrs(&list) < 0)
		return -errno;
	for (unsigned f = 0; f < 2 && !s->listener; f++)
		for (const struct ifaddrs *a = list; a && !s->listener; a = a->ifa_next)
			if (tw_interface_fits(a, interface) && a->ifa_addr->sa_family == families[f])
				server_bind(s, a);
	freeifaddrs(list);
	if (!s->listener) {
		tw_log(
		    "transport verbs: no RDMA device%s%s has an IP address%s%s here; see 'rdma link' and 'ip address', "
		    "set TWEED_NET_INTERFACE and TWEED_NET_DEVICE to fit",
		    device && *device ? " called " : "", device ? device : "", interface && *interface ? " at " : "",
		    interface ? interface : "");
		return -ENODEV;
	}
	if (verbs.rdma_listen(s->listener, 1024) < 0) {
		int error = errno;

		tw_log("transport verbs: cannot listen: %s", strerror(error));
		return -error;
	}
	verbs_address_write(own, rdma_get_local_addr(s->listener), s->nonce);
	return 0;
}

/* Can the device fetch pages on access, for all operations of endpoints? */
static bool server_on_demand(const struct tw_net_server *s)
{
	const uint32_t all = IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_ATOMIC;
	struct verbs_context *context = verbs_get_ctx(s->listener->verbs);
	struct ibv_device_attr_ex attr = {.comp_mask = 0};

	return context && context->sz >= sizeof(*context) - offsetof(struct verbs_context, query_device_ex) &&
	       context->query_device_ex &&
	       context->query_device_ex(s->listener->verbs, NULL, &attr, sizeof(attr)) == 0 &&
	       (attr.odp_caps.general_caps & IBV_ODP_SUPPORT) &&
	       (attr.odp_caps.per_transport_caps.rc_odp_caps & all) == all;
}

/* Memory that could become resident without swapping; 0: the kernel does not say. */
static size_t server_available_bytes(void)
{
	char line[128];
	unsigned long kb = 0;
	FILE *f = fopen("/proc/meminfo", "re");

	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "MemAvailable: %lu kB", &kb) == 1)
			break;
	fclose(f);
	return (size_t)kb << 10;
}

static int server_register(struct tw_net_server *s)
{
	const int access =
	    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	const char *device = verbs.ibv_get_device_name(s->listener->verbs->device);
	size_t bytes = s->config.bytes, available = server_available_bytes();
	struct rlimit locked = {0, 0};

	if (server_on_demand(s) &&
	    (s->memory = (verbs.ibv_reg_mr)(s->pd, s->base, bytes, access | IBV_ACCESS_ON_DEMAND)))
		return 0;
	if (available && bytes > available) {
		tw_log("transport verbs: the device %s keeps all exported memory resident, which is %zu MiB on node "
		       "%u, but only "
		       "%zu MiB are available; lower TWEED_MEMORY",
		       device, bytes >> 20, s->config.node, available >> 20);
		return -ENOMEM;
	}
	s->memory = (verbs.ibv_reg_mr)(s->pd, s->base, bytes, access);
	if (s->memory)
		return 0;
	int error = errno;
	getrlimit(RLIMIT_MEMLOCK, &locked);
	tw_log("transport verbs: the device %s cannot keep the %zu MiB resident that node %u exports: %s; lower "
	       "TWEED_MEMORY, or "
	       "raise the limit of locked memory, now %zu KiB (ulimit -l)",
	       device, bytes >> 20, s->config.node, strerror(error), (size_t)locked.rlim_cur >> 10);
	return -error;
}

static int server_resources(struct tw_net_server *s)
{
	struct ibv_context *device = s->listener->verbs;
	struct ibv_srq_init_attr init = {.attr = {.max_sge = 1}};

	if (verbs.ibv_query_device(device, &s->device) != 0)
		return -errno;
	if (s->device.atomic_cap == IBV_ATOMIC_NONE) {
		tw_log("transport verbs: the device %s has no atomic operations; choose another with TWEED_NET_DEVICE",
		       verbs.ibv_get_device_name(device->device));
		return -ENOTSUP;
	}
	unsigned buffers = TW_MIN(VERBS_BUFFERS, (unsigned)TW_MIN(s->device.max_srq_wr, s->device.max_cqe - 1));
	int error = verbs_inbox_init(&s->inbox, &s->config, s->base, buffers);
	if (error) {
		tw_log("transport verbs: no memory for %u receive buffers of node %u: %s", buffers, s->config.node,
		       strerror(-error));
		return error;
	}
	init.attr.max_wr = buffers;
	if (!(s->pd = verbs.ibv_alloc_pd(device)) || !(s->channel = verbs.ibv_create_comp_channel(device)) ||
	    !(s->cq = verbs.ibv_create_cq(device, (int)buffers, NULL, s->channel, 0)) ||
	    !(s->srq = verbs.ibv_create_srq(s->pd, &init)) ||
	    !(s->buffers = (verbs.ibv_reg_mr)(s->pd, s->inbox.buffer, (size_t)buffers * VERBS_BUFFER_BYTES,
	                                      IBV_ACCESS_LOCAL_WRITE))) {
		error = errno;
		tw_log("transport verbs: cannot set up the server of node %u on %s: %s", s->config.node,
		       verbs.ibv_get_device_name(device->device), strerror(error));
		return -error;
	}
	for (uint32_t i = 0; i < buffers; i++)
		server_post(s, i);
	fcntl(s->channel->fd, F_SETFL, fcntl(s->channel->fd, F_GETFL) | O_NONBLOCK);
	fcntl(s->events->fd, F_SETFL, fcntl(s->events->fd, F_GETFL) | O_NONBLOCK);
	ibv_req_notify_cq(s->cq, 0);
	return 0;
}

static int server_start(struct tw_net_server *s)
{
	sigset_t all, old;

	s->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->stop < 0)
		return -errno;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	int error = pthread_create(&s->thread, NULL, server_run, s);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	s->running = error == 0;
	if (error)
		tw_log("transport verbs: cannot start the server's thread: %s", strerror(error));
	return -error;
}

static struct tw_net_server *server_create(const struct tw_net_config *config)
{
	struct tw_net_server *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->config = *config;
	s->stop = -1;
	s->connection = calloc((size_t)config->nodes * config->ports, sizeof(*s->connection));
	if (s->connection)
		return s;
	free(s);
	return NULL;
}

int verbs_serve(const struct tw_net_config *config, struct tw_net_server **server, struct tw_net_address *own)
{
	char why[128];
	int error = verbs_load(why, sizeof(why));

	if (error) {
		tw_log("transport verbs: %s", why);
		return error;
	}
	struct tw_net_server *s = server_create(config);
	if (!s) {
		tw_log("transport verbs: out of memory");
		return -ENOMEM;
	}
	s->events = verbs.rdma_create_event_channel();
	if (!s->events || getrandom(s->nonce, sizeof(s->nonce), 0) != (ssize_t)sizeof(s->nonce)) {
		error = -errno;
		tw_log("transport verbs: cannot use the RDMA connection manager: %s; load the module rdma_ucm",
		       strerror(errno));
	}
	if (error || (error = tw_net_map(config, config->node, &s->base)) || (error = server_listen(s, own)) ||
	    (error = server_resources(s)) || (error = server_register(s)) || (error = server_start(s))) {
		verbs_serve_end(s, NULL);
		return error;
	}
	*server = s;
	return 0;
}

void verbs_shut_out(struct tw_net_server *s, unsigned node, unsigned port)
{
	uint32_t leaving = node * s->config.ports + port + 1;

	atomic_store(&s->leaving, leaving);
	eventfd_write(s->stop, 1);
	while (atomic_load(&s->leaving))
		tw_futex_wait(&s->leaving, leaving, 0);
}

void verbs_serve_end(struct tw_net_server *s, struct tw_net_counts *counts)
{
	if (s->running) {
		atomic_store(&s->stopping, true);
		eventfd_write(s->stop, 1);
		pthread_join(s->thread, NULL);
	}
	for (unsigned i = 0; s->connection && i < s->config.nodes * s->config.ports; i++) {
		if (s->connection[i].id) {
			verbs.rdma_disconnect(s->connection[i].id);
			server_forget(&s->connection[i]);
		}
	}
	if (s->memory)
		verbs.ibv_dereg_mr(s->memory);
	if (s->buffers)
		verbs.ibv_dereg_mr(s->buffers);
	if (s->srq)
		verbs.ibv_destroy_srq(s->srq);
	if (s->cq)
		verbs.ibv_destroy_cq(s->cq);
	if (s->channel)
		verbs.ibv_destroy_comp_channel(s->channel);
	if (s->pd)
		verbs.ibv_dealloc_pd(s->pd);
	if (s->listener)
		verbs.rdma_destroy_id(s->listener);
	if (s->events)
		verbs.rdma_destroy_event_channel(s->events);
	verbs_inbox_fini(&s->inbox);
	if (s->base)
		munmap(s->base, s->config.bytes);
	if (s->stop >= 0)
		close(s->stop);
	if (counts)
		*counts = (struct tw_net_counts){s->connections, s->refused, s->inbox.damaged};
	free(s->connection);
	free(s);
}
