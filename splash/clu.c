/* SPDX-License-Identifier: BSD-3-Clause */
/* clu - blocked LU with contiguous blocks: each processor's blocks are adjacent, in memory that it allocated, so that
 * no page has two writers (Cashmere-2L, section 3.2). */
#include <stdlib.h>

#include "splash/block_lu.h"

#include "tweed/tweed.h"

static size_t clu_block_elements(void)
{
	return (size_t)lu_block * (size_t)lu_block;
}

static size_t clu_table_bytes(void)
{
	return (size_t)lu_blocks() * (size_t)lu_blocks() * sizeof(double *);
}

/* Lay out the blocks of every owner from its base, column after column: what others read from an owner in one step, the
 * part of a column below the diagonal, is contiguous. */
static void clu_place(struct lu_matrix *m, double *const *base, int count)
{
	size_t *used = kernel_alloc((size_t)count * sizeof(*used));

	m->block = kernel_alloc(clu_table_bytes());
	m->stride = (size_t)lu_block;
	for (long j = 0; j < lu_blocks(); j++)
		for (long i = 0; i < lu_blocks(); i++) {
			int owner = lu_owner(i, j, count);

			m->block[i * lu_blocks() + j] = base[owner] + used[owner]++ * clu_block_elements();
		}
	free(used);
}

static bool clu_share(void)
{
	int count = tw_count();
	double **base = kernel_share((size_t)count * sizeof(*base));
	size_t mine = 0;

	if (!base)
		return false;
	for (long i = 0; i < lu_blocks(); i++)
		for (long j = 0; j < lu_blocks(); j++)
			mine += lu_owner(i, j, count) == tw_id();
	base[tw_id()] = tw_malloc(kernel_round_up((mine + !mine) * clu_block_elements() * sizeof(double)));
	tw_barrier_all();
	for (int p = 0; p < count; p++)
		if (!base[p])
			return false;
	clu_place(&lu_shared, base, count);
	return true;
}

static void clu_plain(void)
{
	size_t blocks = (size_t)lu_blocks() * (size_t)lu_blocks();
	double *base = kernel_alloc(blocks * clu_block_elements() * sizeof(double));

	clu_place(&lu_plain, &base, 1);
}

int main(int argc, char **argv)
{
	return lu_main("clu", "blocked LU factorization, blocks contiguous in their owner's memory", clu_share,
	               clu_plain, argc, argv);
}
