/* SPDX-License-Identifier: BSD-3-Clause */
/* heap_test.c - the shared heap over the shm transport, with forked processes as processors. The shared space is a
 * memory file that all map, so the hardware makes it coherent; release and acquire are tw_heap_ship and
 * tw_heap_take. */
#include "core/memory/heap.h"
#include "core/job/job.h"
#include "core/memory/stores.h"
#include "core/observe/recorder.h"
#include "tweed/tweed.h"
#include "unit.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MEMORY ((size_t)256 << 20)
#define CHUNK  ((size_t)2 << 20)
#define NODES  2u
#define LOCALS 2u
#define ALL    (NODES * LOCALS)
#define SLOTS  4096u
#define BLOCKS 2000u

/* Memory by which the processes synchronize. */
struct board {
	_Atomic unsigned arrived[256];
	_Atomic bool failed;
	uintptr_t block[ALL][3 * SLOTS];
	size_t bytes[ALL][3 * SLOTS];
};

static struct tw_proc proc;
static struct board *board;
static int node_fd[NODES], space_fd;
static struct tw_config config;
static size_t page_bytes = 4096;

struct tw_proc *tw_me;

struct tw_proc *tw_me_checked(const char *function)
{
	if (!tw_me)
		tw_fatal("%s without a job", function);
	return tw_me;
}

/* Nothing is traced. */
void tw_trace_record(struct tw_proc *me, enum tw_trace_kind kind, unsigned node, uint32_t page, uint64_t a, uint64_t b)
{
	(void)me, (void)kind, (void)node, (void)page, (void)a, (void)b;
	abort();
}

void tw_trace_allocation(struct tw_proc *me, const void *address, size_t bytes, const void *caller)
{
	(void)me, (void)address, (void)bytes, (void)caller;
}

static int memory_file(size_t bytes)
{
	int fd = memfd_create("heap-test", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0)
		abort();
	return fd;
}

static size_t used_bytes(int fd)
{
	struct stat st;
	if (fstat(fd, &st) != 0)
		abort();
	return (size_t)st.st_blocks * 512;
}

static struct tw_layout layout_of(const struct tw_config *c)
{
	const struct tw_transport *shm = tw_transport_find("shm");
	struct tw_layout l = {.nodes = (unsigned)c->nodes, .processors = (unsigned)c->processors};
	l.ports = l.processors + 1;
	l.page_bytes = c->page_size;
	l.page_shift = (unsigned)__builtin_ctzll(c->page_size);
	l.heap = TW_ALIGN_UP(shm->control_bytes(l.ports), (size_t)4096);
	l.heap_bytes = tw_heap_exported_bytes(c);
	l.exported_bytes = TW_ALIGN_UP(l.heap + l.heap_bytes, TW_HUGE_BYTES);
	return l;
}

/* Before the processes are forked. */
static void job_create(unsigned nodes, unsigned locals)
{
	config = (struct tw_config){.nodes = nodes, .processors = locals, .page_size = page_bytes, .memory = MEMORY};
	for (unsigned node = 0; node < nodes; node++)
		node_fd[node] = memory_file(layout_of(&config).exported_bytes);
	space_fd = memory_file(MEMORY);
	if (mmap((void *)TW_SPACE_BASE, MEMORY, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE,
	         space_fd, 0) == MAP_FAILED)
		abort();
	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (board == MAP_FAILED)
		abort();
}

static void job_destroy(void)
{
	for (unsigned node = 0; node < config.nodes; node++)
		close(node_fd[node]);
	close(space_fd);
	munmap((void *)TW_SPACE_BASE, MEMORY);
	munmap(board, sizeof(*board));
}

