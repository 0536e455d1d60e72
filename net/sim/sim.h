/* SPDX-License-Identifier: BSD-3-Clause */
/* sim.h - an endpoint of the transport sim, and the time that its operations take. */
#ifndef TW_NET_SIM_SIM_H
#define TW_NET_SIM_SIM_H

#include "core/base/base.h"
#include "net/sim/sim_flow.h"

#define SIM_WRITES      64u            /* queued per node */
#define SIM_READS       64u            /* between read and read_wait */
#define SIM_CLOCK_BYTES ((size_t)4096) /* of the control memory, behind the inner transport's */

struct sim_profile {
	const char *name;
	uint64_t one_way_ns, overhead_ns;
	uint64_t link_mb, all_mb; /* MB/s of a host's link, and of the network; 0: unlimited */
};

extern const struct sim_profile sim_profiles[]; /* by the index of the parameter profile */

/* The parameters of sim, sim-ofi and sim-verbs. */
struct sim_parameters {
	uint64_t seed;
	unsigned char profile;
	char lose[32];  /* NODE@SECONDS; "": none */
	char stall[32]; /* NODE@SECONDS+SECONDS; "": none */
};
extern struct sim_parameters sim_values;
extern const struct tw_setting sim_parameters[];

/* A loss or stall of a node: "NODE@SECONDS" or "NODE@SECONDS+SECONDS". */
struct sim_event {
	bool set;
	unsigned node;
	uint64_t from_ns, until_ns; /* since the epoch of tw_time_ns */
};

struct sim_write {
	size_t offset;
	uint32_t len;
	uint32_t chunk; /* where its bytes are */
	uint64_t fences;
};

struct sim_queue {
	uint64_t fences;
	uint64_t arrives_ns; /* when the last write arrives at the node */
	unsigned count;
	bool wrote;                         /* since the last flush */
	struct sim_write write[SIM_WRITES]; /* the first @count are queued; the chunks are a permutation */
};

struct sim_read {
	unsigned node;
	size_t offset, len;
	void *dst;
};

struct sim {
	struct tw_net inner;
	uint64_t random;
	const struct sim_profile *profile;
	struct sim_profile machine; /* in virtual time: what @profile points to */
	uint64_t serve_ns;          /* in virtual time: for a read, of a processor there; 0: none takes part */
	bool in_order;              /* in virtual time: nothing is drawn, and writes are performed in their order */
	struct sim_event lose, stall;
	uint64_t reads_done_ns;
	size_t landing; /* bytes read from other hosts since the last read_wait */
	unsigned reads;
	struct sim_read read[SIM_READS];
	struct sim_started started;
	char *arena; /* [nodes][SIM_WRITES][SIM_CHUNK] */
	struct sim_queue queue[];
};

/* splitmix64 */
static inline uint64_t sim_mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* A number below @n. */
static inline unsigned sim_draw(struct sim *sim, unsigned n)
{
	sim->random += 0x9e3779b97f4a7c15u;
	return (unsigned)((sim_mix(sim->random) >> 32) * n >> 32);
}

static inline unsigned sim_host(const struct sim *sim, unsigned node)
{
	return node / sim->inner.config.host_nodes;
}

/* sim_events - parse the parameters lose and stall for a job of @nodes.  Returns 0 or -EINVAL, logged.
 * sim_check - the hook. */
int sim_events(unsigned nodes, struct sim_event *lose, struct sim_event *stall);
int sim_check(unsigned nodes);

/* sim_transfer - the time when @bytes that start now at @from's link arrive at @to. */
uint64_t sim_transfer(struct sim *sim, unsigned from, unsigned to, size_t bytes);

/* sim_wait_until - wait until @deadline of tw_time_ns(). */
void sim_wait_until(uint64_t deadline);

/* sim_reaches - called before every operation on @node: false if it is lost, and the operation must vanish.
 * sim_must_reach - the same for operations that wait for an answer: ends the process if the node is lost. */
bool sim_reaches(struct sim *sim, unsigned node);
void sim_must_reach(struct sim *sim, unsigned node);

/* sim_overhead - spend the time that every operation on @node costs its caller. */
void sim_overhead(struct sim *sim, unsigned node);

#endif
