/* SPDX-License-Identifier: BSD-3-Clause */
/* atomic.S - calls from the middle of compiled code that preserve every register; tools/compile/as.c inserts them.  The
 * caller has skipped the red zone. */
#if defined(__linux__) && defined(__ELF__)
	.section .note.GNU-stack,"",@progbits
#endif
	.text

#define STATE_BYTES 4096	/* of xsave without AMX's tiles, with a reserve */
#define STATE_PARTS 0xe7

/* Call \function if the macro \needed, when there is one, goes to 1.  That changes rcx only.  On return, all registers
 * except rsp are unchanged, and so are the flags; with \result, rdi is the function's result, if it was called.  Its
 * second argument is where they are kept (struct th_atomic_frame of atomic.c). */
	.macro	KEEP name function needed result=0
	.globl	\name
	.type	\name, @function
\name:
	.cfi_startproc
	.ifnb	\needed
	push	%rcx
	.cfi_adjust_cfa_offset 8
	\needed
	pop	%rcx
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_adjust_cfa_offset 8
1:	pop	%rcx
	.cfi_adjust_cfa_offset -8
	.endif
	pushfq
	.cfi_adjust_cfa_offset 8
	push	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset rbp, 0
	mov	%rsp, %rbp
	.cfi_def_cfa_register rbp
	push	%rax
	push	%rcx
	push	%rdx
	push	%rsi
	push	%rdi
	push	%r8
	push	%r9
	push	%r10
	push	%r11
	push	%rbx
	push	%r12
	push	%r13
	push	%r14
	push	%r15
	mov	%rsp, %rsi
	cld
	sub	$STATE_BYTES, %rsp
	and	$-64, %rsp
	xor	%eax, %eax
	mov	%rax, 512(%rsp)		/* the header; xsave does not write the rest of it */
	mov	%rax, 520(%rsp)
	mov	%rax, 528(%rsp)
	mov	%rax, 536(%rsp)
	mov	%rax, 544(%rsp)
	mov	%rax, 552(%rsp)
	mov	%rax, 560(%rsp)
	mov	%rax, 568(%rsp)
	xor	%edx, %edx
	mov	$STATE_PARTS, %eax
	xsave64	(%rsp)
	call	\function
	.if	\result
	mov	%rax, -40(%rbp)		/* where rdi was pushed */
	.endif
	xor	%edx, %edx
	mov	$STATE_PARTS, %eax
	xrstor64 (%rsp)
	lea	-112(%rbp), %rsp
	pop	%r15
	pop	%r14
	pop	%r13
	pop	%r12
	pop	%rbx
	pop	%r11
	pop	%r10
	pop	%r9
	pop	%r8
	pop	%rdi
	pop	%rsi
	pop	%rdx
	pop	%rcx
	pop	%rax
	pop	%rbp
	.cfi_def_cfa rsp, 16
	popfq
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.size	\name, . - \name
	.endm

	.macro	IF_NOT_ZERO load:vararg
	\load
	jrcxz	2f
	jmp	1f
2:
	.endm

/* Within a node the instruction itself suffices, but a loop of them may wait for another thread of the processor. */
	.macro	IF_FAR_OR_OFTEN
	IF_NOT_ZERO movzbl th_far(%rip), %ecx
	IF_NOT_ZERO movl th_turn_is_over(%rip), %ecx
	IF_NOT_ZERO movzbl %fs:th_due_here@tpoff, %ecx
	movl	th_atomic_left(%rip), %ecx
	jrcxz	1f
	lea	-1(%rcx), %ecx
	movl	%ecx, th_atomic_left(%rip)
	.endm

	.macro	IF_FAR
	IF_NOT_ZERO movzbl th_far(%rip), %ecx
	.endm

	.macro	IF_HELD
	IF_NOT_ZERO movq th_atomic_held(%rip), %rcx
	.endm

	KEEP	tw_threads_atomic_begin th_atomic_begin IF_FAR_OR_OFTEN 1
	KEEP	tw_threads_atomic_begin_load th_atomic_begin_load IF_FAR_OR_OFTEN 1
	KEEP	tw_threads_atomic_begin_wide th_atomic_begin_wide IF_FAR_OR_OFTEN 1
	KEEP	tw_threads_atomic_end th_atomic_end IF_HELD
	KEEP	tw_threads_fence th_fence
	KEEP	tw_threads_order th_order_words IF_FAR
	KEEP	tw_threads_pause th_pause IF_FAR_OR_OFTEN
