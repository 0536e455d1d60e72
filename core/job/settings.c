/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/job/settings.h"

#include <ctype.h>
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

#define CHOICES(function, ...)                                                                                         \
	static const char *const *function(void)                                                                       \
	{                                                                                                              \
		static const char *const names[] = {__VA_ARGS__, NULL};                                                \
		return names;                                                                                          \
	}
CHOICES(home_names, "first-touch", "after-init", "round-robin")
CHOICES(lock_names, "queue", "array")
CHOICES(profile_names, "none", "memory-channel", "memory-channel-2", "1gbe", "10gbe", "hdr")
CHOICES(shootdown_names, "auto", "protect", "polled", "interrupt")
CHOICES(huge_names, "auto", "on", "off")
CHOICES(switch_names, "0", "1")
CHOICES(bind_names, "auto", "none", "core", "numa", "package")
CHOICES(race_names, "off", "ww")

#define K ((uint64_t)1 << 10)
#define M ((uint64_t)1 << 20)
#define G ((uint64_t)1 << 30)
#define T ((uint64_t)1 << 40)
#define NUMBER(f, lo, hi)                                                                                              \
	.type = TW_SETTING_NUMBER, .offset = offsetof(struct tw_config, f), .bytes = 8, .min = lo, .max = hi
#define SIZE(f, lo, hi)                                                                                                \
	.type = TW_SETTING_SIZE, .offset = offsetof(struct tw_config, f), .bytes = 8, .min = lo, .max = hi
#define STRING(f)    .offset = offsetof(struct tw_config, f), .bytes = sizeof(((struct tw_config *)0)->f)
#define CHOICE(f, c) .type = TW_SETTING_CHOICE, STRING(f), .choices = c

