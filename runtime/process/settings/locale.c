/* SPDX-License-Identifier: BSD-3-Clause */
/* locale.c - the program's locale, and its own conversions of printf (register_printf_specifier).  Functions that
 * depend on them read the C library's private data, so each processor has a locale of its own.  setlocale() writes the
 * new locale's name into each node's memory, and the other processors set it once they have made an acquire: the
 * standards order it before other threads' calls by nothing else.  Conversions travel the same way.
 *
 * What the C library allocates for them is private memory.  It is needed until the process ends, and Tweed's allocator
 * must not be called inside an acquire. */
#include <dlfcn.h>
#include <errno.h>
#include <locale.h>
#include <printf.h>
#include <stdatomic.h>
#include <string.h>

#include "runtime/openmp/reserve.h"
#include "runtime/process/program_heap.h"
#include "runtime/process/settings/locale.h"
#include "runtime/threads/support.h"

/* A conversion of printf. */
struct locale_printf {
	intptr_t specifier; /* of a size without gaps */
	printf_function *print;
	printf_arginfo_size_function *arguments;
};

/* In each node's exported memory. */
#define LOCALE_PRINTF 64u
#define LOCALE_NAME   (LOCALE_BYTES - 2 * sizeof(uint64_t) - LOCALE_PRINTF * sizeof(struct locale_printf))
struct locale_node {
	_Atomic uint64_t changes;
	uint64_t conversions;
	struct locale_printf conversion[LOCALE_PRINTF];
	char name[LOCALE_NAME]; /* of all categories */
};
_Static_assert(sizeof(struct locale_node) == LOCALE_BYTES, "it fits");

static uint32_t *locale_lock;   /* in shared memory; NULL: the locale is not shared */
static uint64_t locale_changes; /* that this process has seen */
static __thread bool locale_busy;

static size_t locale_offset(void)
{
	return tw_me->layout.reserved[TW_RESERVED_THREADS] + OMP_EXPORTED_BYTES;
}

static struct locale_node *locale_node(void)
{
	return (struct locale_node *)(void *)(tw_me->net->base + locale_offset());
}

static char *locale_set(int category, const char *name)
{
	static __typeof__(setlocale) *next;

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "setlocale");
	th_heap_private(true);
	char *result = next(category, name);
	th_heap_private(false);
	return result;
}

static int locale_register(const struct locale_printf *c)
{
	static __typeof__(register_printf_specifier) *next;

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "register_printf_specifier");
	th_heap_private(true);
	int error = next((int)c->specifier, c->print, c->arguments);
	th_heap_private(false);
	return error;
}

/* A copy of the C library's private text that other processors can read.  The program may keep it, so it is not
 * freed. */
static char *locale_text(char *text)
{
	static char *known[16];
	static unsigned last;

	if (!text)
		return NULL;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (known[i] && strcmp(known[i], text) == 0)
			return known[i];
	char *copy = strdup(text);
	return copy ? known[last++ % (sizeof(known) / sizeof(*known))] = copy : text;
}

/* After an acquire of this processor. */
static void locale_follow(void)
{
	const struct locale_node *node = locale_node();
	char name[sizeof(node->name)];

	if (atomic_load(&node->changes) == locale_changes || !th_stack_pinned || locale_busy)
		return;
	int error = errno;
	locale_busy = true;
	locale_changes = atomic_load(&node->changes);
	memcpy(name, node->name, sizeof(name));
	if (*name)
		locale_set(LC_ALL, name);
	for (uint64_t i = 0; i < node->conversions; i++)
		locale_register(&node->conversion[i]);
	locale_busy = false;
	errno = error;
}

/* Write @bytes bytes at @offset of each node's. */
static void locale_publish(size_t offset, const void *from, size_t bytes)
{
	struct tw_net *net = tw_me->net;
	size_t at = locale_offset();

	locale_changes++;
	for (unsigned node = 0; node < tw_me->nodes; node++)
		tw_net_write(net, node, at + offset, from, bytes);
	tw_net_flush(net, TW_NET_ALL);
	for (unsigned node = 0; node < tw_me->nodes; node++)
		tw_net_write64(net, node, at, locale_changes);
	tw_net_flush(net, TW_NET_ALL);
}

/* Publish a conversion.  With the lock. */
static void locale_convert(const struct locale_printf *c)
{
	const struct locale_node *node = locale_node();
	uint64_t i = 0, n = node->conversions;

	while (i < n && node->conversion[i].specifier != c->specifier)
		i++;
	if (i == LOCALE_PRINTF)
		th_refuse("register_printf_specifier: more than %u conversions", LOCALE_PRINTF);
	if (i < n && memcmp(&node->conversion[i], c, sizeof(*c)) == 0)
		return;
	locale_publish(offsetof(struct locale_node, conversion) + i * sizeof(*c), c, sizeof(*c));
	if (i++ == n)
		locale_publish(offsetof(struct locale_node, conversions), &i, sizeof(i));
}

void th_locale_open(void)
{
	locale_lock = th_allocate_all(sizeof(*locale_lock));
	tw_acquired = locale_follow;
	th_cxx_locale_open();
}

void th_locale_close(void)
{
	tw_acquired = NULL;
	locale_lock = NULL;
	th_cxx_locale_close();
}

#pragma GCC visibility push(default)

TH_WEAK char *setlocale(int category, const char *name)
{
	if (!locale_lock || !th_heap_shares(NULL))
		return locale_set(category, name);
	if (!name)
		return locale_text(locale_set(category, NULL));
	th_word_lock(locale_lock);
	locale_follow();
	char *result = locale_text(locale_set(category, name));
	const char *all = result ? locale_set(LC_ALL, NULL) : NULL;
	if (all && strlen(all) < sizeof(locale_node()->name))
		locale_publish(offsetof(struct locale_node, name), all, strlen(all) + 1);
	th_word_unlock(locale_lock);
	return result;
}

TH_WEAK int register_printf_specifier(int specifier, printf_function *print, printf_arginfo_size_function *arguments)
{
	const struct locale_printf c = {specifier, print, arguments};

	if (!locale_lock || !th_heap_shares(NULL) || th_library_private((void *)(uintptr_t)print))
		return locale_register(&c);
	th_word_lock(locale_lock);
	locale_follow();
	int error = locale_register(&c);
	if (!error)
		locale_convert(&c);
	th_word_unlock(locale_lock);
	return error;
}

#pragma GCC visibility pop
