/* SPDX-License-Identifier: BSD-3-Clause */
/* clock.c - the members of the gate, and whose turn it is. */
#include "core/base/clock.h"

#include "core/base/base.h"

#include <sched.h>
#include <time.h>

#define GATE_NEVER    UINT64_MAX
#define GATE_NAMES    4
#define GATE_NAME_BIT 48 /* of a word's name: the mapping's name, over its place in the mapping */
#define GATE_MEMORY   1  /* the name of all memory of a member's node */

/* A loop that does nothing but look: */
#define GATE_LOOP      64u       /* blocks between two looks, at most; */
#define GATE_LOOKS     256u      /* behind so many, each takes more time: */
#define GATE_LOOK_PART 16u       /* such a part of that since the first one, */
#define GATE_LOOK_MOST 20000000u /* at most, ps */

enum gate_state { GATE_ABSENT, GATE_RUNS, GATE_READY, GATE_WAITS };

struct tw_gate_member {
	TW_LINE_ALIGNED uint64_t clock; /* ps */
	uint64_t wake;                  /* ps: when its wait ends; GATE_NEVER: not known */
	uint64_t word;                  /* name of the futex that it waits for */
	uint64_t worked;                /* blocks of tw_work that the clock has */
	uint32_t number;
	uint8_t state;
	bool joined;           /* or never will */
	bool external;         /* a thread that is no member woke it: it polls when no member can go on */
	bool looks;            /* its wait for memory ends because of its limit: nothing has been written yet */
	_Atomic uint32_t turn; /* futex: it runs */
};

struct tw_gate {
	_Atomic uint32_t lock; /* of all that follows; the member that runs has the gate, but others may wake members */
	uint32_t joined, members;
	bool held;            /* a member runs */
	uint64_t next;        /* the least time of the members that do not, ps, */
	uint32_t next_number; /* and the number of that member */
	struct tw_gate_member member[];
};

_Thread_local struct tw_gate_member *tw_virtual;
uint64_t tw_work;
void (*tw_worked)(void);

static struct tw_gate *gate;
static const struct tw_costs *gate_costs;
static struct tw_gate_member *gate_detached;
static bool gate_threads; /* threads of the program pass the member to each other, so some of them are none */
static _Thread_local uint64_t gate_arrives; /* ps; 0: wake-ups are for the time of the own clock */
static struct {
	uintptr_t start;
	size_t bytes;
	unsigned name;
} gate_name[GATE_NAMES];

size_t tw_gate_bytes(unsigned members)
{
	return sizeof(struct tw_gate) + members * sizeof(struct tw_gate_member);
}

void tw_futex_name(const void *start, size_t bytes, unsigned name)
{
	for (unsigned i = 0; i < GATE_NAMES; i++)
		if (!gate_name[i].name) {
			gate_name[i].start = (uintptr_t)start;
			gate_name[i].bytes = bytes;
			gate_name[i].name = name;
			return;
		}
	tw_fatal("internal error: more than %d mappings with names", GATE_NAMES);
}

/* Words that have no name in other processes have one by the member, above those of mappings. */
static uint64_t gate_word(const _Atomic uint32_t *word)
{
	uintptr_t at = (uintptr_t)word;

	for (unsigned i = 0; i < GATE_NAMES; i++)
		if (gate_name[i].name && at - gate_name[i].start < gate_name[i].bytes)
			return ((uint64_t)gate_name[i].name << GATE_NAME_BIT) + (at - gate_name[i].start);
	return (uint64_t)1 << 63 | (at ^ (uint64_t)(tw_virtual ? tw_virtual->number : 0) << GATE_NAME_BIT);
}

/* A signal's handler may interrupt its own thread here, to wake a processor: then that follows. */
static _Thread_local volatile bool gate_inside;
static _Thread_local const _Atomic uint32_t *volatile gate_wakes;

static void gate_lock(void)
{
	gate_inside = true;
	while (atomic_exchange_explicit(&gate->lock, 1, memory_order_acquire))
		sched_yield();
}

static void gate_unlock(void)
{
	atomic_store_explicit(&gate->lock, 0, memory_order_release);
	gate_inside = false;
	const _Atomic uint32_t *word = gate_wakes;
	gate_wakes = NULL;
	if (word)
		tw_gate_wake(word, 1);
}

/* ---- whose turn it is; the gate locked ---- */

static uint64_t gate_time(const struct tw_gate_member *m)
{
	if (m->state == GATE_READY)
		return m->clock;
	return m->state == GATE_WAITS && m->wake != GATE_NEVER ? TW_MAX(m->clock, m->wake) : GATE_NEVER;
}

/* The next one among the members that do not run; NULL: none. */
static struct tw_gate_member *gate_next(void)
{
	struct tw_gate_member *best = NULL, *external = NULL;

