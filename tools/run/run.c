/* SPDX-License-Identifier: BSD-3-Clause */
/* run.c - `tweed run`: checks everything before it starts anything. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/base.h"
#include "pgas/shmem/collective/table.h"
#include "tools/run/machine.h"
#include "tools/run/program.h"
#include "tools/run/run.h"
#include "tools/tools.h"
#include "tools/trace/collect.h"
#include "tweed/driver/fault.h"
#include "tweed/driver/protocol.h"
#include "tweed/driver/transport.h"

/* Limits of emulated nodes on a host.  A processor needs about 2 MiB of its own, including page tables for its view of
 * each node. */
#define RUN_CORE_PROCESSORS 256
#define RUN_PROCESSOR_BYTES ((uint64_t)2 << 20)
#define RUN_VIEW_BYTES      ((uint64_t)24 << 10)

#define RUN_HELP_FROM  30 /* columns of options' help */
#define RUN_HELP_WIDTH 100

/* Print an option, and its help in lines of whole words. */
static void run_usage_option(const char *option, const char *help)
{
	int column = printf("  %-*s", RUN_HELP_FROM - 2, option);

	for (size_t word; *help; help += word + strspn(help + word, " ")) {
		word = strcspn(help, " ");
		if (column > RUN_HELP_FROM && column + 1 + (int)word > RUN_HELP_WIDTH)
			column = printf("\n%*s", RUN_HELP_FROM, "") - 1;
		column += printf("%s%.*s", column > RUN_HELP_FROM ? " " : "", (int)word, help);
	}
	printf("\n");
}

static void run_usage_setting(const struct tw_setting *s)
{
	char option[64], help[512];

	if (s->group)
		printf("\n%s\n", s->group);
	if (!s->option)
		return;
	snprintf(option, sizeof(option), "%c%c%c --%s%s", s->letter ? '-' : ' ', s->letter ? s->letter : ' ',
	         s->letter ? ',' : ' ', s->option, s->type == TW_SETTING_CHOICE ? "" : " VALUE");
	snprintf(help, sizeof(help), s->initial[0] ? "%s (%s)" : "%s", s->help, s->initial);
	run_usage_option(option, help);
}

static void run_usage(void)
{
	printf("usage: tweed run [OPTIONS] [--] PROGRAM ARGS...\n\n"
	       "Runs PROGRAM on NODES nodes of PROCESSORS processors each: on the hosts that are named, or emulated "
	       "here.\n\nExamples\n"
	       "  tweed run -n 2 -p 2 ./program 100                   two emulated nodes of two processors each\n"
	       "  tweed run --hosts a:2,b:2 -n 4 -p 8 ./program       on two hosts, two nodes each\n"
	       "  tweed run -n 4 --protocol TS --stats summary ./program\n"
	       "  tweed run -n 4 --trace run.trace ./program          then: tweed report run.trace\n"
	       "  tweed run -n 8 -p 4 --time virtual --machine hdr ./program\n");
	for (const struct tw_setting *s = tw_settings; s->name; s++)
		run_usage_setting(s);
	printf("\nOther\n");
	run_usage_option("    --env NAME[=VALUE]", "a variable for the processors' environment; may be repeated");
	run_usage_option("    --gdb", "processor 0 in gdb, which has the terminal");
	run_usage_option("    --valgrind", "processors under valgrind; VALGRIND_OPTS has its options");
	run_usage_option("    --perf", "a profile of each processor, in perf.data.RANK");
	printf(
	    "\nBehind each option is its default.  Each but these is also an environment variable, TWEED_NODES and so "
	    "on:\n'tweed info' shows them with their values, 'tweed info NAME' one of them.\n");
}

const struct tw_setting *run_find(const char *name, size_t len)
{
	for (const struct tw_setting *s = tw_settings; s->name; s++)
		if (s->option && strlen(s->option) == len && memcmp(s->option, name, len) == 0)
			return s;
	return NULL;
}

