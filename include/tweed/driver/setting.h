/* SPDX-License-Identifier: BSD-3-Clause */
/* setting.h - a table of settings: the job's (TWEED_*), or the parameters of a protocol or transport, which users write
 * behind its name: TWEED_PROTOCOL=2L:retention=0,refresh=4.  Each owner has its table, and the struct that the table
 * fills. */
#ifndef TWEED_DRIVER_SETTING_H
#define TWEED_DRIVER_SETTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The field of a value: uint64_t for a number or a size, char[bytes] for a name or a text, one byte (unsigned char or
 * bool) for the index of a choice. */
enum tw_setting_type { TW_SETTING_NUMBER, TW_SETTING_SIZE, TW_SETTING_NAME, TW_SETTING_TEXT, TW_SETTING_CHOICE };

struct tw_setting {
	const char *name;   /* TWEED_..., or a parameter's name */
	const char *option; /* --option of `tweed run`, or NULL */
	char letter;        /* -n, or 0 */
	enum tw_setting_type type;
	size_t offset, bytes; /* of the field */
	const char *initial;  /* as text; "auto" of numbers and sizes is UINT64_MAX */
	uint64_t min, max;    /* numbers and sizes */
	bool power_of_two;
	const char *const *(*choices)(void); /* names and choices: all, NULL-ended */
	/* NAME:PARAMETERS: returns why the text is refused, a sentence, or NULL.  NULL: names have no parameters. */
	const char *(*refuse)(const char *text);
	const char *help;
	const char *group; /* the heading of this setting and of those that follow; NULL: as the one before */
};

#define TW_SETTING_FIELD(type, field) .offset = offsetof(type, field), .bytes = sizeof(((type *)0)->field)
#define TW_NUMBER(struct_type, field, lo, hi)                                                                          \
	.type = TW_SETTING_NUMBER, TW_SETTING_FIELD(struct_type, field), .min = (lo), .max = (hi)
#define TW_SIZE(struct_type, field, lo, hi)                                                                            \
	.type = TW_SETTING_SIZE, TW_SETTING_FIELD(struct_type, field), .min = (lo), .max = (hi)
#define TW_TEXT(struct_type, field) .type = TW_SETTING_TEXT, TW_SETTING_FIELD(struct_type, field)
#define TW_NAME(struct_type, field, function)                                                                          \
	.type = TW_SETTING_NAME, TW_SETTING_FIELD(struct_type, field), .choices = (function)
#define TW_CHOICE(struct_type, field, function)                                                                        \
	.type = TW_SETTING_CHOICE, TW_SETTING_FIELD(struct_type, field), .choices = (function)

/* TW_CHOICES - define @function, which returns these names. */
#define TW_CHOICES(function, ...)                                                                                      \
	static const char *const *function(void)                                                                       \
	{                                                                                                              \
		static const char *const names[] = {__VA_ARGS__, NULL};                                                \
		return names;                                                                                          \
	}

/* tw_setting_set - set the field of @values from the whole of @text ("8K", "1G", "auto").  @subject: the setting as the
 * user wrote it.  Returns 0, or -EINVAL with a sentence in @error.  Any thread. */
int tw_setting_set(void *values, const struct tw_setting *setting, const char *subject, const char *text, char *error,
                   size_t error_bytes);
/* tw_setting_text - write the value as text that tw_setting_set accepts. */
void tw_setting_text(const void *values, const struct tw_setting *setting, char *out, size_t bytes);
/* tw_nearest - returns the name in @names with the least edit distance to @text, or NULL when none is near. */
const char *tw_nearest(const char *text, const char *const *names);

/* tw_parameters_init - set the defaults of @table (ended by a NULL name) in @values.
 * tw_parameters_set - then each NAME=VALUE of @text, which commas separate.  @owner: a protocol or transport.  Returns
 * 0, or -EINVAL with a sentence in @error. */
void tw_parameters_init(void *values, const struct tw_setting *table);
int tw_parameters_set(void *values, const struct tw_setting *table, const char *owner, const char *text, char *error,
                      size_t error_bytes);

/* What a registry of protocols or transports found last, and why it refused. */
struct tw_found {
	char text[128]; /* NAME[:PARAMETERS] whose values are set; "": none */
	char why[512];
};

/* tw_found_names - is @name that of @text, NAME[:PARAMETERS]?
 * tw_found_set - set @values by the defaults of @table, then by @variant (NULL: nothing), then by the parameters of
 * @text, unless they are set already.  Without a table there must be none.  @kind: "protocol" or "transport".  Returns
 * 1 when it has set them, 0 when they were set or there is no table, -EINVAL with a sentence in found->why.  One thread
 * at a time. */
bool tw_found_names(const char *text, const char *name);
int tw_found_set(struct tw_found *found, const char *kind, const char *name, const struct tw_setting *table,
                 void *values, const char *variant, const char *text);
/* tw_found_none - no protocol or transport has the name of @text: say so in found->why. */
void tw_found_none(struct tw_found *found, const char *kind, const char *text);

#endif
