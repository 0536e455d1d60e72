/* SPDX-License-Identifier: BSD-3-Clause */
/* fences.c - functions whose names end with the number of fences that they have. */
void other(void);
int v;

void first_1(void)
{
	__atomic_thread_fence(__ATOMIC_RELEASE);
	other();
}

void first_leaf_1(int *p)
{
	__atomic_thread_fence(__ATOMIC_RELEASE);
	*p = 1;
}

void last_1(int *p)
{
	*p = 1;
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

void last_call_1(int *p)
{
	other();
	*p = 1;
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

int both_2(const int *p)
{
	if (*p > 3) {
		v = 1;
		__atomic_thread_fence(__ATOMIC_RELEASE);
		return 2;
	}
	v = 3;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return 4;
}

void only_1(void)
{
	__atomic_thread_fence(__ATOMIC_ACQ_REL);
}

int leaf_0(const char *p)
{
	char b[20];

	b[3] = *p;
	return b[*p & 7];
}

int calls_0(int n)
{
	other();
	return n;
}

void loop_1(int *p)
{
	for (int i = 0; i < 9; i++) {
		p[i] = 0;
		__atomic_thread_fence(__ATOMIC_RELEASE);
	}
}
