/* SPDX-License-Identifier: BSD-3-Clause */
/* loader.c - the dynamic loader's functions that call the program while they hold the loader's locks: callbacks of
 * dl_iterate_phdr, constructors and destructors of plugins.  There the calling thread may give away the baton, and the
 * next thread would wait in the C library for the loader's lock, with the baton: for ever.  So threads of a processor
 * wait here, where others run.
 *
 * The loader has two locks: one for dlopen and dlclose, constructors included, and one for the list of libraries, which
 * dl_iterate_phdr holds, and dlopen before it runs constructors. */
#include <dlfcn.h>
#include <link.h>

#include "core/base/base.h"
#include "runtime/threads/baton.h"

/* The thread with the baton alone uses it. */
struct loader_lock {
	const char *owner; /* the owner's loader_thread, if it is taken */
	unsigned depth;    /* how often the owner has taken it; 0: free */
};
static struct loader_lock loader_opens, loader_lists;
static __thread char loader_thread; /* its address is different in each thread */

static bool loader_free(void *lock)
{
	return !((const struct loader_lock *)lock)->depth;
}

/* Wait until no other thread has it.  Returns false in a thread that is none of those that take turns. */
static bool loader_wait(struct loader_lock *lock)
{
	if (!tw_me || !th_baton_mine())
		return false;
	th_stack_reserve();
	while (lock->depth && lock->owner != &loader_thread)
		th_wait(loader_free, lock, 0);
	return true;
}

static bool loader_take(struct loader_lock *lock)
{
	if (!loader_wait(lock))
		return false;
	lock->owner = &loader_thread;
	lock->depth++;
	return true;
}

static void loader_give(struct loader_lock *lock, bool taken)
{
	if (taken)
		lock->depth--;
}

typedef int loader_call(struct dl_phdr_info *info, size_t bytes, void *data);

int tw_dl_iterate_phdr_threads(loader_call *call, void *data);
TH_WEAK int tw_dl_iterate_phdr_threads(loader_call *call, void *data)
{
	bool taken = loader_take(&loader_lists);
	int result = dl_iterate_phdr(call, data);

	loader_give(&loader_lists, taken);
	return result;
}

void *tw_dlopen_threads(const char *path, int mode);
TH_WEAK void *tw_dlopen_threads(const char *path, int mode)
{
	bool taken = loader_take(&loader_opens);

	loader_wait(&loader_lists);
	void *handle = dlopen(path, mode);
	loader_give(&loader_opens, taken);
	return handle;
}

int tw_dlclose_threads(void *handle);
TH_WEAK int tw_dlclose_threads(void *handle)
{
	bool taken = loader_take(&loader_opens);

	loader_wait(&loader_lists);
	int result = dlclose(handle);
	loader_give(&loader_opens, taken);
	return result;
}
