/* SPDX-License-Identifier: BSD-3-Clause */
/* shared_heap.h - included by `tweed cc --shared-heap` before each source: malloc and its kin become those of
 * runtime/shared_heap.c.  They are not declared, because tests of configure and CMake declare them otherwise.
 * -fno-builtin-malloc in addition: the compiler's own calls, as of calloc for malloc and memset, are not renamed. */
#ifndef __ASSEMBLER__
#pragma redefine_extname malloc tw_shared_malloc
#pragma redefine_extname calloc tw_shared_calloc
#pragma redefine_extname realloc tw_shared_realloc
#pragma redefine_extname reallocarray tw_shared_reallocarray
#pragma redefine_extname free tw_shared_free
#pragma redefine_extname aligned_alloc tw_shared_aligned_alloc
#pragma redefine_extname memalign tw_shared_aligned_alloc
#pragma redefine_extname posix_memalign tw_shared_posix_memalign
#pragma redefine_extname valloc tw_shared_valloc
#pragma redefine_extname strdup tw_shared_strdup
#pragma redefine_extname strndup tw_shared_strndup
#endif
