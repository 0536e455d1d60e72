/* SPDX-License-Identifier: BSD-3-Clause */
/* mapping.c - mappings that the program or its libraries make (th_heap_shares) are blocks of the shared heap.
 *
 * Anonymous memory is zeroed.  A file's part is read into the block at once; the changed pages of a shared mapping
 * are written to the file by msync, munmap, at the end, and before the program reads that part of the file.  What the
 * program writes to the file, or cuts off, is stored in the block, too.  Shared mappings of one part of one file are
 * one block.
 *
 * Rights are not changed, since the pages' rights are Tweed's: mprotect has no effect on shared memory, nor have mlock
 * and advice other than MADV_DONTNEED.  Executable memory, devices, and reservations that exceed the shared heap are
 * the kernel's, and the calling processor's own. */
#undef _FILE_OFFSET_BITS /* mmap and mmap64 are both defined here */

#include "runtime/process/mapping.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/fd.h"
#include "core/process/fork.h"
#include "core/process/syscalls.h"
#include "runtime/process/hosts/first_host.h"
#include "runtime/process/program_heap.h"
#include "runtime/threads/support.h"

#define MAP_PAGE        ((size_t)4096)
#define MAP_BREAK_SHARE 32 /* of the shared space, for brk */

struct mapping {
	struct mapping *next;
	char *at;
	size_t bytes, live; /* live: not unmapped yet */
	unsigned users;     /* calls of mmap that have got it */
	int fd;             /* of the file; -1: anonymous */
	bool shared, writes;
	off_t offset;
	dev_t device;
	ino_t inode;
	bool gone[]; /* pages that were unmapped */
};

/* In shared memory. */
struct mapping_table {
	uint32_t lock;
	struct mapping *first;
	unsigned files;         /* shared mappings of files */
	char *base, *end, *now; /* of brk; NULL: not used yet */
};
static struct mapping_table *mapping_table;
static __thread bool mapping_locked; /* by this thread */

static void mapping_lock(void)
{
	th_word_lock(&mapping_table->lock);
	mapping_locked = true;
}

static void mapping_unlock(void)
{
	mapping_locked = false;
	th_word_unlock(&mapping_table->lock);
}

/* Is a call by the code at @caller about shared memory?  @at: where; NULL: new memory. */
static bool mapping_shares(const void *at, const void *caller)
{
	return mapping_table && th_heap_shares(caller) && (!at || th_heap_at(at));
}

