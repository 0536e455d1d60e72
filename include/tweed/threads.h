/* SPDX-License-Identifier: BSD-3-Clause */
/* threads.h - included by `tweed omp cc` and `tweed cc --pthreads` before each source.  gcc's __sync operations become
 * __atomic ones, for which gcc calls functions (runtime/threads/atomic.c).  Calls of POSIX threads and semaphores
 * become those of runtime/pthreads/.  Flags (atomic_flag) become bytes: gcc would not call functions for them. */
#ifndef __ASSEMBLER__
#pragma GCC system_header /* no warnings, whichever the program's build asks for */
#pragma redefine_extname pthread_create tw_pthread_create
#pragma redefine_extname pthread_join tw_pthread_join
#pragma redefine_extname pthread_tryjoin_np tw_pthread_tryjoin_np
#pragma redefine_extname pthread_timedjoin_np tw_pthread_timedjoin_np
#pragma redefine_extname pthread_clockjoin_np tw_pthread_clockjoin_np
#pragma redefine_extname pthread_detach tw_pthread_detach
#pragma redefine_extname pthread_exit tw_pthread_exit
#pragma redefine_extname pthread_cancel tw_pthread_cancel
#pragma redefine_extname pthread_setcancelstate tw_pthread_setcancelstate
#pragma redefine_extname pthread_setcanceltype tw_pthread_setcanceltype
#pragma redefine_extname pthread_testcancel tw_pthread_testcancel
#pragma redefine_extname pthread_kill tw_pthread_kill
#pragma redefine_extname pthread_sigqueue tw_pthread_sigqueue
#pragma redefine_extname pthread_setaffinity_np tw_pthread_setaffinity_np
#pragma redefine_extname pthread_getaffinity_np tw_pthread_getaffinity_np
#pragma redefine_extname pthread_setschedparam tw_pthread_setschedparam
#pragma redefine_extname pthread_getschedparam tw_pthread_getschedparam
#pragma redefine_extname pthread_setschedprio tw_pthread_setschedprio
#pragma redefine_extname pthread_setname_np tw_pthread_setname_np
#pragma redefine_extname pthread_getname_np tw_pthread_getname_np
#pragma redefine_extname pthread_getcpuclockid tw_pthread_getcpuclockid
#pragma redefine_extname pthread_getattr_np tw_pthread_getattr_np
#pragma redefine_extname __pthread_register_cancel tw_pthread_register_cancel
#pragma redefine_extname __pthread_unregister_cancel tw_pthread_unregister_cancel
#pragma redefine_extname __pthread_unwind_next tw_pthread_unwind_next
#pragma redefine_extname thrd_create tw_thrd_create
#pragma redefine_extname thrd_join tw_thrd_join
#pragma redefine_extname thrd_detach tw_thrd_detach
#pragma redefine_extname thrd_exit tw_thrd_exit
#pragma redefine_extname thrd_yield tw_thrd_yield
#pragma redefine_extname thrd_sleep tw_thrd_sleep
#pragma redefine_extname mtx_init tw_mtx_init
#pragma redefine_extname mtx_destroy tw_mtx_destroy
#pragma redefine_extname mtx_lock tw_mtx_lock
#pragma redefine_extname mtx_trylock tw_mtx_trylock
#pragma redefine_extname mtx_timedlock tw_mtx_timedlock
#pragma redefine_extname mtx_unlock tw_mtx_unlock
#pragma redefine_extname cnd_init tw_cnd_init
#pragma redefine_extname cnd_destroy tw_cnd_destroy
#pragma redefine_extname cnd_wait tw_cnd_wait
#pragma redefine_extname cnd_timedwait tw_cnd_timedwait
#pragma redefine_extname cnd_signal tw_cnd_signal
#pragma redefine_extname cnd_broadcast tw_cnd_broadcast
#pragma redefine_extname tss_create tw_tss_create
#pragma redefine_extname tss_delete tw_tss_delete
#pragma redefine_extname tss_get tw_tss_get
#pragma redefine_extname tss_set tw_tss_set
#pragma redefine_extname call_once tw_call_once
#pragma redefine_extname syscall tw_syscall_threads
#pragma redefine_extname dlsym tw_dlsym_threads
#pragma redefine_extname dlopen tw_dlopen_threads
#pragma redefine_extname dlclose tw_dlclose_threads
#pragma redefine_extname dl_iterate_phdr tw_dl_iterate_phdr_threads
#pragma redefine_extname pthread_mutex_init tw_pthread_mutex_init
#pragma redefine_extname pthread_mutex_destroy tw_pthread_mutex_destroy
#pragma redefine_extname pthread_mutex_lock tw_pthread_mutex_lock
#pragma redefine_extname pthread_mutex_trylock tw_pthread_mutex_trylock
#pragma redefine_extname pthread_mutex_timedlock tw_pthread_mutex_timedlock
#pragma redefine_extname pthread_mutex_clocklock tw_pthread_mutex_clocklock
#pragma redefine_extname pthread_mutex_consistent tw_pthread_mutex_consistent
#pragma redefine_extname pthread_mutex_unlock tw_pthread_mutex_unlock
#pragma redefine_extname pthread_spin_init tw_pthread_spin_init
#pragma redefine_extname pthread_spin_destroy tw_pthread_spin_destroy
#pragma redefine_extname pthread_spin_lock tw_pthread_spin_lock
#pragma redefine_extname pthread_spin_trylock tw_pthread_spin_trylock
#pragma redefine_extname pthread_spin_unlock tw_pthread_spin_unlock
#pragma redefine_extname pthread_once tw_pthread_once
#pragma redefine_extname pthread_cond_init tw_pthread_cond_init
#pragma redefine_extname pthread_cond_destroy tw_pthread_cond_destroy
#pragma redefine_extname pthread_cond_wait tw_pthread_cond_wait
#pragma redefine_extname pthread_cond_timedwait tw_pthread_cond_timedwait
#pragma redefine_extname pthread_cond_clockwait tw_pthread_cond_clockwait
#pragma redefine_extname pthread_cond_signal tw_pthread_cond_signal
#pragma redefine_extname pthread_cond_broadcast tw_pthread_cond_broadcast
#pragma redefine_extname pthread_rwlock_init tw_pthread_rwlock_init
#pragma redefine_extname pthread_rwlock_destroy tw_pthread_rwlock_destroy
#pragma redefine_extname pthread_rwlock_rdlock tw_pthread_rwlock_rdlock
#pragma redefine_extname pthread_rwlock_tryrdlock tw_pthread_rwlock_tryrdlock
#pragma redefine_extname pthread_rwlock_timedrdlock tw_pthread_rwlock_timedrdlock
#pragma redefine_extname pthread_rwlock_clockrdlock tw_pthread_rwlock_clockrdlock
#pragma redefine_extname pthread_rwlock_wrlock tw_pthread_rwlock_wrlock
#pragma redefine_extname pthread_rwlock_trywrlock tw_pthread_rwlock_trywrlock
#pragma redefine_extname pthread_rwlock_timedwrlock tw_pthread_rwlock_timedwrlock
#pragma redefine_extname pthread_rwlock_clockwrlock tw_pthread_rwlock_clockwrlock
#pragma redefine_extname pthread_rwlock_unlock tw_pthread_rwlock_unlock
#pragma redefine_extname pthread_barrier_init tw_pthread_barrier_init
#pragma redefine_extname pthread_barrier_destroy tw_pthread_barrier_destroy
#pragma redefine_extname pthread_barrier_wait tw_pthread_barrier_wait
#pragma redefine_extname pthread_key_create tw_pthread_key_create
#pragma redefine_extname pthread_key_delete tw_pthread_key_delete
#pragma redefine_extname pthread_getspecific tw_pthread_getspecific
#pragma redefine_extname pthread_setspecific tw_pthread_setspecific
#pragma redefine_extname longjmp tw_longjmp
#pragma redefine_extname _longjmp tw_longjmp
#pragma redefine_extname siglongjmp tw_longjmp
#pragma redefine_extname pthread_yield tw_sched_yield
#pragma redefine_extname sched_yield tw_sched_yield
#pragma redefine_extname nanosleep tw_nanosleep
#pragma redefine_extname clock_nanosleep tw_clock_nanosleep
#pragma redefine_extname usleep tw_usleep
#pragma redefine_extname sleep tw_sleep
#pragma redefine_extname poll tw_poll_threads
#pragma redefine_extname select tw_select_threads
#pragma redefine_extname ppoll tw_ppoll_threads
#pragma redefine_extname pselect tw_pselect_threads
#pragma redefine_extname epoll_wait tw_epoll_wait_threads
#pragma redefine_extname epoll_pwait tw_epoll_pwait_threads
#pragma redefine_extname epoll_pwait2 tw_epoll_pwait2_threads
#pragma redefine_extname accept tw_accept_threads
#pragma redefine_extname accept4 tw_accept4_threads
#pragma redefine_extname flock tw_flock_threads
#pragma redefine_extname sched_getaffinity tw_sched_getaffinity
#pragma redefine_extname sched_setaffinity tw_sched_setaffinity
#pragma redefine_extname sysconf tw_sysconf
#pragma redefine_extname get_nprocs tw_get_nprocs
#pragma redefine_extname get_nprocs_conf tw_get_nprocs
#pragma redefine_extname sem_init tw_sem_init
#pragma redefine_extname sem_destroy tw_sem_destroy
#pragma redefine_extname sem_open tw_sem_open
#pragma redefine_extname sem_close tw_sem_close
#pragma redefine_extname sem_unlink tw_sem_unlink
#pragma redefine_extname sem_wait tw_sem_wait
#pragma redefine_extname sem_trywait tw_sem_trywait
#pragma redefine_extname sem_timedwait tw_sem_timedwait
#pragma redefine_extname sem_clockwait tw_sem_clockwait
#pragma redefine_extname sem_post tw_sem_post
#pragma redefine_extname sem_getvalue tw_sem_getvalue

