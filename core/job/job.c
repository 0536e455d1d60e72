/* SPDX-License-Identifier: BSD-3-Clause */
/* job.c - opens the process's part of the job: memories, endpoint, views, protocol. */
#include "core/job/job.h"

#include "core/base/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/job/deaths.h"
#include "core/memory/globals.h"
#include "core/coherence/lazy.h"
#include "core/coherence/notice.h"
#include "core/coherence/polled.h"
#include "core/observe/crash.h"
#include "core/observe/race.h"
#include "core/coherence/shootdown.h"
#include "core/observe/recorder.h"

/* Spin for about as long as waking a sleeper costs, but only where every process has a core to itself. */
static unsigned job_spin_ns(const struct tw_boot *boot)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	if (boot->config.spin_us != UINT64_MAX)
		return (unsigned)boot->config.spin_us * 1000u;
	/* A node's server serves all of its processors. */
	const struct tw_transport *transport = tw_transport_find(boot->config.transport);
	unsigned long servers = transport && transport->serve ? boot->host_processes / boot->config.processors : 0;
	return boot->host_processes + servers <= (unsigned long)cores ? 100000u : 1000u;
}

void tw_job_net_config(const struct tw_boot *boot, const struct tw_layout *layout, struct tw_net_config *config)
{
	const struct tw_config *c = &boot->config;

	*config = (struct tw_net_config){
	    .node = boot->node,
	    .nodes = layout->nodes,
	    .ports = layout->ports,
	    .bytes = layout->exported_bytes,
	    .control_offset = layout->control,
	    .fd = boot->exported_fd,
	    .address = boot->address[boot->node].len ? boot->address : NULL,
	    .interface = c->net_interface,
	    .device = c->net_device,
	    .provider = c->net_provider,
	    .host_nodes = (unsigned)c->host_nodes,
	    .spin_ns = job_spin_ns(boot),
	    .huge = strcmp(c->huge, "off") != 0,
	    .survive = c->survive,
	    .costs = c->virtual_time ? &c->costs : NULL,
	};
	memcpy(config->secret, boot->secret, sizeof(config->secret));
}

static int job_open_net(struct tw_proc *me, const struct tw_boot *boot)
{
	const struct tw_config *c = &me->config;
	const struct tw_transport *transport = tw_transport_find(c->transport);
	struct tw_net_config config;

	if (!transport) {
		tw_log("there is no transport %s", c->transport);
		return -EINVAL;
	}
	tw_job_net_config(boot, &me->layout, &config);
	config.port = me->local;
	if (c->survive) {
		const struct tw_deaths *deaths = (const void *)(me->private_mem + me->layout.deaths);

		config.lost = deaths->lost;
		config.dead = deaths->dead;
	}
	if (me->agent)
		config.spin_ns = 0;
	tw_mutex_spin = config.costs ? 0 : config.spin_ns > 10000 ? 500 : 20;
	int error = tw_net_open(transport, &config, &me->net);
	if (!error)
		me->net->traffic = &me->stats->traffic;
	return error;
}

static void *job_map(size_t bytes, int fd, void *at)
{
	void *p =
	    mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | (at ? MAP_FIXED_NOREPLACE : 0), fd, 0);
	if (p == MAP_FAILED)
		return NULL;
	madvise(p, bytes, MADV_DONTDUMP); /* a core dump would contain every node's memory, twice */
	madvise(p, bytes, MADV_DONTFORK); /* core/process/fork.h */
	return p;
}

/* The gate of virtual time, in the exported memory of node 0. */
static int job_open_gate(struct tw_proc *me, const struct tw_boot *boot)
{
	size_t bytes = tw_gate_bytes(me->nodes * (me->locals + 1));
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, boot->exported_fd[0], (off_t)me->layout.gate);

	if (at == MAP_FAILED) {
		tw_log("cannot map the clocks of %u processors: %s", me->nodes * me->locals, strerror(errno));
		return -errno;
	}
	tw_futex_name(me->private_mem, me->layout.private_bytes, TW_FUTEX_PRIVATE(me->node));
	tw_gate_open(at, &boot->config.costs);
	return 0;
}

