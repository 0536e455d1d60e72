/* SPDX-License-Identifier: BSD-3-Clause */
/* check.h - what the programs of this folder have in common: they see the header alone. */
#ifndef TESTS_SHMEM_CHECK_H
#define TESTS_SHMEM_CHECK_H

#include <shmem.h>
#include <stdio.h>
#include <string.h>

#define CHECK(c)                                                                                                       \
	do {                                                                                                           \
		if (!(c)) {                                                                                            \
			fprintf(stderr, "PE %d: %s:%d: %s\n", shmem_my_pe(), __FILE__, __LINE__, #c);                  \
			shmem_global_exit(1);                                                                          \
		}                                                                                                      \
	} while (0)

#endif
