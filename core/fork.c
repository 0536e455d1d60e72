/* SPDX-License-Identifier: BSD-3-Clause */
/* fork.c - the handlers around fork().
 *
 * The program's variables may lie in memory that parent and child share: the copies are made before the fork, as nothing stops the
 * parent afterwards, and take the variables' place in the child before it stores anything.  What the handlers themselves need lies in
 * a page of its own, which is private: @fork_state, which points there, never changes. */
#include "core/fork.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/signals.h"
#include "base/util.h"
#include "core/globals.h"
#include "core/job.h"

#define FORK_PAGE   ((size_t)4096)
#define FORK_BLOCK  ((size_t)512) /* pages whose presence is asked for at once */
#define FORK_RANGES 64u

struct fork_range {
	char *base, *copy;
	size_t bytes;
};

static struct fork {
	pid_t process; /* that is in the job */
	bool child;    /* this one is not */
	struct tw_proc *me;
	unsigned count;
	struct fork_range range[FORK_RANGES];
	struct sigaction old[2];
	void (*refusing[sizeof(struct tw_transport) / sizeof(void (*)(void))])(void);
} * fork_state;

bool tw_forked(void)
{
	return fork_state && fork_state->process != getpid();
}

void tw_fork_refuse(void)
{
	tw_fatal(
	    "a child of fork() used shared memory or called a function of Tweed, which only its parent may do: let it "
	    "call exec, or work on what is its own");
}

/* ---- before the fork ---- */

/* Pages that nothing was stored to stay absent. */
static void fork_copy(const struct fork_range *r)
{
	unsigned char present[FORK_BLOCK];

	for (size_t at = 0, n; at < r->bytes; at += n) {
		n = TW_MIN(FORK_BLOCK * FORK_PAGE, r->bytes - at);
		if (mincore(r->base + at, n, present))
			memset(present, 1, sizeof(present));
		for (size_t i = 0; i < n / FORK_PAGE; i++)
			if (present[i] & 1)
				memcpy(r->copy + at + i * FORK_PAGE, r->base + at + i * FORK_PAGE, FORK_PAGE);
	}
}

static void fork_prepare(void)
{
	if (fork_state->child)
		return;
	for (unsigned i = 0; i < fork_state->count; i++) {
		struct fork_range *r = &fork_state->range[i];
		void *copy =
		    mmap(NULL, r->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (copy == MAP_FAILED)
			tw_fatal("fork: no memory for a copy of %zu MiB of variables: %s", r->bytes >> 20,
			         strerror(errno));
		r->copy = copy;
		fork_copy(r);
	}
}

/* ---- behind it ---- */

static void fork_parent(void)
{
	if (fork_state->child)
		return;
	for (unsigned i = 0; i < fork_state->count; i++)
		munmap(fork_state->range[i].copy, fork_state->range[i].bytes);
}

static bool fork_shared(uintptr_t at)
{
	const struct tw_proc *me = fork_state->me;

	return me && (at - tw_space_base() < me->config.memory ||
	              at - (uintptr_t)me->private_mem < me->layout.private_bytes ||
	              at - (uintptr_t)me->net->base < me->net->config.bytes);
}

static void fork_fault(int signal, siginfo_t *si, void *uc)
{
	if (si->si_code > 0 && fork_shared((uintptr_t)si->si_addr))
		tw_fork_refuse();
	tw_signal_pass(&fork_state->old[signal == SIGBUS], signal, si, uc);
}

/* The connections are shared, too: the endpoint must not be used. */
static void fork_cut(struct tw_proc *me)
{
	for (size_t i = 0; i < sizeof(fork_state->refusing) / sizeof(fork_state->refusing[0]); i++)
		fork_state->refusing[i] = tw_fork_refuse;
	me->net->ops = (const void *)fork_state->refusing;
	tw_fatal_hook = NULL;
	tw_me = NULL;
}

static void fork_variables(void)
{
	for (unsigned i = 0; i < fork_state->count; i++) {
		const struct fork_range *r = &fork_state->range[i];
		if (mremap(r->copy, r->bytes, r->bytes, MREMAP_MAYMOVE | MREMAP_FIXED, r->base) == MAP_FAILED)
			tw_fatal("fork: cannot give the child its variables: %s", strerror(errno));
	}
}

static void fork_child(void)
{
	struct sigaction sa = {.sa_sigaction = fork_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};

	if (fork_state->child)
		return; /* a child of one */
	fork_state->child = true;
	fork_variables();
	if (!fork_state->me)
		return;
	fork_cut(fork_state->me);
	sigaction(SIGSEGV, &sa, &fork_state->old[0]);
	sigaction(SIGBUS, &sa, &fork_state->old[1]);
}

/* ---- beginning ---- */

void tw_fork_open(void)
{
	if (fork_state)
		return;
	void *page = mmap(NULL, TW_ALIGN_UP(sizeof(*fork_state), FORK_PAGE), PROT_READ | PROT_WRITE,
	                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED || pthread_atfork(fork_prepare, fork_parent, fork_child))
		tw_fatal("no memory for what forking needs");
	fork_state = page;
	fork_state->process = getpid();
}

void tw_fork_process(struct tw_proc *me)
{
	fork_state->me = me;
}

void tw_fork_copies(void *base, size_t bytes)
{
	for (unsigned i = 0; i < fork_state->count; i++)
		if (fork_state->range[i].base == base)
			return; /* the layer above was opened again */
	if (fork_state->count == FORK_RANGES)
		tw_fatal("more than %u ranges of variables are shared", FORK_RANGES);
	fork_state->range[fork_state->count++] = (struct fork_range){.base = base, .bytes = bytes};
}
