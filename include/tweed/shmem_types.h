/* SPDX-License-Identifier: BSD-3-Clause */
/* shmem_types.h - the table of OpenSHMEM's typed functions.
 *
 * Types: TWS_TYPES_...(X) lists X(type, name in functions), as the specification's tables do.  The first part of each
 * list has every C type once, as C11's generic selection requires.  The second part has other names of the same types.
 *
 * Functions: TWS_FUNCTIONS_...(F, T, N) lists F(result, name without its prefix, arguments) for type T of name N.  The
 * prototypes (shmem.h), the names shmem_ and pshmem_, and the weak aliases (pgas/shmem/) all come from this table. */
#ifndef TWEED_SHMEM_TYPES_H
#define TWEED_SHMEM_TYPES_H

/* clang-format off */

/* ---- types ---- */

#define TWS_TYPES_FIXED(X) \
	X(int8_t, int8) X(int16_t, int16) X(int32_t, int32) X(int64_t, int64) \
	X(uint8_t, uint8) X(uint16_t, uint16) X(uint32_t, uint32) X(uint64_t, uint64) X(size_t, size) X(ptrdiff_t, ptrdiff)
#define TWS_TYPES_WORDS(X) X(int32_t, int32) X(int64_t, int64) X(uint32_t, uint32) X(uint64_t, uint64) X(size_t, size) X(ptrdiff_t, ptrdiff)

/* Remote memory access, and collectives other than reductions: "standard RMA types". */
#define TWS_TYPES_RMA_ONCE(X) \
	X(float, float) X(double, double) X(long double, longdouble) X(char, char) X(signed char, schar) X(short, short) \
	X(int, int) X(long, long) X(long long, longlong) X(unsigned char, uchar) X(unsigned short, ushort) \
	X(unsigned int, uint) X(unsigned long, ulong) X(unsigned long long, ulonglong)
#define TWS_TYPES_RMA(X) TWS_TYPES_RMA_ONCE(X) TWS_TYPES_FIXED(X)

/* Atomics: standard, extended, bitwise. */
#define TWS_TYPES_AMO_ONCE(X) \
	X(int, int) X(long, long) X(long long, longlong) X(unsigned int, uint) X(unsigned long, ulong) X(unsigned long long, ulonglong)
#define TWS_TYPES_AMO(X) TWS_TYPES_AMO_ONCE(X) TWS_TYPES_WORDS(X)
#define TWS_TYPES_EXTENDED_ONCE(X) X(float, float) X(double, double) TWS_TYPES_AMO_ONCE(X)
#define TWS_TYPES_EXTENDED(X) X(float, float) X(double, double) TWS_TYPES_AMO(X)
#define TWS_TYPES_BITWISE_ONCE(X) \
	X(unsigned int, uint) X(unsigned long, ulong) X(unsigned long long, ulonglong) X(int32_t, int32) X(int64_t, int64)
#define TWS_TYPES_BITWISE(X) TWS_TYPES_BITWISE_ONCE(X) X(uint32_t, uint32) X(uint64_t, uint64)
/* Point-to-point synchronization. */
#define TWS_TYPES_SYNC_ONCE(X) X(short, short) X(unsigned short, ushort) TWS_TYPES_AMO_ONCE(X)
#define TWS_TYPES_SYNC(X) TWS_TYPES_SYNC_ONCE(X) TWS_TYPES_WORDS(X)
#define TWS_TYPES_OLD_WAIT(X) X(short, short) X(int, int) X(long, long) X(long long, longlong)

/* Reductions of teams. */
#define TWS_TYPES_REDUCE_BITS_ONCE(X) \
	X(unsigned char, uchar) X(unsigned short, ushort) X(unsigned int, uint) X(unsigned long, ulong) \
	X(unsigned long long, ulonglong) X(int8_t, int8) X(int16_t, int16) X(int32_t, int32) X(int64_t, int64)
#define TWS_TYPES_REDUCE_BITS(X) \
	TWS_TYPES_REDUCE_BITS_ONCE(X) X(uint8_t, uint8) X(uint16_t, uint16) X(uint32_t, uint32) X(uint64_t, uint64) X(size_t, size)
