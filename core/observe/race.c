/* SPDX-License-Identifier: BSD-3-Clause */
/* race.c - reports of write-write data races: collected in fault context, printed where allocation is allowed.
 *
 * The store. A write fault knows its instruction. The node records one per page (layout.race_stores), because another
 * local processor often makes the release that finds the race. Address spaces are randomized, so instructions of the
 * program are recorded relative to its load address. Instructions of shared libraries can be named only by their own
 * process.
 *
 * The lock. Two nodes that both fetched before either flushed would find nothing, so fetch, check and flush are one
 * critical section per page, at the home. Its holder has page locks of its own node and waits only for the network. */
#include "core/observe/race.h"

#include <string.h>

#include "core/base/base.h"
#include "core/job/job.h"
#include "core/observe/symbol.h"

#define RACE_PENDING  64u  /* reports between two safe points; a power of two */
#define RACE_SEEN     256u /* most places printed by this process; a power of two */
#define RACE_GAP      8u   /* equal bytes inside one object do not separate two races */
#define RACE_WAIT_NS  20000u
#define RACE_ABSOLUTE ((uint64_t)1 << 47)
#define RACE_ADDRESS  (RACE_ABSOLUTE - 1)
#define RACE_LOCAL    48

/* A store as recorded per page: its processor + 1 in the high 16 bits, a bit for an absolute address, the address. 0:
 * not known. */
typedef uint64_t race_store;

struct race_report {
	tw_page_t page;
	size_t offset, bytes;
	unsigned other_node;
	race_store store;
};

/* This process's state, accessed only between tw_protocol_enter and tw_protocol_leave. */
static struct {
	struct tw_symbol_program program;
	struct race_report pending[RACE_PENDING];
	unsigned count;
	struct race_report last; /* the race found last */
	struct {
		race_store store;
		uint64_t page; /* + 1; 0: free */
	} seen[RACE_SEEN];
	unsigned seen_count;
	bool open; /* the program's memory is checked */
	bool full; /* the end of printing was announced */
} race;

static _Atomic uint64_t *race_stores(struct tw_proc *me)
{
	return (void *)(me->private_mem + me->layout.race_stores);
}

void tw_race_open(struct tw_proc *me)
{
	race.open = true;
	if (!me->agent)
		tw_symbol_program(&race.program);
}

void tw_race_end(const struct tw_proc *me)
{
	if (!race.open && me->id == 0)
		tw_log("no races were looked for (TWEED_RACE): only stores into memory of tw_malloc and its kin are "
		       "looked "
		       "at, not OpenSHMEM's puts or global pointers");
}

void tw_race_wrote(struct tw_proc *me, tw_page_t first, unsigned count)
{
	uintptr_t ip = me->fault.ip;
	bool program = ip >= race.program.base && ip < race.program.end;
	race_store store = (uint64_t)(me->local + 1) << RACE_LOCAL;

	if (!ip)
		return;
	store |= program ? (ip - race.program.base) & RACE_ADDRESS : RACE_ABSOLUTE | (ip & RACE_ADDRESS);
	for (unsigned i = 0; i < count; i++)
		atomic_store_explicit(&race_stores(me)[first + i], store, memory_order_relaxed);
}

/* ---- finding ---------------------------------------------------------------------------------------------------- */

/* Enter the place (page and store). Returns false when it was reported before. */
static bool race_is_new(tw_page_t page, race_store store)
{
	uint64_t hash = (page + store) * 0x9e3779b97f4a7c15ull >> 32;

	for (unsigned i = 0; i < RACE_SEEN; i++) {
		unsigned at = (unsigned)(hash + i) % RACE_SEEN;
		if (race.seen[at].page == page + 1ull && race.seen[at].store == store)
			return false;
		if (race.seen[at].page)
			continue;
		race.seen[at].page = page + 1ull;
		race.seen[at].store = store;
		race.seen_count++;
		return true;
	}
	return false;
}

/* Returns whether the run continues the race found last, which is extended. */
static bool race_continues(const struct race_report *r)
{
	struct race_report *last = &race.last;
	size_t end = last->offset + last->bytes;

	if (last->page != r->page || last->store != r->store || last->other_node != r->other_node || r->offset < end ||
	    r->offset > end + RACE_GAP)
		return false;
	last->bytes = r->offset + r->bytes - last->offset;
	if (race.count && race.pending[race.count - 1].page == last->page &&
	    race.pending[race.count - 1].offset == last->offset)
		race.pending[race.count - 1].bytes = last->bytes;
	return true;
}

