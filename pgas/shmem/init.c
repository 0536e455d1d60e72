/* SPDX-License-Identifier: BSD-3-Clause */
/* init.c - initialization and end, symmetric memory, queries.
 *
 * The segment holds: control memory of teams, the executable's data and bss, those of libraries (library.c), the heap.
 * Data and bss, delimited by the linker's symbols, are copied to the segment and mapped back to their old place.  So
 * the program keeps its addresses, and other PEs access the variables like the heap.  Addresses may differ between PEs:
 * only offsets are sent. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/process/fork.h"
#include "pgas/shmem/check.h"
#include "pgas/shmem/symmetric_heap.h"
#include "pgas/shmem/shmem_impl.h"
#include "pgas/shmem/size.h"

#define INIT_PAGE ((size_t)4096)

extern char __data_start[] __attribute__((weak)), _end[] __attribute__((weak));

struct sh sh = {.check = true}; /* set until shmem_init, so that calls before it are noticed (check.h) */

void sh_need(const char *function)
{
	tw_fatal("%s was called before shmem_init or after shmem_finalize", function);
}

/* ---- environment ---- */

static bool init_wants(const char *name)
{
	const char *text = getenv(name);

	return text && text[0] && strcmp(text, "0") != 0;
}

static void init_send(void)
{
	if (tw_segment.pe == 0 && init_wants("SHMEM_VERSION"))
		printf("Tweed: OpenSHMEM %d.%d\n", SHMEM_MAJOR_VERSION, SHMEM_MINOR_VERSION);
	if (tw_segment.pe == 0 && init_wants("SHMEM_INFO"))
		printf("SHMEM_SYMMETRIC_SIZE  bytes of the symmetric heap of each PE; K, M, G or T may follow (512M)\n"
		       "SHMEM_VERSION         print the version\n"
		       "SHMEM_INFO            print this\n"
		       "SHMEM_DEBUG           print where symmetric memory is\n"
		       "TWEED_...             'tweed info' lists these\n");
	if (init_wants("SHMEM_DEBUG"))
		tw_log("PE %u of %u: heap %p, %zu bytes; data %p, %zu bytes; segment of %zu MiB; PEs %u to %u on this "
		       "node",
		       tw_segment.pe, tw_segment.pes, (void *)sh.range[SH_HEAP].base, sh.range[SH_HEAP].bytes,
		       (void *)sh.range[SH_DATA].base, sh.range[SH_DATA].bytes, tw_segment.bytes >> 20,
		       tw_segment.first, tw_segment.first + tw_segment.locals - 1);
	if (tw_segment.pe == 0)
		fflush(stdout);
}

/* ---- symmetric memory ---- */

static size_t init_reserve(size_t bytes, const char *what)
{
	size_t at = tw_segment_reserve(bytes);

	if (at == SIZE_MAX)
		tw_fatal(
		    "a symmetric segment of %zu MiB has no room for %s of %zu MiB; start with 'tweed oshrun', or raise "
		    "--segment",
		    tw_segment.bytes >> 20, what, bytes >> 20);
	return at;
}

/* Writes only what is not zero: large arrays stay sparse.  No address sanitizer: it forbids the memory between
 * variables.  volatile: otherwise the compiler makes the loop a call of memcpy, which the sanitizer intercepts. */
__attribute__((no_sanitize("address", "thread"))) static void init_copy(void *to, const void *from, size_t bytes)
{
	volatile uint64_t *out = to;
	const volatile uint64_t *in = from;

	for (size_t i = 0; i < bytes / sizeof(*in); i++)
		if (in[i])
			out[i] = in[i];
}

/* Move the variables in @range to the segment, and map it in their place. */
static void init_variables(struct sh_range *range)
{
	range->at = init_reserve(range->bytes, "global variables");
	/* Between the copy and the mapping nothing may be written. */
	init_copy(tw_segment.base + range->at, range->base, range->bytes);
	int error = tw_segment_alias(range->at, range->bytes, range->base);
	if (error)
		tw_fatal("cannot map global variables into symmetric memory: %s", strerror(-error));
	tw_fork_copies(range->base, range->bytes);
}

static void init_data(void)
{
	char *start = (char *)((uintptr_t)__data_start / INIT_PAGE * INIT_PAGE);
	char *end = (char *)TW_ALIGN_UP((uintptr_t)_end, INIT_PAGE);
	unsigned libraries = sh_libraries(&sh.range[SH_LIBRARY], SH_LIBRARIES);

	sh.range[SH_DATA] = (struct sh_range){.base = start, .bytes = (size_t)(end - start)};
	for (unsigned i = SH_DATA; i < SH_LIBRARY + libraries; i++)
		init_variables(&sh.range[i]);
}

