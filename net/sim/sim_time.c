/* SPDX-License-Identifier: BSD-3-Clause */
/* sim_time.c - profiles, losses and stalls of sim.
 *
 * A profile adds time.  Each host has one link, shared by its endpoints, which carries one transfer at a time at the
 * link's bandwidth; where the whole network has a bandwidth, a transfer takes its time there too.  Data that are read
 * use the link of the host from which they are read.  A write arrives one_way later; a flush waits for that and for
 * the way back; a send or notify waits until it has arrived; and each operation costs its caller the overhead.  The
 * links' clocks are words in the control memory of each host's first node, the network's in that of node 0.
 *
 * A node can be lost from a moment on (its network is dead: writes vanish, operations that wait for an answer give up
 * after a second, as a fabric does after its retries), or be stalled for a while (all operations that concern it
 * wait). */
#include "net/sim/sim.h"

#include "core/base/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SIM_SLEEP_ABOVE 100000 /* ns; shorter waits spin, because a sleep would overshoot */
#define SIM_GIVE_UP_NS  1000000000u

/* memory-channel, memory-channel-2: the Cashmere-2L paper's figures, section 2.  The others: typical figures of TCP on
 * Ethernet, and of InfiniBand HDR. */
const struct sim_profile sim_profiles[] = {
    {"none", 0, 0, 0, 0},
    {"memory-channel", 5200, 0, 29, 60},
    {"memory-channel-2", 2200, 0, 66, 0},
    {"1gbe", 25000, 3000, 117, 0},
    {"10gbe", 12000, 2000, 1150, 0},
    {"hdr", 800, 100, 24000, 0},
    {NULL, 0, 0, 0, 0},
};

/* In the control memory of every node; those of a host's first node and of node 0 are used by all. */
struct sim_clocks {
	TW_LINE_ALIGNED uint64_t link_free_ns;
	TW_LINE_ALIGNED uint64_t network_free_ns;
};

/* ---- time ---- */

void sim_wait_until(uint64_t deadline)
{
	tw_clock_until(deadline);
	for (uint64_t now = tw_time_ns(); now < deadline; now = tw_time_ns()) {
		if (deadline - now > SIM_SLEEP_ABOVE) {
			uint64_t ns = deadline - now - SIM_SLEEP_ABOVE / 2;

			nanosleep(&(struct timespec){.tv_sec = (time_t)(ns / 1000000000u),
			                             .tv_nsec = (long)(ns % 1000000000u)},
			          NULL);
		} else {
			tw_pause();
		}
	}
}

/* Reserve @ns of the clock at (node, offset), from now or from when it is free.  Returns the end of that time. */
static uint64_t sim_reserve(struct sim *sim, unsigned node, size_t offset, uint64_t ns)
{
	struct tw_net *inner = &sim->inner;

	offset += inner->config.control_offset + inner->ops->control_bytes(inner->config.ports);
	for (uint64_t seen = tw_net_read64(inner, node, offset);;) {
		uint64_t end = TW_MAX(seen, tw_time_ns()) + ns, old = tw_net_cas(inner, node, offset, seen, end);

		if (old == seen)
			return end;
		seen = old;
	}
}

uint64_t sim_transfer(struct sim *sim, unsigned from, unsigned to, size_t bytes)
{
	const struct sim_profile *profile = sim->profile;
	unsigned leader = sim_host(sim, from) * sim->inner.config.host_nodes;
	uint64_t end = 0;

	if (!profile->one_way_ns || sim_host(sim, from) == sim_host(sim, to))
		return 0;
	if (profile->link_mb)
		end = sim_reserve(sim, leader, offsetof(struct sim_clocks, link_free_ns),
		                  bytes * 1000 / profile->link_mb);
	if (profile->all_mb)
		end = TW_MAX(end, sim_reserve(sim, 0, offsetof(struct sim_clocks, network_free_ns),
		                              bytes * 1000 / profile->all_mb));
	return (end ? end : tw_time_ns()) + profile->one_way_ns;
}

/* ---- losses and stalls ---- */

