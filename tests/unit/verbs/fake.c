/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/verbs/fake.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FAKE_LISTENERS 8
#define FAKE_ENTRIES   8192u /* of a completion queue or receive queue */

struct fake_cq {
	struct ibv_cq cq;
	bool armed;
	unsigned head, tail;
	struct ibv_wc wc[FAKE_ENTRIES];
};

struct fake_srq {
	struct ibv_srq srq;
	unsigned head, tail;
	struct {
		uint64_t id;
		struct ibv_sge sge;
	} entry[FAKE_ENTRIES];
};

struct fake_qp {
	struct ibv_qp qp;
	struct fake_qp *peer;
	unsigned inline_bytes;
};

struct fake_id {
	struct rdma_cm_id id;
	struct fake_id *peer;
	struct rdma_conn_param param;
	uint8_t data[256]; /* private data of param */
};

/* An event and its private data. */
struct fake_event {
	struct rdma_cm_event event;
	uint8_t data[256];
};

struct fake_channel {
	struct rdma_event_channel channel; /* its descriptor reads from the pipe of pointers */
	int write_fd;
};

struct fake_completions {
	struct ibv_comp_channel channel;
	int write_fd;
};

struct fake_mr {
	struct ibv_mr mr;
	int access;
	struct fake_mr *next;
};

struct fake fake;
struct verbs_lib verbs;
static struct ibv_device device = {.name = "fake0"};
static struct verbs_context context;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct fake_id *listener[FAKE_LISTENERS];
static struct fake_mr *registrations;

static void *fake_alloc(size_t bytes)
{
	void *made = calloc(1, bytes);

	TW_ASSERT(made);
	fake.alive++;
	return made;
}

static int fake_free(void *made)
{
	free(made);
	fake.alive--;
	return 0;
}

/* A pipe carries pointers, so that descriptors behave like those of the libraries. */
static void fake_push(int fd, const void *pointer)
{
	TW_ASSERT(write(fd, &pointer, sizeof(pointer)) == sizeof(pointer));
}

static void *fake_pull(int fd)
{
	void *pointer;

	return read(fd, &pointer, sizeof(pointer)) == sizeof(pointer) ? pointer : NULL;
}

/* ---- the device ---- */

static int fake_query_device(struct ibv_context *c, struct ibv_device_attr *attr)
{
	(void)c;
	*attr = (struct ibv_device_attr){.atomic_cap = fake.atomics,
	                                 .max_qp_wr = fake.requests,
	                                 .max_cqe = 1 << 16,
	                                 .max_srq_wr = 1024,
	                                 .max_qp_init_rd_atom = 16};
	return 0;
}

static int fake_query_device_ex(struct ibv_context *c, const struct ibv_query_device_ex_input *input,
                                struct ibv_device_attr_ex *attr, size_t bytes)
{
	(void)c;
	(void)input;
	TW_ASSERT(bytes == sizeof(*attr));
	if (fake.old)
		return EOPNOTSUPP;
	attr->odp_caps.general_caps = fake.on_demand ? IBV_ODP_SUPPORT : 0;
	attr->odp_caps.per_transport_caps.rc_odp_caps = fake.on_demand;
	return 0;
}

static struct ibv_device **fake_get_device_list(int *count)
{
	static struct ibv_device *list[] = {&device, NULL};

	*count = 1;
	return list;
}

static void fake_free_device_list(struct ibv_device **list)
{
	(void)list;
}

static const char *fake_get_device_name(struct ibv_device *d)
{
	return d->name;
}

static struct ibv_pd *fake_alloc_pd(struct ibv_context *c)
{
	struct ibv_pd *pd = fake_alloc(sizeof(*pd));

	pd->context = c;
	return pd;
}

static int fake_dealloc_pd(struct ibv_pd *pd)
{
	return fake_free(pd);
}

static struct ibv_mr *fake_reg_mr(struct ibv_pd *pd, void *at, size_t bytes, int access)
{
	static uint32_t key;

