/* SPDX-License-Identifier: BSD-3-Clause */
/* kernel_aio.c - the kernel's asynchronous transfers (io_setup, io_submit, io_getevents), by syscall(2) or by libaio.
 * A context of the kernel belongs to one process, and its transfers would store behind the back of the coherence
 * protocol.  So a context is shared memory, and each transfer is performed in the call that asks for it, which may be
 * early. */
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "runtime/process/program_heap.h"
#include "runtime/pthreads/pthreads.h"

#define AIO_LIVES 0x6f69616bu
#define AIO_MOST  0x10000l

/* Under its wait queue's lock.  Events are a ring. */
struct aio_context {
	uint32_t lives;                    /* AIO_LIVES, until it is destroyed */
	unsigned room, used, first, count; /* used: by events, and by transfers that will have one */
	unsigned waits;                    /* threads in aio_get, the last of which frees what is destroyed */
	struct io_event event[];
};

static struct aio_context *aio_find(long context)
{
	struct aio_context *c = (struct aio_context *)context;

	return th_heap_at(c) && c->lives == AIO_LIVES ? c : NULL;
}

static long aio_setup(long events, long *context)
{
	if (events <= 0 || events > AIO_MOST || *context)
		return -EINVAL;
	struct aio_context *c = tw_calloc(1, sizeof(*c) + (size_t)events * sizeof(c->event[0]));
	if (!c)
		return -ENOMEM;
	c->room = (unsigned)events;
	c->lives = AIO_LIVES;
	*context = (long)c;
	return 0;
}

static long aio_destroy(struct aio_context *c)
{
	struct tw_wait_queue *queue = tw_wait_queue_lock(c);
	bool last = !c->waits;

	c->lives = 0;
	tw_wait_queue_wake(queue, c, UINT32_MAX);
	if (last)
		tw_free(c);
	return 0;
}

static bool aio_known(unsigned operation)
{
	return operation <= IOCB_CMD_FDSYNC || operation == IOCB_CMD_PREADV || operation == IOCB_CMD_PWRITEV;
}

/* An operation that aio_known knows. */
static long aio_transfer(const struct iocb *b)
{
	void *at = (void *)(uintptr_t)b->aio_buf;
	int fd = (int)b->aio_fildes;
	ssize_t done;

	switch (b->aio_lio_opcode) {
	case IOCB_CMD_PREAD:
		done = pread(fd, at, b->aio_nbytes, b->aio_offset);
		break;
	case IOCB_CMD_PWRITE:
		done = pwrite(fd, at, b->aio_nbytes, b->aio_offset);
		break;
	case IOCB_CMD_PREADV:
		done = preadv(fd, at, (int)b->aio_nbytes, b->aio_offset);
		break;
	case IOCB_CMD_FSYNC:
		done = fsync(fd);
		break;
	case IOCB_CMD_FDSYNC:
		done = fdatasync(fd);
		break;
	default:
		done = pwritev(fd, at, (int)b->aio_nbytes, b->aio_offset);
	}
	return done < 0 ? -errno : done;
}

static long aio_submit_one(struct aio_context *c, struct iocb *b)
{
	uint64_t one = 1;

	if (!aio_known(b->aio_lio_opcode))
		return -EINVAL;
	if (fcntl((int)b->aio_fildes, F_GETFL) < 0)
		return -EBADF;
	struct tw_wait_queue *queue = tw_wait_queue_lock(c);
	bool full = c->used == c->room;
	c->used += !full;
	tw_wait_queue_unlock(queue);
	if (full)
		return -EAGAIN;
	struct io_event event = {.data = b->aio_data, .obj = (uintptr_t)b, .res = aio_transfer(b)};
	queue = tw_wait_queue_lock(c);
	c->event[(c->first + c->count++) % c->room] = event;
	tw_wait_queue_wake(queue, c, UINT32_MAX);
	if ((b->aio_flags & IOCB_FLAG_RESFD) && write((int)b->aio_resfd, &one, sizeof(one)) < 0)
		return -errno;
	return 0;
}

