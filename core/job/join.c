/* SPDX-License-Identifier: BSD-3-Clause */
/* join.c - the program's process joins its job, found through the environment that its agent has set. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/fd.h"
#include "core/process/descriptors.h"
#include "core/observe/crash.h"
#include "core/process/fork.h"
#include "core/job/job.h"
#include "core/observe/race.h"
#include "core/process/syscalls.h"

static struct tw_boot join_boot;
static struct tw_proc join_proc;
static unsigned join_users;

static void join_refuse(const char *sentence)
{
	fprintf(stderr, "tweed: %s\n", sentence);
	exit(2);
}

static long join_number(const char *name, long max)
{
	const char *text = getenv(name);
	char *end;
	if (!text)
		join_refuse("this program must be started by: tweed run -n NODES -p PROCESSORS PROGRAM ARGUMENTS...");
	errno = 0;
	long v = strtol(text, &end, 10);
	if (errno || end == text || *end || v < 0 || v > max)
		join_refuse("TWEED_BOOT and TWEED_PROCESSOR are set by tweed run, and are damaged: unset them and use "
		            "tweed run");
	return v;
}

bool tw_boot_same(const struct tw_boot *boot, long bytes)
{
	return bytes == (long)sizeof(*boot) && boot->magic == TW_BOOT_MAGIC && boot->bytes == sizeof(*boot) &&
	       boot->interface == tw_boot_interface;
}

static unsigned join_read(struct tw_boot *boot)
{
	int fd = (int)join_number("TWEED_BOOT", 1 << 20);
	unsigned local = (unsigned)join_number("TWEED_PROCESSOR", TW_MAX_PROCESSORS - 1);

	bool same = tw_boot_same(boot, pread(fd, boot, sizeof(*boot), 0));
	if (boot->magic == TW_BOOT_MAGIC && !same)
		join_refuse(
		    "this program was built with another version of Tweed than the one that starts it: build it "
		    "again, or start it by its own tweed run");
	if (!same || local >= boot->config.processors || boot->config.nodes > TW_MAX_NODES ||
	    boot->node >= boot->config.nodes)
		join_refuse("TWEED_BOOT does not name a job of Tweed: unset it and use tweed run");
	tw_descriptors_open(boot);
	tw_fd_close(fd);
	return local;
}

/* All files are mapped; the own node's exported memory is mapped again later. */
static void join_close_files(const struct tw_boot *boot)
{
	tw_fd_close(boot->private_fd);
	for (unsigned node = 0; node < boot->config.nodes; node++)
		if (node != boot->node && boot->exported_fd[node] >= 0)
			tw_fd_close(boot->exported_fd[node]);
}

bool tw_launched(void)
{
	return getenv("TWEED_BOOT") != NULL;
}

struct tw_proc *tw_join(const struct tw_boot **boot)
{
	char who[32];

	if (tw_forked())
		tw_fork_refuse();
	if (join_users == 0) {
		unsigned local = join_read(&join_boot);

		tw_format(who, sizeof(who), "%u.%u", join_boot.node, local);
		tw_log_who(who);
		if (tw_proc_join(&join_proc, &join_boot, local, false))
			exit(2);
		join_close_files(&join_boot);
		tw_fork_open();
		tw_signals_init();
		tw_crash_open(who, join_boot.agent);
		tw_exec_init();
		tw_fork_process(&join_proc);
		tw_proc_clock(&join_proc);
		join_proc.stats->started_ns = tw_time_ns();
		atomic_store(&join_proc.stats->waits.pid, getpid());
	}
	join_users++;
	*boot = &join_boot;
	return &join_proc;
}

/* Processor 0 prints the message; the others give it time to do so. */
static void join_end(struct tw_proc *me, const char *user, const char *why)
{
	me->stats->refused = 1;
	if (me->id == 0)
		fprintf(stderr, "tweed: %s %s\n", user, why);
	else
		sleep(1);
	exit(2);
}

void tw_join_whole(struct tw_proc *me, const char *user)
{
	if (me->config.survive)
		join_end(me, user, "cannot go on when a processor dies; run this program without --survive");
}

void tw_joined(struct tw_proc *me)
{
	me->stats->initialized = 1;
}

void tw_unjoin(struct tw_proc *me)
{
	if (--join_users)
		return;
	me->stats->finalized = 1;
	if (me->config.virtual_time && me->id == 0 && !tw_work)
		tw_log("the program does not count its work, so its computation took as long as here, and the times "
		       "are approximate: build it with --count, by tweed cc or tweed oshcc");
	if (me->config.race)
		tw_race_end(me);
	tw_fork_process(NULL);
	tw_proc_leave(me);
}
