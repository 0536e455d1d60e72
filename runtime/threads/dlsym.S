/* SPDX-License-Identifier: BSD-3-Clause */
/* dlsym.S - the program's dlsym: finds Tweed's functions where a program asks for the C library's functions of threads
 * by name (th_dlsym); else it jumps to the C library's dlsym, to which RTLD_NEXT depends on the caller's address. */
#if defined(__linux__) && defined(__ELF__)
	.section .note.GNU-stack,"",@progbits
#endif
#if defined(__x86_64__)
	.text
	.globl	tw_dlsym_threads
	.type	tw_dlsym_threads, @function
tw_dlsym_threads:
	.cfi_startproc
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	call	th_dlsym@PLT
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	testq	%rax, %rax
	jz	1f
	ret
1:	jmp	*dlsym@GOTPCREL(%rip)
	.cfi_endproc
	.size	tw_dlsym_threads, . - tw_dlsym_threads
#endif
