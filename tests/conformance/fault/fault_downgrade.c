/* SPDX-License-Identifier: BSD-3-Clause */
/* Rights taken from a view by somebody else than its own handler: in the process, and from another one while stores
 * and lost
 * mappings go on. */
#include "rig.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define UNIT  ((size_t)8192)
#define UNITS ((size_t)32)
#define RACED ((size_t)2)
#define SHOTS 12000u
#define TRAPS 100u

/* Shared with the process that shoots. */
struct race {
	_Atomic unsigned lock, stop;
	_Atomic unsigned shots, wrong, faults;
	_Atomic enum tw_rights rights[UNITS];
};

static struct tw_fault fault;
static struct race *race;

static void race_lock(void)
{
	while (atomic_exchange(&race->lock, 1))
		sched_yield();
}

static void race_handler(void *ctx, size_t offset, bool write)
{
	size_t unit = offset / UNIT;
	(void)ctx;
	race_lock();
	race->faults++;
	enum tw_rights from = race->rights[unit], to = write ? TW_WRITE : TW_READ;
	if (from < to) {
		fault.ops->set(&fault, unit * UNIT, UNIT, from, to);
		race->rights[unit] = to;
	}
	race->lock = 0;
}

/* Shoots at random units; what the view's process wrote must then be at rest until the lock is free. */
static void race_shooter(struct tw_fault_view view)
{
	uint64_t random = 88172645463325252u;
	/* On a busy machine the victim may be late to come to its turn. */
	for (unsigned i = 0; (i < SHOTS || (race->faults < TRAPS && i < 10 * SHOTS)) && !race->wrong; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		size_t unit = (random >> 40) % RACED;
		volatile uint64_t *w = (volatile uint64_t *)(void *)(fault.view + unit * UNIT);
		race_lock();
		fault.ops->downgrade(&view, unit * UNIT, UNIT);
		uint64_t seen = *w;
		for (unsigned k = 0; k < 20000; k++)
			race->wrong += *w != seen;
		race->rights[unit] = TW_MIN(race->rights[unit], TW_READ);
		race->lock = 0;
		race->shots++;
		if (i % 64 == 0)
			usleep(50);
	}
	race->stop = 1;
	_exit(0);
}

/* Stores to all units in turn, and loses mappings now and then, as the kernel takes them. */
static const char *race_victim(void)
{
	uint64_t wrote[UNITS] = {0};
	for (unsigned i = 0; !race->stop; i++) {
		size_t unit = i % RACED;
		volatile uint64_t *w = (volatile uint64_t *)(void *)(fault.app + unit * UNIT);
		if (*w != wrote[unit])
			return "a store is lost";
		*w = ++wrote[unit];
		if (i % 8 != 0 && strcmp(fault.ops->name, "mprotect") != 0)
			madvise(fault.app + unit * UNIT, UNIT, MADV_DONTNEED);
	}
	return race->wrong            ? "a store succeeded after a downgrade"
	       : race->shots < SHOTS  ? "the shooter failed"
	       : race->faults < TRAPS ? "nothing trapped"
	                              : NULL;
}

static const char *remote(struct rig *rig)
{
	race = mmap(NULL, sizeof(*race), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	fault = rig->fault;
	rig->fault.handler = race_handler;
	for (size_t i = 0; i < UNITS; i++)
		race->rights[i] = rig->rights[i];
	pid_t child = fork();
	if (child == 0)
		race_shooter((struct tw_fault_view){rig->fault.app, rig->fault.shadow, rig->fault.handle});
	const char *why = race_victim();
	race->stop = 1;
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	munmap(race, sizeof(*race));
	return why;
}

/* Pages of every right, some with lost mappings, in one call. */
static const char *mixed(struct rig *rig)
{
	struct tw_fault_view view = {rig->fault.app, rig->fault.shadow, rig->fault.handle};
	const char *why = NULL;

	for (size_t i = 0; i < UNITS; i++)
		rig_set(rig, i, 1, i % 3);
	if (strcmp(rig->fault.ops->name, "mprotect") != 0)
		madvise(rig->fault.app + 8 * UNIT, 8 * UNIT, MADV_DONTNEED);
	rig->fault.ops->downgrade(&view, 0, UNITS * UNIT);
	for (size_t i = 0; i < UNITS; i++)
		rig->rights[i] = TW_MIN(rig->rights[i], TW_READ);
	for (size_t i = 0; i < UNITS && !why; i++)
		why = rig_load(rig, i * UNIT + 5, 0);
	for (size_t i = 0; i < UNITS && !why; i++)
		why = rig_store(rig, i * UNIT + 9, 3);
	return why;
}

void downgrade_run(const struct tw_fault_ops *ops)
{
	static struct rig rig;
	size_t bytes = UNIT * UNITS >> 12;

	rig_shadow = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	rig_open(&rig, ops, UNIT, UNITS, false);
	result(&rig, "write rights taken from a mixed range", mixed(&rig));
	rig_close(&rig);
	memset(rig_shadow, 0, bytes);
	if (ops->caps & TW_FAULT_REMOTE) {
		rig_open(&rig, ops, UNIT, UNITS, false);
		result(&rig, "write rights taken by another process", remote(&rig));
		rig_close(&rig);
	}
	munmap(rig_shadow, bytes);
	rig_shadow = NULL;
}
