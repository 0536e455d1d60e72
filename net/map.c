/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/map.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"

int tw_net_map(const struct tw_net_config *config, unsigned node, char **map)
{
	const int flags = MAP_SHARED | MAP_NORESERVE | MAP_FIXED;
	size_t bytes = config->bytes, spare = bytes + TW_HUGE_BYTES;
	struct stat st;

	if (fstat(config->fd[node], &st) < 0 || !S_ISREG(st.st_mode) || (size_t)st.st_size < bytes) {
		tw_log("the memory of node %u is not a file of at least %zu bytes", node, bytes);
		return -EINVAL;
	}
	char *area = mmap(NULL, spare, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (area == MAP_FAILED) {
		int error = errno;

		tw_log("no address space for the memory of node %u (%zu bytes): %s", node, bytes, strerror(error));
		return -error;
	}
	char *at = (char *)TW_ALIGN_UP((uintptr_t)area, TW_HUGE_BYTES);
	if (mmap(at, bytes, PROT_READ | PROT_WRITE, flags, config->fd[node], 0) == MAP_FAILED) {
		int error = errno;

		tw_log("cannot map the memory of node %u (%zu bytes): %s", node, bytes, strerror(error));
		munmap(area, spare);
		return -error;
	}
	if (at != area)
		munmap(area, (size_t)(at - area));
	char *end = at + TW_ALIGN_UP(bytes, (size_t)sysconf(_SC_PAGESIZE));
	if (end < area + spare)
		munmap(end, (size_t)(area + spare - end));
	if (config->huge)
		madvise(at, bytes, MADV_HUGEPAGE);
	madvise(at, bytes, MADV_DONTDUMP);
	*map = at;
	return 0;
}
