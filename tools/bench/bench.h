/* SPDX-License-Identifier: BSD-3-Clause */
/* bench.h - the parts of tweed-bench, the program that `tweed bench` runs. */
#ifndef TW_TOOLS_BENCH_H
#define TW_TOOLS_BENCH_H

#include "core/job/job.h"
#include "tweed/tweed.h"

/* Properties of the machine, measured before the job is joined: the floors. */
struct bench_floors {
	double read_fault_us, write_fault_us; /* a trap whose handler only changes access rights */
	double copy_us;                       /* one coherence page, from and to memory outside the first caches */
	double line_us;                       /* a word to another processor and back */
};

extern struct bench_floors bench_floors;

void bench_measure_floors(size_t page_bytes, const char *fault);
/* bench_line - print one result; only processor 0 does.  @floor < 0: none. */
void bench_line(const char *name, double value, const char *unit, double floor, const char *floor_name);
/* bench_median - sorts @v. */
double bench_median(double *v, unsigned n);

void bench_diffs(void);    /* twins and diffs, in this process */
void bench_pages(void);    /* page operations between two nodes */
void bench_streams(void);  /* large transfers between two nodes */
void bench_two_sync(void); /* synchronization between two nodes */
void bench_resident(void); /* faults on pages that the node has */
void bench_shoot(void);    /* shootdowns on one node, in a job with TWEED_SHOOTDOWN */
void bench_one_node(void); /* two processors of one node */
void bench_basic(void);    /* the operations by which protocols are compared: two processors, or the barrier of more */
void bench_network(void);  /* the transport alone, between two nodes */
void bench_misses(void);   /* of node 1 */

/* A permutation of 0..n-1, the same everywhere. */
unsigned *bench_shuffle(unsigned n);

#endif
