/* SPDX-License-Identifier: BSD-3-Clause */
/* locale.c - the program's locale.  Functions that depend on it read the C library's private data, so each processor
 * has a locale of its own.  setlocale() writes the new locale's name into each node's memory, and the other processors
 * set it once they have made an acquire: the standards order it before other threads' calls by nothing else. */
#include <dlfcn.h>
#include <errno.h>
#include <locale.h>
#include <stdatomic.h>
#include <string.h>

#include "runtime/openmp/reserve.h"
#include "runtime/process/program_heap.h"
#include "runtime/process/settings/locale.h"
#include "runtime/threads/support.h"

/* In each node's exported memory. */
struct locale_node {
	_Atomic uint64_t changes;
	char name[LOCALE_BYTES - sizeof(uint64_t)]; /* of all categories */
};

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
	return next(category, name);
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
	th_heap_private(true); /* no call of Tweed within one of Tweed's */
	locale_set(LC_ALL, name);
	th_heap_private(false);
	locale_busy = false;
	errno = error;
}

static void locale_publish(const char *name)
{
	struct tw_net *net = tw_me->net;
	size_t at = locale_offset();

	locale_changes++;
	for (unsigned node = 0; node < tw_me->nodes; node++)
		tw_net_write(net, node, at + offsetof(struct locale_node, name), name, strlen(name) + 1);
	tw_net_flush(net, TW_NET_ALL);
	for (unsigned node = 0; node < tw_me->nodes; node++)
		tw_net_write64(net, node, at, locale_changes);
	tw_net_flush(net, TW_NET_ALL);
}

void th_locale_open(void)
{
	locale_lock = th_allocate_all(sizeof(*locale_lock));
	tw_acquired = locale_follow;
}

void th_locale_close(void)
{
	tw_acquired = NULL;
	locale_lock = NULL;
}

#pragma GCC visibility push(default)

TH_WEAK char *setlocale(int category, const char *name)
{
	if (!name || !locale_lock || !th_heap_shares(NULL))
		return locale_set(category, name);
	th_word_lock(locale_lock);
	locale_follow();
	char *result = locale_set(category, name);
	const char *all = result ? locale_set(LC_ALL, NULL) : NULL;
	if (all && strlen(all) < sizeof(locale_node()->name))
		locale_publish(all);
	th_word_unlock(locale_lock);
	return result;
}

#pragma GCC visibility pop
