/* SPDX-License-Identifier: BSD-3-Clause */
/* fork.c - the handlers around fork().
 *
 * The program's variables may lie in memory that parent and child share. They are copied before the fork, because the
 * parent continues right after it, and the copies replace the variables in the child before it stores anything. The
 * handlers' own data lie in a separate private page; @fork_state, which points to it, never changes. */
#include "core/process/fork.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/signals.h"
#include "core/base/base.h"
#include "core/fault/trap.h"
#include "core/memory/globals.h"
#include "core/memory/heap.h"
#include "core/job/job.h"
#include "core/coherence/shootdown.h"
#include "core/memory/stores.h"

#define FORK_PAGE    ((size_t)4096)
#define FORK_BLOCK   ((size_t)512) /* pages whose presence is asked for at once */
#define FORK_RANGES  64u
#define FORK_REGIONS 64u
#define FORK_FETCH   ((size_t)16384) /* most pages fetched for a child that its parent does not hold */

struct fork_range {
	char *base, *copy;
	size_t bytes;
	uint64_t *held; /* a bit for each page that was copied; NULL: the other pages are zero */
};

/* Memory of which the child has only a copy, though the program expects that both see what either stores. */
struct fork_region {
	char *base;
	size_t bytes;
};

static struct fork {
	bool child;    /* this process is the child */
	bool all;      /* fetch what other processors use, too */
	size_t budget; /* pages that may still be fetched */
	struct tw_proc *me;
	unsigned count;
	struct fork_range range[FORK_RANGES];
	unsigned regions; /* of which the next child may only read its copy */
	struct fork_region region[FORK_REGIONS];
	uint64_t homes[FORK_BLOCK]; /* of fork_look */
	pid_t parent;
	struct sigaction old[2]; /* SIGSEGV's and SIGBUS's handlers before the fork */
	void (*refusing[sizeof(struct tw_transport) / sizeof(void (*)(void))])(void);
} * fork_state;

/* ---- before the fork ---- */

static void *fork_map(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		tw_fatal("fork: no memory for a copy of %zu MiB of variables: %s", bytes >> 20, strerror(errno));
	return p;
}

/* Is the range in the shared space? Then only pages that the processor may read can be copied. */
static bool fork_trapped(const struct fork_range *r)
{
	return fork_state->me && fork_state->me->fault.ops &&
	       (uintptr_t)r->base - tw_space_base() < fork_state->me->config.memory;
}

static bool fork_readable(const char *at)
{
	const struct tw_proc *me = fork_state->me;
	size_t p = (size_t)(at - me->app) >> me->layout.page_shift;

	return me->page[p].mapped >> me->local & 1;
}

/* fork_used: the page of the shared space is in use; fork_own: by this processor. */
static bool fork_global(const char *at)
{
	return (uintptr_t)at - tw_space_base() < tw_globals_bytes();
}

static bool fork_used(const char *at)
{
	return fork_global(at) || tw_heap_holder(fork_state->me, at) >= 0;
}

static bool fork_own(const char *at)
{
	return fork_global(at) || tw_heap_holder(fork_state->me, at) == (int)fork_state->me->id;
}

/* HERE: the node has the page, though its contents may be stale.  ABSENT: another node may have it.  ZERO: none has. */
enum fork_page { FORK_ABSENT, FORK_HERE, FORK_ZERO };

/* The @n pages from @base.  In the heap no node has touched those without a home. */
static void fork_look(const struct fork_range *r, const char *base, size_t n, enum fork_page *page)
{
	struct tw_proc *me = fork_state->me;
	unsigned char present[FORK_BLOCK];
	bool touched[FORK_BLOCK], others = fork_trapped(r) && me->nodes > 1, absent = false;

	if (mincore((void *)(uintptr_t)base, n * FORK_PAGE, present))
		memset(present, 1, sizeof(present));
	for (size_t i = 0; i < n; i++) {
		page[i] = present[i] & 1 ? FORK_HERE : others ? FORK_ABSENT : FORK_ZERO;
		absent |= page[i] == FORK_ABSENT;
	}
	if (!absent || fork_global(base))
		return;
	unsigned shift = me->layout.page_shift;
	size_t from = (size_t)(base - me->app), first = from >> shift, last = (from + n * FORK_PAGE - 1) >> shift;
	tw_home_touched(me, (tw_page_t)first, (unsigned)(last - first + 1), fork_state->homes, touched);
	for (size_t i = 0; i < n; i++)
		if (page[i] == FORK_ABSENT && !touched[((from + i * FORK_PAGE) >> shift) - first])
			page[i] = FORK_ZERO;
}

