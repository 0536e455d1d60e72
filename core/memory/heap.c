/* SPDX-License-Identifier: BSD-3-Clause */
/* heap.c - shared memory for programs: jemalloc with an arena per processor over the job's shared space.
 *
 * Space. The shared space behind shared global variables is handed out in chunks of 2 MiB. One word at node 0, the
 * first free chunk, only grows. A chunk belongs permanently to the processor that took it. The owner table is
 * replicated at every node, so a block's owner is found without communication. Blocks of different processors never
 * share a page.
 *
 * 	layout.heap + 0      first free chunk (only node 0's is used)
 * 	            + 4096   owner + 1 of each chunk, uint16
 * 	            + ...    a ring per processor of the node: tail, head, slots (heap_remote.c)
 * 	            + ...    for each 4 KiB of the space, the size of this node's blocks that begin there, encoded
 *
 * jemalloc cuts a processor's chunks into blocks. All its metadata are in private memory, and its hooks do not access
 * the shared space, so a fresh page has no home until the program touches it. Debian's library also replaces malloc()
 * and free() of programs linked with it; ordinary allocation then uses other arenas of jemalloc. */
#include "core/memory/heap_impl.h"

#include "core/job/job.h"
#include "core/memory/stores.h"
#include "core/observe/recorder.h"
#include "tweed/tweed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

size_t tw_heap_exported_bytes(const struct tw_config *config)
{
	return HEAP_OWNERS + heap_table_bytes(config->memory) + config->processors * HEAP_RING_BYTES +
	       TW_ALIGN_UP(config->memory / 4096, (size_t)4096);
}

/* ---- space ------------------------------------------------------------------------------------------------------ */

/* Record this processor as owner of [from, to) at every node. The records are visible everywhere on return. */
static void heap_own(struct tw_proc *me, size_t from, size_t to)
{
	uint16_t ids[256];
	for (size_t i = 0; i < 256; i++)
		ids[i] = (uint16_t)(me->id + 1);
	for (size_t chunk = from / HEAP_CHUNK, n; chunk < to / HEAP_CHUNK; chunk += n) {
		n = TW_MIN(to / HEAP_CHUNK - chunk, (size_t)256);
		size_t offset = me->layout.heap + HEAP_OWNERS + chunk * sizeof(uint16_t);
		for (unsigned node = 0; node < me->nodes; node++)
			tw_net_write(me->net, node, offset, ids, n * sizeof(uint16_t));
	}
	tw_net_flush(me->net, TW_NET_ALL);
}

/* Cut @bytes off this processor's space, extending the space if needed: in place unless another processor has taken a
 * chunk since. On failure nothing is taken. Returns 0 or -ENOMEM. */
static int heap_cut(struct heap *h, size_t bytes, size_t align, size_t *offset)
{
	struct tw_proc *me = h->me;
	size_t memory = me->config.memory, at = TW_ALIGN_UP(h->cut_at, align);

	if (bytes > memory || align > memory)
		return -ENOMEM;
	while (at + bytes > h->cut_end) {
		uint64_t chunk = tw_net_read64(me->net, 0, me->layout.heap);
		size_t from = tw_globals_bytes() + chunk * HEAP_CHUNK;
		at = TW_ALIGN_UP(from == h->cut_end ? h->cut_at : from, align);
		if (at + bytes > memory)
			return -ENOMEM;
		size_t to = TW_ALIGN_UP(at + bytes, HEAP_CHUNK);
		if (tw_net_cas(me->net, 0, me->layout.heap, chunk, (to - tw_globals_bytes()) / HEAP_CHUNK) != chunk)
			continue;
		heap_own(me, from, to);
		h->cut_end = to;
	}
	h->cut_at = at + bytes;
	*offset = at;
	return 0;
}

/* ---- jemalloc's hooks: refused deallocations make it reuse the space -------------------------------------------- */

static void *heap_extent_alloc(extent_hooks_t *hooks, void *wanted, size_t bytes, size_t align, bool *zero,
                               bool *commit, unsigned arena)
{
	struct heap *h = (struct heap *)(void *)hooks;
	size_t offset;

	(void)arena;
	if (wanted || !h->me || heap_cut(h, bytes, align, &offset))
		return NULL;
	*zero = true;
	*commit = true;
	return (void *)(tw_space_base() + offset);
}