static struct tw_pageset *job_private_set(struct tw_proc *me)
{
	void *p = mmap(NULL, me->layout.set_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
	               -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	tw_pageset_init(p, me->layout.pages);
	return p;
}

static int job_open_private(struct tw_proc *me, int fd)
{
	me->private_mem = job_map(me->layout.private_bytes, fd, NULL);
	if (!me->private_mem) {
		tw_log("cannot map %zu MiB of private memory: %s; lower TWEED_MEMORY", me->layout.private_bytes >> 20,
		       strerror(errno));
		return -ENOMEM;
	}
	const struct tw_layout *l = &me->layout;
	me->n = (void *)(me->private_mem + l->node);
	me->page = (void *)(me->private_mem + l->page_table);
	me->twin_mem = me->private_mem + l->twins;
	me->stats = (struct tw_stats *)(void *)(me->private_mem + l->stats) + me->local;
	if (strcmp(me->config.huge, "off") != 0)
		madvise(me->twin_mem, l->twin_slots << l->page_shift, MADV_HUGEPAGE);
	return 0;
}

static int job_open_sets(struct tw_proc *me)
{
	const struct tw_layout *l = &me->layout;

	if (me->agent)
		return 0;
	char *sets = me->private_mem + l->sets + TW_SETS * me->local * l->set_bytes;
	me->notices = (void *)sets;
	me->nle = (void *)(sets + l->set_bytes);
	me->shot = (void *)(sets + 2 * l->set_bytes);
	me->revoked = (void *)(sets + 3 * l->set_bytes);
	tw_pageset_init(me->notices, l->pages);
	tw_pageset_init(me->nle, l->pages);
	tw_pageset_init(me->shot, l->pages);
	tw_pageset_init(me->revoked, l->pages);
	me->dirty = job_private_set(me);
	me->noticing = job_private_set(me);
	return me->dirty && me->noticing ? 0 : -ENOMEM;
}

static void job_trace_fault(struct tw_proc *me, size_t offset, bool write)
{
	/* A thread that serves faults learns only the page. */
	uint64_t byte = me->fault.ops->caps & TW_FAULT_THREAD ? TW_TRACE_UNKNOWN : offset % me->layout.page_bytes;

	tw_trace(me, write ? TW_TRACE_write_fault : TW_TRACE_read_fault, TW_TRACE_NONE,
	         (tw_page_t)(offset >> me->layout.page_shift), byte, 0);
}

static void job_serve(struct tw_proc *me, tw_page_t p, bool write, bool freshen)
{
	tw_shootdown_enter(me);
	tw_gate_enter();
	tw_protocol_enter(me);
	uint64_t t = tw_time_begin(me);

	tw_charge(TW_COST_trap, 1);
	if (write) {
		me->stats->now.write_faults++;
		me->last_stored = p;
		me->protocol->write_fault(me, p);
	} else {
		me->stats->now.read_faults++;
		if (freshen && me->protocol->freshen)
			me->protocol->freshen(me);
		me->protocol->read_fault(me, p);
	}
	tw_time_end(me, &me->stats->now.protocol_ns, t);
	tw_protocol_leave(me);
	tw_shootdown_leave(me);
}

static void job_note_fault(struct tw_proc *me, size_t offset)
{
	struct tw_stats *s = me->stats;
	uint64_t k = atomic_load_explicit(&s->faults, memory_order_relaxed);

	atomic_store_explicit(&s->faulted[k % TW_FAULTED], (uintptr_t)me->app + offset, memory_order_relaxed);
	atomic_store_explicit(&s->faults, k + 1, memory_order_relaxed);
}

static void job_fault(void *ctx, size_t offset, bool write)
{
	struct tw_proc *me = ctx;
	tw_page_t p = (tw_page_t)(offset >> me->layout.page_shift);
	uint64_t bit = (uint64_t)1 << me->local;

	job_note_fault(me, offset);
	/* Where the hardware does not report stores, a fault on a readable page is a store. */
	if (!write && (me->page[p].mapped & bit) && !(me->page[p].writers & bit))
		write = true;
	if (!write)
		me->fault.ip = 0;
	if (me->trace)
		job_trace_fault(me, offset, write);
	if (me->fences)
		me->fences->fault(me, p, write, job_serve);
	else
		job_serve(me, p, write, false);
	me->fault.ip = 0;
}

/* Has the linker take the function along. */
static __attribute__((used)) const char *(*const job_describe)(const void *) = tw_page_describe;

static int job_open_views(struct tw_proc *me, const struct tw_boot *boot)
{
	int error = tw_globals_leave(me);
	if (error)
		return error;
	me->app = job_map(me->config.memory, boot->exported_fd[me->node], (void *)tw_space_base());
	if (!me->app) {
		tw_log("cannot map the shared space of %zu MiB at %p: %s; lower TWEED_MEMORY",
		       (size_t)me->config.memory >> 20, (void *)tw_space_base(), strerror(errno));
		return -ENOMEM;
	}
	if (me->config.core_shared)
		tw_crash_keep(me->app, me->config.memory, boot->exported_fd[me->node]);
	if (me->protocol->flags & TW_PROTOCOL_NO_FAULTS)
		return 0;
	me->fault = (struct tw_fault){
	    .ops = tw_fault_find(me->config.fault),
	    .app = me->app,
	    .view = me->view,
	    .bytes = me->config.memory,
	    .handler = job_fault,
	    .ctx = me,
	    .shadow = tw_shootdown_shadow(me, me->local),
	};
	if (!me->fault.ops) {
		tw_log("no fault backend %s is usable here", me->config.fault);
		return -ENOTSUP;
	}
	return me->fault.ops->open(&me->fault);
}

static char job_host[TW_MAX_NODES][TW_HOST_BYTES]; /* used in messages until the process exits */

/* The cause of this process's end has been printed, so the launcher prints none. */
static struct tw_proc *job_proc;
static void job_fatal(void)
{
	job_proc->stats->refused = 1;
	if (job_proc->trace)
		tw_trace_say(job_proc);
}

int tw_proc_join(struct tw_proc *me, const struct tw_boot *boot, unsigned local, bool agent)
{
	int err;

	memset(me, 0, sizeof(*me));
	me->config = boot->config;
	me->node = boot->node;
	me->nodes = (unsigned)boot->config.nodes;
	me->locals = (unsigned)boot->config.processors;
	me->local = local;
	me->id = me->node * me->locals + local;
	me->agent = agent;
	me->timing = me->config.stats[0] || me->config.trace[0];
	tw_diff_set_unit((unsigned)me->config.diff_unit);
	memcpy(job_host, boot->host, sizeof(job_host));
	tw_log_hosts((const char(*)[TW_HOST_BYTES])job_host, me->nodes);
	tw_layout_compute(&me->layout, &me->config);
	me->protocol = tw_protocol_find(me->config.protocol);
	if (!me->protocol) {
		tw_log("there is no protocol %s", me->config.protocol);
		return -EINVAL;
	}
	if ((err = job_open_private(me, boot->private_fd)))
		return err;
	job_proc = me;
	tw_fatal_hook = job_fatal;
	if (me->config.virtual_time && (err = job_open_gate(me, boot)))
		return err;
	return job_open_net(me, boot);
}

void tw_proc_clock(struct tw_proc *me)
{
	unsigned members = me->nodes * (me->locals + 1);

	if (me->config.virtual_time)
		tw_gate_join(me->agent ? me->nodes * me->locals + me->node : me->id, members);
}

int tw_proc_enter(struct tw_proc *me, const struct tw_boot *boot)
{
	bool agent = me->agent;
	int err;

	if ((err = job_open_sets(me)))
		return err;
	me->view = me->net->base + me->layout.frames;
	if ((err = tw_notice_open(me)))
		return err;
	if (me->protocol->init && (err = me->protocol->init(me)))
		return err;
	if (me->config.race)
		tw_race_open(me);
	if (!agent && (err = job_open_views(me, boot)))
		return err;
	tw_trace_open(me);
	if ((err = tw_shootdown_open(me, boot)))
		return err;
	return agent ? 0 : tw_lazy_open(me);
}

int tw_proc_open(struct tw_proc *me, const struct tw_boot *boot, unsigned local, bool agent)
{
	int err = tw_proc_join(me, boot, local, agent);

	return err ? err : tw_proc_enter(me, boot);
}

void tw_proc_exit(struct tw_proc *me)
{
	tw_lazy_close(me);
	tw_shootdown_close(me);
	if (me->fault.ops)
		me->fault.ops->close(&me->fault);
	if (me->protocol->fini)
		me->protocol->fini(me);
	tw_notice_close(me);
	if (me->app)
		munmap(me->app, me->config.memory);
	if (me->dirty)
		munmap(me->dirty, me->layout.set_bytes);
	if (me->noticing)
		munmap(me->noticing, me->layout.set_bytes);
}

void tw_proc_leave(struct tw_proc *me)
{
	tw_gate_leave();
	tw_fatal_hook = NULL;
	if (me->net)
		tw_net_close(me->net);
	munmap(me->private_mem, me->layout.private_bytes);
}

void tw_proc_close(struct tw_proc *me)
{
	tw_proc_exit(me);
	tw_proc_leave(me);
}
