// SPDX-License-Identifier: BSD-3-Clause
/* atomics.c - atomic operations of all sizes and orders, beside plain stores in the same pages: litmus tests of C11's
 * memory model, random operations whose sums are known, and what threads hand to each other.
 *
 * atomics [THREADS [SEED]]    THREADS besides main's */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST   8
#define ROUNDS 60 /* of each litmus test */
#define PHASES 40
#define STEPS  150
#define PAGES  6

static unsigned threads;
static uint32_t seed;
static pthread_barrier_t meet;

/* ---- litmus tests: threads 0 to 3 act, the others stand by */

static struct {
	_Alignas(4096) atomic_int x;
	_Alignas(4096) atomic_int y;
	int plain;
	_Alignas(64) volatile int flag;
	int guarded, raw;
} l;
static int seen[4][2], wrong[8];

static void store_buffering(unsigned t)
{
	if (t < 2) {
		atomic_store(t ? &l.y : &l.x, 1);
		seen[t][0] = atomic_load(t ? &l.x : &l.y);
	}
}

static void message(unsigned t)
{
	if (t == 0) {
		l.plain = 7;
		atomic_store_explicit(&l.x, 1, memory_order_release);
	} else if (t == 1) {
		seen[1][0] = atomic_load_explicit(&l.x, memory_order_acquire);
		seen[1][1] = seen[1][0] ? l.plain : 7;
	}
}

static void message_fences(unsigned t)
{
	if (t == 0) {
		l.plain = 7;
		atomic_thread_fence(memory_order_release);
		atomic_store_explicit(&l.x, 1, memory_order_relaxed);
	} else if (t == 1) {
		seen[1][0] = atomic_load_explicit(&l.x, memory_order_relaxed);
		atomic_thread_fence(memory_order_acquire);
		seen[1][1] = seen[1][0] ? l.plain : 7;
	}
}

/* A release sequence: 0 releases, 1 adds to it, 2 acquires what 1 has stored. */
static void sequence(unsigned t)
{
	if (t == 0) {
		l.plain = 7;
		atomic_store_explicit(&l.x, 1, memory_order_release);
	} else if (t == 1) {
		atomic_fetch_add_explicit(&l.x, 2, memory_order_relaxed);
	} else if (t == 2) {
		seen[2][0] = atomic_load_explicit(&l.x, memory_order_acquire);
		seen[2][1] = seen[2][0] == 3 ? l.plain : 7;
	}
}

static void independent(unsigned t)
{
	if (t < 2)
		atomic_store(t ? &l.y : &l.x, 1);
	else if (t < 4)
		for (int i = 0; i < 2; i++)
			seen[t][i] = atomic_load((t == 2) == !i ? &l.x : &l.y);
}

/* A volatile variable, and another compiler's ways to write atomic operations. */
static void older(unsigned t)
{
	if (t == 0) {
		l.guarded = 5;
		l.flag = 1;
	} else if (t == 1) {
		while (!l.flag)
			;
		seen[1][0] = l.guarded;
		__sync_fetch_and_add(&l.flag, 1);
	}
	__sync_fetch_and_add(&l.raw, 1);
	__atomic_fetch_add(&l.raw, 1, __ATOMIC_RELAXED);
	__asm__ volatile("lock; incl %0" : "+m"(l.raw) : : "cc");
	__asm__ volatile("LOCK; INCL %0" : "+m"(l.raw) : : "cc");
	__asm__ volatile(".byte 0xf0; incl %0" : "+m"(l.raw) : : "cc");
}

static const struct {
	const char *name;
	void (*run)(unsigned t);
} litmus[] = {{"store buffering", store_buffering},    {"message", message},
              {"message with fences", message_fences}, {"release sequence", sequence},
              {"independent reads", independent},      {"older ways", older}};

static int litmus_wrong(unsigned i)
{
	switch (i) {
	case 0:
		return !seen[0][0] && !seen[1][0];
	case 1:
	case 2:
		return seen[1][1] != 7;
	case 3:
		return seen[2][1] != 7;
	case 4:
		return seen[2][0] && !seen[2][1] && seen[3][0] && !seen[3][1];
	default:
		return l.raw != 5 * (int)threads || (threads > 1 && (seen[1][0] != 5 || l.flag != 2));
	}
}

