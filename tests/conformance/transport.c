/* SPDX-License-Identifier: BSD-3-Clause */
/* transport.c - conformance of transports: every promise and capability of tweed/driver/transport.h, asserted.
 *
 * Usage: transport [TRANSPORT [SEED [CASE]]]; by default shm, and sim with several seeds, every case.  Prints one line
 * per case. */
#include "tests/conformance/transport.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define ENV_BYTES        ((size_t)4 << 20)
#define ENV_CONTROL      ((size_t)2 << 20)
#define ENV_SECONDS      120 /* of one case, then it counts as hanging */
#define ENV_ROUNDS_NS    1000000000u
#define ENV_BARRIER_SPIN 300

void env_fail(struct env *env, const char *format, ...)
{
	va_list ap;

	if (!atomic_exchange(&env->shared->failed, 1)) {
		int n = snprintf(env->shared->why, sizeof(env->shared->why), "%u.%u: ", env->node, env->port);

		va_start(ap, format);
		vsnprintf(env->shared->why + n, sizeof(env->shared->why) - (size_t)n, format, ap);
		va_end(ap);
	}
	_exit(1);
}

void env_barrier(struct env *env)
{
	_Atomic uint32_t *arrived = &env->shared->arrived[env->gate], *gate = &env->shared->generation[env->gate];
	uint32_t generation = atomic_load(gate);

	if (atomic_fetch_add(arrived, 1) + 1 == env->ranks) {
		atomic_store(arrived, 0);
		atomic_fetch_add(gate, 1);
		return;
	}
	for (unsigned spin = 0; atomic_load(gate) == generation; spin++) {
		if (spin < ENV_BARRIER_SPIN && env->ranks == 2)
			tw_pause();
		else
			sched_yield();
	}
}

bool env_more(struct env *env, unsigned round, unsigned rounds)
{
	static uint64_t until;

	if (env->rank == 0) {
		if (round == 0)
			until = tw_time_ns() + ENV_ROUNDS_NS;
		atomic_store(&env->shared->stop, round >= rounds || tw_time_ns() > until);
	}
	env_barrier(env);
	bool more = !atomic_load(&env->shared->stop);
	if (!more)
		env_barrier(env); /* before rank 0 begins another series, which resets it */
	return more;
}

struct run {
	const struct tw_transport *ops;
	uint64_t seed;
	const struct env_case *test;
	struct env_shared *shared;
	int fd[ENV_RANKS];
	pid_t server[ENV_RANKS];
};

