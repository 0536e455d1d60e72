/* SPDX-License-Identifier: BSD-3-Clause */
/* c11_thread.c - the threads of C11's <threads.h>. */
#include <errno.h>
#include <stdlib.h>
#include <threads.h>

#include "runtime/pthreads/posix.h"
#include "runtime/pthreads/pthreads.h"

struct c11_start {
	thrd_start_t function;
	void *arg;
};

static void *c11_run(void *arg)
{
	struct c11_start start = *(struct c11_start *)arg;

	tw_free(arg);
	return (void *)(intptr_t)(int)th_call(TH_CALLED(start.function), start.arg, NULL, NULL);
}

PT_OWN int tw_thrd_create(thrd_t *thread, thrd_start_t function, void *arg)
{
	struct c11_start *start = tw_malloc(sizeof(*start));

	if (!start)
		return thrd_nomem;
	*start = (struct c11_start){function, arg};
	return tw_pthread_create(thread, NULL, c11_run, start) ? thrd_error : thrd_success;
}

PT_OWN int tw_thrd_join(thrd_t thread, int *result)
{
	void *value;
	int error = tw_pthread_join(thread, &value);

	if (!error && result)
		*result = (int)(intptr_t)value;
	return error ? thrd_error : thrd_success;
}

PT_OWN int tw_thrd_detach(thrd_t thread)
{
	return tw_pthread_detach(thread) ? thrd_error : thrd_success;
}

PT_OWN void tw_thrd_exit(int result)
{
	tw_pthread_exit((void *)(intptr_t)result);
}
