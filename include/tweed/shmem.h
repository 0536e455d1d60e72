/* SPDX-License-Identifier: BSD-3-Clause */
/* shmem.h - OpenSHMEM 1.5, for C and C++.
 *
 * Build with `tweed oshcc` (or `tweed oshc++`), run with `tweed oshrun -n PES PROGRAM`; without a launcher a program is
 * one PE.  The specification is the manual; this header states what it leaves open.  doc/guide/openshmem.md describes
 * the implementation.
 *
 * Symmetric memory is what shmem_malloc and its kin return, and the global and static variables of the executable and
 * of shared libraries that `tweed oshcc -shared` built.  Each function is also available as pshmem_..., so that a
 * profiler can define shmem_... itself.  A PE number out of range, or an address that is not symmetric, ends the job
 * with a sentence.  All prototypes come from the table in shmem_types.h. */
#ifndef TWEED_SHMEM_H
#define TWEED_SHMEM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SHMEM_MAJOR_VERSION 1
#define SHMEM_MINOR_VERSION 5
#define SHMEM_MAX_NAME_LEN  256
#define SHMEM_VENDOR_STRING "Tweed"

#define SHMEM_THREAD_SINGLE     0
#define SHMEM_THREAD_FUNNELED   1
#define SHMEM_THREAD_SERIALIZED 2
#define SHMEM_THREAD_MULTIPLE   3

/* Bits: options of contexts; hints of allocations; fields of shmem_team_config_t. */
#define SHMEM_CTX_SERIALIZED        1L
#define SHMEM_CTX_PRIVATE           2L
#define SHMEM_CTX_NOSTORE           4L
#define SHMEM_MALLOC_ATOMICS_REMOTE 1L
#define SHMEM_MALLOC_SIGNAL_REMOTE  2L
#define SHMEM_TEAM_NUM_CONTEXTS     1L

#define SHMEM_CMP_EQ 0
#define SHMEM_CMP_NE 1
#define SHMEM_CMP_GT 2
#define SHMEM_CMP_LE 3
#define SHMEM_CMP_LT 4
#define SHMEM_CMP_GE 5

#define SHMEM_SIGNAL_SET 0
#define SHMEM_SIGNAL_ADD 1

/* Sizes of the work arrays of the deprecated collectives, in elements. */
#define SHMEM_SYNC_VALUE              0L
#define SHMEM_SYNC_SIZE               64
#define SHMEM_BARRIER_SYNC_SIZE       SHMEM_SYNC_SIZE
#define SHMEM_BCAST_SYNC_SIZE         SHMEM_SYNC_SIZE
#define SHMEM_COLLECT_SYNC_SIZE       SHMEM_SYNC_SIZE
#define SHMEM_REDUCE_SYNC_SIZE        SHMEM_SYNC_SIZE
#define SHMEM_ALLTOALL_SYNC_SIZE      SHMEM_SYNC_SIZE
#define SHMEM_ALLTOALLS_SYNC_SIZE     SHMEM_SYNC_SIZE
#define SHMEM_REDUCE_MIN_WRKDATA_SIZE 64

/* Deprecated names. */
#define _SHMEM_MAJOR_VERSION           SHMEM_MAJOR_VERSION
#define _SHMEM_MINOR_VERSION           SHMEM_MINOR_VERSION
#define _SHMEM_MAX_NAME_LEN            SHMEM_MAX_NAME_LEN
#define _SHMEM_VENDOR_STRING           SHMEM_VENDOR_STRING
#define _SHMEM_CMP_EQ                  SHMEM_CMP_EQ
#define _SHMEM_CMP_NE                  SHMEM_CMP_NE
#define _SHMEM_CMP_GT                  SHMEM_CMP_GT
#define _SHMEM_CMP_LE                  SHMEM_CMP_LE
#define _SHMEM_CMP_LT                  SHMEM_CMP_LT
#define _SHMEM_CMP_GE                  SHMEM_CMP_GE
#define _SHMEM_SYNC_VALUE              SHMEM_SYNC_VALUE
#define _SHMEM_SYNC_SIZE               SHMEM_SYNC_SIZE
#define _SHMEM_BARRIER_SYNC_SIZE       SHMEM_BARRIER_SYNC_SIZE
#define _SHMEM_BCAST_SYNC_SIZE         SHMEM_BCAST_SYNC_SIZE
#define _SHMEM_COLLECT_SYNC_SIZE       SHMEM_COLLECT_SYNC_SIZE
#define _SHMEM_REDUCE_SYNC_SIZE        SHMEM_REDUCE_SYNC_SIZE
#define _SHMEM_REDUCE_MIN_WRKDATA_SIZE SHMEM_REDUCE_MIN_WRKDATA_SIZE

