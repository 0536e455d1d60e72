/* SPDX-License-Identifier: BSD-3-Clause */
/* reduce.c - reductions of every type: the operation on two elements, and the calls. */
#include "pgas/shmem/check.h"
#include "pgas/shmem/collective/collective.h"

static int reduce_team(shmem_team_t team, void *dest, const void *source, size_t n, size_t size, sh_reduce_op op)
{
	if (team == SHMEM_TEAM_INVALID)
		return -1;
	struct sh_set set = set_of_team(team);
	set_reduce(&set, dest, source, n, size, op);
	return 0;
}

static size_t reduce_count(int n)
{
	return n > 0 ? (size_t)n : 0;
}

/* Elements of the work array. */
static size_t reduce_work(int n)
{
	return TW_MAX(reduce_count(n) / 2 + 1, (size_t)SHMEM_REDUCE_MIN_WRKDATA_SIZE);
}

static void reduce_active(void *dest, const void *source, int n, TWS_ACTIVE_SET, void *work, long *sync, size_t size,
                          sh_reduce_op op)
{
	if (!set_active_mine(PE_start, logPE_stride, PE_size))
		return;
	struct sh_set set = set_of_active(PE_start, logPE_stride, PE_size, sync, work, reduce_work(n) * size);

	set_reduce(&set, dest, source, reduce_count(n), size, op);
}

/* clang-format off */

#define SH_OP(T, N, OP, RESULT) \
	static void OP##_##N(void *into, const void *first, const void *second, size_t n) \
	{ \
		T *c = into; \
		const T *a = first, *b = second; \
		_Pragma("omp simd") \
		for (size_t i = 0; i < n; i++) \
			c[i] = (T)(RESULT); \
	}
#define SH_BITS(T, N) SH_OP(T, N, and, a[i] & b[i]) SH_OP(T, N, or, a[i] | b[i]) SH_OP(T, N, xor, a[i] ^ b[i])
#define SH_ORDER(T, N) SH_OP(T, N, min, a[i] < b[i] ? a[i] : b[i]) SH_OP(T, N, max, a[i] > b[i] ? a[i] : b[i])
#define SH_SUM(T, N) SH_OP(T, N, sum, a[i] + b[i]) SH_OP(T, N, prod, a[i] * b[i])

#define SH_REDUCE(T, N, OP) \
	int pshmem_##N##_##OP##_reduce(shmem_team_t team, T *dest, const T *source, size_t nreduce) \
	{ \
		SH_CHECK_COLLECTIVE("shmem_" #N "_" #OP "_reduce", .team = team, .dest = dest, .source = source, .in_place = true, \
		                    .dest_bytes = sh_bytes(nreduce, sizeof(T)), .source_bytes = sh_bytes(nreduce, sizeof(T)), \
		                    .count = nreduce); \
		return reduce_team(team, dest, source, nreduce, sizeof(T), OP##_##N); \
	}
#define SH_TO_ALL(T, N, OP) \
	void pshmem_##N##_##OP##_to_all(T *dest, const T *source, int nreduce, TWS_ACTIVE_SET, T *pWrk, long *pSync) \
	{ \
		SH_CHECK_COLLECTIVE("shmem_" #N "_" #OP "_to_all", .active = true, .start = PE_start, .log_stride = logPE_stride, \
		                    .pes = PE_size, .sync = pSync, .dest = dest, .source = source, .in_place = true, \
		                    .dest_bytes = reduce_count(nreduce) * sizeof(T), .source_bytes = reduce_count(nreduce) * sizeof(T), \
		                    .work = pWrk, .work_bytes = reduce_work(nreduce) * sizeof(T), .count = (size_t)nreduce); \
		reduce_active(dest, source, nreduce, PE_start, logPE_stride, PE_size, pWrk, pSync, sizeof(T), OP##_##N); \
	}

TWS_TYPES_REDUCE_BITS(SH_BITS)
SH_BITS(short, short)
SH_BITS(int, int)
SH_BITS(long, long)
SH_BITS(long long, longlong)
TWS_TYPES_REDUCE_ORDER(SH_ORDER)
TWS_TYPES_REDUCE_SUM(SH_SUM)

#define SH_TEAM_BITS(T, N) SH_REDUCE(T, N, and) SH_REDUCE(T, N, or) SH_REDUCE(T, N, xor) TWS_FUNCTIONS_REDUCE_BITS(SH_ALIAS, T, N)
#define SH_TEAM_ORDER(T, N) SH_REDUCE(T, N, min) SH_REDUCE(T, N, max) TWS_FUNCTIONS_REDUCE_ORDER(SH_ALIAS, T, N)
#define SH_TEAM_SUM(T, N) SH_REDUCE(T, N, sum) SH_REDUCE(T, N, prod) TWS_FUNCTIONS_REDUCE_SUM(SH_ALIAS, T, N)
TWS_TYPES_REDUCE_BITS(SH_TEAM_BITS)
TWS_TYPES_REDUCE_ORDER(SH_TEAM_ORDER)
TWS_TYPES_REDUCE_SUM(SH_TEAM_SUM)

#define SH_OLD_BITS(T, N) SH_TO_ALL(T, N, and) SH_TO_ALL(T, N, or) SH_TO_ALL(T, N, xor) TWS_FUNCTIONS_TO_ALL_BITS(SH_ALIAS, T, N)
#define SH_OLD_ORDER(T, N) SH_TO_ALL(T, N, min) SH_TO_ALL(T, N, max) TWS_FUNCTIONS_TO_ALL_ORDER(SH_ALIAS, T, N)
#define SH_OLD_SUM(T, N) SH_TO_ALL(T, N, sum) SH_TO_ALL(T, N, prod) TWS_FUNCTIONS_TO_ALL_SUM(SH_ALIAS, T, N)
TWS_TYPES_TO_ALL_BITS(SH_OLD_BITS)
TWS_TYPES_TO_ALL_ORDER(SH_OLD_ORDER)
TWS_TYPES_TO_ALL_SUM(SH_OLD_SUM)

/* clang-format on */

uint64_t sh_team_and(struct shmem_team *team, uint64_t bits)
{
	reduce_team(team, &bits, &bits, 1, sizeof(bits), and_uint64);
	return bits;
}
