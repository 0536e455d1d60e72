/* SPDX-License-Identifier: BSD-3-Clause */
/* setting.c - settings: text to value and back. */
#include "tweed/driver/setting.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/base.h"

#define PARAMETERS_MOST 32u

/* ---- nearest name ----------------------------------------------------------------------------------------------- */

/* Edit distance in half steps: an edit costs 2, a change of case 1. */
static unsigned edit_distance(const char *a, const char *b)
{
	enum { LONGEST = 80 };
	unsigned row[LONGEST + 1];
	size_t la = strlen(a), lb = strlen(b);

	if (la > LONGEST || lb > LONGEST)
		return 2 * LONGEST;
	for (size_t j = 0; j <= lb; j++)
		row[j] = (unsigned)(2 * j);
	for (size_t i = 1; i <= la; i++) {
		unsigned corner = row[0];
		row[0] = (unsigned)(2 * i);
		for (size_t j = 1; j <= lb; j++) {
			unsigned char x = (unsigned char)a[i - 1], y = (unsigned char)b[j - 1];
			unsigned change = corner + (x == y ? 0 : tolower(x) == tolower(y) ? 1 : 2);
			corner = row[j];
			row[j] = TW_MIN(change, TW_MIN(row[j], row[j - 1]) + 2);
		}
	}
	return row[lb];
}

const char *tw_nearest(const char *text, const char *const *names)
{
	const char *best = NULL;
	size_t len = strlen(text);
	unsigned least = len < 3 ? 2 : len < 6 ? 4 : (unsigned)(len / 3 * 2);

	for (; *names; names++) {
		unsigned d = strcasecmp(text, *names) == 0 ? 1 : edit_distance(text, *names);
		if (d < least || (d == least && !best)) {
			least = d;
			best = *names;
		}
	}
	return best;
}

/* ---- text to value and back ------------------------------------------------------------------------------------- */

static bool may_be_auto(const struct tw_setting *s)
{
	return (s->type == TW_SETTING_NUMBER || s->type == TW_SETTING_SIZE) && strcmp(s->initial, "auto") == 0;
}

static void format_value(const struct tw_setting *s, uint64_t value, char *out, size_t bytes)
{
	static const char suffix[] = "TGMK";
	if (may_be_auto(s) && value == UINT64_MAX) {
		snprintf(out, bytes, "auto");
		return;
	}
	for (unsigned i = 0; s->type == TW_SETTING_SIZE && i < 4; i++) {
		unsigned shift = 40 - 10 * i;
		if (value && value % ((uint64_t)1 << shift) == 0) {
			snprintf(out, bytes, "%" PRIu64 "%c", value >> shift, suffix[i]);
			return;
		}
	}
	snprintf(out, bytes, "%" PRIu64, value);
}

void tw_setting_text(const void *values, const struct tw_setting *s, char *out, size_t bytes)
{
	const char *field = (const char *)values + s->offset;
	switch (s->type) {
	case TW_SETTING_NUMBER:
	case TW_SETTING_SIZE:
		format_value(s, *(const uint64_t *)(const void *)field, out, bytes);
		break;
	case TW_SETTING_CHOICE:
		snprintf(out, bytes, "%s", s->choices()[*(const unsigned char *)field]);
		break;
	case TW_SETTING_NAME:
	case TW_SETTING_TEXT:
		snprintf(out, bytes, "%s", field);
		break;
	}
}

/* Parse the whole of @text as a number; sizes may end in K, M, G or T. */
static bool parse_number(const char *text, bool size, uint64_t *value)
{
	char *end;
	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	uint64_t v = strtoull(text, &end, 10);
	if (errno)
		return false;
	if (size && *end) {
		const char *at = strchr("KMGT", toupper((unsigned char)*end));
		unsigned shift = at ? 10 * (unsigned)(at - "KMGT" + 1) : 0;
		if (!at || v > UINT64_MAX >> shift)
			return false;
		v <<= shift;
		end++;
	}
	if (*end)
		return false;
	*value = v;
	return true;
}

static int set_number(void *values, const struct tw_setting *s, const char *subject, const char *text, char *error,
                      size_t error_bytes)
{
	uint64_t *field = (uint64_t *)(void *)((char *)values + s->offset), value;
	char lo[32], hi[32];

	if (may_be_auto(s) && strcmp(text, "auto") == 0) {
		*field = UINT64_MAX;
		return 0;
	}
	bool parsed = parse_number(text, s->type == TW_SETTING_SIZE, &value);
	if (parsed && value >= s->min && value <= s->max && (!s->power_of_two || (value & (value - 1)) == 0)) {
		*field = value;
		return 0;
	}
	format_value(s, s->min, lo, sizeof(lo));
	format_value(s, s->max, hi, sizeof(hi));
	snprintf(error, error_bytes, "%s is '%s', but must be a %s from %s to %s%s", subject, text,
	         s->power_of_two              ? "power of two"
	         : s->type == TW_SETTING_SIZE ? "size"
	                                      : "whole number",
	         lo, hi, may_be_auto(s) ? ", or auto" : "");
	return -EINVAL;
}

/* NAME:PARAMETERS */
static int set_with_parameters(void *values, const struct tw_setting *s, const char *subject, const char *text,
                               char *error, size_t error_bytes)
{
	const char *why = s->refuse(text);

	if (why) {
		snprintf(error, error_bytes, "%s: %s", subject, why);
		return -EINVAL;
	}
	strcpy((char *)values + s->offset, text);
	return 0;
}

