/* SPDX-License-Identifier: BSD-3-Clause */
/* shmem_generic.h - C11's generic names, in C99 too: shmem_put(dest, ...) selects shmem_TYPENAME_put by the type of its
 * first pointer.
 *
 * For each name: what a type T of name N selects, without and with a context; then the selection. */
#ifndef TWEED_SHMEM_GENERIC_H
#define TWEED_SHMEM_GENERIC_H

/* clang-format off */

#define TWS_FIRST(a, ...) a
#define TWS_SECOND(a, b, ...) b

/* Selected where no type fits: the call does not compile. */
extern int tws_no_function_for_this_type(void);

#define TWS_CHOOSE(TYPES, NAME, POINTER) \
	__extension__ _Generic((POINTER), TWS_TYPES_##TYPES##_ONCE(TWS_##NAME) default: tws_no_function_for_this_type)
#define TWS_CHOOSE_CTX(TYPES, NAME, ...) \
	__extension__ _Generic((TWS_FIRST(__VA_ARGS__, 0)), \
		shmem_ctx_t: _Generic((TWS_SECOND(__VA_ARGS__, 0)), TWS_TYPES_##TYPES##_ONCE(TWS_ctx_##NAME) \
			default: tws_no_function_for_this_type), \
		TWS_TYPES_##TYPES##_ONCE(TWS_##NAME) default: tws_no_function_for_this_type)(__VA_ARGS__)

/* A team, or the deprecated active set. */
#define shmem_sync(...) \
	__extension__ _Generic((TWS_FIRST(__VA_ARGS__, 0)), shmem_team_t: shmem_team_sync, default: shmem_sync)(__VA_ARGS__)

#define TWS_put(T, N) T *: shmem_##N##_put,
#define TWS_ctx_put(T, N) T *: shmem_ctx_##N##_put,
#define shmem_put(...) TWS_CHOOSE_CTX(RMA, put, __VA_ARGS__)
#define TWS_get(T, N) T *: shmem_##N##_get,
#define TWS_ctx_get(T, N) T *: shmem_ctx_##N##_get,
#define shmem_get(...) TWS_CHOOSE_CTX(RMA, get, __VA_ARGS__)
#define TWS_put_nbi(T, N) T *: shmem_##N##_put_nbi,
#define TWS_ctx_put_nbi(T, N) T *: shmem_ctx_##N##_put_nbi,
#define shmem_put_nbi(...) TWS_CHOOSE_CTX(RMA, put_nbi, __VA_ARGS__)
#define TWS_get_nbi(T, N) T *: shmem_##N##_get_nbi,
#define TWS_ctx_get_nbi(T, N) T *: shmem_ctx_##N##_get_nbi,
#define shmem_get_nbi(...) TWS_CHOOSE_CTX(RMA, get_nbi, __VA_ARGS__)
#define TWS_iput(T, N) T *: shmem_##N##_iput,
#define TWS_ctx_iput(T, N) T *: shmem_ctx_##N##_iput,
#define shmem_iput(...) TWS_CHOOSE_CTX(RMA, iput, __VA_ARGS__)
#define TWS_iget(T, N) T *: shmem_##N##_iget,
#define TWS_ctx_iget(T, N) T *: shmem_ctx_##N##_iget,
#define shmem_iget(...) TWS_CHOOSE_CTX(RMA, iget, __VA_ARGS__)
#define TWS_put_signal(T, N) T *: shmem_##N##_put_signal,
#define TWS_ctx_put_signal(T, N) T *: shmem_ctx_##N##_put_signal,
#define shmem_put_signal(...) TWS_CHOOSE_CTX(RMA, put_signal, __VA_ARGS__)
#define TWS_put_signal_nbi(T, N) T *: shmem_##N##_put_signal_nbi,
#define TWS_ctx_put_signal_nbi(T, N) T *: shmem_ctx_##N##_put_signal_nbi,
#define shmem_put_signal_nbi(...) TWS_CHOOSE_CTX(RMA, put_signal_nbi, __VA_ARGS__)
#define TWS_p(T, N) T *: shmem_##N##_p,
#define TWS_ctx_p(T, N) T *: shmem_ctx_##N##_p,
#define shmem_p(...) TWS_CHOOSE_CTX(RMA, p, __VA_ARGS__)
#define TWS_g(T, N) T *: shmem_##N##_g, const T *: shmem_##N##_g,
#define TWS_ctx_g(T, N) T *: shmem_ctx_##N##_g, const T *: shmem_ctx_##N##_g,
#define shmem_g(...) TWS_CHOOSE_CTX(RMA, g, __VA_ARGS__)
#define TWS_atomic_fetch(T, N) T *: shmem_##N##_atomic_fetch, const T *: shmem_##N##_atomic_fetch,
#define TWS_ctx_atomic_fetch(T, N) T *: shmem_ctx_##N##_atomic_fetch, const T *: shmem_ctx_##N##_atomic_fetch,
#define shmem_atomic_fetch(...) TWS_CHOOSE_CTX(EXTENDED, atomic_fetch, __VA_ARGS__)
#define TWS_atomic_fetch_nbi(T, N) T *: shmem_##N##_atomic_fetch_nbi,
#define TWS_ctx_atomic_fetch_nbi(T, N) T *: shmem_ctx_##N##_atomic_fetch_nbi,
#define shmem_atomic_fetch_nbi(...) TWS_CHOOSE_CTX(EXTENDED, atomic_fetch_nbi, __VA_ARGS__)
#define TWS_atomic_set(T, N) T *: shmem_##N##_atomic_set,
#define TWS_ctx_atomic_set(T, N) T *: shmem_ctx_##N##_atomic_set,
#define shmem_atomic_set(...) TWS_CHOOSE_CTX(EXTENDED, atomic_set, __VA_ARGS__)
#define TWS_atomic_swap(T, N) T *: shmem_##N##_atomic_swap,
#define TWS_ctx_atomic_swap(T, N) T *: shmem_ctx_##N##_atomic_swap,
#define shmem_atomic_swap(...) TWS_CHOOSE_CTX(EXTENDED, atomic_swap, __VA_ARGS__)
#define TWS_atomic_swap_nbi(T, N) T *: shmem_##N##_atomic_swap_nbi,
#define TWS_ctx_atomic_swap_nbi(T, N) T *: shmem_ctx_##N##_atomic_swap_nbi,
#define shmem_atomic_swap_nbi(...) TWS_CHOOSE_CTX(EXTENDED, atomic_swap_nbi, __VA_ARGS__)
#define TWS_atomic_compare_swap(T, N) T *: shmem_##N##_atomic_compare_swap,
#define TWS_ctx_atomic_compare_swap(T, N) T *: shmem_ctx_##N##_atomic_compare_swap,
#define shmem_atomic_compare_swap(...) TWS_CHOOSE_CTX(AMO, atomic_compare_swap, __VA_ARGS__)
#define TWS_atomic_compare_swap_nbi(T, N) T *: shmem_##N##_atomic_compare_swap_nbi,
#define TWS_ctx_atomic_compare_swap_nbi(T, N) T *: shmem_ctx_##N##_atomic_compare_swap_nbi,
#define shmem_atomic_compare_swap_nbi(...) TWS_CHOOSE_CTX(AMO, atomic_compare_swap_nbi, __VA_ARGS__)
#define TWS_atomic_fetch_inc(T, N) T *: shmem_##N##_atomic_fetch_inc,
#define TWS_ctx_atomic_fetch_inc(T, N) T *: shmem_ctx_##N##_atomic_fetch_inc,
#define shmem_atomic_fetch_inc(...) TWS_CHOOSE_CTX(AMO, atomic_fetch_inc, __VA_ARGS__)
#define TWS_atomic_fetch_inc_nbi(T, N) T *: shmem_##N##_atomic_fetch_inc_nbi,
#define TWS_ctx_atomic_fetch_inc_nbi(T, N) T *: shmem_ctx_##N##_atomic_fetch_inc_nbi,
#define shmem_atomic_fetch_inc_nbi(...) TWS_CHOOSE_CTX(AMO, atomic_fetch_inc_nbi, __VA_ARGS__)
#define TWS_atomic_inc(T, N) T *: shmem_##N##_atomic_inc,
#define TWS_ctx_atomic_inc(T, N) T *: shmem_ctx_##N##_atomic_inc,
#define shmem_atomic_inc(...) TWS_CHOOSE_CTX(AMO, atomic_inc, __VA_ARGS__)
#define TWS_atomic_fetch_add(T, N) T *: shmem_##N##_atomic_fetch_add,
#define TWS_ctx_atomic_fetch_add(T, N) T *: shmem_ctx_##N##_atomic_fetch_add,
#define shmem_atomic_fetch_add(...) TWS_CHOOSE_CTX(AMO, atomic_fetch_add, __VA_ARGS__)
#define TWS_atomic_fetch_add_nbi(T, N) T *: shmem_##N##_atomic_fetch_add_nbi,
#define TWS_ctx_atomic_fetch_add_nbi(T, N) T *: shmem_ctx_##N##_atomic_fetch_add_nbi,
#define shmem_atomic_fetch_add_nbi(...) TWS_CHOOSE_CTX(AMO, atomic_fetch_add_nbi, __VA_ARGS__)
#define TWS_atomic_add(T, N) T *: shmem_##N##_atomic_add,
#define TWS_ctx_atomic_add(T, N) T *: shmem_ctx_##N##_atomic_add,
#define shmem_atomic_add(...) TWS_CHOOSE_CTX(AMO, atomic_add, __VA_ARGS__)
#define TWS_atomic_fetch_and(T, N) T *: shmem_##N##_atomic_fetch_and,
#define TWS_ctx_atomic_fetch_and(T, N) T *: shmem_ctx_##N##_atomic_fetch_and,
#define shmem_atomic_fetch_and(...) TWS_CHOOSE_CTX(BITWISE, atomic_fetch_and, __VA_ARGS__)
#define TWS_atomic_fetch_and_nbi(T, N) T *: shmem_##N##_atomic_fetch_and_nbi,
#define TWS_ctx_atomic_fetch_and_nbi(T, N) T *: shmem_ctx_##N##_atomic_fetch_and_nbi,
#define shmem_atomic_fetch_and_nbi(...) TWS_CHOOSE_CTX(BITWISE, atomic_fetch_and_nbi, __VA_ARGS__)
#define TWS_atomic_and(T, N) T *: shmem_##N##_atomic_and,
#define TWS_ctx_atomic_and(T, N) T *: shmem_ctx_##N##_atomic_and,
#define shmem_atomic_and(...) TWS_CHOOSE_CTX(BITWISE, atomic_and, __VA_ARGS__)
#define TWS_atomic_fetch_or(T, N) T *: shmem_##N##_atomic_fetch_or,
#define TWS_ctx_atomic_fetch_or(T, N) T *: shmem_ctx_##N##_atomic_fetch_or,
#define shmem_atomic_fetch_or(...) TWS_CHOOSE_CTX(BITWISE, atomic_fetch_or, __VA_ARGS__)
#define TWS_atomic_fetch_or_nbi(T, N) T *: shmem_##N##_atomic_fetch_or_nbi,
#define TWS_ctx_atomic_fetch_or_nbi(T, N) T *: shmem_ctx_##N##_atomic_fetch_or_nbi,
#define shmem_atomic_fetch_or_nbi(...) TWS_CHOOSE_CTX(BITWISE, atomic_fetch_or_nbi, __VA_ARGS__)
#define TWS_atomic_or(T, N) T *: shmem_##N##_atomic_or,
#define TWS_ctx_atomic_or(T, N) T *: shmem_ctx_##N##_atomic_or,
#define shmem_atomic_or(...) TWS_CHOOSE_CTX(BITWISE, atomic_or, __VA_ARGS__)
#define TWS_atomic_fetch_xor(T, N) T *: shmem_##N##_atomic_fetch_xor,
#define TWS_ctx_atomic_fetch_xor(T, N) T *: shmem_ctx_##N##_atomic_fetch_xor,
#define shmem_atomic_fetch_xor(...) TWS_CHOOSE_CTX(BITWISE, atomic_fetch_xor, __VA_ARGS__)
#define TWS_atomic_fetch_xor_nbi(T, N) T *: shmem_##N##_atomic_fetch_xor_nbi,
#define TWS_ctx_atomic_fetch_xor_nbi(T, N) T *: shmem_ctx_##N##_atomic_fetch_xor_nbi,
#define shmem_atomic_fetch_xor_nbi(...) TWS_CHOOSE_CTX(BITWISE, atomic_fetch_xor_nbi, __VA_ARGS__)
#define TWS_atomic_xor(T, N) T *: shmem_##N##_atomic_xor,
#define TWS_ctx_atomic_xor(T, N) T *: shmem_ctx_##N##_atomic_xor,
#define shmem_atomic_xor(...) TWS_CHOOSE_CTX(BITWISE, atomic_xor, __VA_ARGS__)
#define TWS_wait_until(T, N) T *: shmem_##N##_wait_until,
#define shmem_wait_until(...) TWS_CHOOSE(SYNC, wait_until, TWS_FIRST(__VA_ARGS__, 0))(__VA_ARGS__)
#define TWS_wait_until_all(T, N) T *: shmem_##N##_wait_until_all,
#define shmem_wait_until_all(...) TWS_CHOOSE(SYNC, wait_until_all, TWS_FIRST(__VA_ARGS__, 0))(__VA_ARGS__)
#define TWS_wait_until_any(T, N) T *: shmem_##N##_wait_until_any,
#define shmem_wait_until_any(...) TWS_CHOOSE(SYNC, wait_until_any, TWS_FIRST(__VA_ARGS__, 0))(__VA_ARGS__)
#define TWS_wait_until_some(T, N) T *: shmem_##N##_wait_until_some,
#define shmem_wait_until_some(...) TWS_CHOOSE(SYNC, wait_until_some, TWS_FIRST(__VA_ARGS__, 0))(__VA_ARGS__)
#define TWS_wait_until_all_vector(T, N) T *: shmem_##N##_wait_until_all_vector,
#define shmem_wait_until_all_vector(...) TWS_CHOOSE(SYNC, wait_until_all_vector, TWS_FIRST(__VA_ARGS__, 0))(__VA_ARGS__)
#define TWS_wait_until_any_vector(T, N) T *: shmem_##N##_wait_until_any_vector,
#define shmem_wait_until_any_vector(...) TWS_CHOOSE(SYNC, wait_until_any_vector, TWS_FIRST(__VA_ARGS__, 0))(__VA_ARGS__)
#define TWS_wait_until_some_vector(T, N) T *: shmem_##N##_wait_until_some_vector,
#define shmem_wait_until_some_vector(...) TWS_CHOOSE(SYNC, wait_until_some_vector, TWS_FIRST(__VA_ARGS__, 0))(__VA_ARGS__)
#define TWS_test(T, N) T *: shmem_##N##_test,
#define shmem_test(...) TWS_CHOOSE(SYNC, test, TWS_FIRST(__VA_ARGS__, 0))(__VA_ARGS__)
#define TWS_test_all(T, N) T *: shmem_##N##_test_all,
#define shmem_test_all(...) TWS_CHOOSE(SYNC, test_all, TWS_FIRST(__VA_ARGS__, 0))(__VA_ARGS__)
#define TWS_test_any(T, N) T *: shmem_##N##_test_any,
#define shmem_test_any(...) TWS_CHOOSE(SYNC, test_any, TWS_FIRST(__VA_ARGS__, 0))(__VA_ARGS__)
#define TWS_test_some(T, N) T *: shmem_##N##_test_some,
#define shmem_test_some(...) TWS_CHOOSE(SYNC, test_some, TWS_FIRST(__VA_ARGS__, 0))(__VA_ARGS__)
#define TWS_test_all_vector(T, N) T *: shmem_##N##_test_all_vector,
#define shmem_test_all_vector(...) TWS_CHOOSE(SYNC, test_all_vector, TWS_FIRST(__VA_ARGS__, 0))(__VA_ARGS__)
#define TWS_test_any_vector(T, N) T *: shmem_##N##_test_any_vector,
#define shmem_test_any_vector(...) TWS_CHOOSE(SYNC, test_any_vector, TWS_FIRST(__VA_ARGS__, 0))(__VA_ARGS__)
#define TWS_test_some_vector(T, N) T *: shmem_##N##_test_some_vector,
#define shmem_test_some_vector(...) TWS_CHOOSE(SYNC, test_some_vector, TWS_FIRST(__VA_ARGS__, 0))(__VA_ARGS__)
#define TWS_broadcast(T, N) T *: shmem_##N##_broadcast,
#define shmem_broadcast(...) TWS_CHOOSE(RMA, broadcast, TWS_SECOND(__VA_ARGS__, 0))(__VA_ARGS__)
#define TWS_collect(T, N) T *: shmem_##N##_collect,
#define shmem_collect(...) TWS_CHOOSE(RMA, collect, TWS_SECOND(__VA_ARGS__, 0))(__VA_ARGS__)
#define TWS_fcollect(T, N) T *: shmem_##N##_fcollect,
#define shmem_fcollect(...) TWS_CHOOSE(RMA, fcollect, TWS_SECOND(__VA_ARGS__, 0))(__VA_ARGS__)
#define TWS_alltoall(T, N) T *: shmem_##N##_alltoall,
#define shmem_alltoall(...) TWS_CHOOSE(RMA, alltoall, TWS_SECOND(__VA_ARGS__, 0))(__VA_ARGS__)
#define TWS_alltoalls(T, N) T *: shmem_##N##_alltoalls,
#define shmem_alltoalls(...) TWS_CHOOSE(RMA, alltoalls, TWS_SECOND(__VA_ARGS__, 0))(__VA_ARGS__)
#define TWS_and_reduce(T, N) T *: shmem_##N##_and_reduce,
#define shmem_and_reduce(...) TWS_CHOOSE(REDUCE_BITS, and_reduce, TWS_SECOND(__VA_ARGS__, 0))(__VA_ARGS__)
#define TWS_or_reduce(T, N) T *: shmem_##N##_or_reduce,
#define shmem_or_reduce(...) TWS_CHOOSE(REDUCE_BITS, or_reduce, TWS_SECOND(__VA_ARGS__, 0))(__VA_ARGS__)
#define TWS_xor_reduce(T, N) T *: shmem_##N##_xor_reduce,
#define shmem_xor_reduce(...) TWS_CHOOSE(REDUCE_BITS, xor_reduce, TWS_SECOND(__VA_ARGS__, 0))(__VA_ARGS__)
#define TWS_min_reduce(T, N) T *: shmem_##N##_min_reduce,
#define shmem_min_reduce(...) TWS_CHOOSE(REDUCE_ORDER, min_reduce, TWS_SECOND(__VA_ARGS__, 0))(__VA_ARGS__)
#define TWS_max_reduce(T, N) T *: shmem_##N##_max_reduce,
#define shmem_max_reduce(...) TWS_CHOOSE(REDUCE_ORDER, max_reduce, TWS_SECOND(__VA_ARGS__, 0))(__VA_ARGS__)
#define TWS_sum_reduce(T, N) T *: shmem_##N##_sum_reduce,
#define shmem_sum_reduce(...) TWS_CHOOSE(REDUCE_SUM, sum_reduce, TWS_SECOND(__VA_ARGS__, 0))(__VA_ARGS__)
#define TWS_prod_reduce(T, N) T *: shmem_##N##_prod_reduce,
#define shmem_prod_reduce(...) TWS_CHOOSE(REDUCE_SUM, prod_reduce, TWS_SECOND(__VA_ARGS__, 0))(__VA_ARGS__)
/* Deprecated. */
#define TWS_fetch(T, N) T *: shmem_##N##_fetch, const T *: shmem_##N##_fetch,
#define shmem_fetch(...) TWS_CHOOSE(EXTENDED, fetch, TWS_FIRST(__VA_ARGS__, 0))(__VA_ARGS__)
#define TWS_set(T, N) T *: shmem_##N##_set,
#define shmem_set(...) TWS_CHOOSE(EXTENDED, set, TWS_FIRST(__VA_ARGS__, 0))(__VA_ARGS__)
#define TWS_swap(T, N) T *: shmem_##N##_swap,
#define shmem_swap(...) TWS_CHOOSE(EXTENDED, swap, TWS_FIRST(__VA_ARGS__, 0))(__VA_ARGS__)
#define TWS_cswap(T, N) T *: shmem_##N##_cswap,
#define shmem_cswap(...) TWS_CHOOSE(AMO, cswap, TWS_FIRST(__VA_ARGS__, 0))(__VA_ARGS__)
#define TWS_finc(T, N) T *: shmem_##N##_finc,
#define shmem_finc(...) TWS_CHOOSE(AMO, finc, TWS_FIRST(__VA_ARGS__, 0))(__VA_ARGS__)
#define TWS_inc(T, N) T *: shmem_##N##_inc,
#define shmem_inc(...) TWS_CHOOSE(AMO, inc, TWS_FIRST(__VA_ARGS__, 0))(__VA_ARGS__)
#define TWS_fadd(T, N) T *: shmem_##N##_fadd,
#define shmem_fadd(...) TWS_CHOOSE(AMO, fadd, TWS_FIRST(__VA_ARGS__, 0))(__VA_ARGS__)
#define TWS_add(T, N) T *: shmem_##N##_add,
#define shmem_add(...) TWS_CHOOSE(AMO, add, TWS_FIRST(__VA_ARGS__, 0))(__VA_ARGS__)

/* clang-format on */
#endif
