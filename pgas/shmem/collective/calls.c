/* SPDX-License-Identifier: BSD-3-Clause */
/* calls.c - the collective calls: convert arguments to sets, and types to bytes. */
#include "pgas/shmem/check.h"
#include "pgas/shmem/collective/collective.h"

/* ---- synchronization ---- */

static void calls_sync_all(void)
{
	struct sh_set set = set_of_team(SHMEM_TEAM_WORLD);

	set_sync(&set);
}

/* With two PEs on two nodes, all puts of a PE went to the other PE, before the sync's signal: quiet and sync overlap.
 * With a third PE, to which the first has put, the second could leave the barrier before that put is complete. */
void sh_barrier_all(void)
{
	if (tw_segment.pes == 2 && tw_segment.locals == 1) {
		if (!tw_segment.put_signal) /* otherwise the fallback of the signal begins the quiet */
			tw_segment_remote_ask(tw_segment.flow);
		calls_sync_all();
		tw_segment_quiet();
		return;
	}
	tw_segment_quiet();
	calls_sync_all();
}

void pshmem_sync_all(void)
{
	SH_CHECK_COLLECTIVE("shmem_sync_all", .team = SHMEM_TEAM_WORLD);
	calls_sync_all();
}

void pshmem_barrier_all(void)
{
	SH_CHECK_COLLECTIVE("shmem_barrier_all", .team = SHMEM_TEAM_WORLD);
	sh_barrier_all();
}

int pshmem_team_sync(shmem_team_t team)
{
	SH_CHECK_COLLECTIVE("shmem_team_sync", .team = team);
	if (team == SHMEM_TEAM_INVALID)
		return -1;
	struct sh_set set = set_of_team(team);
	set_sync(&set);
	return 0;
}

/* An active set: for the checks, and as a set. */
#define SH_ACTIVE_SET .active = true, .start = PE_start, .log_stride = logPE_stride, .pes = PE_size, .sync = pSync
/* Some programs make the call on PEs outside the set, too: there it returns at once. */
#define SH_ACTIVE(SET)                                                                                                 \
	if (!set_active_mine(PE_start, logPE_stride, PE_size))                                                         \
		return;                                                                                                \
	struct sh_set SET = set_of_active(PE_start, logPE_stride, PE_size, pSync, NULL, 0)

void pshmem_sync(TWS_ACTIVE_SET, long *pSync)
{
	SH_CHECK_COLLECTIVE("shmem_sync", SH_ACTIVE_SET);
	SH_ACTIVE(set);
	set_sync(&set);
}

