/* SPDX-License-Identifier: BSD-3-Clause */
/* foreign.c - stacks of the program's own making (makecontext, coroutines in assembler), in shared memory.
 *
 * Their ends are unknown.  So each call pins what Tweed may use of such a stack: the page of the caller's frame, and
 * some below it.  Pages stay pinned: there is one bit for each page, and one range for the calls that follow. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "core/base/base.h"
#include "runtime/threads/support.h"

#define FOREIGN_NEEDED ((size_t)16 << 10) /* the rest of TH_STACK_SLACK may lie below the stack's end */

static unsigned char *foreign_pinned; /* private; a bit for each page of shared memory */

static bool foreign_is_pinned(const char *page, size_t bytes)
{
	size_t number = (size_t)(page - tw_me->app) / bytes;

	return foreign_pinned[number / 8] >> number % 8 & 1;
}

/* The fault is the program's here, inside tw_pin it would be Tweed's, or a library's that holds its locks; others may
 * store to the same page. */
static void foreign_touch(char *page)
{
	__atomic_fetch_or(page, 0, __ATOMIC_RELAXED);
}

static bool foreign_page(char *page, size_t bytes)
{
	size_t number = (size_t)(page - tw_me->app) / bytes;

	if (foreign_is_pinned(page, bytes))
		return true;
	foreign_touch(page);
	if (tw_pin(page, bytes))
		return false;
	foreign_pinned[number / 8] |= (unsigned char)(1u << number % 8);
	return true;
}

char *th_foreign_pin(char *frame)
{
	size_t bytes = (size_t)tw_me->layout.page_bytes, all = tw_me->config.memory;
	char *low = (char *)((uintptr_t)frame & ~(bytes - 1));

	if (!foreign_pinned) {
		foreign_pinned = mmap(NULL, all / bytes / 8 + 1, PROT_READ | PROT_WRITE,
		                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (foreign_pinned == MAP_FAILED)
			th_refuse("no memory for stacks of the program's own: %s", strerror(errno));
	}
	if ((size_t)(low - tw_me->app) >= all)
		return low - TH_STACK_SLACK; /* private memory does not fault */
	/* The first tw_pin itself uses pages below. */
	for (char *page = low; page + FOREIGN_NEEDED > frame && page >= tw_me->app; page -= bytes)
		if (!foreign_is_pinned(page, bytes))
			foreign_touch(page);
	for (char *page = low;; page -= bytes) {
		bool good = foreign_page(page, bytes);
		if (!good && page + FOREIGN_NEEDED > frame)
			th_refuse("this thread runs on a stack of the program's own, at %p, in memory that another "
			          "node used first: let the thread itself allocate it, or use --protocol TS",
			          (void *)frame);
		if (!good || page - bytes + TH_STACK_SLACK + bytes <= frame || page - bytes < tw_me->app)
			return page;
	}
}
