/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/memory/globals.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <unistd.h>

#include "core/job/job.h"
#include "core/memory/stores.h"

#define GLOBALS_BLOCK   512u                /* pages whose state is queried at once */
#define GLOBALS_TOUCHED ((uint64_t)3 << 62) /* in an entry of /proc/self/pagemap: in memory, or swapped out */

static char *globals_copy;  /* a copy of the pages that are not zero */
static bool *globals_wrote; /* which pages it has */
static bool globals_forgotten;

/* The linker leaves out pages before a zero-initialized variable of large alignment. They are mapped, because the
 * variables are copied as a whole. */
static void globals_fill(void)
{
	uintptr_t from = TW_ALIGN_UP((uintptr_t)tw_globals_set, 4096u), end = (uintptr_t)tw_globals_zero & ~4095ull;

	if (from < end)
		mmap((void *)from, end - from, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
}

/* Programs keep addresses of the C library in global variables (FILE *out = stdout), so the library must be at the same
 * address in all processors. Re-executes the program without address randomization, where the system permits it. Runs
 * before everything else. */
static void __attribute__((constructor(101))) globals_fix_addresses(int argc, char **argv, char **environment)
{
	char self[PATH_MAX];
	int persona = personality(0xffffffff);
	ssize_t n;

	(void)argc;
	globals_fill();
	if (!tw_globals_start || !getenv("TWEED_BOOT") || persona < 0 || (persona & ADDR_NO_RANDOMIZE))
		return;
	n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (n <= 0 || personality((unsigned)persona | ADDR_NO_RANDOMIZE) < 0 ||
	    !((unsigned)personality(0xffffffff) & ADDR_NO_RANDOMIZE))
		return;
	self[n] = '\0';
	execve(self, argv, environment);
}

static size_t globals_length(void)
{
	return (size_t)(tw_globals_end - tw_globals_start);
}

static bool globals_zero(const char *page)
{
	return page[0] == 0 && memcmp(page, page + 1, 4095) == 0;
}

/* Set the @state of @count pages that are still private: GLOBALS_TOUCHED for those that may hold anything. Reading
 * zero-initialized pages that were never touched would cost a fault each. */
static void globals_ask(int pagemap, const char *at, size_t count, uint64_t *state)
{
	ssize_t bytes = (ssize_t)(count * sizeof(*state));

	if (pagemap < 0 ||
	    pread(pagemap, state, (size_t)bytes, (off_t)((uintptr_t)at / 4096 * sizeof(*state))) != bytes)
		memset(state, 0xff, (size_t)bytes);
	for (size_t i = 0; i < count && at + i * 4096 < tw_globals_zero; i++)
		state[i] = GLOBALS_TOUCHED;
}

/* @pagemap: the process's, while the variables are private; else -1. */
static int globals_copy_out(int pagemap)
{
	size_t pages = globals_length() / 4096;
	char *copy =
	    mmap(NULL, globals_length(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uint64_t state[GLOBALS_BLOCK];

	globals_wrote = calloc(pages, sizeof(*globals_wrote));
	if (copy == MAP_FAILED || !globals_wrote)
		return -ENOMEM;
	for (size_t i = 0; i < pages; i++) {
		char *page = tw_globals_start + i * 4096;
		if (i % GLOBALS_BLOCK == 0)
			globals_ask(pagemap, page, TW_MIN(pages - i, (size_t)GLOBALS_BLOCK), state);
		if (!(state[i % GLOBALS_BLOCK] & GLOBALS_TOUCHED) || globals_zero(page))
			continue;
		memcpy(copy + i * 4096, page, 4096);
		globals_wrote[i] = true;
	}
	globals_copy = copy;
	return 0;
}

static int globals_copy_private(void)
{
	int pagemap = sysconf(_SC_PAGESIZE) == 4096 ? open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC) : -1;
	int error = globals_copy_out(pagemap);

	if (pagemap >= 0)
		close(pagemap);
	return error;
}

int tw_globals_leave(struct tw_proc *me)
{
	int error = 0;

	if (!tw_globals_shared)
		return 0;
	if (tw_globals_bytes() >= me->config.memory) {
		tw_log("the program has %zu MiB of global variables, more than TWEED_MEMORY: raise it",
		       globals_length() >> 20);
		return -ENOMEM;
	}
	if (me->id == 0)
		error = globals_copy_private();
	if (error)
		tw_log("cannot copy the program's global variables: %s", strerror(-error));
	else
		munmap(tw_globals_start, globals_length());
	return error;
}

void tw_globals_enter(void)
{
	for (size_t i = 0; i < globals_length() / 4096; i++) {
		if (!globals_wrote[i])
			continue;
		tw_stores_add(tw_globals_start + i * 4096, 4096);
		memcpy(tw_globals_start + i * 4096, globals_copy + i * 4096, 4096);
	}
	munmap(globals_copy, globals_length());
	free(globals_wrote);
}

void tw_globals_forget(void)
{
	globals_forgotten = true;
}

void tw_globals_keep(void)
{
	int error = globals_forgotten ? 0 : globals_copy_out(-1);

	if (error)
		tw_fatal("cannot copy the program's global variables: %s", strerror(-error));
}

void tw_globals_return(void)
{
	if (!globals_forgotten && mremap(globals_copy, globals_length(), globals_length(),
	                                 MREMAP_MAYMOVE | MREMAP_FIXED, tw_globals_start) == MAP_FAILED)
		tw_fatal("cannot give the global variables back: %s", strerror(errno));
}
