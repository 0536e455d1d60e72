/* SPDX-License-Identifier: BSD-3-Clause */
/* atomic_object.c - AtomicObject with a counter, and its wide form: 128-bit words of segments and of the process. */
#include "core/memory/wide.h"
#include "pgas/global/access.h"

static struct tw_proc *wide_me; /* sends requests to other nodes' agents; NULL: there is no job */

void wide_open(void)
{
	const struct tw_boot *boot;

	wide_me = tw_launched() ? tw_join(&boot) : NULL;
}

void wide_close(void)
{
	if (wide_me)
		tw_unjoin(wide_me);
	wide_me = NULL;
}

static struct tw_wide128 wide_amo(tw_gptr at, enum tw_wide_op op, struct tw_wide128 value, struct tw_wide128 expect)
{
	unsigned pe = tw_gptr_pe(at);
	size_t offset = tw_gptr_offset(at);
	char *here = tw_segment_near(pe);
	struct tw_wide128 seen;

	access_check(pe, offset, sizeof(seen));
	access_quiet(); /* puts and messages take different routes */
	if (here) {
		tw_pgas.stats.local++;
		seen = tw_wide_here((void *)(here + offset), op, value, expect);
	} else {
		tw_pgas.stats.am++;
		tw_pgas.stats.rounds++;
		tw_pgas.stats.doorbells++;
		seen =
		    tw_wide_call(wide_me, pe / tw_segment.locals,
		                 tw_segment.at + pe % tw_segment.locals * tw_segment.bytes + offset, op, value, expect);
		tw_segment_need(pe);
	}
	if ((op == TW_WIDE_CAS || op == TW_WIDE_CAS_COUNTED || op == TW_WIDE_CAS_OBJECT_COUNTED) &&
	    (seen.word[0] != expect.word[0] || (op != TW_WIDE_CAS_OBJECT_COUNTED && seen.word[1] != expect.word[1])))
		tw_pgas.stats.cas_failed++;
	return seen;
}

static struct tw_wide128 wide_of(uint64_t low, uint64_t high)
{
	return (struct tw_wide128){{low, high}};
}

static tw_wide wide_public(struct tw_wide128 w)
{
	return (tw_wide){w.word[0], w.word[1]};
}

tw_wide tw_wide_load(tw_gptr at)
{
	return wide_public(wide_amo(at, TW_WIDE_LOAD, wide_of(0, 0), wide_of(0, 0)));
}

void tw_wide_store(tw_gptr at, tw_wide value)
{
	wide_amo(at, TW_WIDE_SWAP, wide_of(value.low, value.high), wide_of(0, 0));
}

tw_wide tw_wide_exchange(tw_gptr at, tw_wide value)
{
	return wide_public(wide_amo(at, TW_WIDE_SWAP, wide_of(value.low, value.high), wide_of(0, 0)));
}

tw_wide tw_wide_compare_exchange(tw_gptr at, tw_wide expect, tw_wide value)
{
	return wide_public(wide_amo(at, TW_WIDE_CAS, wide_of(value.low, value.high), wide_of(expect.low, expect.high)));
}

/* ---- one word ---- */

static tw_gptr object_create(unsigned pe)
{
	const uint64_t zero[2] = {0, 0};
	tw_gptr at = tw_new_at(pe, sizeof(zero));

	if (!tw_is_null(at)) {
		access_put(tw_gptr_pe(at), tw_gptr_offset(at), zero, sizeof(zero));
		access_quiet();
	}
	return at;
}

tw_atomic_object tw_atomic_object_create(unsigned pe)
{
	return tw_atomic_object_at(object_create(pe), 0);
}

/* ---- pointer and counter ---- */

tw_aba_object tw_aba_object_create(unsigned pe)
{
	return (tw_aba_object){object_create(pe)};
}

static tw_aba aba_amo(tw_aba_object o, enum tw_wide_op op, tw_gptr p, uint64_t expect_object, uint64_t expect_count)
{
	struct tw_wide128 seen = wide_amo(o.at, op, wide_of(p.raw, 0), wide_of(expect_object, expect_count));

	return (tw_aba){tw_gptr_of_raw(seen.word[0]), seen.word[1]};
}