static void litmus_run(unsigned t)
{
	for (unsigned i = 0; i < sizeof(litmus) / sizeof(*litmus); i++)
		for (unsigned round = 0; round < ROUNDS; round++) {
			if (t == round % threads) {
				l.x = l.y = 0;
				l.plain = l.guarded = l.raw = l.flag = 0;
				memset(seen, 0, sizeof(seen));
				seen[0][0] = threads < 2;
				seen[1][1] = seen[2][1] = 7;
			}
			pthread_barrier_wait(&meet);
			litmus[i].run((t + round) % threads);
			pthread_barrier_wait(&meet);
			if (t == (round + 1) % threads)
				wrong[i] += litmus_wrong(i);
			pthread_barrier_wait(&meet);
		}
}

/* ---- assembler: all threads at the same words; bits as far from the operand as their numbers say */

#define BITS  400000L /* of some pages, on both sides of the operand */
#define TAKES 60
static uint32_t bits[BITS / 32 + 1];
static _Alignas(8) struct {
	uint32_t added, swapped;
	uint64_t compared;
} asm_word;
static int bits_set[MOST];
static uint64_t tokens[MOST];

static void assembled_run(unsigned t)
{
	uint32_t *middle = &bits[BITS / 64];

	pthread_barrier_wait(&meet);
	for (long i = 0; i < TAKES; i++) {
		long bit = (i - TAKES / 2) * (BITS / TAKES) + 1;
		int low = (int)bit;
		bool was;
		if (i % 2)
			__asm__ volatile("lock; btsq %2, %1" : "=@ccc"(was), "+m"(*middle) : "r"(bit) : "memory");
		else
			__asm__ volatile("lock btsl %2, %1" : "=@ccc"(was), "+m"(*middle) : "r"(low) : "memory");
		bits_set[t] += !was;
		uint32_t one = 1, token = 1u << i % 32;
		__asm__ volatile("lock; xaddl %0, %1" : "+r"(one), "+m"(asm_word.added) : : "memory", "cc");
		__asm__ volatile("xchgl %0, %1" : "+r"(token), "+m"(asm_word.swapped) : : "memory");
		tokens[t] += (1u << i % 32) - (uint64_t)token;
		uint64_t seen_value = asm_word.compared, next_value;
		do {
			next_value = 3 * seen_value + 1;
			__asm__ volatile("lock; cmpxchgq %3, %1"
			                 : "=@ccz"(was), "+m"(asm_word.compared), "+a"(seen_value)
			                 : "r"(next_value)
			                 : "memory");
		} while (!was);
	}
	pthread_barrier_wait(&meet);
}

static bool assembled_right(void)
{
	uint64_t compared = 0, token = 0;
	int all = 0, n = (int)threads * TAKES;

	for (unsigned t = 0; t < threads; t++) {
		all += bits_set[t];
		token += tokens[t];
	}
	for (int i = 0; i < n; i++)
		compared = 3 * compared + 1;
	return all == TAKES && asm_word.added == (unsigned)n && token == asm_word.swapped &&
	       asm_word.compared == compared;
}

/* ---- random operations */

/* Each atomic word has plain ones beside it, one of each thread; sizes share words. */
struct cell {
	_Atomic uint64_t eight;
	_Atomic uint32_t four[2];
	_Atomic uint16_t two[2];
	_Atomic uint8_t one[4];
	uint64_t own[MOST];
};
#define CELLS (PAGES * 4096 / sizeof(struct cell))
static _Alignas(4096) struct cell cell[CELLS];

struct sums {
	uint64_t eight;
	uint32_t four[2];
	uint16_t two[2];
	uint8_t one[4];
	uint64_t own;
};
static struct sums sum[MOST][CELLS];
static _Alignas(16) _Atomic __int128 wide;
static union {
	_Alignas(16) _Atomic __int128 both;
	_Atomic uint64_t half[2];
} mixed;
static _Atomic double real;
static int errors[MOST];

static uint32_t next(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 9;
}

