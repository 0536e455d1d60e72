/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_config.c - settings as text: every text is accepted, or refused with one sentence; an accepted value reads back
 * the same.  Input: which setting, then its text. */
#include <string.h>

#include "core/job/settings.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct fuzz_input in = {data, bytes};
	struct tw_config config, again;
	char error[1024] = "", text[1024], back[1024];
	size_t settings = 0;

	while (tw_settings[settings].name)
		settings++;
	const struct tw_setting *s = &tw_settings[fuzz_byte(&in) % settings];
	size_t len = TW_MIN(in.bytes, sizeof(text) - 1);
	fuzz_take(&in, text, len);
	text[len] = '\0';
	tw_config_init(&config, NULL);
	if (tw_config_set(&config, NULL, s, text, TW_ORIGIN_OPTION, error, sizeof(error)) < 0) {
		TW_ASSERT(error[0]);
		return 0;
	}
	tw_config_text(&config, s, back, sizeof(back));
	again = config;
	TW_ASSERT(tw_config_set(&again, NULL, s, back, TW_ORIGIN_OPTION, error, sizeof(error)) == 0);
	TW_ASSERT(
	    memcmp((char *)&config + s->offset, (char *)&again + s->offset, s->type == TW_SETTING_NUMBER ? 8 : 1) == 0);
	tw_config_check(&config, error, sizeof(error));
	return 0;
}
