/* SPDX-License-Identifier: BSD-3-Clause */
/* depend.c - dependences between the children of one task, by the addresses in their clauses.
 *
 * Two children conflict if they name the same address and one of them writes it; then the younger one starts when the
 * older one has ended. The parent lists the children that have not ended, in creation order, under its lock. A new
 * child counts its conflicts. A child that ends removes its conflicts from the younger ones, and puts those without any
 * left into its own queue. */
#include <alloca.h>
#include <string.h>

#include "runtime/openmp/task.h"

/* gcc has two kinds of lists: {n, outs, addresses...}, and with a first word of 0: {0, n, outs, sets, ins,
 * addresses..., and n - outs - sets - ins objects of the clause depobj}. omp_depend_read places written addresses
 * before read ones. */
enum { DEPEND_IN = 1 };

static uint32_t depend_word(void **depend, unsigned i)
{
	return (uint32_t)(uintptr_t)depend[i];
}

uint32_t omp_depend_count(void **depend)
{
	return depend_word(depend, depend_word(depend, 0) ? 0 : 1);
}

void omp_depend_read(void **depend, struct omp_depends *d)
{
	uint32_t n = omp_depend_count(depend), at = 0;

	d->n = n;
	if (depend_word(depend, 0)) {
		d->outs = depend_word(depend, 1);
		memcpy(d->address, depend + 2, n * sizeof(*depend));
		return;
	}
	uint32_t outs = depend_word(depend, 2) + depend_word(depend, 3), plain = outs + depend_word(depend, 4);
	memcpy(d->address, depend + 5, outs * sizeof(*depend));
	at = outs;
	for (int in = 0; in < 2; in++) {
		for (uint32_t i = plain; i < n; i++) {
			void **object = depend[5 + i];
			if ((depend_word(object, 1) == DEPEND_IN) == in)
				d->address[at++] = object[0];
		}
		if (!in)
			d->outs = at;
	}
	memcpy(d->address + at, depend + 5 + outs, (plain - outs) * sizeof(*depend));
}

static bool depend_conflict(const struct omp_task *t, const struct omp_depends *d)
{
	for (uint32_t i = 0; i < t->depends; i++)
		for (uint32_t k = 0; k < (i < t->outs ? d->n : d->outs); k++)
			if (t->depend[i] == d->address[k])
				return true;
	return false;
}

bool omp_depend_add(struct omp_task *parent, struct omp_task *task, const struct omp_depends *d)
{
	task->outs = d->outs;
	task->depends = d->n;
	memcpy(task->depend, d->address, d->n * sizeof(*d->address));
	task->blocked = 0;
	task->younger = 0;

	tw_mutex_lock(&parent->lock);
	for (struct omp_task *t = omp_task_at(parent->first_child); t; t = omp_task_at(t->younger))
		task->blocked += depend_conflict(t, d);
	task->older = parent->last_child;
	if (task->older)
		omp_task_at(task->older)->younger = task->number;
	else
		parent->first_child = task->number;
	parent->last_child = task->number;
	bool ready = !task->blocked;
	tw_mutex_unlock(&parent->lock);
	return ready;
}

void omp_depend_end(struct omp_task *task)
{
	struct omp_task *parent = omp_task_at(task->parent);
	struct omp_depends d = {.outs = task->outs, .n = task->depends, .address = task->depend};
	uint32_t ready = 0;

	tw_mutex_lock(&parent->lock);
	for (struct omp_task *t = omp_task_at(task->younger); t; t = omp_task_at(t->younger))
		if (depend_conflict(t, &d) && --t->blocked == 0) {
			t->next = ready;
			ready = t->number;
		}
	if (task->younger)
		omp_task_at(task->younger)->older = task->older;
	else
		parent->last_child = task->older;
	if (task->older)
		omp_task_at(task->older)->younger = task->younger;
	else
		parent->first_child = task->younger;
	tw_mutex_unlock(&parent->lock);
	while (ready) {
		struct omp_task *t = omp_task_at(ready);
		ready = t->next;
		omp_task_put(t);
	}
	omp_task_wake(parent->runner);
}

struct depend_wait {
	struct omp_task *parent;
	const struct omp_depends *d;
};

static bool depend_free(void *arg)
{
	const struct depend_wait *w = arg;
	bool conflict = false;

	tw_mutex_lock(&w->parent->lock);
	for (struct omp_task *t = omp_task_at(w->parent->first_child); t && !conflict; t = omp_task_at(t->younger))
		conflict = depend_conflict(t, w->d);
	tw_mutex_unlock(&w->parent->lock);
	return !conflict;
}

void omp_depend_wait(struct omp_task *parent, const struct omp_depends *d)
{
	struct depend_wait w = {parent, d};

	omp_task_wait(depend_free, &w, parent, &parent->away);
}
