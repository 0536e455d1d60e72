/* SPDX-License-Identifier: BSD-3-Clause */
/* report.c - a job's statistics: a table on standard error, or JSON in a file, or, while it runs, a line of JSON.
 *
 * A processor's numbers are those saved by tw_stats_stop(), if it was called, else those at its end.  Sums include the
 * agents, which work for the protocol but run no program: they add to counters and protocol times, not to user time. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "core/base/base.h"
#include "core/observe/symbol.h"
#include "sync/sync.h"
#include "tools/file.h"
#include "tools/tools.h"

enum report_counter {
#define X(name) COUNTER_##name,
	TW_COUNTERS(X)
#undef X
	    COUNTERS
};
enum report_time {
	TIME_user,
#define X(name) TIME_##name,
	TW_TIMES(X)
#undef X
	    TIMES
};

static const char *const counter_names[] = {
#define X(name) #name,
    TW_COUNTERS(X)
#undef X
};
static const char *const time_names[] = {"user",
#define X(name) #name,
                                         TW_TIMES(X)
#undef X
};

/* One processor's numbers, or the sum. */
struct report_row {
	uint64_t counter[COUNTERS];
	double time_s[TIMES];
	double total_s;
};

static struct report_row row_of(const struct tw_stats *s)
{
	const struct tw_counters *c = s->stopped ? &s->kept : &s->now;
	struct report_row r = {.total_s = (double)s->total_ns * 1e-9};
	double user = r.total_s;

#define X(name) r.counter[COUNTER_##name] = c->name;
	TW_COUNTERS(X)
#undef X
#define X(name) user -= r.time_s[TIME_##name] = (double)c->name##_ns * 1e-9;
	TW_TIMES(X)
#undef X
	r.time_s[TIME_user] = s->total_ns ? TW_MAX(user, 0.0) : 0.0;
	return r;
}

static void row_add(struct report_row *sum, const struct report_row *r)
{
	for (unsigned i = 0; i < COUNTERS; i++)
		sum->counter[i] += r->counter[i];
	for (unsigned i = 0; i < TIMES; i++)
		sum->time_s[i] += r->time_s[i];
	sum->total_s += r->total_s;
}

static const struct tw_stats *slot(const struct tool_job *job, size_t node, size_t k)
{
	return job->stats + node * (job->settings.config.processors + 1) + k;
}

/* The job's verdict: NULL without one. */
static const char *report_verdict(const struct tool_job *job)
{
	const char *verdict = NULL;
	for (size_t n = 0; n < job->settings.config.nodes; n++)
		for (size_t k = 0; k < job->settings.config.processors; k++) {
			uint32_t v = slot(job, n, k)->verdict;
			if (v == TW_VERDICT_NO)
				return "no";
			if (v == TW_VERDICT_YES)
				verdict = "yes";
		}
	return verdict;
}

/* Sum of all slots; in @elapsed_s the maximum of the processors' total times. */
static struct report_row report_sum(const struct tool_job *job, double *elapsed_s)
{
	struct report_row sum = {0};
	*elapsed_s = 0;
	for (size_t n = 0; n < job->settings.config.nodes; n++)
		for (size_t k = 0; k <= job->settings.config.processors; k++) {
			struct report_row r = row_of(slot(job, n, k));
			row_add(&sum, &r);
			if (k < job->settings.config.processors)
				*elapsed_s = TW_MAX(*elapsed_s, r.total_s);
		}
	return sum;
}

/* ---- JSON ------------------------------------------------------------------------------------------------------ */

json_t *tool_json_text(const char *s)
{
	json_t *j = json_string(s);
	if (j)
		return j;
	char *copy = strdup(s);
	for (char *p = copy; p && *p; p++)
		if ((unsigned char)*p >= 0x80)
			*p = '?';
	j = json_string(copy ? copy : "");
	free(copy);
	return j;
}

