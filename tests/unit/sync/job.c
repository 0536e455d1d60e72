/* SPDX-License-Identifier: BSD-3-Clause */
#include "job.h"

#include "core/coherence/lazy.h"

#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#define JOB_SECONDS 90

struct job_shared *job_shared;
uint64_t job_remote_ops;
unsigned job_releases, job_acquires, job_arrivals, job_jitter, job_objects = JOB_OBJECTS, job_release_us;
void (*job_after_fadd)(void);
const char *job_transport = "shm";
struct tw_proc *tw_me;

/* ---- what the core does in a real job --------------------------------------------------------------------------- */

struct tw_proc *tw_me_checked(const char *function)
{
	if (!tw_me)
		tw_fatal("%s was called before tw_init", function);
	return tw_me;
}

void tw_release(struct tw_proc *me, enum tw_sync_kind kind, uint64_t object)
{
	(void)me, (void)kind, (void)object;
	job_releases++;
	for (unsigned i = 0; i < job_release_us; i++)
		tw_delay(1000);
}

void tw_acquire(struct tw_proc *me, enum tw_sync_kind kind, uint64_t object)
{
	(void)me, (void)kind, (void)object;
	job_acquires++;
}

bool tw_release_to(struct tw_proc *me, struct tw_record r, enum tw_sync_kind kind, uint64_t object, bool wanted)
{
	(void)r, (void)wanted;
	tw_release(me, kind, object);
	return true;
}

void tw_acquire_from(struct tw_proc *me, struct tw_record r, enum tw_sync_kind kind, uint64_t object)
{
	(void)r;
	tw_acquire(me, kind, object);
}

bool tw_acquire_own(struct tw_proc *me)
{
	(void)me;
	return false;
}

bool tw_lazy_locks(void)
{
	return false;
}

bool tw_release_trails(void)
{
	return true;
}

bool tw_lock_released(struct tw_proc *me, bool now, uint64_t *number)
{
	(void)me, (void)now, (void)number;
	return true;
}

void tw_lock_demand(struct tw_proc *me, unsigned node, uint64_t number)
{
	(void)me, (void)node, (void)number;
}

bool tw_lock_demanded(struct tw_proc *me)
{
	(void)me;
	return true;
}

void tw_lock_acquired(struct tw_proc *me, unsigned node, uint64_t number)
{
	(void)me, (void)node, (void)number;
}

const struct tw_laziness *tw_laziness;

void tw_protocol_enter(struct tw_proc *me)
{
	(void)me;
}

void tw_protocol_leave(struct tw_proc *me)
{
	(void)me;
}

bool tw_protocol_inside(const struct tw_proc *me)
{
	(void)me;
	return false;
}

bool tw_protocol_aside(void)
{
	return false;
}

void tw_arrive(struct tw_proc *me, uint64_t object)
{
	(void)me, (void)object;
	job_arrivals++;
}

/* ---- a transport that counts and delays  ------------------------------------------------------------------------ */

static const struct tw_transport *job_real;

static void job_count(struct tw_net *net, unsigned node)
{
	static uint64_t random;

	job_remote_ops += node != net->config.node;
	if (job_jitter == 0)
		return;
	if (random == 0)
		random = tw_me->id * 77777u + 12345u;
	random = random * 6364136223846793005ull + 1442695040888963407ull;
	if ((random >> 33) % job_jitter == 0)
		sched_yield();
}

static void job_write(struct tw_net *net, unsigned node, size_t offset, const void *src, size_t len)
{
	job_count(net, node);
	job_real->write(net, node, offset, src, len);
}

static void job_read(struct tw_net *net, unsigned node, size_t offset, void *dst, size_t len)
{
	job_count(net, node);
	job_real->read(net, node, offset, dst, len);
}

static uint64_t job_cas(struct tw_net *net, unsigned node, size_t offset, uint64_t expect, uint64_t value)
{
	job_count(net, node);
	return job_real->cas(net, node, offset, expect, value);
}

static uint64_t job_fadd(struct tw_net *net, unsigned node, size_t offset, uint64_t value)
{
	job_count(net, node);
	uint64_t old = job_real->fadd(net, node, offset, value);
	if (job_after_fadd)
		job_after_fadd();
	return old;
}

static uint64_t job_swap(struct tw_net *net, unsigned node, size_t offset, uint64_t value)
{
	job_count(net, node);
	return job_real->swap(net, node, offset, value);
}

static void job_notify(struct tw_net *net, unsigned node, unsigned port)
{
	job_count(net, node);
	job_real->notify(net, node, port);
}

/* ---- processes -------------------------------------------------------------------------------------------------- */

static int job_file(size_t bytes)
{
	int fd = memfd_create("sync_test", 0);

	if (fd < 0 || ftruncate(fd, (off_t)bytes)) {
		perror("memory file");
		exit(1);
	}
	return fd;
}

