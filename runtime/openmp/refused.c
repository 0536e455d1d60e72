/* SPDX-License-Identifier: BSD-3-Clause */
/* refused.c - functions that the compiler may call but that are not supported. */
#include "runtime/openmp/team.h"

void GOMP_scope_start(uintptr_t *reductions)
{
	if (reductions)
		th_refuse("reductions over tasks (reduction with the modifier task, task_reduction) are not supported");
}

#define REFUSE(name, what)                                                                                             \
	void name(void)                                                                                                \
	{                                                                                                              \
		th_refuse("%s not supported", what);                                                                   \
	}
REFUSE(GOMP_cancel, "cancel is")
REFUSE(GOMP_cancellation_point, "cancellation point is")
REFUSE(GOMP_barrier_cancel, "cancel is")
REFUSE(GOMP_loop_end_cancel, "cancel is")
REFUSE(GOMP_sections_end_cancel, "cancel is")
REFUSE(GOMP_taskgroup_reduction_register, "task_reduction is")
REFUSE(GOMP_taskgroup_reduction_unregister, "task_reduction is")
REFUSE(GOMP_task_reduction_remap, "in_reduction is")
REFUSE(GOMP_workshare_task_reduction_unregister, "reduction with the modifier task is")
REFUSE(GOMP_parallel_reductions, "reduction with the modifier task is")
REFUSE(GOMP_doacross_post, "ordered with the clause depend is")
REFUSE(GOMP_doacross_wait, "ordered with the clause depend is")
REFUSE(GOMP_doacross_ull_post, "ordered with the clause depend is")
REFUSE(GOMP_doacross_ull_wait, "ordered with the clause depend is")
#define REFUSE_DOACROSS(name)                                                                                          \
	REFUSE(GOMP_loop_##name##start, "ordered with the clause depend is")                                           \
	REFUSE(GOMP_loop_ull_##name##start, "ordered with the clause depend is")
REFUSE_DOACROSS(doacross_)
REFUSE_DOACROSS(doacross_static_)
REFUSE_DOACROSS(doacross_dynamic_)
REFUSE_DOACROSS(doacross_guided_)
REFUSE_DOACROSS(doacross_runtime_)
