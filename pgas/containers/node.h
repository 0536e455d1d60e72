/* SPDX-License-Identifier: BSD-3-Clause */
/* node.h - how the containers access their nodes.  A container's source is compiled twice: for segments, and, with
 * NODE_LOCAL defined, for the threads of a process, with the local manager.
 *
 * A node is named by a raw word: a global pointer, or an address, with marks in its lowest four bits.  Functions ignore
 * the marks of the node that they access.  CONTAINER(name) is the name of the table, NODE_LABEL the name for
 * lookups. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include "pgas/global/epoch.h"

#define MARK          UINT64_C(1)
#define UNMARKED(raw) ((raw) & ~TW_GPTR_MARKS)

#ifdef NODE_LOCAL

#include "core/base/word_copy.h"
#include "pgas/global/local_pool.h"

#define CONTAINER(name)    tw_local_##name
#define NODE_LABEL(name)   "local-" name
#define NODE_IS_LOCAL      true
#define NODE_STAMPED_BYTES LOCAL_STAMPED_BYTES
#define NODE_ASCENDING     true /* words of a short node_get are read in ascending order */

typedef struct tw_local_token node_token;
#define node_pin   tw_local_token_pin
#define node_unpin tw_local_token_unpin
#define node_room  tw_local_token_room

static inline _Atomic uint64_t *node_word(uint64_t node, size_t offset)
{
	return (_Atomic uint64_t *)(uintptr_t)(UNMARKED(node) + offset);
}
static inline void node_get(uint64_t node, size_t offset, void *to, size_t len)
{
	tw_words_load(to, (const char *)(uintptr_t)(UNMARKED(node) + offset), len);
}
static inline void node_put(uint64_t node, size_t offset, const void *from, size_t len)
{
	tw_words_store((char *)(uintptr_t)(UNMARKED(node) + offset), from, len);
}
static inline uint64_t node_load(uint64_t node, size_t offset)
{
	return atomic_load_explicit(node_word(node, offset), memory_order_acquire);
}
static inline void node_store(uint64_t node, size_t offset, uint64_t value)
{
	atomic_store_explicit(node_word(node, offset), value, memory_order_release);
}
static inline uint64_t node_cas(uint64_t node, size_t offset, uint64_t expect, uint64_t value)
{
	atomic_compare_exchange_strong(node_word(node, offset), &expect, value);
	return expect;
}
static inline uint64_t node_swap(uint64_t node, size_t offset, uint64_t value)
{
	return atomic_exchange(node_word(node, offset), value);
}
static inline uint64_t node_fetch_add(uint64_t node, size_t offset, uint64_t value)
{
	return atomic_fetch_add(node_word(node, offset), value);
}
static inline void node_get_nb(uint64_t node, void *to, size_t len)
{
	node_get(node, 0, to, len);
}
static inline void node_get_wait(void) {}
static inline void node_before(uint64_t node)
{
	(void)node;
	atomic_thread_fence(memory_order_release);
}
static inline uint64_t node_new(unsigned pe, size_t bytes)
{
	(void)pe;
	return (uintptr_t)aligned_alloc(16, TW_ALIGN_UP(bytes, (size_t)16));
}
static inline uint64_t node_new_beside(uint64_t node, size_t bytes)
{
	(void)node;
	return node_new(0, bytes);
}
static inline void node_delete(uint64_t node)
{
	free((void *)(uintptr_t)UNMARKED(node));
}
static inline void node_retire(node_token *token, uint64_t node)
{
	tw_local_token_retire(token, (void *)(uintptr_t)UNMARKED(node));
}
static inline uint64_t node_new_stamped(node_token *token, unsigned pe)
{
	(void)pe;
	return tw_local_token_new_stamped(token);
}
static inline void node_delete_stamped(node_token *token, uint64_t node)
{
	tw_local_token_delete_stamped(token, node);
}
static inline void node_retire_stamped(node_token *token, uint64_t node)
{
	tw_local_token_retire_stamped(token, node);
}
static inline uint64_t node_stamp(node_token *token)
{
	return tw_local_token_stamp(token);
}
/* The number of places for a container's memory. */
static inline unsigned node_places(void)
{
	return 1;
}
static inline unsigned node_place(unsigned i)
{
	return i;
}
static inline void node_push(void) {}
static inline void node_nap(unsigned *round)
{
	if (++*round % 16 == 0)
		sched_yield();
	else
		tw_pause();
}
static inline void node_quiet(void)
{
	atomic_thread_fence(memory_order_seq_cst);
}
static inline uint64_t node_self(void)
{
	return 1;
}
static inline bool node_dead(uint64_t who)
{
	(void)who;
	return false;
}
static inline uint64_t node_deaths(void)
{
	return 0;
}
static inline bool node_may_die(void)
{
	return false;
}

#else

#include "pgas/global/pool.h"

#define CONTAINER(name)    tw_##name
#define NODE_LABEL(name)   name
#define NODE_IS_LOCAL      false
#define NODE_STAMPED_BYTES POOL_STAMPED_BYTES
#define NODE_ASCENDING     tw_pgas.ascending

