/* SPDX-License-Identifier: BSD-3-Clause */
/* flow.c - a random graph of tasks, ordered by flags.
 *
 * The plan is one global sequence of steps, each a processor's access to one variable.  A step must come after the
 * last write of its variable, and a write after the reads since; vector clocks show which of these orders follow
 * already through third processors, and only for the rest the step waits for the other's flag.  So the chains that
 * causality must carry are as long as they can be.  A processor sets its flag only after steps that another waits
 * for: other writes stay unreleased meanwhile.
 *
 * Soft edges make chosen interleavings happen for certain (see script_*).  All edges lead to earlier steps of the
 * sequence, which every processor follows in order: no deadlock. */
#include "torture.h"

#include <stdlib.h>

#define MAX_STEPS 4096
#define MAX_DEPS  (64u << 10)

enum flow_access {
	FLOW_READ,
	FLOW_WRITE,
	FLOW_TOUCH, /* anything that a writer may do */
};

struct flow_step {
	uint16_t proc;
	uint8_t access; /* enum flow_access */
	bool needed;    /* another processor waits for it: set the flag */
	uint32_t var;
	uint32_t index;     /* 1, 2, ... in its processor */
	uint32_t soft;      /* step + 1 that comes before, ordered by the oracle alone */
	uint32_t dep, deps; /* steps whose flags to wait for, in flow.dep */
};

struct flow {
	unsigned steps, deps;
	struct flow_step step[MAX_STEPS];
	uint32_t dep[MAX_DEPS];
	uint32_t done[MAX_PROCS];             /* steps per processor */
	unsigned hot[64], hots;               /* the variables of this phase */
	uint32_t last_write[64];              /* step + 1 */
	uint32_t readers[64][MAX_PROCS];      /* processor's last read since, step + 1 */
	uint32_t known[MAX_PROCS][MAX_PROCS]; /* vector clocks of the processors */
	uint32_t *at_step;                    /* [steps][count] those at each step */
};

static struct flow flow;

/* The step waits for @other unless that is known to be over. */
static void flow_depend(struct run *r, struct flow_step *s, uint32_t other)
{
	struct flow_step *o = &flow.step[other];
	uint32_t *known = flow.known[s->proc];

	if (o->proc == s->proc || known[o->proc] >= o->index)
		return;
	o->needed = true;
	flow.dep[flow.deps++] = other;
	s->deps++;
	for (unsigned q = 0; q < r->count; q++) {
		uint32_t then = flow.at_step[(size_t)other * r->count + q];

		if (known[q] < then)
			known[q] = then;
	}
}

/* Append a step.  @soft: step + 1, or 0.  Returns the step + 1; 0 when the plan is full. */
static uint32_t flow_add(struct run *r, unsigned proc, unsigned hot, enum flow_access access, uint32_t soft)
{
	struct flow_step *s = &flow.step[flow.steps];

	if (flow.steps == MAX_STEPS || flow.deps + r->count + 1 > MAX_DEPS)
		return 0;
	*s = (struct flow_step){
	    .proc = (uint16_t)proc,
	    .access = access,
	    .var = flow.hot[hot],
	    .index = flow.done[proc] + 1,
	    .soft = soft,
	    .dep = flow.deps,
	};
	if (access != FLOW_READ) /* readers first: they know the last write */
		for (unsigned q = 0; q < r->count; q++)
			if (flow.readers[hot][q])
				flow_depend(r, s, flow.readers[hot][q] - 1);
	if (flow.last_write[hot])
		flow_depend(r, s, flow.last_write[hot] - 1);
	flow.done[proc]++;
	flow.known[proc][proc] = s->index;
	memcpy(&flow.at_step[(size_t)flow.steps * r->count], flow.known[proc], r->count * sizeof(uint32_t));
	flow.steps++;
	if (access != FLOW_READ) {
		flow.last_write[hot] = flow.steps;
		memset(flow.readers[hot], 0, sizeof(flow.readers[hot]));
	} else {
		flow.readers[hot][proc] = flow.steps;
	}
	return flow.steps;
}

