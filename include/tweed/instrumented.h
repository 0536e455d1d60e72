/* SPDX-License-Identifier: BSD-3-Clause */
/* instrumented.h - included by `tweed cc` before each source: marks the object as instrumented.  Its stores are
 * announced. */
#ifndef __ASSEMBLER__
__asm__(".pushsection .tweed.stores, \"\", @progbits\n\t.byte 1\n\t.popsection");
#endif
