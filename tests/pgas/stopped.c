/* SPDX-License-Identifier: BSD-3-Clause */
/* stopped - one PE stops while it is pinned.
 *
 *     tweed run -n 2 -p 2 stopped stop [SECONDS]   by SIGSTOP: the others' operations go on, their garbage keeps its
 * bound, and is freed
 *                                                  after it has gone on
 *     tweed run -n 2 -p 2 stopped dead             it never comes back: what it holds up is freed after
 * tw_epoch_fence()
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/base.h"
#include "tweed/pgas.h"

#define GARBAGE 1000u

static struct tw_epoch *epoch;
static struct tw_token *token;
static struct tw_queue *stack;

static void need(bool good, const char *what)
{
	struct tw_pgas_stats s;

	if (good)
		return;
	tw_pgas_stats(&s);
	fprintf(stderr, "PE %u: %s; %llu objects wait\n", tw_pe(), what, (unsigned long long)s.garbage);
	exit(1);
}

static uint64_t garbage(void)
{
	struct tw_pgas_stats s;

	tw_pgas_stats(&s);
	return s.garbage;
}

/* Push and pop for @ns, or until a pop is refused @refusals times.  Returns how often it was. */
static uint64_t work(uint64_t ns, uint64_t refusals)
{
	uint64_t begun = tw_time_ns(), refused = 0, value, pushes = 0;
	int done;

	while (tw_time_ns() - begun < ns && refused < refusals) {
		need(tw_treiber_stack.push(stack, pushes++) == 1, "push");
		done = tw_treiber_stack.pop(stack, &value);
		need(done >= 0 || done == -EAGAIN, "pop");
		refused += done == -EAGAIN;
		need(garbage() <= GARBAGE, "too much garbage");
		if (refused && refused % 16 == 0)
			usleep(1000); /* as a program would after -EAGAIN */
	}
	need(pushes > 0, "no operation went on");
	return refused;
}

static void stop(uint64_t ns)
{
	bool stops = tw_pe() == tw_pes() - 1;
	uint64_t begun;

	if (stops) {
		tw_token_pin(token);
		tw_root_set(1, tw_gptr_of_raw((uint64_t)getpid() << 4));
		raise(SIGSTOP);
		tw_token_unpin(token);
	} else {
		while (tw_is_null(tw_root_get(1)))
			usleep(1000);
		usleep(20000);
		need(work(ns, UINT64_MAX) > 0, "nothing was refused");
		if (tw_pe() == 0)
			kill((pid_t)(tw_root_get(1).raw >> 4), SIGCONT);
		for (begun = tw_time_ns(); garbage() > GARBAGE / 2; usleep(1000)) {
			need(tw_time_ns() - begun < UINT64_C(10000000000), "nothing is freed after it has gone on");
			tw_token_try_reclaim(token);
		}
	}
}

static void dead(void)
{
	uint64_t begun = tw_time_ns();

	if (tw_pe() == tw_pes() - 1) {
		tw_token_pin(token); /* and never again uses what it protects */
		tw_control_barrier();
		tw_control_barrier();
		return;
	}
	tw_control_barrier();
	need(work(UINT64_C(5000000000), 20) == 20, "a pinned PE holds up nothing");
	tw_control_barrier(); /* all have met the limit */
	if (tw_pe() == 0)
		tw_epoch_fence(epoch, tw_pes() - 1);
	for (; garbage() > GARBAGE / 2; usleep(1000)) {
		need(tw_time_ns() - begun < UINT64_C(10000000000), "nothing is freed after the fence");
		tw_token_try_reclaim(token);
	}
}

int main(int argc, char **argv)
{
	struct tw_epoch_options options = {.garbage_most = GARBAGE, .advance_every = 64};
	tw_gptr root;

	if (argc < 2 || tw_pgas_init(NULL) || tw_epoch_create(&options, &epoch))
		return 2;
	token = tw_epoch_register(epoch);
	if (tw_pe() == 0) {
		if (tw_treiber_stack.create(NULL, &root))
			return 2;
		tw_root_set(0, root);
	}
	tw_control_barrier();
	if (tw_treiber_stack.attach(tw_root_get(0), NULL, token, &stack))
		return 2;
	if (strcmp(argv[1], "stop") == 0)
		stop((uint64_t)((argc > 2 ? atof(argv[2]) : 1) * 1e9));
	else
		dead();
	tw_control_barrier();
	if (tw_pe() == 0)
		printf("%s: garbage kept within %u, and was freed\n", argv[1], GARBAGE);
	if (strcmp(argv[1], "dead") != 0) {
		tw_token_unregister(token);
		tw_epoch_destroy(epoch);
	}
	tw_pgas_finalize();
	return 0;
}
