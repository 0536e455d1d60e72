/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/base/base.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static char log_who[32];
void (*tw_fatal_hook)(void);
bool (*tw_say_where)(const char *sentence);

void tw_log_who(const char *who)
{
	strncpy(log_who, who, sizeof(log_who) - 1);
}

static const char (*log_host)[TW_HOST_BYTES];
static unsigned log_hosts;

void tw_log_hosts(const char (*host)[TW_HOST_BYTES], unsigned nodes)
{
	log_host = host;
	log_hosts = nodes;
}

const char *tw_log_node(unsigned node)
{
	static char text[2][32 + TW_HOST_BYTES];
	static _Atomic unsigned turn;
	char *out = text[turn++ % 2];

	const char *host = node < log_hosts ? log_host[node] : "";

	tw_format(out, sizeof(text[0]), host[0] ? "node %u on host %s" : "node %u", node, host);
	return out;
}

static char *put_number(char *end, unsigned long long value, unsigned radix)
{
	do
		*--end = "0123456789abcdef"[value % radix];
	while (value /= radix);
	return end;
}

/* vsnprintf is not async-signal-safe.  This formatter is, and knows only the conversions that the messages use. */
static size_t format_va(char *out, size_t bytes, const char *f, va_list ap)
{
	size_t n = 0;
	char number[32], *end = number + sizeof(number);

	for (; *f && n + 1 < bytes; f++) {
		if (*f != '%') {
			out[n++] = *f;
			continue;
		}
		int size = 0;
		for (f++; *f == 'l' || *f == 'z'; f++)
			size++;
		const char *s = number;
		size_t len = 0;
		switch (*f) {
		case 's':
			s = va_arg(ap, const char *);
			s = s ? s : "(null)";
			len = strlen(s);
			break;
		case 'c':
			number[0] = (char)va_arg(ap, int);
			len = 1;
			break;
		case 'd': {
			long v = size ? va_arg(ap, long) : va_arg(ap, int);
			char *p = put_number(end, v < 0 ? 0 - (unsigned long)v : (unsigned long)v, 10);
			if (v < 0)
				*--p = '-';
			s = p;
			len = (size_t)(end - p);
			break;
		}
		case 'u':
		case 'x':
		case 'p': {
			unsigned long v = *f == 'p' ? (unsigned long)va_arg(ap, void *)
			                  : size    ? va_arg(ap, unsigned long)
			                            : va_arg(ap, unsigned);
			char *p = put_number(end, v, *f == 'u' ? 10 : 16);
			s = p;
			len = (size_t)(end - p);
			break;
		}
		case '\0':
			f--;
			break;
		default:
			number[0] = *f;
			len = 1;
		}
		len = TW_MIN(len, bytes - 1 - n);
		memcpy(out + n, s, len);
		n += len;
	}
	out[n] = '\0';
	return n;
}

size_t tw_format(char *out, size_t bytes, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	size_t n = format_va(out, bytes, format, ap);
	va_end(ap);
	return n;
}

static void log_va(const char *format, va_list ap)
{
	char line[1024];
	size_t n = log_who[0] ? tw_format(line, sizeof(line), "tweed: %s: ", log_who)
	                      : tw_format(line, sizeof(line), "tweed: ");
	n += format_va(line + n, sizeof(line) - n - 1, format, ap);
	line[n++] = '\n';
	ssize_t done = write(STDERR_FILENO, line, n);
	(void)done; /* there is nowhere left to report it */
}

void tw_log(const char *format, ...)
{
	int saved = errno;
	va_list ap;
	va_start(ap, format);
	log_va(format, ap);
	va_end(ap);
	errno = saved;
}

void tw_say_last(const char *sentence)
{
	if (!tw_say_where || !tw_say_where(sentence))
		tw_log("%s", sentence);
}

void tw_fatal(const char *format, ...)
{
	char sentence[1000];
	va_list ap;
	va_start(ap, format);
	format_va(sentence, sizeof(sentence), format, ap);
	va_end(ap);
	tw_say_last(sentence);
	if (tw_fatal_hook)
		tw_fatal_hook();
	_exit(1);
}

void tw_kernel_wait(_Atomic uint32_t *word, uint32_t seen, uint64_t timeout_ns)
{
	struct timespec t = {.tv_sec = (time_t)(timeout_ns / 1000000000u), .tv_nsec = (long)(timeout_ns % 1000000000u)};
	int saved = errno; /* the program's */
	syscall(SYS_futex, word, FUTEX_WAIT, seen, timeout_ns ? &t : NULL, NULL, 0);
	errno = saved;
}

void tw_kernel_wake(_Atomic uint32_t *word, int how_many)
{
	syscall(SYS_futex, word, FUTEX_WAKE, how_many, NULL, NULL, 0);
}