static json_t *row_json(const struct report_row *r)
{
	json_t *o = json_object(), *counters = json_object(), *times = json_object();
	for (unsigned i = 0; i < COUNTERS; i++)
		json_object_set_new(counters, counter_names[i], json_integer((json_int_t)r->counter[i]));
	for (unsigned i = 0; i < TIMES; i++)
		json_object_set_new(times, time_names[i], json_real(r->time_s[i]));
	json_object_set_new(o, "counters", counters);
	json_object_set_new(o, "times", times);
	return o;
}

static json_t *configuration_json(const struct tool_job *job)
{
	json_t *o = json_object();
	char text[2560];

	for (size_t i = 0; tw_settings[i].name; i++) {
		tw_setting_text(&job->settings, &tw_settings[i], text, sizeof(text));
		json_object_set_new(
		    o, tw_settings[i].name,
		    json_pack("{s:o, s:s}", "value", tool_json_text(text), "origin", tool_origins[job->origins[i]]));
	}
	return o;
}

static json_t *host_json(void)
{
	struct utsname u;
	if (uname(&u) < 0)
		return json_null();
	return json_pack("{s:s, s:I, s:s, s:s}", "name", u.nodename, "cpus", (json_int_t)sysconf(_SC_NPROCESSORS_ONLN),
	                 "kernel", u.release, "machine", u.machine);
}

static void add_rows(const struct tool_job *job, json_t *o)
{
	json_t *processors = json_array(), *nodes = json_array();
	size_t per_node = job->settings.config.processors;

	for (size_t n = 0; n < job->settings.config.nodes; n++) {
		for (size_t k = 0; k < per_node; k++) {
			struct report_row r = row_of(slot(job, n, k));
			json_t *p = json_pack("{s:I, s:I, s:I, s:f}", "id", (json_int_t)(n * per_node + k), "node",
			                      (json_int_t)n, "processor", (json_int_t)k, "total", r.total_s);
			json_object_update_new(p, row_json(&r));
			json_array_append_new(processors, p);
		}
		struct report_row r = row_of(slot(job, n, per_node));
		json_array_append_new(nodes, json_pack("{s:I, s:o}", "node", (json_int_t)n, "agent", row_json(&r)));
	}
	json_object_set_new(o, "processors", processors);
	json_object_set_new(o, "nodes", nodes);
}

static json_t *report_json(const struct tool_job *job)
{
	const char *verdict = report_verdict(job);
	json_t *o = json_object(), *arguments = json_array();
	char date[32];
	time_t now = time(NULL);
	double elapsed_s;
	struct report_row sum = report_sum(job, &elapsed_s);

	strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
	for (char **a = job->argv + 1; *a; a++)
		json_array_append_new(arguments, tool_json_text(*a));
	json_object_set_new(o, "version", json_string(TWEED_VERSION));
	json_object_set_new(o, "date", json_string(date));
	json_object_set_new(o, "host", host_json());
	json_object_set_new(o, "program", tool_json_text(job->argv[0]));
	json_object_set_new(o, "arguments", arguments);
	json_object_set_new(o, "exit_status", json_integer(job->status));
	json_object_set_new(o, "verified", verdict ? json_string(verdict) : json_null());
	json_object_set_new(
	    o, "shape",
	    json_pack("{s:I, s:I}", "nodes", (json_int_t)(job->settings.config.nodes / job->settings.config.host_nodes),
	              "processors", (json_int_t)(job->settings.config.processors * job->settings.config.host_nodes)));
	json_object_set_new(o, "protocol", json_string(job->settings.config.protocol));
	json_object_set_new(o, "transport", json_string(job->settings.config.transport));
	json_object_set_new(
	    o, "machine", job->settings.config.virtual_time ? json_string(job->settings.launch.machine) : json_null());
	json_object_set_new(o, "fault", json_string(job->fault));
	json_object_set_new(o, "shootdown",
	                    job->shootdown[0] && strcmp(job->shootdown, "auto") ? json_string(job->shootdown)
	                                                                        : json_null());
	json_object_set_new(o, "page_size", json_integer((json_int_t)job->settings.config.page_size));
	json_object_set_new(o, "elapsed", json_real(elapsed_s));
	json_object_set_new(o, "wall", json_real(job->wall_s));
	json_object_update_new(o, row_json(&sum));
	json_object_set_new(o, "configuration", configuration_json(job));
	add_rows(job, o);
	return o;
}

