/* SPDX-License-Identifier: BSD-3-Clause */
/* library.c - the C library's functions that store into the caller's memory, announced.
 *
 * Where only the result shows how many bytes were stored, they are announced after the call: no hook runs in
 * between. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#include "core/memory/stores.h"
#include "runtime/stores/wrapped.h"

/* The linker makes __real_NAME the C library's NAME, and the program's NAME __wrap_NAME. */
#define X(name) extern __typeof__(name) __real_##name, __wrap_##name;
TW_WRAPPED_LIBRARY(X)
#undef X

static inline void announce(const void *ptr, size_t bytes)
{
	if (bytes)
		tw_stores_add(ptr, bytes);
}

void *__wrap_memcpy(void *restrict to, const void *restrict from, size_t n)
{
	announce(to, n);
	return __real_memcpy(to, from, n);
}

void *__wrap_memmove(void *to, const void *from, size_t n)
{
	announce(to, n);
	return __real_memmove(to, from, n);
}

void *__wrap_memset(void *to, int c, size_t n)
{
	announce(to, n);
	return __real_memset(to, c, n);
}

void *__wrap_mempcpy(void *restrict to, const void *restrict from, size_t n)
{
	announce(to, n);
	return __real_mempcpy(to, from, n);
}

void *__wrap_memccpy(void *restrict to, const void *restrict from, int c, size_t n)
{
	char *end = __real_memccpy(to, from, c, n);
	announce(to, end ? (size_t)(end - (char *)to) : n);
	return end;
}

void __wrap_bcopy(const void *from, void *to, size_t n)
{
	announce(to, n);
	__real_memmove(to, from, n);
}

void __wrap_bzero(void *to, size_t n)
{
	announce(to, n);
	__real_memset(to, 0, n);
}

void __wrap_explicit_bzero(void *to, size_t n)
{
	announce(to, n);
	__real_explicit_bzero(to, n);
}

char *__wrap_strcpy(char *restrict to, const char *restrict from)
{
	announce(to, strlen(from) + 1);
	return __real_strcpy(to, from);
}

char *__wrap_stpcpy(char *restrict to, const char *restrict from)
{
	announce(to, strlen(from) + 1);
	return __real_stpcpy(to, from);
}

/* The rest of the n bytes is filled with zeros. */
char *__wrap_strncpy(char *restrict to, const char *restrict from, size_t n)
{
	announce(to, n);
	return __real_strncpy(to, from, n);
}

char *__wrap_stpncpy(char *restrict to, const char *restrict from, size_t n)
{
	announce(to, n);
	return __real_stpncpy(to, from, n);
}

char *__wrap_strcat(char *restrict to, const char *restrict from)
{
	announce(to + strlen(to), strlen(from) + 1);
	return __real_strcat(to, from);
}

char *__wrap_strncat(char *restrict to, const char *restrict from, size_t n)
{
	announce(to + strlen(to), strnlen(from, n) + 1);
	return __real_strncat(to, from, n);
}

int __wrap_vsprintf(char *restrict to, const char *restrict format, va_list ap)
{
	int n = __real_vsprintf(to, format, ap);
	announce(to, n < 0 ? 0 : (size_t)n + 1);
	return n;
}

int __wrap_vsnprintf(char *restrict to, size_t room, const char *restrict format, va_list ap)
{
	int n = __real_vsnprintf(to, room, format, ap);
	announce(to, n < 0 ? 0 : TW_MIN((size_t)n + 1, room));
	return n;
}

int __wrap_sprintf(char *restrict to, const char *restrict format, ...)
{
	va_list ap;
	va_start(ap, format);
	int n = __wrap_vsprintf(to, format, ap);
	va_end(ap);
	return n;
}

int __wrap_snprintf(char *restrict to, size_t room, const char *restrict format, ...)
{
	va_list ap;
	va_start(ap, format);
	int n = __wrap_vsnprintf(to, room, format, ap);
	va_end(ap);
	return n;
}

