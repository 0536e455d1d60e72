/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/launch/output_writer.h"

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

struct writer_chunk {
	struct writer_chunk *next;
	unsigned node, stream;
	size_t bytes;
	char data[];
};

/* One thread per file: streams to the same file must not split each other's lines. */
struct writer {
	pthread_t thread;
	bool runs, ending;
	pthread_mutex_t mutex;
	pthread_cond_t news;
	struct writer_chunk *first, *last;
};

static struct writer writer_of[2];
static unsigned writer_index[3]; /* by stream */
static _Atomic size_t writer_bytes[TW_MAX_NODES];
static _Atomic int writer_lost[3]; /* by stream: 1: lost, not reported yet; 2: reported */
static int writer_event = -1;

static bool writer_write(int fd, const char *at, size_t bytes)
{
	while (bytes) {
		/* Whole lines, up to the size that a pipe takes atomically. */
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

static void writer_chunk_out(const struct writer_chunk *c)
{
	int whole = 0;

	if (!atomic_load(&writer_lost[c->stream]) && !writer_write((int)c->stream, c->data, c->bytes))
		atomic_compare_exchange_strong(&writer_lost[c->stream], &whole, 1);
	atomic_fetch_add(&writer_bytes[c->node], c->bytes);
	eventfd_write(writer_event, 1);
}

static void *writer_run(void *arg)
{
	struct writer *w = arg;

	pthread_mutex_lock(&w->mutex);
	for (;;) {
		struct writer_chunk *c = w->first;
		if (!c && w->ending)
			break;
		if (!c) {
			pthread_cond_wait(&w->news, &w->mutex);
			continue;
		}
		w->first = c->next;
		pthread_mutex_unlock(&w->mutex);
		writer_chunk_out(c);
		free(c);
		pthread_mutex_lock(&w->mutex);
	}
	pthread_mutex_unlock(&w->mutex);
	return NULL;
}

int writer_start(void)
{
	struct stat out, err;

	writer_index[2] =
	    fstat(1, &out) == 0 && fstat(2, &err) == 0 && (out.st_dev != err.st_dev || out.st_ino != err.st_ino);
	writer_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (writer_event < 0)
		return -errno;
	for (unsigned i = 0; i <= writer_index[2]; i++) {
		struct writer *w = &writer_of[i];
		pthread_mutex_init(&w->mutex, NULL);
		pthread_cond_init(&w->news, NULL);
		int error = pthread_create(&w->thread, NULL, writer_run, w);
		if (error)
			return -error;
		w->runs = true;
	}
	return writer_event;
}

int writer_put(unsigned node, unsigned stream, const char *bytes, size_t count)
{
	struct writer *w = &writer_of[writer_index[stream]];
	struct writer_chunk *c = malloc(sizeof(*c) + count);

	if (!c)
		return -ENOMEM;
	*c = (struct writer_chunk){.node = node, .stream = stream, .bytes = count};
	memcpy(c->data, bytes, count);
	pthread_mutex_lock(&w->mutex);
	if (w->first)
		w->last->next = c;
	else
		w->first = c;
	w->last = c;
	pthread_cond_signal(&w->news);
	pthread_mutex_unlock(&w->mutex);
	return 0;
}

size_t writer_written(unsigned node)
{
	return atomic_exchange(&writer_bytes[node], 0);
}

bool writer_deaf(unsigned stream)
{
	int unreported = 1;
	return atomic_compare_exchange_strong(&writer_lost[stream], &unreported, 2);
}

void writer_finish(void)
{
	for (unsigned i = 0; i < 2; i++) {
		struct writer *w = &writer_of[i];
		if (!w->runs)
			continue;
		pthread_mutex_lock(&w->mutex);
		w->ending = true;
		pthread_cond_signal(&w->news);
		pthread_mutex_unlock(&w->mutex);
		pthread_join(w->thread, NULL);
		w->runs = false;
	}
}
