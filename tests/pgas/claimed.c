/* SPDX-License-Identifier: BSD-3-Clause */
/* claimed - a PE dies between claiming a slot of its agent's mailbox and filling it; the others' 128-bit operations,
 * which are
 * messages to that agent, go on.
 *
 *     tweed run --survive -n 2 -p 2 claimed */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "net/mailbox.h"
#include "pgas/segment/segment.h"
#include "tweed/pgas.h"

#define ROUNDS 200u /* more than the mailbox has slots */

static void claim_and_die(void)
{
	const struct tw_net_config *config = &tw_segment.net->config;

	tw_mailbox_claim(tw_mailbox_of(config, tw_segment.net->base, config->ports - 1), config->node, config->port);
	raise(SIGKILL);
}

int main(void)
{
	if (tw_pgas_init(NULL) || tw_pes() < 3)
		return 2;
	if (tw_pe() == 0) {
		tw_gptr made = tw_new_at(0, 16);
		tw_wide_store(made, (tw_wide){0, 0});
		tw_root_set(0, made);
	}
	tw_control_barrier();
	tw_gptr word = tw_root_get(0);
	if (tw_pe() == 1)
		claim_and_die();
	for (unsigned i = 0; i < ROUNDS && tw_pe() > 1; i++) {
		tw_wide seen = tw_wide_load(word), was;
		while ((was = tw_wide_compare_exchange(word, seen, (tw_wide){seen.low + 1, seen.high + 2})).low !=
		       seen.low)
			seen = was;
	}
	tw_control_barrier();
	tw_wide end = tw_wide_load(word);
	bool good = !tw_pe_lives(1) && end.low == (tw_pes() - 2) * ROUNDS && end.high == 2 * end.low;
	if (!good)
		fprintf(stderr, "PE %u: %llu, %llu; PE 1 %s\n", tw_pe(), (unsigned long long)end.low,
		        (unsigned long long)end.high, tw_pe_lives(1) ? "lives" : "is dead");
	tw_control_barrier();
	tw_pgas_finalize();
	return !good;
}
