/* SPDX-License-Identifier: BSD-3-Clause */
/* refused.c - what ends a job with a sentence: the argument says which. */
#include <omp.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int n = 0;

	if (strcmp(what, "cancel") == 0) {
#pragma omp parallel
		{
#pragma omp cancel parallel
			n++;
		}
	} else if (strcmp(what, "doacross") == 0) {
#pragma omp parallel for ordered(1)
		for (int i = 0; i < 10; i++) {
#pragma omp ordered depend(sink : i - 1)
			n++;
#pragma omp ordered depend(source)
		}
	} else if (strcmp(what, "reduction") == 0) {
#pragma omp parallel reduction(task, + : n)
		n++;
	} else if (strcmp(what, "lock") == 0) {
		omp_lock_t lock;
		memset(&lock, 0, sizeof(lock));
		omp_set_lock(&lock);
	}
	return n > 1000;
}
