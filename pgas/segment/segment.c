/* SPDX-License-Identifier: BSD-3-Clause */
/* segment.c - setup and end of symmetric segments. */
#include "pgas/segment/segment.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/fd.h"
#include "core/process/descriptors.h"
#include "core/job/job.h"
#include "net/map.h"
#include "pgas/segment/segment_impl.h"

#define SEGMENT_FILES      16u    /* in a process that runs alone */
#define SEGMENT_COPY       512u   /* bytes */
#define SEGMENT_CROWDED_NS 10000u /* a shorter spin time means that there is no core for each PE */

struct tw_segment tw_segment;

static unsigned segment_users;
static size_t segment_reserved;
static int segment_fd = -1;
static size_t segment_file_at; /* offset of this PE's segment in the file */
static struct tw_proc *segment_me;

/* Set up the only PE of a process that no launcher started. */
static void segment_alone(size_t bytes)
{
	struct tw_net_config config = {.bytes = bytes, .fd = &segment_fd};

	tw_descriptors_alone(SEGMENT_FILES);
	segment_fd = tw_fd_keep(memfd_create("tweed-segment", MFD_CLOEXEC));
	if (segment_fd < 0 || ftruncate(segment_fd, (off_t)bytes) < 0)
		tw_fatal("no memory file for a symmetric segment: %s", strerror(errno));
	if (tw_net_map(&config, 0, &tw_segment.base))
		tw_fatal("no address space for a symmetric segment of %zu MiB; lower SHMEM_SYMMETRIC_SIZE",
		         bytes >> 20);
	tw_segment.pes = tw_segment.locals = tw_segment.plain = 1;
	tw_segment.plain_base = tw_segment.base;
	tw_segment.bytes = bytes;
	tw_segment.node_base = tw_segment.base;
	tw_segment.cpu_atomics = true;
}

/* One poll takes about 100 ns.  With fewer cores than PEs, the awaited PE may need this core: after a few polls a wait
 * yields (wait.c), or, where sleeping costs more than a few more polls, polls a little longer. */
static unsigned segment_spins(unsigned spin_ns, bool yields)
{
	if (spin_ns > SEGMENT_CROWDED_NS)
		return spin_ns / 100;
	return yields ? TW_NAP_OFTEN : 3 * TW_NAP_OFTEN;
}

static void segment_join(void)
{
	const struct tw_boot *boot;
	struct tw_proc *me = tw_join(&boot);
	const struct tw_layout *l = &me->layout;
	bool timed = me->config.virtual_time; /* a wait sleeps at once */

	if (!l->segment_bytes)
		tw_fatal("this job has no symmetric segments; start it with 'tweed oshrun', or with --segment SIZE");
	tw_segment = (struct tw_segment){
	    .pes = me->nodes * me->locals,
	    .pe = me->id,
	    .first = me->node * me->locals,
	    .locals = me->locals,
	    .plain_first = timed ? me->id : me->node * me->locals,
	    .plain = timed ? 1 : me->locals,
	    .timed = timed,
	    .bytes = l->segment_bytes,
	    .at = l->segments,
	    .net = me->net,
	    .collectives = me->config.collectives,
	    .check = me->config.shmem_check,
	    .node_base = me->net->base + l->segments,
	    .base = me->net->base + l->segments + me->local * l->segment_bytes,
	    .plain_base = me->net->base + l->segments + (timed ? me->local * l->segment_bytes : 0),
	    .spins = timed ? 0 : segment_spins(me->net->config.spin_ns, me->nodes == 1),
	    .crowded = !timed && me->net->config.spin_ns <= SEGMENT_CROWDED_NS,
	    .cpu_atomics = me->net->ops->caps & TW_NET_COHERENT_ATOMICS,
	    .put_signal = me->net->ops->put_signal && me->nodes > 1 && !me->config.survive && !timed,
	};
	me->net->signal_at = l->segments + me->local * l->segment_bytes;
	me->net->signal_bytes = l->segment_bytes;
	if (me->config.survive)
		tw_segment.deaths = (const void *)(me->private_mem + l->deaths);
	if (me->nodes > 1 && tw_net_async(me->net))
		tw_fatal("puts would not travel while this PE computes");
	segment_me = me;
	segment_fd = boot->exported_fd[me->node];
	segment_file_at = l->segments + me->local * l->segment_bytes;
}

void tw_segment_open(size_t alone, const char *whole)
{
	unsigned users = segment_users++;

	if (!users && tw_launched())
		segment_join();
	else if (!users)
		segment_alone(TW_ALIGN_UP(alone, TW_HUGE_BYTES));
	if (whole && segment_me)
		tw_join_whole(segment_me, whole);
	if (users)
		return;
	tw_segment_remote_open();
	segment_reserved = SEGMENT_ARRIVALS;
	if (tw_segment.deaths)
		tw_segment_reserve(tw_segment.pes * sizeof(uint64_t));
	tw_segment_barrier();
	if (segment_me)
		tw_joined(segment_me);
}

char *tw_segment_timed(unsigned pe)
{
	unsigned local = pe - tw_segment.first;

	if (local >= tw_segment.locals)
		return NULL;
	if (pe != tw_segment.pe) {
		tw_charge(TW_COST_directory, 1);
		tw_gate_enter();
	}
	return tw_segment.node_base + local * tw_segment.bytes;
}

void tw_segment_copied(size_t len)
{
	if (len >= SEGMENT_COPY)
		tw_charge(TW_COST_copy, len);
}

void tw_segment_close(void)
{
	if (--segment_users)
		return;
	tw_segment_remote_close();
	if (segment_me)
		tw_unjoin(segment_me);
	else
		munmap(tw_segment.base, tw_segment.bytes);
	segment_me = NULL;
	tw_segment.net = NULL;
}

size_t tw_segment_reserve(size_t bytes)
{
	size_t at = segment_reserved;

	bytes = TW_ALIGN_UP(bytes, (size_t)4096);
	if (bytes > tw_segment.bytes - at)
		return SIZE_MAX;
	segment_reserved += bytes;
	return at;
}

int tw_segment_alias(size_t offset, size_t bytes, void *at)
{
	void *p = mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, segment_fd,
	               (off_t)(segment_file_at + offset));

	if (p == MAP_FAILED)
		return -errno;
	madvise(p, bytes, MADV_DONTDUMP);
	return 0;
}

void tw_segment_end_job(int status)
{
	if (segment_me)
		segment_me->stats->refused = TW_ENDED_JOB;
	_exit(status);
}
