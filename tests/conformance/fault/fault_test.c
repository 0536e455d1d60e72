/* SPDX-License-Identifier: BSD-3-Clause */
/* fault_test - every promise of tweed/driver/fault.h, for every backend that this host offers.
 * Usage: fault_test [BACKEND [SEED]] */
#include "rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HW_PAGE ((size_t)4096)

/* Every hardware page of the units: one load, one store, exactly the traps that @rights ask for. */
static const char *probe_units(struct rig *rig, size_t first, size_t count)
{
	const char *why = NULL;
	for (size_t o = first * rig->unit; o < (first + count) * rig->unit && !why; o += HW_PAGE) {
		unsigned char *frame = (unsigned char *)rig->fault.view + o + 7;
		*frame = (unsigned char)(o >> 12);
		why = rig_load(rig, o + 7, *frame);
		if (!why)
			why = rig_store(rig, o + HW_PAGE - 1, (unsigned char)(o >> 11));
	}
	return why;
}

/* All walks over rights of up to four steps, from no rights; at each end, what traps must be what should. */
static const char *walks(struct rig *rig, size_t count, bool absent)
{
	for (unsigned walk = 0; walk < 1 + 2 + 4 + 8 + 16; walk++) {
		unsigned steps = 0, bits = walk + 1;
		while (bits >> (steps + 1))
			steps++;
		for (unsigned stores = 0; stores < 2; stores++) {
			const size_t first = 3;
			if (absent)
				rig_absent(rig);
			for (size_t i = first; i < first + count; i++)
				rig_set(rig, i, 1, TW_NONE);
			for (unsigned s = 0; s < steps; s++)
				rig_set(rig, first, count, (rig->rights[first] + 1 + (bits >> s & 1)) % 3);
			/* A store alone as well: it must not need the load's help. */
			const char *why = stores ? rig_store(rig, first * rig->unit, 9) : NULL;
			if (!why)
				why = probe_units(rig, first, count);
			if (why)
				return why;
		}
	}
	return NULL;
}

/* What the oracle knows of a random walk: one byte per hardware page. */
static const char *random_walk(struct rig *rig, unsigned *seed, unsigned steps)
{
	unsigned char *value = calloc(rig->units * rig->unit / HW_PAGE, 1);
	const char *why = NULL;

	rig_absent(rig);
	for (unsigned s = 0; s < steps && !why; s++) {
		size_t unit = (size_t)rand_r(seed) % rig->units, count = 1, most = 1 + (size_t)rand_r(seed) % 8;
		size_t page = unit * (rig->unit / HW_PAGE) + (size_t)rand_r(seed) % (rig->unit / HW_PAGE);
		switch (rand_r(seed) % 4) {
		case 0:
			while (count < most && unit + count < rig->units &&
			       rig->rights[unit + count] == rig->rights[unit])
				count++;
			rig_set(rig, unit, count, (enum tw_rights)(rand_r(seed) % 3));
			break;
		case 1:
			why = rig_load(rig, page * HW_PAGE + 100, value[page]);
			break;
		case 2:
			value[page]++;
			why = rig_store(rig, page * HW_PAGE + 100, value[page]);
			break;
		default: /* another processor's write, through another mapping */
			value[page] ^= 0x55;
			rig->fault.view[page * HW_PAGE + 100] = (char)value[page];
		}
	}
	free(value);
	return why;
}

/* The kernel takes mappings away by itself; nobody may notice. */
static const char *reclaimed(struct rig *rig)
{
	const char *why = NULL;
	if (strncmp(rig->fault.ops->name, "uffd", 4) != 0)
		return NULL;
	for (size_t i = 0; i < 3; i++)
		rig_set(rig, i, 1, (enum tw_rights)i);
	memset(rig->fault.view, 5, 3 * rig->unit);
	for (unsigned round = 0; round < 2 && !why; round++) {
		madvise(rig->fault.app, 3 * rig->unit, MADV_DONTNEED);
		if (!round && !(why = rig_load(rig, rig->unit, 5)) && !(why = rig_load(rig, 2 * rig->unit, 5)))
			why = rig_store(rig, 2 * rig->unit, 5);
		else if (round && !(why = rig_store(rig, rig->unit, 6)) && !(why = rig_store(rig, 2 * rig->unit, 7)))
			why = rig_store(rig, 0, 8);
	}
	return why;
}

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

/* Small frames become huge ones under the rights of every kind, and again after rights are lost: the kernel unmaps
 * them.
 * Where it cannot make huge pages, the case is one more walk. */
static const char *collapsed(struct rig *rig, unsigned *seed)
{
	static bool said;
	const char *why = NULL;
	int error = 0;

	rig_absent(rig);
	memset(rig->fault.view, 1, rig->fault.bytes);
	for (unsigned round = 0; round < 3 && !why; round++) {
		for (size_t i = 0; i < rig->units; i++)
			rig_set(rig, i, 1, (enum tw_rights)(rand_r(seed) % 3));
		error |= madvise(rig->fault.view, rig->fault.bytes, MADV_COLLAPSE);
		why = probe_units(rig, 0, rig->units);
	}
	if (error && !said)
		printf("     the kernel makes no huge pages of memory files here\n");
	said |= error != 0;
	return why;
}

