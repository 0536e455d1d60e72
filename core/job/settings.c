/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/job/settings.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/base.h"
#include "tweed/driver/protocol.h"

#define PREFIX     "TWEED_"
#define PREFIX_LEN (sizeof(PREFIX) - 1)
#define MAX_NAMES  64
/* tsan has 1.5 TiB of addresses for all mappings of a process. */
#define MEMORY_INITIAL (TW_TSAN ? "16G" : "64G")
#define COUNT_OF(a)    (sizeof(a) / sizeof((a)[0]))

/* The registries' names as arrays. Filled by the only thread that reads the configuration. */
static const char *const *protocol_names(void)
{
	static const char *names[MAX_NAMES + 1];
	const struct tw_protocol *const *list = tw_protocol_list();
	for (size_t i = 0; list[i] && i < MAX_NAMES; i++)
		names[i] = list[i]->name;
	return names;
}

static const char *const *fault_names(void)
{
	static const char *names[MAX_NAMES + 1] = {"auto"};
	const struct tw_fault_ops *const *list = tw_fault_list();
	for (size_t i = 0; list[i] && i + 1 < MAX_NAMES; i++)
		names[i + 1] = list[i]->name;
	return names;
}

static const char *const *transport_names(void)
{
	static const char *names[MAX_NAMES + 1];
	const struct tw_transport *const *list = tw_transport_list();
	for (size_t i = 0; list[i] && i < MAX_NAMES; i++)
		names[i] = list[i]->name;
	return names;
}

static const char *protocol_refuses(const char *text)
{
	return tw_protocol_find(text) ? NULL : tw_protocol_why();
}

static const char *transport_refuses(const char *text)
{
	return tw_transport_find(text) ? NULL : tw_transport_why();
}

TW_CHOICES(home_names, "first-touch", "after-init", "round-robin")
TW_CHOICES(lock_names, "queue", "array")
TW_CHOICES(release_names, "lazy", "eager")
TW_CHOICES(shootdown_names, "auto", "protect", "polled", "interrupt")
TW_CHOICES(huge_names, "auto", "on", "off")
TW_CHOICES(switch_names, "0", "1")
TW_CHOICES(bind_names, "auto", "none", "core", "numa", "package")
TW_CHOICES(race_names, "off", "ww")
TW_CHOICES(time_names, "real", "virtual")

#define K                 ((uint64_t)1 << 10)
#define M                 ((uint64_t)1 << 20)
#define G                 ((uint64_t)1 << 30)
#define T                 ((uint64_t)1 << 40)
#define NUMBER(f, lo, hi) TW_NUMBER(struct tw_settings, f, lo, hi)
#define SIZE(f, lo, hi)   TW_SIZE(struct tw_settings, f, lo, hi)
#define TEXT(f)           TW_TEXT(struct tw_settings, f)
#define NAME(f, c)        TW_NAME(struct tw_settings, f, c)
#define CHOICE(f, c)      TW_CHOICE(struct tw_settings, f, c)

