/* SPDX-License-Identifier: BSD-3-Clause */
/* nested.c - threads that run a nested function of GNU C, whose code lies on main()'s stack. */
#include <pthread.h>
#include <stdio.h>

#define THREADS 3

int main(void)
{
	pthread_t thread[THREADS];
	int sum = 0;
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	void *add(void *number)
	{
		pthread_mutex_lock(&lock);
		sum += *(int *)number;
		pthread_mutex_unlock(&lock);
		return NULL;
	}

	int numbers[THREADS] = {1, 20, 300};
	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, add, &numbers[i]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	printf("%d\n", sum);
	return 0;
}