static bool heap_extent_dalloc(extent_hooks_t *hooks, void *at, size_t bytes, bool committed, unsigned arena)
{
	(void)hooks, (void)at, (void)bytes, (void)committed, (void)arena;
	return true;
}

static void heap_extent_destroy(extent_hooks_t *hooks, void *at, size_t bytes, bool committed, unsigned arena)
{
	(void)hooks, (void)at, (void)bytes, (void)committed, (void)arena;
}

static bool heap_extent_purge(extent_hooks_t *hooks, void *at, size_t bytes, size_t offset, size_t len, unsigned arena)
{
	(void)hooks, (void)at, (void)bytes, (void)offset, (void)len, (void)arena;
	return true;
}

static bool heap_extent_split(extent_hooks_t *hooks, void *at, size_t bytes, size_t a, size_t b, bool committed,
                              unsigned arena)
{
	(void)hooks, (void)at, (void)bytes, (void)a, (void)b, (void)committed, (void)arena;
	return false;
}

static bool heap_extent_merge(extent_hooks_t *hooks, void *a, size_t a_bytes, void *b, size_t b_bytes, bool committed,
                              unsigned arena)
{
	(void)hooks, (void)a, (void)a_bytes, (void)b, (void)b_bytes, (void)committed, (void)arena;
	return false;
}

static const extent_hooks_t heap_hooks = {
    .alloc = heap_extent_alloc,
    .dalloc = heap_extent_dalloc,
    .destroy = heap_extent_destroy,
    .purge_lazy = heap_extent_purge,
    .purge_forced = heap_extent_purge,
    .split = heap_extent_split,
    .merge = heap_extent_merge,
};

/* ---- open and close --------------------------------------------------------------------------------------------- */

/* The parameter of jemalloc's experimental.arenas_create_ext, which 5.3 documents but does not declare. */
struct heap_arena_config {
	extent_hooks_t *hooks;
	bool metadata_use_hooks;
};

static int heap_set(unsigned arena, const char *what, void *value, size_t bytes)
{
	char name[64];
	tw_format(name, sizeof(name), "arena.%u.%s", arena, what);
	return mallctl(name, NULL, NULL, value, bytes);
}

/* Freed space is retained, because it cannot be returned. Fresh space comes in pieces that grow up to an eighth of a
 * processor's share of the whole; when no such piece is left, jemalloc requests just what it needs. */
static int heap_open_arena(struct heap *h, const struct tw_proc *me)
{
	struct heap_arena_config config = {.hooks = &h->hooks, .metadata_use_hooks = false};
	size_t bytes = sizeof(h->arena), grow = me->config.memory / 8 / (me->nodes * me->locals);
	ssize_t never = -1;
	int error = mallctl("experimental.arenas_create_ext", &h->arena, &bytes, &config, sizeof(config));
	if (error)
		return -error;
	if ((error = heap_set(h->arena, "dirty_decay_ms", &never, sizeof(never))) ||
	    (error = heap_set(h->arena, "muzzy_decay_ms", &never, sizeof(never))))
		goto destroy;
	grow = TW_MAX(grow, HEAP_CHUNK);
	heap_set(h->arena, "retain_grow_limit", &grow, sizeof(grow)); /* affects density only */
	bytes = sizeof(h->tcache);
	if ((error = mallctl("tcache.create", &h->tcache, &bytes, NULL, 0)))
		goto destroy;
	h->flags = MALLOCX_ARENA(h->arena) | MALLOCX_TCACHE(h->tcache);
	return 0;
destroy:
	heap_set(h->arena, "destroy", NULL, 0);
	return -error;
}

int tw_heap_open(struct tw_proc *me)
{
	struct heap *h = &tw_heap_here;
	size_t processors = (size_t)me->nodes * me->locals;

	TW_ASSERT(!h->me);
	*h = (struct heap){.hooks = heap_hooks};
	h->stores = tw_stores.bytes != 0;
	char *ring = me->net->base + heap_ring(me, me->local);
	h->slots = (_Atomic uint64_t *)(void *)(ring + HEAP_SLOT);
	h->taken = (_Atomic uint64_t *)(void *)(ring + HEAP_HEAD);
	h->sizes = (uint8_t *)me->net->base + heap_sizes(me);
	int error = tw_heap_remote_open(h, processors);
	if (!error && (error = tw_heap_blocks_open(h, me->config.memory)))
		tw_heap_remote_close(h);
	if (!error && (error = heap_open_arena(h, me))) {
		tw_heap_blocks_close(h);
		tw_heap_remote_close(h);
	}
	if (error)
		tw_log("shared heap: cannot create an arena: error %d", -error);
	else
		h->me = me;
	return error;
}

