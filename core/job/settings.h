/* SPDX-License-Identifier: BSD-3-Clause */
/* settings.h - the table of all settings (TWEED_* and the options of `tweed run`). */
#ifndef TW_CORE_JOB_SETTINGS_H
#define TW_CORE_JOB_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tweed/driver/config.h"
#include "tweed/driver/setting.h"

/* The origin of a value; a later one overrides an earlier one. */
enum tw_origin { TW_ORIGIN_DEFAULT, TW_ORIGIN_PROGRAM, TW_ORIGIN_ENVIRONMENT, TW_ORIGIN_OPTION };

/* What the launcher and agents alone read. */
struct tw_launch {
	char hosts[2048];       /* TWEED_HOSTS "": HOST[:NODES],... */
	char hostfile[256];     /* TWEED_HOSTFILE "" */
	char rsh[256];          /* TWEED_RSH ssh */
	char remote_tweed[256]; /* TWEED_REMOTE_TWEED "" */
	char bind[16];          /* TWEED_BIND auto | none | core | numa | package */
	char time[8];           /* TWEED_TIME real | virtual */
	char machine[256];      /* TWEED_MACHINE hdr: a machine file (:COST=NUMBER,...), if time is virtual */
	bool oversubscribe;     /* TWEED_OVERSUBSCRIBE 0 | 1 */
	bool show_binding;      /* TWEED_SHOW_BINDING 0 | 1 */
	bool tag;               /* TWEED_TAG 0 | 1: prefix output lines with [node.processor]; --tag */
	bool several_hosts;     /* no setting: the nodes are not all emulated by one launcher */
};

/* The values of the table. */
struct tw_settings {
	struct tw_config config; /* of every process of the job */
	struct tw_launch launch;
};

/* tw_settings - the table, ended by a NULL name. */
extern const struct tw_setting tw_settings[];

/* tw_settings_init - set all defaults. @origins: one entry per setting, or NULL. */
void tw_settings_init(struct tw_settings *settings, enum tw_origin *origins);
/* tw_settings_environment - read TWEED_* from @environment. On an unknown name or a bad value returns -EINVAL and puts
 * a sentence into @error that names the nearest valid one. */
int tw_settings_environment(struct tw_settings *settings, enum tw_origin *origins, char *const *environment,
                            char *error, size_t error_bytes);
/* tw_settings_set - tw_setting_set, with its errors; records the origin. */
int tw_settings_set(struct tw_settings *settings, enum tw_origin *origins, const struct tw_setting *setting,
                    const char *text, enum tw_origin origin, char *error, size_t error_bytes);
/* tw_settings_check - check what the table cannot express: nodes x processors against limits, page against superpage,
 * and so on. Returns as tw_settings_set. */
int tw_settings_check(const struct tw_config *config, char *error, size_t error_bytes);

#endif
