/* SPDX-License-Identifier: BSD-3-Clause */
/* main.c - tweed-bench: measures, and prints one line "name|value|unit|floor|name of the floor" per result.  `tweed
 * bench` starts it at 2x1 and at 1x2, with "network" at 2x1, and with each TWEED_SHOOTDOWN at 1x2 and 1x4. */
#include "tools/bench/bench.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct bench_floors bench_floors;

void bench_line(const char *name, double value, const char *unit, double floor, const char *floor_name)
{
	if (tw_id() == 0) {
		printf("%s|%.4g|%s|%.4g|%s\n", name, value, unit, floor, floor_name);
		fflush(stdout);
	}
}

static int bench_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

double bench_median(double *v, unsigned n)
{
	qsort(v, n, sizeof(*v), bench_compare);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

unsigned *bench_shuffle(unsigned n)
{
	unsigned *order = malloc(n * sizeof(*order));
	uint64_t x = 88172645463325252u;
	for (unsigned i = 0; i < n; i++)
		order[i] = i;
	for (unsigned i = n - 1; i > 0; i--) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		unsigned j = (unsigned)(x % (i + 1)), t = order[i];
		order[i] = order[j];
		order[j] = t;
	}
	return order;
}

/* ---- floors ---- */

static struct tw_fault floor_fault;
static size_t floor_page;

static void floor_handler(void *ctx, size_t offset, bool write)
{
	(void)ctx;
	size_t at = offset / floor_page * floor_page;
	if (write)
		floor_fault.ops->set(&floor_fault, at, floor_page, TW_READ, TW_WRITE);
	else
		floor_fault.ops->set(&floor_fault, at, floor_page, TW_NONE, TW_READ);
}

static void floor_of_faults(const char *backend)
{
	const unsigned pages = 2048;
	size_t bytes = pages * floor_page;
	int fd = memfd_create("tweed-bench", MFD_CLOEXEC);
	unsigned *order = bench_shuffle(pages);

	if (fd < 0 || ftruncate(fd, (off_t)bytes))
		exit(1);
	floor_fault = (struct tw_fault){.ops = tw_fault_find(backend), .bytes = bytes, .handler = floor_handler};
	floor_fault.view = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	floor_fault.app = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	memset(floor_fault.view, 1, bytes);
	if (!floor_fault.ops || floor_fault.ops->open(&floor_fault))
		exit(1);
	volatile char *app = floor_fault.app;
	double t0 = tw_now();
	for (unsigned i = 0; i < pages; i++)
		(void)app[order[i] * floor_page];
	double t1 = tw_now();
	for (unsigned i = 0; i < pages; i++)
		app[order[i] * floor_page] = 2;
	double t2 = tw_now();
	bench_floors.read_fault_us = (t1 - t0) * 1e6 / pages;
	bench_floors.write_fault_us = (t2 - t1) * 1e6 / pages;
	floor_fault.ops->close(&floor_fault);
	munmap(floor_fault.view, bytes);
	munmap(floor_fault.app, bytes);
	close(fd);
	free(order);
}

static void floor_of_copies(void)
{
	const unsigned pages = 4096;
	char *a = malloc(pages * floor_page), *b = malloc(pages * floor_page);
	unsigned *order = bench_shuffle(pages);
	memset(a, 1, pages * floor_page);
	memset(b, 2, pages * floor_page);
	double t0 = tw_now();
	for (unsigned i = 0; i < pages; i++)
		memcpy(a + order[i] * floor_page, b + order[i] * floor_page, floor_page);
	__asm__ volatile("" ::"r"(a) : "memory");
	bench_floors.copy_us = (tw_now() - t0) * 1e6 / pages;
	free(a);
	free(b);
	free(order);
}

static void *floor_echo(void *arg)
{
	_Atomic unsigned *word = arg;
	for (unsigned i = 1; i < 20000; i += 2) {
		while (atomic_load(word) != i)
			tw_pause();
		atomic_store(word, i + 1);
	}
	return NULL;
}

static void floor_of_lines(void)
{
	_Alignas(64) _Atomic unsigned word = 0;
	pthread_t t;
	if (pthread_create(&t, NULL, floor_echo, &word))
		exit(1);
	double t0 = tw_now();
	for (unsigned i = 0; i < 20000; i += 2) {
		atomic_store(&word, i + 1);
		while (i + 2 < 20000 && atomic_load(&word) != i + 2)
			tw_pause();
	}
	bench_floors.line_us = (tw_now() - t0) * 1e6 / 10000;
	pthread_join(t, NULL);
}

void bench_measure_floors(size_t page_bytes, const char *fault)
{
	floor_page = page_bytes;
	floor_of_faults(fault);
	floor_of_copies();
	floor_of_lines();
}

/* The parameters of this node in the job that tw_init is about to join. */
static void bench_boot(struct tw_boot *boot)
{
	const char *fd = getenv("TWEED_BOOT");
	if (!fd || pread(atoi(fd), boot, sizeof(*boot), 0) != (ssize_t)sizeof(*boot)) {
		fprintf(stderr, "tweed-bench is started by: tweed bench\n");
		exit(2);
	}
}

int main(int argc, char **argv)
{
	struct tw_boot boot;
	const char *processor = getenv("TWEED_PROCESSOR"), *what = argc > 1 ? argv[1] : "";

	bench_boot(&boot);
	/* The processor that prints measures the floors, while the others wait in tw_init. */
	if (!*what && boot.node == 0 && processor && strcmp(processor, "0") == 0)
		bench_measure_floors(boot.config.page_size, boot.config.fault);
	tw_init(&argc, &argv);
	if (strcmp(what, "basic") == 0) {
		bench_basic();
	} else if (strcmp(what, "network") == 0) {
		bench_network();
	} else if (strcmp(boot.config.shootdown, "auto") != 0) {
		bench_shoot();
	} else if (tw_nodes() > 1) {
		bench_two_sync();
		bench_pages();
		bench_streams();
		bench_diffs();
	} else {
		bench_one_node();
	}
	tw_finalize();
	return 0;
}
