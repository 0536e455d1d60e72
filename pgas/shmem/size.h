/* SPDX-License-Identifier: BSD-3-Clause */
/* size.h - the size of segments, and the mark of symmetric libraries; for the library, the launcher and `tweed
 * oshcc`. */
#ifndef TW_PGAS_SHMEM_SIZE_H
#define TW_PGAS_SHMEM_SIZE_H

#include <stdbool.h>
#include <stddef.h>

/* sh_heap_size - the size of the symmetric heap by SHMEM_SYMMETRIC_SIZE; returns false if its value is not valid.
 * SH_SIZE_MEANS - the end of a message about that.
 * sh_segment_size - the size of a segment with such a heap and @data bytes of global variables. */
#define SH_SIZE_MEANS "must be a number of bytes, perhaps followed by K, M, G or T"
bool sh_heap_size(size_t *bytes);
size_t sh_segment_size(size_t heap, size_t data);

/* SH_LIBRARY_MARK - a symbol of shared libraries whose variables are to be symmetric. */
#define SH_LIBRARY_MARK "tw_symmetric_library"

#endif
