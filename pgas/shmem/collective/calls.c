/* SPDX-License-Identifier: BSD-3-Clause */
/* calls.c - the collective calls: arguments to sets, types to bytes. */
#include "pgas/shmem/collective/collective.h"

/* ---- synchronization ---- */

void pshmem_sync_all(void)
{
	struct sh_set set = set_of_team(SHMEM_TEAM_WORLD);

	set_sync(&set);
}

void pshmem_barrier_all(void)
{
	tw_segment_quiet();
	pshmem_sync_all();
}

int pshmem_team_sync(shmem_team_t team)
{
	if (team == SHMEM_TEAM_INVALID)
		return -1;
	struct sh_set set = set_of_team(team);
	set_sync(&set);
	return 0;
}

void pshmem_sync(TWS_ACTIVE_SET, long *pSync)
{
	struct sh_set set = set_of_active(PE_start, logPE_stride, PE_size, pSync, NULL, 0);

	set_sync(&set);
}

void pshmem_barrier(TWS_ACTIVE_SET, long *pSync)
{
	tw_segment_quiet();
	pshmem_sync(PE_start, logPE_stride, PE_size, pSync);
}

TWS_FUNCTIONS_BARRIER(SH_ALIAS)

/* ---- data ---- */

static int calls_broadcast(shmem_team_t team, void *dest, const void *source, size_t bytes, int root)
{
	if (team == SHMEM_TEAM_INVALID || (unsigned)root >= team->size)
		return -1;
	struct sh_set set = set_of_team(team);
	set_broadcast(&set, dest, source, bytes, (unsigned)root);
	if (set.me == (unsigned)root && dest != source && bytes)
		memcpy(dest, source, bytes);
	return 0;
}

static int calls_collect(shmem_team_t team, void *dest, const void *source, size_t bytes, bool equal)
{
	if (team == SHMEM_TEAM_INVALID)
		return -1;
	struct sh_set set = set_of_team(team);
	if (equal)
		set_fcollect(&set, dest, source, bytes);
	else
		collect_flat(&set, dest, source, bytes, set_scan(&set, bytes));
	return 0;
}

static int calls_alltoall(shmem_team_t team, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t n,
                          size_t size)
{
	if (team == SHMEM_TEAM_INVALID)
		return -1;
	struct sh_set set = set_of_team(team);
	set_alltoall(&set, dest, source, dst, sst, n, size);
	return 0;
}

/* clang-format off */

/* Of elements of SIZE bytes; the names follow. */
#define SH_COLLECTIVES(T, SIZE, BROADCAST, COLLECT, FCOLLECT, ALLTOALL, ALLTOALLS) \
	int pshmem_##BROADCAST(shmem_team_t team, T *dest, const T *source, size_t nelems, int PE_root) \
	{ return calls_broadcast(team, dest, source, sh_bytes(nelems, SIZE), PE_root); } \
	int pshmem_##COLLECT(shmem_team_t team, T *dest, const T *source, size_t nelems) \
	{ return calls_collect(team, dest, source, sh_bytes(nelems, SIZE), false); } \
	int pshmem_##FCOLLECT(shmem_team_t team, T *dest, const T *source, size_t nelems) \
	{ return calls_collect(team, dest, source, sh_bytes(nelems, SIZE), true); } \
	int pshmem_##ALLTOALL(shmem_team_t team, T *dest, const T *source, size_t nelems) \
	{ return calls_alltoall(team, dest, source, 1, 1, nelems, SIZE); } \
	int pshmem_##ALLTOALLS(shmem_team_t team, T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems) \
	{ return calls_alltoall(team, dest, source, dst, sst, nelems, SIZE); }

#define SH_TYPED(T, N) \
	SH_COLLECTIVES(T, sizeof(T), N##_broadcast, N##_collect, N##_fcollect, N##_alltoall, N##_alltoalls) \
	TWS_FUNCTIONS_COLLECTIVE(SH_ALIAS, T, N)
TWS_TYPES_RMA(SH_TYPED)
SH_COLLECTIVES(void, 1, broadcastmem, collectmem, fcollectmem, alltoallmem, alltoallsmem)
TWS_FUNCTIONS_COLLECTIVE_MEM(SH_ALIAS)

#define SH_ACTIVE struct sh_set set = set_of_active(PE_start, logPE_stride, PE_size, pSync, NULL, 0);
#define SH_OLD(BITS) \
	void pshmem_broadcast##BITS(void *dest, const void *source, size_t nelems, int PE_root, TWS_ACTIVE_SET, long *pSync) \
	{ \
		SH_ACTIVE \
		if ((unsigned)PE_root >= set.size) \
			sh_no_pe((unsigned)PE_root); \
		set_broadcast(&set, dest, source, sh_bytes(nelems, BITS / 8), (unsigned)PE_root); \
	} \
	void pshmem_collect##BITS(void *dest, const void *source, size_t nelems, TWS_ACTIVE_SET, long *pSync) \
	{ \
		SH_ACTIVE \
		size_t bytes = sh_bytes(nelems, BITS / 8); \
		collect_flat(&set, dest, source, bytes, set_scan(&set, bytes)); \
	} \
	void pshmem_fcollect##BITS(void *dest, const void *source, size_t nelems, TWS_ACTIVE_SET, long *pSync) \
	{ \
		SH_ACTIVE \
		set_fcollect(&set, dest, source, sh_bytes(nelems, BITS / 8)); \
	} \
	void pshmem_alltoall##BITS(void *dest, const void *source, size_t nelems, TWS_ACTIVE_SET, long *pSync) \
	{ \
		SH_ACTIVE \
		set_alltoall(&set, dest, source, 1, 1, nelems, BITS / 8); \
	} \
	void pshmem_alltoalls##BITS(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, TWS_ACTIVE_SET, \
	                            long *pSync) \
	{ \
		SH_ACTIVE \
		set_alltoall(&set, dest, source, dst, sst, nelems, BITS / 8); \
	} \
	TWS_FUNCTIONS_COLLECTIVE_OLD(SH_ALIAS, BITS)
SH_OLD(32)
SH_OLD(64)