typedef struct tw_token node_token;
#define node_pin           tw_token_pin
#define node_unpin         tw_token_unpin
#define node_room          tw_token_room

#define NODE_AT(node, offset) tw_gptr_pe(tw_gptr_of_raw(node)), tw_gptr_offset(tw_gptr_of_raw(node)) + (offset)

static inline void node_get(uint64_t node, size_t offset, void *to, size_t len)
{
	access_get(NODE_AT(node, offset), to, len, true);
}
static inline void node_put(uint64_t node, size_t offset, const void *from, size_t len)
{
	access_put(NODE_AT(node, offset), from, len);
}
static inline uint64_t node_load(uint64_t node, size_t offset)
{
	return access_load(NODE_AT(node, offset));
}
/* Store a word that atomics also change.  Visible to others after node_unpin at the latest. */
static inline void node_store(uint64_t node, size_t offset, uint64_t value)
{
	if (tw_segment.cpu_atomics)
		access_put(NODE_AT(node, offset), &value, sizeof(value));
	else
		access_amo(NODE_AT(node, offset), TW_AMO_SWAP, value, 0);
}
static inline uint64_t node_cas(uint64_t node, size_t offset, uint64_t expect, uint64_t value)
{
	return access_cas(NODE_AT(node, offset), expect, value);
}
static inline uint64_t node_swap(uint64_t node, size_t offset, uint64_t value)
{
	return access_amo(NODE_AT(node, offset), TW_AMO_SWAP, value, 0);
}
static inline uint64_t node_fetch_add(uint64_t node, size_t offset, uint64_t value)
{
	return access_amo(NODE_AT(node, offset), TW_AMO_ADD, value, 0);
}
/* Several of these, then one node_get_wait, are one round. */
static inline void node_get_nb(uint64_t node, void *to, size_t len)
{
	access_get(NODE_AT(node, 0), to, len, false);
}
static inline void node_get_wait(void)
{
	if (tw_pgas.reading)
		access_remote_quiet();
}
/* Puts so far become visible before later puts into @node. */
static inline void node_before(uint64_t node)
{
	access_publish(tw_gptr_pe(tw_gptr_of_raw(node)));
	access_fence();
}
/* @pe: nodes_pe of the options. */
static inline uint64_t node_new(unsigned pe, size_t bytes)
{
	return pe ? tw_new_at(pe - 1, bytes).raw : tw_new(bytes).raw;
}
/* A new node in the segment of @node. */
static inline uint64_t node_new_beside(uint64_t node, size_t bytes)
{
	return tw_new_at(tw_gptr_pe(tw_gptr_of_raw(node)), bytes).raw;
}
static inline void node_delete(uint64_t node)
{
	tw_delete(tw_gptr_of_raw(node));
}
static inline void node_retire(node_token *token, uint64_t node)
{
	tw_token_retire(token, tw_gptr_of_raw(UNMARKED(node)));
}
/* Stamped nodes: epoch.h. */
static inline uint64_t node_new_stamped(node_token *token, unsigned pe)
{
	return tw_token_new_stamped(token, pe).raw;
}
static inline void node_delete_stamped(node_token *token, uint64_t node)
{
	(void)token;
	tw_delete(tw_gptr_of_raw(node));
}
static inline void node_retire_stamped(node_token *token, uint64_t node)
{
	tw_token_retire(token, tw_gptr_of_raw(node));
}
static inline uint64_t node_stamp(node_token *token)
{
	(void)token;
	return tw_pool_stamp();
}
static inline unsigned node_places(void)
{
	return tw_pgas.options.memory_pes;
}
static inline unsigned node_place(unsigned i)
{
	return tw_pgas.options.memory_first + i;
}
/* Send pending puts: others wait for them. */
static inline void node_push(void)
{
	tw_segment_push();
}
static inline void node_nap(unsigned *round)
{
	struct tw_nap nap = {.round = *round};

	tw_segment_nap(&nap);
	*round = nap.round;
}
static inline void node_quiet(void)
{
	access_quiet();
}
/* This PE as a nonzero word; whether the PE of such a word is dead; how many are. */
static inline uint64_t node_self(void)
{
	return tw_segment.pe + 1;
}
static inline bool node_dead(uint64_t who)
{
	return who && tw_segment_dead((unsigned)who - 1);
}
static inline uint64_t node_deaths(void)
{
	return tw_deaths_count(tw_segment.deaths);
}
static inline bool node_may_die(void)
{
	return tw_segment.deaths;
}

#endif

/* Create a container's first node, which its root names, with @bytes of @first.  Returns 0 or -ENOMEM. */
static inline int node_create(const struct tw_container_options *options, const void *first, size_t bytes,
                              tw_gptr *root)
{
	uint64_t node = node_new(options ? options->pe + 1 : 1, bytes);

	if (!node)
		return -ENOMEM;
	node_put(node, 0, first, bytes);
	node_quiet();
	*root = tw_gptr_of_raw(node);
	return 0;
}