/* Options of other launchers. */
static bool run_foreign(const char *arg)
{
	static const char *const names[] = {"-np", "-N", "--np", "--ppn", "--ntasks", "--tasks-per-node"};
	size_t len = strcspn(arg, "=0123456789");

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strlen(names[i]) == len && memcmp(names[i], arg, len) == 0) {
			tool_say("%s is no option of 'tweed run': -n is the number of nodes, -p that of each node's "
			         "processors",
			         names[i]);
			return true;
		}
	return false;
}

static int run_unknown(const char *arg)
{
	const char *names[TOOL_SETTINGS_MAX + 1];
	char text[64];
	size_t n = 0;

	for (const struct tw_setting *s = tw_settings; s->name && n < TOOL_SETTINGS_MAX; s++)
		if (s->option)
			names[n++] = s->option;
	names[n] = NULL;
	snprintf(text, sizeof(text), "%.*s", (int)strcspn(arg, "="), arg);
	const char *near = strncmp(text, "--", 2) == 0 ? tw_nearest(text + 2, names) : NULL;
	if (near)
		tool_say("%s is no option of 'tweed run'; did you mean --%s?", text, near);
	else
		tool_say("%s is no option of 'tweed run'; 'tweed run --help' lists them", text);
	return -EINVAL;
}

int run_set(struct tool_job *job, const struct tw_setting *s, const char *value)
{
	char error[1024];
	int status = tw_settings_set(&job->settings, job->origins, s, value, TW_ORIGIN_OPTION, error, sizeof(error));
	if (status < 0)
		tool_say("%s", error);
	return status;
}

int run_variable(struct tool_job *job, const char *text)
{
	size_t name = strcspn(text, "=");
	const char *value = text[name] ? text + name + 1 : NULL;
	char **grown = realloc(job->variable, (job->variables + 1) * sizeof(*grown)), *entry = NULL;
	char key[256];

	snprintf(key, sizeof(key), "%.*s", (int)TW_MIN(name, sizeof(key) - 1), text);
	if (grown)
		job->variable = grown;
	if (!name || name >= sizeof(key)) {
		tool_say("--env is '%s', but must be NAME or NAME=VALUE", text);
	} else if (!value && !(value = getenv(key))) {
		tool_say("--env names '%s', which is not in the environment; write --env %s=VALUE", key, key);
	} else if (!grown || asprintf(&entry, "%s=%s", key, value) < 0) {
		tool_say("out of memory");
	} else {
		job->variable[job->variables++] = entry;
		return 0;
	}
	return -EINVAL;
}

/* Is @text a value of @s?  Then it is no program behind an option that may stand alone: --race ww. */
static bool run_chosen(const struct tw_setting *s, const char *text)
{
	for (const char *const *name = s->choices(); *name; name++)
		if (strcmp(*name, text) == 0)
			return true;
	return false;
}

/* Handle one option at argv[0], perhaps with its value at argv[1].  Returns how many arguments it took, or -EINVAL,
 * printed. */
static int run_option(struct tool_job *job, char **argv)
{
	const char *arg = argv[0], *value = NULL;
	const struct tw_setting *s = NULL;

	if (strncmp(arg, "--env", 5) == 0 && (!arg[5] || arg[5] == '=')) {
		if (!arg[5] && !argv[1]) {
			tool_say("--env needs a value: NAME or NAME=VALUE, for the processors' environment");
			return -EINVAL;
		}
		return run_variable(job, arg[5] ? arg + 6 : argv[1]) < 0 ? -EINVAL : arg[5] ? 1 : 2;
	}
	if (arg[1] == '-') {
		size_t len = strcspn(arg + 2, "=");
		s = run_find(arg + 2, len);
		value = arg[2 + len] ? arg + 2 + len + 1 : NULL;
	} else {
		for (const struct tw_setting *t = tw_settings; t->name && !s; t++)
			s = t->letter && t->letter == arg[1] ? t : NULL;
		value = arg[2] ? arg + 2 : NULL;
	}
	if (run_foreign(arg))
		return -EINVAL;
	if (!s && strncmp(arg, "--", 2) == 0 && under_find(arg + 2)) {
		job->under = under_find(arg + 2);
		return 1;
	}
	if (!s)
		return run_unknown(arg);
	if (value)
		return run_set(job, s, value) < 0 ? -EINVAL : 1;
	if (s->type == TW_SETTING_CHOICE) {
		bool follows = argv[1] && run_chosen(s, argv[1]);
		return run_set(job, s, follows ? argv[1] : s->choices()[1]) < 0 ? -EINVAL : 1 + follows;
	}
	if (!argv[1]) {
		tool_say("%s needs a value: %s", arg, s->help);
		return -EINVAL;
	}
	return run_set(job, s, argv[1]) < 0 ? -EINVAL : 2;
}

