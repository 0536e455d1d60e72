/* SPDX-License-Identifier: BSD-3-Clause */
/* shared_heap.h - included by `tweed cc --shared-heap` before each source: malloc and its kin become those of
 * runtime/shared_heap.c. */
#ifndef __ASSEMBLER__
#ifdef __cplusplus
#if __cplusplus >= 201103L
#define TW_NOTHROW noexcept
#else
#define TW_NOTHROW throw()
#endif
extern "C" {
#else
#define TW_NOTHROW
#endif

extern void *malloc(__SIZE_TYPE__ bytes) TW_NOTHROW __asm__("tw_shared_malloc");
extern void *calloc(__SIZE_TYPE__ n, __SIZE_TYPE__ bytes) TW_NOTHROW __asm__("tw_shared_calloc");
extern void *realloc(void *ptr, __SIZE_TYPE__ bytes) TW_NOTHROW __asm__("tw_shared_realloc");
extern void *reallocarray(void *ptr, __SIZE_TYPE__ n, __SIZE_TYPE__ bytes) TW_NOTHROW __asm__("tw_shared_reallocarray");
extern void free(void *ptr) TW_NOTHROW __asm__("tw_shared_free");
extern void *aligned_alloc(__SIZE_TYPE__ align, __SIZE_TYPE__ bytes) TW_NOTHROW __asm__("tw_shared_aligned_alloc");
extern void *memalign(__SIZE_TYPE__ align, __SIZE_TYPE__ bytes) TW_NOTHROW __asm__("tw_shared_aligned_alloc");
extern int posix_memalign(void **ptr, __SIZE_TYPE__ align, __SIZE_TYPE__ bytes) TW_NOTHROW
    __asm__("tw_shared_posix_memalign");
extern void *valloc(__SIZE_TYPE__ bytes) TW_NOTHROW __asm__("tw_shared_valloc");
extern char *strdup(const char *text) TW_NOTHROW __asm__("tw_shared_strdup");
extern char *strndup(const char *text, __SIZE_TYPE__ bytes) TW_NOTHROW __asm__("tw_shared_strndup");

#ifdef __cplusplus
}
#endif
#undef TW_NOTHROW
#endif
