/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/drain.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tweed/driver/config.h"

struct drain_chunk {
	struct drain_chunk *next;
	unsigned node, stream;
	size_t bytes;
	char data[];
};

/* One thread for each file: streams that go to the same one must not tear each other's lines. */
struct drain {
	pthread_t thread;
	bool runs, ending;
	pthread_mutex_t mutex;
	pthread_cond_t news;
	struct drain_chunk *first, *last;
};

static struct drain drain_of[2];
static unsigned drain_index[3]; /* by stream */
static _Atomic size_t drain_bytes[TW_MAX_NODES];
static _Atomic int drain_lost[3]; /* by stream: 1 not told yet, 2 told */
static int drain_event = -1;

static bool drain_write(int fd, const char *at, size_t bytes)
{
	while (bytes) {
		/* Whole lines up to what a pipe takes in one piece. */
		size_t part = bytes;
		if (part > PIPE_BUF) {
			const char *end = memrchr(at, '\n', PIPE_BUF);
			part = end ? (size_t)(end - at) + 1 : PIPE_BUF;
		}
		ssize_t n = write(fd, at, part);
		if (n < 0 && errno == EAGAIN)
			poll(&(struct pollfd){fd, POLLOUT, 0}, 1, -1);
		else if (n < 0 && errno != EINTR)
			return false;
		if (n > 0) {
			at += n;
			bytes -= (size_t)n;
		}
	}
	return true;
}

static void drain_chunk_out(const struct drain_chunk *c)
{
	int whole = 0;

	if (!atomic_load(&drain_lost[c->stream]) && !drain_write((int)c->stream, c->data, c->bytes))
		atomic_compare_exchange_strong(&drain_lost[c->stream], &whole, 1);
	atomic_fetch_add(&drain_bytes[c->node], c->bytes);
	eventfd_write(drain_event, 1);
}

static void *drain_run(void *arg)
{
	struct drain *d = arg;

	pthread_mutex_lock(&d->mutex);
	for (;;) {
		struct drain_chunk *c = d->first;
		if (!c && d->ending)
			break;
		if (!c) {
			pthread_cond_wait(&d->news, &d->mutex);
			continue;
		}
		d->first = c->next;
		pthread_mutex_unlock(&d->mutex);
		drain_chunk_out(c);
		free(c);
		pthread_mutex_lock(&d->mutex);
	}
	pthread_mutex_unlock(&d->mutex);
	return NULL;
}

int drain_start(void)
{
	struct stat out, err;

	drain_index[2] =
	    fstat(1, &out) == 0 && fstat(2, &err) == 0 && (out.st_dev != err.st_dev || out.st_ino != err.st_ino);
	drain_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (drain_event < 0)
		return -errno;
	for (unsigned i = 0; i <= drain_index[2]; i++) {
		struct drain *d = &drain_of[i];
		pthread_mutex_init(&d->mutex, NULL);
		pthread_cond_init(&d->news, NULL);
		int error = pthread_create(&d->thread, NULL, drain_run, d);
		if (error)
			return -error;
		d->runs = true;
	}
	return drain_event;
}

int drain_put(unsigned node, unsigned stream, const char *bytes, size_t count)
{
	struct drain *d = &drain_of[drain_index[stream]];
	struct drain_chunk *c = malloc(sizeof(*c) + count);

	if (!c)
		return -ENOMEM;
	*c = (struct drain_chunk){.node = node, .stream = stream, .bytes = count};
	memcpy(c->data, bytes, count);
	pthread_mutex_lock(&d->mutex);
	if (d->first)
		d->last->next = c;
	else
		d->first = c;
	d->last = c;
	pthread_cond_signal(&d->news);
	pthread_mutex_unlock(&d->mutex);
	return 0;
}

size_t drain_written(unsigned node)
{
	return atomic_exchange(&drain_bytes[node], 0);
}

bool drain_deaf(unsigned stream)
{
	int untold = 1;
	return atomic_compare_exchange_strong(&drain_lost[stream], &untold, 2);
}

void drain_finish(void)
{
	for (unsigned i = 0; i < 2; i++) {
		struct drain *d = &drain_of[i];
		if (!d->runs)
			continue;
		pthread_mutex_lock(&d->mutex);
		d->ending = true;
		pthread_cond_signal(&d->news);
		pthread_mutex_unlock(&d->mutex);
		pthread_join(d->thread, NULL);
		d->runs = false;
	}
}
