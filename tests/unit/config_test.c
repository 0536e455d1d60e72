/* SPDX-License-Identifier: BSD-3-Clause */
/* config_test.c - the table of settings, its parser and its messages, with the test's own registries. */
#include "core/base/base.h"
#include "core/job/settings.h"
#include "tweed/driver/protocol.h"
#include "unit.h"

#include <errno.h>
#include <string.h>

/* ---- registries that the table's choices come from -------------------------------------------------------------- */

static const struct tw_protocol two_level = {.name = "2L"}, one_level = {.name = "1LD"},
                                one_node = {.name = "none", .flags = TW_PROTOCOL_ONE_NODE};
static const struct tw_fault_ops mprotect_backend = {.name = "mprotect"};
static const struct tw_transport shm = {.name = "shm"}, sim = {.name = "sim"};

const struct tw_protocol *const *tw_protocol_list(void)
{
	static const struct tw_protocol *const list[] = {&two_level, &one_level, &one_node, NULL};
	return list;
}

const char *tw_protocol_why(void)
{
	return "no protocol here has parameters";
}

const struct tw_protocol *tw_protocol_find(const char *text)
{
	const struct tw_protocol *const *list = tw_protocol_list();
	while (*list && strcmp((*list)->name, text) != 0)
		list++;
	return *list;
}

const char *tw_transport_why(void)
{
	return "sim alone has parameters";
}

const struct tw_transport *tw_transport_find(const char *text)
{
	return strncmp(text, "sim:", 4) == 0 || strcmp(text, "sim") == 0 ? &sim
	       : strcmp(text, "shm") == 0                                ? &shm
	                                                                 : NULL;
}

const struct tw_fault_ops *const *tw_fault_list(void)
{
	static const struct tw_fault_ops *const list[] = {&mprotect_backend, NULL};
	return list;
}

const struct tw_transport *const *tw_transport_list(void)
{
	static const struct tw_transport *const list[] = {&shm, &sim, NULL};
	return list;
}

/* ---- tests ------------------------------------------------------------------------------------------------------ */

static struct tw_settings settings;
static enum tw_origin origins[64];
static char error[512];

static const struct tw_setting *setting(const char *name)
{
	const struct tw_setting *s = tw_settings;
	while (s->name && strcmp(s->name, name) != 0)
		s++;
	if (!s->name) {
		fprintf(stderr, "config_test: the table lacks %s\n", name);
		abort();
	}
	return s;
}

static int set(const char *name, const char *text)
{
	error[0] = '\0';
	return tw_settings_set(&settings, origins, setting(name), text, TW_ORIGIN_OPTION, error, sizeof(error));
}

/* @text is refused with a message that names @near, and nothing changes. */
static bool refused(const char *name, const char *text, const char *near)
{
	struct tw_settings before = settings;
	bool is = set(name, text) == -EINVAL && error[0] && !strchr(error, '\n') && strstr(error, near);
	if (!is)
		fprintf(stderr, "config_test: %s='%s': \"%s\"\n", name, text, error);
	return is && memcmp(&before, &settings, sizeof(settings)) == 0;
}

