/* SPDX-License-Identifier: BSD-3-Clause */
/* segments.c - System V's shared memory (shmget and its kin): blocks of the shared heap, which the program's threads
 * share.  Other programs are no part of the job.  A job of one processor has the kernel's. */
#include <errno.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/process/fork.h"
#include "runtime/process/mapping.h"
#include "runtime/process/program_heap.h"
#include "runtime/threads/support.h"

#define SEGMENTS      1024
#define SEGMENT_FIRST 0x60000000 /* number of the first; the kernel's are smaller */
#define SEGMENT_PAGE  ((size_t)4096)

/* In shared memory. */
struct segment {
	char *at; /* NULL: this one is unused */
	bool removed;
	struct shmid_ds about;
};
static struct segment_table {
	uint32_t lock;
	struct segment segment[SEGMENTS];
} * segments;

void th_segments_open(void)
{
	if (tw_count() > 1)
		segments = th_allocate_all(sizeof(*segments));
}

void th_segments_fork(void)
{
	if (!segments)
		return;
	th_word_lock(&segments->lock);
	for (const struct segment *s = segments->segment; s < segments->segment + SEGMENTS; s++)
		if (s->at && s->about.shm_nattch)
			tw_fork_read_only(s->at, s->about.shm_segsz);
	th_word_unlock(&segments->lock);
}

static bool segment_shares(const void *caller)
{
	return segments && th_heap_shares(caller);
}

/* Locked; NULL: no segment of the program's. */
static struct segment *segment_numbered(int number)
{
	unsigned i = (unsigned)number - SEGMENT_FIRST;
	return i < SEGMENTS && segments->segment[i].at ? &segments->segment[i] : NULL;
}

/* Locked. */
static struct segment *segment_at(const void *at)
{
	for (struct segment *s = segments->segment; at && s < segments->segment + SEGMENTS; s++)
		if (s->at == at)
			return s;
	return NULL;
}

/* Locked. */
static void segment_unuse(struct segment *s)
{
	if (!s->removed || s->about.shm_nattch)
		return;
	tw_free(s->at);
	memset(s, 0, sizeof(*s));
}

/* Locked. */
static int segment_make(size_t bytes, int flags)
{
	struct segment *s = segments->segment;

	while (s < segments->segment + SEGMENTS && s->at)
		s++;
	if (!bytes || s == segments->segment + SEGMENTS)
		return th_result(bytes ? ENOSPC : EINVAL);
	size_t all = TW_ALIGN_UP(bytes, SEGMENT_PAGE);
	s->at = tw_aligned_alloc(SEGMENT_PAGE, all);
	if (!s->at)
		return th_result(ENOMEM);
	memset(s->at, 0, all);
	s->about.shm_perm = (struct ipc_perm){.uid = geteuid(),
	                                      .cuid = geteuid(),
	                                      .gid = getegid(),
	                                      .cgid = getegid(),
	                                      .mode = (unsigned short)(flags & 0777)};
	s->about.shm_segsz = bytes;
	s->about.shm_cpid = getpid();
	s->about.shm_ctime = time(NULL);
	return (int)(SEGMENT_FIRST + (s - segments->segment));
}

TH_WEAK int shmget(key_t key, size_t bytes, int flags)
{
	if (!segment_shares(__builtin_return_address(0)))
		return (int)syscall(SYS_shmget, key, bytes, flags);
	if (key != IPC_PRIVATE)
		th_refuse("shmget: memory with a key is for other programs, which are no part of the job: use "
		          "IPC_PRIVATE, or start the program with one processor (-n 1 -p 1)");
	th_word_lock(&segments->lock);
	int number = segment_make(bytes, flags);
	th_word_unlock(&segments->lock);
	return number;
}

TH_WEAK void *shmat(int number, const void *where, int flags)
{
	if (!segment_shares(__builtin_return_address(0)))
		return (void *)syscall(SYS_shmat, number, where, flags);
	th_word_lock(&segments->lock);
	struct segment *s = segment_numbered(number);
	void *at = s && (!where || where == s->at) ? s->at : (void *)-1;
	if (s && at == s->at) {
		s->about.shm_nattch++;
		s->about.shm_atime = time(NULL);
		s->about.shm_lpid = getpid();
	}
	th_word_unlock(&segments->lock);
	if (s && at == (void *)-1)
		th_refuse("shmat: a segment cannot be at an address of the program's choice, nor at two: let shmat "
		          "choose it (NULL), or start the program with one processor (-n 1 -p 1)");
	if (at == (void *)-1)
		errno = EINVAL;
	return at;
}

TH_WEAK int shmdt(const void *at)
{
	if (!segment_shares(__builtin_return_address(0)))
		return (int)syscall(SYS_shmdt, at);
	th_word_lock(&segments->lock);
	struct segment *s = segment_at(at);
	bool attached = s && s->about.shm_nattch;
	if (attached) {
		s->about.shm_nattch--;
		s->about.shm_dtime = time(NULL);
		s->about.shm_lpid = getpid();
		segment_unuse(s);
	}
	th_word_unlock(&segments->lock);
	return th_result(attached ? 0 : EINVAL);
}

TH_WEAK int shmctl(int number, int command, struct shmid_ds *about)
{
	if (!segment_shares(__builtin_return_address(0)) || number < SEGMENT_FIRST)
		return (int)syscall(SYS_shmctl, number, command, about);
	th_word_lock(&segments->lock);
	struct segment *s = segment_numbered(number);
	int error = s ? 0 : EINVAL;
	if (s && command == IPC_RMID) {
		s->removed = true;
		segment_unuse(s);
	} else if (s && command == IPC_STAT) {
		*about = s->about;
	} else if (s && command == IPC_SET) {
		s->about.shm_perm.mode = about->shm_perm.mode & 0777;
	} else if (s && command != SHM_LOCK && command != SHM_UNLOCK) {
		error = EINVAL;
	}
	th_word_unlock(&segments->lock);
	return th_result(error);
}