/* A step that must release although no processor waits for it. */
static void flow_release(uint32_t step)
{
	if (step)
		flow.step[step - 1].needed = true;
}

static unsigned on_node(struct run *r, unsigned node)
{
	return node * r->locals + rng_below(&r->plan, r->locals);
}

/* Two processors of node A write x and y of one page; between A's two releases B writes x anew.  If A's second release
 * sends x again (its twin not updated at the first), B's value is lost: B and a third look. */
static void script_reflush(struct run *r, unsigned x, unsigned y)
{
	unsigned node = rng_below(&r->plan, r->nodes), a = node * r->locals + rng_below(&r->plan, r->locals - 1);
	unsigned b = on_node(r, (node + 1 + rng_below(&r->plan, r->nodes - 1)) % r->nodes);
	uint32_t s;

	flow_add(r, b, x, FLOW_READ, 0);
	s = flow_add(r, a + 1, y, FLOW_WRITE, 0);
	s = flow_add(r, a, x, FLOW_WRITE, s);
	flow_release(s);
	s = flow_add(r, b, x, FLOW_WRITE, s);
	flow_release(s);
	s = flow_add(r, a + 1, y, FLOW_WRITE, s);
	flow_release(s);
	s = flow_add(r, rng_below(&r->plan, r->count), x, FLOW_READ, s);
	flow_add(r, on_node(r, (node + 1 + rng_below(&r->plan, r->nodes - 1)) % r->nodes), x, FLOW_READ, s);
	flow_add(r, b, x, FLOW_READ, s);
}

/* A's processor has unreleased writes of y (a twin); B releases x; another of A must see x without losing y. */
static void script_incoming(struct run *r, unsigned x, unsigned y)
{
	unsigned node = rng_below(&r->plan, r->nodes), a = node * r->locals + rng_below(&r->plan, r->locals - 1);
	unsigned b = on_node(r, (node + 1 + rng_below(&r->plan, r->nodes - 1)) % r->nodes);
	uint32_t s;

	flow_add(r, b, y, FLOW_READ, 0); /* B shares the page: no exclusive mode for A */
	flow_add(r, a, x, FLOW_READ, 0);
	s = flow_add(r, a + 1, y, FLOW_WRITE, 0);
	s = flow_add(r, b, x, FLOW_WRITE, s);
	s = flow_add(r, a, x, FLOW_READ, s);
	s = flow_add(r, a + 1, x, FLOW_READ, s);
	s = flow_add(r, a + 1, y, FLOW_WRITE, s);
	flow_add(r, b, y, FLOW_READ, s);
}

/* Many share a page that one writes, several times. */
static void script_readers(struct run *r, unsigned x)
{
	unsigned order[MAX_PROCS], laps = rng_between(&r->plan, 2, 3), n = r->count < 6 ? r->count : 6;

	for (unsigned i = 0; i < r->count; i++)
		order[i] = i;
	shuffle(&r->plan, order, r->count);
	for (unsigned lap = 0; lap < laps; lap++) {
		flow_add(r, order[lap % 2 % r->count], x, FLOW_WRITE, 0);
		for (unsigned i = 0; i < n; i++)
			flow_add(r, order[i], x, FLOW_READ, 0);
	}
}

/* Migratory: read, write several times, hand on. */
static void script_migrate(struct run *r, unsigned x, unsigned y)
{
	unsigned order[MAX_PROCS];

	for (unsigned i = 0; i < r->count; i++)
		order[i] = i;
	shuffle(&r->plan, order, r->count);
	for (unsigned i = 0; i < r->count && i < 8; i++) {
		flow_add(r, order[i], x, FLOW_READ, 0);
		flow_add(r, order[i], x, FLOW_WRITE, 0);
		flow_add(r, order[i], y, FLOW_WRITE, 0);
		flow_add(r, order[i], x, FLOW_WRITE, 0);
	}
}

