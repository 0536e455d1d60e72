/* SPDX-License-Identifier: BSD-3-Clause */
/* sim.c - the transport for finding bugs: another transport, but a write stays invisible until an operation that
 * promises otherwise.
 *
 * Each endpoint keeps its writes to each node in a queue and applies them one by one in an order drawn from the seed:
 * all of them at a flush, notify, send, read or atomic on that node; a few at random in write() and progress(); and
 * one when the queue is full.  A write carries the number of fences before it and is never applied before one with a
 * smaller number.  A read may copy in read_wait() only.  So a missing flush, fence or read_wait shows, however fast
 * the host is.  While this process sleeps, only writes that were not flushed are kept back, and those may stay for
 * ever.
 *
 * Messages, notifies and flushes are delayed at random, seldom; and by a profile, losses and stalls: sim_time.c.
 *
 * The seed fixes the draws of an endpoint, not the interleaving of processes.
 *
 * In virtual time (core/base/clock.h) nothing is drawn: operations are performed in their order, and take the time that
 * they would take on the machine whose costs the configuration has. */
#include "net/sim/sim.h"
#include "net/transports.h"

#include "core/base/clock.h"
#include "core/base/base.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define SIM_CHUNK 4096u /* bytes of one queued write; longer ones are cut */

static const struct tw_transport *sim_inner(const struct tw_transport *ops);

static inline struct sim *sim_of(struct tw_net *net)
{
	return net->priv;
}

static void sim_jitter(struct sim *sim)
{
	unsigned draw = sim->in_order ? 8 : sim_draw(sim, 512);

	if (draw == 0)
		nanosleep(&(struct timespec){.tv_nsec = sim_draw(sim, 50000)}, NULL);
	else if (draw < 8)
		sched_yield();
}

/* ---- the queues ---- */

static inline char *sim_chunk(struct sim *sim, unsigned node, unsigned chunk)
{
	return sim->arena + ((size_t)node * SIM_WRITES + chunk) * SIM_CHUNK;
}

/* Apply one queued write to @node, one of those that no fence holds back. */
static void sim_apply_one(struct sim *sim, unsigned node)
{
	struct sim_queue *queue = &sim->queue[node];
	uint64_t fences = UINT64_MAX;
	unsigned eligible = 0, picked = 0;

	for (unsigned i = 0; i < queue->count; i++) {
		if (queue->write[i].fences < fences) {
			fences = queue->write[i].fences;
			eligible = 0;
		}
		if (queue->write[i].fences == fences && sim_draw(sim, ++eligible) == 0)
			picked = i;
	}
	struct sim_write write = queue->write[picked];
	if (sim_reaches(sim, node)) {
		sim->inner.ops->write(&sim->inner, node, write.offset, sim_chunk(sim, node, write.chunk), write.len);
		sim->inner.ops->fence(&sim->inner, node);
	}
	queue->write[picked] = queue->write[--queue->count];
	queue->write[queue->count] = write;
}

static void sim_apply(struct sim *sim, unsigned node)
{
	while (sim->queue[node].count)
		sim_apply_one(sim, node);
}

/* Nodes of one host, each a processor of it, copy in virtual time as well. */
static void sim_copy(const struct sim *sim, unsigned node, size_t len)
{
	if (sim_host(sim, node) == sim_host(sim, sim->inner.config.node))
		tw_charge(TW_COST_copy, len);
}

static unsigned sim_locals(const struct sim *sim)
{
	return sim->inner.config.ports - 1;
}

/* Processors of @node may wait for what arrives there at @ns. */
static void sim_wrote(const struct sim *sim, unsigned node, uint64_t ns)
{
	tw_gate_wrote(node * sim_locals(sim), sim_locals(sim), ns);
}

