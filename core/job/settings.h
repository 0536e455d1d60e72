/* SPDX-License-Identifier: BSD-3-Clause */
/* settings.h - the table of all settings (TWEED_* and the options of `tweed run`). */
#ifndef TW_CORE_JOB_SETTINGS_H
#define TW_CORE_JOB_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tweed/driver/config.h"

/* The origin of a value; a later one overrides an earlier one. */
enum tw_origin { TW_ORIGIN_DEFAULT, TW_ORIGIN_PROGRAM, TW_ORIGIN_ENVIRONMENT, TW_ORIGIN_OPTION };
enum tw_setting_type { TW_SETTING_NUMBER, TW_SETTING_SIZE, TW_SETTING_CHOICE, TW_SETTING_TEXT, TW_SETTING_SWITCH };

struct tw_setting {
	const char *name;   /* TWEED_... */
	const char *option; /* --option of `tweed run`, or NULL */
	char letter;        /* -n, or 0 */
	enum tw_setting_type type;
	size_t offset, bytes; /* in struct tw_config */
	const char *initial;  /* as text */
	uint64_t min, max;    /* numbers and sizes */
	bool power_of_two;
	const char *const *(*choices)(void); /* NULL-ended names; NULL when free text */
	const char *help;
};

/* tw_settings - the table, ended by a NULL name. */
extern const struct tw_setting tw_settings[];

/* tw_config_init - set all defaults. @origins: one entry per setting, or NULL. */
void tw_config_init(struct tw_config *config, enum tw_origin *origins);
/* tw_config_environment - read TWEED_* from @environment. On an unknown name or a bad value returns -EINVAL and puts a
 * sentence into @error that names the nearest valid one. */
int tw_config_environment(struct tw_config *config, enum tw_origin *origins, char *const *environment, char *error,
                          size_t error_bytes);
/* tw_config_set - set one setting from @text, which is parsed as a whole ("8K", "1G", "auto"). Returns 0, or -EINVAL
 * with a sentence in @error. */
int tw_config_set(struct tw_config *config, enum tw_origin *origins, const struct tw_setting *setting, const char *text,
                  enum tw_origin origin, char *error, size_t error_bytes);
/* tw_config_text - write the value as text that tw_config_set accepts. */
void tw_config_text(const struct tw_config *config, const struct tw_setting *setting, char *out, size_t bytes);
/* tw_config_check - check what the table cannot express: nodes x processors against limits, page against superpage, and
 * so on. Returns as tw_config_set. */
int tw_config_check(const struct tw_config *config, char *error, size_t error_bytes);
/* tw_nearest - returns the name in @names with the least edit distance to @text, or NULL when none is near. */
const char *tw_nearest(const char *text, const char *const *names);

#endif
