/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/base/fd.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/library.h"
#include "core/base/base.h"

#define FD_PARTS   64u /* most ranges of code that are recorded */
#define FD_RETRIES 1000u

_Thread_local volatile unsigned char tw_fd_away;

static int fd_first;
static rlim_t fd_soft, fd_hard; /* the program's limits */
static _Atomic uint64_t fd_kept_own[TW_FD_MOST / 64], *fd_kept = fd_kept_own;

/* Address ranges of the libraries' code. */
static struct {
	uintptr_t begin, end;
} fd_part[FD_PARTS];
static unsigned fd_parts;

int tw_fd_plan(unsigned own, unsigned long *soft)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_max < TW_FD_LEAST + own)
		return -EMFILE;
	rlim_t first = TW_MIN(limit.rlim_max - own, (rlim_t)TW_FD_HIGHEST);
	*soft = TW_MIN(*soft, (unsigned long)first);
	return (int)first;
}

void tw_fd_open(int first)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
		fd_hard = limit.rlim_max;
	fd_first = first;
}

int tw_fd_first(void)
{
	return fd_first;
}

/* ---- recorded descriptors --------------------------------------------------------------------------------------- */

static _Atomic uint64_t *fd_word(int fd, uint64_t *bit)
{
	unsigned at = (unsigned)(fd - fd_first);

	if (!fd_first || fd < fd_first || at >= TW_FD_MOST)
		return NULL;
	*bit = (uint64_t)1 << at % 64;
	return &fd_kept[at / 64];
}

bool tw_fd_ours(int fd)
{
	uint64_t bit;
	_Atomic uint64_t *word = fd_word(fd, &bit);

	return word && (atomic_load(word) & bit);
}

void tw_fd_gone(int fd)
{
	uint64_t bit;
	_Atomic uint64_t *word = fd_word(fd, &bit);

	if (word)
		atomic_fetch_and(word, ~bit);
}

static void fd_record(int fd)
{
	uint64_t bit;
	_Atomic uint64_t *word = fd_word(fd, &bit);

	if (word)
		atomic_fetch_or(word, bit);
}

void tw_fd_share(void)
{
	void *shared = mmap(NULL, sizeof(fd_kept_own), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (shared != MAP_FAILED)
		fd_kept = memcpy(shared, (const void *)fd_kept_own, sizeof(fd_kept_own));
}

/* ---- numbers above the program's limit -------------------------------------------------------------------------- */

static _Atomic unsigned fd_raised; /* depth of tw_fd_raise */

/* prlimit() of this process, also where the program's limit is that of a process on another host.  A call of the
 * kernel: the run-times replace the functions of limits by some that call Tweed, and Tweed may be in a hook here. */
static int fd_limit(const struct rlimit *limit, struct rlimit *old)
{
	unsigned char away = tw_fd_away;

	tw_fd_away = 0;
	int status = (int)syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, limit, old);
	tw_fd_away = away;
	return status;
}

/* The program may have changed both limits in the meantime. */
static void fd_raise(bool first)
{
	struct rlimit high, old = {.rlim_max = fd_hard};

	do
		high = (struct rlimit){old.rlim_max, old.rlim_max};
	while (fd_limit(&high, &old) < 0 && errno == EPERM && fd_limit(NULL, &old) == 0 &&
	       old.rlim_max < high.rlim_max);
	if (!first)
		return;
	fd_soft = old.rlim_cur;
	fd_hard = old.rlim_max;
}

void tw_fd_raise(void)
{
	int error = errno;

	if (fd_first && atomic_fetch_add(&fd_raised, 1) == 0)
		fd_raise(true);
	errno = error;
}

void tw_fd_lower(void)
{
	struct rlimit low = {fd_soft, fd_hard};
	int error = errno;

	if (fd_first && atomic_fetch_sub(&fd_raised, 1) == 1)
		fd_limit(&low, NULL);
	errno = error;
}

/* Duplicate @from to @to; @to < 0: to any free number of Tweed's.  If another thread has just lowered the limit, raise
 * it again and retry. */
static int fd_duplicate(int from, int to)
{
	int fd;

	tw_fd_raise();
	for (unsigned tries = 0;; tries++) {
		fd = to < 0 ? fcntl(from, F_DUPFD_CLOEXEC, fd_first) : (int)syscall(SYS_dup3, from, to, O_CLOEXEC);
		if (fd >= 0 || tries == FD_RETRIES || (errno != EINVAL && errno != EBADF))
			break;
		int error = errno;
		if (fcntl(from, F_GETFD) < 0)
			break;
		fd_raise(false);
		errno = error;
	}
	tw_fd_lower();
	return fd;
}

int tw_fd_keep(int fd)
{
	if (fd < 0 || !fd_first || fd >= fd_first) {
		if (fd >= 0 && fd_first)
			fd_record(fd);
		if (fd >= 0)
			fcntl(fd, F_SETFD, FD_CLOEXEC);
		return fd;
	}
	int kept = fd_duplicate(fd, -1), error = errno;
	tw_fd_close(fd);
	if (kept >= 0)
		fd_record(kept);
	errno = kept >= 0 ? errno : error == EINVAL ? EMFILE : error;
	return kept;
}

int tw_fd_onto(int from, int to)
{
	return fd_duplicate(from, to);
}

int tw_fd_close(int fd)
{
	tw_fd_gone(fd);
	return close(fd);
}

/* ---- libraries -------------------------------------------------------------------------------------------------- */

struct fd_look {
	const char *name;
	unsigned objects, before; /* objects visited; objects loaded before */
	bool adds;
};

static int fd_look_at(struct dl_phdr_info *info, size_t bytes, void *arg)
{
	struct fd_look *look = arg;
	bool new = look->objects++ >= look->before || strstr(info->dlpi_name, look->name);

	(void)bytes;
	for (unsigned i = 0; look->adds && new &&i < info->dlpi_phnum &&fd_parts < FD_PARTS; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		if (part->p_type != PT_LOAD || !(part->p_flags & PF_X))
			continue;
		fd_part[fd_parts].begin = info->dlpi_addr + part->p_vaddr;
		fd_part[fd_parts].end = fd_part[fd_parts].begin + part->p_memsz;
		fd_parts++;
	}
	return 0;
}

void *tw_fd_library(const char *name)
{
	struct fd_look look = {.name = name};

	dl_iterate_phdr(fd_look_at, &look);
	void *library = tw_library_open(name);
	look.before = look.objects;
	look.objects = 0;
	look.adds = library != NULL;
	dl_iterate_phdr(fd_look_at, &look);
	return library;
}

void tw_fd_library_loaded(const char *name)
{
	struct fd_look look = {.name = name, .before = UINT_MAX, .adds = true};
	dl_iterate_phdr(fd_look_at, &look);
}

bool tw_fd_by_library(const void *caller)
{
	uintptr_t at = (uintptr_t)caller;

	for (unsigned i = 0; i < fd_parts; i++)
		if (at - fd_part[i].begin < fd_part[i].end - fd_part[i].begin)
			return true;
	return false;
}
