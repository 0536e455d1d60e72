/* SPDX-License-Identifier: BSD-3-Clause */
/* info.c - `tweed info`: settings with their origin, and what works on this host. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/base.h"
#include "pgas/shmem/collective/table.h"
#include "tools/info/info.h"
#include "tools/run/program.h"
#include "tools/run/run.h"
#include "tools/tools.h"
#include "tweed/driver/fault.h"
#include "tweed/driver/protocol.h"
#include "tweed/driver/transport.h"

static const char *const type_names[] = {"number", "size", "name", "text", "choice"};

/* "1 to 256", "one of 2L, none" or "text" */
static void info_range(const struct tw_setting *s, char *out, size_t bytes)
{
	size_t n = 0;

	out[0] = '\0';
	if (s->type == TW_SETTING_TEXT) {
		snprintf(out, bytes, "text");
		return;
	}
	if (s->choices) {
		const char *const *names = s->choices();
		for (size_t i = 0; names[i] && n < bytes; i++)
			n += (size_t)snprintf(out + n, bytes - n, "%s%s", i ? " | " : "", names[i]);
		return;
	}
	unsigned shift = s->type != TW_SETTING_SIZE ? 0 : s->max % ((uint64_t)1 << 20) ? 10 : 20;
	const char *unit = shift == 0 ? "" : shift == 10 ? "K" : "M";
	if (s->max == UINT64_MAX)
		snprintf(out, bytes, "from %" PRIu64, s->min);
	else
		snprintf(out, bytes, "%s%" PRIu64 "%s to %" PRIu64 "%s%s",
		         strcmp(s->initial, "auto") == 0 ? "auto | " : "", s->min >> shift, unit, s->max >> shift, unit,
		         s->power_of_two ? ", power of two" : "");
}

/* ---- text ------------------------------------------------------------------------------------------------------ */

static void text_setting(const struct tw_settings *settings, const struct tw_setting *s, enum tw_origin origin)
{
	char value[2560], range[512];

	tw_setting_text(settings, s, value, sizeof(value));
	info_range(s, range, sizeof(range));
	printf("  %-20s %s", s->name, value[0] ? value : "-");
	if (origin != TW_ORIGIN_DEFAULT)
		printf(" (from the %s; default %s)", tool_origins[origin], s->initial[0] ? s->initial : "-");
	printf("\n    %s\n    ", s->help);
	if (s->option)
		printf("--%s, ", s->option);
	printf("%s\n", range);
}

/* Those that are not at their defaults, or all.  Returns how many. */
static unsigned text_settings(const struct tw_settings *settings, const enum tw_origin *origins, bool changed)
{
	unsigned n = 0;

	for (size_t i = 0; tw_settings[i].name; i++) {
		if (tw_settings[i].group && !changed)
			printf("\nSettings: %s\n", tw_settings[i].group);
		if (!changed || origins[i] != TW_ORIGIN_DEFAULT) {
			text_setting(settings, &tw_settings[i], origins[i]);
			n++;
		}
	}
	return n;
}

/* What may be written behind the name of a protocol or transport. */
static void text_parameters(const char *owner, const struct tw_setting *s)
{
	char range[512];

	for (; s && s->name; s++) {
		info_range(s, range, sizeof(range));
		printf("    %s:%s=%s  %s (%s)\n", owner, s->name, s->initial, s->help, range);
	}
}

static void text_usable(int status, const char *why)
{
	if (status == 0)
		printf("    works here\n");
	else
		printf("    does not work here: %s\n", why[0] ? why : strerror(-status));
}

static void text_protocol(const struct tw_protocol *p, bool parameters)
{
	printf("  %-14s %s\n", p->name, p->summary);
	if (p->variant)
		printf("    is %s:%s\n", tw_protocol_list()[0]->name, p->variant);
	if (parameters)
		text_parameters(p->name, p->parameters);
}

static void text_fault(const struct tw_fault_ops *f)
{
	char why[256] = "";

	printf("  %-14s %s\n", f->name, f->help);
	text_usable(f->probe(why, sizeof(why)), why);
}

static void text_transport(const struct tw_transport *t)
{
	char why[256] = "";

	printf("  %-14s %s\n", t->name, t->help);
	text_usable(t->probe(why, sizeof(why)), why);
	text_parameters(t->name, t->parameters);
}

static void text_collective(const struct sh_rule *r)
{
	char most[32] = "any size";

	if (r->bytes != SIZE_MAX)
		snprintf(most, sizeof(most), "<= %zu B", r->bytes);
	printf("  %-10s %-14s %-10s %-6s %s\n", r->call, r->algorithm, most, r->teams ? "teams" : "all", r->help);
}