void tw_heap_close(struct tw_proc *me)
{
	struct heap *h = &tw_heap_here;

	if (h->me != me)
		return;
	h->me = NULL;
	mallctl("tcache.destroy", NULL, NULL, &h->tcache, sizeof(h->tcache));
	heap_set(h->arena, "destroy", NULL, 0);
	tw_heap_blocks_close(h);
	tw_heap_remote_close(h);
}

/* ---- sizes of blocks -------------------------------------------------------------------------------------------- */

/* jemalloc's sizes are k * 16 up to 128, then (4 + m) << e, m from 0 to 3.  Blocks that begin in the same 4 KiB have
 * one size: small ones are cut from slabs, larger ones begin a page. */
static uint8_t heap_code(size_t bytes)
{
	size_t k = bytes / HEAP_MIN_BYTES;

	if (k < 8)
		return (uint8_t)k;
	unsigned e = 63 - (unsigned)__builtin_clzll(k);
	return (uint8_t)(4 * (e - 1) + (k >> (e - 2) & 3));
}

static size_t heap_decoded(uint8_t code)
{
	return code < 8 ? code * HEAP_MIN_BYTES : (size_t)(4 + code % 4) * HEAP_MIN_BYTES << (code / 4 - 1);
}

static inline void heap_size_note(struct heap *h, const void *block)
{
	uint8_t *at = &h->sizes[((uintptr_t)block - tw_space_base()) / 4096], code = heap_code(sallocx(block, 0));

	if (*at != code)
		*at = code;
}

size_t tw_heap_usable(struct tw_proc *me, const void *ptr)
{
	int owner = tw_heap_owner(me, (uintptr_t)ptr);
	uint8_t code = 0;

	if (owner == (int)me->id)
		return sallocx(ptr, 0);
	if (owner < 0)
		return 0;
	tw_net_read(me->net, (unsigned)owner / me->locals, heap_sizes(me) + ((uintptr_t)ptr - tw_space_base()) / 4096,
	            &code, 1);
	tw_net_read_wait(me->net);
	return heap_decoded(code);
}

/* ---- the public functions --------------------------------------------------------------------------------------- */

static struct heap *heap_checked(const char *function)
{
	tw_me_checked(function);
	return &tw_heap_here;
}

/* Blocks of at least a coherence page are aligned to it, smaller ones of at least a hardware page to that, as programs
 * expect. */
static inline size_t heap_align(const struct heap *h, size_t bytes)
{
	return bytes >= h->me->layout.page_bytes ? h->me->layout.page_bytes : bytes >= 4096 ? 4096 : HEAP_MIN_BYTES;
}

static inline int heap_flags(const struct heap *h, size_t bytes)
{
	return h->flags | MALLOCX_ALIGN(heap_align(h, bytes));
}

/* The result of a public function called from @caller. */
static inline void *heap_result(struct heap *h, void *block, size_t bytes, const void *caller)
{
	if (!block) {
		errno = ENOMEM;
		return NULL;
	}
	heap_block_add(h, block);
	heap_size_note(h, block);
	if (h->me->trace || bytes >= TW_ALLOCATED_LEAST)
		tw_trace_allocation(h->me, block, bytes, caller);
	return block;
}

static void *heap_malloc(struct heap *h, size_t bytes, const void *caller)
{
	bytes = TW_MAX(bytes, HEAP_MIN_BYTES);
	return heap_result(h, mallocx(bytes, heap_flags(h, bytes)), bytes, caller);
}

void *tw_malloc(size_t bytes)
{
	return heap_malloc(heap_checked("tw_malloc"), bytes, __builtin_return_address(0));
}