#define TWS_TYPES_REDUCE_ORDER_ONCE(X) TWS_TYPES_RMA_ONCE(X)
#define TWS_TYPES_REDUCE_ORDER(X) TWS_TYPES_RMA(X)
#define TWS_TYPES_COMPLEX(X) X(tws_complexd, complexd) X(tws_complexf, complexf)
#define TWS_TYPES_REDUCE_SUM_ONCE(X) TWS_TYPES_RMA_ONCE(X) TWS_TYPES_COMPLEX(X)
#define TWS_TYPES_REDUCE_SUM(X) TWS_TYPES_RMA(X) TWS_TYPES_COMPLEX(X)

/* Reductions of active sets. */
#define TWS_TYPES_TO_ALL_WHOLE(X) \
	X(short, short) X(int, int) X(long, long) X(long long, longlong) X(unsigned short, ushort) X(unsigned int, uint) \
	X(unsigned long, ulong) X(unsigned long long, ulonglong)
#define TWS_TYPES_TO_ALL_BITS(X) X(unsigned char, uchar) TWS_TYPES_TO_ALL_WHOLE(X)
#define TWS_TYPES_TO_ALL_ORDER(X) TWS_TYPES_TO_ALL_WHOLE(X) X(float, float) X(double, double) X(long double, longdouble)
#define TWS_TYPES_TO_ALL_SUM(X) TWS_TYPES_TO_ALL_ORDER(X) TWS_TYPES_COMPLEX(X)

/* Sizes in bits. */
#define TWS_SIZES(X) X(8) X(16) X(32) X(64) X(128)

/* ---- functions ---- */