	if (bytes > fake.register_bytes || ((access & IBV_ACCESS_ON_DEMAND) && fake.refuse_on_demand)) {
		errno = ENOMEM;
		return NULL;
	}
	struct fake_mr *m = fake_alloc(sizeof(*m));
	m->mr = (struct ibv_mr){.context = pd->context, .pd = pd, .addr = at, .length = bytes};
	m->access = access;
	pthread_mutex_lock(&mutex);
	m->mr.lkey = m->mr.rkey = ++key;
	m->next = registrations;
	registrations = m;
	if (bytes >= fake.registered) {
		fake.registered = bytes;
		fake.access = access;
	}
	pthread_mutex_unlock(&mutex);
	return &m->mr;
}

static int fake_dereg_mr(struct ibv_mr *mr)
{
	pthread_mutex_lock(&mutex);
	struct fake_mr **link = &registrations;
	while (&(*link)->mr != mr)
		link = &(*link)->next;
	*link = (*link)->next;
	pthread_mutex_unlock(&mutex);
	return fake_free(mr);
}

/* Returns whether [@at, @at + @bytes) is registered under @key for @access. */
static bool fake_allows(uint64_t at, size_t bytes, uint32_t key, int access)
{
	for (const struct fake_mr *m = registrations; m; m = m->next)
		if (m->mr.rkey == key)
			return (m->access & access) == access && at >= (uintptr_t)m->mr.addr &&
			       at + bytes <= (uintptr_t)m->mr.addr + m->mr.length;
	return false;
}

static struct ibv_comp_channel *fake_create_comp_channel(struct ibv_context *c)
{
	struct fake_completions *f = fake_alloc(sizeof(*f));
	int fd[2];

	TW_ASSERT(pipe(fd) == 0);
	f->channel = (struct ibv_comp_channel){.context = c, .fd = fd[0]};
	f->write_fd = fd[1];
	return &f->channel;
}

static int fake_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	close(channel->fd);
	close(((struct fake_completions *)channel)->write_fd);
	return fake_free(channel);
}

static struct ibv_cq *fake_create_cq(struct ibv_context *c, int entries, void *arg, struct ibv_comp_channel *channel,
                                     int vector)
{
	struct fake_cq *f = fake_alloc(sizeof(*f));

	(void)vector;
	TW_ASSERT(entries <= (int)FAKE_ENTRIES);
	f->cq = (struct ibv_cq){.context = c, .channel = channel, .cq_context = arg, .cqe = entries};
	return &f->cq;
}

static int fake_destroy_cq(struct ibv_cq *cq)
{
	return fake_free(cq);
}

static int fake_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **arg)
{
	*cq = fake_pull(channel->fd);
	*arg = *cq ? (*cq)->cq_context : NULL;
	return *cq ? 0 : -1;
}

static void fake_ack_cq_events(struct ibv_cq *cq, unsigned count)
{
	(void)cq;
	(void)count;
}

static struct ibv_srq *fake_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *init)
{
	struct fake_srq *f = fake_alloc(sizeof(*f));

	TW_ASSERT(init->attr.max_wr <= FAKE_ENTRIES);
	f->srq = (struct ibv_srq){.context = pd->context, .pd = pd};
	return &f->srq;
}

static int fake_destroy_srq(struct ibv_srq *srq)
{
	return fake_free(srq);
}

static int fake_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	(void)qp;
	(void)attr;
	(void)mask;
	return 0;
}

static const char *fake_wc_status_str(enum ibv_wc_status status)
{
	return status == IBV_WC_RETRY_EXC_ERR ? "no answer" : "an error";
}

static int fake_fork_init(void)
{
	return 0;
}

/* ---- work ---- */

static int fake_poll_cq(struct ibv_cq *cq, int most, struct ibv_wc *wc)
{
	struct fake_cq *f = (struct fake_cq *)cq;
	int n = 0;

	pthread_mutex_lock(&mutex);
	for (; n < most && f->head != f->tail; n++)
		wc[n] = f->wc[f->head++ % FAKE_ENTRIES];
	pthread_mutex_unlock(&mutex);
	return n;
}

