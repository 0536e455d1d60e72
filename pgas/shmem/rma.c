/* SPDX-License-Identifier: BSD-3-Clause */
/* rma.c - puts and gets of every type and size. */
#include "pgas/shmem/check.h"

SH_INLINE void rma_signal(shmem_ctx_t ctx, unsigned pe, uint64_t *sig_addr, uint64_t signal, int sig_op)
{
	char *to = tw_segment_direct(pe);

	tw_segment_fence();
	if (sig_op == SHMEM_SIGNAL_SET && to && tw_segment.cpu_atomics) {
		atomic_store_explicit((_Atomic uint64_t *)(void *)(to + sh_at(sig_addr, 8)), signal,
		                      memory_order_release);
		tw_segment_wake(to);
		return;
	}
	sh_amo_post(ctx, pe, sig_addr, sig_op == SHMEM_SIGNAL_ADD ? TW_AMO_ADD : TW_AMO_SWAP, 8, signal);
	if (!to)
		tw_segment_remote_wake(pe);
}

/* After the put of a single element, which a PE may wait for. */
static inline void rma_nudge(unsigned pe)
{
	char *to = tw_segment_direct(pe);

	if (to)
		tw_segment_nudge(to);
}

/* @n elements of @size bytes; @dst and @sst are strides in elements. */
SH_INLINE void rma_iput(shmem_ctx_t ctx, unsigned pe, char *dest, const char *source, ptrdiff_t dst, ptrdiff_t sst,
                        size_t size, size_t n)
{
	SH_CHECK(strides, dst, sst);
	for (ptrdiff_t i = 0; i < (ptrdiff_t)n; i++)
		sh_put(ctx, pe, dest + i * dst * (ptrdiff_t)size, source + i * sst * (ptrdiff_t)size, size);
}

SH_INLINE void rma_iget(shmem_ctx_t ctx, unsigned pe, char *dest, const char *source, ptrdiff_t dst, ptrdiff_t sst,
                        size_t size, size_t n)
{
	SH_CHECK(strides, dst, sst);
	for (ptrdiff_t i = 0; i < (ptrdiff_t)n; i++)
		sh_get(ctx, pe, dest + i * dst * (ptrdiff_t)size, source + i * sst * (ptrdiff_t)size, size, false);
	if (tw_segment.open)
		tw_segment_remote_quiet(ctx->flow);
}

/* clang-format off */

/* Functions for elements of SIZE bytes.  T: the pointers' target type.  PUT ... IGET: names. */
#define SH_COPIES(T, SIZE, PUT, GET, SIGNAL) \
	SH_BOTH(void, PUT, sh_put(ctx, to, dest, source, sh_bytes(nelems, SIZE));, T *dest, const T *source, size_t nelems, int pe) \
	SH_BOTH(void, GET, sh_get(ctx, to, dest, source, sh_bytes(nelems, SIZE), true);, T *dest, const T *source, size_t nelems, int pe) \
	SH_BOTH(void, PUT##_nbi, sh_start_put(ctx, to, dest, source, sh_bytes(nelems, SIZE), true);, T *dest, const T *source, size_t nelems, int pe) \
	SH_BOTH(void, GET##_nbi, sh_get(ctx, to, dest, source, sh_bytes(nelems, SIZE), false);, T *dest, const T *source, size_t nelems, int pe) \
	SH_BOTH(void, SIGNAL, \
	        SH_CHECK(signal, dest, sh_bytes(nelems, SIZE), sig_addr, sig_op); \
	        sh_put(ctx, to, dest, source, sh_bytes(nelems, SIZE)); rma_signal(ctx, to, sig_addr, signal, sig_op);, \
	        T *dest, const T *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe) \
	SH_BOTH(void, SIGNAL##_nbi, \
	        SH_CHECK(signal, dest, sh_bytes(nelems, SIZE), sig_addr, sig_op); \
	        sh_start_put(ctx, to, dest, source, sh_bytes(nelems, SIZE), true); rma_signal(ctx, to, sig_addr, signal, sig_op);, \
	        T *dest, const T *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe)
#define SH_STRIDED(T, SIZE, PUT, GET) \
	SH_BOTH(void, PUT, rma_iput(ctx, to, (char *)dest, (const char *)source, dst, sst, SIZE, nelems);, \
	        T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) \
	SH_BOTH(void, GET, rma_iget(ctx, to, (char *)dest, (const char *)source, dst, sst, SIZE, nelems);, \
	        T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe)

#define SH_TYPED(T, N) \
	SH_COPIES(T, sizeof(T), N##_put, N##_get, N##_put_signal) \
	SH_STRIDED(T, sizeof(T), N##_iput, N##_iget) \
	SH_BOTH(void, N##_p, sh_put(ctx, to, dest, &value, sizeof(T)); rma_nudge(to);, T *dest, T value, int pe) \
	SH_BOTH(T, N##_g, T value; sh_get(ctx, to, &value, source, sizeof(T), true); return value;, const T *source, int pe) \
	TWS_FUNCTIONS_RMA(SH_ALIAS, T, N)
TWS_TYPES_RMA(SH_TYPED)

#define SH_SIZED(BITS) \
	SH_COPIES(void, BITS / 8, put##BITS, get##BITS, put##BITS##_signal) \
	SH_STRIDED(void, BITS / 8, iput##BITS, iget##BITS) \
	TWS_FUNCTIONS_SIZE(SH_ALIAS, BITS)
TWS_SIZES(SH_SIZED)

SH_COPIES(void, 1, putmem, getmem, putmem_signal)
TWS_FUNCTIONS_MEM(SH_ALIAS)