/* Byte by byte: the line may contain zeros, so its length could not be computed from the result. */
char *__wrap_fgets(char *restrict to, int room, FILE *restrict f)
{
	int n = 0, c = '\0';

	flockfile(f);
	while (n < room - 1 && c != '\n' && (c = getc_unlocked(f)) != EOF)
		to[n++] = (char)c;
	bool failed = room < 1 || (c == EOF && (n == 0 || ferror_unlocked(f)));
	funlockfile(f);
	if (!failed)
		to[n] = '\0';
	announce(to, (size_t)n + !failed);
	return failed ? NULL : to;
}

/* All bytes that it may store. */
void __wrap_qsort(void *base, size_t n, size_t bytes, int (*compare)(const void *, const void *))
{
	__real_qsort(base, n, bytes, compare);
	announce(base, n * bytes);
}

/* ---- results at pointers ----------------------------------------------------------------------------------------- */

/* The zero that ends the token. */
static char *announce_token(char *token)
{
	if (token)
		tw_stores_add(token + strlen(token), 1);
	return token;
}

char *__wrap_strtok(char *restrict s, const char *restrict delimiters)
{
	return announce_token(__real_strtok(s, delimiters));
}

char *__wrap_strtok_r(char *restrict s, const char *restrict delimiters, char **restrict state)
{
	char *token = announce_token(__real_strtok_r(s, delimiters, state));
	tw_stores_add(state, sizeof(*state));
	return token;
}

char *__wrap_strsep(char **restrict s, const char *restrict delimiters)
{
	char *token = announce_token(__real_strsep(s, delimiters));
	if (token)
		tw_stores_add(s, sizeof(*s));
	return token;
}

#define NUMBER(type, name)                                                                                             \
	type __wrap_##name(const char *restrict s, char **restrict end, int base)                                      \
	{                                                                                                              \
		type v = __real_##name(s, end, base);                                                                  \
		announce(end, end ? sizeof(*end) : 0);                                                                 \
		return v;                                                                                              \
	}
NUMBER(long, strtol)
NUMBER(unsigned long, strtoul)
NUMBER(long long, strtoll)
NUMBER(unsigned long long, strtoull)

#define REAL(type, name)                                                                                               \
	type __wrap_##name(const char *restrict s, char **restrict end)                                                \
	{                                                                                                              \
		type v = __real_##name(s, end);                                                                        \
		announce(end, end ? sizeof(*end) : 0);                                                                 \
		return v;                                                                                              \
	}
REAL(float, strtof)
REAL(double, strtod)

#define PARTS(type, name, part)                                                                                        \
	type __wrap_##name(type v, part *p)                                                                            \
	{                                                                                                              \
		tw_stores_add(p, sizeof(*p));                                                                          \
		return __real_##name(v, p);                                                                            \
	}
PARTS(double, modf, double)
PARTS(float, modff, float)
PARTS(double, frexp, int)
PARTS(float, frexpf, int)

#define ANGLE(type, name)                                                                                              \
	void __wrap_##name(type v, type *sine, type *cosine)                                                           \
	{                                                                                                              \
		tw_stores_add(sine, sizeof(*sine));                                                                    \
		tw_stores_add(cosine, sizeof(*cosine));                                                                \
		__real_##name(v, sine, cosine);                                                                        \
	}
ANGLE(double, sincos)
ANGLE(float, sincosf)

#define RANDOM(type, name, state_type, bytes)                                                                          \
	type __wrap_##name(state_type state)                                                                           \
	{                                                                                                              \
		tw_stores_add(state, bytes);                                                                           \
		return __real_##name(state);                                                                           \
	}
RANDOM(int, rand_r, unsigned *, sizeof(unsigned))
RANDOM(double, erand48, unsigned short *, 3 * sizeof(unsigned short))
RANDOM(long, nrand48, unsigned short *, 3 * sizeof(unsigned short))
RANDOM(long, jrand48, unsigned short *, 3 * sizeof(unsigned short))

time_t __wrap_time(time_t *at)
{
	announce(at, at ? sizeof(*at) : 0);
	return __real_time(at);
}

int __wrap_gettimeofday(struct timeval *restrict at, void *restrict zone)
{
	tw_stores_add(at, sizeof(*at));
	return __real_gettimeofday(at, zone);
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *at)
{
	tw_stores_add(at, sizeof(*at));
	return __real_clock_gettime(clock, at);
}