/* ---- the program ----------------------------------------------------------------------------------------------- */

bool tool_executable(const char *path, const char *program, bool quiet)
{
	struct stat st;
	const char *why = NULL;

	if (stat(path, &st) < 0)
		why = errno == ENOENT ? "does not exist; check the name" : strerror(errno);
	else if (S_ISDIR(st.st_mode))
		why = "is a directory; name a program in it";
	else if (!S_ISREG(st.st_mode))
		why = "is not a regular file; name a program";
	else if (access(path, X_OK) < 0)
		why = "is not executable; chmod +x it, or name a program";
	if (why && !quiet)
		tool_say("cannot run '%s': it %s", program, why);
	return !why;
}

char *run_find_program(const char *program)
{
	char path[PATH_MAX];
	struct stat st;

	if (strchr(program, '/'))
		return tool_executable(program, program, false) ? strdup(program) : NULL;
	const char *dirs = getenv("PATH");
	for (const char *at = dirs ? dirs : "/usr/local/bin:/usr/bin:/bin"; *program && at; at = *at ? at + 1 : NULL) {
		size_t len = strcspn(at, ":");
		snprintf(path, sizeof(path), "%.*s%s%s", (int)len, at, len ? "/" : "./", program);
		if (tool_executable(path, program, true))
			return strdup(path);
		at += len;
	}
	if (*program && stat(program, &st) == 0)
		tool_say("there is no program '%s' in PATH; for the one in this directory write './%s'", program,
		         program);
	else
		tool_say("there is no program '%s' in PATH; check the name, or give its path", program);
	return NULL;
}

/* ---- checks ---------------------------------------------------------------------------------------------------- */

int tool_resolve(struct tw_config *config)
{
	char why[256] = "";
	const struct tw_transport *transport = tw_transport_find(config->transport);
	const struct tw_protocol *protocol = tw_protocol_find(config->protocol);
	const struct tw_fault_ops *fault = tw_fault_find(config->fault);
	const char *shootdown = config->shootdown;

	if (!transport || transport->probe(why, sizeof(why)) < 0) {
		tool_say("transport %s does not work here, because %s; 'tweed info' lists those that do",
		         config->transport, why);
		return -ENOTSUP;
	}
	if (!fault || fault->probe(why, sizeof(why)) < 0) {
		tool_say("fault backend %s does not work here, because %s; use --fault auto", config->fault, why);
		return -ENOTSUP;
	}
	bool remote = fault->caps & TW_FAULT_REMOTE;
	if (strcmp(shootdown, "protect") == 0 && !remote) {
		tool_say("shootdown by protect is not usable here, because no process can change another's rights with "
		         "fault "
		         "backend %s; use --shootdown polled, or --fault uffd",
		         fault->name);
		return -ENOTSUP;
	}
	if ((protocol->flags & TW_PROTOCOL_REVOKES) && (fault->caps & TW_FAULT_THREAD)) {
		tool_say("protocol %s is not usable with fault backend %s, because it takes rights by signals; use "
		         "--fault uffd, or --fault mprotect",
		         protocol->name, fault->name);
		return -ENOTSUP;
	}
	if ((protocol->flags & TW_PROTOCOL_REVOKES) && strcmp(shootdown, "protect") == 0) {
		tool_say("protocol %s takes all rights, which shootdown by protect cannot; use --shootdown interrupt, "
		         "or polled",
		         protocol->name);
		return -ENOTSUP;
	}
	/* auto is replaced by the mechanism that is used, if the protocol has shootdowns. */
	if (strcmp(shootdown, "auto") == 0 && (protocol->flags & TW_PROTOCOL_SHOOTDOWN))
		shootdown = protocol->flags & TW_PROTOCOL_REVOKES ? "interrupt" : remote ? "protect" : "polled";
	snprintf(config->fault, sizeof(config->fault), "%s", fault->name);
	if (shootdown != config->shootdown)
		snprintf(config->shootdown, sizeof(config->shootdown), "%s", shootdown);
	return 0;
}