/* Fastest of a fault in ns, for the eye; no verdict. */
static void times(struct rig *rig)
{
	enum { N = 2000 };
	struct timespec a, b, c, d;
	for (size_t i = 0; i < rig->units; i++)
		rig_set(rig, i, 1, TW_NONE);
	memset(rig->fault.view, 1, rig->fault.bytes);
	double read = 1e9, write = 1e9, revoke = 1e9;
	for (size_t i = 0; i < N; i++) {
		size_t unit = (i * 7) % rig->units;
		volatile char *p = rig->fault.app + unit * rig->unit;
		clock_gettime(CLOCK_MONOTONIC, &a);
		(void)*p;
		clock_gettime(CLOCK_MONOTONIC, &b);
		*p = 1;
		clock_gettime(CLOCK_MONOTONIC, &c);
		rig_set(rig, unit, 1, TW_NONE);
		clock_gettime(CLOCK_MONOTONIC, &d);
#define NS(from, to) ((double)((to).tv_sec - (from).tv_sec) * 1e9 + (double)((to).tv_nsec - (from).tv_nsec))
		read = NS(a, b) < read ? NS(a, b) : read;
		write = NS(b, c) < write ? NS(b, c) : write;
		revoke = NS(c, d) < revoke ? NS(c, d) : revoke;
	}
	printf("     %-12s %3zuK      fastest: read fault %.2f us, upgrade %.2f us, revoke %.2f us\n",
	       rig->fault.ops->name, rig->unit >> 10, read / 1000, write / 1000, revoke / 1000);
}

static void run_unit(const struct tw_fault_ops *ops, size_t unit, bool huge, unsigned seed)
{
	struct rig rig;
	char name[64];

	rig_open(&rig, ops, unit, (4u << 20) / unit, huge);
	result(&rig, "first touch, one unit", walks(&rig, 1, true));
	result(&rig, "first touch, five units", walks(&rig, 5, true));
	result(&rig, "all transitions, one unit", walks(&rig, 1, false));
	result(&rig, "all transitions, 17 units", walks(&rig, 17, false));
	snprintf(name, sizeof(name), "random walk, seed %u", seed);
	result(&rig, name, random_walk(&rig, &seed, 20000));
	result(&rig, "mappings taken by the kernel", reclaimed(&rig));
	if (huge) {
		result(&rig, "frames made huge", collapsed(&rig, &seed));
		result(&rig, "all transitions, frames huge", walks(&rig, 17, false));
	} else {
		times(&rig);
	}
	rig_close(&rig);
}

/* mprotect must end the job with advice when the kernel is out of mappings. */
static void run_limit(const struct tw_fault_ops *ops)
{
	struct rig rig = {.fault.ops = ops, .unit = HW_PAGE};
	char text[1024] = "";
	int pipes[2], status = 0;
	long limit = 0;
	FILE *f = fopen("/proc/sys/vm/max_map_count", "r");

	if (!f || fscanf(f, "%ld", &limit) != 1 || limit > 200000 || pipe(pipes)) {
		printf("skip %s: no low limit of mappings here\n", ops->name);
		return;
	}
	fclose(f);
	pid_t child = fork();
	if (child == 0) {
		dup2(pipes[1], STDERR_FILENO);
		rig_open(&rig, ops, HW_PAGE, 2 * (size_t)limit, false);
		for (size_t i = 0; i < rig.units; i += 2)
			rig_set(&rig, i, 1, TW_READ);
		_exit(0);
	}
	close(pipes[1]);
	waitpid(child, &status, 0);
	ssize_t n = read(pipes[0], text, sizeof(text) - 1);
	close(pipes[0]);
	result(&rig, "out of kernel mappings",
	       n > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 1 && strstr(text, "use TWEED_FAULT=uffd") ? NULL
	                                                                                                      : text);
}

static void run_backend(const struct tw_fault_ops *ops, unsigned seed)
{
	for (size_t unit = HW_PAGE; unit <= 64u << 10; unit *= 2)
		for (int huge = 0; huge < 2; huge++)
			run_unit(ops, unit, huge, seed++);
	if (strcmp(ops->name, "mprotect") == 0)
		run_limit(ops);
	signals_run(ops);
	downgrade_run(ops);
	syscalls_run(ops);
}

int main(int argc, char **argv)
{
	unsigned seed = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 0) : 1;
	bool any = false;

	for (const struct tw_fault_ops *const *ops = tw_fault_list(); *ops; ops++) {
		char why[256] = "";
		if (argc > 1 && strcmp(argv[1], (*ops)->name) != 0)
			continue;
		if ((*ops)->probe(why, sizeof(why)) == 0) {
			run_backend(*ops, seed);
			any = true;
		} else {
			printf("skip %s: %s\n", (*ops)->name, why);
		}
	}
	if (!any) {
		printf("no such backend, or none usable\n");
		failed++;
	}
	printf("%u passed, %u failed\n", passed, failed);
	return failed ? 1 : 0;
}
