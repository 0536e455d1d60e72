/* SPDX-License-Identifier: BSD-3-Clause */
/* scan.c - scanf and its kin, announced: after the call, the format shows what each conversion has stored. */
#include <ctype.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "core/base/base.h"
#include "core/memory/stores.h"
#include "runtime/stores/wrapped.h"

struct conversion {
	bool suppressed, allocates;
	size_t width; /* 0: none */
	char size[3]; /* hh, h, l, ll, q, j, z, t, L */
	char kind;
};

/* @at: after the percent sign.  Returns where the format continues. */
static const char *scan_parse(const char *at, bool gnu, struct conversion *c)
{
	*c = (struct conversion){0};
	if (isdigit((unsigned char)*at) && at[strspn(at, "0123456789")] == '$')
		tw_fatal("scanf with numbered arguments (%%%s) cannot be announced: leave the numbers out", at);
	for (; *at == '*' || *at == '\'' || *at == 'I'; at++)
		c->suppressed |= *at == '*';
	while (isdigit((unsigned char)*at))
		c->width = c->width * 10 + (size_t)(*at++ - '0');
	if (*at == 'm' || (gnu && *at == 'a' && at[1] && strchr("sS[", at[1]))) {
		c->allocates = true;
		at++;
	}
	for (size_t n = 0; *at && strchr("hlqjztL", *at); at++)
		if (n < 2)
			c->size[n++] = *at;
	if (!*at)
		return at;
	c->kind = *at++;
	if (c->kind != '[')
		return at;
	at += *at == '^';
	at += *at == ']';
	at += strcspn(at, "]");
	return at + (*at == ']');
}

static size_t scan_number(const struct conversion *c)
{
	bool real = strchr("aAeEfFgG", c->kind) != NULL;

	if (c->kind == 'p')
		return sizeof(void *);
	switch (c->size[0]) {
	case 'h':
		return c->size[1] == 'h' ? 1 : sizeof(short);
	case 'L':
		return real ? sizeof(long double) : sizeof(long long);
	case 0:
		return real ? sizeof(float) : sizeof(int);
	default:
		return 8; /* l, ll, q, j, z and t */
	}
}

/* The number of bytes that a conversion has stored at @ptr. */
static size_t scan_stored(const struct conversion *c, const void *ptr)
{
	bool wide = c->size[0] == 'l' || c->kind == 'S' || c->kind == 'C';
	size_t each = wide ? sizeof(wchar_t) : 1;

	if (c->allocates)
		return sizeof(void *);
	if (c->kind == 'c' || c->kind == 'C')
		return TW_MAX(c->width, (size_t)1) * each;
	if (strchr("sS[", c->kind))
		return ((wide ? wcslen(ptr) : strlen(ptr)) + 1) * each;
	return scan_number(c);
}

/* Announce what the first @assigned conversions of @format have stored. */
static void scan_announce(const char *format, bool gnu, int assigned, va_list ap)
{
	struct conversion c;

	while ((format = strchr(format, '%'))) {
		format = scan_parse(format + 1, gnu, &c);
		if (c.kind == '%' || !c.kind || c.suppressed)
			continue;
		if (c.kind != 'n' && assigned-- <= 0)
			return;
		const void *ptr = va_arg(ap, const void *);
		tw_stores_add(ptr, scan_stored(&c, ptr));
	}
}

#define SCAN(name, gnu, type)                                                                                          \
	int __real_##name(type from, const char *format, va_list ap);                                                  \
	int __wrap_##name(type from, const char *format, va_list ap);                                                  \
	int __wrap_##name(type from, const char *format, va_list ap)                                                   \
	{                                                                                                              \
		va_list again;                                                                                         \
		va_copy(again, ap);                                                                                    \
		int n = __real_##name(from, format, ap);                                                               \
		scan_announce(format, gnu, n, again);                                                                  \
		va_end(again);                                                                                         \
		return n;                                                                                              \
	}
SCAN(vsscanf, true, const char *)
SCAN(vfscanf, true, FILE *)
SCAN(__isoc99_vsscanf, false, const char *)
SCAN(__isoc99_vfscanf, false, FILE *)

#define SCAN_LIST(declaration, call)                                                                                   \
	int declaration;                                                                                               \
	int declaration                                                                                                \
	{                                                                                                              \
		va_list ap;                                                                                            \
		va_start(ap, format);                                                                                  \
		int n = call;                                                                                          \
		va_end(ap);                                                                                            \
		return n;                                                                                              \
	}
SCAN_LIST(__wrap_sscanf(const char *from, const char *format, ...), __wrap_vsscanf(from, format, ap))
SCAN_LIST(__wrap_fscanf(FILE *from, const char *format, ...), __wrap_vfscanf(from, format, ap))
SCAN_LIST(__wrap_scanf(const char *format, ...), __wrap_vfscanf(stdin, format, ap))
SCAN_LIST(__wrap___isoc99_sscanf(const char *from, const char *format, ...), __wrap___isoc99_vsscanf(from, format, ap))
SCAN_LIST(__wrap___isoc99_fscanf(FILE *from, const char *format, ...), __wrap___isoc99_vfscanf(from, format, ap))
SCAN_LIST(__wrap___isoc99_scanf(const char *format, ...), __wrap___isoc99_vfscanf(stdin, format, ap))