const struct tw_setting tw_settings[] = {
    {"TWEED_NODES", "nodes", 'n', NUMBER(config.nodes, 1, TW_MAX_NODES), .initial = "1", .group = "Job",
     .help = "nodes of the job"},
    {"TWEED_PROCESSORS", "processors", 'p', NUMBER(config.processors, 1, TW_MAX_PROCESSORS), .initial = "1",
     .help = "processors of each node"},
    {"TWEED_HOSTS", "hosts", 0, TEXT(launch.hosts), .initial = "",
     .help = "hosts that the nodes run on, as HOST[:NODES],...; empty: emulated nodes here"},
    {"TWEED_HOSTFILE", "hostfile", 0, TEXT(launch.hostfile), .initial = "",
     .help = "a file with the same, separated by white space; # begins a comment"},
    {"TWEED_RSH", "rsh", 0, TEXT(launch.rsh), .initial = "ssh",
     .help = "command that runs another on a host: COMMAND HOST TEXT; its words are separated by blanks"},
    {"TWEED_REMOTE_TWEED", "remote-tweed", 0, TEXT(launch.remote_tweed), .initial = "",
     .help = "path of tweed on the hosts; empty: the same as here"},
    {"TWEED_BIND", "bind", 0, NAME(launch.bind, bind_names), .initial = "auto",
     .help = "where a processor may run; auto: a core of its own, on several hosts and if there are enough"},
    {"TWEED_SHOW_BINDING", "show-binding", 0, CHOICE(launch.show_binding, switch_names), .initial = "0",
     .help = "say where each processor may run"},
    {"TWEED_OVERSUBSCRIBE", "oversubscribe", 0, CHOICE(launch.oversubscribe, switch_names), .initial = "0",
     .help = "emulated nodes: run more processors than this host's cores and memory hold"},
    {"TWEED_WATCH", "watch", 0, NUMBER(config.watch, 0, 86400), .initial = "10",
     .help = "seconds of silence after which an agent, a host or a link is given up, and with hosts of waiting if all "
             "processors wait; 0: never"},
    {"TWEED_SURVIVE", "survive", 0, CHOICE(config.survive, switch_names), .initial = "0",
     .help = "global pointers: the job goes on when a processor or a node dies"},
    {"TWEED_SPIN", "spin", 0, NUMBER(config.spin_us, 0, 10000), .initial = "auto",
     .help = "microseconds that a wait spins before it sleeps"},
    {"TWEED_TAG", "tag", 0, CHOICE(launch.tag, switch_names), .initial = "0",
     .help = "prefix output lines with [node.processor]"},
    {"TWEED_PROTOCOL", "protocol", 0, NAME(config.protocol, protocol_names), .initial = "2L",
     .refuse = protocol_refuses, .group = "Coherence",
     .help = "coherence protocol, and its parameters: NAME[:PARAMETER=VALUE,...]"},
    {"TWEED_FAULT", "fault", 0, NAME(config.fault, fault_names), .initial = "auto",
     .help = "how accesses are trapped; auto: the fastest that works here"},
    {"TWEED_SHOOTDOWN", "shootdown", 0, NAME(config.shootdown, shootdown_names), .initial = "auto",
     .help = "how a protocol takes write rights from neighbours; auto: protect, else polled"},
    {"TWEED_PAGE_SIZE", "page-size", 0, SIZE(config.page_size, 4 * K, 64 * K), .power_of_two = true, .initial = "4K",
     .help = "coherence unit"},
    {"TWEED_MEMORY", "memory", 0, SIZE(config.memory, 2 * M, T), .initial = MEMORY_INITIAL,
     .help = "shared memory; sparse, costs nothing until touched; a multiple of 2M"},
    {"TWEED_HUGE", "huge", 0, NAME(config.huge, huge_names), .initial = "auto",
     .help = "huge pages for the nodes' memory"},
    {"TWEED_SUPERPAGE", "superpage", 0, NUMBER(config.superpage, 1, 512), .power_of_two = true, .initial = "1",
     .help = "pages that get a home together"},
    {"TWEED_HOME", "home", 0, NAME(config.home, home_names), .initial = "first-touch",
     .help = "who becomes a page's home"},
    {"TWEED_PREFETCH", "prefetch", 0, NUMBER(config.prefetch, 0, 256), .initial = "32",
     .help = "most pages read or written ahead; 0: none"},
    {"TWEED_DIFF_UNIT", "diff-unit", 0, NUMBER(config.diff_unit, 1, 8), .power_of_two = true, .initial = "1",
     .help = "bytes that are taken from one writer or the other, whole; for programs that race by design"},
    {"TWEED_TWINS", "twins", 0, SIZE(config.twins, M, T), .initial = "256M",
     .help = "most memory for twins per node before pages are flushed early"},
    {"TWEED_LOCK", "lock", 0, NAME(config.lock, lock_names), .initial = "queue",
     .help = "how locks work between nodes"},
    {"TWEED_RELEASE", "release", 0, NAME(config.release, release_names), .initial = "lazy",
     .help = "when a lock or an atomic operation sends what was stored: when another node acquires, or at once"},
    {"TWEED_SYNC_OBJECTS", "sync-objects", 0, NUMBER(config.sync_objects, 64, 1 << 22), .initial = "65536",
     .help = "locks, barriers and flags per node; of POSIX's mutexes those in use"},
    {"TWEED_TRANSPORT", "transport", 0, NAME(config.transport, transport_names), .initial = "shm",
     .refuse = transport_refuses, .group = "Network",
     .help = "how bytes travel between nodes; sim takes parameters as a protocol does"},
    {"TWEED_NET_INTERFACE", "net-interface", 0, TEXT(config.net_interface), .initial = "",
     .help = "network that nodes use: an interface (eth0), an address or a subnet (10.0.0.0/24); empty: any"},
    {"TWEED_NET_DEVICE", "net-device", 0, TEXT(config.net_device), .initial = "",
     .help = "RDMA device, as DEVICE or DEVICE:PORT; empty: the one of the interface"},
    {"TWEED_NET_PROVIDER", "net-provider", 0, TEXT(config.net_provider), .initial = "",
     .help = "libfabric's provider for the ofi transport; empty: tcp"},
    {"TWEED_SEGMENT", "segment", 0, SIZE(config.segment, 0, T), .initial = "auto",
     .group = "OpenSHMEM and global pointers",
     .help = "symmetric memory of each processor, for OpenSHMEM and global pointers; sparse; auto: 1G where memory is "
             "not pinned"},
    {"TWEED_SHMEM_CHECK", "shmem-check", 0, CHOICE(config.shmem_check, switch_names), .initial = "0",
     .help = "OpenSHMEM: check calls, and those of collectives beside each other"},
    {"TWEED_COLLECTIVES", "collectives", 0, TEXT(config.collectives), .initial = "",
     .help = "OpenSHMEM: CALL=ALGORITHM,... in place of the table that 'tweed info' shows"},
    {"TWEED_STATS", "stats", 0, TEXT(config.stats), .initial = "", .group = "Observation",
     .help = "statistics at the end: 'summary' on standard error, else a file for JSON"},
    {"TWEED_TRACE", "trace", 0, TEXT(config.trace), .initial = "",
     .help = "a file for what happens in the run, event by event; 'tweed report' draws it"},
    {"TWEED_TRACE_EVENTS", "trace-events", 0, NUMBER(config.trace_events, 256, 64 * M), .power_of_two = true,
     .initial = "65536", .help = "events that each processor keeps for the trace: the newest"},
    {"TWEED_RACE", "race", 0, CHOICE(config.race, race_names), .initial = "off",
     .help = "report data races: ww, two nodes wrote a byte without synchronization between"},
    {"TWEED_CORE_SHARED", "core-shared", 0, CHOICE(config.core_shared, switch_names), .initial = "0",
     .help = "core files contain shared memory, too, as the processor that died had it"},
    {"TWEED_PLANT", NULL, 0, TEXT(config.plant), .initial = "",
     .help = "a planted bug; only in builds with -Dplant=true"},
    {"TWEED_TIME", "time", 0, NAME(launch.time, time_names), .initial = "real", .group = "Virtual time",
     .help = "virtual: the clock is that of another machine, and the answer is computed here"},
    {"TWEED_MACHINE", "machine", 0, TEXT(launch.machine), .initial = "hdr",
     .help = "the machine of virtual time: a file of results/machines, or a path, and :COST=NUMBER,..."},
    {.name = NULL},
};