static long aio_submit(struct aio_context *c, long n, struct iocb *const *block)
{
	for (long i = 0; i < n; i++) {
		long error = aio_submit_one(c, block[i]);
		if (error)
			return i ? i : error;
	}
	return n < 0 ? -EINVAL : n;
}

/* Wait until there are @least events, and take up to @most. */
static long aio_get(struct aio_context *c, long least, long most, struct io_event *event, const struct timespec *time)
{
	uint64_t until = time ? tw_time_ns() + (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec : 0;
	long n = 0;

	if (least < 0 || most < least)
		return -EINVAL;
	struct tw_wait_queue *queue = tw_wait_queue_lock(c);
	int error = 0;
	for (; c->lives == AIO_LIVES && c->count < least && !error; c->waits--) {
		uint64_t ticket = pt_join(queue, c);
		c->waits++;
		tw_wait_queue_unlock(queue);
		if (!tw_wait_queue_wait_early(c, ticket, until))
			error = until && tw_time_ns() >= until ? ETIMEDOUT : EINTR;
		queue = tw_wait_queue_lock(c);
	}
	bool gone = c->lives != AIO_LIVES, last = gone && !c->waits;
	if (gone || (error == EINTR && c->count < least)) {
		tw_wait_queue_unlock(queue);
		if (last)
			tw_free(c);
		return gone ? -EINVAL : -EINTR;
	}
	while (n < most && c->count) {
		event[n++] = c->event[c->first];
		c->first = (c->first + 1) % c->room;
		c->count--;
		c->used--;
	}
	tw_wait_queue_unlock(queue);
	return n;
}

long pt_kernel_aio(long number, const long a[6])
{
	struct aio_context *c = number == SYS_io_setup ? NULL : aio_find(a[0]);

	if (number == SYS_io_setup)
		return aio_setup(a[0], (long *)a[1]);
	if (!c)
		return -EINVAL;
	if (number == SYS_io_destroy)
		return aio_destroy(c);
	if (number == SYS_io_submit)
		return aio_submit(c, a[1], (struct iocb *const *)a[2]);
	if (number == SYS_io_cancel)
		return -EINVAL; /* it is done */
	return aio_get(c, a[1], a[2], (struct io_event *)a[3], (const struct timespec *)a[4]);
}

/* ---- libaio ------------------------------------------------------------------------------------------------------ */

/* Its calls return -errno. */
#define AIO_LIBRARY(name, number, parameters, ...)                                                                     \
	TH_WEAK int name parameters;                                                                                   \
	TH_WEAK int name parameters                                                                                    \
	{                                                                                                              \
		const long a[6] = {__VA_ARGS__};                                                                       \
		if (pt_several())                                                                                      \
			return (int)pt_kernel_aio(number, a);                                                          \
		long result = syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);                                     \
		return (int)(result < 0 ? -errno : result);                                                            \
	}

#pragma GCC visibility push(default)
AIO_LIBRARY(io_setup, SYS_io_setup, (int events, long *context), events, (long)context)
AIO_LIBRARY(io_queue_init, SYS_io_setup, (int events, long *context), events, (long)(*context = 0, context))
AIO_LIBRARY(io_destroy, SYS_io_destroy, (long context), context)
AIO_LIBRARY(io_queue_release, SYS_io_destroy, (long context), context)
AIO_LIBRARY(io_submit, SYS_io_submit, (long context, long n, struct iocb **block), context, n, (long)block)
AIO_LIBRARY(io_cancel, SYS_io_cancel, (long context, struct iocb *block, struct io_event *event), context, (long)block,
            (long)event)
AIO_LIBRARY(io_getevents, SYS_io_getevents,
            (long context, long least, long most, struct io_event *event, struct timespec *time), context, least, most,
            (long)event, (long)time)
#pragma GCC visibility pop
