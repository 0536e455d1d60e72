/* SPDX-License-Identifier: BSD-3-Clause */
/* events.c - tasks with the clause detach, whose events are fulfilled by themselves, by later tasks, and more than a
 * queue holds; they are waited for by taskwait, task groups, dependences, barriers, and where they are created. */
#include <omp.h>
#include <stdio.h>
#include <string.h>

#define MANY 100

static long sum, ended[MANY], seen;
static omp_event_handle_t many[MANY];

static void by_itself(void)
{
	omp_event_handle_t event;

#pragma omp task detach(event)
	{
		sum += 1;
		omp_fulfill_event(event);
	}
#pragma omp taskwait
	printf("by itself %ld\n", sum);
}

static void by_another(void)
{
	omp_event_handle_t event;
	long value = 0;

#pragma omp task detach(event) shared(value)
	value += 1;
#pragma omp task
	{
#pragma omp atomic
		sum += 10;
		omp_fulfill_event(event);
	}
#pragma omp taskwait
	printf("by another %ld %ld\n", value, sum);
}

static void in_order(void)
{
	omp_event_handle_t event;
	long value = 0;

#pragma omp task detach(event) depend(out : value)
	value = 3;
#pragma omp task firstprivate(event)
	{
		ended[0] = 5;
		omp_fulfill_event(event);
	}
#pragma omp task depend(in : value)
	seen = value + ended[0];
#pragma omp taskwait
	printf("in order %ld\n", seen);
}

static void in_groups(void)
{
	omp_event_handle_t event;

#pragma omp taskgroup
	{
#pragma omp task detach(event)
		ended[1] = 7;
#pragma omp task firstprivate(event)
		{
#pragma omp taskgroup
			{
#pragma omp task
				ended[2] = 8;
			}
			omp_fulfill_event(event);
		}
	}
	printf("in groups %ld %ld\n", ended[1], ended[2]);
}

static void at_once(void)
{
	omp_event_handle_t event;
	long value = 0;

#pragma omp task detach(event) if (0) shared(value)
	{
		value = 4;
		omp_fulfill_event(event);
	}
	printf("at once %ld\n", value);
}

static void of_many(void)
{
	memset(ended, 0, sizeof(ended));
	for (int i = 0; i < MANY; i++) {
		omp_event_handle_t event;
#pragma omp task detach(event) firstprivate(i)
		ended[i] = i;
		many[i] = event;
	}
	for (int i = 0; i < MANY; i++) {
#pragma omp task firstprivate(i)
		omp_fulfill_event(many[i]);
	}
}

int main(void)
{
	long all = 0;

#pragma omp parallel
	{
#pragma omp single
		{
			by_itself();
			by_another();
			in_order();
			in_groups();
			at_once();
			of_many();
		}
#pragma omp for reduction(+ : all)
		for (int i = 0; i < MANY; i++)
			all += ended[i];
#pragma omp masked
		of_many();
	}
	for (int i = 0; i < MANY; i++)
		all += ended[i];
	printf("of many %ld\n", all);
	return 0;
}