/* Each agent selects the drivers for its host.  On this host they are known now; on others they are not. */
static int run_check_drivers(struct tool_job *job)
{
	struct tw_config config = job->settings.config;
	int status = job->hosts.host ? 0 : tool_resolve(&config);

	snprintf(job->fault, sizeof(job->fault), "%s", config.fault);
	snprintf(job->shootdown, sizeof(job->shootdown), "%s", config.shootdown);
	return status;
}

/* The nodes are those of the hosts, or the first of them. */
static int run_check_hosts(struct tool_job *job, char *error, size_t error_bytes)
{
	const struct tw_setting *s = run_find("nodes", 5);
	const struct tw_transport *transport = tw_transport_find(job->settings.config.transport);
	int status = hosts_read(&job->settings.launch, &job->hosts, error, error_bytes);

	if (status < 0 || (!job->hosts.host && !job->settings.launch.several_hosts))
		return status;
	bool counted = job->settings.launch.several_hosts;
	if (!counted && job->origins[s - tw_settings] == TW_ORIGIN_DEFAULT)
		job->settings.config.nodes = job->hosts.nodes;
	if (!counted && job->settings.config.nodes > job->hosts.nodes) {
		snprintf(error, error_bytes,
		         "%u nodes are asked for, but the hosts have %u; write HOST:NODES for more on a host",
		         (unsigned)job->settings.config.nodes, job->hosts.nodes);
		return -EINVAL;
	}
	if (transport->caps & TW_NET_ONE_HOST) {
		snprintf(error, error_bytes,
		         "transport %s does not leave a host; use one that does: --transport, TWEED_TRANSPORT",
		         transport->name);
		return -EINVAL;
	}
	job->settings.launch.several_hosts = true;
	return 0;
}

/* Find the program's file, and apply its settings. */
static int run_program(struct tool_job *job)
{
	if (!job->argv[0]) {
		tool_say("no program is named: tweed run [OPTIONS] PROGRAM ARGS...");
		return -EINVAL;
	}
	if (!job->path)
		job->path = run_find_program(job->argv[0]);
	return job->path ? program_settings(job->path, &job->settings, job->origins) : -EINVAL;
}

static bool run_given(const struct tool_job *job, const char *option)
{
	return job->origins[run_find(option, strlen(option)) - tw_settings] != TW_ORIGIN_DEFAULT;
}

/* Members of the gate take turns: on one core, the next one is woken sooner. */
static void run_on_one_core(void)
{
	int core = sched_getcpu();
	cpu_set_t set;

	CPU_ZERO(&set);
	if (core >= 0 && core < CPU_SETSIZE) {
		CPU_SET(core, &set);
		sched_setaffinity(0, sizeof(set), &set);
	}
}

