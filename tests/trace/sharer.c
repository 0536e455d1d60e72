/* SPDX-License-Identifier: BSD-3-Clause */
/* sharer.c - trace.py's program: memory that two nodes share falsely, truly, and not at all, each of an allocation of
 * its
 * own.
 *
 *   sharer [ROUNDS]    the first processor of each of two nodes writes, and reads, its own;
 *   sharer fatal       one makes a mistake that ends the job;  sharer kill: one kills itself */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "tweed/tweed.h"

#define PAGE  65536 /* Tweed's largest */
#define WORDS 64

/* What a variable in the shared space is to the linker: here, all but a word of the first page. */
__asm__(".globl sharer_page\n.set sharer_page, 0x200000000008\n.type sharer_page, @object\n.size sharer_page, 4088");

static struct {
	volatile long *left, *right; /* in one page */
	volatile long *padded;       /* a page for each node */
	volatile long *counter;
	tw_lock_t lock;
	tw_flag_t flag;
} all;

static void sharer_allocate(void)
{
	all.left = tw_malloc(WORDS * sizeof(long));    /* the left array */
	all.right = tw_malloc(WORDS * sizeof(long));   /* the right array */
	all.padded = tw_aligned_alloc(PAGE, 2 * PAGE); /* the padded array */
	all.counter = tw_aligned_alloc(PAGE, PAGE);    /* the counter */
	all.lock = tw_lock_create();
	all.flag = tw_flag_create();
}

static void sharer_round(int node, long round)
{
	volatile long *own = node ? all.right : all.left;
	volatile long *padded = all.padded + (size_t)node * PAGE / sizeof(long);

	for (int i = 0; i < WORDS; i++)
		own[i] = own[i] + round;
	padded[round % WORDS]++;
	tw_lock_acquire(all.lock);
	*all.counter = *all.counter + 1;
	tw_lock_release(all.lock);
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 1;
	bool takes_part;

	tw_init(&argc, &argv);
	if (tw_id() == 0)
		sharer_allocate();
	tw_bcast(&all, sizeof(all), 0);
	takes_part = tw_id() % (tw_count() / tw_nodes()) == 0 && tw_node() < 2;
	for (long round = 1; round <= rounds; round++) {
		if (takes_part)
			sharer_round(tw_node(), round);
		tw_barrier_all();
	}
	if (takes_part && tw_node() == 0)
		tw_flag_set(all.flag, 1);
	tw_flag_wait(all.flag, 1);
	if (argc > 1 && !strcmp(argv[1], "kill") && tw_id() == 1)
		raise(SIGKILL);
	if (argc > 1 && !strcmp(argv[1], "fatal") && tw_id() == 1)
		tw_lock_release(all.lock);
	tw_finalize();
	return 0;
}