static void sim_write(struct tw_net *net, unsigned node, size_t offset, const void *src, size_t len)
{
	struct sim *sim = sim_of(net);
	struct sim_queue *queue = &sim->queue[node];
	const char *from = src;

	if (node == net->config.node) {
		sim->inner.ops->write(&sim->inner, node, offset, src, len);
		return;
	}
	sim_overhead(sim, node);
	sim_copy(sim, node, len);
	queue->arrives_ns = sim_transfer(sim, net->config.node, node, len);
	queue->wrote = true;
	if (sim->in_order) {
		sim->inner.ops->write(&sim->inner, node, offset, src, len);
		sim_wrote(sim, node, queue->arrives_ns);
		return;
	}
	while (len) {
		size_t part = TW_MIN(len, SIM_CHUNK - offset % 8);

		if (queue->count == SIM_WRITES || (queue->count && sim_draw(sim, 8) == 0))
			sim_apply_one(sim, node);
		struct sim_write *write = &queue->write[queue->count++];
		write->offset = offset;
		write->len = (uint32_t)part;
		write->fences = queue->fences;
		memcpy(sim_chunk(sim, node, write->chunk), from, part);
		offset += part;
		from += part;
		len -= part;
	}
}

/* A network that does not read memory by itself: a processor of @node answers, which also writes to its link. */
static void sim_serve(const struct sim *sim, unsigned node, size_t len)
{
	unsigned locals = sim_locals(sim);
	uint64_t link_mb = sim->profile->link_mb;

	if (sim->serve_ns)
		tw_gate_steal(node * locals, locals, sim->serve_ns + (link_mb ? len * 1000 / link_mb : 0));
}

static void sim_read(struct tw_net *net, unsigned node, size_t offset, void *dst, size_t len)
{
	struct sim *sim = sim_of(net);

	sim_started_do(net, &sim->started, node, NULL);
	sim_apply(sim, node);
	sim_must_reach(sim, node);
	sim_overhead(sim, node);
	sim_copy(sim, node, len);
	if (sim_host(sim, node) != sim_host(sim, net->config.node)) {
		uint64_t done = sim_transfer(sim, node, net->config.node, len) + sim->profile->one_way_ns;

		sim->reads_done_ns = TW_MAX(sim->reads_done_ns, done + sim->serve_ns);
		sim->landing += len;
		sim_serve(sim, node, len);
	}
	if (!sim->in_order && sim_draw(sim, 4) == 0) {
		sim->inner.ops->read(&sim->inner, node, offset, dst, len);
		return;
	}
	if (sim->reads == SIM_READS)
		net->ops->read_wait(net);
	sim->read[sim->reads++] = (struct sim_read){.node = node, .offset = offset, .len = len, .dst = dst};
}

static void sim_read_wait(struct tw_net *net)
{
	struct sim *sim = sim_of(net);

	sim_wait_until(sim->reads_done_ns);
	tw_charge(TW_COST_land, sim->landing);
	sim->landing = 0;
	while (sim->reads) {
		unsigned picked = sim->in_order ? 0 : sim_draw(sim, sim->reads);
		struct sim_read read = sim->read[picked];

		sim->inner.ops->read(&sim->inner, read.node, read.offset, read.dst, read.len);
		sim->read[picked] = sim->read[--sim->reads];
	}
	sim->inner.ops->read_wait(&sim->inner);
}

/* What precedes an atomic: writes to the node, and the time of a round trip. */
static struct tw_net *sim_before_atomic(struct tw_net *net, unsigned node)
{
	struct sim *sim = sim_of(net);

	sim_started_do(net, &sim->started, node, NULL);
	sim_apply(sim, node);
	sim_must_reach(sim, node);
	sim_overhead(sim, node);
	uint64_t arrives = sim_transfer(sim, net->config.node, node, sizeof(uint64_t));
	uint64_t done = arrives + sim->profile->one_way_ns;
	if (sim->in_order && sim->started.doing)
		sim->reads_done_ns = TW_MAX(sim->reads_done_ns, done); /* many are under way: read_wait waits for all */
	else
		sim_wait_until(done);
	sim_wrote(sim, node, arrives);
	return &sim->inner;
}