/* A compiler knows the order at the call, so each has its own. */
#define ADD(order)                                                                                                     \
	switch (r >> 8 & 3) {                                                                                          \
	case 0:                                                                                                        \
		s->eight += v;                                                                                         \
		if (atomic_fetch_add_explicit(&c->eight, v, order) + v < *last)                                        \
			errors[t]++;                                                                                   \
		break;                                                                                                 \
	case 1:                                                                                                        \
		s->four[r & 1] += v;                                                                                   \
		atomic_fetch_add_explicit(&c->four[r & 1], v, order);                                                  \
		break;                                                                                                 \
	case 2:                                                                                                        \
		s->two[r & 1] = (uint16_t)(s->two[r & 1] ^ v);                                                         \
		atomic_fetch_xor_explicit(&c->two[r & 1], (uint16_t)v, order);                                         \
		break;                                                                                                 \
	default:                                                                                                       \
		s->one[r & 3] = (uint8_t)(s->one[r & 3] + v);                                                          \
		atomic_fetch_add_explicit(&c->one[r & 3], (uint8_t)v, order);                                          \
	}

static void step(unsigned t, uint32_t *state, uint64_t *greatest, size_t first, size_t count)
{
	uint32_t r = next(state), v = r % 200 + 1;
	size_t i = first + next(state) % count;
	struct cell *c = &cell[i];
	struct sums *s = &sum[t][i];
	uint64_t *last = &greatest[i], now;

	switch (r >> 10 & 7) {
	case 0:
	case 1:
		ADD(memory_order_relaxed);
		break;
	case 2:
		ADD(memory_order_acq_rel);
		break;
	case 3:
		ADD(memory_order_seq_cst);
		break;
	case 4:
		c->own[t] = s->own = s->own * 3 + v;
		break;
	case 5: /* values only grow, and no thread sees them shrink */
		now = atomic_load_explicit(&c->eight, memory_order_relaxed);
		errors[t] += now < *last;
		*last = now;
		break;
	case 6:
		errors[t] += c->own[t] != s->own;
		now = c->eight;
		while (!atomic_compare_exchange_weak(&c->eight, &now, now + v))
			;
		s->eight += v;
		errors[t] += now < *last;
		*last = now + v;
		break;
	default:
		__sync_fetch_and_add((uint64_t *)&c->eight, v);
		s->eight += v;
	}
}

/* After a barrier plain loads see all; in some phases a thread resets a word by a plain store. */
static void check(unsigned t, unsigned phase)
{
	for (size_t i = t; i < CELLS; i += phase % 2 ? threads : 1) {
		struct sums all = {0};
		struct cell now;

		for (unsigned k = 0; k < threads; k++) {
			all.eight += sum[k][i].eight;
			for (unsigned j = 0; j < 2; j++) {
				all.four[j] += sum[k][i].four[j];
				all.two[j] = (uint16_t)(all.two[j] ^ sum[k][i].two[j]);
			}
			for (unsigned j = 0; j < 4; j++)
				all.one[j] = (uint8_t)(all.one[j] + sum[k][i].one[j]);
		}
		memcpy(&now, (const void *)&cell[i], sizeof(now));
		errors[t] += memcmp((const void *)&now.eight, &all.eight, 8) != 0;
		errors[t] += memcmp((const void *)now.four, all.four, 8) != 0;
		errors[t] += memcmp((const void *)now.two, all.two, 4) != 0;
		errors[t] += memcmp((const void *)now.one, all.one, 4) != 0;
		for (unsigned k = 0; k < threads; k++)
			errors[t] += now.own[k] != sum[k][i].own;
	}
}

static void reset(unsigned t, unsigned phase, uint64_t *greatest)
{
	for (size_t i = 0; i < CELLS; i++) {
		if ((i + phase) % 7)
			continue;
		greatest[i] = 0;
		if (i % threads != t)
			continue;
		memset((void *)&cell[i], 0, sizeof(cell[i]));
		for (unsigned k = 0; k < threads; k++)
			memset(&sum[k][i], 0, sizeof(sum[k][i]));
	}
}

static void random_run(unsigned t)
{
	uint32_t state = seed + 7919 * t;
	uint64_t *greatest = calloc(CELLS, sizeof(*greatest));

	for (unsigned phase = 0; phase < PHASES; phase++) {
		size_t part = CELLS / threads, first = phase % 3 == 2 ? (t + phase) % threads * part : 0,
		       count = phase % 3 == 2 ? part
		               : phase % 3    ? CELLS
		                              : 4;
		for (unsigned k = 0; k < STEPS; k++)
			step(t, &state, greatest, first, count);
		atomic_fetch_add_explicit(&wide, (__int128)1 << 62, memory_order_relaxed);
		for (int r = 0; r < 3; r++) {
			atomic_fetch_add_explicit(&mixed.half[r & 1], 1, memory_order_relaxed);
			atomic_fetch_add_explicit(&mixed.both, ((__int128)1 << 64) + 1, memory_order_relaxed);
		}
		for (double was = real; !atomic_compare_exchange_weak(&real, &was, was + 0.5);)
			;
		pthread_barrier_wait(&meet);
		check(t, phase);
		pthread_barrier_wait(&meet);
		if (phase % 4 == 3)
			reset(t, phase, greatest);
		pthread_barrier_wait(&meet);
	}
	free(greatest);
}

