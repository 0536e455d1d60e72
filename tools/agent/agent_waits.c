/* SPDX-License-Identifier: BSD-3-Clause */
/* agent_waits.c - do all processors of the node wait for calls of others?  Where are their threads?
 *
 * At each tick the agent rings their bells, so all waiting processors poll again.  A processor that has polled since
 * the previous tick and still waits was neither starved nor just woken.  A processor whose program has signal handlers
 * is never counted: a handler may make a call, such as sem_post. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/signals.h"
#include "core/coherence/shootdown.h"
#include "tools/agent/agent_parts.h"

/* Does processor @k's program catch signals other than those that its own instructions raise, which a wait does not do,
 * and those that Tweed and the C library (its first two real-time signals) use?  A program with threads says so itself:
 * its process is a child of the one that the agent has started. */
static bool waits_catches(const struct agent *a, unsigned k)
{
	uint64_t ours =
	    TW_SIGNAL_BIT(TW_SHOOTDOWN_SIGNAL) | TW_SIGNAL_BIT(TW_TURN_SIGNAL) | TW_SIGNAL_BIT(32) | TW_SIGNAL_BIT(33);
	unsigned long long caught = ~0ull;
	char path[64], line[256];

	snprintf(path, sizeof(path), "/proc/%d/status", a->processor[k].pid);
	FILE *f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f) && sscanf(line, "SigCgt: %llx", &caught) != 1)
		;
	if (f)
		fclose(f);
	return (caught | atomic_load(&a->stats[k].waits.handles)) & ~(TW_SIGNALS_CAUSED | ours);
}

bool agent_waits_look(struct agent *a, uint64_t *begun)
{
	unsigned waiting = 0, polled = 0;

	*begun = 0;
	if (!a->processor || !a->running || a->finishing)
		return false;
	for (unsigned k = 0; k < a->boot.config.processors; k++) {
		const struct tw_waits *w = &a->stats[k].waits;
		uint64_t polls = atomic_load(&w->polls);

		if (!a->processor[k].pid)
			continue;
		waiting += atomic_load(&w->call) != TW_WAIT_NONE;
		polled += polls != a->polls[k];
		a->polls[k] = polls;
		*begun += atomic_load(&w->begun);
	}
	if (waiting < a->running)
		return false;
	tw_service_ring();
	return polled == a->running;
}

static void waits_answer(struct agent *a, bool all, uint64_t begun)
{
	struct wire_waits answer = {.all = all, .begun = begun};

	for (unsigned k = 0; k < a->boot.config.processors; k++) {
		const struct tw_waits *w = &a->stats[k].waits;
		struct wire_wait *to = &answer.processor[k];

		if (!a->processor || !a->processor[k].pid)
			continue;
		to->call = atomic_load(&w->call);
		to->object = atomic_load(&w->object);
		to->value = atomic_load(&w->value);
		for (unsigned i = 0; i < TW_WAIT_HELD; i++)
			to->held[i] = atomic_load(&w->held[i]);
		if (all && waits_catches(a, k))
			answer.all = 0;
	}
	wire_send(&a->wire, WIRE_WAITS, &answer, sizeof(answer), NULL, 0);
}

void agent_waits_tick(struct agent *a, bool all, uint64_t begun)
{
	if (a->asked && --a->asked == 0)
		waits_answer(a, all, begun);
}

/* ---- where threads are ---- */

static void where_end(struct agent *a)
{
	if (a->where >= 0)
		close(a->where);
	a->where = -1;
	wire_send(&a->wire, WIRE_WHERE, NULL, 0, NULL, 0);
}

void agent_where(struct agent *a)
{
	static char name[TW_MAX_PROCESSORS][32];
	char *argv[TW_MAX_PROCESSORS + 3] = {(char *)"tweed", (char *)"where"}, *environment[] = {NULL};
	int out[2], n = 2;

	if (a->where >= 0)
		return; /* its end answers this question, too */
	for (unsigned k = 0; a->processor && k < a->boot.config.processors; k++) {
		if (!a->processor[k].pid)
			continue;
		tw_format(name[k], sizeof(name[k]), "%u:%d", k, atomic_load(&a->stats[k].waits.pid));
		argv[n++] = name[k];
	}
	if (n == 2 || pipe2(out, O_CLOEXEC)) {
		where_end(a);
		return;
	}
	pid_t pid = vfork(); /* as agent_start_one */
	if (pid == 0) {
		sigprocmask(SIG_SETMASK, &a->mask, NULL);
		dup2(out[1], STDOUT_FILENO);
		close_range(STDERR_FILENO + 1, ~0u, CLOSE_RANGE_CLOEXEC);
		execve("/proc/self/exe", argv, environment);
		_exit(127);
	}
	close(out[1]);
	a->where = out[0];
	fcntl(a->where, F_SETFL, O_NONBLOCK);
	if (pid < 0)
		where_end(a);
}

void agent_where_read(struct agent *a)
{
	char text[WIRE_PIECE];
	ssize_t n;

	while ((n = read(a->where, text, sizeof(text))) > 0)
		wire_send(&a->wire, WIRE_WHERE, text, (size_t)n, NULL, 0);
	if (n == 0 || errno != EAGAIN)
		where_end(a);
}
