/* SPDX-License-Identifier: BSD-3-Clause */
/* new.c - C++'s operators new and delete, which the C++ library calls as well: shared memory, as of malloc. */
#include <stdlib.h>

#include "openmp/team.h"

extern void *tw_shared_aligned_alloc(size_t align, size_t bytes);
extern void *tw_shared_malloc(size_t bytes);
extern void tw_shared_free(void *ptr);

/* An exception would need C++. */
static void *new_got(void *block)
{
	if (!block)
		omp_refuse("operator new: no memory is left of TWEED_MEMORY: raise it");
	return block;
}

/* Mangled names: new and new[] (nw, na) of a size (m), aligned (St11align_val_t), nothrow (RKSt9nothrow_t). */
#define NEW(name, arguments, block)                                                                                    \
	void *omp_##name arguments __asm__("_Z" #name);                                                                \
	void *omp_##name arguments                                                                                     \
	{                                                                                                              \
		return block;                                                                                          \
	}
#define DELETE(name, arguments)                                                                                        \
	void omp_##name arguments __asm__("_Z" #name);                                                                 \
	void omp_##name arguments                                                                                      \
	{                                                                                                              \
		tw_shared_free(ptr);                                                                                   \
	}

NEW(nwm, (size_t n), new_got(tw_shared_malloc(n ? n : 1)))
NEW(nam, (size_t n), new_got(tw_shared_malloc(n ? n : 1)))
NEW(nwmSt11align_val_t, (size_t n, size_t a), new_got(tw_shared_aligned_alloc(a, n ? n : 1)))
NEW(namSt11align_val_t, (size_t n, size_t a), new_got(tw_shared_aligned_alloc(a, n ? n : 1)))
NEW(nwmRKSt9nothrow_t, (size_t n), tw_shared_malloc(n ? n : 1))
NEW(namRKSt9nothrow_t, (size_t n), tw_shared_malloc(n ? n : 1))
DELETE(dlPv, (void *ptr))
DELETE(daPv, (void *ptr))
DELETE(dlPvm, (void *ptr))
DELETE(daPvm, (void *ptr))
DELETE(dlPvSt11align_val_t, (void *ptr))
DELETE(daPvSt11align_val_t, (void *ptr))
DELETE(dlPvmSt11align_val_t, (void *ptr))
DELETE(daPvmSt11align_val_t, (void *ptr))
DELETE(dlPvRKSt9nothrow_t, (void *ptr))
DELETE(daPvRKSt9nothrow_t, (void *ptr))