static void test_defaults(void)
{
	tw_settings_init(&settings, origins);
	CU_ASSERT_EQUAL(settings.config.nodes, 1);
	CU_ASSERT_EQUAL(settings.config.processors, 1);
	CU_ASSERT_STRING_EQUAL(settings.config.protocol, "2L");
	CU_ASSERT_STRING_EQUAL(settings.config.fault, "auto");
	CU_ASSERT_STRING_EQUAL(settings.config.transport, "shm");
	CU_ASSERT_EQUAL(settings.config.page_size, 4096);
	CU_ASSERT_EQUAL(settings.config.memory, (uint64_t)(TW_TSAN ? 16 : 64) << 30);
	CU_ASSERT_EQUAL(settings.config.twins, (uint64_t)256 << 20);
	CU_ASSERT_EQUAL(settings.config.spin_us, UINT64_MAX);
	CU_ASSERT_EQUAL(settings.config.sync_objects, 65536);
	CU_ASSERT_STRING_EQUAL(settings.config.home, "first-touch");
	CU_ASSERT_STRING_EQUAL(settings.config.lock, "queue");
	CU_ASSERT_FALSE(settings.launch.tag);
	for (const struct tw_setting *s = tw_settings; s->name; s++) {
		char text[600];
		CU_ASSERT_EQUAL(strncmp(s->name, "TWEED_", 6), 0);
		CU_ASSERT(s->help && s->help[0]);
		CU_ASSERT(s->offset + s->bytes <= sizeof(settings));
		CU_ASSERT_EQUAL(origins[s - tw_settings], TW_ORIGIN_DEFAULT);
		tw_setting_text(&settings, s, text, sizeof(text));
		CU_ASSERT_STRING_EQUAL(text, s->initial);
	}
	CU_ASSERT_EQUAL(tw_settings_check(&settings.config, error, sizeof(error)), 0);
}

static void test_numbers(void)
{
	tw_settings_init(&settings, origins);
	CU_ASSERT(set("TWEED_NODES", "256") == 0 && settings.config.nodes == 256);
	CU_ASSERT_EQUAL(origins[setting("TWEED_NODES") - tw_settings], TW_ORIGIN_OPTION);
	CU_ASSERT(set("TWEED_PAGE_SIZE", "8K") == 0 && settings.config.page_size == 8192);
	CU_ASSERT(set("TWEED_PAGE_SIZE", "16384") == 0 && settings.config.page_size == 16384);
	CU_ASSERT(set("TWEED_MEMORY", "1T") == 0 && settings.config.memory == (uint64_t)1 << 40);
	CU_ASSERT(set("TWEED_MEMORY", "3M") == 0 && settings.config.memory == (uint64_t)3 << 20);
	CU_ASSERT(set("TWEED_SPIN", "10") == 0 && settings.config.spin_us == 10);
	CU_ASSERT(set("TWEED_SPIN", "auto") == 0 && settings.config.spin_us == UINT64_MAX);
	CU_ASSERT(set("TWEED_TAG", "1") == 0 && settings.launch.tag);
	CU_ASSERT(set("TWEED_TAG", "0") == 0 && !settings.launch.tag);
	CU_ASSERT(set("TWEED_RACE", "ww") == 0 && settings.config.race);
	CU_ASSERT(set("TWEED_RACE", "off") == 0 && !settings.config.race);
	CU_ASSERT(refused("TWEED_RACE", "rw", "ww"));
	static const char *const bad[] = {"",   " ",  "-1", "+1",  "0",    "257",  "1.5",
	                                  "1x", "1 ", " 1", "0x4", "four", "auto", "99999999999999999999"};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CU_ASSERT(refused("TWEED_NODES", bad[i], "256"));
	static const char *const bad_sizes[] = {"",   "K",    "8KB",       "8 K", "-8K", "5K",     "2K",  "128K",
	                                        "3T", "8Kib", "16777216T", "8k8", "8G",  "0x2000", "1e4", "auto"};
	for (size_t i = 0; i < sizeof(bad_sizes) / sizeof(bad_sizes[0]); i++)
		CU_ASSERT(refused("TWEED_PAGE_SIZE", bad_sizes[i], "64K"));
	CU_ASSERT(refused("TWEED_TAG", "yes", "0"));
	CU_ASSERT(refused("TWEED_MEMORY", "18446744073709551616", "1T"));
}