static void init_memory(void)
{
	size_t heap;

	if (!sh_heap_size(&heap))
		tw_fatal("SHMEM_SYMMETRIC_SIZE is '%s', but " SH_SIZE_MEANS, getenv("SHMEM_SYMMETRIC_SIZE"));
	tw_fork_open();
	tw_segment_open(sh_segment_size(heap, (size_t)(_end - __data_start)), "OpenSHMEM");
	sh.teams_at = init_reserve(SH_TEAMS * SH_TEAM_BYTES, "teams");
	init_data();
	size_t at = init_reserve(heap, "a symmetric heap");
	heap_open(tw_segment.base + at, heap);
	sh.range[SH_HEAP] = (struct sh_range){tw_segment.base + at, heap, at};
	sh.check = tw_segment.net ? tw_segment.check : init_wants("TWEED_SHMEM_CHECK");
	if (sh.check) {
		sh_check_open(init_reserve(sh_check_bytes(), "records of the PEs' calls"));
	} else {
		sh.heap = sh.range[SH_HEAP];
		sh.data = sh.range[SH_DATA];
	}
}

/* ---- begin and end ---- */

/* At the end of the program without shmem_finalize: on success all other PEs call this, too. */
static void init_end(int status, void *arg)
{
	(void)arg;
	if (sh.open && status == 0 && !tw_forked())
		pshmem_finalize();
}

int pshmem_init_thread(int requested, int *provided)
{
	static bool before;

	if (sh.open)
		tw_fatal("shmem_init was called twice");
	init_memory();
	/* In virtual time one thread of a process has a clock. */
	sh.threads = TW_MIN(TW_MAX(requested, SHMEM_THREAD_SINGLE),
	                    tw_segment.timed ? SHMEM_THREAD_SERIALIZED : SHMEM_THREAD_MULTIPLE);
	if (sh.threads == SHMEM_THREAD_MULTIPLE)
		tw_segment_threads();
	sh_teams_open();
	sh_rules_open();
	sh.open = true;
	init_send();
	if (!before)
		on_exit(init_end, NULL);
	before = true;
	tw_segment_barrier();
	if (provided)
		*provided = sh.threads;
	return 0;
}

void pshmem_init(void)
{
	pshmem_init_thread(SHMEM_THREAD_SINGLE, NULL);
}

void pstart_pes(int npes)
{
	(void)npes;
	if (!sh.open)
		pshmem_init();
}

void pshmem_finalize(void)
{
	if (!sh.open)
		return;
	SH_CHECK_COLLECTIVE("shmem_finalize", .team = SHMEM_TEAM_WORLD);
	sh_teams_close(); /* completes the contexts' operations */
	tw_segment_quiet();
	tw_segment_barrier(); /* no PE signals after this */
	sh.open = false;
	sh.check = true;
	sh.heap.bytes = sh.data.bytes = 0;
	memset(sh.range, 0, sizeof(sh.range));
	tw_segment_close();
}

void pshmem_global_exit(int status)
{
	fflush(NULL);
	tw_segment_end_job(status);
}

/* ---- queries ---- */

void pshmem_query_thread(int *provided)
{
	*provided = sh.threads;
}

int pshmem_my_pe(void)
{
	if (!tw_segment.pes)
		sh_need_open(SH_CALLER);
	return (int)tw_segment.pe;
}

int pshmem_n_pes(void)
{
	if (!tw_segment.pes)
		sh_need_open(SH_CALLER);
	return (int)tw_segment.pes;
}

void pshmem_info_get_version(int *major, int *minor)
{
	*major = SHMEM_MAJOR_VERSION;
	*minor = SHMEM_MINOR_VERSION;
}

void pshmem_info_get_name(char *name)
{
	strcpy(name, SHMEM_VENDOR_STRING);
}

int pshmem_pe_accessible(int pe)
{
	return (unsigned)pe < tw_segment.pes;
}

int pshmem_addr_accessible(const void *addr, int pe)
{
	return pshmem_pe_accessible(pe) && sh_find(addr, 1) != SIZE_MAX;
}

void *pshmem_ptr(const void *dest, int pe)
{
	char *to = tw_segment_near((unsigned)pe);
	size_t at = sh_find(dest, 1);

	if (!to || at == SIZE_MAX)
		return NULL;
	return (unsigned)pe == tw_segment.pe ? (void *)(uintptr_t)dest : to + at;
}

void *pshmem_team_ptr(shmem_team_t team, const void *dest, int pe)
{
	if (team == SHMEM_TEAM_INVALID || (unsigned)pe >= team->size)
		return NULL;
	return pshmem_ptr(dest, (int)sh_team_pe(team, (unsigned)pe));
}

/* ---- what does nothing here ---- */

void pshmem_pcontrol(int level, ...)
{
	(void)level;
}

void pshmem_clear_cache_inv(void) {}
void pshmem_set_cache_inv(void) {}
void pshmem_udcflush(void) {}

void pshmem_clear_cache_line_inv(void *dest)
{
	(void)dest;
}

void pshmem_set_cache_line_inv(void *dest)
{
	(void)dest;
}

void pshmem_udcflush_line(void *dest)
{
	(void)dest;
}

TWS_FUNCTIONS_SETUP(SH_ALIAS)
extern void shmem_global_exit(int status) __attribute__((weak, alias("pshmem_global_exit")));
extern void start_pes(int npes) __attribute__((weak, alias("pstart_pes")));
extern int _my_pe(void) __attribute__((weak, alias("pshmem_my_pe")));
extern int _num_pes(void) __attribute__((weak, alias("pshmem_n_pes")));