static void proc_open(unsigned id)
{
	unsigned locals = (unsigned)config.processors;
	proc = (struct tw_proc){.id = id,
	                        .node = id / locals,
	                        .local = id % locals,
	                        .nodes = (unsigned)config.nodes,
	                        .locals = locals,
	                        .config = config,
	                        .layout = layout_of(&config)};
	struct tw_net_config net = {.node = proc.node,
	                            .nodes = proc.nodes,
	                            .port = proc.local,
	                            .ports = proc.layout.ports,
	                            .bytes = proc.layout.exported_bytes,
	                            .control_offset = 0,
	                            .fd = node_fd};
	if (tw_net_open(tw_transport_find("shm"), &net, &proc.net) != 0 || tw_heap_open(&proc) != 0)
		abort();
	tw_me = &proc;
}

static void proc_close(void)
{
	tw_heap_close(&proc);
	tw_net_close(proc.net);
	tw_me = NULL;
}

static size_t chunks_taken(void)
{
	return tw_net_read64(proc.net, 0, proc.layout.heap);
}

/* ---- one processor ---------------------------------------------------------------------------------------------- */

static void test_blocks(void)
{
	static const size_t sizes[] = {0, 1, 8, 16, 17, 100, 4095, 4096, 4097, 16384, 65535, 65536, 70000, 3 << 20};
	job_create(1, 1);
	proc_open(0);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		char *a = tw_malloc(sizes[i]), *b = tw_malloc(sizes[i]);
		uintptr_t mask = sizes[i] >= page_bytes ? page_bytes - 1 : 15;
		CU_ASSERT(a && b && a != b);
		CU_ASSERT((uintptr_t)a >= TW_SPACE_BASE && (uintptr_t)a + sizes[i] <= TW_SPACE_BASE + MEMORY);
		CU_ASSERT(((uintptr_t)a & mask) == 0 && ((uintptr_t)b & mask) == 0);
		memset(a, 1, sizes[i]);
		memset(b, 2, sizes[i]);
		CU_ASSERT(sizes[i] == 0 || (a[0] == 1 && a[sizes[i] - 1] == 1));
		tw_free(a);
		tw_free(b);
	}
	tw_free(NULL);
	for (size_t align = 1; align <= 8 << 20; align *= 2) {
		char *a = tw_aligned_alloc(align, 24);
		CU_ASSERT(a && (uintptr_t)a % align == 0);
		tw_free(a);
	}
	errno = 0;
	CU_ASSERT_PTR_NULL(tw_aligned_alloc(24, 24));
	CU_ASSERT_EQUAL(errno, EINVAL);
	CU_ASSERT_PTR_NULL(tw_aligned_alloc(0, 24));
	errno = 0;
	CU_ASSERT_PTR_NULL(tw_aligned_alloc((size_t)1 << 40, 24));
	CU_ASSERT_EQUAL(errno, ENOMEM);
	proc_close();
	job_destroy();
}

static void test_pages_64k(void)
{
	page_bytes = 65536;
	test_blocks();
	page_bytes = 4096;
}

static void test_realloc(void)
{
	job_create(1, 1);
	proc_open(0);
	char *a = tw_realloc(NULL, 10);
	CU_ASSERT_PTR_NOT_NULL_FATAL(a);
	memcpy(a, "123456789", 10);
	for (size_t bytes = 20; bytes < 20 << 20; bytes = bytes * 3 + 1) {
		a = tw_realloc(a, bytes);
		CU_ASSERT(a && strcmp(a, "123456789") == 0);
		CU_ASSERT(bytes < page_bytes || (uintptr_t)a % page_bytes == 0);
		memset(a + 10, 7, bytes - 10);
	}
	a = tw_realloc(a, 10);
	CU_ASSERT_STRING_EQUAL(a, "123456789");
	errno = 0;
	CU_ASSERT_PTR_NULL(tw_realloc(a, SIZE_MAX / 4));
	CU_ASSERT_EQUAL(errno, ENOMEM);
	CU_ASSERT_STRING_EQUAL(a, "123456789");
	CU_ASSERT_PTR_NULL(tw_realloc(a, 0));
	proc_close();
	job_destroy();
}