static void info_text(const struct tw_settings *settings, const enum tw_origin *origins)
{
	printf("tweed %s\n\nFault backends, fastest first:\n", TWEED_VERSION);
	for (const struct tw_fault_ops *const *f = tw_fault_list(); *f; f++)
		text_fault(*f);
	printf("\nTransports:\n");
	for (const struct tw_transport *const *t = tw_transport_list(); *t; t++)
		text_transport(*t);
	printf("\nProtocols:\n");
	const struct tw_setting *shown = NULL;
	for (const struct tw_protocol *const *p = tw_protocol_list(); *p; p++) {
		text_protocol(*p, (*p)->parameters != shown);
		shown = (*p)->parameters;
	}
	text_settings(settings, origins, false);
	printf("\nCollectives of OpenSHMEM; the first row of a call that suits is taken:\n");
	for (const struct sh_rule *r = sh_rules; r->call; r++)
		text_collective(r);
}

static int info_changed(const struct tw_settings *settings, const enum tw_origin *origins)
{
	if (!text_settings(settings, origins, true))
		printf("all settings are at their defaults\n");
	return 0;
}

static bool info_names(const struct tw_setting *s, const char *name)
{
	static const char prefix[] = "TWEED_";
	const char *bare = strncmp(name, "--", 2) == 0 ? name + 2 : name;

	return strcmp(s->name, name) == 0 || strcasecmp(s->name + strlen(prefix), name) == 0 ||
	       (s->option && strcmp(s->option, bare) == 0);
}

/* Print what is called @name: a setting, a protocol, a transport, a fault backend, or a collective call.  Returns
 * whether something is. */
static bool info_about(const char *name)
{
	struct tw_settings settings;
	enum tw_origin origins[TOOL_SETTINGS_MAX];
	bool found = false;

	for (size_t i = 0; tw_settings[i].name; i++)
		if (info_names(&tw_settings[i], name)) {
			if (tool_configure(&settings, origins) < 0)
				exit(TOOL_USAGE);
			text_setting(&settings, &tw_settings[i], origins[i]);
			found = true;
		}
	for (const struct tw_protocol *const *p = tw_protocol_list(); *p; p++)
		if (strcmp((*p)->name, name) == 0) {
			text_protocol(*p, true);
			found = true;
		}
	for (const struct tw_transport *const *t = tw_transport_list(); *t; t++)
		if (strcmp((*t)->name, name) == 0) {
			text_transport(*t);
			found = true;
		}
	for (const struct tw_fault_ops *const *f = tw_fault_list(); *f; f++)
		if (strcmp((*f)->name, name) == 0) {
			text_fault(*f);
			found = true;
		}
	for (const struct sh_rule *r = sh_rules; r->call; r++)
		if (strcmp(r->call, name) == 0) {
			text_collective(r);
			found = true;
		}
	return found;
}

/* ---- JSON ------------------------------------------------------------------------------------------------------ */

static json_t *json_setting(const struct tw_settings *settings, const struct tw_setting *s, enum tw_origin origin)
{
	char value[2560], range[512];

	tw_setting_text(settings, s, value, sizeof(value));
	info_range(s, range, sizeof(range));
	return json_pack("{s:s, s:s?, s:s, s:s, s:s, s:s, s:s, s:s}", "name", s->name, "option", s->option, "type",
	                 type_names[s->type], "value", value, "default", s->initial, "origin", tool_origins[origin],
	                 "range", range, "help", s->help);
}

static json_t *json_parameters(const struct tw_setting *s)
{
	json_t *list = json_array();
	char range[512];

	for (; s && s->name; s++) {
		info_range(s, range, sizeof(range));
		json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s}", "name", s->name, "default", s->initial,
		                                      "range", range, "help", s->help));
	}
	return list;
}

static json_t *json_driver(const char *name, const char *help, int status, const char *why)
{
	json_t *o = json_pack("{s:s, s:s, s:b}", "name", name, "help", help, "usable", status == 0);
	if (status != 0)
		json_object_set_new(o, "because", json_string(why[0] ? why : strerror(-status)));
	return o;
}