/* Each rank on a processor of its own, as far as there are any: else short cases would run on one, and never race. */
static void run_pin(unsigned rank)
{
	cpu_set_t all, one;
	unsigned cpu = 0;

	if (sched_getaffinity(0, sizeof(all), &all) < 0)
		return;
	rank %= (unsigned)CPU_COUNT(&all);
	while (!CPU_ISSET(cpu, &all) || rank-- > 0)
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

static struct tw_net_config run_config(const struct run *run, unsigned node, unsigned port)
{
	const struct env_case *test = run->test;

	return (struct tw_net_config){.node = node,
	                              .nodes = test->nodes,
	                              .port = port,
	                              .ports = test->ports,
	                              .bytes = ENV_BYTES,
	                              .control_offset = ENV_CONTROL,
	                              .fd = run->fd,
	                              .address = run->ops->serve ? run->shared->address : NULL,
	                              .secret = {1, 2, 3},
	                              .interface = getenv("TWEED_NET_INTERFACE"),
	                              .device = getenv("TWEED_NET_DEVICE"),
	                              .provider = getenv("TWEED_NET_PROVIDER"),
	                              .spin_ns = test->spin_ns,
	                              .huge = test->huge};
}

/* In a process of its own, like the agent's: serve @node until SIGTERM. */
static void run_server(const struct run *run, unsigned node)
{
	struct tw_net_config config = run_config(run, node, 0);
	struct tw_net_server *server;
	sigset_t end;
	int number;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigemptyset(&end);
	sigaddset(&end, SIGTERM);
	sigprocmask(SIG_BLOCK, &end, NULL);
	if (run->ops->serve(&config, &server, &run->shared->address[node]) < 0)
		_exit(1);
	atomic_fetch_add(&run->shared->serving, 1);
	sigwait(&end, &number);
	run->ops->serve_end(server, &run->shared->counts[node]);
	_exit(0);
}

/* All servers of the case, or none where the transport needs none. */
static bool run_servers(struct run *run)
{
	unsigned nodes = run->ops->serve ? run->test->nodes : 0;
	uint64_t until = tw_time_ns() + 10000000000u;

	for (unsigned node = 0; node < nodes; node++) {
		run->server[node] = fork();
		TW_ASSERT(run->server[node] >= 0);
		if (run->server[node] == 0)
			run_server(run, node);
	}
	while (atomic_load(&run->shared->serving) < nodes && tw_time_ns() < until)
		usleep(1000);
	return atomic_load(&run->shared->serving) == nodes;
}

/* Whether all of them ended well. */
static bool run_servers_end(struct run *run)
{
	bool ok = true;

	for (unsigned node = 0; run->ops->serve && node < run->test->nodes; node++) {
		int status = -1;

		kill(run->server[node], SIGTERM);
		waitpid(run->server[node], &status, 0);
		ok &= status == 0;
	}
	return ok;
}

static void run_child(const struct run *run, unsigned rank)
{
	const struct env_case *test = run->test;
	struct env env = {.shared = run->shared,
	                  .node = rank / test->ports,
	                  .port = rank % test->ports,
	                  .rank = rank,
	                  .ranks = test->nodes * test->ports};
	struct tw_net_config config = run_config(run, env.node, env.port);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(ENV_SECONDS);
	run_pin(rank);
	ENV_CHECK(&env, tw_net_open(run->ops, &config, &env.net) == 0, "the endpoint does not open");
	env_barrier(&env);
	test->run(&env);
	env_barrier(&env);
	tw_net_close(env.net);
	_exit(0);
}

/* Wait for all; the first failure ends the others, which may wait for the one that failed. */
static bool run_wait(struct run *run, const pid_t *pid, unsigned ranks)
{
	bool alive[ENV_RANKS], ok = true;
	int status;

	memset(alive, 1, sizeof(alive));
	for (unsigned left = ranks; left; left--) {
		pid_t ended = wait(&status);
		bool rank = false;

		if (ended < 0)
			return false;
		for (unsigned i = 0; i < ranks; i++) {
			rank |= pid[i] == ended;
			if (pid[i] == ended)
				alive[i] = false;
		}
		if (!rank) {
			left++; /* a server, before its time */
			status = status ? status : 1;
		}
		if (status == 0 || !ok)
			continue;
		ok = false;
		if (!run->shared->failed)
			snprintf(run->shared->why, sizeof(run->shared->why), "%s (status %x)",
			         WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? "hangs" : "a process died",
			         (unsigned)status);
		for (unsigned i = 0; i < ranks; i++)
			if (alive[i])
				kill(pid[i], SIGKILL);
	}
	return ok;
}

static bool run_case(const struct tw_transport *ops, uint64_t seed, const struct env_case *test)
{
	struct run run = {.ops = ops, .seed = seed, .test = test};
	unsigned ranks = test->nodes * test->ports;
	uint64_t begun = tw_time_ns();
	pid_t pid[ENV_RANKS];
	char text[64];

	snprintf(text, sizeof(text), "%s:seed=%llu,profile=%s", ops->name, (unsigned long long)seed,
	         test->profile ? test->profile : "none");
	TW_ASSERT(!ops->parameters || tw_transport_find(text));
	run.shared = mmap(NULL, sizeof(*run.shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	TW_ASSERT(run.shared != MAP_FAILED && ranks <= ENV_RANKS);
	for (unsigned node = 0; node < test->nodes; node++) {
		run.fd[node] = memfd_create("transport-test", MFD_CLOEXEC);
		TW_ASSERT(run.fd[node] >= 0 && ftruncate(run.fd[node], ENV_BYTES) == 0);
	}
	fflush(stdout);
	bool serving = run_servers(&run);
	if (!serving)
		snprintf(run.shared->why, sizeof(run.shared->why), "not all servers start");
	for (unsigned rank = 0; serving && rank < ranks; rank++) {
		pid[rank] = fork();
		TW_ASSERT(pid[rank] >= 0);
		if (pid[rank] == 0)
			run_child(&run, rank);
	}
	bool ok = serving && run_wait(&run, pid, ranks);
	if (!run_servers_end(&run) && ok) {
		ok = false;
		snprintf(run.shared->why, sizeof(run.shared->why), "a server ended badly");
	}
	uint64_t refused = 0;
	for (unsigned node = 0; node < test->nodes; node++)
		refused += run.shared->counts[node].refused;
	if (ok && refused < test->refused) {
		ok = false;
		snprintf(run.shared->why, sizeof(run.shared->why), "servers count %llu refused instead of %u",
		         (unsigned long long)refused, test->refused);
	}
	printf("%s %s seed %llu: %s (%llu ms)%s%s\n", ok ? "ok  " : "FAIL", ops->name, (unsigned long long)seed,
	       test->name, (unsigned long long)(tw_time_ns() - begun) / 1000000, ok ? "" : ": ", run.shared->why);
	for (unsigned node = 0; node < test->nodes; node++)
		close(run.fd[node]);
	munmap(run.shared, sizeof(*run.shared));
	return ok;
}

static unsigned passed, failed;

static void run_all(const struct tw_transport *ops, uint64_t seed, const char *only)
{
	const struct env_case *const lists[] = {memory_cases, order_cases, signal_cases, flow_cases, put_signal_cases};

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		for (const struct env_case *test = lists[i]; test->name; test++) {
			if ((test->only && strcmp(test->only, ops->name) != 0) || (only && strcmp(only, test->name)))
				continue;
			if (run_case(ops, seed, test))
				passed++;
			else
				failed++;
		}
	}
}

static void check_one(bool ok, const char *what)
{
	printf("%s %s\n", ok ? "ok  " : "FAIL", what);
	*(ok ? &passed : &failed) += 1;
}

static void check_list(void)
{
	const struct tw_transport *const *list = tw_transport_list();
	bool found = true, works = true, control = true;
	char why[128];

	for (size_t i = 0; list[i]; i++) {
		found &= tw_transport_find(list[i]->name) == list[i] && list[i]->help;
		works &= !(list[i]->caps & TW_NET_ONE_HOST) || list[i]->probe(why, sizeof(why)) == 0;
		for (unsigned ports = 1; ports < 66; ports++)
			control &= list[i]->control_bytes(ports) % 4096 == 0;
	}
	check_one(found && !tw_transport_find("nonsense"), "list and find agree");
	check_one(!tw_transport_find("shm:seed=1") && !tw_transport_find("sim:sed=1") &&
	              !tw_transport_find("sim:profile=carrier-pigeon") && !tw_transport_find("sim:seed") &&
	              tw_transport_find("sim:seed=1,profile=hdr"),
	          "parameters are checked");
	check_one(works, "shm and sim work on this host");
	check_one(control, "control memory is whole pages");
}

int main(int argc, char **argv)
{
	static const uint64_t seeds[] = {1, 2, 20261121};
	const struct tw_transport *ops = argc > 1 ? tw_transport_find(argv[1]) : NULL;

	if (argc > 1 && !ops) {
		fprintf(stderr, "transport: %s\n", tw_transport_why());
		return 2;
	}
	check_list();
	if (ops) {
		char why[256];
		ops->probe(
		    why,
		    sizeof(
		        why)); /* libraries that are loaded at first use are inherited by the processes of all cases */
		run_all(ops, argc > 2 ? strtoull(argv[2], NULL, 0) : 1, argc > 3 ? argv[3] : NULL);
	} else {
		run_all(tw_transport_find("shm"), 0, NULL);
		for (size_t i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++)
			run_all(tw_transport_find("sim"), seeds[i], NULL);
	}
	printf("%u passed, %u failed\n", passed, failed);
	return failed ? 1 : 0;
}
