/* SPDX-License-Identifier: BSD-3-Clause */
/* fake.h - an RDMA device for unit tests: all that the transport verbs calls of libibverbs and librdmacm, within one process.
 *
 * Every request is executed when it is posted, in order, on this process's memory; the other side's receives complete at
 * once.  What the device can, and what goes wrong, is what the test says in `fake`. */
#ifndef TW_TESTS_VERBS_FAKE_H
#define TW_TESTS_VERBS_FAKE_H

#include "net/verbs/verbs.h"

struct fake {
	/* by the test, before the device is used */
	enum ibv_atomic_cap atomics;
	unsigned on_demand;    /* what it can on demand: IBV_ODP_SUPPORT_* of reliable connections */
	bool old;              /* a library without extended queries: it says nothing of that */
	unsigned inline_bytes; /* more, and there is no queue pair */
	int requests;          /* in a send queue, at most */
	size_t register_bytes; /* longer registrations fail */
	bool refuse_on_demand; /* registrations on demand fail */
	/* by the test, at any time */
	_Atomic bool cut; /* every request fails */
	/* by the device */
	_Atomic unsigned atomics_done, doorbells, requests_done;
	int access;             /* of the longest registration */
	size_t registered;      /* its bytes */
	_Atomic unsigned alive; /* objects that are not destroyed */
};

extern struct fake fake;

/* fake_reset - a device that can all there is, pinning memory. */
void fake_reset(void);

#endif