static void race_say(struct tw_proc *me, const struct race_report *r, const char *store)
{
	char other[32] = "another node";

	if (r->other_node != -1u)
		tw_format(other, sizeof(other), "node %u", r->other_node);
	tw_log("data race: node %u and %s both wrote %zu byte%s at %p (page %u, offset %zu) with no synchronization "
	       "between; made dirty here %s",
	       me->node, other, r->bytes, r->bytes == 1 ? "" : "s",
	       (void *)(me->app + ((size_t)r->page << me->layout.page_shift) + r->offset), r->page, r->offset, store);
}

void tw_race_found(struct tw_proc *me, tw_page_t page, size_t offset, size_t bytes, unsigned other_node)
{
	struct race_report r = {page, offset, bytes, other_node, atomic_load(&race_stores(me)[page])};

	if (other_node == -1u && me->nodes == 2)
		r.other_node = 1 - me->node;
	if (race_continues(&r))
		return;
	race.last = r;
	me->stats->now.races++;
	if (me->agent) {
		/* The agent has no safe points and no part of the program. */
		if (race_is_new(page, r.store))
			race_say(me, &r, "by its processors");
		return;
	}
	/* If there is no room for a report now, the place may be reported later. */
	if (race.count < RACE_PENDING && race_is_new(page, r.store))
		race.pending[race.count++] = r;
}

struct race_check {
	struct tw_proc *me;
	tw_page_t page;
};

static void race_run(void *ctx, size_t offset, const void *bytes, size_t len)
{
	const struct race_check *c = ctx;

	(void)bytes;
	tw_race_found(c->me, c->page, offset, len, -1u);
}

void tw_race_check(struct tw_proc *me, tw_page_t page, const void *incoming)
{
	struct race_check c = {me, page};

	race.last.page = (tw_page_t)me->layout.pages; /* another fetch is another race */
	tw_diff_race(tw_frame(me, page), tw_twin(me, page), incoming, me->layout.page_bytes, race_run, &c);
}

/* ---- the lock --------------------------------------------------------------------------------------------------- */

static size_t race_word(const struct tw_proc *me, tw_page_t page)
{
	return me->layout.race + page % TW_RACE_LOCKS * sizeof(uint64_t);
}

void tw_race_lock(struct tw_proc *me, unsigned home, tw_page_t page)
{
	_Atomic uint32_t word = 0;

	while (tw_net_cas(me->net, home, race_word(me, page), 0, 1) != 0)
		tw_futex_wait(&word, 0, RACE_WAIT_NS);
}

void tw_race_unlock(struct tw_proc *me, unsigned home, tw_page_t page)
{
	tw_net_flush(me->net, home);
	tw_net_swap(me->net, home, race_word(me, page), 0);
}

/* ---- printing --------------------------------------------------------------------------------------------------- */

/* Writes text such as "by processor 1.0 in sor_sweep+0x12 (sor.c:34)". */
static void race_store_text(const struct tw_proc *me, race_store store, char *out, size_t bytes)
{
	unsigned local = (unsigned)(store >> RACE_LOCAL) - 1;
	uintptr_t address = store & RACE_ADDRESS;
	size_t n;

	if (!store) {
		tw_format(out, bytes, "by a store that is not known");
		return;
	}
	n = tw_format(out, bytes, "by processor %u.%u in ", me->node, local);
	if (!(store & RACE_ABSOLUTE))
		tw_symbol_text(race.program.base + address, out + n, bytes - n);
	else if (local == me->local)
		tw_symbol_text(address, out + n, bytes - n);
	else
		tw_format(out + n, bytes - n, "a shared library");
}

void tw_race_print(struct tw_proc *me)
{
	struct race_report report[RACE_PENDING];
	char store[512];

	tw_protocol_enter(me);
	unsigned count = race.count;
	bool full = race.seen_count == RACE_SEEN && !race.full;
	memcpy(report, race.pending, count * sizeof(report[0]));
	race.count = 0;
	race.full |= full;
	tw_protocol_leave(me);
	for (unsigned i = 0; i < count; i++) {
		race_store_text(me, report[i].store, store, sizeof(store));
		race_say(me, &report[i], store);
	}
	if (full)
		tw_log("data races were found in %u places; further ones are counted (statistics: races), not printed",
		       RACE_SEEN);
}
