/* SPDX-License-Identifier: BSD-3-Clause */
/* defaults.S - settings that suit OpenMP programs: notes in each program, which `tweed run` reads
 * (tools/run/program.c). The user's options and variables override them. */
	.section .note.tweed, "a", @note

	.macro	settings kind, text
	.balign 4
	.long	2f - 1f
	.long	4f - 3f
	.long	\kind
1:	.asciz	"Tweed"
2:	.balign 4
3:	.asciz	"\text"
4:	.balign 4
	.endm

	settings 1, "TWEED_PROTOCOL=2L:home=migrate"
	/* For large programs: with larger arrays, fewer pages contain parts of two. */
	settings 2, "TWEED_PAGE_SIZE=16K"
	.section .note.GNU-stack, "", @progbits