#define __sync_fetch_and_add(p, v, ...)     __atomic_fetch_add(p, v, 5)
#define __sync_fetch_and_sub(p, v, ...)     __atomic_fetch_sub(p, v, 5)
#define __sync_fetch_and_or(p, v, ...)      __atomic_fetch_or(p, v, 5)
#define __sync_fetch_and_and(p, v, ...)     __atomic_fetch_and(p, v, 5)
#define __sync_fetch_and_xor(p, v, ...)     __atomic_fetch_xor(p, v, 5)
#define __sync_fetch_and_nand(p, v, ...)    __atomic_fetch_nand(p, v, 5)
#define __sync_add_and_fetch(p, v, ...)     __atomic_add_fetch(p, v, 5)
#define __sync_sub_and_fetch(p, v, ...)     __atomic_sub_fetch(p, v, 5)
#define __sync_or_and_fetch(p, v, ...)      __atomic_or_fetch(p, v, 5)
#define __sync_and_and_fetch(p, v, ...)     __atomic_and_fetch(p, v, 5)
#define __sync_xor_and_fetch(p, v, ...)     __atomic_xor_fetch(p, v, 5)
#define __sync_nand_and_fetch(p, v, ...)    __atomic_nand_fetch(p, v, 5)
#define __sync_lock_test_and_set(p, v, ...) __atomic_exchange_n(p, v, 5)
#define __sync_lock_release(p, ...)         __atomic_store_n(p, 0, 5)
#define __atomic_test_and_set(p, order)     (__atomic_exchange_n((volatile unsigned char *)(p), 1, order) != 0)
#define __atomic_clear(p, order)            __atomic_store_n((volatile unsigned char *)(p), 0, order)
/* The type of a load lacks the qualifiers of *p. */
#define __sync_val_compare_and_swap(p, was, now, ...)                                                                  \
	__extension__({                                                                                                \
		__typeof__(__atomic_load_n(p, 0)) tw_sync_was = (was);                                                 \
		__atomic_compare_exchange_n(p, &tw_sync_was, now, 0, 5, 5);                                            \
		tw_sync_was;                                                                                           \
	})
#define __sync_bool_compare_and_swap(p, was, now, ...)                                                                 \
	__extension__({                                                                                                \
		__typeof__(__atomic_load_n(p, 0)) tw_sync_was = (was);                                                 \
		__atomic_compare_exchange_n(p, &tw_sync_was, now, 0, 5, 5);                                            \
	})
#endif
