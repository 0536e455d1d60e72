/* SPDX-License-Identifier: BSD-3-Clause */
/* sync.c - order, completion, and waiting for this PE's own variables. */
#include <sched.h>

#include "pgas/shmem/check.h"

void pshmem_fence(void)
{
	tw_segment_fence();
}

void pshmem_quiet(void)
{
	tw_segment_quiet();
}

void pshmem_ctx_fence(shmem_ctx_t ctx)
{
	SH_CHECK(ctx, ctx);
	tw_segment_fence();
}

void pshmem_ctx_quiet(shmem_ctx_t ctx)
{
	SH_CHECK(ctx, ctx);
	tw_segment_quiet_of(ctx ? ctx->flow : NULL);
}

/* A failed test is usually repeated: from time to time yield to processes that may share this core.  In virtual time
 * it takes time, so that the others go on. */
#define SYNC_TEST_NS 50u
static void sync_failed(void)
{
	static _Thread_local unsigned failed;

	tw_segment_push();
	if (tw_segment.timed)
		tw_delay(SYNC_TEST_NS);
	else if (++failed % 64 == 0)
		sched_yield();
}

/* Start of the next search for any variable: after the last one found, so that no variable starves. */
static _Thread_local size_t sync_turn;

/* clang-format off */

/* Each form waits for, or tests, those of nelems variables whose status is 0; VALUE(i) is compared with the i-th. */
#define SH_FORMS(T, N, FORM, VALUE, CMP_VALUES) \
	static bool sync_all_##N##FORM(const T *ivars, size_t nelems, const int *status, int cmp, CMP_VALUES) \
	{ \
		for (size_t i = 0; i < nelems; i++) \
			if (!(status && status[i]) && !sync_holds_##N(&ivars[i], cmp, VALUE(i))) \
				return false; \
		return true; \
	} \
	/* The index of one that holds, else SIZE_MAX; *none: there is none to test. */ \
	static size_t sync_any_##N##FORM(const T *ivars, size_t nelems, const int *status, int cmp, CMP_VALUES, bool *none) \
	{ \
		size_t first = sync_turn < nelems ? sync_turn : 0; \
		*none = true; \
		for (size_t k = 0; k < nelems; k++) { \
			size_t i = k < nelems - first ? first + k : first + k - nelems; \
			if (status && status[i]) \
				continue; \
			*none = false; \
			if (sync_holds_##N(&ivars[i], cmp, VALUE(i))) { \
				sync_turn = i + 1; \
				return i; \
			} \
		} \
		return SIZE_MAX; \
	} \
	static size_t sync_some_##N##FORM(const T *ivars, size_t nelems, size_t *indices, const int *status, int cmp, CMP_VALUES, \
	                                  bool *none) \
	{ \
		size_t found = 0; \
		*none = true; \
		for (size_t i = 0; i < nelems; i++) { \
			if (status && status[i]) \
				continue; \
			*none = false; \
			if (sync_holds_##N(&ivars[i], cmp, VALUE(i))) \
				indices[found++] = i; \
		} \
		return found; \
	} \
	void pshmem_##N##_wait_until_all##FORM(T *ivars, size_t nelems, const int *status, int cmp, CMP_VALUES) \
	{ \
		SH_CHECK(ivars, ivars, nelems, sizeof(T), cmp); \
		for (struct tw_nap nap = {0}; !sync_all_##N##FORM(ivars, nelems, status, cmp, value);) \
			tw_segment_nap(&nap); \
	} \
	size_t pshmem_##N##_wait_until_any##FORM(T *ivars, size_t nelems, const int *status, int cmp, CMP_VALUES) \
	{ \
		SH_CHECK(ivars, ivars, nelems, sizeof(T), cmp); \
		struct tw_nap nap = {0}; \
		bool none; \
		size_t i; \
		while ((i = sync_any_##N##FORM(ivars, nelems, status, cmp, value, &none)) == SIZE_MAX && !none) \
			tw_segment_nap(&nap); \
		return i; \
	} \
	size_t pshmem_##N##_wait_until_some##FORM(T *ivars, size_t nelems, size_t *indices, const int *status, int cmp, CMP_VALUES) \
	{ \
		SH_CHECK(ivars, ivars, nelems, sizeof(T), cmp); \
		struct tw_nap nap = {0}; \
		bool none; \
		size_t found; \
		while (!(found = sync_some_##N##FORM(ivars, nelems, indices, status, cmp, value, &none)) && !none) \
			tw_segment_nap(&nap); \
		return found; \
	} \
	int pshmem_##N##_test_all##FORM(T *ivars, size_t nelems, const int *status, int cmp, CMP_VALUES) \
	{ \
		SH_CHECK(ivars, ivars, nelems, sizeof(T), cmp); \
		bool all = sync_all_##N##FORM(ivars, nelems, status, cmp, value); \
		if (!all) \
			sync_failed(); \
		return all; \
	} \
	size_t pshmem_##N##_test_any##FORM(T *ivars, size_t nelems, const int *status, int cmp, CMP_VALUES) \
	{ \
		SH_CHECK(ivars, ivars, nelems, sizeof(T), cmp); \
		bool none; \
		size_t i = sync_any_##N##FORM(ivars, nelems, status, cmp, value, &none); \
		if (i == SIZE_MAX) \
			sync_failed(); \
		return i; \
	} \
	size_t pshmem_##N##_test_some##FORM(T *ivars, size_t nelems, size_t *indices, const int *status, int cmp, CMP_VALUES) \
	{ \
		SH_CHECK(ivars, ivars, nelems, sizeof(T), cmp); \
		bool none; \
		size_t found = sync_some_##N##FORM(ivars, nelems, indices, status, cmp, value, &none); \
		if (!found) \
			sync_failed(); \
		return found; \
	}

#define SH_SAME(i) value
#define SH_EACH(i) value[i]
#define SH_SYNC(T, N) \
	static inline bool sync_holds_##N(const T *ivar, int cmp, T value) \
	{ \
		T now = __atomic_load_n(ivar, __ATOMIC_ACQUIRE); \
		switch (cmp) { \
		case SHMEM_CMP_EQ: return now == value; \
		case SHMEM_CMP_NE: return now != value; \
		case SHMEM_CMP_GT: return now > value; \
		case SHMEM_CMP_LE: return now <= value; \
		case SHMEM_CMP_LT: return now < value; \
		case SHMEM_CMP_GE: return now >= value; \
		default: tw_fatal("shmem: %d is no comparison; use one of SHMEM_CMP_...", cmp); \
		} \
	} \
	void pshmem_##N##_wait_until(T *ivar, int cmp, T value) \
	{ \
		SH_CHECK(ivars, ivar, 1, sizeof(T), cmp); \
		for (struct tw_nap nap = {0}; !sync_holds_##N(ivar, cmp, value);) \
			tw_segment_nap(&nap); \
	} \
	int pshmem_##N##_test(T *ivar, int cmp, T value) \
	{ \
		SH_CHECK(ivars, ivar, 1, sizeof(T), cmp); \
		bool holds = sync_holds_##N(ivar, cmp, value); \
		if (!holds) \
			sync_failed(); \
		return holds; \
	} \
	SH_FORMS(T, N, , SH_SAME, T value) \
	SH_FORMS(T, N, _vector, SH_EACH, T *value) \
	TWS_FUNCTIONS_SYNC(SH_ALIAS, T, N)
TWS_TYPES_SYNC(SH_SYNC)

#define SH_OLD_WAIT(T, N) \
	void pshmem_##N##_wait(T *ivar, T value) { pshmem_##N##_wait_until(ivar, SHMEM_CMP_NE, value); } \
	TWS_FUNCTIONS_OLD_WAIT(SH_ALIAS, T, N)
TWS_TYPES_OLD_WAIT(SH_OLD_WAIT)

/* clang-format on */

void pshmem_wait_until(long *ivar, int cmp, long value)
{
	pshmem_long_wait_until(ivar, cmp, value);
}

void pshmem_wait(long *ivar, long value)
{
	pshmem_long_wait_until(ivar, SHMEM_CMP_NE, value);
}

long pshmem_swap(long *dest, long value, int pe)
{
	return pshmem_long_atomic_swap(dest, value, pe);
}

uint64_t pshmem_signal_fetch(const uint64_t *sig_addr)
{
	SH_CHECK(ivars, sig_addr, 1, sizeof(*sig_addr), SHMEM_CMP_EQ);
	return __atomic_load_n(sig_addr, __ATOMIC_ACQUIRE);
}

uint64_t pshmem_signal_wait_until(uint64_t *sig_addr, int cmp, uint64_t value)
{
	uint64_t now = 0;

	SH_CHECK(ivars, sig_addr, 1, sizeof(*sig_addr), cmp);
	/* The value returned must be the one compared. */
	for (struct tw_nap nap = {0};; tw_segment_nap(&nap)) {
		now = __atomic_load_n(sig_addr, __ATOMIC_ACQUIRE);
		if (sync_holds_uint64(&now, cmp, value))
			return now;
	}
}

TWS_FUNCTIONS_ORDER(SH_ALIAS)
