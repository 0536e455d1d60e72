/* SPDX-License-Identifier: BSD-3-Clause */
#include "pgas/shmem/size.h"

#include <stdlib.h>
#include <string.h>

#include "pgas/shmem/shmem_impl.h"

#define SIZE_HEAP  ((size_t)512 << 20) /* without SHMEM_SYMMETRIC_SIZE */
#define SIZE_SPARE ((size_t)16 << 20)  /* for other users of the segment */

bool sh_heap_size(size_t *bytes)
{
	static const char suffix[] = "kmgt";
	const char *text = getenv("SHMEM_SYMMETRIC_SIZE");
	char *end;

	*bytes = SIZE_HEAP;
	if (!text || !text[0])
		return true;
	double value = strtod(text, &end);
	const char *at = *end ? strchr(suffix, *end | 0x20) : NULL;
	if (at)
		value *= (double)((uint64_t)1 << (10 * (at - suffix + 1)));
	if (end == text || (*end && (!at || end[1])) || !(value >= 1) || value > 1e15)
		return false;
	*bytes = TW_ALIGN_UP((size_t)value, (size_t)4096);
	return true;
}

size_t sh_segment_size(size_t heap, size_t data)
{
	return TW_ALIGN_UP(heap + data + SH_TEAMS * SH_TEAM_BYTES + SIZE_SPARE, TW_HUGE_BYTES);
}
