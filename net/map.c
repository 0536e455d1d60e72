/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/map.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/base.h"

/* Reserve so much address space, at an address with the alignment of huge pages.  NULL: errno. */
static char *map_reserve(size_t bytes)
{
	size_t spare = bytes + TW_HUGE_BYTES;
	char *area = mmap(NULL, spare, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (area == MAP_FAILED)
		return NULL;
	char *at = (char *)TW_ALIGN_UP((uintptr_t)area, TW_HUGE_BYTES);
	if (at != area)
		munmap(area, (size_t)(at - area));
	char *end = at + TW_ALIGN_UP(bytes, (size_t)sysconf(_SC_PAGESIZE));
	if (end < area + spare)
		munmap(end, (size_t)(area + spare - end));
	return at;
}

static int map_file(const struct tw_net_config *config, unsigned node, char *at)
{
	struct stat st;

	if (fstat(config->fd[node], &st) < 0 || !S_ISREG(st.st_mode) || (size_t)st.st_size < config->bytes) {
		tw_log("the memory of node %u is not a file of at least %zu bytes", node, config->bytes);
		return -EINVAL;
	}
	if (mmap(at, config->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, config->fd[node],
	         0) == MAP_FAILED) {
		int error = errno;

		tw_log("cannot map the memory of node %u (%zu bytes): %s", node, config->bytes, strerror(error));
		return -error;
	}
	if (config->huge)
		madvise(at, config->bytes, MADV_HUGEPAGE);
	madvise(at, config->bytes, MADV_DONTFORK); /* a child that the program forks is no process of the job */
	return 0;
}

static int map_nodes(const struct tw_net_config *config, unsigned first, unsigned count, char **map)
{
	size_t stride = tw_net_map_stride(config);
	char *area = map_reserve((count - 1) * stride + config->bytes);
	int error = 0;

	if (!area) {
		error = errno;
		tw_log("no address space for the memory of %u nodes (%zu bytes each): %s", count, config->bytes,
		       strerror(error));
		return -error;
	}
	for (unsigned i = 0; i < count && !error; i++)
		error = map_file(config, first + i, area + i * stride);
	if (error) {
		munmap(area, (count - 1) * stride + config->bytes);
		return error;
	}
	madvise(area, (count - 1) * stride + config->bytes, MADV_DONTDUMP);
	*map = area;
	return 0;
}

size_t tw_net_map_stride(const struct tw_net_config *config)
{
	return TW_ALIGN_UP(config->bytes, TW_HUGE_BYTES);
}

int tw_net_map(const struct tw_net_config *config, unsigned node, char **map)
{
	return map_nodes(config, node, 1, map);
}

int tw_net_map_all(const struct tw_net_config *config, char **map)
{
	return map_nodes(config, 0, config->nodes, map);
}

void tw_net_unmap_all(const struct tw_net_config *config, char *map)
{
	munmap(map, (config->nodes - 1) * tw_net_map_stride(config) + config->bytes);
}