static int fake_req_notify_cq(struct ibv_cq *cq, int solicited)
{
	(void)solicited;
	pthread_mutex_lock(&mutex);
	((struct fake_cq *)cq)->armed = true;
	pthread_mutex_unlock(&mutex);
	return 0;
}

static void fake_complete(struct ibv_cq *cq, const struct ibv_wc *wc)
{
	struct fake_cq *f = (struct fake_cq *)cq;

	TW_ASSERT(f->tail - f->head < (unsigned)cq->cqe);
	f->wc[f->tail++ % FAKE_ENTRIES] = *wc;
	if (f->armed) {
		f->armed = false;
		fake_push(((struct fake_completions *)cq->channel)->write_fd, cq);
	}
}

static int fake_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct fake_srq *f = (struct fake_srq *)srq;

	(void)bad;
	pthread_mutex_lock(&mutex);
	TW_ASSERT(f->tail - f->head < FAKE_ENTRIES && !wr->next && wr->num_sge == 1);
	f->entry[f->tail % FAKE_ENTRIES].id = wr->wr_id;
	f->entry[f->tail++ % FAKE_ENTRIES].sge = wr->sg_list[0];
	pthread_mutex_unlock(&mutex);
	return 0;
}

static void fake_receive(struct fake_qp *to, const void *data, uint32_t bytes, uint32_t immediate)
{
	struct fake_srq *f = (struct fake_srq *)to->qp.srq;

	TW_ASSERT(f->head != f->tail);
	unsigned at = f->head++ % FAKE_ENTRIES;
	TW_ASSERT(bytes <= f->entry[at].sge.length);
	if (bytes)
		memcpy((void *)(uintptr_t)f->entry[at].sge.addr, data, bytes);
	fake_complete(to->qp.recv_cq, &(struct ibv_wc){.wr_id = f->entry[at].id,
	                                               .opcode = IBV_WC_RECV,
	                                               .byte_len = bytes,
	                                               .wc_flags = IBV_WC_WITH_IMM,
	                                               .imm_data = immediate});
}

static uint64_t fake_atomic(const struct ibv_send_wr *wr)
{
	_Atomic uint64_t *word = (_Atomic uint64_t *)(uintptr_t)wr->wr.atomic.remote_addr;
	uint64_t old = wr->wr.atomic.compare_add;

	fake.atomics_done++;
	if (wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		return atomic_fetch_add(word, wr->wr.atomic.compare_add);
	atomic_compare_exchange_strong(word, &old, wr->wr.atomic.swap);
	return old;
}

static enum ibv_wc_status fake_execute(struct fake_qp *qp, const struct ibv_send_wr *wr, struct ibv_wc *wc)
{
	size_t bytes = wr->num_sge ? wr->sg_list[0].length : 0;
	void *near = wr->num_sge ? (void *)(uintptr_t)wr->sg_list[0].addr : NULL;
	void *far = (void *)(uintptr_t)wr->wr.rdma.remote_addr;

	TW_ASSERT(!(wr->send_flags & IBV_SEND_INLINE) || bytes <= qp->inline_bytes);
	if (fake.cut || !qp->peer)
		return IBV_WC_RETRY_EXC_ERR;
	if (bytes && !(wr->send_flags & IBV_SEND_INLINE) &&
	    !fake_allows((uintptr_t)near, bytes, wr->sg_list[0].lkey, 0))
		return IBV_WC_LOC_PROT_ERR;
	switch (wr->opcode) {
	case IBV_WR_RDMA_WRITE:
		wc->opcode = IBV_WC_RDMA_WRITE;
		if (!fake_allows((uintptr_t)far, bytes, wr->wr.rdma.rkey, IBV_ACCESS_REMOTE_WRITE))
			return IBV_WC_REM_ACCESS_ERR;
		memcpy(far, near, bytes);
		break;
	case IBV_WR_RDMA_READ:
		wc->opcode = IBV_WC_RDMA_READ;
		if (!fake_allows((uintptr_t)far, bytes, wr->wr.rdma.rkey, IBV_ACCESS_REMOTE_READ))
			return IBV_WC_REM_ACCESS_ERR;
		memcpy(near, far, bytes);
		break;
	case IBV_WR_SEND_WITH_IMM:
		wc->opcode = IBV_WC_SEND;
		fake_receive(qp->peer, near, (uint32_t)bytes, wr->imm_data);
		break;
	default:
		wc->opcode = IBV_WC_FETCH_ADD;
		if (!fake_allows(wr->wr.atomic.remote_addr, 8, wr->wr.atomic.rkey, IBV_ACCESS_REMOTE_ATOMIC))
			return IBV_WC_REM_ACCESS_ERR;
		*(uint64_t *)near = fake_atomic(wr);
	}
	return IBV_WC_SUCCESS;
}

static int fake_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	(void)bad;
	pthread_mutex_lock(&mutex);
	fake.doorbells++;
	for (; wr; wr = wr->next) {
		struct ibv_wc wc = {.wr_id = wr->wr_id};

		wc.status = fake_execute((struct fake_qp *)qp, wr, &wc);
		fake.requests_done++;
		if (wc.status != IBV_WC_SUCCESS || (wr->send_flags & IBV_SEND_SIGNALED))
			fake_complete(qp->send_cq, &wc);
	}
	pthread_mutex_unlock(&mutex);
	return 0;
}

