/* SPDX-License-Identifier: BSD-3-Clause */
/* machine.c - machine files: TOML of one table, whose values are whole numbers; NAME:COST=NUMBER,... changes some. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/base.h"
#include "tools/run/machine.h"
#include "tools/tools.h"
#include "tweed/driver/setting.h"

#define MACHINE_MOST 1000000000000ull

static const char *const machine_keys[TW_COST_KINDS + 1] = {
#define KEY_ps(name)             #name "_ps"
#define KEY_ns(name)             #name "_ns"
#define KEY_kib(name)            #name "_ns"
#define KEY_MB(name)             #name "_mb"
#define KEY(name, unit, meaning) KEY_##unit(name),
    TW_COSTS(KEY)
#undef KEY
};
static const char *const machine_meaning[TW_COST_KINDS] = {
#define MEANING(name, unit, meaning) meaning,
    TW_COSTS(MEANING)
#undef MEANING
};

static char *machine_path(const char *name)
{
	char *folder, *path;

	if (strchr(name, '/') || (strlen(name) > 5 && strcmp(name + strlen(name) - 5, ".toml") == 0))
		return strdup(name);
	folder = tool_results();
	if (asprintf(&path, "%s/machines/%s.toml", folder, name) < 0)
		tw_fatal("out of memory");
	free(folder);
	return path;
}

/* The cost that is called @key; -1: none. */
static int machine_key(const char *key)
{
	for (int i = 0; i < TW_COST_KINDS; i++)
		if (strcmp(machine_keys[i], key) == 0)
			return i;
	return -1;
}

/* Take "NAME = NUMBER", which stands at @where.  Returns 0, or -EINVAL with a message. */
static int machine_set(const char *where, const char *text, struct tw_costs *costs, uint64_t *given)
{
	char key[64], value[64], rest[2];
	uint64_t cost;
	char *end;

	int words = sscanf(text, " %63[a-z_] = %63s %1s", key, value, rest), kind = words >= 1 ? machine_key(key) : -1;
	if (words >= 1 && kind < 0) {
		const char *near = tw_nearest(key, machine_keys);
		tool_say("%s: '%s' is no cost of a machine%s%s; doc/reference/machines.md lists them", where, key,
		         near ? "; did you mean " : "", near ? near : "");
		return -EINVAL;
	}
	cost = words == 2 ? strtoull(value, &end, 10) : 0;
	if (words != 2 || value[0] == '-' || *end || cost > MACHINE_MOST) {
		tool_say("%s: write NAME = NUMBER, with a whole number from 0 to %llu", where, MACHINE_MOST);
		return -EINVAL;
	}
	if (*given >> kind & 1) {
		tool_say("%s: %s is given twice; remove one", where, key);
		return -EINVAL;
	}
	*given |= (uint64_t)1 << kind;
	costs->of[kind] = cost;
	return 0;
}

static int machine_file(const char *name, struct tw_costs *costs)
{
	char *path = machine_path(name), line[512], where[512];
	FILE *f = fopen(path, "re");
	uint64_t given = 0;
	int status = 0;

	if (!f)
		tool_say("there is no machine '%s': cannot open %s: %s; name a file of results/machines, or a path",
		         name, path, strerror(errno));
	for (unsigned number = 1; f && status == 0 && fgets(line, sizeof(line), f); number++) {
		snprintf(where, sizeof(where), "%s:%u", path, number);
		line[strcspn(line, "#\n")] = '\0';
		if (line[strspn(line, " \t\r")])
			status = machine_set(where, line, costs, &given);
	}
	for (int i = 0; f && status == 0 && i < TW_COST_KINDS; i++)
		if (!(given >> i & 1)) {
			tool_say("%s: %s is missing, %s; every cost must be given, 0 for none", path, machine_keys[i],
			         machine_meaning[i]);
			status = -EINVAL;
		}
	if (f)
		fclose(f);
	free(path);
	return f ? status : -EINVAL;
}

int machine_read(const char *machine, struct tw_costs *costs)
{
	char *name = strdup(machine), *changes = name ? strchr(name, ':') : NULL, *left = NULL;
	uint64_t given = 0;
	int status;

	if (!name)
		tw_fatal("out of memory");
	if (changes)
		*changes++ = '\0';
	status = machine_file(name, costs);
	for (char *one = changes ? strtok_r(changes, ",", &left) : NULL; one && status == 0;
	     one = strtok_r(NULL, ",", &left))
		status = machine_set(machine, one, costs, &given);
	free(name);
	return status;
}