const struct tw_setting tw_settings[] = {
    {"TWEED_NODES", "nodes", 'n', NUMBER(nodes, 1, TW_MAX_NODES), .initial = "1", .help = "nodes of the job"},
    {"TWEED_PROCESSORS", "processors", 'p', NUMBER(processors, 1, TW_MAX_PROCESSORS), .initial = "1",
     .help = "processors of each node"},
    {"TWEED_PROTOCOL", "protocol", 0, CHOICE(protocol, protocol_names), .initial = "2L", .help = "coherence protocol"},
    {"TWEED_FAULT", "fault", 0, CHOICE(fault, fault_names), .initial = "auto",
     .help = "how accesses are trapped; auto: the fastest that works here"},
    {"TWEED_SHOOTDOWN", "shootdown", 0, CHOICE(shootdown, shootdown_names), .initial = "auto",
     .help = "how a protocol takes write rights from neighbours; auto: protect, else polled"},
    {"TWEED_TRANSPORT", "transport", 0, CHOICE(transport, transport_names), .initial = "shm",
     .help = "how bytes travel between nodes"},
    {"TWEED_NET_INTERFACE", "net-interface", 0, .type = TW_SETTING_TEXT, STRING(net_interface), .initial = "",
     .help = "network that nodes use: an interface (eth0), an address or a subnet (10.0.0.0/24); empty: any"},
    {"TWEED_NET_DEVICE", "net-device", 0, .type = TW_SETTING_TEXT, STRING(net_device), .initial = "",
     .help = "RDMA device, as DEVICE or DEVICE:PORT; empty: the one of the interface"},
    {"TWEED_NET_PROVIDER", "net-provider", 0, .type = TW_SETTING_TEXT, STRING(net_provider), .initial = "",
     .help = "libfabric's provider for the ofi transport; empty: tcp"},
    {"TWEED_PAGE_SIZE", "page-size", 0, SIZE(page_size, 4 * K, 64 * K), .power_of_two = true, .initial = "4K",
     .help = "coherence unit"},
    {"TWEED_MEMORY", "memory", 0, SIZE(memory, 2 * M, T), .initial = MEMORY_INITIAL,
     .help = "shared memory; sparse, costs nothing until touched; a multiple of 2M"},
    {"TWEED_SEGMENT", "segment", 0, SIZE(segment, 0, T), .initial = "auto",
     .help = "symmetric memory of each processor, for OpenSHMEM and global pointers; sparse; auto: 1G where memory is "
             "not pinned"},
    {"TWEED_COLLECTIVES", "collectives", 0, .type = TW_SETTING_TEXT, STRING(collectives), .initial = "",
     .help = "OpenSHMEM: CALL=ALGORITHM,... in place of the table below"},
    {"TWEED_SHMEM_CHECK", "shmem-check", 0, .type = TW_SETTING_SWITCH, STRING(shmem_check), .initial = "0",
     .choices = switch_names, .help = "OpenSHMEM: check calls, and those of collectives beside each other"},
    {"TWEED_SUPERPAGE", "superpage", 0, NUMBER(superpage, 1, 512), .power_of_two = true, .initial = "1",
     .help = "pages that get a home together"},
    {"TWEED_HOME", "home", 0, CHOICE(home, home_names), .initial = "first-touch", .help = "who becomes a page's home"},
    {"TWEED_PREFETCH", "prefetch", 0, NUMBER(prefetch, 0, 256), .initial = "32",
     .help = "most pages read or written ahead; 0: none"},
    {"TWEED_UPDATES", "updates", 0, NUMBER(updates, 0, 255), .initial = "8",
     .help = "most times that acquires update a fetched page in place before one unmaps it; 0: always unmap"},
    {"TWEED_KEEP", "keep", 0, NUMBER(keep, 0, 255), .initial = "3",
     .help = "most releases that leave a rewritten page writable without a change found; 0: none"},
    {"TWEED_DIFF_UNIT", "diff-unit", 0, NUMBER(diff_unit, 1, 8), .power_of_two = true, .initial = "1",
     .help = "bytes that are taken from one writer or the other, whole; for programs that race by design"},
    {"TWEED_SIGNATURE", "signature", 0, NUMBER(signature, 1, 4096), .initial = "1024",
     .help = "TS: write notices that a node remembers"},
    {"TWEED_LEASE", "lease", 0, NUMBER(lease, 0, 1000000), .initial = "10",
     .help = "TS: logical time for which a copy is granted"},
    {"TWEED_LEASE_DOUBLINGS", "lease-doublings", 0, NUMBER(lease_doublings, 0, 16), .initial = "6",
     .help = "TS: how often at most the lease of a page that does not change is doubled; 0: never"},
    {"TWEED_TWINS", "twins", 0, SIZE(twins, M, T), .initial = "256M",
     .help = "most memory for twins per node before pages are flushed early"},
    {"TWEED_LOCK", "lock", 0, CHOICE(lock, lock_names), .initial = "queue", .help = "how locks work between nodes"},
    {"TWEED_SYNC_OBJECTS", "sync-objects", 0, NUMBER(sync_objects, 64, 1 << 22), .initial = "65536",
     .help = "locks, barriers and flags per node"},
    {"TWEED_STATS", "stats", 0, .type = TW_SETTING_TEXT, STRING(stats), .initial = "",
     .help = "statistics at the end: 'summary' on standard error, else a file for JSON"},
    {"TWEED_SEED", "seed", 0, NUMBER(seed, 0, UINT64_MAX), .initial = "1", .help = "seed of the sim transport"},
    {"TWEED_PROFILE", "profile", 0, CHOICE(profile, profile_names), .initial = "none",
     .help = "latency and bandwidth of the sim transport"},
    {"TWEED_SIM_LOSE", "sim-lose", 0, .type = TW_SETTING_TEXT, STRING(sim_lose), .initial = "",
     .help = "sim: NODE@SECONDS, when a node's network dies"},
    {"TWEED_SIM_STALL", "sim-stall", 0, .type = TW_SETTING_TEXT, STRING(sim_stall), .initial = "",
     .help = "sim: NODE@SECONDS+SECONDS, when a node's network stands still, and for how long"},
    {"TWEED_SPIN", "spin", 0, NUMBER(spin_us, 0, 10000), .initial = "auto",
     .help = "microseconds that a wait spins before it sleeps"},
    {"TWEED_HUGE", "huge", 0, CHOICE(huge, huge_names), .initial = "auto", .help = "huge pages for the nodes' memory"},
    {"TWEED_TAG", "tag", 0, .type = TW_SETTING_SWITCH, STRING(tag), .initial = "0", .choices = switch_names,
     .help = "prefix output lines with [node.processor]"},
    {"TWEED_HOSTS", "hosts", 0, .type = TW_SETTING_TEXT, STRING(hosts), .initial = "",
     .help = "hosts that the nodes run on, as HOST[:NODES],...; empty: emulated nodes here"},
    {"TWEED_HOSTFILE", "hostfile", 0, .type = TW_SETTING_TEXT, STRING(hostfile), .initial = "",
     .help = "a file with the same, separated by white space; # begins a comment"},
    {"TWEED_RSH", "rsh", 0, .type = TW_SETTING_TEXT, STRING(rsh), .initial = "ssh",
     .help = "command that runs another on a host: COMMAND HOST TEXT; its words are separated by blanks"},
    {"TWEED_REMOTE_TWEED", "remote-tweed", 0, .type = TW_SETTING_TEXT, STRING(remote_tweed), .initial = "",
     .help = "path of tweed on the hosts; empty: the same as here"},
    {"TWEED_WATCH", "watch", 0, NUMBER(watch, 0, 86400), .initial = "10",
     .help = "seconds of silence after which an agent, a host or a link is given up, and of waiting if all processors "
             "wait; 0: never"},
    {"TWEED_BIND", "bind", 0, CHOICE(bind, bind_names), .initial = "auto",
     .help = "where a processor may run; auto: a core of its own, on several hosts and if there are enough"},
    {"TWEED_OVERSUBSCRIBE", "oversubscribe", 0, .type = TW_SETTING_SWITCH, STRING(oversubscribe), .initial = "0",
     .choices = switch_names, .help = "emulated nodes: run more processors than this host's cores and memory hold"},
    {"TWEED_SHOW_BINDING", "show-binding", 0, .type = TW_SETTING_SWITCH, STRING(show_binding), .initial = "0",
     .choices = switch_names, .help = "say where each processor may run"},
    {"TWEED_SURVIVE", "survive", 0, .type = TW_SETTING_SWITCH, STRING(survive), .initial = "0", .choices = switch_names,
     .help = "global pointers: the job goes on when a processor or a node dies"},
    {"TWEED_RACE", "race", 0, .type = TW_SETTING_SWITCH, STRING(race), .initial = "off", .choices = race_names,
     .help = "report data races: ww, two nodes wrote a byte without synchronization between"},
    {"TWEED_TRACE", "trace", 0, .type = TW_SETTING_TEXT, STRING(trace), .initial = "",
     .help = "a file for what happens in the run, event by event; 'tweed report' draws it"},
    {"TWEED_TRACE_EVENTS", "trace-events", 0, NUMBER(trace_events, 256, 64 * M), .power_of_two = true,
     .initial = "65536", .help = "events that each processor keeps for the trace: the newest"},
    {"TWEED_PLANT", NULL, 0, .type = TW_SETTING_TEXT, STRING(plant), .initial = "",
     .help = "a planted bug; only in builds with -Dplant=true"},
    {.name = NULL},
};

