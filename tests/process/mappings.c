/* SPDX-License-Identifier: BSD-3-Clause */
/* mappings.c - memory that mmap() and its kin give to one thread and others use: anonymous, and of files. */
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/shm.h>
#include <sys/uio.h>
#include <sys/resource.h>
#include "process.h"

#define PAGE 4096

static char *map;
static int fd;

static void touch(int me, char *at)
{
	say("%d sees '%.30s'\n", me, at);
	snprintf(at, 40, "written by %d", me);
}

static void touch_step(void *arg, int me)
{
	touch(me, arg);
}

static void file_of_pages(const char *name, int pages)
{
	char text[PAGE];

	fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);
	for (int i = 0; i < pages; i++) {
		memset(text, 'a' + i, sizeof text);
		snprintf(text, sizeof text, "page %d", i);
		write(fd, text, sizeof text);
	}
}

static void say_error(const char *what, int result)
{
	say("%s %s\n", what, err(result));
}

static char *mapped(size_t size, int flags)
{
	char *at = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, flags & MAP_ANONYMOUS ? -1 : fd, 0);

	if (at == MAP_FAILED)
		say("mmap %s\n", err(-1));
	return at == MAP_FAILED ? NULL : at;
}

/* ---- anonymous ---- */

CASE(anonymous_private)
{
	map = mapped(4 * PAGE, MAP_PRIVATE | MAP_ANONYMOUS);
	strcpy(map + PAGE, "of main");
	turns(touch_step, map + PAGE);
	turns(touch_step, map + 3 * PAGE);
	say("%s, %s\n", map + PAGE, map + 3 * PAGE);
	say_error("munmap", munmap(map, 4 * PAGE));
}

CASE(anonymous_shared)
{
	map = mapped(2 * PAGE, MAP_SHARED | MAP_ANONYMOUS);
	strcpy(map, "of main");
	turns(touch_step, map);
	fflush(stdout);
	pid_t child = fork();
	if (!child) {
		strcpy(map, "of a child");
		_exit(0);
	}
	waitpid(child, NULL, 0);
	turns(touch_step, map);
	munmap(map, 2 * PAGE);
}

static char *maps[MANY + 1];

static void map_step(void *arg, int me)
{
	int *flags = arg;

	maps[me] = mapped(PAGE * 3, *flags | MAP_ANONYMOUS | (me == 2 ? MAP_POPULATE : MAP_NORESERVE));
	snprintf(maps[me], PAGE, "mapped by %d", me);
}

static void unmap_step(void *arg, int me)
{
	int of = me % threads + 1;

	(void)arg;
	touch(me, maps[of]);
	say_error("munmap", munmap(maps[of], PAGE * 3));
}

CASE(anonymous_of_threads)
{
	for (int flags = MAP_PRIVATE; flags; flags = flags == MAP_PRIVATE ? MAP_SHARED : 0) {
		turns(map_step, &flags);
		for (int i = 1; i <= threads; i++)
			touch(0, maps[i]);
		turns(unmap_step, NULL);
	}
}

static void sum_step(void *arg, int me)
{
	long *v = arg;

	for (int i = me; i < 100000; i += threads + 1)
		v[i] = i;
}

CASE(anonymous_together)
{
	long *v = mmap(NULL, 100000 * sizeof *v, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), sum = 0;

	with_main(sum_step, v);
	for (int i = 0; i < 100000; i++)
		sum += v[i];
	say("sum %ld\n", sum);
	munmap(v, 100000 * sizeof *v);
}