/* A team: PEs of the job, numbered from 0.  SHMEM_TEAM_SHARED holds the PEs of this node, whose memory shmem_ptr
 * gives. */
typedef struct shmem_team *shmem_team_t;
extern struct shmem_team tws_team_world, tws_team_shared;
#define SHMEM_TEAM_WORLD   (&tws_team_world)
#define SHMEM_TEAM_SHARED  (&tws_team_shared)
#define SHMEM_TEAM_INVALID ((shmem_team_t)0)
typedef struct {
	int num_contexts;
} shmem_team_config_t;

/* A context: operations on PEs of one team that one quiet completes.  All contexts share the process's connections:
 * operations on PEs of one node stay in order, except long transfers. */
typedef struct shmem_ctx *shmem_ctx_t;
extern struct shmem_ctx tws_ctx_default;
#define SHMEM_CTX_DEFAULT (&tws_ctx_default)
#define SHMEM_CTX_INVALID ((shmem_ctx_t)0)

__extension__ typedef double _Complex tws_complexd;
__extension__ typedef float _Complex tws_complexf;

#include "shmem_types.h"

#define TWS_DECLARE(R, NAME, ARGS)                                                                                     \
	extern R shmem_##NAME ARGS;                                                                                    \
	extern R pshmem_##NAME ARGS;
#define TWS_DECLARE_END(R, NAME, ARGS)                                                                                 \
	extern R shmem_##NAME ARGS __attribute__((noreturn));                                                          \
	extern R pshmem_##NAME ARGS __attribute__((noreturn));

/* Setup, queries, cache management (without effect).  shmem_global_exit ends all PEs with @status.  start_pes,
 * deprecated, is shmem_init with an implicit shmem_finalize at the end of the program. */
TWS_FUNCTIONS_SETUP(TWS_DECLARE)
TWS_DECLARE_END(void, global_exit, (int status))
extern void start_pes(int npes);
extern void pstart_pes(int npes);
extern int _my_pe(void);
extern int _num_pes(void);
/* The symmetric heap.  Blocks are aligned to 16 bytes.  Deprecated: shmalloc, shfree, shrealloc, shmemalign. */
TWS_FUNCTIONS_HEAP(TWS_DECLARE)
extern void *shmalloc(size_t size);
extern void *shrealloc(void *ptr, size_t size);
extern void *shmemalign(size_t alignment, size_t size);
extern void shfree(void *ptr);
/* Teams and contexts.  62 teams may exist at once besides the predefined ones. */
TWS_FUNCTIONS_TEAM(TWS_DECLARE)

/* Remote memory access.  An operation on another node's PE is sent when it is completed, when this PE waits for
 * something, or when enough operations have gathered.  shmem_quiet completes operations. */