/* Variables that are no settings: agents set them for processors, tweed cc for compilers. */
static const char *const internal_names[] = {"TWEED_BOOT", "TWEED_PROCESSOR", "TWEED_RANK", "TWEED_SIZE",
                                             "TWEED_COMPILING"};

/* ---- nearest name ----------------------------------------------------------------------------------------------- */

/* Edit distance in half steps: an edit costs 2, a change of case 1. */
static unsigned edit_distance(const char *a, const char *b)
{
	enum { LONGEST = 80 };
	unsigned row[LONGEST + 1];
	size_t la = strlen(a), lb = strlen(b);

	if (la > LONGEST || lb > LONGEST)
		return 2 * LONGEST;
	for (size_t j = 0; j <= lb; j++)
		row[j] = (unsigned)(2 * j);
	for (size_t i = 1; i <= la; i++) {
		unsigned corner = row[0];
		row[0] = (unsigned)(2 * i);
		for (size_t j = 1; j <= lb; j++) {
			unsigned char x = (unsigned char)a[i - 1], y = (unsigned char)b[j - 1];
			unsigned change = corner + (x == y ? 0 : tolower(x) == tolower(y) ? 1 : 2);
			corner = row[j];
			row[j] = TW_MIN(change, TW_MIN(row[j], row[j - 1]) + 2);
		}
	}
	return row[lb];
}

