/* SPDX-License-Identifier: BSD-3-Clause */
/* block_lu.h - blocked dense LU factorization without pivoting.  clu and lu differ only in the layout of blocks.
 *
 * The matrix is divided into square blocks, assigned in two dimensions to a near-square grid of processors.  The owner
 * of a block does all the work on it.  Step k, for every diagonal block in turn:
 *
 *     diagonal    the owner of (k, k) factors it, then a barrier
 *     perimeter   blocks below are divided by its U, those right of it by its L; barrier
 *     interior    (i, k) times (k, j) is subtracted from every (i, j) beyond k
 *
 * No barrier follows the interior: the owners who just updated the next step's diagonal and perimeter blocks write
 * them, and blocks of an earlier perimeter are not written again. */
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

/* lu_main - run the kernel: @name and @help, with a layout's @share and @plain (see struct kernel), which set lu_shared
 * and lu_plain. */
int lu_main(const char *name, const char *help, bool (*share)(void), void (*plain)(void), int argc, char **argv);

#endif
