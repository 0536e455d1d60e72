/* SPDX-License-Identifier: BSD-3-Clause */
/* verbs_test.c - the transport verbs on invented devices: atomics coherent with the processors', or none; memory paged
 * on demand; too little memory, or too little lockable memory; connections that break. */
#include "tests/unit/unit.h"
#include "tests/unit/verbs/fake.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "net/mailbox.h"

#define NODES   2u
#define BYTES   ((size_t)4 << 20)
#define CONTROL ((size_t)2 << 20)
#define WORD    ((size_t)4096)
#define LATE_NS 10000000000u

/* A job whose endpoints are all in this process. */
static struct {
	size_t bytes;
	const char *interface;
	int fd[NODES];
	struct tw_net_address address[NODES];
	struct tw_net_server *server[NODES];
	struct tw_net *net[NODES];
} job;
static char said[4096]; /* what was logged */
static int log_fd, old_stderr;

static void listen_in(void)
{
	fflush(stderr);
	log_fd = memfd_create("log", 0);
	old_stderr = dup(STDERR_FILENO);
	dup2(log_fd, STDERR_FILENO);
}

static void listen_end(void)
{
	dup2(old_stderr, STDERR_FILENO);
	close(old_stderr);
	ssize_t n = pread(log_fd, said, sizeof(said) - 1, 0);
	said[TW_MAX(n, 0)] = '\0';
	close(log_fd);
}

/* One message was logged, and it contains these words. */
static bool said_once(const char *one, const char *two)
{
	const char *end = strchr(said, '\n');
	bool ok = end && !end[1] && strstr(said, one) && strstr(said, two);

	if (!ok)
		printf("said: %s\n", said);
	return ok;
}

static struct tw_net_config config_of(unsigned node)
{
	return (struct tw_net_config){.node = node,
	                              .nodes = NODES,
	                              .ports = 1,
	                              .bytes = job.bytes,
	                              .control_offset = CONTROL,
	                              .fd = job.fd,
	                              .address = job.address,
	                              .secret = {7},
	                              .interface = job.interface,
	                              .spin_ns = 1000};
}

static void job_end(void)
{
	for (unsigned node = 0; node < NODES; node++) {
		tw_net_close(job.net[node]);
		job.net[node] = NULL;
	}
	for (unsigned node = 0; node < NODES; node++) {
		if (job.server[node])
			verbs_serve_end(job.server[node], NULL);
		job.server[node] = NULL;
		close(job.fd[node]);
	}
	CU_ASSERT_EQUAL(fake.alive, 0);
}

/* Start what can be started. Returns the first error, whose message is in `said`. */
static int job_start(size_t bytes)
{
	int error = 0;

	job.bytes = bytes;
	job.interface = job.interface ? job.interface : "127.0.0.1";
	listen_in();
	for (unsigned node = 0; node < NODES; node++) {
		job.fd[node] = memfd_create("node", MFD_CLOEXEC);
		TW_ASSERT(ftruncate(job.fd[node], (off_t)bytes) == 0);
	}
	for (unsigned node = 0; node < NODES && !error; node++) {
		struct tw_net_config config = config_of(node);
		error = verbs_serve(&config, &job.server[node], &job.address[node]);
	}
	for (unsigned node = 0; node < NODES && !error; node++) {
		struct tw_net_config config = config_of(node);
		error = tw_net_open(&tw_transport_verbs, &config, &job.net[node]);
	}
	listen_end();
	return error;
}

static uint64_t load(unsigned node, size_t offset)
{
	return atomic_load((_Atomic uint64_t *)(void *)(job.net[node]->base + offset));
}