static void job_layout(const struct job_shape *shape, struct tw_proc *me)
{
	struct tw_config *c = &me->config;
	struct tw_layout *l = &me->layout;

	c->nodes = me->nodes = l->nodes = shape->nodes;
	c->processors = me->locals = l->processors = shape->locals;
	c->sync_objects = job_objects;
	strcpy(c->lock, shape->lock);
	l->ports = l->processors + 1;
	l->control = 0;
	size_t sync = TW_ALIGN_UP(job_real->control_bytes(l->ports), 4096);
	l->reserved[TW_RESERVED_SYNC] = sync;
	l->exported_bytes = TW_ALIGN_UP(sync + tw_sync_exported_bytes(c), TW_HUGE_BYTES);
	l->node = 0;
	l->stats = TW_ALIGN_UP(sizeof(struct tw_node), 4096);
	size_t local = l->stats + TW_ALIGN_UP(l->ports * sizeof(struct tw_stats), 4096);
	l->reserved_private[TW_RESERVED_SYNC] = local;
	l->private_bytes = TW_ALIGN_UP(local + tw_sync_private_bytes(c), 4096);
}

static void job_open(struct tw_proc *me, unsigned id, const int *exported, const int *private_fd)
{
	static struct tw_transport counting;

	me->id = id;
	me->node = id / me->locals;
	me->local = id % me->locals;
	struct tw_net_config config = {.node = me->node,
	                               .nodes = me->nodes,
	                               .port = me->local,
	                               .ports = me->layout.ports,
	                               .bytes = me->layout.exported_bytes,
	                               .fd = exported,
	                               .spin_ns = me->nodes * me->locals <= 2 ? 100000 : 1000};
	tw_mutex_spin = 20;
	me->private_mem =
	    mmap(NULL, me->layout.private_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, private_fd[me->node], 0);
	if (me->private_mem == MAP_FAILED || tw_net_open(job_real, &config, &me->net))
		_exit(4);
	counting = *job_real;
	counting.write = job_write;
	counting.read = job_read;
	counting.cas = job_cas;
	counting.fadd = job_fadd;
	counting.swap = job_swap;
	counting.notify = job_notify;
	me->net->ops = &counting;
	me->n = (void *)(me->private_mem + me->layout.node);
	me->stats = (struct tw_stats *)(void *)(me->private_mem + me->layout.stats) + me->local;
	tw_me = me;
}

/* Wait for all; kill those that are left when the time is over. */
static int job_reap(const pid_t *pid, unsigned count)
{
	uint64_t until = tw_time_ns() + JOB_SECONDS * 1000000000ull;
	unsigned left = count;
	int failed = 0;
	bool over[JOB_PROCESSORS] = {false};

	while (left) {
		for (unsigned i = 0; i < count; i++) {
			int status;

			if (over[i] || waitpid(pid[i], &status, WNOHANG) == 0)
				continue;
			over[i] = true;
			left--;
			failed += status != 0;
			if (status != 0)
				until = TW_MIN(until, tw_time_ns() + 500000000u);
		}
		for (unsigned i = 0; left && i < count && tw_time_ns() > until; i++) {
			if (!over[i])
				kill(pid[i], SIGKILL);
		}
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	return failed;
}

int job_run(const struct job_shape *shape, void (*body)(struct tw_proc *me))
{
	static struct tw_proc me;
	int exported[TW_MAX_NODES], private_fd[TW_MAX_NODES];
	pid_t pid[JOB_PROCESSORS];
	unsigned count = shape->nodes * shape->locals;

	memset(&me, 0, sizeof(me));
	job_real = tw_transport_find(job_transport);
	if (!job_real || count > JOB_PROCESSORS)
		exit(1);
	job_layout(shape, &me);
	if (!job_shared)
		job_shared = mmap(NULL, sizeof(*job_shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	memset(job_shared, 0, sizeof(*job_shared));
	for (unsigned node = 0; node < shape->nodes; node++) {
		exported[node] = job_file(me.layout.exported_bytes);
		private_fd[node] = job_file(me.layout.private_bytes);
	}
	fflush(NULL);
	for (unsigned id = 0; id < count; id++) {
		pid[id] = fork();
		if (pid[id] < 0)
			exit(1);
		if (pid[id] == 0) {
			job_open(&me, id, exported, private_fd);
			body(&me);
			tw_sync_barrier_job(&me, TW_WAIT_BARRIER_ALL);
			_exit(0);
		}
	}
	for (unsigned node = 0; node < shape->nodes; node++) {
		close(exported[node]);
		close(private_fd[node]);
	}
	return job_reap(pid, count);
}

bool job_dies(void (*body)(struct tw_proc *me), const char *sentence)
{
	char text[4096];
	int ends[2];

	if (pipe(ends))
		return false;
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0) {
		dup2(ends[1], STDERR_FILENO);
		_exit(job_run(&(struct job_shape){1, 1, "queue"}, body) == 1 ? 0 : 1);
	}
	close(ends[1]);
	size_t have = 0;
	ssize_t n;
	while (have + 1 < sizeof(text) && (n = read(ends[0], text + have, sizeof(text) - 1 - have)) > 0)
		have += (size_t)n;
	text[have] = '\0';
	close(ends[0]);
	int status = 1;
	waitpid(pid, &status, 0);
	if (status != 0 || !strstr(text, sentence)) {
		fprintf(stderr, "wanted the end with \"%s\", got status %d and: %s\n", sentence, status, text);
		return false;
	}
	return true;
}