/* In virtual time the network is the machine's, and no thread beside the processor's performs releases. */
static int run_virtual(struct tool_job *job)
{
	struct tw_config *c = &job->settings.config;
	const char *wrong = NULL;

	c->virtual_time = strcmp(job->settings.launch.time, "virtual") == 0;
	if (!c->virtual_time && run_given(job, "machine"))
		wrong = "TWEED_MACHINE (--machine) is for virtual time: add --time virtual, or leave it out";
	else if (c->virtual_time && run_given(job, "transport"))
		wrong = "in virtual time the network is the machine's: leave TWEED_TRANSPORT (--transport) out, or "
		        "--time virtual";
	else if (c->virtual_time && strcmp(c->fault, "uffd-monitor") == 0)
		wrong =
		    "fault backend uffd-monitor serves faults in a thread that has no virtual time: use --fault auto";
	else if (c->virtual_time && c->survive)
		wrong = "in virtual time no processor may die: leave --survive out, or --time virtual";
	if (wrong) {
		tool_say("%s", wrong);
		return -EINVAL;
	}
	if (!c->virtual_time)
		return 0;
	snprintf(c->transport, sizeof(c->transport), "sim");
	snprintf(c->release, sizeof(c->release), "eager");
	c->spin_us = 0;
	run_on_one_core();
	return machine_read(job->settings.launch.machine, &c->costs);
}

static int run_check(struct tool_job *job)
{
	char error[1024];

	if (run_check_hosts(job, error, sizeof(error)) < 0 ||
	    tw_settings_check(&job->settings.config, error, sizeof(error)) < 0 ||
	    tool_report_check(job, error, sizeof(error)) < 0 ||
	    trace_check(&job->settings.config, error, sizeof(error)) < 0) {
		tool_say("%s", error);
		return -EINVAL;
	}
	return run_check_drivers(job);
}

/* For a one-level protocol every processor is a node; some nodes share a host. */
static void run_levels(struct tw_config *config)
{
	const struct tw_protocol *protocol = tw_protocol_find(config->protocol);

	if (!(protocol->flags & TW_PROTOCOL_ONE_LEVEL))
		return;
	config->host_nodes = config->processors;
	config->nodes *= config->processors;
	config->processors = 1;
}

/* A protocol that is only for measurements must be recognizable. */
static void run_warn(const struct tool_job *job)
{
	const struct tw_protocol *protocol = tw_protocol_find(job->settings.config.protocol);

	if (protocol && (protocol->flags & TW_PROTOCOL_INCOHERENT) && job->settings.config.nodes > 1)
		tool_say(
		    "warning: under protocol %s no node sees what another writes: answers will be wrong where nodes "
		    "share memory; it is for measuring the core",
		    protocol->name);
}

/* Texts that are used later, on each node: mistakes in them are reported here, even if the text is not used. */
static int run_check_texts(const struct tw_config *config)
{
	const struct tw_transport *transport = tw_transport_find(config->transport);
	char wrong[64];

	if (!sh_rules_choose(config->collectives, wrong, sizeof(wrong))) {
		tool_say("TWEED_COLLECTIVES: '%s' " SH_RULES_MEAN, wrong);
		return -EINVAL;
	}
	return transport->check ? transport->check((unsigned)config->nodes) : 0;
}

/* Memory available without swapping; 0: unknown. */
static uint64_t run_memory(void)
{
	FILE *f = fopen("/proc/meminfo", "re");
	char line[128];
	uint64_t kib = 0;

	while (f && !kib && fgets(line, sizeof(line), f))
		if (sscanf(line, "MemAvailable: %" SCNu64, &kib) != 1)
			kib = 0;
	if (f)
		fclose(f);
	return kib << 10;
}