/* Once started: writes and reads of all, atomics that the device has and lacks, more than the queue holds. */
static void start(struct tw_net *net, unsigned other)
{
	static char page[65536], back[65536];
	static uint64_t old[300];
	struct tw_net_flow *flow = tw_net_flow_new(net);
	struct tw_net_work work = {
	    .kind = TW_NET_WRITE, .node = other, .offset = 8 * WORD, .len = sizeof(page), .local = page};
	uint32_t half = 0;

	memset(page, 5, sizeof(page));
	tw_net_write64(net, other, WORD, 0);
	tw_net_start(net, flow, &work);
	for (unsigned i = 0; i < 300; i++)
		tw_net_start(net, flow, &(struct tw_net_work){TW_NET_AMO, other, WORD, 8, &old[i], TW_AMO_ADD, 1, 0});
	tw_net_start(net, flow, &(struct tw_net_work){TW_NET_AMO, other, WORD, 4, &half, TW_AMO_XOR, 1, 0});
	CU_ASSERT(tw_net_settle(net, flow, true) && half == 300);
	for (unsigned i = 0; i < 300; i++)
		CU_ASSERT_EQUAL(old[i], i);
	CU_ASSERT_EQUAL(load(other, WORD), 301);
	work.kind = TW_NET_READ;
	work.local = back;
	tw_net_start(net, flow, &work);
	for (uint64_t until = tw_time_ns() + LATE_NS; !tw_net_settle(net, flow, false) && tw_time_ns() < until;)
		;
	CU_ASSERT(!flow->open && memcmp(page, back, sizeof(page)) == 0);
	free(flow);
}

/* Atomics that the device lacks, more than may be outstanding, on two halves of a word and on another word. Each is
 * executed once, and each result is what another one left. A write behind a fence comes after them. */
static void start_loops(struct tw_net *net, unsigned other)
{
	enum { HALVES = 2 * WORD, SWAPPED = 3 * WORD, BEHIND = 4 * WORD, MANY = 101 };
	static uint32_t half[2 * MANY];
	static uint64_t old[MANY];
	struct tw_net_flow *flow = tw_net_flow_new(net);
	uint64_t halves = 0, olds = 0;

	tw_net_write64(net, other, HALVES, 0);
	tw_net_write64(net, other, SWAPPED, 7);
	tw_net_write64(net, other, BEHIND, 0);
	for (unsigned i = 0; i < MANY; i++) {
		for (unsigned k = 0; k < 2; k++)
			tw_net_start(net, flow,
			             &(struct tw_net_work){TW_NET_AMO, other, HALVES + 4 * k, 4, &half[2 * i + k],
			                                   TW_AMO_ADD, UINT32_MAX, 0});
		tw_net_start(net, flow,
		             &(struct tw_net_work){TW_NET_AMO, other, SWAPPED, 8, &old[i], TW_AMO_SWAP, 1000 + i, 0});
	}
	tw_net_fence(net, other);
	CU_ASSERT_EQUAL(load(other, HALVES), (uint64_t) - (uint32_t)MANY << 32 | (uint32_t)-MANY);
	tw_net_start(net, flow, &(struct tw_net_work){TW_NET_AMO, other, BEHIND, 8, NULL, TW_AMO_OR, 6, 0});
	for (uint64_t until = tw_time_ns() + LATE_NS; !tw_net_settle(net, flow, false) && tw_time_ns() < until;)
		;
	CU_ASSERT(!flow->open && load(other, BEHIND) == 6);
	for (unsigned i = 0; i < MANY; i++) {
		halves += -half[2 * i] + (uint64_t)-half[2 * i + 1];
		olds += old[i];
	}
	CU_ASSERT_EQUAL(halves, MANY * (MANY - 1));
	CU_ASSERT_EQUAL(olds + load(other, SWAPPED), 7 + MANY * 1000 + MANY * (MANY - 1) / 2);
	free(flow);
}