static void *mapping_fail(int error)
{
	errno = error;
	return MAP_FAILED;
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

/* Read a file's part; what is behind its end stays as it is. */
static bool mapping_read(int fd, char *at, size_t bytes, off_t offset)
{
	for (size_t done = 0; done < bytes;) {
		ssize_t n = pread(fd, at + done, bytes - done, offset + (off_t)done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return true;
}

/* Write the changed pages of [@at, @at + @bytes) to the file. */
static void mapping_write(const struct mapping *m, const char *at, size_t bytes)
{
	char was[MAP_PAGE];
	struct stat st;

	if (!m->writes || fstat(th_hosts_kept(m->fd), &st) < 0)
		return;
	for (const char *page = at; page < at + bytes; page += MAP_PAGE) {
		off_t offset = m->offset + (page - m->at);
		if (offset >= st.st_size)
			break;
		if (m->gone[(size_t)(page - m->at) / MAP_PAGE])
			continue;
		size_t n = (size_t)TW_MIN((off_t)MAP_PAGE, st.st_size - offset);
		if (pread(th_hosts_kept(m->fd), was, n, offset) != (ssize_t)n || memcmp(was, page, n) != 0)
			if (pwrite(th_hosts_kept(m->fd), page, n, offset) < 0)
				return;
	}
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

static struct mapping *mapping_find(const char *at)
{
	struct mapping *m = mapping_table->first;

	while (m && (size_t)(at - m->at) >= m->bytes)
		m = m->next;
	return m;
}

static struct mapping *mapping_same(const struct stat *st, off_t offset, size_t bytes, bool writes)
{
	struct mapping *m = mapping_table->first;

	while (m &&
	       !(m->shared && m->fd >= 0 && m->inode == st->st_ino && m->device == st->st_dev && m->writes >= writes &&
	         m->offset <= offset && offset + (off_t)bytes <= m->offset + (off_t)m->bytes && m->live == m->bytes))
		m = m->next;
	return m;
}

/* What the program does with a part of a file: it is about to read it; has written data there, or has had the kernel
 * change it; has cut the file off before it. */
#define MAPPING_END ((size_t)1 << 61) /* behind every file */
enum mapping_use { MAPPING_READ, MAPPING_WRITTEN, MAPPING_CHANGED, MAPPING_CUT };

static void mapping_meet(const struct stat *st, off_t at, size_t n, enum mapping_use use, const char *data)
{
	for (const struct mapping *m = mapping_table->first; m; m = m->next) {
		off_t from = TW_MAX(at, m->offset);
		off_t to = TW_MIN(at + (off_t)TW_MIN(n, MAPPING_END), m->offset + (off_t)m->bytes);
		if (!m->shared || m->fd < 0 || m->inode != st->st_ino || m->device != st->st_dev || from >= to)
			continue;
		off_t first = (from - m->offset) & ~(off_t)(MAP_PAGE - 1);
		char *part = m->at + (from - m->offset);
		if (use == MAPPING_READ)
			mapping_write(m, m->at + first, (size_t)(to - m->offset - first));
		else if (use == MAPPING_WRITTEN)
			memcpy(part, data + (from - at), (size_t)(to - from));
		else if (use == MAPPING_CHANGED)
			mapping_read(th_hosts_kept(m->fd), part, (size_t)(to - from), from);
		else
			memset(part, 0, (size_t)(to - from));
	}
}

static void mapping_file_meets(int fd, off_t at, size_t n, enum mapping_use use, const void *caller)
{
	struct stat st;
	int error = errno;

	if (!mapping_table || !th_heap_shares(caller) || !mapping_table->files)
		return;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		mapping_lock();
		mapping_meet(&st, at, n, use, NULL);
		mapping_unlock();
	}
	errno = error;
}

/* Called by read, write and the like (tw_syscalls_mapped).  Tweed's own libraries may hold locks, and map nothing: they
 * must not access the table, which is shared memory. */
static void mapping_meets(int fd, off_t at, const struct iovec *v, int count, ssize_t written, const void *caller)
{
	struct stat st;

	if (mapping_locked || !th_heap_shares(caller) || !mapping_table->files)
		return;
	int error = errno;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		if (at < 0)
			at = lseek(fd, 0, SEEK_CUR) - TW_MAX(written, 0);
		mapping_lock();
		for (int i = 0; i < count && written; i++) {
			size_t n = written < 0 ? v[i].iov_len : TW_MIN(v[i].iov_len, (size_t)written);
			mapping_meet(&st, at, n,
			             written < 0     ? MAPPING_READ
			             : v[i].iov_base ? MAPPING_WRITTEN
			                             : MAPPING_CHANGED,
			             v[i].iov_base);
			at += (off_t)n;
			written -= written < 0 ? 0 : (ssize_t)n;
		}
		mapping_unlock();
	}
	errno = error;
}

void th_mapping_open(void)
{
	mapping_table = th_allocate_all(sizeof(*mapping_table));
	tw_syscalls_mapped = mapping_meets;
}

static struct mapping *mapping_add(size_t bytes)
{
	struct mapping *m = tw_calloc(1, sizeof(*m) + bytes / MAP_PAGE * sizeof(m->gone[0]));
	char *at = m ? tw_calloc(1, bytes) : NULL;

	if (!at) {
		if (m)
			tw_free(m);
		return NULL;
	}
	*m = (struct mapping){
	    .next = mapping_table->first, .at = at, .bytes = bytes, .live = bytes, .users = 1, .fd = -1};
	mapping_table->first = m;
	return m;
}

static void mapping_remove(struct mapping *m)
{
	struct mapping **at = &mapping_table->first;

	while (*at != m)
		at = &(*at)->next;
	*at = m->next;
	mapping_table->files -= m->shared && m->fd >= 0;
	if (m->fd >= 0)
		tw_fd_close(th_hosts_kept(m->fd));
	tw_free(m->at);
	tw_free(m);
}

/* ---- mmap -------------------------------------------------------------------------------------------------------- */

static void *mapping_real(void *at, size_t bytes, int prot, int flags, int fd, off_t offset)
{
	return (void *)syscall(SYS_mmap, at, bytes, prot, flags, fd, offset);
}

static void *mapping_file(size_t bytes, int prot, int flags, int fd, off_t offset, const struct stat *st)
{
	bool shared = !(flags & MAP_PRIVATE), writes = shared && (prot & PROT_WRITE);
	int mode = fcntl(fd, F_GETFL) & O_ACCMODE;
	struct mapping *m = shared ? mapping_same(st, offset, bytes, writes) : NULL;

	if (mode == O_WRONLY || (writes && mode != O_RDWR))
		return mapping_fail(EACCES);
	if (m) {
		m->users++;
		return m->at + (offset - m->offset);
	}
	mapping_meet(st, offset, bytes, MAPPING_READ, NULL);
	m = mapping_add(bytes);
	if (!m)
		return mapping_fail(ENOMEM);
	m->fd = th_hosts_keep(fd);
	m->shared = shared;
	m->writes = shared && mode == O_RDWR; /* mprotect may allow stores later */
	m->offset = offset;
	m->device = st->st_dev;
	m->inode = st->st_ino;
	mapping_table->files += shared && m->fd >= 0;
	if (m->fd < 0 || !mapping_read(fd, m->at, bytes, offset)) {
		int error = errno;
		mapping_remove(m);
		return mapping_fail(error);
	}
	return m->at;
}

/* The pages of [@at, @at + @bytes), which is a part of the mapping, are gone, or there again. */
static void mapping_mark(struct mapping *m, const char *at, size_t bytes, bool gone)
{
	size_t first = (size_t)(at - m->at) / MAP_PAGE;

	for (size_t page = first; page < first + bytes / MAP_PAGE; page++) {
		if (m->gone[page] != gone)
			m->live += gone ? -MAP_PAGE : MAP_PAGE;
		m->gone[page] = gone;
	}
}

/* Is no page of [@at, @at + @bytes) gone?  Sets errno.  The lock is held. */
static bool mapping_whole(const char *at, size_t bytes)
{
	const char *end = at + bytes;
	const struct mapping *m;

	for (at = (const char *)((uintptr_t)at & ~(uintptr_t)(MAP_PAGE - 1)); at < end; at += MAP_PAGE)
		if ((m = mapping_find(at)) && m->gone[(size_t)(at - m->at) / MAP_PAGE]) {
			errno = ENOMEM;
			return false;
		}
	return true;
}

/* At an address in shared memory. */
static void *mapping_fixed(char *at, size_t bytes, int fd, off_t offset)
{
	mapping_lock();
	struct mapping *m = mapping_find(at);
	if (m)
		mapping_mark(m, at, TW_MIN(bytes, m->bytes - (size_t)(at - m->at)), false);
	mapping_unlock();
	memset(at, 0, bytes);
	return fd < 0 || mapping_read(fd, at, bytes, offset) ? at : MAP_FAILED;
}

static void *mapping_make(void *at, size_t bytes, int prot, int flags, int fd, off_t offset, const void *caller)
{
	bool fixed = flags & (MAP_FIXED | MAP_FIXED_NOREPLACE), anonymous = flags & MAP_ANONYMOUS;
	struct stat st = {0};
	void *block;

	bool executed = prot & PROT_EXEC;
	if (!mapping_shares(fixed ? at : NULL, caller) || (flags & MAP_GROWSDOWN) || !bytes ||
	    (executed && (!anonymous || (flags & MAP_32BIT) || !th_executable_allow())) || offset % (off_t)MAP_PAGE ||
	    (!anonymous && fstat(fd, &st) < 0))
		return mapping_real(at, bytes, prot, flags, fd, offset);
	if (!anonymous && !S_ISREG(st.st_mode)) {
		if (!S_ISCHR(st.st_mode) || st.st_rdev != 0x105) /* /dev/zero */
			return mapping_real(at, bytes, prot, flags, fd, offset);
		anonymous = true;
	}
	bytes = TW_ALIGN_UP(bytes, MAP_PAGE);
	th_stack_reserve();
	if (fixed && !anonymous && !(flags & MAP_PRIVATE) && (prot & PROT_WRITE))
		th_refuse(
		    "mmap: a shared, writable mapping of a file with MAP_FIXED, at an address in the program's shared "
		    "memory: pages of two addresses cannot be one; map the file once, without MAP_FIXED");
	if (fixed)
		return mapping_fixed(at, bytes, anonymous ? -1 : fd, offset);
	mapping_lock();
	if (anonymous) {
		struct mapping *m = mapping_add(bytes);
		if (m)
			m->shared = !(flags & MAP_PRIVATE);
		block = m ? m->at : mapping_fail(ENOMEM);
	} else {
		block = mapping_file(bytes, prot, flags, fd, offset, &st);
	}
	mapping_unlock();
	if (block == MAP_FAILED && errno == ENOMEM && (prot == PROT_NONE || (flags & MAP_NORESERVE)))
		return mapping_real(at, bytes, prot, flags, fd, offset);
	return block;
}

static int mapping_unmake(char *at, size_t bytes)
{
	struct mapping *m;

	if ((uintptr_t)at % MAP_PAGE || !bytes) {
		errno = EINVAL;
		return -1;
	}
	bytes = TW_ALIGN_UP(bytes, MAP_PAGE);
	mapping_lock();
	for (size_t n; bytes && (m = mapping_find(at)); at += n, bytes -= n) {
		n = TW_MIN(bytes, m->bytes - (size_t)(at - m->at));
		mapping_write(m, at, n);
		if (m->users > 1) {
			m->users--;
			continue;
		}
		mapping_mark(m, at, n, true);
		if (!m->live)
			mapping_remove(m);
	}
	mapping_unlock();
	return 0;
}

static void *mapping_grow(char *at, size_t old, size_t bytes, int flags)
{
	old = TW_ALIGN_UP(old, MAP_PAGE);
	bytes = TW_ALIGN_UP(bytes, MAP_PAGE);
	if (bytes <= old) {
		if (bytes < old)
			mapping_unmake(at + bytes, old - bytes);
		return at;
	}
	if (!(flags & MREMAP_MAYMOVE) || (flags & MREMAP_FIXED))
		return mapping_fail(ENOMEM);
	mapping_lock();
	struct mapping *m = mapping_find(at), *grown = m ? mapping_add(bytes) : NULL;
	if (grown) {
		memcpy(grown->at, at, old);
		grown->fd = m->fd < 0 ? -1 : th_hosts_keep(th_hosts_kept(m->fd));
		grown->shared = m->shared;
		grown->writes = m->writes && grown->fd >= 0;
		grown->offset = m->offset + (at - m->at);
		grown->device = m->device;
		grown->inode = m->inode;
		mapping_table->files += grown->shared && grown->fd >= 0;
		if (grown->fd >= 0)
			mapping_read(th_hosts_kept(grown->fd), grown->at + old, bytes - old,
			             grown->offset + (off_t)old);
	}
	mapping_unlock();
	if (!grown)
		return mapping_fail(m ? ENOMEM : EFAULT);
	mapping_unmake(at, old);
	return grown->at;
}

static int mapping_drop(char *at, size_t bytes)
{
	mapping_lock();
	const struct mapping *m = mapping_find(at);
	if (m && !m->shared) {
		bytes = TW_MIN(TW_ALIGN_UP(bytes, MAP_PAGE), m->bytes - (size_t)(at - m->at));
		memset(at, 0, bytes);
		if (m->fd >= 0)
			mapping_read(th_hosts_kept(m->fd), at, bytes, m->offset + (at - m->at));
	}
	mapping_unlock();
	return 0;
}

void th_mapping_fork(void)
{
	if (!mapping_table)
		return;
	mapping_lock();
	for (const struct mapping *m = mapping_table->first; m; m = m->next)
		if (m->shared && (m->fd < 0 || m->writes))
			tw_fork_read_only(m->at, m->bytes);
	mapping_unlock();
}

void th_mapping_end(void)
{
	if (!mapping_table || !tw_me)
		return;
	for (const struct mapping *m = mapping_table->first; m; m = m->next)
		mapping_write(m, m->at, m->bytes);
}

/* ---- brk --------------------------------------------------------------------------------------------------------- */

/* Returns the end before, or NULL. */
static char *mapping_break(char *to, ptrdiff_t by)
{
	struct mapping_table *t = mapping_table;
	char *was = NULL;

	mapping_lock();
	if (!t->base) {
		size_t bytes = TW_ALIGN_UP(tw_me->config.memory / MAP_BREAK_SHARE, MAP_PAGE);
		t->base = t->now = tw_calloc(1, bytes);
		t->end = t->base ? t->base + bytes : NULL;
	}
	if (t->base) {
		to = to ? to : t->now + by;
		if (to >= t->base && to <= t->end) {
			was = t->now;
			t->now = to;
		}
	}
	mapping_unlock();
	if (!was)
		errno = ENOMEM;
	return was;
}

/* ---- the functions ----------------------------------------------------------------------------------------------- */

#define MAP_CALLER __builtin_return_address(0)

#pragma GCC visibility push(default)

TH_WEAK void *mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t offset)
{
	return mapping_make(at, bytes, prot, flags, fd, offset, MAP_CALLER);
}

TH_WEAK void *mmap64(void *at, size_t bytes, int prot, int flags, int fd, off_t offset)
{
	return mapping_make(at, bytes, prot, flags, fd, offset, MAP_CALLER);
}

TH_WEAK int munmap(void *at, size_t bytes)
{
	return mapping_shares(at, MAP_CALLER) ? mapping_unmake(at, bytes) : (int)syscall(SYS_munmap, at, bytes);
}

TH_WEAK void *mremap(void *at, size_t old, size_t bytes, int flags, ...)
{
	va_list ap;

	if (mapping_shares(at, MAP_CALLER))
		return mapping_grow(at, old, bytes, flags);
	va_start(ap, flags);
	void *to = va_arg(ap, void *);
	va_end(ap);
	return (void *)syscall(SYS_mremap, at, old, bytes, flags, to);
}

TH_WEAK int mprotect(void *at, size_t bytes, int prot)
{
	if (!mapping_shares(at, MAP_CALLER))
		return (int)syscall(SYS_mprotect, at, bytes, prot);
	if (!(prot & PROT_EXEC) || th_executable_allow())
		return 0;
	errno = EACCES;
	return -1;
}

TH_WEAK int madvise(void *at, size_t bytes, int advice)
{
	if (!mapping_shares(at, MAP_CALLER))
		return (int)syscall(SYS_madvise, at, bytes, advice);
	return advice == MADV_DONTNEED ? mapping_drop(at, bytes) : 0;
}

TH_WEAK int posix_madvise(void *at, size_t bytes, int advice)
{
	if (mapping_shares(at, MAP_CALLER) || advice == POSIX_MADV_DONTNEED)
		return 0;
	return syscall(SYS_madvise, at, bytes, advice) ? errno : 0;
}

TH_WEAK int msync(void *at, size_t bytes, int flags)
{
	if (!mapping_shares(at, MAP_CALLER))
		return (int)syscall(SYS_msync, at, bytes, flags);
	mapping_lock();
	const struct mapping *m = mapping_find(at);
	bool whole = mapping_whole(at, bytes);
	if (m && whole)
		mapping_write(m, at, TW_MIN(bytes, m->bytes - (size_t)((char *)at - m->at)));
	mapping_unlock();
	return whole ? 0 : -1;
}

TH_WEAK int mlock(const void *at, size_t bytes)
{
	return mapping_shares(at, MAP_CALLER) ? 0 : (int)syscall(SYS_mlock, at, bytes);
}

TH_WEAK int munlock(const void *at, size_t bytes)
{
	return mapping_shares(at, MAP_CALLER) ? 0 : (int)syscall(SYS_munlock, at, bytes);
}

TH_WEAK int mincore(void *at, size_t bytes, unsigned char *pages)
{
	if (!mapping_shares(at, MAP_CALLER))
		return (int)syscall(SYS_mincore, at, bytes, pages);
	mapping_lock();
	bool whole = mapping_whole(at, bytes);
	mapping_unlock();
	if (whole)
		memset(pages, 1, (bytes + MAP_PAGE - 1) / MAP_PAGE);
	return whole ? 0 : -1;
}

static int mapping_truncate(int fd, off_t length, const void *caller)
{
	int result = (int)syscall(SYS_ftruncate, fd, length);

	if (result == 0)
		mapping_file_meets(fd, length, MAPPING_END, MAPPING_CUT, caller);
	return result;
}

TH_WEAK int ftruncate(int fd, off_t length)
{
	return mapping_truncate(fd, length, MAP_CALLER);
}

TH_WEAK int ftruncate64(int fd, off_t length)
{
	return mapping_truncate(fd, length, MAP_CALLER);
}

/* Of the modes that change data, some move what is behind @from. */
static int mapping_allocate(int fd, int mode, off_t from, off_t bytes, const void *caller)
{
	bool changes = mode & ~FALLOC_FL_KEEP_SIZE;

	if (changes)
		mapping_file_meets(fd, from, MAPPING_END, MAPPING_READ, caller);
	int result = (int)syscall(SYS_fallocate, fd, mode, from, bytes);
	if (changes && result == 0)
		mapping_file_meets(fd, from, MAPPING_END, MAPPING_CHANGED, caller);
	return result;
}

TH_WEAK int fallocate(int fd, int mode, off_t from, off_t bytes)
{
	return mapping_allocate(fd, mode, from, bytes, MAP_CALLER);
}

TH_WEAK int fallocate64(int fd, int mode, off_t from, off_t bytes)
{
	return mapping_allocate(fd, mode, from, bytes, MAP_CALLER);
}

TH_WEAK int brk(void *to)
{
	if (!mapping_shares(NULL, MAP_CALLER))
		return (int)syscall(SYS_brk, to) < 0 ? -1 : 0;
	return mapping_break(to, 0) ? 0 : -1;
}

TH_WEAK void *sbrk(intptr_t by)
{
	static void *(*real)(intptr_t);

	if (!mapping_shares(NULL, MAP_CALLER)) {
		if (!real)
			*(void **)&real = dlsym(RTLD_NEXT, "sbrk");
		return real(by);
	}
	char *was = mapping_break(NULL, by);
	return was ? was : (void *)-1;
}

#pragma GCC visibility pop