const char *tw_nearest(const char *text, const char *const *names)
{
	const char *best = NULL;
	size_t len = strlen(text);
	unsigned least = len < 3 ? 2 : len < 6 ? 4 : (unsigned)(len / 3 * 2);

	for (; *names; names++) {
		unsigned d = strcasecmp(text, *names) == 0 ? 1 : edit_distance(text, *names);
		if (d < least || (d == least && !best)) {
			least = d;
			best = *names;
		}
	}
	return best;
}

/* ---- text to value and back ------------------------------------------------------------------------------------- */

static bool may_be_auto(const struct tw_setting *s)
{
	return (s->type == TW_SETTING_NUMBER || s->type == TW_SETTING_SIZE) && strcmp(s->initial, "auto") == 0;
}

static void format_value(const struct tw_setting *s, uint64_t value, char *out, size_t bytes)
{
	static const char suffix[] = "TGMK";
	if (may_be_auto(s) && value == UINT64_MAX) {
		snprintf(out, bytes, "auto");
		return;
	}
	for (unsigned i = 0; s->type == TW_SETTING_SIZE && i < 4; i++) {
		unsigned shift = 40 - 10 * i;
		if (value && value % ((uint64_t)1 << shift) == 0) {
			snprintf(out, bytes, "%" PRIu64 "%c", value >> shift, suffix[i]);
			return;
		}
	}
	snprintf(out, bytes, "%" PRIu64, value);
}

void tw_config_text(const struct tw_config *config, const struct tw_setting *s, char *out, size_t bytes)
{
	const char *field = (const char *)config + s->offset;
	switch (s->type) {
	case TW_SETTING_NUMBER:
	case TW_SETTING_SIZE:
		format_value(s, *(const uint64_t *)(const void *)field, out, bytes);
		break;
	case TW_SETTING_SWITCH:
		snprintf(out, bytes, "%s", s->choices()[*(const bool *)(const void *)field]);
		break;
	case TW_SETTING_CHOICE:
	case TW_SETTING_TEXT:
		snprintf(out, bytes, "%s", field);
		break;
	}
}

/* Parse the whole of @text as a number; sizes may end in K, M, G or T. */
static bool parse_number(const char *text, bool size, uint64_t *value)
{
	char *end;
	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	uint64_t v = strtoull(text, &end, 10);
	if (errno)
		return false;
	if (size && *end) {
		const char *at = strchr("KMGT", toupper((unsigned char)*end));
		unsigned shift = at ? 10 * (unsigned)(at - "KMGT" + 1) : 0;
		if (!at || v > UINT64_MAX >> shift)
			return false;
		v <<= shift;
		end++;
	}
	if (*end)
		return false;
	*value = v;
	return true;
}

/* The setting as the user wrote it: "TWEED_NODES", "-n" or "--page-size". */
static const char *subject(const struct tw_setting *s, enum tw_origin origin, char *out, size_t bytes)
{
	if (origin != TW_ORIGIN_OPTION || !s->option)
		return s->name;
	snprintf(out, bytes, s->letter ? "-%.1s" : "--%s", s->letter ? &s->letter : s->option);
	return out;
}