/* Reads, writes, atomics and messages in both directions, also long and many. */
static void use(void)
{
	static char page[65536], back[65536];
	struct tw_msg msg = {.type = 1, .len = 8}, got;

	for (unsigned node = 0; node < NODES; node++) {
		struct tw_net *net = job.net[node];
		unsigned other = 1 - node;
		uint64_t until = tw_time_ns() + LATE_NS;

		for (size_t i = 0; i < sizeof(page); i++)
			page[i] = (char)(i * 7 + i / 256 + node);
		tw_net_write(net, other, 8 * WORD, page, sizeof(page));
		for (unsigned i = 0; i < 300; i++)
			tw_net_write64(net, other, WORD + 8 * i, 100 + i);
		tw_net_flush(net, other);
		CU_ASSERT_EQUAL(load(other, WORD + 8 * 299), 399);
		tw_net_read(net, other, 8 * WORD, back, sizeof(back));
		tw_net_read_wait(net);
		CU_ASSERT_EQUAL(memcmp(page, back, sizeof(page)), 0);
		CU_ASSERT_EQUAL(tw_net_read64(net, other, WORD + 8), 101);
		CU_ASSERT_EQUAL(tw_net_fadd(net, other, WORD, 5), 100);
		CU_ASSERT_EQUAL(tw_net_cas(net, other, WORD, 1, 2), 105);
		CU_ASSERT_EQUAL(tw_net_cas(net, other, WORD, 105, 2), 105);
		CU_ASSERT_EQUAL(tw_net_swap(net, other, WORD, 9), 2);
		CU_ASSERT_EQUAL(load(other, WORD), 9);
		start(net, other);
		start_loops(net, other);
		for (unsigned i = 0; i < 200; i++) {
			msg.word[0] = i;
			tw_net_send(net, other, 0, &msg);
			while (!tw_net_recv(job.net[other], &got) && tw_time_ns() < until)
				;
			CU_ASSERT(got.word[0] == i && got.src_node == node);
		}
		uint32_t bell = job.net[other]->ops->bell(job.net[other]);
		tw_net_notify(net, other, TW_NET_ALL);
		while (job.net[other]->ops->bell(job.net[other]) == bell && tw_time_ns() < until)
			;
		CU_ASSERT_NOT_EQUAL(job.net[other]->ops->bell(job.net[other]), bell);
	}
}

/* Returns how many operations the device executed for an atomic of each kind on the own node's words. */
static unsigned own_atomics(void)
{
	unsigned before = fake.atomics_done;

	tw_net_write64(job.net[0], 0, WORD, 4);
	CU_ASSERT_EQUAL(tw_net_fadd(job.net[0], 0, WORD, 1), 4);
	CU_ASSERT_EQUAL(tw_net_cas(job.net[0], 0, WORD, 5, 0), 5);
	CU_ASSERT_EQUAL(tw_net_swap(job.net[0], 0, WORD, 7), 0);
	CU_ASSERT_EQUAL(load(0, WORD), 7);
	return fake.atomics_done - before;
}

static void test_atomics_of_the_device(void)
{
	fake_reset();
	CU_ASSERT_EQUAL(job_start(BYTES), 0);
	use();
	CU_ASSERT_EQUAL(own_atomics(), 3);
	job_end();
}

static void test_atomics_coherent(void)
{
	fake_reset();
	fake.atomics = IBV_ATOMIC_GLOB;
	CU_ASSERT_EQUAL(job_start(BYTES), 0);
	use();
	CU_ASSERT_EQUAL(own_atomics(), 0);
	job_end();
}

static void test_atomics_none(void)
{
	fake_reset();
	fake.atomics = IBV_ATOMIC_NONE;
	CU_ASSERT_EQUAL(job_start(BYTES), -ENOTSUP);
	CU_ASSERT(said_once("fake0 has no atomic operations", "TWEED_NET_DEVICE"));
	job_end();
}

/* Bytes that this host cannot keep resident. */
static size_t too_many(void)
{
	return (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE) + ((size_t)1 << 30);
}

#define ON_DEMAND (IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_ATOMIC)

/* More than the host has, where pages are paged on demand; each word may be used. */
static void test_on_demand(void)
{
	fake_reset();
	fake.on_demand = ON_DEMAND;
	CU_ASSERT_EQUAL(job_start(too_many()), 0);
	CU_ASSERT(fake.access & IBV_ACCESS_ON_DEMAND);
	CU_ASSERT_EQUAL(fake.registered, too_many());
	use();
	job_end();
}