static void fixed_step(void *arg, int me)
{
	(void)arg;
	char *at = mmap(map + me * PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	say("%d same %d, %d\n", me, at == map + me * PAGE, *at);
	snprintf(at, PAGE, "fixed %d", me);
}

CASE(fixed_over_another)
{
	map = mapped(6 * PAGE, MAP_PRIVATE | MAP_ANONYMOUS);
	memset(map, 'x', 6 * PAGE);
	turns(fixed_step, NULL);
	for (int i = 0; i < 6; i++)
		say("%.10s\n", map + i * PAGE);
	munmap(map, 6 * PAGE);
}

static void reserve_step(void *arg, int me)
{
	(void)arg;
	say("%d %s\n", me, err(mprotect(map + me * 16 * PAGE, PAGE, PROT_READ | PROT_WRITE)));
	snprintf(map + me * 16 * PAGE, PAGE, "committed by %d", me);
}

CASE(reserved_then_committed)
{
	map = mmap(NULL, 64 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	turns(reserve_step, NULL);
	for (int i = 1; i <= threads; i++)
		say("%s\n", map + i * 16 * PAGE);
	say_error("munmap", munmap(map, 64 << 20));
}

/* ---- files ---- */

CASE(file_shared)
{
	char line[8] = "";

	file_of_pages("file_shared", 3);
	map = mapped(3 * PAGE, MAP_SHARED);
	touch(0, map + PAGE);
	turns(touch_step, map + PAGE);
	say_error("msync", msync(map, 3 * PAGE, MS_SYNC));
	lseek(fd, PAGE, SEEK_SET);
	reads(0, fd, 14);
	pwrite(fd, "by pwrite", 10, 2 * PAGE);
	turns(touch_step, map + 2 * PAGE);
	lseek(fd, 2 * PAGE + 20, SEEK_SET);
	writev(fd, (struct iovec[]){{"by ", 3}, {"writev", 7}}, 2);
	turns(touch_step, map + 2 * PAGE + 20);
	pwritev(fd, (struct iovec[]){{"by ", 3}, {"pwritev", 8}}, 2, 2 * PAGE + 40);
	turns(touch_step, map + 2 * PAGE + 40);
	strcpy(map + 2 * PAGE + 60, "stored");
	preadv(fd, &(struct iovec){line, 7}, 1, 2 * PAGE + 60);
	say("preadv %s\n", line);
	munmap(map, 3 * PAGE);
	lseek(fd, 2 * PAGE, SEEK_SET);
	reads(0, fd, 14);
	close(fd);
}

static void file_step(void *arg, int me)
{
	(void)arg;
	if (me == 1) {
		file_of_pages("file_of_thread", 2);
		map = mapped(2 * PAGE, MAP_SHARED);
		close(fd);
	}
	touch(me, map);
	if (me == threads) {
		say_error("msync", msync(map, PAGE, MS_ASYNC));
		shows(me, "file_of_thread");
	}
}

CASE(file_shared_of_thread)
{
	turns(file_step, NULL);
	touch(0, map + PAGE);
	say_error("msync", msync(map, 2 * PAGE, MS_SYNC | MS_INVALIDATE));
	say_error("munmap", munmap(map, 2 * PAGE));
}

CASE(file_private)
{
	file_of_pages("file_private", 3);
	map = mapped(3 * PAGE, MAP_PRIVATE);
	turns(touch_step, map);
	touch(0, map);
	pread(fd, map + PAGE, 10, 0);
	turns(touch_step, map + PAGE);
	close(fd);
	munmap(map, 3 * PAGE);
}

static void read_only_step(void *arg, int me)
{
	unsigned long sum = 0;

	(void)arg;
	for (int i = 0; i < 840; i++)
		sum = sum * 31 + (unsigned char)map[i];
	say("%d sum %lu, then %d\n", me, sum, map[840]);
}

CASE(file_read_only)
{
	fd = open("lines.txt", O_RDONLY);
	map = mmap(NULL, 840, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	turns(read_only_step, NULL);
	munmap(map, 840);
}

static void map_again_step(void *arg, int me)
{
	(void)arg;
	char *mine = mapped(PAGE, MAP_SHARED);
	touch(me, mine);
	say("%d the other mapping: %s\n", me, map);
	say_error("munmap", munmap(mine, PAGE));
}

CASE(file_mapped_twice)
{
	file_of_pages("file_twice", 1);
	map = mapped(PAGE, MAP_SHARED);
	turns(map_again_step, NULL);
	touch(0, map);
	turns(map_again_step, NULL);
	munmap(map, PAGE);
	close(fd);
}

static void grow_file_step(void *arg, int me)
{
	(void)arg;
	say_error("ftruncate", ftruncate(fd, (me + 1) * PAGE));
	touch(me, map + me * PAGE);
}

CASE(file_grown_under_mapping)
{
	file_of_pages("file_grown", 1);
	map = mapped((MANY + 1) * PAGE, MAP_SHARED);
	turns(grow_file_step, NULL);
	for (int i = 0; i <= threads; i++)
		say("%s\n", map + i * PAGE);
	munmap(map, (MANY + 1) * PAGE);
	close(fd);
}

static void memfd_step(void *arg, int me)
{
	(void)arg;
	if (me == 1) {
		fd = memfd_create("mapped", 0);
		say_error("ftruncate", ftruncate(fd, 2 * PAGE));
		map = mapped(2 * PAGE, MAP_SHARED);
	}
	touch(me, map + PAGE);
}

static void cut_step(void *arg, int me)
{
	(void)arg;
	say("%d cut %s\n", me, err(ftruncate(fd, PAGE / 2 - me)));
	say("%d grow %s\n", me, err(ftruncate(fd, 3 * PAGE)));
	say("%d %d %d %d\n", me, map[PAGE / 2 - 100], map[PAGE / 2], map[2 * PAGE]);
	map[PAGE / 2] = map[2 * PAGE] = 'x';
}

/* What is cut off reads as zeros when the file grows again. */
CASE(file_cut_under_mapping)
{
	file_of_pages("cut", 3);
	map = mapped(3 * PAGE, MAP_SHARED);
	memset(map, 's', 3 * PAGE);
	turns(cut_step, NULL);
	say_error("munmap", munmap(map, 3 * PAGE));
	for (int i = 0; i < 3; i++) {
		char at = 0;
		pread(fd, &at, 1, i * PAGE + 100);
		say("%d ", at);
	}
	say("\n");
	close(fd);
}

static void moved_step(void *arg, int me)
{
	int other = *(int *)arg;
	off_t at = PAGE;
	off64_t from = 0, to = 2 * PAGE;

	snprintf(map, 40, "stored by %d", me);
	snprintf(map + PAGE, 40, "second of %d", me);
	lseek(other, 0, SEEK_SET);
	say("%d sendfile %d\n", me, (int)sendfile(other, fd, &at, 20));
	say("%d copy_file_range %d\n", me, (int)copy_file_range(fd, &from, other, &to, 30, 0));
	from = 2 * PAGE;
	to = 100;
	say("%d and back %d\n", me, (int)copy_file_range(other, &from, fd, &to, 30, 0));
	say("%d '%.20s'\n", me, map + 100);
	say("%d fallocate %s, %d %d\n", me, err(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, PAGE, PAGE)),
	    map[0], map[PAGE]);
}

/* The kernel moves data between files, of which one is mapped. */
CASE(file_moved_by_kernel)
{
	char text[21] = "";
	int other;

	file_of_pages("moved", 3);
	other = open("other", O_RDWR | O_CREAT | O_TRUNC, 0644);
	ftruncate(other, 3 * PAGE);
	map = mapped(3 * PAGE, MAP_SHARED);
	turns(moved_step, &other);
	pread(other, text, 20, 0);
	say("'%s'\n", text);
	pread(other, text, 20, 2 * PAGE);
	say("'%s'\n", text);
	munmap(map, 3 * PAGE);
	close(other);
	close(fd);
}

CASE(memfd_mapped)
{
	turns(memfd_step, NULL);
	lseek(fd, PAGE, SEEK_SET);
	reads(0, fd, 14);
	pwrite(fd, "pwrite", 7, PAGE);
	turns(touch_step, map + PAGE);
	munmap(map, 2 * PAGE);
	close(fd);
}

static void shm_step(void *arg, int me)
{
	(void)arg;
	char name[40];
	snprintf(name, sizeof name, "/tweed-process-%d", getpid());
	if (me == 1) {
		fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
		say_error("ftruncate", ftruncate(fd, PAGE));
		map = mapped(PAGE, MAP_SHARED);
	}
	touch(me, map);
	if (me == threads)
		say_error("shm_unlink", shm_unlink(name));
}

CASE(shm_open_of_thread)
{
	turns(shm_step, NULL);
	touch(0, map);
	munmap(map, PAGE);
	close(fd);
}

/* ---- changed ---- */

static void part_step(void *arg, int me)
{
	(void)arg;
	say_error("munmap", munmap(map + (2 * me - 1) * PAGE, PAGE));
	touch(me, map + 2 * me * PAGE);
}

CASE(munmap_of_parts)
{
	map = mapped(8 * PAGE, MAP_PRIVATE | MAP_ANONYMOUS);
	for (int i = 0; i < 8; i++)
		snprintf(map + i * PAGE, PAGE, "part %d", i);
	turns(part_step, NULL);
	for (int i = 0; i < 8; i += 2)
		say("%s\n", map + i * PAGE);
	say("gone: %s\n", err(msync(map + PAGE, PAGE, MS_ASYNC)));
	munmap(map, 8 * PAGE);
}

CASE(munmap_of_files_part)
{
	file_of_pages("file_parts", 8);
	map = mapped(8 * PAGE, MAP_SHARED);
	turns(part_step, NULL);
	for (int i = 0; i < 8; i += 2)
		say("%s\n", map + i * PAGE);
	munmap(map, 8 * PAGE);
	lseek(fd, 2 * PAGE, SEEK_SET);
	reads(0, fd, 12);
	close(fd);
}

static size_t map_size;

static void mremap_step(void *arg, int me)
{
	(void)arg;
	map = mremap(map, map_size, map_size * 4, MREMAP_MAYMOVE);
	map_size *= 4;
	touch(me, map);
	snprintf(map + map_size - PAGE, PAGE, "end of %d", me);
}

CASE(mremap_grows)
{
	map_size = 2 * PAGE;
	map = mapped(map_size, MAP_PRIVATE | MAP_ANONYMOUS);
	strcpy(map, "main");
	turns(mremap_step, NULL);
	for (size_t n = 8; n * PAGE <= map_size; n *= 4)
		say("%s\n", map + (n - 1) * PAGE);
	map = mremap(map, map_size, PAGE, 0);
	say("%s\n", map);
	munmap(map, PAGE);
}

CASE(mremap_of_file)
{
	file_of_pages("file_mremap", 8);
	map_size = 2 * PAGE;
	map = mapped(map_size, MAP_SHARED);
	map = mremap(map, 2 * PAGE, 8 * PAGE, MREMAP_MAYMOVE);
	turns(touch_step, map + 7 * PAGE);
	lseek(fd, 7 * PAGE, SEEK_SET);
	reads(0, fd, 14);
	munmap(map, 8 * PAGE);
	close(fd);
}

static void protect_step(void *arg, int me)
{
	(void)arg;
	say("%d protect %s\n", me, err(mprotect(map, PAGE, PROT_READ)));
	say("%d sees %s\n", me, map);
	say("%d unprotect %s\n", me, err(mprotect(map, PAGE, PROT_READ | PROT_WRITE)));
	touch(me, map);
}

CASE(mprotect_in_turn)
{
	map = mapped(2 * PAGE, MAP_PRIVATE | MAP_ANONYMOUS);
	strcpy(map, "main");
	turns(protect_step, NULL);
	say_error("read only", mprotect(map, 2 * PAGE, PROT_READ));
	turns(protect_step, NULL);
	touch(0, map);
	munmap(map, 2 * PAGE);
}

static void read_protected_step(void *arg, int me)
{
	(void)arg;
	int in = open("lines.txt", O_RDONLY);
	say("%d read into it: %s\n", me, err(read(in, map, 10)));
	say("%d still %s\n", me, map);
	close(in);
}

CASE(mprotect_meets_read)
{
	map = mapped(PAGE, MAP_PRIVATE | MAP_ANONYMOUS);
	strcpy(map, "main");
	say_error("read only", mprotect(map, PAGE, PROT_READ));
	turns(read_protected_step, NULL);
	say_error("again", mprotect(map, PAGE, PROT_READ | PROT_WRITE));
	turns(touch_step, map);
	munmap(map, PAGE);
}

static const int advice[] = {MADV_NORMAL,   MADV_RANDOM,     MADV_SEQUENTIAL, MADV_WILLNEED, MADV_HUGEPAGE,
                             MADV_DONTDUMP, MADV_NOHUGEPAGE, MADV_DODUMP,     MADV_DONTFORK, MADV_DOFORK,
                             MADV_COLD,     MADV_MERGEABLE,  MADV_UNMERGEABLE};

/* Advice that a kernel may lack is no error here. */
static void advise(char *at, size_t size)
{
	for (size_t i = 0; i < sizeof advice / sizeof *advice; i++)
		if (madvise(at, size, advice[i]) && errno != EINVAL)
			say("advice %d: %s\n", advice[i], err(-1));
}

static void advise_step(void *arg, int me)
{
	(void)arg;
	advise(map + PAGE, 2 * PAGE);
	touch(me, map + PAGE);
}

/* Code that main() or a thread writes and all execute: mov $value, %eax; ret */
static void code_make(char *at, int value)
{
	const unsigned char code[] = {0xb8, (unsigned char)value, 0, 0, 0, 0xc3};

	memcpy(at, code, sizeof code);
}

static void code_step(void *arg, int me)
{
	int (*function)(void) = (int (*)(void))arg;

	say("%d gets %d\n", me, function());
}

CASE(code_in_heap)
{
	char *block = aligned_alloc(PAGE, 2 * PAGE);

	code_make(block, 42);
	say_error("mprotect", mprotect(block, PAGE, PROT_READ | PROT_EXEC));
	code_step(block, 0);
	turns(code_step, block);
	say_error("mprotect", mprotect(block, PAGE, PROT_READ | PROT_WRITE));
	free(block);
}

static void code_map_step(void *arg, int me)
{
	(void)arg;
	if (me != threads)
		return;
	map = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	code_make(map, 40 + me);
}

CASE(code_mapped_by_thread)
{
	turns(code_map_step, NULL);
	turns(code_step, map);
	code_make(map, 7);
	turns(code_step, map);
	munmap(map, PAGE);
}

CASE(madvise_of_mapping)
{
	map = mapped(4 * PAGE, MAP_PRIVATE | MAP_ANONYMOUS);
	strcpy(map + PAGE, "main");
	turns(advise_step, NULL);
	advise(map, 4 * PAGE);
	touch(0, map + PAGE);
	say_error("posix_madvise", posix_madvise(map, 4 * PAGE, POSIX_MADV_WILLNEED));
	munmap(map, 4 * PAGE);
}

CASE(madvise_of_heap)
{
	char *heap = aligned_alloc(PAGE, 2048 * PAGE);

	map = heap;
	memset(heap, 'm', 2048 * PAGE);
	turns(advise_step, NULL);
	advise(heap, 2048 * PAGE);
	say("%.4s %s %c\n", heap, heap + PAGE, heap[2047 * PAGE]);
	free(heap);
}

static void drop_step(void *arg, int me)
{
	(void)arg;
	say("%d drops: %s\n", me, err(madvise(map + me * PAGE, PAGE, MADV_DONTNEED)));
	say("%d sees '%s' '%s'\n", me, map + me * PAGE, map);
}

CASE(madvise_dontneed)
{
	map = mapped(5 * PAGE, MAP_PRIVATE | MAP_ANONYMOUS);
	for (int i = 0; i < 5; i++)
		snprintf(map + i * PAGE, PAGE, "page %d", i);
	turns(drop_step, NULL);
	for (int i = 0; i < 5; i++)
		say("'%s' ", map + i * PAGE);
	say("\n");
	munmap(map, 5 * PAGE);
}

static void lock_step(void *arg, int me)
{
	(void)arg;
	say("%d mlock %s\n", me, err(mlock(map, PAGE)));
	touch(me, map);
	say("%d munlock %s\n", me, err(munlock(map, PAGE)));
}

CASE(mlock_in_turn)
{
	map = mapped(2 * PAGE, MAP_PRIVATE | MAP_ANONYMOUS);
	strcpy(map, "main");
	say_error("mlock", mlock(map, 2 * PAGE));
	turns(lock_step, NULL);
	say_error("munlock", munlock(map, 2 * PAGE));
	munmap(map, 2 * PAGE);
}

CASE(mlock_of_heap)
{
	map = aligned_alloc(PAGE, 4 * PAGE);
	strcpy(map, "heap");
	turns(lock_step, NULL);
	say_error("mlock2", mlock2(map, PAGE, MLOCK_ONFAULT));
	touch(0, map);
	say_error("munlock", munlock(map, PAGE));
	free(map);
}

static void resident_step(void *arg, int me)
{
	unsigned char in[2] = {0, 0};

	(void)arg;
	say("%d mincore %s\n", me, err(mincore(map, PAGE, in)));
	touch(me, map);
}

CASE(mincore_in_turn)
{
	map = mapped(2 * PAGE, MAP_PRIVATE | MAP_ANONYMOUS);
	turns(resident_step, NULL);
	munmap(map, 2 * PAGE);
}

/* ---- the break ---- */

static void sbrk_step(void *arg, int me)
{
	char **top = arg;

	if (me == 1)
		*top = sbrk(0);
	char *now = sbrk(PAGE);
	say("%d sbrk %s, where the last ended: %d\n", me, now == (void *)-1 ? "failed" : "ok", now == *top);
	snprintf(now, PAGE, "break of %d", me);
	*top = sbrk(0);
	maps[me] = now;
}

CASE(sbrk_in_turn)
{
	char *top = NULL;

	turns(sbrk_step, &top);
	for (int i = 1; i <= threads; i++)
		say("%s\n", maps[i]);
	say("equal %d\n", top == sbrk(0));
}

static void nothing_step(void *arg, int me)
{
	(void)arg;
	(void)me;
}

static void brk_back_step(void *arg, int me)
{
	char *top = arg;

	if (me == threads) {
		touch(me, top);
		say("%d brk %s\n", me, err(brk(top)));
	}
}

CASE(brk_of_main)
{
	turns(nothing_step, NULL); /* what making threads allocates is allocated now */
	char *top = sbrk(0);

	say_error("brk", brk(top + 4 * PAGE));
	strcpy(top, "of main");
	turns(brk_back_step, top);
	say("back %d\n", sbrk(0) == top);
}

static void brk_step(void *arg, int me)
{
	char **top = arg;

	if (me == 1)
		*top = sbrk(0);
	say("%d brk %s\n", me, err(brk(*top + me * PAGE)));
	touch(me, *top);
}

CASE(brk_in_turn)
{
	char *top = NULL;

	turns(brk_step, &top);
	touch(0, top);
	say("%d\n", (int)((char *)sbrk(0) - top) / PAGE);
}

/* ---- System V's shared memory ---- */

static int segment;

static void segment_step(void *arg, int me)
{
	struct shmid_ds about;

	(void)arg;
	if (me == 1)
		segment = shmget(IPC_PRIVATE, 3 * PAGE + 5, IPC_CREAT | 0600);
	map = me == 1 ? shmat(segment, NULL, 0) : map;
	touch(me, map + 3 * PAGE);
	say("%d stat %s", me, err(shmctl(segment, IPC_STAT, &about)));
	say(" %zu bytes, %d attached, mode %o\n", about.shm_segsz, (int)about.shm_nattch, about.shm_perm.mode & 0777u);
}

CASE(segment_of_thread)
{
	turns(segment_step, NULL);
	say_error("remove", shmctl(segment, IPC_RMID, NULL));
	touch(0, map + 3 * PAGE);
	say_error("detach", shmdt(map));
	say_error("detach again", shmdt(map));
	say("attach %s\n", shmat(segment, NULL, 0) == (void *)-1 ? err(-1) : "works");
	say_error("no bytes", shmget(IPC_PRIVATE, 0, IPC_CREAT | 0600));
}

MAIN(T(anonymous_private), T(anonymous_shared), T(anonymous_of_threads), T(anonymous_together), T(fixed_over_another),
     T(reserved_then_committed), T(file_shared), T(file_shared_of_thread), T(file_private), T(file_read_only),
     T(file_mapped_twice), T(file_grown_under_mapping), T(file_cut_under_mapping), T(file_moved_by_kernel),
     T(memfd_mapped), T(shm_open_of_thread), T(munmap_of_parts), T(munmap_of_files_part), T(mremap_grows),
     T(mremap_of_file), T(mprotect_in_turn), T(mprotect_meets_read), T(code_in_heap), T(code_mapped_by_thread),
     T(madvise_of_mapping), T(madvise_of_heap), T(madvise_dontneed), T(mlock_in_turn), T(mlock_of_heap),
     T(mincore_in_turn), T(segment_of_thread), ALONE(sbrk_in_turn), ALONE(brk_in_turn), ALONE(brk_of_main))
