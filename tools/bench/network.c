/* SPDX-License-Identifier: BSD-3-Clause */
/* network.c - the transport alone, between processor 0 of node 0, which measures, and processor 0 of node 1, which
 * answers.
 *
 * Data is written to pages of the shared space that the program does not touch: no protocol is involved. */
#include "tools/bench/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLES    2001u
#define LARGE_MOST ((size_t)1 << 20)
#define LARGE_ALL  ((size_t)16 << 20) /* bytes per sample of a bandwidth */
#define LARGE_RUNS 9u

struct network {
	struct tw_net *net;
	size_t at; /* offset of the area, equal on both nodes: a word to poll; from the next page on, data */
	uint64_t value;
};

static uint64_t network_local(const struct network *n)
{
	return atomic_load_explicit((_Atomic uint64_t *)(void *)(n->net->base + n->at), memory_order_acquire);
}

static bool network_arrived(void *arg)
{
	const struct network *n = arg;

	return network_local(n) >= n->value;
}

static void network_poll(struct network *n)
{
	while (!network_arrived(n)) {
		n->net->ops->progress(n->net);
		for (unsigned round = 0; round < 64 && !network_arrived(n); round++)
			tw_pause();
	}
}

static bool network_got(void *arg)
{
	const struct network *n = arg;
	struct tw_msg msg;

	return tw_net_recv(n->net, &msg);
}

/* One step of each ping-pong: signal the other node, or wait for its signal. */
enum network_how { BY_WRITE, BY_MESSAGE, BY_NOTIFY };

static void network_put_signal(struct network *n, enum network_how how, unsigned node)
{
	struct tw_msg msg = {.type = TW_MSG_REPLY, .len = 64};

	if (how == BY_MESSAGE) {
		tw_net_send(n->net, node, 0, &msg);
		return;
	}
	tw_net_write64(n->net, node, n->at, n->value);
	if (how == BY_NOTIFY)
		tw_net_notify(n->net, node, 0);
	else
		n->net->ops->progress(n->net);
}

static void network_progress(struct network *n, enum network_how how)
{
	if (how == BY_WRITE)
		network_poll(n);
	else
		tw_net_wait(n->net, how == BY_MESSAGE ? network_got : network_arrived, n);
}

/* Both nodes' part.  Returns the median of a round trip in microseconds. */
static double network_ping_pong(struct network *n, enum network_how how)
{
	static double us[SAMPLES];

	tw_barrier_all();
	for (unsigned i = 0; i < SAMPLES; i++) {
		double t0 = tw_now();

		n->value++;
		if (tw_node() == 0)
			network_put_signal(n, how, 1);
		network_progress(n, how);
		if (tw_node() == 1)
			network_put_signal(n, how, 0);
		us[i] = (tw_now() - t0) * 1e6;
	}
	tw_barrier_all();
	return bench_median(us, SAMPLES);
}

/* ---- one side alone ---- */

static void network_write_flush(struct network *n)
{
	tw_net_write64(n->net, 1, n->at + 4096, 1);
	tw_net_flush(n->net, 1);
}

static void network_read(struct network *n)
{
	tw_net_read64(n->net, 1, n->at + 4096);
}

static void network_fadd(struct network *n)
{
	tw_net_fadd(n->net, 1, n->at + 4096, 1);
}

static void network_cas(struct network *n)
{
	tw_net_cas(n->net, 1, n->at + 4096, 0, 0);
}

static double network_alone(struct network *n, void (*operation)(struct network *n))
{
	static double us[SAMPLES];

	for (unsigned i = 0; i < SAMPLES && tw_node() == 0; i++) {
		double t0 = tw_now();

		operation(n);
		us[i] = (tw_now() - t0) * 1e6;
	}
	tw_barrier_all();
	return tw_node() == 0 ? bench_median(us, SAMPLES) : 0;
}

/* MB/s of many transfers of @bytes each. */
static double network_stream(struct network *n, char *buffer, size_t bytes, bool write)
{
	double mb[LARGE_RUNS];

	for (unsigned run = 0; run < LARGE_RUNS && tw_node() == 0; run++) {
		double t0 = tw_now();

		for (size_t done = 0; done < LARGE_ALL; done += bytes) {
			size_t at = n->at + 4096 + done % LARGE_MOST;

			if (write) {
				tw_net_write(n->net, 1, at, buffer, bytes);
			} else {
				tw_net_read(n->net, 1, at, buffer, bytes);
				tw_net_read_wait(n->net);
			}
		}
		tw_net_flush(n->net, 1);
		mb[run] = (double)LARGE_ALL / 1e6 / (tw_now() - t0);
	}
	tw_barrier_all();
	return tw_node() == 0 ? bench_median(mb, LARGE_RUNS) : 0;
}

static void network_streams(struct network *n)
{
	static const size_t sizes[] = {4096, 65536, LARGE_MOST};
	static char buffer[LARGE_MOST];
	char name[64];

	memset(buffer, 1, sizeof(buffer));
	for (int write = 1; write >= 0; write--) {
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			snprintf(name, sizeof(name), "%s of %zu KiB each%s", write ? "writes" : "reads",
			         sizes[i] / 1024, write ? ", flush at the end" : "");
			bench_line(name, network_stream(n, buffer, sizes[i], write), "MB/s", -1, "");
		}
	}
}

void bench_network(void)
{
	char *m = tw_malloc_all(LARGE_MOST + 8192);

	if (!m)
		tw_abort(1, "tweed bench needs more shared memory: raise TWEED_MEMORY");
	size_t offset = TW_ALIGN_UP((uintptr_t)m, (uintptr_t)4096) - (uintptr_t)tw_me->app;
	struct network n = {.net = tw_me->net, .at = tw_me->layout.frames + offset};

	tw_barrier_all();
	tw_net_write64(n.net, tw_me->node, n.at, 0);
	bench_line("8-byte write, one way", network_ping_pong(&n, BY_WRITE) / 2, "us", -1, "");
	bench_line("8-byte write and flush", network_alone(&n, network_write_flush), "us", -1, "");
	bench_line("8-byte read", network_alone(&n, network_read), "us", -1, "");
	bench_line("fetch-and-add", network_alone(&n, network_fadd), "us", -1, "");
	bench_line("compare-and-swap", network_alone(&n, network_cas), "us", -1, "");
	bench_line("message of 64 bytes and its answer", network_ping_pong(&n, BY_MESSAGE), "us", -1, "");
	bench_line("write, notify and back", network_ping_pong(&n, BY_NOTIFY), "us", -1, "");
	network_streams(&n);
}