/* Call @each for the pages of the range that are in use. */
static void fork_each(struct fork_range *r, void (*each)(struct fork_range *r, size_t at, enum fork_page page))
{
	enum fork_page page[FORK_BLOCK];

	for (size_t at = 0, n; at < r->bytes; at += n) {
		n = TW_MIN(FORK_BLOCK * FORK_PAGE, r->bytes - at);
		if (fork_trapped(r) && !fork_used(r->base + at))
			continue;
		fork_look(r, r->base + at, n / FORK_PAGE, page);
		for (size_t i = 0; i < n / FORK_PAGE; i++)
			each(r, at + i * FORK_PAGE, page[i]);
	}
}

/* May the page be read, which costs a fault? */
static bool fork_worth(const struct fork_range *r, size_t at, enum fork_page page)
{
	bool useful = page == FORK_HERE || (page == FORK_ABSENT && (fork_state->all || fork_own(r->base + at)));

	if (!useful || !fork_state->budget)
		return false;
	fork_state->budget--;
	return true;
}

static void fork_fetch_page(struct fork_range *r, size_t at, enum fork_page page)
{
	if (!fork_readable(r->base + at) && fork_worth(r, at, page))
		(void)*(volatile char *)(r->base + at);
}

static void fork_copy_page(struct fork_range *r, size_t at, enum fork_page page)
{
	bool zero = page == FORK_ZERO;

	/* Another node may have taken what was fetched. */
	if (!zero && r->held && !fork_readable(r->base + at) &&
	    !((fork_state->me->protocol->flags & TW_PROTOCOL_REVOKES) && fork_worth(r, at, page)))
		return;
	if (!zero)
		memcpy(r->copy + at, r->base + at, FORK_PAGE);
	if (r->held)
		r->held[at / FORK_PAGE / 64] |= (uint64_t)1 << at / FORK_PAGE % 64;
}

void tw_fork_fetch(void)
{
	fork_state->budget = FORK_FETCH;
	for (unsigned round = 0; round < 2; round++) {
		fork_state->all = round;
		for (unsigned i = 0; i < fork_state->count; i++)
			if (fork_trapped(&fork_state->range[i]))
				fork_each(&fork_state->range[i], fork_fetch_page);
	}
}

static size_t fork_held_bytes(const struct fork_range *r)
{
	return TW_ALIGN_UP(r->bytes / FORK_PAGE / 8, FORK_PAGE);
}

static void fork_early(int signal, siginfo_t *si, void *uc);

static void fork_prepare(void)
{
	struct sigaction sa = {.sa_sigaction = fork_early, .sa_flags = SA_SIGINFO | SA_ONSTACK};

	if (fork_state->child)
		return;
	tw_fork_fetch();
	for (unsigned i = 0; i < fork_state->count; i++) {
		struct fork_range *r = &fork_state->range[i];
		r->held = fork_trapped(r) ? fork_map(fork_held_bytes(r)) : NULL;
		r->copy = fork_map(r->bytes);
		fork_each(r, fork_copy_page);
	}
	fork_state->parent = (pid_t)syscall(SYS_getpid);
	tw_signal_set(SIGSEGV, &sa, &fork_state->old[0]);
	tw_signal_set(SIGBUS, &sa, &fork_state->old[1]);
}

/* ---- after the fork ---- */

static void fork_handlers_back(void)
{
	tw_signal_set(SIGSEGV, &fork_state->old[0], NULL);
	tw_signal_set(SIGBUS, &fork_state->old[1], NULL);
}

static void fork_parent(void)
{
	if (fork_state->child)
		return;
	fork_handlers_back();
	fork_state->regions = 0;
	for (unsigned i = 0; i < fork_state->count; i++) {
		const struct fork_range *r = &fork_state->range[i];
		munmap(r->copy, r->bytes);
		if (r->held)
			munmap(r->held, fork_held_bytes(r));
	}
}

static bool fork_shared(uintptr_t at)
{
	const struct tw_proc *me = fork_state->me;

	return me && (at - tw_space_base() < me->config.memory ||
	              at - (uintptr_t)me->private_mem < me->layout.private_bytes ||
	              at - (uintptr_t)me->net->base < me->net->config.bytes);
}

static bool fork_in_region(const void *at)
{
	for (unsigned i = 0; i < fork_state->regions; i++)
		if ((size_t)((const char *)at - fork_state->region[i].base) < fork_state->region[i].bytes)
			return true;
	return false;
}

static void fork_fault(int signal, siginfo_t *si, void *uc)
{
	if (si->si_code > 0 && fork_shared((uintptr_t)si->si_addr)) {
		if (fork_in_region(si->si_addr))
			tw_fatal("a child of fork() stores to memory that it would share with its parent (MAP_SHARED, "
			         "shmat), but it has a copy of that: let it return its results by a pipe or a file");
		tw_fork_refuse();
	}
	tw_signal_chain(signal, si, uc);
}

