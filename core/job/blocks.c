/* SPDX-License-Identifier: BSD-3-Clause */
/* blocks.c - the function that compilers call in each basic block of programs that count their work, or poll: `tweed cc
 * --count`, `tweed cc --poll`. Its name is that of the kernel's coverage. */
#include "core/base/clock.h"
#include "core/coherence/shootdown.h"

#define BLOCKS_PASS 65536u /* a power of two: after so many blocks others may go first; the program may wait for them */

/* Before the program joins the job: its clock is that of its work from the beginning. */
__attribute__((constructor(101))) static void blocks_begin(void)
{
	tw_work = 1;
}

void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void)
{
	if (__builtin_expect(++tw_work % BLOCKS_PASS == 0, 0) && tw_virtual) {
		tw_gate_pass();
		if (tw_worked)
			tw_worked();
	}
	if (__builtin_expect(tw_target_asked(tw_poll_target), 0))
		tw_poll();
}
