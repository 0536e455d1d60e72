/* SPDX-License-Identifier: BSD-3-Clause */
/* defaults.S - the settings that suit OpenMP programs: a note in each of them, which `tweed run` reads (tools/program.c).  What the user
 * says, by an option or a variable, goes before it. */
	.section .note.tweed, "a", @note
	.balign 4
	.long	2f - 1f
	.long	4f - 3f
	.long	1
1:	.asciz	"Tweed"
2:	.balign 4
3:	.asciz	"TWEED_PROTOCOL=cashmere:home=migrate"
	.asciz	"TWEED_PAGE_SIZE=16K"
4:	.balign 4
	.section .note.GNU-stack, "", @progbits
