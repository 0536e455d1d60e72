/* SPDX-License-Identifier: BSD-3-Clause */
/* ck - LocalEpochManager beside ck_epoch of Concurrency Kit, in one thread, in turns: pin and unpin; and a section that
 * retires an object, with all reclamation.  It prints; a busy machine decides nothing. */
#include <ck_epoch.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/base.h"
#include "tweed/pgas.h"

#define TURNS 9u
#define CALLS 1000000u
#define EVERY 64u /* calls between two attempts to reclaim, of both */

struct object {
	ck_epoch_entry_t entry;
	uint64_t payload;
};

static ck_epoch_t ck;
static ck_epoch_record_t record;
static struct tw_local_epoch *epoch;
static struct tw_local_token *token;

static void ck_free(ck_epoch_entry_t *entry)
{
	free(entry);
}

static void ck_pin(void)
{
	for (unsigned i = 0; i < CALLS; i++) {
		ck_epoch_begin(&record, NULL);
		ck_epoch_end(&record, NULL);
	}
}

static void tw_pin_unpin(void)
{
	for (unsigned i = 0; i < CALLS; i++) {
		tw_local_token_pin(token);
		tw_local_token_unpin(token);
	}
}

static void ck_retire(void)
{
	for (unsigned i = 0; i < CALLS; i++) {
		struct object *o = malloc(sizeof(*o));
		ck_epoch_begin(&record, NULL);
		ck_epoch_call(&record, &o->entry, ck_free);
		ck_epoch_end(&record, NULL);
		if (i % EVERY == 0)
			ck_epoch_poll(&record);
	}
}

static void tw_retire(void)
{
	for (unsigned i = 0; i < CALLS; i++) {
		struct object *o = malloc(sizeof(*o));
		tw_local_token_pin(token);
		tw_local_token_defer_delete(token, o);
		tw_local_token_unpin(token);
	}
}

/* The best of the turns, in ns for each call. */
static void measure(void (*const run[2])(void), double best[2])
{
	best[0] = best[1] = 1e9;
	for (unsigned turn = 0; turn < TURNS; turn++)
		for (unsigned i = 0; i < 2; i++) {
			uint64_t begun = tw_time_ns();
			run[i]();
			double ns = (double)(tw_time_ns() - begun) / CALLS;
			best[i] = ns < best[i] ? ns : best[i];
		}
}

int main(void)
{
	double pin[2], retire[2];

	ck_epoch_init(&ck);
	ck_epoch_register(&ck, &record, NULL);
	if (tw_local_epoch_create(&(struct tw_local_epoch_options){.advance_every = EVERY}, &epoch) ||
	    !(token = tw_local_epoch_register(epoch)))
		return 2;
	measure((void (*const[2])(void)){ck_pin, tw_pin_unpin}, pin);
	measure((void (*const[2])(void)){ck_retire, tw_retire}, retire);
	printf("pin + unpin: ck_epoch %.2f ns, LocalEpochManager %.2f ns\n"
	       "malloc, pin, defer_delete, unpin, reclaim: ck_epoch %.2f ns, LocalEpochManager %.2f ns\n",
	       pin[0], pin[1], retire[0], retire[1]);
	ck_epoch_barrier(&record);
	tw_local_token_unregister(token);
	tw_local_epoch_destroy(epoch);
	return 0;
}
