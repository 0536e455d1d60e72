/* SPDX-License-Identifier: BSD-3-Clause */
/* exits.c - the functions that the program has registered for its end, in whichever thread.  They are called in the
 * thread that ends the program, in the reverse order.  What libraries register stays in the C library's list of their
 * process. */
#include "runtime/process/events/exits.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/process/program_heap.h"
#include "runtime/threads/support.h"

#define EXITS_FIRST 64u /* entries, at first */

struct exits_entry {
	void (*plain)(void *arg);
	void (*with_status)(int status, void *arg); /* of on_exit; NULL: the above */
	void *arg;
};

struct exits_list {
	uint32_t lock;
	unsigned n, room;
	struct exits_entry *entry;
};

/* In shared memory. */
static struct exits_shared {
	struct exits_list normal, quick;
} * exits;

extern void *__dso_handle; /* the program's: C++ passes its address, atexit() its value */

void th_exits_open(void)
{
	exits = th_allocate_all(sizeof(*exits));
}

void th_exits_close(void)
{
	exits = NULL;
}

void th_exits_touch(void)
{
	for (unsigned i = 0; exits && i < exits->normal.n; i++)
		(void)*(void *volatile *)&exits->normal.entry[i].arg;
}

static bool exits_program(const void *library)
{
	return exits && (library == &__dso_handle || library == __dso_handle);
}

static int exits_add(struct exits_list *list, struct exits_entry entry)
{
	th_word_lock(&list->lock);
	if (list->n == list->room) {
		unsigned room = list->room ? 2 * list->room : EXITS_FIRST;
		struct exits_entry *more = tw_malloc(room * sizeof(*more));
		if (!more)
			th_refuse("no memory is left of TWEED_MEMORY: raise it");
		if (list->room)
			memcpy(more, list->entry, list->n * sizeof(*more));
		if (list->room)
			tw_free(list->entry);
		list->entry = more;
		list->room = room;
	}
	list->entry[list->n++] = entry;
	th_word_unlock(&list->lock);
	return 0;
}

static bool exits_take(struct exits_list *list, struct exits_entry *entry)
{
	th_word_lock(&list->lock);
	bool some = list->n;
	if (some)
		*entry = list->entry[--list->n];
	th_word_unlock(&list->lock);
	return some;
}

static void exits_call(struct exits_list *list, int status)
{
	struct exits_entry entry;

	while (exits_take(list, &entry))
		if (entry.with_status)
			th_call(TH_CALLED(entry.with_status), (void *)(intptr_t)status, entry.arg, NULL);
		else
			th_call(TH_CALLED(entry.plain), entry.arg, NULL, NULL);
}

void th_exits_run(int status)
{
	if (exits)
		exits_call(&exits->normal, status);
}

/* The C library's function of that name. */
#define EXITS_NEXT(name) ((__typeof__(name) *)(uintptr_t)dlsym(RTLD_NEXT, #name))

#pragma GCC visibility push(default)

/* Both are what the compiler, atexit() and at_quick_exit() call, which are part of each program and library. */
extern int __cxa_atexit(void (*f)(void *arg), void *arg, void *library);
TH_WEAK int __cxa_atexit(void (*f)(void *arg), void *arg, void *library)
{
	if (!exits_program(library))
		return EXITS_NEXT(__cxa_atexit)(f, arg, library);
	return exits_add(&exits->normal, (struct exits_entry){.plain = f, .arg = arg});
}

extern int __cxa_at_quick_exit(void (*f)(void *arg), void *library);
TH_WEAK int __cxa_at_quick_exit(void (*f)(void *arg), void *library)
{
	if (!exits_program(library))
		return EXITS_NEXT(__cxa_at_quick_exit)(f, library);
	return exits_add(&exits->quick, (struct exits_entry){.plain = f});
}

TH_WEAK int on_exit(void (*f)(int status, void *arg), void *arg)
{
	if (!exits || !th_heap_shares(__builtin_return_address(0)))
		return EXITS_NEXT(on_exit)(f, arg);
	return exits_add(&exits->normal, (struct exits_entry){.with_status = f, .arg = arg});
}

TH_WEAK void exit(int status)
{
	th_exits_run(status);
	EXITS_NEXT(exit)(status);
	__builtin_unreachable();
}

TH_WEAK void quick_exit(int status)
{
	if (exits)
		exits_call(&exits->quick, status);
	EXITS_NEXT(quick_exit)(status);
	__builtin_unreachable();
}

#pragma GCC visibility pop