/* ---- hands: a hand goes from thread to thread, by atomic operations or under a mutex, with what they have seen */

#define HANDS    24
#define ATTEMPTS 6000

static struct hand {
	/* count << 16 | giver << 8 | taker: the giver's count, by then */
	_Alignas(256) _Atomic uint64_t turn;
	unsigned under; /* the taker of a hand with a mutex */
	pthread_mutex_t mutex;
	uint64_t seen[MOST]; /* of each thread's count, by those who have had the hand */
} hand[HANDS];
/* How often a thread had a hand: counts only grow, so others may read them at any time. */
static struct {
	_Alignas(4096) volatile uint64_t had;
} count_of[MOST];
static int missed[MOST];

static void hand_taken(unsigned t, struct hand *h, uint64_t *seen)
{
	for (unsigned i = 0; i < threads; i++) {
		seen[i] = h->seen[i] > seen[i] ? h->seen[i] : seen[i];
		missed[t] += count_of[i].had < seen[i];
	}
	count_of[t].had = ++seen[t];
	memcpy(h->seen, seen, threads * sizeof(*seen));
}

static void hand_given(struct hand *h, uint64_t was, uint64_t turn)
{
	if (turn % 3 == 0)
		atomic_store_explicit(&h->turn, turn, memory_order_release);
	else if (turn % 3 == 1)
		atomic_fetch_add(&h->turn, turn - was);
	else
		atomic_compare_exchange_strong_explicit(&h->turn, &was, turn, memory_order_acq_rel,
		                                        memory_order_relaxed);
}

static void hands_run(unsigned t)
{
	uint32_t state = seed + 104729 * t;
	uint64_t seen[MOST] = {0};

	for (unsigned k = 0; k < ATTEMPTS; k++) {
		unsigned i = next(&state) % HANDS, to = next(&state) % threads;
		struct hand *h = &hand[i];

		if (i % 3 == 0) {
			pthread_mutex_lock(&h->mutex);
			if (h->under == t) {
				hand_taken(t, h, seen);
				h->under = to;
			}
			pthread_mutex_unlock(&h->mutex);
			continue;
		}
		uint64_t turn = atomic_load_explicit(&h->turn, memory_order_acquire);
		if (turn % 256 != t)
			continue;
		missed[t] += h->seen[turn >> 8 & 255] < turn >> 16;
		hand_taken(t, h, seen);
		hand_given(h, turn, seen[t] << 16 | t << 8 | to);
	}
}

/* ---- peeks: a relaxed load shows that an item is there, and it is read before any acquire.  A data race, on which
 * queues for x86 rely. */

#define ITEMS 600

static struct {
	_Alignas(4096) _Atomic int items, slots;
	_Alignas(4096) int item[8];
} queue[MOST / 2];
static int stale[MOST / 2];

static void peeks_write(unsigned q)
{
	for (int i = 0; i < ITEMS; i++) {
		while (atomic_load_explicit(&queue[q].slots, memory_order_acquire) <= i - 8)
			sched_yield();
		queue[q].item[i % 8] = i;
		atomic_fetch_add_explicit(&queue[q].items, 1, memory_order_release);
	}
}

static void peeks_read(unsigned q)
{
	for (int i = 0; i < ITEMS; i++) {
		while (atomic_load_explicit(&queue[q].items, memory_order_relaxed) <= i)
			sched_yield();
		stale[q] += queue[q].item[i % 8] != i;
		atomic_fetch_add_explicit(&queue[q].slots, 1, memory_order_acq_rel);
	}
}

static void peeks_run(unsigned t)
{
	if (t % 2)
		peeks_read(t / 2);
	else if (t + 1 < threads)
		peeks_write(t / 2);
}

/* ---- chains: the first thread stores and releases, the last but one acquires and releases, the last one releases to
 * the same word before it acquires.  It computes meanwhile: a wait might be an acquire. */

#define LINKS 40

