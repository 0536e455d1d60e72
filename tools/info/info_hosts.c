/* SPDX-License-Identifier: BSD-3-Clause */
/* info_hosts.c - `tweed info --hosts`: the properties of each host side by side, and problems to correct. */
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <jansson.h>
#include <limits.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/base.h"
#include "tools/wire/handshake.h"
#include "tools/info/info.h"
#include "tools/tools.h"
#include "tweed/driver/transport.h"

#define INFO_LIMIT_MS 20000 /* for a host to answer */
#define INFO_MOST     ((size_t)1 << 20)

/* ---- a host's properties ---------------------------------------------------------------------------------------- */

static json_t *info_interfaces(void)
{
	json_t *list = json_array();
	struct ifaddrs *all = NULL;

	if (getifaddrs(&all) < 0)
		return list;
	for (struct ifaddrs *i = all; i; i = i->ifa_next)
		if (i->ifa_addr && i->ifa_addr->sa_family == AF_INET && (i->ifa_flags & IFF_UP) &&
		    !(i->ifa_flags & IFF_LOOPBACK))
			json_array_append_new(list, json_string(i->ifa_name));
	freeifaddrs(all);
	return list;
}

json_t *tool_host_json(void)
{
	char build[24];
	struct rlimit lock = {0};

	snprintf(build, sizeof(build), "%016llx", (unsigned long long)wire_build());
	getrlimit(RLIMIT_MEMLOCK, &lock);
	/* -1: no limit */
	json_int_t limit = lock.rlim_cur == RLIM_INFINITY ? -1 : (json_int_t)lock.rlim_cur;
	return json_pack("{s:s, s:s, s:I, s:I, s:I, s:o}", "name", handshake_host(), "build", build, "cores",
	                 (json_int_t)sysconf(_SC_NPROCESSORS_ONLN), "memory",
	                 (json_int_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE), "memory_lock_limit", limit,
	                 "interfaces", info_interfaces());
}

/* ---- asking ---------------------------------------------------------------------------------------------------- */

struct info_answer {
	const char *host;
	pid_t pid;
	int fd, status;
	char *text;
	size_t length;
	json_t *json; /* NULL: none */
};

static void info_ask(const struct tw_launch *launch, const char *command, struct info_answer *a)
{
	int ends[2];

	a->fd = -1;
	a->status = -1;
	a->text = malloc(INFO_MOST);
	if (!a->text || pipe2(ends, O_CLOEXEC) < 0)
		return;
	a->pid = fork();
	if (a->pid == 0) {
		int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
		int error = tool_rsh(launch, a->host, command, null, ends[1]);
		tool_say("cannot run '%s': %s", launch->rsh, strerror(error));
		_exit(TOOL_USAGE);
	}
	close(ends[1]);
	a->fd = ends[0];
}

/* Kill and reap the shell; another process may still hold its output. */
static void info_reap(struct info_answer *a)
{
	pid_t got = 0;

	for (unsigned round = 0; a->fd < 0 && got == 0 && round < 100; round++) {
		if (round)
			usleep(10000);
		got = waitpid(a->pid, &a->status, WNOHANG);
	}
	if (got == 0)
		kill(-a->pid, SIGKILL);
	while (got == 0 && waitpid(a->pid, &a->status, 0) < 0 && errno == EINTR)
		;
}

/* Read until the output ends, at @end_ns at the latest. */
static void info_receive(struct info_answer *a, uint64_t end_ns)
{
	while (a->fd >= 0 && !a->json && a->length < INFO_MOST - 1) {
		uint64_t now = tw_time_ns();
		struct pollfd p = {a->fd, POLLIN, 0};
		if (now >= end_ns || poll(&p, 1, (int)((end_ns - now) / 1000000 + 1)) == 0)
			break;
		ssize_t n = read(a->fd, a->text + a->length, INFO_MOST - 1 - a->length);
		if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN)) {
			close(a->fd);
			a->fd = -1;
		}
		a->length += n > 0 ? (size_t)n : 0;
		if (a->fd < 0 || (n > 0 && a->text[a->length - 1] == '\n'))
			a->json = json_loadb(a->text, a->length, 0, NULL);
	}
	if (a->pid > 0)
		info_reap(a);
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

/* The names of the list's usable entries, or of all; "a b c". */
static void info_names(const json_t *list, char *out, size_t bytes)
{
	size_t n = 0, i;
	json_t *entry;

	out[0] = '\0';
	json_array_foreach(list, i, entry)
	{
		const char *name = json_string_value(json_is_string(entry) ? entry : json_object_get(entry, "name"));
		json_t *usable = json_object_get(entry, "usable");
		if (name && (!usable || json_is_true(usable)) && n < bytes)
			n += (size_t)snprintf(out + n, bytes - n, "%s%s", n ? " " : "", name);
	}
}

static void info_limit(json_int_t limit, char *out, size_t bytes)
{
	if (limit < 0)
		snprintf(out, bytes, "none");
	else
		snprintf(out, bytes, "%lldM", (long long)(limit >> 20));
}

