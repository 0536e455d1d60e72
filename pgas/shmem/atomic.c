/* SPDX-License-Identifier: BSD-3-Clause */
/* atomic.c - atomics of every type.  Values are passed as bits; words have 4 or 8 bytes. */
#include "pgas/shmem/shmem_impl.h"

/* clang-format off */

/* The bits of a T, and the T of bits. */
#define SH_BITS(T, N) \
	static inline uint64_t bits_##N(T value) \
	{ \
		uint64_t bits = 0; \
		memcpy(&bits, &value, sizeof(T)); \
		return bits; \
	} \
	static inline T value_##N(uint64_t bits) \
	{ \
		T value; \
		memcpy(&value, &bits, sizeof(T)); \
		return value; \
	}
TWS_TYPES_EXTENDED(SH_BITS)

#define SH_AMO(T, N, WORD, OP, VALUE, EXPECT) value_##N(sh_amo(ctx, to, WORD, OP, sizeof(T), VALUE, EXPECT))

/* NAME returns the old value, NAME_nbi stores it.  The remaining arguments are those before the PE. */
#define SH_FETCHING(T, N, NAME, WORD, OP, VALUE, EXPECT, ...) \
	SH_BOTH(T, NAME, return SH_AMO(T, N, WORD, OP, VALUE, EXPECT);, __VA_ARGS__, int pe) \
	SH_BOTH(void, NAME##_nbi, sh_amo_start(ctx, to, WORD, OP, sizeof(T), VALUE, EXPECT, fetch);, T *fetch, __VA_ARGS__, int pe)
#define SH_POSTING(T, NAME, OP, VALUE, ...) \
	SH_BOTH(void, NAME, sh_amo_post(ctx, to, dest, OP, sizeof(T), VALUE);, __VA_ARGS__, int pe)
#define SH_FETCH_OP(T, N, NAME, OP) \
	SH_FETCHING(T, N, N##_atomic_fetch_##NAME, dest, OP, bits_##N(value), 0, T *dest, T value) \
	SH_POSTING(T, N##_atomic_##NAME, OP, bits_##N(value), T *dest, T value)

#define SH_EXTENDED(T, N) \
	SH_FETCHING(T, N, N##_atomic_fetch, source, TW_AMO_FETCH, 0, 0, const T *source) \
	SH_FETCHING(T, N, N##_atomic_swap, dest, TW_AMO_SWAP, bits_##N(value), 0, T *dest, T value) \
	SH_POSTING(T, N##_atomic_set, TW_AMO_SWAP, bits_##N(value), T *dest, T value) \
	TWS_FUNCTIONS_EXTENDED(SH_ALIAS, T, N)
TWS_TYPES_EXTENDED(SH_EXTENDED)

#define SH_STANDARD(T, N) \
	SH_FETCHING(T, N, N##_atomic_compare_swap, dest, TW_AMO_CAS, bits_##N(value), bits_##N(cond), T *dest, T cond, T value) \
	SH_FETCHING(T, N, N##_atomic_fetch_inc, dest, TW_AMO_ADD, 1, 0, T *dest) \
	SH_POSTING(T, N##_atomic_inc, TW_AMO_ADD, 1, T *dest) \
	SH_FETCH_OP(T, N, add, TW_AMO_ADD) \
	TWS_FUNCTIONS_AMO(SH_ALIAS, T, N)
TWS_TYPES_AMO(SH_STANDARD)

#define SH_BITWISE(T, N) \
	SH_FETCH_OP(T, N, and, TW_AMO_AND) \
	SH_FETCH_OP(T, N, or, TW_AMO_OR) \
	SH_FETCH_OP(T, N, xor, TW_AMO_XOR) \
	TWS_FUNCTIONS_BITWISE(SH_ALIAS, T, N)
TWS_TYPES_BITWISE(SH_BITWISE)

/* ---- deprecated names ---- */

#define SH_OLD_EXTENDED(T, N) \
	T pshmem_##N##_fetch(const T *source, int pe) { return pshmem_##N##_atomic_fetch(source, pe); } \
	void pshmem_##N##_set(T *dest, T value, int pe) { pshmem_##N##_atomic_set(dest, value, pe); } \
	T pshmem_##N##_swap(T *dest, T value, int pe) { return pshmem_##N##_atomic_swap(dest, value, pe); } \
	TWS_FUNCTIONS_OLD_EXTENDED(SH_ALIAS, T, N)
TWS_TYPES_EXTENDED(SH_OLD_EXTENDED)

#define SH_OLD_AMO(T, N) \
	T pshmem_##N##_cswap(T *dest, T cond, T value, int pe) { return pshmem_##N##_atomic_compare_swap(dest, cond, value, pe); } \
	T pshmem_##N##_finc(T *dest, int pe) { return pshmem_##N##_atomic_fetch_inc(dest, pe); } \
	void pshmem_##N##_inc(T *dest, int pe) { pshmem_##N##_atomic_inc(dest, pe); } \
	T pshmem_##N##_fadd(T *dest, T value, int pe) { return pshmem_##N##_atomic_fetch_add(dest, value, pe); } \
	void pshmem_##N##_add(T *dest, T value, int pe) { pshmem_##N##_atomic_add(dest, value, pe); } \
	TWS_FUNCTIONS_OLD_AMO(SH_ALIAS, T, N)
TWS_TYPES_AMO(SH_OLD_AMO)
