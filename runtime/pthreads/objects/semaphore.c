/* SPDX-License-Identifier: BSD-3-Clause */
/* semaphore.c - semaphores; those with names are the program's own, and end with it. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <semaphore.h>
#include <stdarg.h>
#include <string.h>

#include "runtime/pthreads/pthreads.h"

struct pt_semaphore {
	unsigned value; /* under its wait queue's lock */
};
_Static_assert(sizeof(struct pt_semaphore) <= sizeof(sem_t), "it fits");

int tw_sem_init(sem_t *semaphore, int shared, unsigned value)
{
	(void)shared;
	if (value > SEM_VALUE_MAX)
		return th_result(EINVAL);
	((struct pt_semaphore *)semaphore)->value = value;
	return 0;
}

int tw_sem_destroy(sem_t *semaphore)
{
	(void)semaphore;
	return 0;
}

/* The same where pt_enter() has returned false: no other thread posts, but a handler may. */
static int semaphore_take_alone(struct pt_semaphore *s, bool wait, uint64_t until)
{
	int error = s->value ? 0 : wait ? pt_alone_until("sem_wait", until) : EAGAIN;

	if (!s->value)
		return error;
	s->value--;
	return 0;
}

/* 0, or an error. */
static int semaphore_take(sem_t *semaphore, bool wait, uint64_t until)
{
	struct pt_semaphore *s = (struct pt_semaphore *)semaphore;
	int error = wait ? 0 : EAGAIN;

	if (!pt_enter())
		return semaphore_take_alone(s, wait, until);
	if (wait) {
		pt_cancel_point();
		pt_interruptible();
	}
	struct tw_wait_queue *queue = tw_wait_queue_lock(s);
	while (!s->value && !error) {
		uint64_t ticket = pt_join(queue, s);
		tw_wait_queue_unlock(queue);
		if (!tw_wait_queue_wait_early(s, ticket, until))
			error = until && tw_time_ns() >= until ? ETIMEDOUT : EINTR;
		queue = tw_wait_queue_lock(s);
	}
	if (s->value) {
		s->value--;
		error = 0;
	}
	tw_wait_queue_unlock(queue);
	return error;
}

int tw_sem_wait(sem_t *semaphore)
{
	return th_result(semaphore_take(semaphore, true, 0));
}

int tw_sem_trywait(sem_t *semaphore)
{
	return th_result(semaphore_take(semaphore, false, 0));
}

int tw_sem_clockwait(sem_t *semaphore, clockid_t clock, const struct timespec *at)
{
	uint64_t until = pt_until(clock, at);
	return th_result(until ? semaphore_take(semaphore, true, until) : EINVAL);
}

int tw_sem_timedwait(sem_t *semaphore, const struct timespec *at)
{
	return tw_sem_clockwait(semaphore, CLOCK_REALTIME, at);
}

int tw_sem_post(sem_t *semaphore)
{
	struct pt_semaphore *s = (struct pt_semaphore *)semaphore;
	struct tw_wait_queue *queue = pt_enter() ? tw_wait_queue_lock(s) : NULL;
	bool full = s->value == SEM_VALUE_MAX;

	s->value += !full;
	if (queue)
		tw_wait_queue_wake(queue, s, 1);
	return th_result(full ? EOVERFLOW : 0);
}

int tw_sem_getvalue(sem_t *semaphore, int *value)
{
	struct pt_semaphore *s = (struct pt_semaphore *)semaphore;
	struct tw_wait_queue *queue = pt_enter() ? tw_wait_queue_lock(s) : NULL;

	*value = (int)s->value;
	if (queue)
		tw_wait_queue_unlock(queue);
	return 0;
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

#define NAME_BYTES 251u

struct named {
	sem_t semaphore;
	unsigned opens;
	struct named *next;
	char name[]; /* empty: it was unlinked */
};
static struct named **named_all; /* shared; protected by the lock of its address */

void pt_semaphores_open(void)
{
	named_all = tw_malloc_all(sizeof(struct named *));
	if (!named_all)
		th_refuse("no memory is left of TWEED_MEMORY: raise it");
}

/* Where the list names it, or the list's end.  With the lock. */
static struct named **named_find(const char *name)
{
	struct named **place = named_all;

	while (*place && strcmp((*place)->name, name) != 0)
		place = &(*place)->next;
	return place;
}

/* With the lock. */
static void named_free(struct named **place)
{
	struct named *n = *place;

	if (n->opens || n->name[0])
		return;
	*place = n->next;
	tw_free(n);
}

/* NULL: no memory. */
static struct named *named_make(const char *name, unsigned value)
{
	struct named *n = tw_calloc(1, sizeof(*n) + strlen(name) + 1);

	if (!n)
		return NULL;
	strcpy(n->name, name);
	tw_sem_init(&n->semaphore, 0, value);
	return n;
}

/* With the lock: an error, or *@n. */
static int named_open(const char *name, int flags, unsigned value, struct named **n)
{
	struct named **place = named_find(name);

	if (*place && (flags & O_CREAT) && (flags & O_EXCL))
		return EEXIST;
	if (!*place && !(flags & O_CREAT))
		return ENOENT;
	if (!*place && value > SEM_VALUE_MAX)
		return EINVAL;
	if (!*place)
		*place = named_make(name, value);
	*n = *place;
	if (!*n)
		return ENOMEM;
	(*n)->opens++;
	return 0;
}

/* Skip the slash that *@name may begin with.  0, or an error. */
static int named_check(const char **name)
{
	*name += **name == '/';
	if (strlen(*name) > NAME_BYTES)
		return ENAMETOOLONG;
	return **name && !strchr(*name, '/') ? 0 : EINVAL;
}

/* The mode, which would let other users open it, has no effect. */
sem_t *tw_sem_open(const char *name, int flags, ...)
{
	unsigned value = 0;
	struct named *n = NULL;

	if (flags & O_CREAT) {
		va_list more;
		va_start(more, flags);
		(void)va_arg(more, unsigned);
		value = va_arg(more, unsigned);
		va_end(more);
	}
	int error = named_check(&name);
	if (!error && !pt_enter())
		error = ENOSYS; /* the job has ended */
	if (!error) {
		struct tw_wait_queue *queue = tw_wait_queue_lock(named_all);
		error = named_open(name, flags, value, &n);
		tw_wait_queue_unlock(queue);
	}
	if (!error)
		return &n->semaphore;
	errno = error;
	return SEM_FAILED;
}

int tw_sem_close(sem_t *semaphore)
{
	if (!pt_enter())
		return 0;
	struct tw_wait_queue *queue = tw_wait_queue_lock(named_all);
	struct named **place = named_all;
	while (*place && &(*place)->semaphore != semaphore)
		place = &(*place)->next;
	bool open = *place && (*place)->opens;
	if (open) {
		(*place)->opens--;
		named_free(place);
	}
	tw_wait_queue_unlock(queue);
	return th_result(open ? 0 : EINVAL);
}

int tw_sem_unlink(const char *name)
{
	int error = named_check(&name);

	if (error)
		return th_result(error == EINVAL ? ENOENT : error);
	if (!pt_enter())
		return 0;
	struct tw_wait_queue *queue = tw_wait_queue_lock(named_all);
	struct named **place = named_find(name);
	bool known = *place;
	if (known) {
		(*place)->name[0] = 0;
		named_free(place);
	}
	tw_wait_queue_unlock(queue);
	return th_result(known ? 0 : ENOENT);
}
