/* SPDX-License-Identifier: BSD-3-Clause */
/* set.c - sets of PEs, and signals between them.
 *
 * A team's words only rise: the sender stores how often it has signalled, the receiver counts how often it has waited.
 * Words of an active set must be 0 again afterwards, so there atomics count them up and down. */
#include <stdlib.h>

#include "pgas/shmem/collective/collective.h"

static struct sh_groups *_Atomic set_groups_list;

static struct sh_groups *set_groups_find(struct sh_groups *g, unsigned start, int stride, unsigned size)
{
	while (g && (g->start != start || g->stride != stride || g->size != size))
		g = g->next;
	return g;
}

static unsigned set_node(const struct sh_groups *g, unsigned i)
{
	return (g->start + (unsigned)g->stride * i) / tw_segment.locals;
}

static void set_groups_fill(struct sh_groups *g, unsigned me)
{
	for (unsigned i = 0; i < g->size; i++) {
		if (i == 0 || set_node(g, i) != set_node(g, i - 1))
			g->leader[g->nodes++] = i;
		if (i == me)
			g->node = g->nodes - 1;
	}
	g->leader[g->nodes] = g->size;
	g->first = g->leader[g->node];
	g->locals = g->leader[g->node + 1] - g->first;
}

/* Two threads may create the same one; both are valid. */
static const struct sh_groups *set_groups(const struct shmem_team *team)
{
	struct sh_groups *head = set_groups_list, *g = set_groups_find(head, team->start, team->stride, team->size);

	if (g)
		return g;
	g = calloc(1, sizeof(*g) + (team->size + 1) * sizeof(g->leader[0]));
	if (!g)
		tw_fatal("no memory for a team of %u PEs", team->size);
	g->start = team->start;
	g->stride = team->stride;
	g->size = team->size;
	set_groups_fill(g, team->me);
	do
		g->next = head;
	while (!atomic_compare_exchange_weak(&set_groups_list, &head, g));
	return g;
}

struct sh_set set_of_team(struct shmem_team *team)
{
	size_t at = sh.teams_at + team->slot * SH_TEAM_BYTES;

	if (!team->groups)
		team->groups = set_groups(team);
	return (struct sh_set){
	    .team = team,
	    .groups = team->groups,
	    .start = team->start,
	    .size = team->size,
	    .me = team->me,
	    .stride = team->stride,
	    .words = at,
	    .word_bytes = SH_WORD_BYTES,
	    .scratch = at + SH_WORDS * SH_WORD_BYTES,
	    .scratch_bytes = SH_SCRATCH,
	};
}

/* 2^log_stride of an active set of the job's PEs; 0: the set is not valid. */
static unsigned set_stride(int start, int log_stride, int size)
{
	unsigned stride = log_stride >= 0 && log_stride < 31 ? 1u << log_stride : 0, from = (unsigned)start;

	if (size < 1 || from >= tw_segment.pes || ((uint64_t)size - 1) * stride >= (uint64_t)(tw_segment.pes - from))
		return 0;
	return stride;
}

bool sh_in_active(int start, int log_stride, int size)
{
	unsigned stride = set_stride(start, log_stride, size), distance = tw_segment.pe - (unsigned)start;

	return stride && tw_segment.pe >= (unsigned)start && distance % stride == 0 &&
	       distance / stride < (unsigned)size;
}

bool set_active_mine(int start, int log_stride, int size)
{
	if (!set_stride(start, log_stride, size))
		tw_fatal("there is no active set of %d PEs from %d, 2^%d apart, of %u", size, start, log_stride,
		         tw_segment.pes);
	return sh_in_active(start, log_stride, size);
}

struct sh_set set_of_active(int start, int log_stride, int size, long *sync, void *work, size_t work_bytes)
{
	unsigned stride = 1u << log_stride, from = (unsigned)start;

	if (sh.threads != SHMEM_THREAD_MULTIPLE && (stride == 1 || size == 1)) {
		if ((unsigned)size == tw_segment.pes)
			return set_of_team(SHMEM_TEAM_WORLD);
		if ((unsigned)size == tw_segment.locals && from == tw_segment.first)
			return set_of_team(SHMEM_TEAM_SHARED);
	}
	return (struct sh_set){
	    .start = from,
	    .size = (unsigned)size,
	    .me = (tw_segment.pe - from) / stride,
	    .stride = (int)stride,
	    .words = sh_at(sync, SHMEM_SYNC_SIZE * sizeof(long)),
	    .word_bytes = sizeof(long),
	    .scratch = work ? sh_at(work, work_bytes) : 0,
	    .scratch_bytes = work_bytes,
	};
}

static size_t set_word(const struct sh_set *set, unsigned word)
{
	return set->words + word * set->word_bytes;
}