	gate->next = GATE_NEVER;
	for (unsigned i = 0; i < gate->members; i++) {
		struct tw_gate_member *m = &gate->member[i];
		if (gate_time(m) < gate->next) {
			gate->next = gate_time(m);
			best = m;
		}
		if (m->state == GATE_WAITS && m->external && !external)
			external = m;
	}
	gate->next_number = best ? best->number : UINT32_MAX;
	return best || gate->held ? best : external;
}

static bool gate_before_next(uint64_t time, unsigned number)
{
	return time < gate->next || (time == gate->next && number < gate->next_number);
}

/* No member runs: let the next one. */
static void gate_give(void)
{
	gate->held = false;
	struct tw_gate_member *m = gate_next();

	if (!m)
		return;
	gate->held = true;
	m->clock = gate->next == GATE_NEVER ? m->clock : gate->next;
	m->state = GATE_RUNS;
	m->external = false;
	gate_next();
	atomic_store(&m->turn, 1);
	tw_kernel_wake(&m->turn, 1);
}

static void gate_sleep(struct tw_gate_member *m)
{
	while (!atomic_load(&m->turn))
		tw_kernel_wait(&m->turn, 0, 0);
	atomic_store(&m->turn, 0);
}

/* Let others run until it is this member's turn again; the gate locked, and unlocked on return. */
static void gate_yield(struct tw_gate_member *m, enum gate_state state)
{
	m->state = state;
	gate_give();
	gate_unlock();
	gate_sleep(m);
}

/* ---- members ---- */

static void gate_count(struct tw_gate_member *m)
{
	gate->joined += !m->joined;
	m->joined = true;
}

void tw_gate_open(struct tw_gate *shared, const struct tw_costs *costs)
{
	gate = shared;
	gate_costs = costs;
}

bool tw_gate_here(void)
{
	return gate != NULL;
}

void tw_gate_join(unsigned number, unsigned members)
{
	struct tw_gate_member *m = &gate->member[number];

	gate_lock();
	gate->members = members;
	m->number = number;
	m->state = GATE_READY;
	gate_count(m);
	if (gate->joined == members)
		gate_give();
	gate_unlock();
	gate_sleep(m);
	tw_virtual = m;
}

void tw_gate_leave(void)
{
	struct tw_gate_member *m = tw_virtual;

	if (!m)
		return;
	tw_virtual = NULL;
	gate_lock();
	m->state = GATE_ABSENT;
	gate_give();
	gate_unlock();
}

void tw_gate_remove(unsigned number)
{
	struct tw_gate_member *m = &gate->member[number];

	gate_lock();
	if (m->state == GATE_RUNS)
		gate->held = false;
	m->state = GATE_ABSENT;
	gate_count(m);
	if (!gate->held && gate->joined == gate->members)
		gate_give();
	gate_unlock();
}

/* ---- the clock ---- */

static uint64_t gate_computed; /* where work is not counted: the processor time until which it is accounted, ns */

static uint64_t gate_processor_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void gate_account(struct tw_gate_member *m)
{
	m->clock += (tw_work - m->worked) * gate_costs->of[TW_COST_work];
	m->worked = tw_work;
	if (!tw_work)
		gate_computed = gate_processor_ns();
}

uint64_t tw_gate_now(void)
{
	gate_account(tw_virtual);
	return tw_virtual->clock / 1000;
}

void tw_gate_detach(void)
{
	if (tw_virtual) {
		gate_account(tw_virtual);
		gate_threads = true;
	}
	gate_detached = tw_virtual;
	tw_virtual = NULL;
}

void tw_gate_attach(void)
{
	tw_virtual = gate_detached;
	if (tw_virtual)
		gate_account(tw_virtual);
}

void tw_charge_virtual(enum tw_cost cost, uint64_t n)
{
#define UNIT_ps                   1
#define UNIT_ns                   1
#define UNIT_kib                  1024
#define UNIT_MB                   1
#define UNIT(name, unit, meaning) UNIT_##unit,
	static const unsigned per[TW_COST_KINDS] = {TW_COSTS(UNIT)};
#undef UNIT

	tw_virtual->clock += gate_costs->of[cost] * n * 1000 / per[cost];
}

void tw_gate_point(bool computed)
{
	struct tw_gate_member *m = tw_virtual;

	if (computed && !tw_work && gate_computed)
		m->clock += (gate_processor_ns() - gate_computed) * 1000;
	gate_account(m);
	if (!gate_before_next(m->clock, m->number)) {
		gate_lock();
		gate_yield(m, GATE_READY);
	}
}

void tw_clock_until(uint64_t ns)
{
	struct tw_gate_member *m = tw_virtual;

	if (!m)
		return;
	gate_account(m);
	m->clock = TW_MAX(m->clock, ns * 1000);
	tw_gate_pass();
}

