/* SPDX-License-Identifier: BSD-3-Clause */
/* atfork.c - pthread_atfork: what the program has registered, in whichever thread, is called at each of its forks, in
 * the thread that forks and in its child. */
#include <dlfcn.h>
#include <errno.h>

#include "runtime/process/events/events.h"
#include "runtime/process/events/host.h"
#include "runtime/threads/support.h"

#define ATFORK_MOST 64u

struct atfork {
	uint32_t lock;
	unsigned n;
	struct atfork_entry {
		void (*prepare)(void), (*parent)(void), (*child)(void);
	} entry[ATFORK_MOST];
};
static struct atfork *atfork;     /* in shared memory */
static struct atfork atfork_last; /* a private copy, as of the last fork */
extern void *__dso_handle;        /* the program's */

void th_atfork_open(void)
{
	atfork = th_allocate_all(sizeof(*atfork));
}

void th_atfork_prepare(void)
{
	th_word_lock(&atfork->lock);
	atfork_last = *atfork;
	th_word_unlock(&atfork->lock);
	for (unsigned i = atfork_last.n; i-- > 0;)
		if (atfork_last.entry[i].prepare)
			th_call(atfork_last.entry[i].prepare, NULL, NULL, NULL);
}

void th_atfork_after(bool child)
{
	for (unsigned i = 0; i < atfork_last.n; i++) {
		void (*f)(void) = child ? atfork_last.entry[i].child : atfork_last.entry[i].parent;
		if (f)
			th_call(f, NULL, NULL, NULL);
	}
}

#pragma GCC visibility push(default)

/* What pthread_atfork() calls, which is part of each program and library. */
extern int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *library);
TH_WEAK int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *library)
{
	if (!atfork || !host_shared() || (library && library != &__dso_handle && library != __dso_handle))
		return ((__typeof__(__register_atfork) *)(uintptr_t)dlsym(RTLD_NEXT, "__register_atfork"))(
		    prepare, parent, child, library);
	th_word_lock(&atfork->lock);
	bool full = atfork->n == ATFORK_MOST;
	if (!full)
		atfork->entry[atfork->n++] = (struct atfork_entry){prepare, parent, child};
	th_word_unlock(&atfork->lock);
	return full ? ENOMEM : 0;
}

#pragma GCC visibility pop