/* Fresh memory has no home until the program touches it, so the allocator must not touch it. */
static void test_untouched(void)
{
	job_create(1, 1);
	proc_open(0);
	for (int i = 0; i < 3; i++) {
		CU_ASSERT_PTR_NOT_NULL(tw_malloc((size_t)20 << 20));
		CU_ASSERT_PTR_NOT_NULL(tw_calloc(5000, 4000));
	}
	for (int i = 0; i < 1000; i++)
		CU_ASSERT_PTR_NOT_NULL(tw_malloc(1 + (size_t)i * 7));
	CU_ASSERT_EQUAL(used_bytes(space_fd), 0);
	volatile char *a = tw_malloc(100);
	a[0] = 1;
	CU_ASSERT_NOT_EQUAL(used_bytes(space_fd), 0); /* the measure detects a touch */
	proc_close();
	job_destroy();
}

/* The log of stores, except stores_page. */
struct tw_stores tw_stores;
static size_t announced_from, announced_bytes;

void tw_stores_range(size_t offset, size_t bytes)
{
	announced_from = offset;
	announced_bytes = bytes;
}

void tw_stores_page(size_t page)
{
	(void)page;
	abort();
}

/* The stores of calloc and realloc are logged. */
static void test_stores_announced(void)
{
	job_create(1, 1);
	announced_bytes = 0;
	tw_stores.base = TW_SPACE_BASE;
	tw_stores.bytes = MEMORY;
	proc_open(0);
	char *a = tw_malloc(5000);
	memset(a, 1, 5000);
	CU_ASSERT_EQUAL(announced_bytes, 0);
	tw_free(a);
	a = tw_calloc(5, 1000);
	CU_ASSERT(a && a[0] == 0 && a[4999] == 0);
	CU_ASSERT(announced_bytes == 5000 && announced_from == (uintptr_t)a - TW_SPACE_BASE);
	a[4999] = 9;
	a = tw_realloc(a, 100000);
	CU_ASSERT(a && a[4999] == 9);
	CU_ASSERT(announced_bytes >= 5000 && announced_bytes <= 8192 && announced_from == (uintptr_t)a - TW_SPACE_BASE);
	proc_close();
	tw_stores.bytes = 0;
	job_destroy();
}

static bool all_zero(const char *at, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (at[i])
			return false;
	return true;
}

static void test_calloc(void)
{
	job_create(1, 1);
	proc_open(0);
	uint64_t seed = 3;
	for (int round = 0; round < 400; round++) {
		size_t bytes = 1 + unit_random(&seed) % (round % 10 ? 5000 : 3000000);
		char *a = tw_malloc(bytes);
		CU_ASSERT_PTR_NOT_NULL_FATAL(a);
		memset(a, 0xff, bytes);
		tw_free(a);
		a = tw_calloc(bytes, 1);
		CU_ASSERT_PTR_NOT_NULL_FATAL(a);
		CU_ASSERT(all_zero(a, bytes));
		memset(a, 0xff, bytes);
		if (round % 3)
			tw_free(a);
	}
	errno = 0;
	CU_ASSERT_PTR_NULL(tw_calloc(SIZE_MAX / 2, 3));
	CU_ASSERT_EQUAL(errno, ENOMEM);
	proc_close();
	job_destroy();
}

static void test_exhaustion(void)
{
	job_create(1, 1);
	proc_open(0);
	size_t before = chunks_taken();
	errno = 0;
	CU_ASSERT_PTR_NULL(tw_malloc(MEMORY + 1));
	CU_ASSERT_EQUAL(errno, ENOMEM);
	CU_ASSERT_PTR_NULL(tw_malloc(SIZE_MAX));
	CU_ASSERT_EQUAL(chunks_taken(), before); /* a request that cannot be met takes nothing */
	size_t got = 0;
	char *last = NULL;
	for (char *a; (a = tw_malloc(1 << 20)); last = a)
		got += 1 << 20;
	CU_ASSERT(got > MEMORY * 3 / 4);
	CU_ASSERT(chunks_taken() <= MEMORY / CHUNK);
	tw_free(last);
	CU_ASSERT_PTR_NOT_NULL(tw_malloc(1 << 20));
	proc_close();
	job_destroy();
}

