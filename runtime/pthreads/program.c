/* SPDX-License-Identifier: BSD-3-Clause */
/* program.c - programs of POSIX threads alone: processors other than main's run what threads are created there. */
#include "core/memory/globals.h"
#include "runtime/process/events/events.h"
#include "runtime/pthreads/thread.h"

size_t th_kind_open(void)
{
	if (!tw_globals_shared && tw_id() == 0)
		th_refuse("this program uses threads: link it with 'tweed cc --pthreads'");
	pt_objects_open();
	pt_threads_prepare();
	return 0;
}

void th_kind_work(void)
{
	th_signals_thread_end();
	th_signals_none();
	tw_barrier_all();
	pt_threads_serve();
}

bool th_kind_crowd(void)
{
	tw_barrier_all();
	return true;
}

void th_kind_thread(void) {}

void th_kind_exit(int status)
{
	th_stack_reserve();
	if (pt_threads_alive())
		th_end_job(status & 255);
	pt_threads_stop();
}