void pshmem_barrier(TWS_ACTIVE_SET, long *pSync)
{
	SH_CHECK_COLLECTIVE("shmem_barrier", SH_ACTIVE_SET);
	tw_segment_quiet();
	SH_ACTIVE(set);
	set_sync(&set);
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

/* The distance from the first of @n elements to the end of the last, @stride apart. */
static size_t calls_span(size_t n, ptrdiff_t stride)
{
	return n && stride > 0 ? sh_bytes(n - 1, (size_t)stride) + 1 : 0;
}

/* clang-format off */

/* Regions of a call: DEST and SOURCE elements of SIZE bytes. */
#define SH_REGIONS(DEST, SOURCE, SIZE) \
	.dest = dest, .source = source, .dest_bytes = sh_bytes(DEST, SIZE), .source_bytes = sh_bytes(SOURCE, SIZE)
/* Regions of collectives of PES PEs; NAME is for messages. */
#define SH_CHECK_BROADCAST(NAME, SIZE, ...) \
	SH_CHECK_COLLECTIVE("shmem_" NAME, SH_REGIONS(nelems, nelems, SIZE), .in_place = true, .count = nelems, .root = PE_root, __VA_ARGS__)
#define SH_CHECK_COLLECT(NAME, SIZE, ...) SH_CHECK_COLLECTIVE("shmem_" NAME, SH_REGIONS(nelems, nelems, SIZE), __VA_ARGS__)
#define SH_CHECK_FCOLLECT(NAME, SIZE, PES, ...) \
	SH_CHECK_COLLECTIVE("shmem_" NAME, SH_REGIONS(sh_bytes(nelems, PES), nelems, SIZE), .count = nelems, __VA_ARGS__)
#define SH_CHECK_ALLTOALL(NAME, SIZE, PES, ...) \
	SH_CHECK_COLLECTIVE("shmem_" NAME, SH_REGIONS(sh_bytes(nelems, PES), sh_bytes(nelems, PES), SIZE), .count = nelems, __VA_ARGS__)
#define SH_CHECK_ALLTOALLS(NAME, SIZE, PES, ...) \
	SH_CHECK_COLLECTIVE("shmem_" NAME, \
		SH_REGIONS(calls_span(sh_bytes(nelems, PES), dst), calls_span(sh_bytes(nelems, PES), sst), SIZE), .count = nelems, \
		.strided = true, .dst = dst, .sst = sst, __VA_ARGS__)
#define SH_TEAM_SIZE   (team ? team->size : 0)
#define SH_ACTIVE_SIZE (PE_size > 0 ? (size_t)PE_size : 0)

/* Functions for elements of SIZE bytes; the names follow. */
#define SH_COLLECTIVES(T, SIZE, BROADCAST, COLLECT, FCOLLECT, ALLTOALL, ALLTOALLS) \
	int pshmem_##BROADCAST(shmem_team_t team, T *dest, const T *source, size_t nelems, int PE_root) \
	{ \
		SH_CHECK_BROADCAST(#BROADCAST, SIZE, .team = team); \
		return calls_broadcast(team, dest, source, sh_bytes(nelems, SIZE), PE_root); \
	} \
	int pshmem_##COLLECT(shmem_team_t team, T *dest, const T *source, size_t nelems) \
	{ \
		SH_CHECK_COLLECT(#COLLECT, SIZE, .team = team); \
		return calls_collect(team, dest, source, sh_bytes(nelems, SIZE), false); \
	} \
	int pshmem_##FCOLLECT(shmem_team_t team, T *dest, const T *source, size_t nelems) \
	{ \
		SH_CHECK_FCOLLECT(#FCOLLECT, SIZE, SH_TEAM_SIZE, .team = team); \
		return calls_collect(team, dest, source, sh_bytes(nelems, SIZE), true); \
	} \
	int pshmem_##ALLTOALL(shmem_team_t team, T *dest, const T *source, size_t nelems) \
	{ \
		SH_CHECK_ALLTOALL(#ALLTOALL, SIZE, SH_TEAM_SIZE, .team = team); \
		return calls_alltoall(team, dest, source, 1, 1, nelems, SIZE); \
	} \
	int pshmem_##ALLTOALLS(shmem_team_t team, T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems) \
	{ \
		SH_CHECK_ALLTOALLS(#ALLTOALLS, SIZE, SH_TEAM_SIZE, .team = team); \
		return calls_alltoall(team, dest, source, dst, sst, nelems, SIZE); \
	}

#define SH_TYPED(T, N) \
	SH_COLLECTIVES(T, sizeof(T), N##_broadcast, N##_collect, N##_fcollect, N##_alltoall, N##_alltoalls) \
	TWS_FUNCTIONS_COLLECTIVE(SH_ALIAS, T, N)
TWS_TYPES_RMA(SH_TYPED)
SH_COLLECTIVES(void, 1, broadcastmem, collectmem, fcollectmem, alltoallmem, alltoallsmem)
TWS_FUNCTIONS_COLLECTIVE_MEM(SH_ALIAS)

#define SH_OLD(BITS) \
	void pshmem_broadcast##BITS(void *dest, const void *source, size_t nelems, int PE_root, TWS_ACTIVE_SET, long *pSync) \
	{ \
		SH_CHECK_BROADCAST("broadcast" #BITS, BITS / 8, SH_ACTIVE_SET); \
		SH_ACTIVE(set); \
		if ((unsigned)PE_root >= set.size) \
			sh_no_pe((unsigned)PE_root, SH_CALLER); \
		set_broadcast(&set, dest, source, sh_bytes(nelems, BITS / 8), (unsigned)PE_root); \
	} \
	void pshmem_collect##BITS(void *dest, const void *source, size_t nelems, TWS_ACTIVE_SET, long *pSync) \
	{ \
		SH_CHECK_COLLECT("collect" #BITS, BITS / 8, SH_ACTIVE_SET); \
		SH_ACTIVE(set); \
		size_t bytes = sh_bytes(nelems, BITS / 8); \
		collect_flat(&set, dest, source, bytes, set_scan(&set, bytes)); \
	} \
	void pshmem_fcollect##BITS(void *dest, const void *source, size_t nelems, TWS_ACTIVE_SET, long *pSync) \
	{ \
		SH_CHECK_FCOLLECT("fcollect" #BITS, BITS / 8, SH_ACTIVE_SIZE, SH_ACTIVE_SET); \
		SH_ACTIVE(set); \
		set_fcollect(&set, dest, source, sh_bytes(nelems, BITS / 8)); \
	} \
	void pshmem_alltoall##BITS(void *dest, const void *source, size_t nelems, TWS_ACTIVE_SET, long *pSync) \
	{ \
		SH_CHECK_ALLTOALL("alltoall" #BITS, BITS / 8, SH_ACTIVE_SIZE, SH_ACTIVE_SET); \
		SH_ACTIVE(set); \
		set_alltoall(&set, dest, source, 1, 1, nelems, BITS / 8); \
	} \
	void pshmem_alltoalls##BITS(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, TWS_ACTIVE_SET, \
	                            long *pSync) \
	{ \
		SH_CHECK_ALLTOALLS("alltoalls" #BITS, BITS / 8, SH_ACTIVE_SIZE, SH_ACTIVE_SET); \
		SH_ACTIVE(set); \
		set_alltoall(&set, dest, source, dst, sst, nelems, BITS / 8); \
	} \
	TWS_FUNCTIONS_COLLECTIVE_OLD(SH_ALIAS, BITS)
SH_OLD(32)
SH_OLD(64)
