/* SPDX-License-Identifier: BSD-3-Clause */
/* refused.c - what the compiler may call and what is not supported. */
#include "openmp/team.h"

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
REFUSE(tw_pthread_create, "an OpenMP program that makes threads of its own (pthread_create) is")
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
REFUSE(tw_thrd_create, "an OpenMP program that makes threads of its own (thrd_create) is")
extern void tw_omp_cxx_thread(void) __asm__(
    "_ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE");
REFUSE(tw_omp_cxx_thread, "an OpenMP program that makes threads of its own (std::thread) is")
#define REFUSE_DOACROSS(name)                                                                                          \
	REFUSE(GOMP_loop_##name##start, "ordered with the clause depend is")                                           \
	REFUSE(GOMP_loop_ull_##name##start, "ordered with the clause depend is")
REFUSE_DOACROSS(doacross_)
REFUSE_DOACROSS(doacross_static_)
REFUSE_DOACROSS(doacross_dynamic_)
REFUSE_DOACROSS(doacross_guided_)
REFUSE_DOACROSS(doacross_runtime_)
REFUSE(GOMP_target_ext, "target is")
REFUSE(GOMP_target_data_ext, "target data is")
REFUSE(GOMP_target_end_data, "target data is")
REFUSE(GOMP_target_update_ext, "target update is")
REFUSE(GOMP_target_enter_exit_data, "target data is")
REFUSE(GOMP_teams, "teams is")
REFUSE(GOMP_teams4, "teams is")
REFUSE(GOMP_teams_reg, "teams is")