static bool sim_concerns(const struct sim *sim, const struct sim_event *event, unsigned node)
{
	if (!event->set || node == sim->inner.config.node ||
	    (event->node != node && event->node != sim->inner.config.node))
		return false;
	uint64_t now = tw_time_ns();
	return now >= event->from_ns && now < event->until_ns;
}

bool sim_reaches(struct sim *sim, unsigned node)
{
	if (sim_concerns(sim, &sim->stall, node))
		sim_wait_until(sim->stall.until_ns);
	return !sim_concerns(sim, &sim->lose, node);
}

void sim_must_reach(struct sim *sim, unsigned node)
{
	if (sim_reaches(sim, node))
		return;
	sim_wait_until(tw_time_ns() + SIM_GIVE_UP_NS);
	tw_fatal("the connection to %s is lost; the job is ended", tw_log_node(node));
}

void sim_overhead(struct sim *sim, unsigned node)
{
	if (sim_host(sim, node) == sim_host(sim, sim->inner.config.node))
		return;
	tw_charge(TW_COST_overhead, 1);
	if (sim->profile->overhead_ns && !sim->in_order)
		sim_wait_until(tw_time_ns() + sim->profile->overhead_ns);
}

/* ---- settings ---- */

static const char *const *sim_profile_names(void)
{
	static const char *names[sizeof(sim_profiles) / sizeof(sim_profiles[0])];

	for (size_t i = 0; sim_profiles[i].name; i++)
		names[i] = sim_profiles[i].name;
	return names;
}

struct sim_parameters sim_values;
const struct tw_setting sim_parameters[] = {
    {"seed", TW_NUMBER(struct sim_parameters, seed, 0, UINT64_MAX), .initial = "1",
     .help = "of the random delays and reordering"},
    {"profile", TW_CHOICE(struct sim_parameters, profile, sim_profile_names), .initial = "none",
     .help = "latency and bandwidth"},
    {"lose", TW_TEXT(struct sim_parameters, lose), .initial = "", .help = "NODE@SECONDS, when a node's network dies"},
    {"stall", TW_TEXT(struct sim_parameters, stall), .initial = "",
     .help = "NODE@SECONDS+SECONDS, when a node's network stands still, and for how long"},
    {.name = NULL},
};

/* Digits with an optional fraction, as nanoseconds; *text moves behind them. */
static bool sim_seconds(const char **text, uint64_t *ns)
{
	char *end;
	double value = strtod(*text, &end);

	if (end == *text || !(value >= 0 && value <= 1e6))
		return false;
	*text = end;
	*ns = (uint64_t)(value * 1e9);
	return true;
}

/* "NODE@SECONDS", with "+SECONDS" if the event @ends; "": no event. */
static int sim_event_read(unsigned nodes, const char *name, const char *text, bool ends, struct sim_event *event)
{
	const char *at = text;
	uint64_t from, lasts = 0;
	char *end;

	if (!*text)
		return 0;
	unsigned long node = strtoul(at, &end, 10);
	bool ok = end != at && *end == '@' && node < nodes;
	at = end + 1;
	ok = ok && sim_seconds(&at, &from) && (!ends || (*at++ == '+' && sim_seconds(&at, &lasts))) && !*at;
	if (!ok) {
		tw_log("transport sim: %s is '%s', but must be NODE@SECONDS%s with a node below %u", name, text,
		       ends ? "+SECONDS" : "", nodes);
		return -EINVAL;
	}
	event->set = true;
	event->node = (unsigned)node;
	event->from_ns = tw_time_ns() + from;
	event->until_ns = ends ? event->from_ns + lasts : UINT64_MAX;
	return 0;
}

int sim_events(unsigned nodes, struct sim_event *lose, struct sim_event *stall)
{
	int error = sim_event_read(nodes, "lose", sim_values.lose, false, lose);

	return error ? error : sim_event_read(nodes, "stall", sim_values.stall, true, stall);
}

int sim_check(unsigned nodes)
{
	struct sim_event lose, stall;

	return sim_events(nodes, &lose, &stall);
}