/* ---- connections ---- */

static struct rdma_event_channel *fake_create_event_channel(void)
{
	struct fake_channel *f = fake_alloc(sizeof(*f));
	int fd[2];

	TW_ASSERT(pipe(fd) == 0);
	f->channel.fd = fd[0];
	f->write_fd = fd[1];
	return &f->channel;
}

/* With the events that were not taken. */
static void fake_destroy_event_channel(struct rdma_event_channel *channel)
{
	struct rdma_cm_event *event;

	fcntl(channel->fd, F_SETFL, O_NONBLOCK);
	while ((event = fake_pull(channel->fd)))
		fake_free(event);
	close(channel->fd);
	close(((struct fake_channel *)channel)->write_fd);
	fake_free(channel);
}

static void fake_event(struct rdma_event_channel *channel, struct fake_id *id, enum rdma_cm_event_type type,
                       const struct rdma_conn_param *param)
{
	struct fake_event *e = fake_alloc(sizeof(*e));

	e->event.id = &id->id;
	e->event.event = type;
	if (param) {
		e->event.param.conn = *param;
		memcpy(e->data, param->private_data, param->private_data_len);
		e->event.param.conn.private_data = e->data;
		e->event.param.conn.responder_resources = param->initiator_depth;
	}
	fake_push(((struct fake_channel *)channel)->write_fd, e);
}

static int fake_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
	*event = fake_pull(channel->fd);
	return *event ? 0 : -1;
}

static int fake_ack_cm_event(struct rdma_cm_event *event)
{
	return fake_free(event);
}

static int fake_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *arg,
                          enum rdma_port_space space)
{
	struct fake_id *f = fake_alloc(sizeof(*f));

	f->id.channel = channel;
	f->id.context = arg;
	f->id.ps = space;
	f->id.port_num = 1;
	*id = &f->id;
	return 0;
}

/* Discard the events of an id that is gone. */
static void fake_forget_events(const struct rdma_cm_id *id)
{
	struct pollfd poller = {id->channel->fd, POLLIN, 0};
	struct rdma_cm_event *event, *kept[64];
	unsigned n = 0;

	while (n < 64 && poll(&poller, 1, 0) == 1 && (event = fake_pull(id->channel->fd))) {
		if (event->id == id)
			fake_free(event);
		else
			kept[n++] = event;
	}
	TW_ASSERT(write(((struct fake_channel *)id->channel)->write_fd, kept, n * sizeof(kept[0])) ==
	          (ssize_t)(n * sizeof(kept[0])));
}