/* Variables that are no settings: agents set them for processors, tweed cc for compilers. */
static const char *const internal_names[] = {"TWEED_BOOT", "TWEED_PROCESSOR", "TWEED_RANK", "TWEED_SIZE",
                                             "TWEED_COMPILING"};

/* The setting as the user wrote it: "TWEED_NODES", "-n" or "--page-size". */
static const char *subject(const struct tw_setting *s, enum tw_origin origin, char *out, size_t bytes)
{
	if (origin != TW_ORIGIN_OPTION || !s->option)
		return s->name;
	snprintf(out, bytes, s->letter ? "-%.1s" : "--%s", s->letter ? &s->letter : s->option);
	return out;
}

int tw_settings_set(struct tw_settings *settings, enum tw_origin *origins, const struct tw_setting *s, const char *text,
                    enum tw_origin origin, char *error, size_t error_bytes)
{
	char option[64];
	int status = tw_setting_set(settings, s, subject(s, origin, option, sizeof(option)), text, error, error_bytes);

	if (status == 0 && origins)
		origins[s - tw_settings] = origin;
	return status;
}

void tw_settings_init(struct tw_settings *settings, enum tw_origin *origins)
{
	memset(settings, 0, sizeof(*settings)); /* the padding too: the struct is passed between processes */
	tw_parameters_init(settings, tw_settings);
	for (size_t i = 0; origins && tw_settings[i].name; i++)
		origins[i] = TW_ORIGIN_DEFAULT;
	settings->config.host_nodes = 1;
}