static void *heap_aligned(size_t align, size_t bytes, const void *caller)
{
	struct heap *h = heap_checked("tw_aligned_alloc");
	if (align == 0 || (align & (align - 1))) {
		errno = EINVAL;
		return NULL;
	}
	bytes = TW_MAX(bytes, HEAP_MIN_BYTES);
	align = TW_MAX(align, heap_align(h, bytes));
	bool fits = align <= h->me->config.memory;
	return heap_result(h, fits ? mallocx(bytes, h->flags | MALLOCX_ALIGN(align)) : NULL, bytes, caller);
}

void *tw_aligned_alloc(size_t align, size_t bytes)
{
	return heap_aligned(align, bytes, __builtin_return_address(0));
}

void *tw_heap_malloc(size_t align, size_t bytes, const void *caller)
{
	return align ? heap_aligned(align, bytes, caller) : heap_malloc(heap_checked("tw_malloc"), bytes, caller);
}

/* jemalloc knows which memory is still zero, but does not announce its stores. */
void *tw_heap_calloc(size_t n, size_t bytes, const void *caller)
{
	struct heap *h = heap_checked("tw_calloc");
	if (__builtin_mul_overflow(n, bytes, &bytes))
		return heap_result(h, NULL, 0, caller);
	bytes = TW_MAX(bytes, HEAP_MIN_BYTES);
	void *block = mallocx(bytes, heap_flags(h, bytes) | MALLOCX_ZERO);
	/* jemalloc does not store to fresh pages. Announcing them here is harmless: it makes them neither writable nor
	 * gives them a home. */
	if (block && h->stores)
		tw_stores_add(block, bytes);
	return heap_result(h, block, bytes, caller);
}

void *tw_calloc(size_t n, size_t bytes)
{
	return tw_heap_calloc(n, bytes, __builtin_return_address(0));
}

/* Returns the owner of @ptr; ends the job when @ptr cannot be a block. */
static unsigned heap_owner_checked(const struct heap *h, const void *ptr, const char *function)
{
	int owner = tw_heap_owner(h->me, (uintptr_t)ptr);
	if (owner < 0)
		tw_fatal("%s: %p was not allocated by tw_malloc", function, ptr);
	return (unsigned)owner;
}

static void heap_freed(struct heap *h, const void *ptr)
{
	tw_trace(h->me, TW_TRACE_free, TW_TRACE_NONE, TW_TRACE_NO_PAGE, (uintptr_t)ptr, 0);
}

void *tw_realloc(void *ptr, size_t bytes)
{
	struct heap *h = heap_checked("tw_realloc");
	const void *caller = __builtin_return_address(0);
	if (!ptr)
		return heap_malloc(h, bytes, caller);
	if (!bytes) {
		tw_free(ptr);
		return NULL;
	}
	unsigned owner = heap_owner_checked(h, ptr, "tw_realloc");
	bytes = TW_MAX(bytes, HEAP_MIN_BYTES);
	if (owner == h->me->id && !h->stores) {
		heap_block_take(h, ptr, "tw_realloc");
		void *grown = rallocx(ptr, bytes, heap_flags(h, bytes));
		if (grown)
			heap_freed(h, ptr);
		else
			heap_block_add(h, ptr);
		return heap_result(h, grown, bytes, caller);
	}
	void *block = heap_malloc(h, bytes, caller);
	if (!block)
		return NULL;
	if (owner == h->me->id) {
		heap_block_take(h, ptr, "tw_realloc");
		heap_block_add(h, ptr);
	}
	size_t kept = TW_MIN(tw_heap_usable(h->me, ptr), bytes);
	tw_stores_add(block, kept);
	memcpy(block, ptr, kept);
	tw_free(ptr);
	return block;
}

void tw_free(void *ptr)
{
	struct heap *h = heap_checked("tw_free");
	if (!ptr)
		return;
	unsigned owner = heap_owner_checked(h, ptr, "tw_free");
	heap_freed(h, ptr);
	if (owner == h->me->id) {
		heap_block_take(h, ptr, "tw_free");
		dallocx(ptr, h->flags);
	} else {
		tw_heap_keep(h, ptr);
	}
}

int tw_heap_holder(const struct tw_proc *me, const void *ptr)
{
	return tw_heap_owner(me, (uintptr_t)ptr);
}