static int fake_destroy_id(struct rdma_cm_id *id)
{
	struct fake_id *f = (struct fake_id *)id;

	fake_forget_events(id);

	pthread_mutex_lock(&mutex);
	for (unsigned i = 0; i < FAKE_LISTENERS; i++)
		if (listener[i] == f)
			listener[i] = NULL;
	if (f->peer)
		f->peer->peer = NULL;
	pthread_mutex_unlock(&mutex);
	return fake_free(f);
}

static int fake_bind_addr(struct rdma_cm_id *id, struct sockaddr *at)
{
	size_t bytes = at->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);

	memcpy(&id->route.addr.src_storage, at, bytes);
	id->verbs = &context.context;
	return 0;
}

/* At port 1 and up: the place in the table. Both address families have the port at the same place. */
static int fake_listen(struct rdma_cm_id *id, int backlog)
{
	unsigned at = 0;

	(void)backlog;
	pthread_mutex_lock(&mutex);
	while (listener[at])
		at++;
	listener[at] = (struct fake_id *)id;
	id->route.addr.src_sin.sin_port = htons((uint16_t)(at + 1));
	pthread_mutex_unlock(&mutex);
	return 0;
}

static int fake_resolve_addr(struct rdma_cm_id *id, struct sockaddr *from, struct sockaddr *to, int ms)
{
	(void)ms;
	fake_bind_addr(id, from);
	TW_ASSERT(to->sa_family == from->sa_family);
	memcpy(&id->route.addr.dst_storage, to, sizeof(struct sockaddr_in6));
	fake_event(id->channel, (struct fake_id *)id, RDMA_CM_EVENT_ADDR_RESOLVED, NULL);
	return 0;
}

static int fake_resolve_route(struct rdma_cm_id *id, int ms)
{
	(void)ms;
	fake_event(id->channel, (struct fake_id *)id, RDMA_CM_EVENT_ROUTE_RESOLVED, NULL);
	return 0;
}

static int fake_set_option(struct rdma_cm_id *id, int level, int name, void *value, size_t bytes)
{
	(void)id;
	(void)level;
	(void)name;
	(void)value;
	(void)bytes;
	return 0;
}

static int fake_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	if (init->cap.max_inline_data > fake.inline_bytes) {
		errno = EINVAL;
		return -1;
	}
	struct fake_qp *f = fake_alloc(sizeof(*f));
	f->qp = (struct ibv_qp){
	    .context = pd->context, .pd = pd, .send_cq = init->send_cq, .recv_cq = init->recv_cq, .srq = init->srq};
	f->inline_bytes = init->cap.max_inline_data;
	id->qp = &f->qp;
	return 0;
}

static void fake_destroy_qp(struct rdma_cm_id *id)
{
	struct fake_qp *f = (struct fake_qp *)id->qp;

	pthread_mutex_lock(&mutex);
	if (f->peer)
		f->peer->peer = NULL;
	pthread_mutex_unlock(&mutex);
	fake_free(f);
	id->qp = NULL;
}

static int fake_connect(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	unsigned at = ntohs(id->route.addr.dst_sin.sin_port) - 1u;
	struct rdma_cm_id *made;

	TW_ASSERT(at < FAKE_LISTENERS && listener[at]);
	struct rdma_event_channel *channel = listener[at]->id.channel;
	fake_create_id(channel, &made, NULL, id->ps);
	made->verbs = &context.context;
	((struct fake_id *)made)->peer = (struct fake_id *)id;
	((struct fake_id *)id)->peer = (struct fake_id *)made;
	fake_event(channel, (struct fake_id *)made, RDMA_CM_EVENT_CONNECT_REQUEST, param);
	return 0;
}

static int fake_accept(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	struct fake_id *peer = ((struct fake_id *)id)->peer;
	struct fake_qp *near = (struct fake_qp *)id->qp, *far = (struct fake_qp *)peer->id.qp;

	near->peer = far;
	far->peer = near;
	fake_event(peer->id.channel, peer, RDMA_CM_EVENT_ESTABLISHED, param);
	return 0;
}

static int fake_reject(struct rdma_cm_id *id, const void *data, uint8_t bytes)
{
	struct fake_id *peer = ((struct fake_id *)id)->peer;

	(void)data;
	(void)bytes;
	fake_event(peer->id.channel, peer, RDMA_CM_EVENT_REJECTED, NULL);
	return 0;
}