/* Devices that support only part of it on demand, or fail to, and libraries that cannot report it: memory is pinned. */
static void test_not_on_demand(void)
{
	for (unsigned i = 0; i < 3; i++) {
		fake_reset();
		fake.on_demand = i == 0 ? ON_DEMAND & ~IBV_ODP_SUPPORT_ATOMIC : ON_DEMAND;
		fake.refuse_on_demand = i == 1;
		fake.old = i == 2;
		CU_ASSERT_EQUAL(job_start(BYTES), 0);
		CU_ASSERT(!(fake.access & IBV_ACCESS_ON_DEMAND) && fake.registered == BYTES);
		use();
		job_end();
	}
}

static void test_does_not_fit(void)
{
	char bytes[64];

	fake_reset();
	CU_ASSERT_EQUAL(job_start(too_many()), -ENOMEM);
	snprintf(bytes, sizeof(bytes), "which is %zu MiB on node 0, but only", too_many() >> 20);
	CU_ASSERT(said_once(bytes, "lower TWEED_MEMORY"));
	job_end();
}

static void test_not_lockable(void)
{
	fake_reset();
	fake.register_bytes = BYTES - 1;
	CU_ASSERT_EQUAL(job_start(BYTES), -ENOMEM);
	CU_ASSERT(said_once("cannot keep the 4 MiB resident that node 0 exports", "ulimit -l"));
	job_end();
	fake_reset();
	fake.register_bytes = 400 << 10; /* too little for an endpoint */
	CU_ASSERT_NOT_EQUAL(job_start(BYTES), 0);
	job_end();
}

/* The endpoint's own registration is refused: the servers run, but registered before. */
static void test_endpoint_not_lockable(void)
{
	fake_reset();
	CU_ASSERT_EQUAL(job_start(BYTES), 0);
	tw_net_close(job.net[1]);
	job.net[1] = NULL;
	fake.register_bytes = 4096;
	struct tw_net_config config = config_of(1);
	listen_in();
	CU_ASSERT_EQUAL(tw_net_open(&tw_transport_verbs, &config, &job.net[1]), -ENOMEM);
	listen_end();
	CU_ASSERT(said_once("KiB of pinned memory on fake0", "ulimit -l"));
	job_end();
}

/* Little inline data, then none, and a queue that is too short. */
static void test_small_device(void)
{
	for (unsigned bytes = 60; bytes <= 60; bytes -= 60) {
		fake_reset();
		fake.inline_bytes = bytes;
		fake.requests = 40;
		CU_ASSERT_EQUAL(job_start(BYTES), 0);
		use();
		job_end();
	}
	fake_reset();
	fake.requests = 16;
	CU_ASSERT_EQUAL(job_start(BYTES), -ENOMEM);
	CU_ASSERT(said_once("the device fake0 is too small", "for 2 nodes"));
	job_end();
}

static void test_ipv6(void)
{
	struct verbs_address at;

	fake_reset();
	job.interface = "::1";
	int error = job_start(BYTES);
	job.interface = NULL;
	if (error == -ENODEV) {
		printf("(no IPv6 here) ");
		job_end();
		return;
	}
	CU_ASSERT_EQUAL(error, 0);
	CU_ASSERT(verbs_address_read(&at, &job.address[1]) && at.family == AF_INET6);
	use();
	job_end();
}

/* Addresses of another transport, of an unknown family, and of a family other than this node's. */
static void test_addresses(void)
{
	fake_reset();
	CU_ASSERT_EQUAL(job_start(BYTES), 0);
	for (unsigned i = 0; i < 3; i++) {
		struct tw_net_config config = config_of(1);
		struct tw_net_address address[NODES] = {job.address[0], job.address[1]};
		const uint16_t family = i == 1 ? AF_UNIX : AF_INET6;
		struct tw_net *net;

		tw_net_close(job.net[1]);
		job.net[1] = NULL;
		if (i == 0)
			address[0].len--;
		else
			memcpy(address[0].bytes, &family, sizeof(family));
		config.address = address;
		listen_in();
		CU_ASSERT_EQUAL(tw_net_open(&tw_transport_verbs, &config, &net), -EINVAL);
		listen_end();
		CU_ASSERT(i < 2 ? said_once("node 0 has no address", "for it")
		                : said_once("node 0 is reached by IPv6, but node 1 by IPv4", "TWEED_NET_INTERFACE"));
	}
	job_end();
}