static uint64_t sim_cas(struct tw_net *net, unsigned node, size_t offset, uint64_t expect, uint64_t value)
{
	struct tw_net *inner = sim_before_atomic(net, node);

	return inner->ops->cas(inner, node, offset, expect, value);
}

static void sim_cas_wide(struct tw_net *net, unsigned node, size_t offset, uint64_t seen[2], const uint64_t value[2])
{
	struct tw_net *inner = sim_before_atomic(net, node);

	inner->ops->cas_wide(inner, node, offset, seen, value);
}

static uint64_t sim_fadd(struct tw_net *net, unsigned node, size_t offset, uint64_t value)
{
	struct tw_net *inner = sim_before_atomic(net, node);

	return inner->ops->fadd(inner, node, offset, value);
}

static uint64_t sim_swap(struct tw_net *net, unsigned node, size_t offset, uint64_t value)
{
	struct tw_net *inner = sim_before_atomic(net, node);

	return inner->ops->swap(inner, node, offset, value);
}

/* Mostly, started work is performed later, like a read in its read_wait. */
static void sim_start(struct tw_net *net, struct tw_net_flow *flow, const struct tw_net_work *work)
{
	struct sim *sim = sim_of(net);

	sim_started_add(net, &sim->started, flow, work);
	if (work->kind == TW_NET_PUT || sim->in_order || sim_draw(sim, 4) == 0)
		sim_started_do(net, &sim->started, TW_NET_ALL, flow);
}

static bool sim_settle(struct tw_net *net, struct tw_net_flow *flow, bool wait)
{
	struct sim *sim = sim_of(net);

	if (!wait && !sim->in_order && sim_draw(sim, 2) == 0)
		return false;
	sim_started_settle(net, &sim->started, flow);
	return true;
}

static void sim_fence(struct tw_net *net, unsigned node)
{
	struct sim *sim = sim_of(net);

	sim_started_do(net, &sim->started, node, NULL);
	for (unsigned i = 0; i < net->config.nodes; i++)
		if (node == TW_NET_ALL || node == i)
			sim->queue[i].fences++;
	sim->inner.ops->fence(&sim->inner, node);
}

static void sim_flush(struct tw_net *net, unsigned node)
{
	struct sim *sim = sim_of(net);
	uint64_t done_ns = 0;

	sim_started_do(net, &sim->started, node, NULL);
	sim_jitter(sim);
	for (unsigned i = 0; i < net->config.nodes; i++) {
		struct sim_queue *queue = &sim->queue[i];

		if (node != TW_NET_ALL && node != i)
			continue;
		sim_apply(sim, i);
		if (queue->wrote)
			sim_must_reach(sim, i);
		queue->wrote = false;
		if (queue->arrives_ns)
			done_ns = TW_MAX(done_ns, queue->arrives_ns + sim->profile->one_way_ns);
		queue->arrives_ns = 0;
	}
	sim_wait_until(done_ns);
	sim->inner.ops->flush(&sim->inner, node);
}

/* What is sent now arrives at @ns: in real time the sender waits until then; in virtual time the receiver does. */
static void sim_arrive(const struct sim *sim, uint64_t ns)
{
	if (sim->in_order)
		tw_gate_arrival(ns);
	else
		sim_wait_until(ns);
}

static int sim_send(struct tw_net *net, unsigned node, unsigned port, const struct tw_msg *msg)
{
	struct sim *sim = sim_of(net);

	sim_started_do(net, &sim->started, node, NULL);
	sim_apply(sim, node);
	sim_jitter(sim);
	if (!sim_reaches(sim, node))
		return 0;
	sim_overhead(sim, node);
	sim_arrive(sim, sim_transfer(sim, net->config.node, node, sizeof(*msg)));
	int status = sim->inner.ops->send(&sim->inner, node, port, msg);
	tw_gate_arrival(0);
	return status;
}

