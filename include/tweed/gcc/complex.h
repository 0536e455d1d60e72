/* SPDX-License-Identifier: BSD-3-Clause */
/* complex.h - found in place of the system's by `tweed cc` with gcc, which does not announce stores to parts of complex
 * numbers, and makes such of stores to the whole. */
#error gcc cannot announce stores to complex numbers: use clang (CC=clang tweed cc), or pairs of numbers
#include_next <complex.h>
