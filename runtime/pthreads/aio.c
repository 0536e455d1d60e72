/* SPDX-License-Identifier: BSD-3-Clause */
/* aio.c - POSIX's asynchronous transfers: each is performed in the call that asks for it, which may be early.  The C
 * library's threads would not find the program's memory, nor could they call its functions. */
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <unistd.h>

#include "runtime/process/events/events.h"
#include "runtime/pthreads/pthreads.h"

/* ---- the end of a transfer -------------------------------------------------------------------------------------- */

/* Returns 0 or an error. */
static int aio_notify(const struct sigevent *event)
{
	if (event->sigev_notify == SIGEV_SIGNAL)
		return th_signals_send_program(event->sigev_signo, SI_ASYNCIO, &event->sigev_value) ? errno : 0;
	return event->sigev_notify == SIGEV_THREAD ? pt_notify(event) : 0;
}

/* ---- transfers -------------------------------------------------------------------------------------------------- */

static void aio_end(struct aiocb *a, ssize_t result)
{
	a->__return_value = result;
	a->__error_code = result < 0 ? errno : 0;
}

static void aio_transfer(struct aiocb *a, bool writes)
{
	void *at = (void *)(uintptr_t)a->aio_buf;
	bool appends = writes && (fcntl(a->aio_fildes, F_GETFL) & O_APPEND);
	ssize_t done = -1;

	errno = ESPIPE;
	if (!appends)
		done = writes ? pwrite(a->aio_fildes, at, a->aio_nbytes, a->aio_offset)
		              : pread(a->aio_fildes, at, a->aio_nbytes, a->aio_offset);
	if (done < 0 && errno == ESPIPE)
		done = writes ? write(a->aio_fildes, at, a->aio_nbytes) : read(a->aio_fildes, at, a->aio_nbytes);
	aio_end(a, done);
}

/* Returns 0; -1: the request is wrong, or its end cannot be notified. */
static int aio_do(struct aiocb *a, bool writes)
{
	if (a->aio_reqprio < 0 || a->aio_reqprio > AIO_PRIO_DELTA_MAX) {
		errno = EINVAL;
		aio_end(a, -1);
		return -1;
	}
	aio_transfer(a, writes);
	int error = aio_notify(&a->aio_sigevent);
	return th_result(error);
}

int tw_aio_read(struct aiocb *a)
{
	return aio_do(a, false);
}

int tw_aio_write(struct aiocb *a)
{
	return aio_do(a, true);
}

int tw_aio_fsync(int operation, struct aiocb *a)
{
	if (operation != O_SYNC && operation != O_DSYNC)
		return th_result(EINVAL);
	if (fcntl(a->aio_fildes, F_GETFL) < 0)
		return -1;
	aio_end(a, operation == O_SYNC ? fsync(a->aio_fildes) : fdatasync(a->aio_fildes));
	int error = aio_notify(&a->aio_sigevent);
	return th_result(error);
}

static int aio_listed(struct aiocb *a)
{
	switch (a->aio_lio_opcode) {
	case LIO_NOP:
		a->__error_code = 0;
		return 0;
	case LIO_READ:
	case LIO_WRITE:
		return aio_do(a, a->aio_lio_opcode == LIO_WRITE);
	}
	errno = EINVAL;
	aio_end(a, -1);
	return -1;
}

int tw_lio_listio(int mode, struct aiocb *const list[], int n, struct sigevent *event)
{
	bool failed = false;

	if (mode != LIO_WAIT && mode != LIO_NOWAIT)
		return th_result(EINVAL);
	for (int i = 0; i < n; i++)
		failed |= list[i] && (aio_listed(list[i]) || (mode == LIO_WAIT && list[i]->__error_code));
	int error = mode == LIO_NOWAIT && event ? aio_notify(event) : 0;
	return th_result(error ? error : failed ? EIO : 0);
}

/* ---- all have ended --------------------------------------------------------------------------------------------- */

int tw_aio_error(const struct aiocb *a)
{
	return a->__error_code;
}

ssize_t tw_aio_return(struct aiocb *a)
{
	return a->__return_value;
}

int tw_aio_suspend(const struct aiocb *const list[], int n, const struct timespec *most)
{
	(void)list, (void)n, (void)most;
	return 0;
}

int tw_aio_cancel(int file, struct aiocb *a)
{
	(void)a;
	return fcntl(file, F_GETFL) < 0 ? -1 : AIO_ALLDONE;
}

void tw_aio_init(const struct aioinit *init)
{
	(void)init;
}

/* The C library's names, also those of programs with _FILE_OFFSET_BITS=64. */
/* clang-format off */
#define AIO_NAME(name)                                                                                                 \
	extern __typeof__(tw_##name) tw_##name##_plain __asm__(#name) __attribute__((weak, alias("tw_" #name)));       \
	extern __typeof__(tw_##name) tw_##name##_large __asm__(#name "64") __attribute__((weak, alias("tw_" #name)))
/* clang-format on */
AIO_NAME(aio_read);
AIO_NAME(aio_write);
AIO_NAME(aio_fsync);
AIO_NAME(lio_listio);
AIO_NAME(aio_error);
AIO_NAME(aio_return);
AIO_NAME(aio_suspend);
AIO_NAME(aio_cancel);
extern __typeof__(tw_aio_init) tw_aio_init_plain __asm__("aio_init") __attribute__((weak, alias("tw_aio_init")));
