/* SPDX-License-Identifier: BSD-3-Clause */
/* refused.c - what ends a job with a sentence: the argument says which. */
#include <omp.h>
#include <stdint.h>
#include <string.h>

extern void GOMP_task_reduction_remap(size_t n, size_t wanted, void **address);

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (strcmp(what, "twice") == 0) {
		omp_event_handle_t event;
#pragma omp parallel
#pragma omp single
		{
#pragma omp task detach(event)
			omp_fulfill_event(event);
#pragma omp taskwait
			omp_fulfill_event(event);
		}
	} else if (strcmp(what, "away") == 0) {
		omp_event_handle_t shared = 0;
#pragma omp parallel num_threads(2)
		{
			omp_event_handle_t event = 0;
			if (omp_get_thread_num() == 0) {
#pragma omp task detach(event) shared(argc)
				argc = 1;
#pragma omp atomic write
				shared = event;
			}
			while (!event) {
#pragma omp atomic read
				event = shared;
			}
			if (omp_get_thread_num() == 1)
				omp_fulfill_event(event);
		}
	} else if (strcmp(what, "reduction") == 0) {
		void *address[2] = {&argc, NULL};
		GOMP_task_reduction_remap(1, 0, address);
	} else if (strcmp(what, "lock") == 0) {
		omp_lock_t lock;
		memset(&lock, 0, sizeof(lock));
		omp_set_lock(&lock);
	}
	return 0;
}
