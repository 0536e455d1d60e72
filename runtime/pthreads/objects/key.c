/* SPDX-License-Identifier: BSD-3-Clause */
/* key.c - thread-specific values, by keys.
 *
 * The table of keys is shared.  Each thread's values have their whole keys: so
 * values of a deleted key are not found by a later key of the same index.  Whether a key was deleted is read without
 * the lock: a program that does not know it has a race.
 *
 * Constructors of libraries run in each process, before the job.  So each has the first keys in a table of its own;
 * the shared one begins with processor 0's.  Main, which is another thread, has the values that these have set. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/pthreads/pthreads.h"
#include "runtime/pthreads/thread.h"

#define KEY_BITS 10
_Static_assert(PTHREAD_KEYS_MAX == 1 << KEY_BITS, "an index, and above it how often it was used");

struct pt_key {
	pthread_key_t key; /* the last one of this index */
	bool used;
	void (*destructor)(void *value);
};

static struct pt_key *key_table; /* shared; protected by the lock of its address; NULL: before the job */
#define KEY_PART 32u
static struct pt_key key_early[KEY_PART];
static unsigned key_early_count;
struct key_value {
	pthread_key_t key;
	void *value;
};
static __thread struct key_value key_first[KEY_PART];
static struct key_value *key_early_values;                               /* the thread's that has made key_early */
static __thread struct key_value *key_more[PTHREAD_KEYS_MAX / KEY_PART]; /* NULL: no value was set */

void pt_keys_open(void)
{
	key_table = tw_malloc_all(PTHREAD_KEYS_MAX * sizeof(*key_table));
	if (!key_table)
		th_refuse("no memory is left of TWEED_MEMORY: raise it");
	if (tw_id() == 0)
		memcpy(key_table, key_early, sizeof(key_early));
}

static unsigned key_index(pthread_key_t key)
{
	return key % PTHREAD_KEYS_MAX;
}

static int key_create_early(pthread_key_t *key, void (*destructor)(void *value))
{
	unsigned i = key_early_count;

	if (key_table || i == KEY_PART)
		return EAGAIN;
	key_early_values = key_first;
	*key = PTHREAD_KEYS_MAX + i;
	key_early[key_early_count++] = (struct pt_key){*key, true, destructor};
	return 0;
}

int tw_pthread_key_create(pthread_key_t *key, void (*destructor)(void *value))
{
	unsigned i = 0;

	if (!pt_enter())
		return key_create_early(key, destructor);
	struct tw_wait_queue *queue = tw_wait_queue_lock(key_table);
	while (i < PTHREAD_KEYS_MAX && key_table[i].used)
		i++;
	if (i < PTHREAD_KEYS_MAX) {
		key_table[i] = (struct pt_key){(key_table[i].key & ~(PTHREAD_KEYS_MAX - 1u)) + PTHREAD_KEYS_MAX + i,
		                               true, destructor};
		*key = key_table[i].key;
	}
	tw_wait_queue_unlock(queue);
	return i < PTHREAD_KEYS_MAX ? 0 : EAGAIN;
}

int tw_pthread_key_delete(pthread_key_t key)
{
	struct pt_key *k = &key_table[key_index(key)];

	if (!pt_enter())
		return 0;
	struct tw_wait_queue *queue = tw_wait_queue_lock(key_table);
	bool known = k->used && k->key == key;
	if (known)
		k->used = false;
	tw_wait_queue_unlock(queue);
	return known ? 0 : EINVAL;
}

/* NULL: this thread has not set it. */
static struct key_value *key_value(unsigned i)
{
	if (i < KEY_PART)
		return &key_first[i];
	return key_more[i / KEY_PART] ? &key_more[i / KEY_PART][i % KEY_PART] : NULL;
}

static bool key_known(pthread_key_t key)
{
	unsigned i = key_index(key);
	const struct pt_key *k = key_table ? &key_table[i] : i < KEY_PART ? &key_early[i] : NULL;

	return k && k->used && k->key == key;
}

void *tw_pthread_getspecific(pthread_key_t key)
{
	unsigned i = key_index(key);
	const struct key_value *v = key_value(i);

	if (!(v && v->key == key) && key_early_values && i < KEY_PART && tw_me && tw_id() == 0 && !pt_own.frame)
		v = &key_early_values[i];
	return v && v->key == key && key_known(key) ? v->value : NULL;
}

int tw_pthread_setspecific(pthread_key_t key, const void *value)
{
	unsigned i = key_index(key);

	if (!key_known(key))
		return EINVAL;
	if (i >= KEY_PART && !key_more[i / KEY_PART])
		key_more[i / KEY_PART] = calloc(KEY_PART, sizeof(struct key_value));
	struct key_value *v = key_value(i);
	if (!v)
		return ENOMEM;
	*v = (struct key_value){key, (void *)(uintptr_t)value};
	return 0;
}

/* One round; false: no value had a destructor. */
static bool key_destroy(void)
{
	bool some = false;

	for (unsigned i = 0; i < PTHREAD_KEYS_MAX; i++) {
		struct key_value *v = key_value(i);
		void *value = v ? v->value : NULL;
		if (!value)
			continue;
		struct tw_wait_queue *queue = tw_wait_queue_lock(key_table);
		struct pt_key k = key_table[i];
		tw_wait_queue_unlock(queue);
		v->value = NULL;
		if (!k.used || k.key != v->key || !k.destructor)
			continue;
		th_call(TH_CALLED(k.destructor), value, NULL, NULL);
		some = true;
	}
	return some;
}

void pt_keys_end(void)
{
	for (unsigned round = 0; round < PTHREAD_DESTRUCTOR_ITERATIONS && key_destroy(); round++)
		;
	memset(key_first, 0, sizeof(key_first));
	for (unsigned i = 0; i < PTHREAD_KEYS_MAX / KEY_PART; i++) {
		free(key_more[i]);
		key_more[i] = NULL;
	}
}