static void test_choices(void)
{
	tw_settings_init(&settings, origins);
	CU_ASSERT(set("TWEED_PROTOCOL", "1LD") == 0 && strcmp(settings.config.protocol, "1LD") == 0);
	CU_ASSERT(set("TWEED_FAULT", "mprotect") == 0 && strcmp(settings.config.fault, "mprotect") == 0);
	CU_ASSERT(set("TWEED_TRANSPORT", "sim") == 0);
	CU_ASSERT(set("TWEED_TRANSPORT", "sim:seed=2") == 0 && strcmp(settings.config.transport, "sim:seed=2") == 0);
	CU_ASSERT(refused("TWEED_TRANSPORT", "shm:seed=2", "--transport: sim alone has parameters"));
	CU_ASSERT(refused("TWEED_PROTOCOL", "2L:retention=0", "no protocol here has parameters"));
	CU_ASSERT(refused("TWEED_PROTOCOL", "2l", "did you mean 2L"));
	CU_ASSERT(refused("TWEED_PROTOCOL", "", "1LD"));
	CU_ASSERT(refused("TWEED_FAULT", "mprotct", "did you mean mprotect"));
	CU_ASSERT(refused("TWEED_TRANSPORT", "zzzzzzzzzz", "sim"));
	CU_ASSERT(refused("TWEED_HOME", "first_touch", "first-touch"));
	CU_ASSERT(refused("TWEED_LOCK", "que", "queue"));
}

static void test_text(void)
{
	char text[600];
	tw_settings_init(&settings, origins);
	memset(text, 'a', sizeof(text));
	text[sizeof(settings.config.stats) - 1] = '\0';
	CU_ASSERT(set("TWEED_STATS", text) == 0 && strcmp(settings.config.stats, text) == 0);
	text[sizeof(settings.config.stats) - 1] = 'a';
	text[sizeof(settings.config.stats)] = '\0';
	CU_ASSERT(refused("TWEED_STATS", text, "--stats"));
	CU_ASSERT_EQUAL(strlen(settings.config.stats), sizeof(settings.config.stats) - 1);
}

/* Every value that can be set is printed as text that sets it again. */
static void test_round_trip(void)
{
	static const char *const pairs[][2] = {
	    {"TWEED_MEMORY", "6G"}, {"TWEED_MEMORY", "2098K"}, {"TWEED_MEMORY", "3000001"}, {"TWEED_SPIN", "0"},
	    {"TWEED_SPIN", "auto"}, {"TWEED_TAG", "1"},        {"TWEED_LOCK", "array"}};
	tw_settings_init(&settings, origins);
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		char text[64];
		const struct tw_setting *s = setting(pairs[i][0]);
		CU_ASSERT_EQUAL(set(pairs[i][0], pairs[i][1]), 0);
		struct tw_settings before = settings;
		tw_setting_text(&settings, s, text, sizeof(text));
		if (strcmp(text, pairs[i][1]) != 0)
			fprintf(stderr, "config_test: %s: '%s' comes out as '%s'\n", s->name, pairs[i][1], text);
		CU_ASSERT_STRING_EQUAL(text, pairs[i][1]);
		CU_ASSERT_EQUAL(set(pairs[i][0], text), 0);
		CU_ASSERT_EQUAL(memcmp(&before, &settings, sizeof(settings)), 0);
	}
}

static int environment(const char *a, const char *b)
{
	char *const env[] = {"PATH=/bin", "TWEEDLE=1", (char *)(uintptr_t)a, (char *)(uintptr_t)b, NULL};
	tw_settings_init(&settings, origins);
	error[0] = '\0';
	return tw_settings_environment(&settings, origins, env, error, sizeof(error));
}