static bool sim_recv(struct tw_net *net, struct tw_msg *msg)
{
	struct tw_net *inner = &sim_of(net)->inner;

	return inner->ops->recv(inner, msg);
}

static void sim_notify(struct tw_net *net, unsigned node, unsigned port)
{
	struct sim *sim = sim_of(net);

	/* Another thread may ring the own bell, and must not touch this state. */
	if (node == net->config.node && port == net->config.port) {
		sim->inner.ops->notify(&sim->inner, node, port);
		return;
	}
	sim_started_do(net, &sim->started, node, NULL);
	sim_apply(sim, node);
	sim_jitter(sim);
	if (!sim_reaches(sim, node))
		return;
	sim_overhead(sim, node);
	sim_arrive(sim, sim_transfer(sim, net->config.node, node, sizeof(uint64_t)));
	sim->inner.ops->notify(&sim->inner, node, port);
	tw_gate_arrival(0);
}

static uint32_t sim_bell(struct tw_net *net)
{
	struct tw_net *inner = &sim_of(net)->inner;

	return inner->ops->bell(inner);
}

static void sim_sleep(struct tw_net *net, uint32_t seen, uint64_t timeout_ns)
{
	struct tw_net *inner = &sim_of(net)->inner;

	inner->ops->sleep(inner, seen, timeout_ns);
}

static void sim_progress(struct tw_net *net)
{
	struct sim *sim = sim_of(net);
	unsigned node = sim->in_order ? 0 : sim_draw(sim, net->config.nodes);

	if (sim->queue[node].count && sim_draw(sim, 16) == 0)
		sim_apply_one(sim, node);
	if (sim->started.count && !sim->in_order && sim_draw(sim, 16) == 0)
		sim_started_do(net, &sim->started, TW_NET_ALL, NULL);
	sim->inner.ops->progress(&sim->inner);
}

/* ---- opening and closing ---- */

static size_t sim_arena_bytes(const struct tw_net *net)
{
	return (size_t)net->config.nodes * SIM_WRITES * SIM_CHUNK;
}

