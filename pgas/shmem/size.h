/* SPDX-License-Identifier: BSD-3-Clause */
/* size.h - how large segments are, and what marks symmetric libraries: for the library, the launcher and `tweed oshcc`. */
#ifndef TW_PGAS_SHMEM_SIZE_H
#define TW_PGAS_SHMEM_SIZE_H

#include <stdbool.h>
#include <stddef.h>

/* sh_heap_size - of the symmetric heap, as SHMEM_SYMMETRIC_SIZE says; false: it says what cannot be understood.
 * SH_SIZE_MEANS - how such a sentence goes on.
 * sh_segment_size - of a segment with such a heap, and @data bytes of global variables. */
#define SH_SIZE_MEANS "must be a number of bytes, perhaps followed by K, M, G or T"
bool sh_heap_size(size_t *bytes);
size_t sh_segment_size(size_t heap, size_t data);

/* SH_LIBRARY_MARK - a symbol of shared libraries whose variables are to be symmetric. */
#define SH_LIBRARY_MARK "tw_symmetric_library"

#endif