/* Alternating frees and allocations must not consume space. */
static void test_churn(void)
{
	static char *block[500];
	size_t bytes[500], after = 0;
	uint64_t seed = 11;
	memset(block, 0, sizeof(block));
	job_create(1, 1);
	proc_open(0);
	for (int i = 0; i < 200000; i++) {
		size_t k = unit_random(&seed) % 500;
		if (block[k] && (block[k][0] != (char)k || block[k][bytes[k] - 1] != (char)k))
			CU_FAIL("a block was overwritten");
		tw_free(block[k]);
		bytes[k] = 1 + unit_random(&seed) % (i % 50 ? 3000 : 100000);
		block[k] = tw_malloc(bytes[k]);
		if (!block[k]) {
			CU_FAIL("out of memory");
			break;
		}
		block[k][0] = block[k][bytes[k] - 1] = (char)k;
		if (i == 100000)
			after = chunks_taken();
	}
	CU_ASSERT(chunks_taken() <= after + 2);
	CU_ASSERT(after * CHUNK <= (size_t)24 << 20);
	proc_close();
	job_destroy();
}

/* ---- several processors ----------------------------------------------------------------------------------------- */

#define CHECK(c)                                                                                                       \
	do {                                                                                                           \
		if (!(c)) {                                                                                            \
			tw_log("heap_test: processor %u: line %d: %s", proc.id, __LINE__, #c);                         \
			atomic_store(&board->failed, true);                                                            \
			_exit(1);                                                                                      \
		}                                                                                                      \
	} while (0)

/* Wait for all processors at place @n. */
static void meet(unsigned n)
{
	unsigned all = (unsigned)(config.nodes * config.processors);
	atomic_fetch_add(&board->arrived[n], 1);
	while (atomic_load(&board->arrived[n]) < all && !atomic_load(&board->failed))
		usleep(50);
	CHECK(!atomic_load(&board->failed));
}

static void run_job(unsigned nodes, unsigned locals, void (*body)(void))
{
	pid_t pid[ALL];
	job_create(nodes, locals);
	fflush(NULL);
	for (unsigned id = 0; id < nodes * locals; id++) {
		pid[id] = fork();
		if (pid[id] == 0) {
			proc_open(id);
			body();
			proc_close();
			_exit(0);
		}
	}
	for (unsigned id = 0; id < nodes * locals; id++) {
		int status = -1;
		waitpid(pid[id], &status, 0);
		if (status != 0)
			atomic_store(&board->failed, true);
		CU_ASSERT_EQUAL(status, 0);
	}
	job_destroy();
}

/* No page holds blocks of two processors, and no two blocks overlap. */
static void disjoint_body(void)
{
	static uint8_t owner[MEMORY / 4096];
	uint64_t seed = 5 + proc.id;
	for (unsigned i = 0; i < BLOCKS; i++) {
		size_t bytes = 1 + unit_random(&seed) % (i % 20 ? 500 : 50000);
		char *a = tw_malloc(bytes);
		CHECK(a);
		memset(a, (int)(proc.id * 50 + i % 50), bytes);
		board->block[proc.id][i] = (uintptr_t)a;
		board->bytes[proc.id][i] = bytes;
	}
	meet(0);
	for (unsigned id = 0; id < ALL; id++)
		for (unsigned i = 0; i < BLOCKS; i++) {
			uintptr_t at = board->block[id][i] - TW_SPACE_BASE;
			const char *a = (const char *)board->block[id][i];
			for (size_t p = at / 4096; p <= (at + board->bytes[id][i] - 1) / 4096; p++) {
				CHECK(owner[p] == 0 || owner[p] == id + 1);
				owner[p] = (uint8_t)(id + 1);
			}
			CHECK(a[0] == (char)(id * 50 + i % 50) && a[board->bytes[id][i] - 1] == a[0]);
		}
	meet(1);
}

/* A block freed elsewhere leaves at the second ship and returns to its owner's heap at the second take, not earlier. */
static void hand_back_body(void)
{
	const unsigned owner = 1;
	const size_t bytes = 5 << 20;
	if (proc.id == owner)
		board->block[0][0] = (uintptr_t)tw_malloc(bytes);
	meet(0);
	uintptr_t block = board->block[0][0];
	CHECK(block);
	if (proc.id == 3)
		tw_free((void *)block);
	if (proc.id == 3)
		tw_heap_ship(&proc);
	meet(1);
	if (proc.id == owner) {
		tw_heap_take(&proc);
		tw_heap_take(&proc);
		CHECK((uintptr_t)tw_malloc(bytes) != block); /* that release may not be performed yet */
	}
	meet(2);
	if (proc.id == 3)
		tw_heap_ship(&proc);
	meet(3);
	if (proc.id == owner) {
		tw_heap_take(&proc);
		CHECK((uintptr_t)tw_malloc(bytes) != block); /* seen after this acquire: too late for it */
		tw_heap_take(&proc);
		CHECK((uintptr_t)tw_malloc(bytes) == block);
	}
	meet(4);
}

/* All free blocks of processor 0, more than its ring holds, many times: nothing is lost, nothing grows. */
static void overflow_body(void)
{
	enum { MANY = 3 * SLOTS, ROUNDS = 12, TURNS = 6, BYTES = 1000 };
	size_t after = 0;
	unsigned place = 0;
	for (unsigned round = 0; round < ROUNDS; round++) {
		if (proc.id == 0)
			for (unsigned i = 0; i < MANY; i++)
				CHECK((board->block[0][i] = (uintptr_t)tw_malloc(BYTES)));
		meet(place++);
		for (unsigned i = proc.id; i < MANY; i += ALL)
			tw_free((void *)board->block[0][i]);
		for (unsigned turn = 0; turn < TURNS; turn++) {
			tw_heap_ship(&proc);
			meet(place++);
			tw_heap_take(&proc);
			meet(place++);
		}
		if (round == 3)
			after = chunks_taken();
	}
	CHECK(chunks_taken() <= after + 1);
	CHECK(after * CHUNK < 4 * (size_t)MANY * BYTES);
}

/* All processors allocate, pass blocks round, and check, resize or free other processors' blocks, without pause. */
static void round_body(void)
{
	enum { ROUNDS = 15, MANY = 1000 };
	uint64_t seed = 77 + proc.id;
	for (unsigned round = 0; round < ROUNDS; round++) {
		for (unsigned i = 0; i < MANY; i++) {
			size_t bytes = 8 + unit_random(&seed) % (i % 100 ? 2000 : 30000);
			uint64_t *a = i % 2 ? tw_malloc(bytes) : tw_calloc(1, bytes);
			CHECK(a && (i % 2 || all_zero((char *)a, bytes)));
			memset(a, 0xee, bytes);
			a[0] = proc.id * 1000000ull + round * 10000 + i;
			board->block[proc.id][i] = (uintptr_t)a;
			board->bytes[proc.id][i] = bytes;
		}
		tw_heap_ship(&proc);
		meet(2 * round);
		tw_heap_take(&proc);
		unsigned next = (proc.id + 1 + round % (ALL - 1)) % ALL;
		for (unsigned i = 0; i < MANY; i++) {
			uint64_t *a = (uint64_t *)board->block[next][i];
			CHECK(a[0] == next * 1000000ull + round * 10000 + i);
			if (i % 10 == 0) {
				a = tw_realloc(a, board->bytes[next][i] * 2);
				CHECK(a && a[0] == next * 1000000ull + round * 10000 + i);
				CHECK(board->bytes[next][i] < 9 ||
				      ((unsigned char *)a)[board->bytes[next][i] - 1] == 0xee);
			}
			tw_free(a);
		}
		tw_heap_ship(&proc);
		meet(2 * round + 1);
		tw_heap_take(&proc);
	}
	CHECK(chunks_taken() * CHUNK <= (size_t)128 << 20);
}

static void test_disjoint(void)
{
	run_job(NODES, LOCALS, disjoint_body);
}

static void test_hand_back(void)
{
	run_job(NODES, LOCALS, hand_back_body);
}

static void test_overflow(void)
{
	run_job(NODES, LOCALS, overflow_body);
}

static void test_round(void)
{
	run_job(NODES, LOCALS, round_body);
}

/* Freeing what is no block ends the job with a message and status 1. */
static void stranger_body(void)
{
	int local = 0, *volatile ptr = &local;
	tw_free(ptr);
}

static void again_body(void)
{
	char *volatile ptr = tw_malloc(64);
	tw_free(ptr);
	tw_free(ptr);
}

static void again_large_body(void)
{
	char *volatile ptr = tw_malloc((size_t)10 << 20);
	tw_free(ptr);
	tw_free(ptr);
}

static void inside_body(void)
{
	char *volatile ptr = tw_malloc(9000);
	tw_free(ptr + 4096);
}

static void odd_body(void)
{
	char *volatile ptr = tw_malloc(64);
	tw_free(ptr + 1);
}

static void realloc_freed_body(void)
{
	char *volatile ptr = tw_malloc(5000);
	tw_free(ptr);
	ptr = tw_realloc(ptr, 100);
}

/* The compiler knows these two by name. */
static void (*volatile free_private)(void *ptr) = free;
static void *(*volatile realloc_private)(void *ptr, size_t bytes) = realloc;

static void private_free_body(void)
{
	free_private(tw_malloc(64));
}

static void private_realloc_body(void)
{
	realloc_private(tw_malloc(64), 100);
}

static void refuse_one(void (*body)(void), const char *sentence)
{
	char text[512] = "";
	int ends[2], status = 0;

	CU_ASSERT_FATAL(pipe(ends) == 0);
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0) {
		dup2(ends[1], STDERR_FILENO);
		proc_open(0);
		body();
		_exit(0);
	}
	close(ends[1]);
	CU_ASSERT(read(ends[0], text, sizeof(text) - 1) > 0);
	close(ends[0]);
	waitpid(pid, &status, 0);
	CU_ASSERT(WIFEXITED(status) && WEXITSTATUS(status) == 1);
	CU_ASSERT(strstr(text, sentence) != NULL);
}

