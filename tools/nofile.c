/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/nofile.h"

#include <errno.h>
#include <sys/resource.h>

#include "core/base/base.h"
#include "tools/tools.h"

static rlim_t nofile_soft;

void nofile_raise(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return;
	if (!nofile_soft)
		nofile_soft = files.rlim_cur;
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
}

unsigned long nofile_given(void)
{
	return nofile_soft;
}

void nofile_restore(unsigned long soft)
{
	struct rlimit files;

	if (!soft || getrlimit(RLIMIT_NOFILE, &files) < 0)
		return;
	files.rlim_cur = TW_MIN((rlim_t)soft, files.rlim_max);
	setrlimit(RLIMIT_NOFILE, &files);
}

void nofile_short(unsigned files, const char *whose)
{
	struct rlimit limit = {0};

	getrlimit(RLIMIT_NOFILE, &limit);
	tool_say(
	    "too many open files: %s needs about %u, and may have %lu; raise the hard limit (ulimit -Hn), or use fewer "
	    "nodes and processors",
	    whose, files, (unsigned long)limit.rlim_max);
}

int nofile_check(unsigned files, const char *whose)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_max >= files)
		return 0;
	nofile_short(files, whose);
	return -EMFILE;
}
