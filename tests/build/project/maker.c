/* SPDX-License-Identifier: BSD-3-Clause */
/* maker.c - a program that the build runs. */
#include <stdio.h>

int main(void)
{
	return puts("int made(void);\nint made(void) { return 7; }") < 0;
}