static void test_stranger(void)
{
	job_create(1, 1);
	refuse_one(stranger_body, "was not allocated by tw_malloc");
	refuse_one(again_body, "tw_free: ");
	refuse_one(again_body, "it was freed already, or never allocated");
	refuse_one(again_large_body, "it was freed already, or never allocated");
	refuse_one(inside_body, "lies 4096 bytes inside a block");
	refuse_one(odd_body, "lies 1 bytes inside a block");
	refuse_one(realloc_freed_body, "tw_realloc: ");
	if (!TW_ASAN && !TW_TSAN) {
		refuse_one(private_free_body, "free: ");
		refuse_one(private_free_body, "memory of the shared heap, from processor 0.0");
		refuse_one(private_realloc_body, "realloc: ");
	}
	job_destroy();
}

int main(void)
{
	CU_TestInfo tests[] = {
	    {"blocks", test_blocks},           {"blocks, 64 KiB pages", test_pages_64k},
	    {"realloc", test_realloc},         {"fresh memory stays untouched", test_untouched},
	    {"calloc", test_calloc},           {"stores are announced", test_stores_announced},
	    {"exhaustion", test_exhaustion},   {"churn", test_churn},
	    {"disjoint pages", test_disjoint}, {"handing back", test_hand_back},
	    {"full rings", test_overflow},     {"round trips", test_round},
	    {"no block", test_stranger},       CU_TEST_INFO_NULL,
	};
	return unit_main("heap", tests);
}
