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
	struct tw_settings settings, again;
	char error[1024] = "", text[1024], back[1024];
	size_t count = 0;

	while (tw_settings[count].name)
		count++;
	const struct tw_setting *s = &tw_settings[fuzz_byte(&in) % count];
	size_t len = TW_MIN(in.bytes, sizeof(text) - 1);
	fuzz_take(&in, text, len);
	text[len] = '\0';
	tw_settings_init(&settings, NULL);
	if (tw_settings_set(&settings, NULL, s, text, TW_ORIGIN_OPTION, error, sizeof(error)) < 0) {
		TW_ASSERT(error[0]);
		return 0;
	}
	tw_setting_text(&settings, s, back, sizeof(back));
	again = settings;
	TW_ASSERT(tw_settings_set(&again, NULL, s, back, TW_ORIGIN_OPTION, error, sizeof(error)) == 0);
	TW_ASSERT(memcmp((char *)&settings + s->offset, (char *)&again + s->offset,
	                 s->type == TW_SETTING_NUMBER ? 8 : 1) == 0);
	tw_settings_check(&settings.config, error, sizeof(error));
	return 0;
}