/* The hot variables: neighbours, so that most share a page with others; sometimes from anywhere. */
static void flow_choose(struct run *r)
{
	unsigned n = r->guard_vars[GUARD_FLOW], start = rng_below(&r->plan, n);
	bool anywhere = rng_chance(&r->plan, 20);

	flow.hots = rng_between(&r->plan, 2, 32);
	if (flow.hots > n)
		flow.hots = n;
	for (unsigned i = 0; i < flow.hots; i++)
		flow.hot[i] = r->of_guard[GUARD_FLOW][(start + (anywhere ? i * (n / flow.hots) : i)) % n];
}

static void flow_random(struct run *r)
{
	unsigned proc = rng_below(&r->plan, r->count), hot = rng_below(&r->plan, flow.hots);
	unsigned n = rng_between(&r->plan, 1, 4);

	while (n--) {
		flow_add(r, proc, hot, rng_chance(&r->plan, 50) ? FLOW_TOUCH : FLOW_READ, 0);
		if (rng_chance(&r->plan, 50))
			hot = (hot + 1) % flow.hots;
	}
}

static void flow_plan(struct run *r, unsigned steps)
{
	memset(flow.done, 0, sizeof(flow.done));
	memset(flow.last_write, 0, sizeof(flow.last_write));
	memset(flow.readers, 0, sizeof(flow.readers));
	memset(flow.known, 0, sizeof(flow.known));
	flow.steps = flow.deps = 0;
	flow_choose(r);
	while (flow.steps < steps) {
		unsigned x = rng_below(&r->plan, flow.hots), y = (x + 1) % flow.hots, before = flow.steps;
		unsigned what = rng_below(&r->plan, 20);
		bool two = r->nodes > 1 && r->locals > 1 && x != y;

		if (what == 0 && two)
			script_reflush(r, x, y);
		else if (what == 1 && two)
			script_incoming(r, x, y);
		else if (what == 2)
			script_readers(r, x);
		else if (what == 3)
			script_migrate(r, x, y);
		else
			flow_random(r);
		if (flow.steps == before)
			break;
	}
}

static void flow_step(struct run *r, const struct flow_step *s)
{
	if (s->soft) {
		const struct flow_step *o = &flow.step[s->soft - 1];

		soft_wait(&r->oracle->progress[o->proc], r->flow_base[o->proc] + o->index);
	}
	for (unsigned i = 0; i < s->deps; i++) {
		const struct flow_step *o = &flow.step[flow.dep[s->dep + i]];
		uint64_t want = r->flow_base[o->proc] + o->index;
		uint64_t seen = r->words ? word_await(r, o->proc, want) : tw_flag_wait(r->h.flow[o->proc], want);

		if (seen < want || seen > atomic_load(&r->oracle->progress[o->proc]))
			violation(r, "flag of processor %u is %llu, waited for %llu, at most %llu was set", o->proc,
			          (unsigned long long)seen, (unsigned long long)want,
			          (unsigned long long)atomic_load(&r->oracle->progress[o->proc]));
	}
	r->op = (unsigned)(s - flow.step);
	if (s->access == FLOW_TOUCH)
		var_touch(r, s->var, true);
	else
		var_check(r, s->var);
	if (s->access == FLOW_WRITE)
		var_write(r, s->var);
	atomic_store(&r->oracle->progress[r->me], r->flow_base[r->me] + s->index);
	if (s->needed && r->words)
		word_raise(r, r->flow_base[r->me] + s->index);
	else if (s->needed)
		tw_flag_set(r->h.flow[r->me], r->flow_base[r->me] + s->index);
	rest(r);
}

void phase_flow(struct run *r)
{
	unsigned steps = r->ops * (r->count < 8 ? r->count : 8);

	if (r->guard_vars[GUARD_FLOW] == 0)
		return;
	if (steps > MAX_STEPS - 64)
		steps = MAX_STEPS - 64;
	flow.at_step = malloc((size_t)MAX_STEPS * r->count * sizeof(uint32_t));
	if (!flow.at_step)
		tw_abort(2, "torture: out of memory for the plan");
	flow_plan(r, steps);
	free(flow.at_step);
	for (unsigned i = 0; i < flow.steps; i++)
		if (flow.step[i].proc == r->me)
			flow_step(r, &flow.step[i]);
	for (unsigned q = 0; q < r->count; q++)
		r->flow_base[q] += flow.done[q];
}