static int set_choice(void *values, const struct tw_setting *s, const char *subject, const char *text, char *error,
                      size_t error_bytes)
{
	const char *const *names = s->choices();
	char *field = (char *)values + s->offset;
	char list[512] = "";
	size_t n = 0;

	for (size_t i = 0; names[i]; i++) {
		if (strcmp(names[i], text) == 0) {
			if (s->type == TW_SETTING_CHOICE)
				*(unsigned char *)field = (unsigned char)i;
			else
				snprintf(field, s->bytes, "%s", text);
			return 0;
		}
		if (n < sizeof(list))
			n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s", i ? ", " : "", names[i]);
	}
	if (s->refuse && strchr(text, ':') && strlen(text) < s->bytes)
		return set_with_parameters(values, s, subject, text, error, error_bytes);
	const char *near = tw_nearest(text, names);
	snprintf(error, error_bytes, "%s is '%s', but must be one of %s%s%s%s", subject, text, list,
	         near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
	return -EINVAL;
}

int tw_setting_set(void *values, const struct tw_setting *s, const char *subject, const char *text, char *error,
                   size_t error_bytes)
{
	switch (s->type) {
	case TW_SETTING_NUMBER:
	case TW_SETTING_SIZE:
		return set_number(values, s, subject, text, error, error_bytes);
	case TW_SETTING_NAME:
	case TW_SETTING_CHOICE:
		return set_choice(values, s, subject, text, error, error_bytes);
	case TW_SETTING_TEXT:
		break;
	}
	if (strlen(text) >= s->bytes) {
		snprintf(error, error_bytes, "%s is longer than the %zu bytes it may have", subject, s->bytes - 1);
		return -EINVAL;
	}
	strcpy((char *)values + s->offset, text);
	return 0;
}

/* ---- parameters -------------------------------------------------------------------------------------------------- */

void tw_parameters_init(void *values, const struct tw_setting *table)
{
	char error[256];

	for (const struct tw_setting *s = table; s->name; s++)
		if (tw_setting_set(values, s, s->name, s->initial, error, sizeof(error)) < 0)
			tw_fatal("internal error: the default of %s: %s", s->name, error);
}

static void parameter_unknown(const struct tw_setting *table, const char *owner, const char *name, char *error,
                              size_t error_bytes)
{
	const char *names[PARAMETERS_MOST + 1];
	char list[256] = "";
	size_t count = 0, n = 0;

	for (const struct tw_setting *s = table; s->name && count < PARAMETERS_MOST && n < sizeof(list); s++) {
		n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s", count ? ", " : "", s->name);
		names[count++] = s->name;
	}
	names[count] = NULL;
	const char *near = tw_nearest(name, names);
	snprintf(error, error_bytes, "%s has no parameter '%s', but NAME=VALUE of %s, separated by commas%s%s%s", owner,
	         name, list, near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

/* @text: NAME=VALUE */
static int parameter_set(void *values, const struct tw_setting *table, const char *owner, char *text, char *error,
                         size_t error_bytes)
{
	char subject[96], *value = strchr(text, '=');

	if (value)
		*value++ = '\0';
	for (const struct tw_setting *s = table; s->name; s++)
		if (strcmp(s->name, text) == 0 && !value) {
			snprintf(error, error_bytes, "%s of %s needs a value: %s=%s is its default", s->name, owner,
			         s->name, s->initial);
			return -EINVAL;
		} else if (strcmp(s->name, text) == 0) {
			snprintf(subject, sizeof(subject), "%s of %s", s->name, owner);
			return tw_setting_set(values, s, subject, value, error, error_bytes);
		}
	parameter_unknown(table, owner, text, error, error_bytes);
	return -EINVAL;
}

int tw_parameters_set(void *values, const struct tw_setting *table, const char *owner, const char *text, char *error,
                      size_t error_bytes)
{
	char one[128];

	for (size_t len; *text; text += len + (text[len] == ',')) {
		len = strcspn(text, ",");
		snprintf(one, sizeof(one), "%.*s", (int)TW_MIN(len, sizeof(one) - 1), text);
		if (parameter_set(values, table, owner, one, error, error_bytes) < 0)
			return -EINVAL;
	}
	return 0;
}

/* ---- registries ------------------------------------------------------------------------------------------------- */

bool tw_found_names(const char *text, const char *name)
{
	size_t len = strlen(name);

	return strncmp(text, name, len) == 0 && (!text[len] || text[len] == ':');
}

int tw_found_set(struct tw_found *found, const char *kind, const char *name, const struct tw_setting *table,
                 void *values, const char *variant, const char *text)
{
	const char *user = strchr(text, ':');

	if (!table && user) {
		snprintf(found->why, sizeof(found->why), "%s %s has no parameters", kind, name);
		return -EINVAL;
	}
	if (!table || strcmp(text, found->text) == 0)
		return 0;
	if (strlen(text) >= sizeof(found->text)) {
		snprintf(found->why, sizeof(found->why), "the parameters of %s %s are longer than %zu bytes", kind,
		         name, sizeof(found->text) - strlen(name) - 2);
		return -EINVAL;
	}
	found->text[0] = '\0';
	tw_parameters_init(values, table);
	if ((variant && tw_parameters_set(values, table, name, variant, found->why, sizeof(found->why)) < 0) ||
	    (user && tw_parameters_set(values, table, name, user + 1, found->why, sizeof(found->why)) < 0))
		return -EINVAL;
	strcpy(found->text, text);
	return 1;
}

void tw_found_none(struct tw_found *found, const char *kind, const char *text)
{
	snprintf(found->why, sizeof(found->why), "there is no %s '%.64s'; 'tweed info' lists them", kind, text);
}
