/* SPDX-License-Identifier: BSD-3-Clause */
/* tally.h - a library with variables that several threads change, for programs built by several build systems. */
#ifndef TALLY_H
#define TALLY_H

#ifdef __cplusplus
extern "C" {
#endif
extern int tally_begun; /* 1: the library's constructor has run */
void tally_add(int n);
int tally_count(void);
long tally_sum(void);
int tally_weight(int n); /* a program may have its own */
#ifdef __cplusplus
}
#endif

#endif