void tw_gate_look(uint64_t ns)
{
	static uint64_t looks, begun, last; /* of this loop; the clock at the first one, and behind the last one */
	static uint64_t worked;             /* tw_work at that */
	struct tw_gate_member *m = tw_virtual;

	if (m->clock != last || tw_work - worked > GATE_LOOP) {
		looks = 0;
		begun = m->clock;
	}
	gate_account(m);
	worked = tw_work;
	m->clock += ns * 1000;
	if (++looks > GATE_LOOKS)
		m->clock += TW_MIN((m->clock - begun) / GATE_LOOK_PART, GATE_LOOK_MOST);
	last = m->clock;
	tw_gate_pass();
}

void tw_gate_steal(unsigned first, unsigned count, uint64_t ns)
{
	struct tw_gate_member *least = NULL;
	bool waits = false;

	if (!tw_virtual)
		return;
	gate_lock();
	for (unsigned i = first; i < first + count; i++) {
		struct tw_gate_member *m = &gate->member[i];

		waits |= m->state == GATE_WAITS;
		if (m->state == GATE_READY && (!least || m->clock < least->clock))
			least = m;
	}
	if (least && !waits) {
		least->clock += ns * 1000;
		gate_next();
	}
	gate_unlock();
}

void tw_gate_arrival(uint64_t ns)
{
	gate_arrives = ns * 1000;
}

/* No member changes the word meanwhile, but other threads may: before they lock the gate to wake this member. */
void tw_gate_wait(const _Atomic uint32_t *word, uint32_t seen, uint64_t timeout_ns)
{
	struct tw_gate_member *m = tw_virtual;

	gate_account(m);
	gate_lock();
	if (atomic_load(word) != seen) {
		gate_unlock();
		return;
	}
	m->word = gate_word(word);
	m->wake = timeout_ns ? m->clock + timeout_ns * 1000 : GATE_NEVER;
	gate_yield(m, GATE_WAITS);
}

/* The member that waits for the word of this name for the longest time, and is not woken yet. */
static struct tw_gate_member *gate_waiter(uint64_t word)
{
	struct tw_gate_member *first = NULL;

	for (unsigned i = 0; i < gate->members; i++) {
		struct tw_gate_member *m = &gate->member[i];
		if (m->state == GATE_WAITS && m->word == word && (!first || m->clock < first->clock))
			first = m;
	}
	return first;
}

/* By a member: from the time at which the wake-up arrives. */
static void gate_wake_one(struct tw_gate_member *m)
{
	m->word = 0;
	m->wake = TW_MIN(m->wake, TW_MAX(tw_virtual->clock, gate_arrives));
	if (gate_before_next(gate_time(m), m->number)) {
		gate->next = gate_time(m);
		gate->next_number = m->number;
	}
}

void tw_gate_wake(const _Atomic uint32_t *word, int how_many)
{
	if (gate_inside) {
		gate_wakes = word;
		return;
	}
	uint64_t name = gate_word(word);
	bool runs = tw_virtual && tw_virtual->state == GATE_RUNS;
	struct tw_gate_member *m;

	if (runs)
		gate_account(tw_virtual);
	gate_lock();
	if (runs) {
		while (how_many-- > 0 && (m = gate_waiter(name)))
			gate_wake_one(m);
	} else if ((m = gate_waiter(name))) {
		m->external = true;
		if (gate_threads && gate->next != GATE_NEVER) { /* nobody need be behind that */
			m->wake = TW_MIN(m->wake, TW_MAX(m->clock, gate->next));
			gate_next();
		}
		if (!gate->held)
			gate_give();
	}
	gate_unlock();
}

void tw_gate_watch(uint64_t timeout_ns)
{
	struct tw_gate_member *m = tw_virtual;

	gate_account(m);
	gate_lock();
	m->word = GATE_MEMORY;
	m->wake = timeout_ns ? m->clock + timeout_ns * 1000 : GATE_NEVER;
	m->looks = true;
	gate_yield(m, GATE_WAITS);
}

/* One that would look before the first write arrives waits for that: it would see the write already. */
void tw_gate_wrote(unsigned first, unsigned count, uint64_t ns)
{
	bool changed = false;

	if (!tw_virtual)
		return;
	gate_account(tw_virtual);
	uint64_t arrives = TW_MAX(tw_virtual->clock, ns * 1000);
	gate_lock();
	for (unsigned i = first; i < first + count; i++) {
		struct tw_gate_member *m = &gate->member[i];
		if (m->state != GATE_WAITS || m->word != GATE_MEMORY)
			continue;
		m->wake = m->looks ? arrives : TW_MIN(m->wake, arrives);
		m->looks = false;
		changed = true;
	}
	if (changed)
		gate_next();
	gate_unlock();
}