static int info_json(const struct tw_settings *settings, const enum tw_origin *origins, bool changed)
{
	json_t *list = json_array(), *protocols = json_array(), *faults = json_array(), *transports = json_array();
	char why[256];

	for (size_t i = 0; tw_settings[i].name; i++)
		if (!changed || origins[i] != TW_ORIGIN_DEFAULT)
			json_array_append_new(list, json_setting(settings, &tw_settings[i], origins[i]));
	for (const struct tw_protocol *const *p = tw_protocol_list(); *p; p++)
		json_array_append_new(
		    protocols, json_pack("{s:s, s:s, s:b, s:s?, s:o}", "name", (*p)->name, "summary", (*p)->summary,
		                         "coherent", !((*p)->flags & TW_PROTOCOL_INCOHERENT), "variant", (*p)->variant,
		                         "parameters", json_parameters((*p)->parameters)));
	for (const struct tw_fault_ops *const *f = tw_fault_list(); *f; f++) {
		why[0] = '\0';
		int status = (*f)->probe(why, sizeof(why));
		json_array_append_new(faults, json_driver((*f)->name, (*f)->help, status, why));
	}
	for (const struct tw_transport *const *t = tw_transport_list(); *t; t++) {
		why[0] = '\0';
		int status = (*t)->probe(why, sizeof(why));
		json_t *o = json_driver((*t)->name, (*t)->help, status, why);
		json_object_set_new(o, "parameters", json_parameters((*t)->parameters));
		json_array_append_new(transports, o);
	}
	json_t *o =
	    json_pack("{s:s, s:o, s:o, s:o, s:o, s:o}", "version", TWEED_VERSION, "host", tool_host_json(), "settings",
	              list, "protocols", protocols, "fault_backends", faults, "transports", transports);
	int status = json_dumpf(o, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(o);
	return status < 0;
}

/* --hosts LIST or --hostfile FILE */
static int info_hosts(char **argv)
{
	struct tw_settings settings;
	enum tw_origin origins[TOOL_SETTINGS_MAX];
	char error[1024];

	if (tool_configure(&settings, origins) < 0)
		return TOOL_USAGE;
	settings.launch.hosts[0] = settings.launch.hostfile[0] = '\0';
	for (const struct tw_setting *s = tw_settings; s->name; s++)
		if (s->option && strcmp(s->option, argv[1] + 2) == 0 &&
		    tw_settings_set(&settings, origins, s, argv[2], TW_ORIGIN_OPTION, error, sizeof(error)) < 0) {
			tool_say("%s", error);
			return TOOL_USAGE;
		}
	return tool_info_hosts(&settings);
}

/* The settings with which @program would run; NULL: without a program's.  Returns 0 or -EINVAL, printed. */
static int info_configure(const char *program, struct tw_settings *settings, enum tw_origin *origins)
{
	int status = tool_configure(settings, origins);

	if (status < 0 || !program)
		return status;
	char *path = run_find_program(program);
	status = path ? program_settings(path, settings, origins) : -EINVAL;
	free(path);
	return status;
}

static void info_help(void)
{
	printf(
	    "usage: tweed info [--json] [--changed] [PROGRAM]\n       tweed info NAME\n"
	    "       tweed info --hosts HOST,... | --hostfile FILE\n\n"
	    "Shows what works here, protocols and settings; those that PROGRAM would have if it is named.  --changed\n"
	    "leaves out settings at their defaults.  NAME: only that setting, protocol, transport, fault backend or\n"
	    "collective call.  --hosts: are these hosts ready for a job, and what is to be mended?\n");
}

int tool_info(int argc, char **argv)
{
	struct tw_settings settings;
	enum tw_origin origins[TOOL_SETTINGS_MAX];
	bool json = false, changed = false;
	int at = 1;

	if (argc > 1 && strcmp(argv[1], "--help") == 0) {
		info_help();
		return 0;
	}
	if (argc == 3 && (strcmp(argv[1], "--hosts") == 0 || strcmp(argv[1], "--hostfile") == 0))
		return info_hosts(argv);
	if (argc == 2 && info_about(argv[1]))
		return 0;
	for (; at < argc && (strcmp(argv[at], "--json") == 0 || strcmp(argv[at], "--changed") == 0); at++)
		*(argv[at][2] == 'j' ? &json : &changed) = true;
	const char *program = argv[at];
	if (argc > at + 1 || (program && *program == '-')) {
		bool about_hosts = program && strncmp(program, "--host", 6) == 0;
		tool_say(about_hosts ? "'%s' goes without --json and a program, with one value: 'tweed info --hosts "
		                       "LIST' or 'tweed info --hostfile FILE'"
		                     : "'tweed info' got '%s', but takes: [--json] [--changed] [PROGRAM], or NAME, or "
		                       "--hosts LIST, or --hostfile FILE",
		         about_hosts ? program : argv[argc - 1]);
		return TOOL_USAGE;
	}
	if (info_configure(program, &settings, origins) < 0)
		return TOOL_USAGE;
	if (json)
		return info_json(&settings, origins, changed);
	if (changed)
		return info_changed(&settings, origins);
	info_text(&settings, origins);
	return 0;
}
