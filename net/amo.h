/* SPDX-License-Identifier: BSD-3-Clause */
/* amo.h - words of 4 and 8 bytes inside the 8 bytes around them, which transports compare and swap. */
#ifndef TW_NET_AMO_H
#define TW_NET_AMO_H

#include <string.h>

#include "tweed/driver/transport.h"

/* tw_amo_extract - the word of @bytes at @offset, taken from the 8 bytes around it.  tw_amo_insert - those 8 bytes
 * with @value in its place. */
static inline uint64_t tw_amo_extract(uint64_t around, size_t offset, unsigned bytes)
{
	uint32_t half;

	if (bytes == 8)
		return around;
	memcpy(&half, (char *)&around + offset % 8, 4);
	return half;
}

static inline uint64_t tw_amo_insert(uint64_t around, size_t offset, unsigned bytes, uint64_t value)
{
	uint32_t half = (uint32_t)value;

	if (bytes == 8)
		return value;
	memcpy((char *)&around + offset % 8, &half, 4);
	return around;
}

#endif
