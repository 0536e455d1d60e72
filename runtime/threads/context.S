/* SPDX-License-Identifier: BSD-3-Clause */
/* context.S - getcontext, setcontext, swapcontext.  The C library's let the kernel read and write the mask in the
 * program's context, which fails in shared memory without rights: then the switch does not happen. */
#if defined(__linux__) && defined(__ELF__)
	.section .note.GNU-stack,"",@progbits
#endif
#if defined(__x86_64__)
	.text

/* Of ucontext_t; context.c checks them. */
#define R8	0x28
#define R9	0x30
#define R12	0x48
#define R13	0x50
#define R14	0x58
#define R15	0x60
#define RDI	0x68
#define RSI	0x70
#define RBP	0x78
#define RBX	0x80
#define RDX	0x88
#define RCX	0x98
#define RSP	0xa0
#define RIP	0xa8
#define FP	0xe0
#define FP_AREA	0x1a8
#define MXCSR	0x1c0

	.macro	FUNCTION name
	.globl	\name
	.type	\name, @function
\name:
	.cfi_startproc
	.endm

	.macro	END name
	.cfi_endproc
	.size	\name, . - \name
	.endm

/* The caller's registers, as they are when the function returns, to the context at rdi.  Changes rcx. */
	.macro	SAVE
	mov	%rbx, RBX(%rdi)
	mov	%rbp, RBP(%rdi)
	mov	%r12, R12(%rdi)
	mov	%r13, R13(%rdi)
	mov	%r14, R14(%rdi)
	mov	%r15, R15(%rdi)
	mov	%rdi, RDI(%rdi)
	mov	%rsi, RSI(%rdi)
	mov	%rdx, RDX(%rdi)
	mov	%rcx, RCX(%rdi)
	mov	%r8, R8(%rdi)
	mov	%r9, R9(%rdi)
	mov	(%rsp), %rcx
	mov	%rcx, RIP(%rdi)
	lea	8(%rsp), %rcx
	mov	%rcx, RSP(%rdi)
	lea	FP_AREA(%rdi), %rcx
	mov	%rcx, FP(%rdi)
	fnstenv	(%rcx)
	fldenv	(%rcx)
	stmxcsr	MXCSR(%rdi)
	.endm

	FUNCTION getcontext
	SAVE
	sub	$8, %rsp
	.cfi_adjust_cfa_offset 8
	xor	%esi, %esi
	call	th_context_mask
	add	$8, %rsp
	.cfi_adjust_cfa_offset -8
	xor	%eax, %eax
	ret
	END getcontext

	FUNCTION swapcontext
	SAVE
	push	%rsi
	.cfi_adjust_cfa_offset 8
	call	th_context_mask
	pop	%rdi
	.cfi_adjust_cfa_offset -8
	jmp	context_load
	END swapcontext

	FUNCTION setcontext
	push	%rdi
	.cfi_adjust_cfa_offset 8
	mov	%rdi, %rsi
	xor	%edi, %edi
	call	th_context_mask
	pop	%rdi
	.cfi_adjust_cfa_offset -8
context_load:
	mov	FP(%rdi), %rcx
	fldenv	(%rcx)
	ldmxcsr	MXCSR(%rdi)
	mov	RSP(%rdi), %rsp
	mov	RBX(%rdi), %rbx
	mov	RBP(%rdi), %rbp
	mov	R12(%rdi), %r12
	mov	R13(%rdi), %r13
	mov	R14(%rdi), %r14
	mov	R15(%rdi), %r15
	mov	RIP(%rdi), %rcx
	push	%rcx
	mov	RSI(%rdi), %rsi
	mov	RDX(%rdi), %rdx
	mov	RCX(%rdi), %rcx
	mov	R8(%rdi), %r8
	mov	R9(%rdi), %r9
	mov	RDI(%rdi), %rdi
	xor	%eax, %eax
	ret
	END setcontext

/* A context's function has returned: rbx is the address of its uc_link. */
	FUNCTION th_context_end
	.cfi_undefined rip
	mov	(%rbx), %rdi
	and	$-16, %rsp
	test	%rdi, %rdi
	je	1f
	call	setcontext
1:	xor	%edi, %edi
	call	exit
	hlt
	END th_context_end
#endif