/* The child shares the connections with its parent, so it must neither use nor close the endpoint. Its thread
 * (net/async.c) exists only in the parent and may have been active at the fork; in the child that activity never
 * ends. */
static void fork_cut(struct tw_proc *me)
{
	for (size_t i = 0; i < sizeof(fork_state->refusing) / sizeof(fork_state->refusing[0]); i++)
		fork_state->refusing[i] = tw_fork_refuse;
	me->net->ops = (const void *)fork_state->refusing;
	if (me->fault.ops)
		tw_trap_forget();
	tw_shootdown_forget();
	tw_laziness = NULL; /* nothing is demanded of it */
	tw_stores_close();
	tw_fatal_hook = NULL;
	tw_me = NULL;
}

/* Pages that were not copied would read as zeros. */
static void fork_forbid(const struct fork_range *r)
{
	size_t pages = r->bytes / FORK_PAGE;

	for (size_t at = 0, n; at < pages; at += n + 1) {
		for (n = 0; at + n < pages && !(r->held[(at + n) / 64] >> (at + n) % 64 & 1);)
			n += (at + n) % 64 == 0 && !r->held[(at + n) / 64] ? TW_MIN((size_t)64, pages - at - n) : 1;
		if (n && mprotect(r->base + at * FORK_PAGE, n * FORK_PAGE, PROT_NONE))
			tw_fatal("fork: the child cannot have so many pieces of shared memory: %s", strerror(errno));
	}
}

static void fork_protect(const struct fork_range *r)
{
	for (unsigned i = 0; i < fork_state->regions; i++) {
		const struct fork_region *g = &fork_state->region[i];
		if ((size_t)(g->base - r->base) < r->bytes && mprotect(g->base, g->bytes, PROT_READ))
			tw_fatal("fork: cannot protect the child's copy of shared memory: %s", strerror(errno));
	}
}

static void fork_variables(void)
{
	for (unsigned i = 0; i < fork_state->count; i++) {
		const struct fork_range *r = &fork_state->range[i];
		if (mremap(r->copy, r->bytes, r->bytes, MREMAP_MAYMOVE | MREMAP_FIXED, r->base) == MAP_FAILED)
			tw_fatal("fork: cannot give the child its variables: %s", strerror(errno));
		if (r->held) {
			fork_protect(r);
			fork_forbid(r);
		}
	}
}

static void fork_child(void)
{
	if (fork_state->child)
		return; /* the child of a child */
	fork_state->child = true;
	fork_variables();
	fork_handlers_back();
	if (!fork_state->me)
		return;
	fork_cut(fork_state->me);
	tw_signal_take(SIGSEGV, fork_fault);
	tw_signal_take(SIGBUS, fork_fault);
}

/* Between the fork and fork_child the C library may use memory that the program has allocated, as that of name
 * services: the child gets its variables then.  The parent's other threads may fault meanwhile. */
static void fork_early(int signal, siginfo_t *si, void *uc)
{
	if (syscall(SYS_getpid) != fork_state->parent && si->si_code > 0 && fork_shared((uintptr_t)si->si_addr))
		fork_child();
	else
		tw_signal_pass(&fork_state->old[signal == SIGBUS], signal, si, uc);
}

/* ---- opening ---- */

void tw_fork_open(void)
{
	if (fork_state)
		return;
	void *page = mmap(NULL, TW_ALIGN_UP(sizeof(*fork_state), FORK_PAGE), PROT_READ | PROT_WRITE,
	                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED || pthread_atfork(fork_prepare, fork_parent, fork_child))
		tw_fatal("no memory for what forking needs");
	fork_state = page;
	tw_forked_open();
}

void tw_fork_process(struct tw_proc *me)
{
	fork_state->me = me;
}

void tw_fork_copies(void *base, size_t bytes)
{
	for (unsigned i = 0; i < fork_state->count; i++)
		if (fork_state->range[i].base == base) {
			fork_state->range[i].bytes = bytes; /* opened again, or extended */
			return;
		}
	if (fork_state->count == FORK_RANGES)
		tw_fatal("more than %u ranges of variables are shared", FORK_RANGES);
	fork_state->range[fork_state->count++] = (struct fork_range){.base = base, .bytes = bytes};
}

void tw_fork_read_only(void *base, size_t bytes)
{
	unsigned i = 0;

	if (!fork_state || fork_state->child)
		return;
	while (i < fork_state->regions && fork_state->region[i].base != base)
		i++;
	if (i == FORK_REGIONS)
		return;
	fork_state->region[i] = (struct fork_region){base, TW_ALIGN_UP(bytes, FORK_PAGE)};
	fork_state->regions = TW_MAX(fork_state->regions, i + 1);
}