/* Addresses of faults, in rising order, and what lies there. */
struct report_faulted {
	uint64_t *address;
	size_t count;
	json_t *places;
};

/* The addresses of a processor's last faults, the latest one first; also to @all. */
static json_t *faulted_json(const struct tw_stats *s, struct report_faulted *all)
{
	json_t *faulted = json_array();
	uint64_t faults = atomic_load(&s->faults);

	for (uint64_t k = 1; k <= TW_MIN(faults, (uint64_t)TW_FAULTED); k++) {
		uint64_t address = atomic_load(&s->faulted[(faults - k) % TW_FAULTED]);
		json_array_append_new(faulted, json_integer((json_int_t)address));
		if (all->address)
			all->address[all->count++] = address;
	}
	return faulted;
}

static int faulted_compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Bytes [@address, @address + @bytes) are what @name says. */
static void faulted_place(const struct report_faulted *f, const char *name, uint64_t address, uint64_t bytes)
{
	size_t first = 0, end = f->count;
	char text[512], key[32];

	while (first < end) {
		size_t middle = (first + end) / 2;
		if (f->address[middle] < address)
			first = middle + 1;
		else
			end = middle;
	}
	for (; first < f->count && f->address[first] - address < bytes; first++) {
		unsigned long offset = (unsigned long)(f->address[first] - address);
		snprintf(text, sizeof(text), offset ? "%s+0x%lx" : "%s", name, offset);
		snprintf(key, sizeof(key), "%lu", (unsigned long)f->address[first]);
		json_object_set_new(f->places, key, tool_json_text(text));
	}
}

static void faulted_variable(void *ctx, const char *name, uintptr_t address, size_t bytes)
{
	faulted_place(ctx, name, address, bytes);
}

/* The blocks of one processor's heap: of two at one address the later one counts. */
static void faulted_blocks(const struct report_faulted *f, const struct tool_job *job, const struct tw_stats *s)
{
	uint64_t count = atomic_load(&s->allocations);
	char site[400], name[512];

	for (uint64_t k = count - TW_MIN(count, (uint64_t)TW_ALLOCATED); k < count; k++) {
		const struct tw_allocated *a = &s->allocated[k % TW_ALLOCATED];
		uint64_t bytes = atomic_load(&a->bytes), address = atomic_load(&a->address);
		if (f->address[f->count - 1] < address || address + bytes <= f->address[0])
			continue;
		uint64_t ip = atomic_load(&a->site);
		if (ip)
			tw_symbol_of_file(job->path, ip, site, sizeof(site));
		snprintf(name, sizeof(name), "block of %s", ip ? site : "a library");
		faulted_place(f, name, address, bytes);
	}
}

/* What each processor waits for, the locks that it holds, its process, and its last faults. */
static void add_live(const struct tool_job *job, json_t *o)
{
	size_t per_node = job->settings.config.processors, i;
	json_t *processors = json_object_get(o, "processors"), *p;
	struct report_faulted faulted = {
	    .address = calloc(json_array_size(processors), TW_FAULTED * sizeof(*faulted.address)),
	    .places = json_object(),
	};

	json_array_foreach(processors, i, p)
	{
		const struct tw_stats *s = slot(job, i / per_node, i % per_node);
		const struct tw_waits *w = &s->waits;
		enum tw_wait_call call = (enum tw_wait_call)atomic_load(&w->call);
		json_t *held = json_array();
		char text[128] = "";

		if (call != TW_WAIT_NONE)
			tw_sync_call_describe(call, w->object, w->value, text, sizeof(text));
		json_object_set_new(p, "waits", json_string(text));
		for (unsigned h = 0; h < TW_WAIT_HELD; h++) {
			snprintf(text, sizeof(text), "%lx", (unsigned long)w->held[h]);
			if (w->held[h])
				json_array_append_new(held, json_string(text));
		}
		json_object_set_new(p, "held", held);
		json_object_set_new(p, "pid", json_integer(atomic_load(&w->pid)));
		json_object_set_new(p, "faults", json_integer((json_int_t)atomic_load(&s->faults)));
		json_object_set_new(p, "faulted", faulted_json(s, &faulted));
	}
	if (faulted.count) {
		qsort(faulted.address, faulted.count, sizeof(*faulted.address), faulted_compare);
		tw_symbol_variables(job->path, 0, faulted.address[faulted.count - 1] + 1, faulted_variable, &faulted);
		json_array_foreach(processors, i, p)
		    faulted_blocks(&faulted, job, slot(job, i / per_node, i % per_node));
	}
	json_object_set_new(o, "places", faulted.places);
	free(faulted.address);
}

