/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/inherited.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint64_t inherited[TW_BOOT_INHERITED / 64];

void inherited_find(int except)
{
	DIR *all = opendir("/proc/self/fd");

	for (const struct dirent *entry; all && (entry = readdir(all));) {
		int fd = atoi(entry->d_name), flags = fcntl(fd, F_GETFD);
		if (fd <= STDERR_FILENO || fd >= TW_BOOT_INHERITED || fd == except || flags < 0 || (flags & FD_CLOEXEC))
			continue;
		inherited[fd / 64] |= 1ull << fd % 64;
		fcntl(fd, F_SETFD, FD_CLOEXEC);
	}
	if (all)
		closedir(all);
}

static void inherited_each(void (*each)(int fd))
{
	for (int fd = 0; fd < TW_BOOT_INHERITED; fd++)
		if (inherited[fd / 64] >> fd % 64 & 1)
			each(fd);
}

static void inherited_pass_one(int fd)
{
	fcntl(fd, F_SETFD, 0);
}

void inherited_pass(void)
{
	inherited_each(inherited_pass_one);
}

static void inherited_close_one(int fd)
{
	close(fd);
}

void inherited_close(void)
{
	inherited_each(inherited_close_one);
	memset(inherited, 0, sizeof(inherited));
}

void inherited_numbers(uint64_t bits[TW_BOOT_INHERITED / 64], unsigned first)
{
	memcpy(bits, inherited, sizeof(inherited));
	for (unsigned fd = first; fd < TW_BOOT_INHERITED; fd++)
		bits[fd / 64] &= ~(1ull << fd % 64);
}
