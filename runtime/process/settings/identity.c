/* SPDX-License-Identifier: BSD-3-Clause */
/* identity.c - what a process may do: users, groups, and filters of system calls.  A change would reach the process of
 * the calling processor alone. */
#include <dlfcn.h>
#include <stdarg.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/process/fork.h"
#include "runtime/process/program_heap.h"
#include "runtime/threads/support.h"

struct identity {
	uid_t uid[3];
	gid_t gid[3];
};

static struct identity identity_now(void)
{
	struct identity i;

	getresuid(&i.uid[0], &i.uid[1], &i.uid[2]);
	getresgid(&i.gid[0], &i.gid[1], &i.gid[2]);
	return i;
}

static int identity_result(const char *name, const struct identity *before, int status)
{
	struct identity now = identity_now();

	if (memcmp(&now, before, sizeof(now)) != 0 && tw_me && !tw_forked() && tw_count() > 1 && th_heap_shares(NULL))
		th_refuse("%s: this changes the process of one processor alone: start the job as that user and group, "
		          "or with one processor (-n 1 -p 1)",
		          name);
	return status;
}

#pragma GCC visibility push(default)

#define IDENTITY(name, parameters, ...)                                                                                \
	TH_WEAK int name parameters                                                                                    \
	{                                                                                                              \
		static __typeof__(name) *next;                                                                         \
		struct identity before = identity_now();                                                               \
		if (!next)                                                                                             \
			*(void **)&next = dlsym(RTLD_NEXT, #name);                                                     \
		return identity_result(#name, &before, next(__VA_ARGS__));                                             \
	}
IDENTITY(setuid, (uid_t uid), uid)
IDENTITY(seteuid, (uid_t uid), uid)
IDENTITY(setreuid, (uid_t real, uid_t now), real, now)
IDENTITY(setresuid, (uid_t real, uid_t now, uid_t saved), real, now, saved)
IDENTITY(setgid, (gid_t gid), gid)
IDENTITY(setegid, (gid_t gid), gid)
IDENTITY(setregid, (gid_t real, gid_t now), real, now)
IDENTITY(setresgid, (gid_t real, gid_t now, gid_t saved), real, now, saved)

/* No option takes more than four arguments, and the kernel ignores what an option does not take. */
TH_WEAK int prctl(int option, ...)
{
	unsigned long a[4];
	va_list ap;

	va_start(ap, option);
	for (unsigned i = 0; i < 4; i++)
		a[i] = va_arg(ap, unsigned long);
	va_end(ap);
	if (option == PR_SET_SECCOMP && tw_me && !tw_forked() && th_heap_shares(NULL))
		th_refuse("seccomp: a filter of system calls would hold for one processor, and for Tweed's own calls: "
		          "run the "
		          "program without it");
	return (int)syscall(SYS_prctl, option, a[0], a[1], a[2], a[3]);
}

#pragma GCC visibility pop