static const struct tw_setting *find_setting(const char *name, size_t len)
{
	for (const struct tw_setting *s = tw_settings; s->name; s++)
		if (strlen(s->name) == len && memcmp(s->name, name, len) == 0)
			return s;
	return NULL;
}

static bool is_internal(const char *name, size_t len)
{
	for (size_t i = 0; i < COUNT_OF(internal_names); i++)
		if (strlen(internal_names[i]) == len && memcmp(internal_names[i], name, len) == 0)
			return true;
	return false;
}

static int unknown_variable(const char *name, size_t len, char *error, size_t error_bytes)
{
	const char *names[MAX_NAMES + 1];
	char text[80];
	size_t n = 0;

	/* Compare what follows the common prefix; otherwise every name would be near. */
	for (const struct tw_setting *s = tw_settings; s->name && n < MAX_NAMES; s++)
		names[n++] = s->name + PREFIX_LEN;
	names[n] = NULL;
	snprintf(text, sizeof(text), "%.*s", (int)TW_MIN(len, sizeof(text) - 1), name);
	const char *near = tw_nearest(text + PREFIX_LEN, names);
	if (near)
		snprintf(error, error_bytes, "%s in the environment is no setting; did you mean " PREFIX "%s?", text,
		         near);
	else
		snprintf(error, error_bytes, "%s in the environment is no setting; 'tweed info' lists them, unset it",
		         text);
	return -EINVAL;
}

int tw_settings_environment(struct tw_settings *settings, enum tw_origin *origins, char *const *environment,
                            char *error, size_t error_bytes)
{
	for (; *environment; environment++) {
		const char *name = *environment, *equals = strchr(name, '=');
		if (strncmp(name, PREFIX, PREFIX_LEN) != 0 || !equals)
			continue;
		size_t len = (size_t)(equals - name);
		if (is_internal(name, len))
			continue;
		const struct tw_setting *s = find_setting(name, len);
		if (!s)
			return unknown_variable(name, len, error, error_bytes);
		int status =
		    tw_settings_set(settings, origins, s, equals + 1, TW_ORIGIN_ENVIRONMENT, error, error_bytes);
		if (status < 0)
			return status;
	}
	return 0;
}

int tw_settings_check(const struct tw_config *c, char *error, size_t error_bytes)
{
	const struct tw_protocol *protocol = tw_protocol_find(c->protocol);
	if (protocol && (protocol->flags & TW_PROTOCOL_ONE_NODE) && c->nodes > 1) {
		snprintf(error, error_bytes,
		         "protocol %s is for one node, but %" PRIu64 " are asked for; use -n 1 or another protocol",
		         c->protocol, c->nodes);
		return -EINVAL;
	}
	if (protocol && (protocol->flags & TW_PROTOCOL_ONE_LEVEL) && c->nodes * c->processors > TW_MAX_NODES) {
		snprintf(error, error_bytes,
		         "protocol %s makes a node of each processor, but %" PRIu64 " are more than %d; ask for fewer",
		         c->protocol, c->nodes * c->processors, TW_MAX_NODES);
		return -EINVAL;
	}
	const char *refused = protocol && protocol->refuse ? protocol->refuse(protocol, c) : NULL;
	if (refused) {
		snprintf(error, error_bytes, "%s", refused);
		return -EINVAL;
	}
	if (protocol && !(protocol->flags & TW_PROTOCOL_RACES) && c->race) {
		snprintf(error, error_bytes,
		         "TWEED_RACE is ww, but protocol %s does not look for races; use another protocol, as 2L or "
		         "TS, or TWEED_RACE=off",
		         c->protocol);
		return -EINVAL;
	}
	uint64_t unit = TW_MAX(TW_HUGE_BYTES, c->page_size * c->superpage);
	if (c->memory % unit) {
		snprintf(error, error_bytes,
		         "TWEED_MEMORY is %" PRIu64 " bytes, but must be a multiple of %" PRIu64
		         "M with these pages and superpages",
		         c->memory, unit / M);
		return -EINVAL;
	}
#ifndef TW_PLANT
	if (c->plant[0]) {
		snprintf(
		    error, error_bytes,
		    "TWEED_PLANT is '%s', but this build has no planted bugs; unset it, or build with -Dplant=true",
		    c->plant);
		return -EINVAL;
	}
#endif
	return 0;
}
