/* SPDX-License-Identifier: BSD-3-Clause */
/* job.h - a job for tests of sync/: forked processors over memory files and a real transport, without agents, protocol
 * or application memory. The protocol's hooks count their calls. */
#ifndef TW_TESTS_SYNC_JOB_H
#define TW_TESTS_SYNC_JOB_H

#include "core/base/base.h"
#include "sync/sync.h"
#include "tweed/tweed.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define JOB_PROCESSORS 32
#define JOB_OBJECTS    256

/* Memory that all processors of a test share, besides what is tested. Zero at the start of each job. */
struct job_shared {
	_Atomic uint64_t gate[8];       /* for the tests' own use, one purpose each */
	_Alignas(64) uint64_t plain[8]; /* guarded by what is tested */
	_Alignas(64) _Atomic uint64_t round[JOB_PROCESSORS];
	uint64_t id[4096]; /* handles that are passed on */
};
extern struct job_shared *job_shared;

/* Of this processor. */
extern uint64_t job_remote_ops; /* operations on another node's memory, including notifications */
extern unsigned job_releases, job_acquires, job_arrivals;
extern unsigned job_release_us;      /* what each release takes */
extern void (*job_after_fadd)(void); /* run after each fetch-and-add on another node, or NULL */
extern unsigned job_jitter;          /* one in this many operations is delayed; 0: none */
extern const char *job_transport;
extern unsigned job_objects;

struct job_shape {
	unsigned nodes, locals;
	const char *lock;
};

/* job_run - run @body on every processor. Returns 0 when all returned, otherwise the number of those that failed or
 * hung. */
int job_run(const struct job_shape *shape, void (*body)(struct tw_proc *me));
/* job_dies - true when @body on a job of one processor ends with status 1 and a message that contains @sentence. */
bool job_dies(void (*body)(struct tw_proc *me), const char *sentence);

#define JOB_CHECK(c)                                                                                                   \
	do {                                                                                                           \
		if (!(c)) {                                                                                            \
			fprintf(stderr, "%s:%d: processor %u: %s\n", __FILE__, __LINE__, tw_me->id, #c);               \
			_exit(3);                                                                                      \
		}                                                                                                      \
	} while (0)

#endif