static struct {
	_Alignas(4096) _Atomic uint32_t word; /* 65536 for each release of the last thread, and 2 for each round */
	_Alignas(4096) uint32_t data;
} chain;
static int broken[MOST];

static void chain_compute(void)
{
	struct timespec from, now;

	clock_gettime(CLOCK_MONOTONIC, &from);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - from.tv_sec) * 1000000000 + now.tv_nsec - from.tv_nsec < 2000000);
}

static void chain_pass(uint32_t from)
{
	while ((atomic_load_explicit(&chain.word, memory_order_acquire) & 0xffff) != from)
		sched_yield();
	atomic_fetch_add_explicit(&chain.word, 1, memory_order_release);
}

static void chains_run(unsigned t)
{
	for (uint32_t i = 0; i < LINKS && threads > 2; i++) {
		broken[t] += chain.data != i;
		pthread_barrier_wait(&meet);
		if (t == 0) {
			chain.data = i + 1;
			atomic_fetch_add_explicit(&chain.word, 1, memory_order_release);
		} else if (t == threads - 2) {
			chain_pass(2 * i + 1);
		} else if (t == threads - 1) {
			chain_compute();
			atomic_fetch_add_explicit(&chain.word, 65536, memory_order_release);
			if ((atomic_load_explicit(&chain.word, memory_order_acquire) & 0xffff) == 2 * i + 2)
				broken[t] += chain.data != i + 1;
		}
		pthread_barrier_wait(&meet);
	}
}

/* ---- claims: a word of a page that its thread comes to hold alone, until others look at its neighbour */

#define CLAIMS 240

static struct {
	_Alignas(4096) long word, neighbour;
	char rest[4096 - 2 * sizeof(long)];
} claimed;
static int older_claimed;
static long looked[MOST];

static void claims_run(unsigned t)
{
	if (!t)
		claimed.neighbour = 1;
	for (long i = 1; i <= CLAIMS; i++) {
		pthread_barrier_wait(&meet);
		if (t != 1 && i % 3 == 0)
			looked[t] += claimed.neighbour;
		for (long k = 0; t == 1 && k < 50; k++) {
			claimed.word = 64 * i + k;
			older_claimed += __atomic_load_n(&claimed.word, __ATOMIC_RELAXED) != 64 * i + k;
		}
	}
}

/* ---- fresh: words of pages that nothing was stored to yet, and behind the operation plain loads of them */

#define FRESH 16

static struct {
	_Alignas(4096) long word[MOST];
} fresh[FRESH];
static int lost_fresh[MOST];

static __attribute__((noinline, noclone)) long plain(const long *word)
{
	return *word;
}

static void fresh_run(unsigned t)
{
	for (unsigned i = 0; i < FRESH; i++) {
		pthread_barrier_wait(&meet);
		__atomic_fetch_add(&fresh[i].word[t], 1, __ATOMIC_RELAXED);
		lost_fresh[t] += plain(&fresh[i].word[t]) != 1;
	}
	pthread_barrier_wait(&meet);
	for (unsigned i = 0; i < FRESH; i++)
		for (unsigned k = 0; k < threads; k++)
			lost_fresh[t] += plain(&fresh[i].word[k]) != 1;
}

/* ---- again: a plain load behind an atomic one of the same word is not older */

#define AGAIN 20000

static struct {
	_Alignas(4096) long word;
	char behind[4096];
} again;
static int went_back[MOST];

static void again_run(unsigned t)
{
	pthread_barrier_wait(&meet);
	if (t == 0) {
		for (int i = 0; i < AGAIN; i++)
			__atomic_fetch_add(&again.word, 1, __ATOMIC_RELAXED);
		return;
	}
	for (long seen = 0; seen < AGAIN;) {
		seen = __atomic_load_n(&again.word, seen % 3 ? __ATOMIC_RELAXED : __ATOMIC_SEQ_CST);
		went_back[t] += plain(&again.word) < seen;
	}
}

/* ---- flags: a spin lock */

#define TURNS 1000

static atomic_flag taken = ATOMIC_FLAG_INIT;
static int turns[2 * 1024];

static void flags_run(void)
{
	for (int i = 0; i < TURNS; i++) {
		while (atomic_flag_test_and_set_explicit(&taken, memory_order_acquire))
			sched_yield();
		turns[0]++;
		turns[1024]++;
		atomic_flag_clear_explicit(&taken, memory_order_release);
	}
}