/* Each function with a context has a twin without. */
#define TWS_BOTH(F, R, NAME, ...) \
	F(R, NAME, (__VA_ARGS__)) \
	F(R, ctx_##NAME, (shmem_ctx_t ctx, __VA_ARGS__))

#define TWS_PUT_GET(F, T, NAME_PUT, NAME_GET) \
	TWS_BOTH(F, void, NAME_PUT, T *dest, const T *source, size_t nelems, int pe) \
	TWS_BOTH(F, void, NAME_GET, T *dest, const T *source, size_t nelems, int pe)
#define TWS_SIGNAL(F, T, NAME) \
	TWS_BOTH(F, void, NAME, T *dest, const T *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe)
#define TWS_STRIDED(F, T, NAME_PUT, NAME_GET) \
	TWS_BOTH(F, void, NAME_PUT, T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe) \
	TWS_BOTH(F, void, NAME_GET, T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe)

#define TWS_FUNCTIONS_RMA(F, T, N) \
	TWS_PUT_GET(F, T, N##_put, N##_get) \
	TWS_PUT_GET(F, T, N##_put_nbi, N##_get_nbi) \
	TWS_STRIDED(F, T, N##_iput, N##_iget) \
	TWS_SIGNAL(F, T, N##_put_signal) \
	TWS_SIGNAL(F, T, N##_put_signal_nbi) \
	TWS_BOTH(F, void, N##_p, T *dest, T value, int pe) \
	TWS_BOTH(F, T, N##_g, const T *source, int pe)
#define TWS_FUNCTIONS_SIZE(F, BITS) \
	TWS_PUT_GET(F, void, put##BITS, get##BITS) \
	TWS_PUT_GET(F, void, put##BITS##_nbi, get##BITS##_nbi) \
	TWS_STRIDED(F, void, iput##BITS, iget##BITS) \
	TWS_SIGNAL(F, void, put##BITS##_signal) \
	TWS_SIGNAL(F, void, put##BITS##_signal_nbi)
#define TWS_FUNCTIONS_MEM(F) \
	TWS_PUT_GET(F, void, putmem, getmem) \
	TWS_PUT_GET(F, void, putmem_nbi, getmem_nbi) \
	TWS_SIGNAL(F, void, putmem_signal) \
	TWS_SIGNAL(F, void, putmem_signal_nbi)

#define TWS_FUNCTIONS_EXTENDED(F, T, N) \
	TWS_BOTH(F, T, N##_atomic_fetch, const T *source, int pe) \
	TWS_BOTH(F, void, N##_atomic_fetch_nbi, T *fetch, const T *source, int pe) \
	TWS_BOTH(F, void, N##_atomic_set, T *dest, T value, int pe) \
	TWS_BOTH(F, T, N##_atomic_swap, T *dest, T value, int pe) \
	TWS_BOTH(F, void, N##_atomic_swap_nbi, T *fetch, T *dest, T value, int pe)
#define TWS_FUNCTIONS_AMO(F, T, N) \
	TWS_BOTH(F, T, N##_atomic_compare_swap, T *dest, T cond, T value, int pe) \
	TWS_BOTH(F, void, N##_atomic_compare_swap_nbi, T *fetch, T *dest, T cond, T value, int pe) \
	TWS_BOTH(F, T, N##_atomic_fetch_inc, T *dest, int pe) \
	TWS_BOTH(F, void, N##_atomic_fetch_inc_nbi, T *fetch, T *dest, int pe) \
	TWS_BOTH(F, void, N##_atomic_inc, T *dest, int pe) \
	TWS_FUNCTIONS_FETCH_OP(F, T, N, add)
#define TWS_FUNCTIONS_FETCH_OP(F, T, N, OP) \
	TWS_BOTH(F, T, N##_atomic_fetch_##OP, T *dest, T value, int pe) \
	TWS_BOTH(F, void, N##_atomic_fetch_##OP##_nbi, T *fetch, T *dest, T value, int pe) \
	TWS_BOTH(F, void, N##_atomic_##OP, T *dest, T value, int pe)
#define TWS_FUNCTIONS_BITWISE(F, T, N) \
	TWS_FUNCTIONS_FETCH_OP(F, T, N, and) \
	TWS_FUNCTIONS_FETCH_OP(F, T, N, or) \
	TWS_FUNCTIONS_FETCH_OP(F, T, N, xor)
#define TWS_FUNCTIONS_OLD_EXTENDED(F, T, N) \
	F(T, N##_fetch, (const T *source, int pe)) \
	F(void, N##_set, (T *dest, T value, int pe)) \
	F(T, N##_swap, (T *dest, T value, int pe))
#define TWS_FUNCTIONS_OLD_AMO(F, T, N) \
	F(T, N##_cswap, (T *dest, T cond, T value, int pe)) \
	F(T, N##_finc, (T *dest, int pe)) \
	F(void, N##_inc, (T *dest, int pe)) \
	F(T, N##_fadd, (T *dest, T value, int pe)) \
	F(void, N##_add, (T *dest, T value, int pe))

#define TWS_FUNCTIONS_SYNC(F, T, N) \
	F(void, N##_wait_until, (T *ivar, int cmp, T cmp_value)) \
	F(void, N##_wait_until_all, (T *ivars, size_t nelems, const int *status, int cmp, T cmp_value)) \
	F(size_t, N##_wait_until_any, (T *ivars, size_t nelems, const int *status, int cmp, T cmp_value)) \
	F(size_t, N##_wait_until_some, (T *ivars, size_t nelems, size_t *indices, const int *status, int cmp, T cmp_value)) \
	F(void, N##_wait_until_all_vector, (T *ivars, size_t nelems, const int *status, int cmp, T *cmp_values)) \
	F(size_t, N##_wait_until_any_vector, (T *ivars, size_t nelems, const int *status, int cmp, T *cmp_values)) \
	F(size_t, N##_wait_until_some_vector, (T *ivars, size_t nelems, size_t *indices, const int *status, int cmp, T *cmp_values)) \
	F(int, N##_test, (T *ivar, int cmp, T cmp_value)) \
	F(int, N##_test_all, (T *ivars, size_t nelems, const int *status, int cmp, T cmp_value)) \
	F(size_t, N##_test_any, (T *ivars, size_t nelems, const int *status, int cmp, T cmp_value)) \
	F(size_t, N##_test_some, (T *ivars, size_t nelems, size_t *indices, const int *status, int cmp, T cmp_value)) \
	F(int, N##_test_all_vector, (T *ivars, size_t nelems, const int *status, int cmp, T *cmp_values)) \
	F(size_t, N##_test_any_vector, (T *ivars, size_t nelems, const int *status, int cmp, T *cmp_values)) \
	F(size_t, N##_test_some_vector, (T *ivars, size_t nelems, size_t *indices, const int *status, int cmp, T *cmp_values))
#define TWS_FUNCTIONS_OLD_WAIT(F, T, N) F(void, N##_wait, (T *ivar, T cmp_value))

#define TWS_FUNCTIONS_COLLECTIVE(F, T, N) \
	F(int, N##_broadcast, (shmem_team_t team, T *dest, const T *source, size_t nelems, int PE_root)) \
	F(int, N##_collect, (shmem_team_t team, T *dest, const T *source, size_t nelems)) \
	F(int, N##_fcollect, (shmem_team_t team, T *dest, const T *source, size_t nelems)) \
	F(int, N##_alltoall, (shmem_team_t team, T *dest, const T *source, size_t nelems)) \
	F(int, N##_alltoalls, (shmem_team_t team, T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems))
#define TWS_FUNCTIONS_COLLECTIVE_MEM(F) \
	F(int, broadcastmem, (shmem_team_t team, void *dest, const void *source, size_t nelems, int PE_root)) \
	F(int, collectmem, (shmem_team_t team, void *dest, const void *source, size_t nelems)) \
	F(int, fcollectmem, (shmem_team_t team, void *dest, const void *source, size_t nelems)) \
	F(int, alltoallmem, (shmem_team_t team, void *dest, const void *source, size_t nelems)) \
	F(int, alltoallsmem, (shmem_team_t team, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems))
#define TWS_ACTIVE_SET int PE_start, int logPE_stride, int PE_size
#define TWS_FUNCTIONS_COLLECTIVE_OLD(F, BITS) \
	F(void, broadcast##BITS, (void *dest, const void *source, size_t nelems, int PE_root, TWS_ACTIVE_SET, long *pSync)) \
	F(void, collect##BITS, (void *dest, const void *source, size_t nelems, TWS_ACTIVE_SET, long *pSync)) \
	F(void, fcollect##BITS, (void *dest, const void *source, size_t nelems, TWS_ACTIVE_SET, long *pSync)) \
	F(void, alltoall##BITS, (void *dest, const void *source, size_t nelems, TWS_ACTIVE_SET, long *pSync)) \
	F(void, alltoalls##BITS, (void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, TWS_ACTIVE_SET, long *pSync))

#define TWS_REDUCE(F, T, N, OP) F(int, N##_##OP##_reduce, (shmem_team_t team, T *dest, const T *source, size_t nreduce))
#define TWS_TO_ALL(F, T, N, OP) \
	F(void, N##_##OP##_to_all, (T *dest, const T *source, int nreduce, TWS_ACTIVE_SET, T *pWrk, long *pSync))
#define TWS_FUNCTIONS_REDUCE_BITS(F, T, N) TWS_REDUCE(F, T, N, and) TWS_REDUCE(F, T, N, or) TWS_REDUCE(F, T, N, xor)
#define TWS_FUNCTIONS_REDUCE_ORDER(F, T, N) TWS_REDUCE(F, T, N, min) TWS_REDUCE(F, T, N, max)
#define TWS_FUNCTIONS_REDUCE_SUM(F, T, N) TWS_REDUCE(F, T, N, sum) TWS_REDUCE(F, T, N, prod)
#define TWS_FUNCTIONS_TO_ALL_BITS(F, T, N) TWS_TO_ALL(F, T, N, and) TWS_TO_ALL(F, T, N, or) TWS_TO_ALL(F, T, N, xor)
#define TWS_FUNCTIONS_TO_ALL_ORDER(F, T, N) TWS_TO_ALL(F, T, N, min) TWS_TO_ALL(F, T, N, max)
#define TWS_FUNCTIONS_TO_ALL_SUM(F, T, N) TWS_TO_ALL(F, T, N, sum) TWS_TO_ALL(F, T, N, prod)

/* Functions without a type. */
#define TWS_FUNCTIONS_SETUP(F) \
	F(void, init, (void)) \
	F(int, init_thread, (int requested, int *provided)) \
	F(void, query_thread, (int *provided)) \
	F(void, finalize, (void)) \
	F(int, my_pe, (void)) \
	F(int, n_pes, (void)) \
	F(int, pe_accessible, (int pe)) \
	F(int, addr_accessible, (const void *addr, int pe)) \
	F(void *, ptr, (const void *dest, int pe)) \
	F(void *, team_ptr, (shmem_team_t team, const void *dest, int pe)) \
	F(void, info_get_version, (int *major, int *minor)) \
	F(void, info_get_name, (char *name)) \
	F(void, pcontrol, (int level, ...)) \
	F(void, clear_cache_inv, (void)) \
	F(void, set_cache_inv, (void)) \
	F(void, clear_cache_line_inv, (void *dest)) \
	F(void, set_cache_line_inv, (void *dest)) \
	F(void, udcflush, (void)) \
	F(void, udcflush_line, (void *dest))
#define TWS_FUNCTIONS_HEAP(F) \
	F(void *, malloc, (size_t size)) \
	F(void *, calloc, (size_t count, size_t size)) \
	F(void *, align, (size_t alignment, size_t size)) \
	F(void *, realloc, (void *ptr, size_t size)) \
	F(void *, malloc_with_hints, (size_t size, long hints)) \
	F(void, free, (void *ptr))
#define TWS_FUNCTIONS_TEAM(F) \
	F(int, team_my_pe, (shmem_team_t team)) \
	F(int, team_n_pes, (shmem_team_t team)) \
	F(int, team_get_config, (shmem_team_t team, long config_mask, shmem_team_config_t *config)) \
	F(int, team_translate_pe, (shmem_team_t src_team, int src_pe, shmem_team_t dest_team)) \
	F(int, team_split_strided, (shmem_team_t parent_team, int start, int stride, int size, \
	                            const shmem_team_config_t *config, long config_mask, shmem_team_t *new_team)) \
	F(int, team_split_2d, (shmem_team_t parent_team, int xrange, \
	                       const shmem_team_config_t *xaxis_config, long xaxis_mask, shmem_team_t *xaxis_team, \
	                       const shmem_team_config_t *yaxis_config, long yaxis_mask, shmem_team_t *yaxis_team)) \
	F(void, team_destroy, (shmem_team_t team)) \
	F(int, team_create_ctx, (shmem_team_t team, long options, shmem_ctx_t *ctx)) \
	F(int, ctx_create, (long options, shmem_ctx_t *ctx)) \
	F(void, ctx_destroy, (shmem_ctx_t ctx)) \
	F(int, ctx_get_team, (shmem_ctx_t ctx, shmem_team_t *team))
#define TWS_FUNCTIONS_ORDER(F) \
	F(void, fence, (void)) \
	F(void, quiet, (void)) \
	F(void, ctx_fence, (shmem_ctx_t ctx)) \
	F(void, ctx_quiet, (shmem_ctx_t ctx)) \
	F(uint64_t, signal_fetch, (const uint64_t *sig_addr)) \
	F(uint64_t, signal_wait_until, (uint64_t *sig_addr, int cmp, uint64_t cmp_value)) \
	F(void, wait_until, (long *ivar, int cmp, long cmp_value)) \
	F(void, wait, (long *ivar, long cmp_value)) \
	F(long, swap, (long *dest, long value, int pe))
#define TWS_FUNCTIONS_LOCK(F) \
	F(void, set_lock, (long *lock)) \
	F(int, test_lock, (long *lock)) \
	F(void, clear_lock, (long *lock))
#define TWS_FUNCTIONS_BARRIER(F) \
	F(void, barrier_all, (void)) \
	F(void, sync_all, (void)) \
	F(int, team_sync, (shmem_team_t team)) \
	F(void, barrier, (TWS_ACTIVE_SET, long *pSync)) \
	F(void, sync, (TWS_ACTIVE_SET, long *pSync))

/* clang-format on */
#endif