/* A word's line, of a team.  Signals arrive by two routes, which may overtake each other: through the node's server
 * (SET_SENT), and by the PE itself (SET_SIGNALED, tw_segment_put_signal).  A put with signal is complete together with
 * everything before it, because it is only sent when all earlier puts are complete.  A signal through the server is
 * complete when the last put with signal before it is: SET_BEFORE is the number of that one. */
enum { SET_SENT = 0, SET_BEFORE = 8, SET_SIGNALED = 16 };

static _Atomic uint64_t *set_own(const struct sh_set *set, unsigned word, size_t part)
{
	return (_Atomic uint64_t *)(void *)(tw_segment.base + set_word(set, word) + part);
}

static uint64_t set_load(const struct sh_set *set, unsigned word, size_t part)
{
	return atomic_load_explicit(set_own(set, word, part), memory_order_acquire);
}

/* Store a word of the set's @i-th PE, after the puts to it. */
static void set_store(const struct sh_set *set, unsigned i, unsigned word, uint64_t value)
{
	unsigned pe = set_pe(set, i);
	char *to = tw_segment_near(pe);

	if (to) {
		atomic_store_explicit((_Atomic uint64_t *)(void *)(to + set_word(set, word)), value,
		                      memory_order_release);
		tw_segment_wake(to);
		return;
	}
	tw_segment_remote_fence();
	tw_segment_remote_put(tw_segment.signals, pe, set_word(set, word), &value, sizeof(value), false);
	tw_segment_remote_wake(pe);
}

/* Signal @i through its server. */
static void set_put(const struct sh_set *set, unsigned i, unsigned word)
{
	struct shmem_team *team = set->team;

	if (team->signaled[word] != team->written[word]) {
		team->written[word] = team->signaled[word];
		tw_segment_remote_put(tw_segment.signals, set_pe(set, i), set_word(set, word) + SET_BEFORE,
		                      &team->signaled[word], sizeof(uint64_t), false);
	}
	set_store(set, i, word, ++team->sent[word]);
}

void set_deliver(const struct sh_set *set, unsigned i, size_t at, const void *source, size_t bytes, unsigned word)
{
	struct shmem_team *team = set->team;
	unsigned pe = set_pe(set, i);

	if (team && tw_segment_put_signal(pe, &(struct tw_net_signal){.offset = at,
	                                                              .len = bytes,
	                                                              .local = source,
	                                                              .word = set_word(set, word) + SET_SIGNALED,
	                                                              .value = team->sent[word] + 1})) {
		team->signaled[word] = ++team->sent[word];
		return;
	}
	if (bytes)
		tw_segment_put(pe, at, source, bytes);
	if (team)
		set_put(set, i, word);
	else
		tw_segment_signal(pe, set_word(set, word));
}

void set_signal(const struct sh_set *set, unsigned i, unsigned word)
{
	set_deliver(set, i, 0, NULL, 0, word);
}

/* Have signal number @expected, and everything before it, arrived? */
static bool set_come(const struct sh_set *set, unsigned word, uint64_t expected)
{
	return set_load(set, word, SET_SIGNALED) >= expected ||
	       (set_load(set, word, SET_SENT) >= expected &&
	        set_load(set, word, SET_BEFORE) <= set_load(set, word, SET_SIGNALED));
}

/* A wait for the set's @i-th PE. */
static struct tw_nap set_nap(const struct sh_set *set, unsigned i)
{
	unsigned pe = set_pe(set, i);

	return tw_segment_direct(pe) ? (struct tw_nap){0} : tw_segment_nap_for(pe);
}

void set_wait(const struct sh_set *set, unsigned i, unsigned word)
{
	if (!set->team) {
		tw_segment_wait_signal(set_word(set, word));
		return;
	}
	uint64_t expected = ++set->team->received[word];
	for (struct tw_nap nap = set_nap(set, i); !set_come(set, word, expected);)
		tw_segment_nap(&nap);
}

void set_send(const struct sh_set *set, unsigned i, unsigned word, uint64_t value)
{
	size_t at = set_word(set, word) + SET_SIGNALED;

	if (!set->team ||
	    !tw_segment_put_signal(set_pe(set, i), &(struct tw_net_signal){.word = at, .value = value + 1}))
		set_store(set, i, word, value + 1);
}

/* The word of the route by which the number arrived. */
static _Atomic uint64_t *set_received(const struct sh_set *set, unsigned word)
{
	return set->team && set_load(set, word, SET_SIGNALED) ? set_own(set, word, SET_SIGNALED)
	                                                      : set_own(set, word, SET_SENT);
}

uint64_t set_receive(const struct sh_set *set, unsigned i, unsigned word)
{
	uint64_t value;

	for (struct tw_nap nap = set_nap(set, i);
	     !(value = atomic_load_explicit(set_received(set, word), memory_order_acquire));)
		tw_segment_nap(&nap);
	atomic_store_explicit(set_received(set, word), 0, memory_order_relaxed);
	return value - 1;
}