/* Can this host run so many processes of emulated nodes? */
static int run_check_processes(const struct tool_job *job)
{
	const struct tw_config *c = &job->settings.config;
	uint64_t processors = c->nodes * c->processors, memory = run_memory();
	uint64_t needed = processors * (RUN_PROCESSOR_BYTES + c->nodes * RUN_VIEW_BYTES);
	cpu_set_t cpus;
	uint64_t cores = sched_getaffinity(0, sizeof(cpus), &cpus) < 0 ? (uint64_t)sysconf(_SC_NPROCESSORS_ONLN)
	                                                               : (uint64_t)CPU_COUNT(&cpus);

	if (job->settings.launch.oversubscribe || job->settings.launch.several_hosts)
		return 0;
	if (processors > cores * RUN_CORE_PROCESSORS) {
		tool_say("%" PRIu64 " processors are asked for, but at most %" PRIu64 " run on the %" PRIu64
		         " cores here, %d on each; ask for fewer, or give --oversubscribe",
		         processors, cores * RUN_CORE_PROCESSORS, cores, RUN_CORE_PROCESSORS);
		return -EINVAL;
	}
	if (memory && needed > memory) {
		tool_say("%" PRIu64 " processors on %" PRIu64 " nodes need about %" PRIu64
		         "M of memory to begin with, but %" PRIu64 "M are free; ask for fewer, or give --oversubscribe",
		         processors, c->nodes, needed >> 20, memory >> 20);
		return -EINVAL;
	}
	return 0;
}

int tool_prepare(struct tool_job *job, char **argv, unsigned managed)
{
	const struct tw_setting *s = run_find("nodes", 5);

	if (managed && tool_configure(&job->settings, job->origins) < 0)
		return -EINVAL;
	tool_self(); /* an agent is this command again */
	job->argv = argv;
	if (run_program(job) < 0)
		return -EINVAL;
	if (managed) {
		const struct tw_protocol *protocol = tw_protocol_find(job->settings.config.protocol);
		const char *wrong = NULL;
		if (job->settings.launch.hosts[0] || job->settings.launch.hostfile[0])
			wrong = "TWEED_HOSTS and TWEED_HOSTFILE are for 'tweed run'; the resource manager says which "
			        "hosts: unset them";
		else if (job->origins[s - tw_settings] != TW_ORIGIN_DEFAULT && job->settings.config.nodes != managed)
			wrong = "TWEED_NODES is not the number of agents that were started; unset it";
		else if (managed > TW_MAX_NODES)
			wrong = "more agents were started than a job may have nodes, which is 256; start fewer";
		else if ((protocol->flags & TW_PROTOCOL_ONE_LEVEL) && job->settings.config.processors > 1)
			wrong = "this protocol makes a node of each processor; start an agent for each, with "
			        "TWEED_PROCESSORS=1";
		if (wrong) {
			tool_say("%s", wrong);
			return -EINVAL;
		}
		job->settings.config.nodes = managed;
		job->settings.launch.several_hosts = true;
	}
	if (under_apply(job) < 0 || run_virtual(job) < 0 || run_check(job) < 0)
		return -EINVAL;
	run_levels(&job->settings.config);
	if (run_check_texts(&job->settings.config) < 0 || run_check_processes(job) < 0)
		return -EINVAL;
	run_warn(job);
	return 0;
}

int tool_launch_and_report(struct tool_job *job)
{
	int status = tool_launch(job);

	if (tool_report(job) < 0 && status == 0)
		status = 1;
	free(job->stats);
	hosts_free(&job->hosts);
	free(job->path);
	return status;
}

int run_options(struct tool_job *job, int argc, char **argv, void (*usage)(void),
                int (*own)(struct tool_job *job, char **argv))
{
	int i = 1;

	while (i < argc && argv[i][0] == '-' && argv[i][1]) {
		if (strcmp(argv[i], "--") == 0)
			return i + 1;
		if (strcmp(argv[i], "--help") == 0) {
			usage();
			return 0;
		}
		int took = own ? own(job, argv + i) : 0;
		if (took == 0)
			took = run_option(job, argv + i);
		if (took < 0)
			return took;
		i += took;
	}
	return i;
}

int tool_run(int argc, char **argv)
{
	static struct tool_job job;

	if (tool_configure(&job.settings, job.origins) < 0)
		return TOOL_USAGE;
	int program = run_options(&job, argc, argv, run_usage, NULL);
	if (program <= 0)
		return program < 0 ? TOOL_USAGE : 0;
	return tool_prepare(&job, argv + program, 0) < 0 ? TOOL_USAGE : tool_launch_and_report(&job);
}
