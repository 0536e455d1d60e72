/* SPDX-License-Identifier: BSD-3-Clause */
/* fake.h - an RDMA device for unit tests: all functions of libibverbs and librdmacm that the transport verbs calls,
 * within one process.
 *
 * Every request is executed when it is posted, in order, on this process's memory; the other side's receives complete
 * at once. The test sets the device's abilities and faults in `fake`. */
#ifndef TW_TESTS_VERBS_FAKE_H
#define TW_TESTS_VERBS_FAKE_H

#include "net/verbs/verbs.h"

struct fake {
	/* set by the test, before the device is used */
	enum ibv_atomic_cap atomics;
	unsigned on_demand;    /* what it supports on demand: IBV_ODP_SUPPORT_* of reliable connections */
	bool old;              /* a library without extended queries, which reports none of this */
	unsigned inline_bytes; /* with more, creating a queue pair fails */
	int requests;          /* most requests in a send queue */
	size_t register_bytes; /* longer registrations fail */
	bool refuse_on_demand; /* registrations on demand fail */
	/* set by the test, at any time */
	_Atomic bool cut; /* every request fails */
	/* set by the device */
	_Atomic unsigned atomics_done, doorbells, requests_done;
	int access;             /* of the longest registration */
	size_t registered;      /* its bytes */
	_Atomic unsigned alive; /* objects not yet destroyed */
};

extern struct fake fake;

/* fake_reset - a device that supports everything, with pinned memory. */
void fake_reset(void);

#endif
