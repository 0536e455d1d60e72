/* SPDX-License-Identifier: BSD-3-Clause */
/* lu - blocked LU on one two-dimensional array: a row of a page belongs to several owners' blocks, so that nearly every
 * page has several concurrent writers (Cashmere-2L, section 3.2). */
#include "splash/block_lu.h"

#include "tweed/tweed.h"

static size_t lu_array_bytes(void)
{
	return (size_t)lu_size * (size_t)lu_size * sizeof(double);
}

static void lu_place(struct lu_matrix *m, double *array)
{
	size_t blocks = (size_t)lu_blocks();

	m->block = kernel_alloc(blocks * blocks * sizeof(double *));
	m->stride = (size_t)lu_size;
	for (size_t i = 0; i < blocks; i++)
		for (size_t j = 0; j < blocks; j++)
			m->block[i * blocks + j] = array + i * (size_t)lu_block * m->stride + j * (size_t)lu_block;
}

static bool lu_share(void)
{
	double *array = kernel_share(lu_array_bytes());

	if (array)
		lu_place(&lu_shared, array);
	return array != NULL;
}

static void lu_make_plain(void)
{
	lu_place(&lu_plain, kernel_alloc(lu_array_bytes()));
}

int main(int argc, char **argv)
{
	return lu_main("lu", "blocked LU factorization of a plain two-dimensional array", lu_share, lu_make_plain, argc,
	               argv);
}
