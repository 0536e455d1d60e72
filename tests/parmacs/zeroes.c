/* SPDX-License-Identifier: BSD-3-Clause */
/* zeroes.c - all global variables begin as zeroes: the linker has data of the program's in .bss only. */
#include <stdio.h>

#include "tweed/tweed.h"

static long written[64];

int main(int argc, char **argv)
{
	long sum = 0;

	tw_init(&argc, &argv);
	written[tw_id()] = tw_id() + 1;
	tw_barrier_all();
	for (int i = 0; i < tw_count(); i++)
		sum += written[i];
	if (tw_id() == 0)
		printf("sum %ld\n", sum);
	tw_finalize();
	return 0;
}