/* ---- nodes: what an operation expects lies in the node that it publishes, which is another thread's from then on */

#define NODES 3000

static struct node {
	_Alignas(16) __int128 wide;
	struct node *next;
	int taken;
} node[MOST][NODES], *top;
static _Alignas(16) __int128 newest; /* the node that was published last, its index */
static int node_wrong[MOST];

static void nodes_take(unsigned t)
{
	struct node *next, *n = __atomic_exchange_n(&top, NULL, __ATOMIC_SEQ_CST);

	for (; n; n = next) {
		next = n->next;
		n->next = n;
		node_wrong[t] += n->taken++;
	}
}

static void node_publish(struct node *n)
{
	n->next = __atomic_load_n(&top, __ATOMIC_SEQ_CST);
	while (!__atomic_compare_exchange_n(&top, &n->next, n, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		continue;
}

/* The thread that publishes the next node marks this one. */
static void node_publish_wide(struct node *n, long index)
{
	__int128 was;

	n->wide = 0;
	do
		was = n->wide;
	while (!__atomic_compare_exchange_n(&newest, &n->wide, ((__int128)(uintptr_t)n << 64) + index, false,
	                                    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
	struct node *before = (struct node *)(uintptr_t)(was >> 64);
	if (before)
		before->wide = -1;
}

static void nodes_run(unsigned t)
{
	pthread_barrier_wait(&meet);
	for (unsigned i = 0; i < NODES; i++) {
		node_publish(&node[t][i]);
		if (i % 3 == t % 3)
			nodes_take(t);
		node_publish_wide(&node[t][i], i);
	}
	pthread_barrier_wait(&meet);
	nodes_take(t);
	pthread_barrier_wait(&meet);
	for (unsigned i = 0; i < NODES; i++) {
		bool last = (uintptr_t)&node[t][i] == (uintptr_t)(newest >> 64);
		node_wrong[t] += (node[t][i].taken != 1) + (!last && node[t][i].wide != -1);
	}
}

static void *work(void *arg)
{
	unsigned t = (unsigned)(uintptr_t)arg;

	litmus_run(t);
	random_run(t);
	hands_run(t);
	peeks_run(t);
	chains_run(t);
	claims_run(t);
	fresh_run(t);
	again_run(t);
	nodes_run(t);
	flags_run();
	assembled_run(t);
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned more = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
	pthread_t thread[MOST];
	int all = 0, missing = 0, unseen = 0, torn = 0, lost = 0, back = 0, linked = 0;

	threads = more + 1 < MOST ? more + 1 : MOST;
	seed = argc > 2 ? (uint32_t)atoi(argv[2]) : 1;
	pthread_barrier_init(&meet, NULL, threads);
	for (unsigned i = 0; i < HANDS; i++) {
		pthread_mutex_init(&hand[i].mutex, NULL);
		atomic_init(&hand[i].turn, i % threads);
		hand[i].under = i % threads;
	}
	for (unsigned t = 1; t < threads; t++)
		pthread_create(&thread[t], NULL, work, (void *)(uintptr_t)t);
	work(NULL);
	for (unsigned t = 1; t < threads; t++)
		pthread_join(thread[t], NULL);
	for (unsigned i = 0; i < sizeof(litmus) / sizeof(*litmus); i++)
		printf("%s: %d wrong\n", litmus[i].name, wrong[i]);
	for (unsigned t = 0; t < threads; t++) {
		all += errors[t];
		missing += missed[t];
		unseen += stale[t / 2];
		torn += broken[t];
		lost += lost_fresh[t];
		back += went_back[t];
		linked += node_wrong[t];
	}
	printf("hands: %d missed\n", missing);
	printf("peeks: %d stale\n", unseen);
	printf("chains: %d broken\n", torn);
	printf("claims: %d older\n", older_claimed);
	printf("fresh: %d lost\n", lost);
	printf("again: %d older\n", back);
	printf("nodes: %d wrong\n", linked);
	printf("flags: %d wrong\n", turns[0] != TURNS * (int)threads || turns[1024] != turns[0]);
	printf("assembler: %d wrong\n", !assembled_right());
	printf("random: %d wrong, wide %d, real %d\n", all,
	       wide == ((__int128)PHASES * (int)threads) << 62 && mixed.half[0] == 5ull * PHASES * threads &&
	           mixed.half[1] == 4ull * PHASES * threads,
	       real == 0.5 * PHASES * threads);
	return 0;
}