tw_aba tw_aba_object_read_aba(tw_aba_object o)
{
	return aba_amo(o, TW_WIDE_LOAD, tw_null(), 0, 0);
}

void tw_aba_object_write_aba(tw_aba_object o, tw_aba value)
{
	aba_amo(o, TW_WIDE_SWAP_COUNTED, value.object, 0, 0);
}

tw_aba tw_aba_object_exchange_aba(tw_aba_object o, tw_aba value)
{
	return aba_amo(o, TW_WIDE_SWAP_COUNTED, value.object, 0, 0);
}

bool tw_aba_object_compare_exchange_aba(tw_aba_object o, tw_aba expect, tw_gptr p)
{
	tw_aba seen = aba_amo(o, TW_WIDE_CAS_COUNTED, p, expect.object.raw, expect.count);

	return tw_same(seen.object, expect.object) && seen.count == expect.count;
}

tw_gptr tw_aba_object_read(tw_aba_object o)
{
	return tw_gptr_of_raw(access_load(tw_gptr_pe(o.at), tw_gptr_offset(o.at)));
}

void tw_aba_object_write(tw_aba_object o, tw_gptr p)
{
	aba_amo(o, TW_WIDE_SWAP_COUNTED, p, 0, 0);
}

tw_gptr tw_aba_object_exchange(tw_aba_object o, tw_gptr p)
{
	return aba_amo(o, TW_WIDE_SWAP_COUNTED, p, 0, 0).object;
}

bool tw_aba_object_compare_exchange(tw_aba_object o, tw_gptr expect, tw_gptr p)
{
	return tw_same(aba_amo(o, TW_WIDE_CAS_OBJECT_COUNTED, p, expect.raw, 0).object, expect);
}

/* ---- of the process ---- */

static struct tw_wide128 local_amo(tw_local_aba_object *o, enum tw_wide_op op, void *p, void *expect, uint64_t count)
{
	return tw_wide_here((void *)o, op, wide_of((uintptr_t)p, 0), wide_of((uintptr_t)expect, count));
}

static void *local_object(struct tw_wide128 seen)
{
	return (void *)(uintptr_t)seen.word[0];
}

tw_local_aba tw_local_aba_object_read_aba(tw_local_aba_object *o)
{
	struct tw_wide128 seen = local_amo(o, TW_WIDE_LOAD, NULL, NULL, 0);

	return (tw_local_aba){local_object(seen), seen.word[1]};
}

void tw_local_aba_object_write_aba(tw_local_aba_object *o, tw_local_aba value)
{
	local_amo(o, TW_WIDE_SWAP_COUNTED, value.object, NULL, 0);
}

tw_local_aba tw_local_aba_object_exchange_aba(tw_local_aba_object *o, tw_local_aba value)
{
	struct tw_wide128 seen = local_amo(o, TW_WIDE_SWAP_COUNTED, value.object, NULL, 0);

	return (tw_local_aba){local_object(seen), seen.word[1]};
}

bool tw_local_aba_object_compare_exchange_aba(tw_local_aba_object *o, tw_local_aba expect, void *p)
{
	struct tw_wide128 seen = local_amo(o, TW_WIDE_CAS_COUNTED, p, expect.object, expect.count);

	return local_object(seen) == expect.object && seen.word[1] == expect.count;
}

void *tw_local_aba_object_read(tw_local_aba_object *o)
{
	return __atomic_load_n(&o->object, __ATOMIC_SEQ_CST);
}

void tw_local_aba_object_write(tw_local_aba_object *o, void *p)
{
	local_amo(o, TW_WIDE_SWAP_COUNTED, p, NULL, 0);
}

void *tw_local_aba_object_exchange(tw_local_aba_object *o, void *p)
{
	return local_object(local_amo(o, TW_WIDE_SWAP_COUNTED, p, NULL, 0));
}

bool tw_local_aba_object_compare_exchange(tw_local_aba_object *o, void *expect, void *p)
{
	return local_object(local_amo(o, TW_WIDE_CAS_OBJECT_COUNTED, p, expect, 0)) == expect;
}
