/* SPDX-License-Identifier: BSD-3-Clause */
/* block_lu.h - blocked dense LU factorization without pivoting, where clu and lu differ only in where a block lies.
 *
 * The matrix is cut into square blocks, dealt in two dimensions to a near-square grid of processors; the owner of a
 * block does all the work on it.  Step k, for every diagonal block in turn:
 *
 *     diagonal    the owner of (k, k) factors it, then a barrier
 *     perimeter   blocks below are divided by its U, those right of it by its L; barrier
 *     interior    every (i, j) beyond k loses (i, k) times (k, j)
 *
 * No barrier follows the interior: the next step's diagonal and perimeter blocks are written by the owners who just
 * updated them, and nobody writes a block of an earlier perimeter again. */
#ifndef TW_SPLASH_BLOCK_LU_H
#define TW_SPLASH_BLOCK_LU_H

#include <stdbool.h>
#include <stddef.h>

#include "apps/kernel.h"

/* A matrix as private tables: where each block's first element is. */
struct lu_matrix {
	double **block; /* [blocks * blocks], by rows; block[i * blocks + j] */
	size_t stride;  /* elements from one row of a block to the next */
};

extern long lu_size, lu_block; /* the options: rows of the matrix, rows of a block */
extern struct lu_matrix lu_shared, lu_plain;

/* lu_blocks - blocks per row of the matrix; the last may be smaller. */
long lu_blocks(void);
/* lu_owner - the processor, of @count, that owns block (i, j). */
int lu_owner(long i, long j, int count);

/* lu_main - run the kernel: @name and @help, with a layout's @share and @plain (see struct kernel), which fill in
 * lu_shared and lu_plain. */
int lu_main(const char *name, const char *help, bool (*share)(void), void (*plain)(void), int argc, char **argv);

#endif