static void test_environment(void)
{
	CU_ASSERT_EQUAL(environment("TWEED_NODES=4", "TWEED_PROTOCOL=1LD"), 0);
	CU_ASSERT(settings.config.nodes == 4 && strcmp(settings.config.protocol, "1LD") == 0);
	CU_ASSERT_EQUAL(origins[setting("TWEED_NODES") - tw_settings], TW_ORIGIN_ENVIRONMENT);
	CU_ASSERT_EQUAL(origins[setting("TWEED_PROCESSORS") - tw_settings], TW_ORIGIN_DEFAULT);
	CU_ASSERT_EQUAL(environment("TWEED_BOOT=3", "TWEED_PROCESSOR=0"), 0);
	CU_ASSERT_EQUAL(environment("TWEED_NODE=4", "A=b"), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(error, "TWEED_NODES"));
	CU_ASSERT_EQUAL(environment("TWEED_PAGESIZE=8K", "A=b"), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(error, "TWEED_PAGE_SIZE"));
	CU_ASSERT_EQUAL(environment("TWEED_QQQQQQQQQ=1", "A=b"), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(error, "TWEED_QQQQQQQQQ"));
	CU_ASSERT_EQUAL(environment("TWEED_NODES=", "A=b"), -EINVAL);
	CU_ASSERT_EQUAL(environment("TWEED_=1", "A=b"), -EINVAL);
	CU_ASSERT_EQUAL(environment("TWEED_NODES=four", "A=b"), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(error, "TWEED_NODES"));
}

static void test_check(void)
{
	tw_settings_init(&settings, origins);
	settings.config.nodes = 2;
	CU_ASSERT_EQUAL(tw_settings_check(&settings.config, error, sizeof(error)), 0);
	CU_ASSERT_EQUAL(set("TWEED_PROTOCOL", "none"), 0);
	CU_ASSERT_EQUAL(tw_settings_check(&settings.config, error, sizeof(error)), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(error, "none"));
	settings.config.nodes = 1;
	CU_ASSERT_EQUAL(tw_settings_check(&settings.config, error, sizeof(error)), 0);
	CU_ASSERT_EQUAL(set("TWEED_MEMORY", "3M"), 0);
	CU_ASSERT_EQUAL(tw_settings_check(&settings.config, error, sizeof(error)), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(error, "TWEED_MEMORY"));
	CU_ASSERT_EQUAL(set("TWEED_MEMORY", "64M"), 0);
	CU_ASSERT_EQUAL(tw_settings_check(&settings.config, error, sizeof(error)), 0);
#ifndef TW_PLANT
	CU_ASSERT_EQUAL(set("TWEED_PLANT", "anything"), 0);
	CU_ASSERT_EQUAL(tw_settings_check(&settings.config, error, sizeof(error)), -EINVAL);
#endif
}

/* Messages are cut to their buffer. */
static void test_small_buffer(void)
{
	char small[8] = "xxxxxxx";
	tw_settings_init(&settings, NULL);
	CU_ASSERT_EQUAL(tw_settings_set(&settings, NULL, setting("TWEED_NODES"), "no", TW_ORIGIN_OPTION, small, 4),
	                -EINVAL);
	CU_ASSERT(strlen(small) < 4 && small[4] == 'x');
}

static void test_nearest(void)
{
	static const char *const names[] = {"nodes", "processors", "protocol", "memory", NULL};
	CU_ASSERT_STRING_EQUAL(tw_nearest("node", names), "nodes");
	CU_ASSERT_STRING_EQUAL(tw_nearest("protocl", names), "protocol");
	CU_ASSERT_STRING_EQUAL(tw_nearest("procesors", names), "processors");
	CU_ASSERT_STRING_EQUAL(tw_nearest("memory", names), "memory");
	CU_ASSERT_PTR_NULL(tw_nearest("xyzzyqwfp", names));
	CU_ASSERT_PTR_NULL(tw_nearest("", (const char *const[]){NULL}));
}

int main(void)
{
	CU_TestInfo tests[] = {
	    {"defaults", test_defaults}, {"numbers and sizes", test_numbers}, {"choices", test_choices},
	    {"text", test_text},         {"round trip", test_round_trip},     {"environment", test_environment},
	    {"check", test_check},       {"small buffer", test_small_buffer}, {"nearest name", test_nearest},
	    CU_TEST_INFO_NULL,
	};
	return unit_main("config", tests);
}
