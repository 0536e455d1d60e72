/* SPDX-License-Identifier: BSD-3-Clause */
/* memory.c - OpenMP 5's allocators; affinity formats. */
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static int aligned(const void *ptr, size_t to)
{
	return ptr && (uintptr_t)ptr % to == 0;
}

static void pools(void)
{
	omp_alloctrait_t traits[] = {
	    {omp_atk_alignment, 256}, {omp_atk_pool_size, 4096}, {omp_atk_fallback, omp_atv_null_fb}};
	omp_allocator_handle_t pool = omp_init_allocator(omp_default_mem_space, 3, traits);
	void *first = omp_alloc(3000, pool), *second = omp_alloc(3000, pool);

	printf("%d %d\n", aligned(first, 256), second != NULL);
	omp_free(first, pool);
	second = omp_aligned_alloc(1024, 3000, pool);
	printf("%d\n", aligned(second, 1024));
	omp_free(second, omp_null_allocator);
	omp_destroy_allocator(pool);
	traits[2].value = omp_atv_default_mem_fb;
	pool = omp_init_allocator(omp_default_mem_space, 3, traits);
	first = omp_calloc(100, 1000, pool);
	int zero = 1;
	for (int i = 0; i < 100000; i++)
		zero &= ((char *)first)[i] == 0;
	printf("%d\n", zero);
	omp_free(first, pool);
	omp_destroy_allocator(pool);
}

static void blocks(void)
{
	char *text = omp_alloc(10, omp_default_mem_alloc);

	strcpy(text, "ninechars");
	text = omp_realloc(text, 5000, omp_high_bw_mem_alloc, omp_default_mem_alloc);
	printf("%s\n", text);
	omp_free(text, omp_high_bw_mem_alloc);
	omp_set_default_allocator(omp_large_cap_mem_alloc);
	printf("%d\n", omp_get_default_allocator() == omp_large_cap_mem_alloc);
	long sum = 0;
#pragma omp parallel reduction(+ : sum)
	{
		long *mine = omp_aligned_calloc(64, 50, sizeof(*mine), omp_null_allocator);
		for (int i = 0; i < 50; i++)
			mine[i] += i;
		for (int i = 0; i < 50; i++)
			sum += mine[i];
		sum += aligned(mine, 64) && omp_get_default_allocator() == omp_large_cap_mem_alloc;
		omp_free(mine, omp_null_allocator);
	}
	printf("%ld\n", sum / omp_get_max_threads());
	int list[20], all = 0;
#pragma omp parallel for private(list) allocate(omp_default_mem_alloc : list) reduction(+ : all)
	for (int i = 0; i < 40; i++) {
		list[i % 20] = i;
		all += list[i % 20];
	}
	printf("%d\n", all);
}

static void formats(void)
{
	char text[100];

	omp_set_affinity_format("%L|%.5n|%4N|%0.5a|%{team_num}|%%");
	printf("%zu ", omp_get_affinity_format(text, sizeof(text)));
	printf("%s\n", text);
	printf("%zu ", omp_capture_affinity(text, sizeof(text), ""));
	printf("%s\n", text);
#pragma omp parallel num_threads(2)
	if (omp_get_thread_num() == 1) {
		omp_capture_affinity(text, sizeof(text), NULL);
		printf("%s\n", text);
		omp_capture_affinity(text, sizeof(text), "%{nesting_level} %0.3n %N %a");
		printf("%s\n", text);
		printf("%zu\n", omp_capture_affinity(text, 4, "%{num_threads} threads"));
		printf("%s\n", text);
	}
	printf("%d %d\n", omp_pause_resource_all(omp_pause_soft), omp_get_supported_active_levels() > 0);
}

int main(void)
{
	pools();
	blocks();
	formats();
	return 0;
}