#define TWS_X(T, N) TWS_FUNCTIONS_RMA(TWS_DECLARE, T, N)
TWS_TYPES_RMA(TWS_X)
#undef TWS_X
#define TWS_X(BITS) TWS_FUNCTIONS_SIZE(TWS_DECLARE, BITS)
TWS_SIZES(TWS_X)
#undef TWS_X
TWS_FUNCTIONS_MEM(TWS_DECLARE)
/* Atomics, executed by the node of the word.  Other writes to such a word must not be concurrent. */
#define TWS_X(T, N) TWS_FUNCTIONS_EXTENDED(TWS_DECLARE, T, N)
TWS_TYPES_EXTENDED(TWS_X)
#undef TWS_X
#define TWS_X(T, N) TWS_FUNCTIONS_AMO(TWS_DECLARE, T, N)
TWS_TYPES_AMO(TWS_X)
#undef TWS_X
#define TWS_X(T, N) TWS_FUNCTIONS_BITWISE(TWS_DECLARE, T, N)
TWS_TYPES_BITWISE(TWS_X)
#undef TWS_X
/* Deprecated names of the same functions. */
#define TWS_X(T, N) TWS_FUNCTIONS_OLD_EXTENDED(TWS_DECLARE, T, N)
TWS_TYPES_EXTENDED(TWS_X)
#undef TWS_X
#define TWS_X(T, N) TWS_FUNCTIONS_OLD_AMO(TWS_DECLARE, T, N)
TWS_TYPES_AMO(TWS_X)
#undef TWS_X

/* Order, completion, signals; waits for, and tests of, this PE's own variables.  A wait spins, then yields the
 * processor, then sleeps. */
TWS_FUNCTIONS_ORDER(TWS_DECLARE)
#define TWS_X(T, N) TWS_FUNCTIONS_SYNC(TWS_DECLARE, T, N)
TWS_TYPES_SYNC(TWS_X)
#undef TWS_X
#define TWS_X(T, N) TWS_FUNCTIONS_OLD_WAIT(TWS_DECLARE, T, N)
TWS_TYPES_OLD_WAIT(TWS_X)
#undef TWS_X
/* Locks, in order of request.  A waiter spins on its own copy of the variable. */
TWS_FUNCTIONS_LOCK(TWS_DECLARE)

/* Collectives of teams, and the deprecated ones of active sets. */
TWS_FUNCTIONS_BARRIER(TWS_DECLARE)
#define TWS_X(T, N) TWS_FUNCTIONS_COLLECTIVE(TWS_DECLARE, T, N)
TWS_TYPES_RMA(TWS_X)
#undef TWS_X
TWS_FUNCTIONS_COLLECTIVE_MEM(TWS_DECLARE)
TWS_FUNCTIONS_COLLECTIVE_OLD(TWS_DECLARE, 32)
TWS_FUNCTIONS_COLLECTIVE_OLD(TWS_DECLARE, 64)
#define TWS_X(T, N) TWS_FUNCTIONS_REDUCE_BITS(TWS_DECLARE, T, N)
TWS_TYPES_REDUCE_BITS(TWS_X)
#undef TWS_X
#define TWS_X(T, N) TWS_FUNCTIONS_REDUCE_ORDER(TWS_DECLARE, T, N)
TWS_TYPES_REDUCE_ORDER(TWS_X)
#undef TWS_X
#define TWS_X(T, N) TWS_FUNCTIONS_REDUCE_SUM(TWS_DECLARE, T, N)
TWS_TYPES_REDUCE_SUM(TWS_X)
#undef TWS_X
#define TWS_X(T, N) TWS_FUNCTIONS_TO_ALL_BITS(TWS_DECLARE, T, N)
TWS_TYPES_TO_ALL_BITS(TWS_X)
#undef TWS_X
#define TWS_X(T, N) TWS_FUNCTIONS_TO_ALL_ORDER(TWS_DECLARE, T, N)
TWS_TYPES_TO_ALL_ORDER(TWS_X)
#undef TWS_X
#define TWS_X(T, N) TWS_FUNCTIONS_TO_ALL_SUM(TWS_DECLARE, T, N)
TWS_TYPES_TO_ALL_SUM(TWS_X)
#undef TWS_X

#ifdef __cplusplus
}
static inline int shmem_sync(shmem_team_t team)
{
	return shmem_team_sync(team);
}
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 199901L && !defined(TWS_NO_GENERIC) /* gcc, clang: in C99 too */
#include "shmem_generic.h"
#endif

#endif