char *tool_report_live(const struct tool_job *job)
{
	json_t *o = report_json(job);

	json_object_set_new(o, "exit_status", json_null());
	add_live(job, o);
	char *text = json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(9)), *line = NULL;
	json_decref(o);
	if (text && asprintf(&line, "%s\n", text) < 0)
		line = NULL;
	free(text);
	return line;
}

/* ---- the file -------------------------------------------------------------------------------------------------- */

static bool to_terminal(const struct tool_job *job)
{
	return strcmp(job->settings.config.stats, "summary") == 0;
}

int tool_report_check(const struct tool_job *job, char *error, size_t error_bytes)
{
	const char *path = job->settings.config.stats;
	return !path[0] || to_terminal(job) ? 0 : file_check(path, "statistics", "--stats", error, error_bytes);
}

static int write_text(const char *path, const char *text)
{
	struct file file;
	int status = file_open(&file, path);

	if (status < 0)
		return status;
	file_put(&file, text, strlen(text));
	file_put(&file, "\n", 1);
	return file_close(&file);
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

static void table_counter(const struct tool_job *job, unsigned i, uint64_t sum)
{
	uint64_t least = UINT64_MAX, most = 0;
	if (!sum)
		return;
	for (size_t n = 0; n < job->settings.config.nodes; n++)
		for (size_t k = 0; k < job->settings.config.processors; k++) {
			uint64_t v = row_of(slot(job, n, k)).counter[i];
			least = TW_MIN(least, v);
			most = TW_MAX(most, v);
		}
	fprintf(stderr, "  %-22s %14" PRIu64 " %14" PRIu64 " %14" PRIu64 "\n", counter_names[i], sum, least, most);
}

static void report_table(const struct tool_job *job)
{
	const char *verdict = report_verdict(job);
	double elapsed_s;
	struct report_row sum = report_sum(job, &elapsed_s);

	fprintf(stderr, "tweed: %s, %" PRIu64 "x%" PRIu64 ", %s, %s%s, %s, pages of %" PRIu64 "K: %.3f s%s%s\n",
	        job->argv[0], job->settings.config.nodes / job->settings.config.host_nodes,
	        job->settings.config.processors * job->settings.config.host_nodes, job->settings.config.protocol,
	        job->settings.config.virtual_time ? "virtual time of " : "",
	        job->settings.config.virtual_time ? job->settings.launch.machine : job->settings.config.transport,
	        job->fault, job->settings.config.page_size >> 10, elapsed_s, verdict ? ", verified: " : "",
	        verdict ? verdict : "");
	for (unsigned i = 0; i < TIMES; i++)
		if (sum.total_s > 0)
			fprintf(stderr, "  %-22s %12.3f s %12.1f %%\n", time_names[i], sum.time_s[i],
			        100 * sum.time_s[i] / sum.total_s);
	fprintf(stderr, "  %-22s %14s %14s %14s\n", "", "sum", "least", "most");
	for (unsigned i = 0; i < COUNTERS; i++)
		table_counter(job, i, sum.counter[i]);
}

int tool_report(const struct tool_job *job)
{
	const char *path = job->settings.config.stats;

	if (!path[0] || !job->complete)
		return 0;
	if (to_terminal(job)) {
		report_table(job);
		return 0;
	}
	json_t *o = report_json(job);
	char *text = json_dumps(o, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
	int status = text ? write_text(path, text) : -ENOMEM;
	if (status < 0)
		tool_say("cannot write statistics to '%s': %s", path, strerror(-status));
	free(text);
	json_decref(o);
	return status;
}
