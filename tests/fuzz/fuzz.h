/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz.h - an input, taken apart from its beginning; what is missing is zero. */
#ifndef TW_TESTS_FUZZ_H
#define TW_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/base.h"

struct fuzz_input {
	const uint8_t *data;
	size_t bytes;
};

static inline void fuzz_take(struct fuzz_input *in, void *to, size_t bytes)
{
	size_t have = TW_MIN(bytes, in->bytes);

	memset(to, 0, bytes);
	memcpy(to, in->data, have);
	in->data += have;
	in->bytes -= have;
}

static inline unsigned fuzz_byte(struct fuzz_input *in)
{
	uint8_t byte;

	fuzz_take(in, &byte, 1);
	return byte;
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

#endif
