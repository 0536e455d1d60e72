/* SPDX-License-Identifier: BSD-3-Clause */
/* verbs_lib.c - libibverbs and librdmacm, loaded at first use, so that programs start without them. */
#include "net/verbs/verbs.h"

#include <dlfcn.h>
#include <errno.h>

#include "core/base/fd.h"

struct verbs_lib verbs;

int verbs_load(char *why, size_t why_bytes)
{
	static bool loaded;
	static const char *const names[2] = {"libibverbs.so.1", "librdmacm.so.1"};
	void *lib[2];

	if (loaded)
		return 0;
	for (unsigned i = 0; i < 2; i++) {
		lib[i] = tw_fd_library(names[i]);
		if (!lib[i]) {
			tw_format(why, why_bytes, "%s is not installed", names[i]);
			return -ENOENT;
		}
	}
	const char *missing = NULL;
#define X(name)                                                                                                        \
	if (!(*(void **)&verbs.name = dlsym(lib[0], #name)))                                                           \
		missing = #name;
	VERBS_CALLS(X)
#undef X
#define X(name)                                                                                                        \
	if (!(*(void **)&verbs.name = dlsym(lib[1], #name)))                                                           \
		missing = #name;
	VERBS_CM_CALLS(X)
#undef X
	if (missing) {
		tw_format(why, why_bytes, "the installed libibverbs or librdmacm is too old: it has no %s", missing);
		return -ENOSYS;
	}
	/* Before any registration: a child of fork must not take the pages that the device writes to. */
	verbs.ibv_fork_init();
	loaded = true;
	return 0;
}
