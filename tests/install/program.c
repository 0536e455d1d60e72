/* SPDX-License-Identifier: BSD-3-Clause */
/* program.c - a program of a user's, C and C++ alike: names every function of tweed.h, and uses the most common. */
#include <stdio.h>
#include <tweed/tweed.h>

typedef void (*function)(void);

static const function everything[] = {
    (function)tw_init,
    (function)tw_finalize,
    (function)tw_id,
    (function)tw_count,
    (function)tw_node,
    (function)tw_nodes,
    (function)tw_abort,
    (function)tw_verified,
    (function)tw_malloc,
    (function)tw_calloc,
    (function)tw_realloc,
    (function)tw_aligned_alloc,
    (function)tw_free,
    (function)tw_malloc_all,
    (function)tw_bcast,
    (function)tw_prefetch,
    (function)tw_home,
    (function)tw_home_set,
    (function)tw_lock_create,
    (function)tw_lock_acquire,
    (function)tw_lock_try_acquire,
    (function)tw_lock_release,
    (function)tw_lock_destroy,
    (function)tw_barrier_all,
    (function)tw_barrier_create,
    (function)tw_barrier_wait,
    (function)tw_barrier_destroy,
    (function)tw_flag_create,
    (function)tw_flag_set,
    (function)tw_flag_wait,
    (function)tw_flag_get,
    (function)tw_flag_destroy,
    (function)tw_stats_reset,
    (function)tw_stats_stop,
    (function)tw_now,
    (function)tw_pin,
    (function)tw_unpin,
    (function)tw_atomic_load_u32,
    (function)tw_atomic_load_u64,
    (function)tw_atomic_store_u32,
    (function)tw_atomic_store_u64,
    (function)tw_atomic_add_u32,
    (function)tw_atomic_add_u64,
    (function)tw_atomic_add_double,
    (function)tw_atomic_exchange_u32,
    (function)tw_atomic_exchange_u64,
    (function)tw_atomic_compare_exchange_u32,
    (function)tw_atomic_compare_exchange_u64,
    (function)tw_atomic_fetch_add_u32,
    (function)tw_atomic_fetch_add_u64,
    (function)tw_atomic_fetch_add_double,
    (function)tw_atomic_fetch_and_u32,
    (function)tw_atomic_fetch_and_u64,
    (function)tw_atomic_fetch_or_u32,
    (function)tw_atomic_fetch_or_u64,
    (function)tw_atomic_fetch_xor_u32,
    (function)tw_atomic_fetch_xor_u64,
};

struct shared {
	tw_lock_t lock;
	tw_flag_t flag;
	long sum;
	int parts[64];
};

int main(int argc, char **argv)
{
	tw_init(&argc, &argv);
	struct shared *s = (struct shared *)tw_malloc_all(sizeof(*s));
	if (tw_id() == 0) {
		s->lock = tw_lock_create();
		s->flag = tw_flag_create();
	}
	tw_barrier_all();
	tw_lock_acquire(s->lock);
	s->sum += tw_id() + 1;
	tw_lock_release(s->lock);
	s->parts[tw_id()] = tw_node();
	tw_barrier_all();
	if (tw_id() == tw_count() - 1)
		tw_flag_set(s->flag, 7);
	int nodes = 0, functions = 0;
	for (int i = 0; i < tw_count(); i++)
		nodes += s->parts[i];
	for (size_t i = 0; i < sizeof(everything) / sizeof(everything[0]); i++)
		functions += everything[i] != NULL;
	if (tw_flag_wait(s->flag, 7) == 7 && tw_id() == 0)
		printf("%d on %d: sum %ld, nodes %d, %d functions\n", tw_count(), tw_nodes(), s->sum, nodes, functions);
	return tw_finalize();
}