/* The side that disconnects gets the event as well, once. */
static int fake_disconnect(struct rdma_cm_id *id)
{
	struct fake_id *f = (struct fake_id *)id;

	pthread_mutex_lock(&mutex);
	struct fake_id *peer = f->peer;
	if (peer)
		peer->peer = f->peer = NULL;
	pthread_mutex_unlock(&mutex);
	if (peer) {
		fake_event(peer->id.channel, peer, RDMA_CM_EVENT_DISCONNECTED, NULL);
		fake_event(id->channel, f, RDMA_CM_EVENT_DISCONNECTED, NULL);
	}
	return 0;
}

static const char *fake_event_str(enum rdma_cm_event_type type)
{
	(void)type;
	return "an event";
}

/* ---- the table ---- */

/* Replaces the transport's own function, which finds the libraries: they are this file. */
int verbs_load(char *why, size_t why_bytes)
{
	(void)why;
	(void)why_bytes;
	return 0;
}

void fake_reset(void)
{
	TW_ASSERT(fake.alive == 0);
	memset(&fake, 0, sizeof(fake));
	fake.atomics = IBV_ATOMIC_HCA;
	fake.inline_bytes = fake.requests = 1024;
	fake.register_bytes = SIZE_MAX;
	context.context = (struct ibv_context){.device = &device,
	                                       .ops = {.poll_cq = fake_poll_cq,
	                                               .req_notify_cq = fake_req_notify_cq,
	                                               .post_srq_recv = fake_post_srq_recv,
	                                               .post_send = fake_post_send},
	                                       .abi_compat = __VERBS_ABI_IS_EXTENDED};
	context.sz = sizeof(context);
	context.query_device_ex = fake_query_device_ex;
	verbs = (struct verbs_lib){
	    .ibv_fork_init = fake_fork_init,
	    .ibv_get_device_list = fake_get_device_list,
	    .ibv_free_device_list = fake_free_device_list,
	    .ibv_get_device_name = fake_get_device_name,
	    .ibv_query_device = fake_query_device,
	    .ibv_alloc_pd = fake_alloc_pd,
	    .ibv_dealloc_pd = fake_dealloc_pd,
	    .ibv_reg_mr = fake_reg_mr,
	    .ibv_dereg_mr = fake_dereg_mr,
	    .ibv_create_comp_channel = fake_create_comp_channel,
	    .ibv_destroy_comp_channel = fake_destroy_comp_channel,
	    .ibv_create_cq = fake_create_cq,
	    .ibv_destroy_cq = fake_destroy_cq,
	    .ibv_get_cq_event = fake_get_cq_event,
	    .ibv_ack_cq_events = fake_ack_cq_events,
	    .ibv_create_srq = fake_create_srq,
	    .ibv_destroy_srq = fake_destroy_srq,
	    .ibv_modify_qp = fake_modify_qp,
	    .ibv_wc_status_str = fake_wc_status_str,
	    .rdma_create_event_channel = fake_create_event_channel,
	    .rdma_destroy_event_channel = fake_destroy_event_channel,
	    .rdma_create_id = fake_create_id,
	    .rdma_destroy_id = fake_destroy_id,
	    .rdma_bind_addr = fake_bind_addr,
	    .rdma_listen = fake_listen,
	    .rdma_resolve_addr = fake_resolve_addr,
	    .rdma_resolve_route = fake_resolve_route,
	    .rdma_set_option = fake_set_option,
	    .rdma_create_qp = fake_create_qp,
	    .rdma_destroy_qp = fake_destroy_qp,
	    .rdma_connect = fake_connect,
	    .rdma_accept = fake_accept,
	    .rdma_reject = fake_reject,
	    .rdma_disconnect = fake_disconnect,
	    .rdma_get_cm_event = fake_get_cm_event,
	    .rdma_ack_cm_event = fake_ack_cm_event,
	    .rdma_event_str = fake_event_str,
	};
}
