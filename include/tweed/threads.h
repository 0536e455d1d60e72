/* SPDX-License-Identifier: BSD-3-Clause */
/* openmp.h - included by `tweed omp cc` before each source: gcc's older atomic operations become those that it calls
 * functions for (openmp/atomic.c), and what cannot be had is refused when it is called (openmp/task.c). */
#ifndef __ASSEMBLER__
#pragma redefine_extname pthread_create tw_omp_pthread_create
#pragma redefine_extname fork tw_omp_fork

#define __sync_fetch_and_add(p, v, ...)           __atomic_fetch_add(p, v, 5)
#define __sync_fetch_and_sub(p, v, ...)           __atomic_fetch_sub(p, v, 5)
#define __sync_fetch_and_or(p, v, ...)            __atomic_fetch_or(p, v, 5)
#define __sync_fetch_and_and(p, v, ...)           __atomic_fetch_and(p, v, 5)
#define __sync_fetch_and_xor(p, v, ...)           __atomic_fetch_xor(p, v, 5)
#define __sync_fetch_and_nand(p, v, ...)          __atomic_fetch_nand(p, v, 5)
#define __sync_add_and_fetch(p, v, ...)           __atomic_add_fetch(p, v, 5)
#define __sync_sub_and_fetch(p, v, ...)           __atomic_sub_fetch(p, v, 5)
#define __sync_or_and_fetch(p, v, ...)            __atomic_or_fetch(p, v, 5)
#define __sync_and_and_fetch(p, v, ...)           __atomic_and_fetch(p, v, 5)
#define __sync_xor_and_fetch(p, v, ...)           __atomic_xor_fetch(p, v, 5)
#define __sync_nand_and_fetch(p, v, ...)          __atomic_nand_fetch(p, v, 5)
#define __sync_lock_test_and_set(p, v, ...)       __atomic_exchange_n(p, v, 5)
#define __sync_lock_release(p, ...)               __atomic_store_n(p, 0, 5)
#define __sync_val_compare_and_swap(p, was, now, ...)                                                                  \
	__extension__({                                                                                                \
		__typeof__(*(p)) was_ = (was);                                                                         \
		__atomic_compare_exchange_n(p, &was_, now, 0, 5, 5);                                                   \
		was_;                                                                                                  \
	})
#define __sync_bool_compare_and_swap(p, was, now, ...)                                                                 \
	__extension__({                                                                                                \
		__typeof__(*(p)) was_ = (was);                                                                         \
		__atomic_compare_exchange_n(p, &was_, now, 0, 5, 5);                                                   \
	})
#endif