static int set_number(struct tw_config *config, const struct tw_setting *s, const char *text, const char *who,
                      char *error, size_t error_bytes)
{
	uint64_t *field = (uint64_t *)(void *)((char *)config + s->offset), value;
	char lo[32], hi[32];

	if (may_be_auto(s) && strcmp(text, "auto") == 0) {
		*field = UINT64_MAX;
		return 0;
	}
	bool parsed = parse_number(text, s->type == TW_SETTING_SIZE, &value);
	if (parsed && value >= s->min && value <= s->max && (!s->power_of_two || (value & (value - 1)) == 0)) {
		*field = value;
		return 0;
	}
	format_value(s, s->min, lo, sizeof(lo));
	format_value(s, s->max, hi, sizeof(hi));
	snprintf(error, error_bytes, "%s is '%s', but must be a %s from %s to %s%s", who, text,
	         s->power_of_two              ? "power of two"
	         : s->type == TW_SETTING_SIZE ? "size"
	                                      : "whole number",
	         lo, hi, may_be_auto(s) ? ", or auto" : "");
	return -EINVAL;
}

/* A protocol given as FAMILY:PARAMETER=VALUE,... */
static int set_family(struct tw_config *config, const char *text, const char *who, char *error, size_t error_bytes)
{
	if (strlen(text) < sizeof(config->protocol) && tw_protocol_find(text)) {
		snprintf(config->protocol, sizeof(config->protocol), "%s", text);
		return 0;
	}
	snprintf(error, error_bytes, "%s is '%s', but %s", who, text, tw_protocol_why());
	return -EINVAL;
}

static int set_choice(struct tw_config *config, const struct tw_setting *s, const char *text, const char *who,
                      char *error, size_t error_bytes)
{
	const char *const *names = s->choices();
	char *field = (char *)config + s->offset;
	char list[512] = "";
	size_t n = 0;

	for (size_t i = 0; names[i]; i++) {
		if (strcmp(names[i], text) == 0) {
			if (s->type == TW_SETTING_SWITCH)
				*(bool *)(void *)field = i == 1;
			else
				snprintf(field, s->bytes, "%s", text);
			return 0;
		}
		if (n < sizeof(list))
			n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s", i ? ", " : "", names[i]);
	}
	if (s->offset == offsetof(struct tw_config, protocol) && strchr(text, ':'))
		return set_family(config, text, who, error, error_bytes);
	const char *near = tw_nearest(text, names);
	snprintf(error, error_bytes, "%s is '%s', but must be one of %s%s%s%s", who, text, list,
	         near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
	return -EINVAL;
}

int tw_config_set(struct tw_config *config, enum tw_origin *origins, const struct tw_setting *s, const char *text,
                  enum tw_origin origin, char *error, size_t error_bytes)
{
	char option[64];
	const char *who = subject(s, origin, option, sizeof(option));
	int status = 0;

	switch (s->type) {
	case TW_SETTING_NUMBER:
	case TW_SETTING_SIZE:
		status = set_number(config, s, text, who, error, error_bytes);
		break;
	case TW_SETTING_CHOICE:
	case TW_SETTING_SWITCH:
		status = set_choice(config, s, text, who, error, error_bytes);
		break;
	case TW_SETTING_TEXT:
		if (strlen(text) >= s->bytes) {
			snprintf(error, error_bytes, "%s is longer than the %zu bytes it may have", who, s->bytes - 1);
			return -EINVAL;
		}
		strcpy((char *)config + s->offset, text);
		break;
	}
	if (status == 0 && origins)
		origins[s - tw_settings] = origin;
	return status;
}

void tw_config_init(struct tw_config *config, enum tw_origin *origins)
{
	char error[256];
	memset(config, 0, sizeof(*config)); /* the padding too: the struct is passed between processes */
	for (const struct tw_setting *s = tw_settings; s->name; s++)
		if (tw_config_set(config, origins, s, s->initial, TW_ORIGIN_DEFAULT, error, sizeof(error)) < 0)
			tw_fatal("internal error: the default of %s: %s", s->name, error);
	config->host_nodes = 1;
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

int tw_config_environment(struct tw_config *config, enum tw_origin *origins, char *const *environment, char *error,
                          size_t error_bytes)
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
		int status = tw_config_set(config, origins, s, equals + 1, TW_ORIGIN_ENVIRONMENT, error, error_bytes);
		if (status < 0)
			return status;
	}
	return 0;
}

int tw_config_check(const struct tw_config *c, char *error, size_t error_bytes)
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