static void test_other_secret(void)
{
	struct tw_net_counts counts;
	struct tw_net *net;

	fake_reset();
	CU_ASSERT_EQUAL(job_start(BYTES), 0);
	tw_net_close(job.net[1]);
	job.net[1] = NULL;
	struct tw_net_config config = config_of(1);
	config.secret[0] ^= 1;
	listen_in();
	CU_ASSERT_EQUAL(tw_net_open(&tw_transport_verbs, &config, &net), -EACCES);
	listen_end();
	CU_ASSERT(said_once("node 0 refuses the connection", "another job"));
	tw_net_close(job.net[0]);
	job.net[0] = NULL;
	verbs_serve_end(job.server[0], &counts);
	job.server[0] = NULL;
	CU_ASSERT(counts.connections == 3 - 1 && counts.refused == 1 && counts.damaged == 0);
	job_end();
}

/* An endpoint that is shut out loses its connection, and gets no other. */
static void test_shut_out(void)
{
	struct tw_net_counts counts;
	struct tw_net *net;

	fake_reset();
	CU_ASSERT_EQUAL(job_start(BYTES), 0);
	verbs_shut_out(job.server[0], 1, 0);
	verbs_shut_out(job.server[0], 1, 0); /* it is shut out already */
	struct tw_net_config config = config_of(1);
	listen_in();
	CU_ASSERT_EQUAL(tw_net_open(&tw_transport_verbs, &config, &net), -EACCES);
	listen_end();
	CU_ASSERT(said_once("node 0 refuses the connection", "another job"));
	tw_net_close(job.net[0]);
	tw_net_close(job.net[1]);
	job.net[0] = job.net[1] = NULL;
	verbs_serve_end(job.server[0], &counts);
	job.server[0] = NULL;
	CU_ASSERT(counts.connections == 3 - 1 && counts.refused == 1 && counts.damaged == 0);
	job_end();
}

static jmp_buf fatal;

static void at_fatal(void)
{
	longjmp(fatal, 1);
}

static void test_cut(void)
{
	fake_reset();
	CU_ASSERT_EQUAL(job_start(BYTES), 0);
	tw_fatal_hook = at_fatal;
	listen_in();
	if (setjmp(fatal) == 0) {
		fake.cut = true;
		tw_net_write64(job.net[0], 1, WORD, 1);
		tw_net_flush(job.net[0], 1);
		listen_end();
		CU_FAIL("a flush came back");
	} else {
		listen_end();
	}
	tw_fatal_hook = NULL;
	fake.cut = false;
	CU_ASSERT(said_once("the connection to node 1 is lost", "no answer"));
	job_end();
}

int main(void)
{
	CU_TestInfo tests[] = {{"atomics of the device", test_atomics_of_the_device},
	                       {"atomics that are the processors' as well", test_atomics_coherent},
	                       {"no atomics", test_atomics_none},
	                       {"pages on demand", test_on_demand},
	                       {"not on demand", test_not_on_demand},
	                       {"memory that does not fit", test_does_not_fit},
	                       {"memory that may not be locked", test_not_lockable},
	                       {"an endpoint's that may not", test_endpoint_not_lockable},
	                       {"a small device", test_small_device},
	                       {"IPv6", test_ipv6},
	                       {"addresses that make no sense", test_addresses},
	                       {"another secret", test_other_secret},
	                       {"an endpoint that is shut out", test_shut_out},
	                       {"a connection that breaks", test_cut},
	                       CU_TEST_INFO_NULL};

	return unit_main("verbs", tests);
}