static int sim_open_inner(struct sim *sim, const struct tw_net *net)
{
	int error;

	sim->arena = mmap(NULL, sim_arena_bytes(net), PROT_READ | PROT_WRITE,
	                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (sim->arena == MAP_FAILED) {
		error = -errno;
		tw_log("transport sim: no memory for the queues: %s", strerror(-error));
		return error;
	}
	sim->inner = (struct tw_net){.ops = sim_inner(net->ops), .config = net->config};
	sim->inner.traffic = &sim->inner.own_traffic;
	sim->inner.config.host_nodes = TW_MAX(net->config.host_nodes, 1u);
	error = sim->inner.ops->open(&sim->inner);
	if (error)
		munmap(sim->arena, sim_arena_bytes(net));
	return error;
}

static void sim_virtual(struct sim *sim, const struct tw_costs *costs)
{
	sim->in_order = true;
	sim->machine = (struct sim_profile){"machine", costs->of[TW_COST_latency], costs->of[TW_COST_overhead],
	                                    costs->of[TW_COST_link], costs->of[TW_COST_network]};
	sim->serve_ns = costs->of[TW_COST_serve];
	sim->profile = &sim->machine;
}

static int sim_join(struct tw_net *net)
{
	const struct tw_net_config *config = &net->config;
	struct sim *sim = calloc(1, sizeof(*sim) + config->nodes * sizeof(sim->queue[0]));
	if (!sim) {
		tw_log("transport sim: out of memory");
		return -ENOMEM;
	}
	int error = sim_events(config->nodes, &sim->lose, &sim->stall);
	if (!error)
		error = sim_open_inner(sim, net);
	if (error) {
		free(sim);
		return error;
	}
	sim->profile = &sim_profiles[sim_values.profile];
	if (config->costs)
		sim_virtual(sim, config->costs);
	sim->random = sim_mix(sim_values.seed + sim_mix(((uint64_t)config->node << 32) + config->port + 1));
	for (unsigned node = 0; node < config->nodes; node++)
		for (unsigned i = 0; i < SIM_WRITES; i++)
			sim->queue[node].write[i].chunk = i;
	net->base = sim->inner.base;
	net->priv = sim;
	return 0;
}

static void sim_close(struct tw_net *net)
{
	struct sim *sim = sim_of(net);

	sim_flush(net, TW_NET_ALL);
	sim->inner.ops->close(&sim->inner);
	munmap(sim->arena, sim_arena_bytes(net));
	free(sim);
	net->priv = NULL;
	net->base = NULL;
}

/* sim over @inner: it promises what the inner transport does, but not the order of writes. */
#define SIM_OVER(sym, label, text, inner, promises, ...)                                                               \
	static int sym##_probe(char *why, size_t why_bytes)                                                            \
	{                                                                                                              \
		return tw_transport_##inner.probe(why, why_bytes);                                                     \
	}                                                                                                              \
	static size_t sym##_control_bytes(unsigned ports)                                                              \
	{                                                                                                              \
		return tw_transport_##inner.control_bytes(ports) + SIM_CLOCK_BYTES;                                    \
	}                                                                                                              \
	const struct tw_transport tw_transport_##sym = {                                                               \
	    .name = label,                                                                                             \
	    .help = text " with seeded delay and reordering, and a profile of time: finds missing flushes",            \
	    .caps = promises,                                                                                          \
	    .parameters = sim_parameters,                                                                              \
	    .values = &sim_values,                                                                                     \
	    .check = sim_check,                                                                                        \
	    .probe = sym##_probe,                                                                                      \
	    .control_bytes = sym##_control_bytes,                                                                      \
	    .open = sim_join,                                                                                          \
	    .close = sim_close,                                                                                        \
	    .write = sim_write,                                                                                        \
	    .read = sim_read,                                                                                          \
	    .read_wait = sim_read_wait,                                                                                \
	    .cas = sim_cas,                                                                                            \
	    .fadd = sim_fadd,                                                                                          \
	    .swap = sim_swap,                                                                                          \
	    .start = sim_start,                                                                                        \
	    .settle = sim_settle,                                                                                      \
	    .fence = sim_fence,                                                                                        \
	    .flush = sim_flush,                                                                                        \
	    .send = sim_send,                                                                                          \
	    .recv = sim_recv,                                                                                          \
	    .notify = sim_notify,                                                                                      \
	    .bell = sim_bell,                                                                                          \
	    .sleep = sim_sleep,                                                                                        \
	    .progress = sim_progress,                                                                                  \
	    __VA_ARGS__}

SIM_OVER(sim, "sim", "shm", shm, TW_NET_ONE_HOST | TW_NET_COHERENT_ATOMICS | TW_NET_REMOTE_READ | TW_NET_LOSES_NODES,
         .serve = NULL, .cas_wide = sim_cas_wide);
#ifdef TW_OFI
SIM_OVER(sim_ofi, "sim-ofi", "ofi", ofi, TW_NET_COHERENT_ATOMICS | TW_NET_REMOTE_READ | TW_NET_LOSES_NODES,
         .serve = ofi_serve, .serve_end = ofi_serve_end, .shut_out = ofi_shut_out, .cas_wide = sim_cas_wide);
#endif
#ifdef TW_VERBS
SIM_OVER(sim_verbs, "sim-verbs", "verbs", verbs, TW_NET_PINNED | TW_NET_REMOTE_READ, .serve = verbs_serve,
         .serve_end = verbs_serve_end, .shut_out = verbs_shut_out);
#endif

static const struct tw_transport *sim_inner(const struct tw_transport *ops)
{
#ifdef TW_OFI
	if (ops == &tw_transport_sim_ofi)
		return &tw_transport_ofi;
#endif
#ifdef TW_VERBS
	if (ops == &tw_transport_sim_verbs)
		return &tw_transport_verbs;
#endif
	return ops == &tw_transport_sim ? &tw_transport_shm : NULL;
}
