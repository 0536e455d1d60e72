/* SPDX-License-Identifier: BSD-3-Clause */
/* emulate.h - instructions in files that other compilers have made.
 *
 * An atomic instruction acts on its node's copy, so between nodes it is not atomic.  Tweed's assembler replaces those
 * of the program's sources; in objects and archives of other compilers the linker (tools/compile/foreign.c) replaces
 * one byte of each by one that raises a signal, whose handler performs what it was. */
#ifndef TW_RUNTIME_THREADS_EMULATE_H
#define TW_RUNTIME_THREADS_EMULATE_H

/* EMULATE_TRAP      in place of a lock prefix, or of the first byte of mfence or pause: int3
 * EMULATE_XCHG8     in place of the opcode of an exchange of a byte in memory, which needs no prefix: one that 64-bit
 *                   mode does not have
 * EMULATE_XCHG      the same for an exchange of a larger number
 * An invalid instruction costs three times as much as int3 where a hypervisor looks at it.  But an exchange has no byte
 * to spare. */
#define EMULATE_TRAP  0xcc
#define EMULATE_XCHG8 0x0e
#define EMULATE_XCHG  0x16

/* th_emulate_open - take SIGTRAP and SIGILL.  The linker adds it as a constructor to programs that need it. */
void th_emulate_open(void);

#endif
