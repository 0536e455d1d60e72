/* SPDX-License-Identifier: BSD-3-Clause */
/* complex.h - `tweed cc` with gcc finds this file before the system's.  gcc does not announce stores to parts of
 * complex numbers, and splits stores to whole numbers into such. */
#error gcc cannot announce stores to complex numbers: use clang (CC=clang tweed cc), or pairs of numbers
#include_next <complex.h>