static void info_row(const struct info_answer *a)
{
	const json_t *host = json_object_get(a->json, "host");
	char limit[32], transports[128], interfaces[128];
	const char *version = json_string_value(json_object_get(a->json, "version"));

	if (!host) {
		printf("%-16s no\n", a->host);
		return;
	}
	info_limit(json_integer_value(json_object_get(host, "memory_lock_limit")), limit, sizeof(limit));
	info_names(json_object_get(a->json, "transports"), transports, sizeof(transports));
	info_names(json_object_get(host, "interfaces"), interfaces, sizeof(interfaces));
	printf("%-16s %-5s %-8s %5lld %6lldG %11s  %-20s %s\n", a->host, "yes", version ? version : "?",
	       (long long)json_integer_value(json_object_get(host, "cores")),
	       (long long)(json_integer_value(json_object_get(host, "memory")) >> 30), limit, transports, interfaces);
}

/* Print what is wrong with this host, in sentences; returns their number. */
static unsigned info_mend(const struct tw_settings *settings, const struct info_answer *a)
{
	const json_t *host = json_object_get(a->json, "host");
	const char *build = json_string_value(json_object_get(host, "build"));
	char ours[24];
	unsigned wrong = 0;
	size_t i;
	json_t *t;

	snprintf(ours, sizeof(ours), "%016llx", (unsigned long long)wire_build());
	if (!host && a->fd >= 0) {
		printf("- %s: no answer in %d s; try '%s %s true'\n", a->host, INFO_LIMIT_MS / 1000,
		       settings->launch.rsh, a->host);
	} else if (!host && WIFEXITED(a->status) && (WEXITSTATUS(a->status) == 127 || WEXITSTATUS(a->status) == 126)) {
		printf("- %s: reached, but tweed is not there; install it in the same place, or name its path with "
		       "TWEED_REMOTE_TWEED\n",
		       a->host);
	} else if (!host && WIFEXITED(a->status) && WEXITSTATUS(a->status) == 0) {
		printf("- %s: the answer is not tweed's; its shell must print nothing for commands that are not "
		       "interactive\n",
		       a->host);
	} else if (!host) {
		printf("- %s: cannot be reached; mend what '%s %s true' says\n", a->host, settings->launch.rsh,
		       a->host);
	}
	if (!host)
		return 1;
	if (!build || strcmp(build, ours) != 0) {
		printf("- %s: another build of tweed (%s, here %s); install the same everywhere\n", a->host,
		       build ? build : "?", ours);
		wrong++;
	}
	json_array_foreach(json_object_get(a->json, "transports"), i, t)
	{
		const char *name = json_string_value(json_object_get(t, "name"));
		const char *because = json_string_value(json_object_get(t, "because"));
		if (!name || json_is_true(json_object_get(t, "usable")))
			continue;
		bool wanted = strcmp(name, settings->config.transport) == 0;
		printf("- %s: no transport %s, because %s%s\n", a->host, name, because ? because : "?",
		       wanted ? "; it is the one that is set" : "");
		wrong += wanted;
	}
	json_int_t limit = json_integer_value(json_object_get(host, "memory_lock_limit"));
	if (limit >= 0 && (uint64_t)limit < settings->config.memory) {
		printf("- %s: at most %lldM of memory may be locked: for verbs raise it (memlock in "
		       "/etc/security/limits.conf) above "
		       "TWEED_MEMORY\n",
		       a->host, (long long)(limit >> 20));
		wrong += strcmp(settings->config.transport, "verbs") == 0;
	}
	return wrong;
}

int tool_info_hosts(const struct tw_settings *settings)
{
	struct tool_hosts hosts;
	char error[1024] = "no hosts are named; write --hosts HOST,...", command[2 * PATH_MAX + 32];
	unsigned wrong = 0;

	if (hosts_read(&settings->launch, &hosts, error, sizeof(error)) < 0 || !hosts.host) {
		tool_say("%s", error);
		return TOOL_USAGE;
	}
	struct info_answer *answer = calloc(hosts.count, sizeof(*answer));
	if (!answer) {
		tool_say("out of memory");
		return 1;
	}
	tool_remote_command(&settings->launch, "info --json", command, sizeof(command));
	for (unsigned i = 0; i < hosts.count; i++) {
		answer[i].host = hosts.host[i].name;
		info_ask(&settings->launch, command, &answer[i]);
	}
	uint64_t end_ns = tw_time_ns() + (uint64_t)INFO_LIMIT_MS * 1000000u;
	printf("%-16s %-5s %-8s %5s %7s %11s  %-20s %s\n", "host", "shell", "version", "cores", "memory", "memory lock",
	       "transports", "interfaces");
	fflush(stdout);
	for (unsigned i = 0; i < hosts.count; i++) {
		info_receive(&answer[i], end_ns);
		info_row(&answer[i]);
	}
	printf("\nTo mend:\n");
	for (unsigned i = 0; i < hosts.count; i++) {
		wrong += info_mend(settings, &answer[i]);
		json_decref(answer[i].json);
		if (answer[i].fd >= 0)
			close(answer[i].fd);
		free(answer[i].text);
	}
	if (tw_transport_find(settings->config.transport)->caps & TW_NET_ONE_HOST) {
		printf("- transport %s does not leave a host: set TWEED_TRANSPORT to one that every host has\n",
		       settings->config.transport);
		wrong++;
	}
	if (!wrong)
		printf("- nothing that a job over %s would need\n", settings->config.transport);
	free(answer);
	hosts_free(&hosts);
	return wrong ? 1 : 0;
}
