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
/* Names that a program may contain in code that it never executes. */
#define REFUSE_THREADS(name)                                                                                           \
	REFUSE(tw_pthread_##name, "an OpenMP program with threads of its own (pthread_" #name ") is")
REFUSE_THREADS(join)
REFUSE_THREADS(tryjoin_np)
REFUSE_THREADS(timedjoin_np)
REFUSE_THREADS(clockjoin_np)
REFUSE_THREADS(detach)
REFUSE_THREADS(exit)
REFUSE_THREADS(cancel)
REFUSE_THREADS(kill)
REFUSE_THREADS(sigqueue)
REFUSE_THREADS(register_cancel)
REFUSE_THREADS(unregister_cancel)
REFUSE_THREADS(unwind_next)
#define REFUSE_C11(name) REFUSE(tw_thrd_##name, "an OpenMP program with threads of its own (thrd_" #name ") is")
REFUSE_C11(create)
REFUSE_C11(join)
REFUSE_C11(detach)
REFUSE_C11(exit)
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
