/* SPDX-License-Identifier: BSD-3-Clause */
/* stack.c - the thread that runs the program, and the process around it.
 *
 * The program runs in a second thread of each processor, whose stack is shared memory.  The C library keeps a thread's
 * variables at the top of its stack, so they are shared, too, and at different addresses on each processor: pointers to
 * them (copyin) are valid everywhere.  The part of the stack in use, and some below it, is pinned: neither library
 * functions nor Tweed ever fault on their own stack.
 *
 * The first thread joins the job and leaves it.  Leaving unmaps the shared space, and with it the stack of the thread
 * that called exit().  So that thread waits, without accessing memory, until the first thread has left the job and has
 * put a private copy of the stack in the stack's place. */
#include <asm/prctl.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/futex.h>
#include <linux/rseq.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/signals.h"
#include "core/coherence/shootdown.h"
#include "core/process/fork.h"
#include "core/process/syscalls.h"
#include "core/memory/globals.h"
#include "sync/sync.h"
#include "runtime/threads/baton.h"
#include "runtime/process/events/events.h"
#include "runtime/process/events/exits.h"
#include "runtime/process/forkserver.h"
#include "runtime/process/streams/iostreams.h"
#include "runtime/process/program_heap.h"
#include "runtime/process/settings/locale.h"
#include "runtime/process/hosts/first_host.h"
#include "runtime/process/mapping.h"
#include "runtime/process/state.h"
#include "runtime/process/streams/stdio.h"
#include "runtime/threads/support.h"

#define STACK_BYTES    ((size_t)8 << 20)   /* the minimum, unless specified otherwise */
#define STACK_PLACES   1024u               /* most that are looked at for a stack */
#define STACK_FIRST    ((size_t)192 << 10) /* initially pinned, below thread-local variables */
#define STACK_SIGNAL   ((size_t)256 << 10) /* private: for fault handlers */
#define STACK_GUARD    TH_STACK_SLACK      /* below each stack; not accessed, so that overflows are found */
#define STACK_FRAME    ((size_t)1 << 20)   /* most of one function, where an overflow is found */
#define STACK_FLUSHES  10u      /* tries at exit to flush a stream that another thread holds; then it is forced */
#define STACK_FLUSH_NS 1000000u /* between them */

__thread char *th_stack_pinned;
__thread size_t th_stack_span;
static __thread char *stack_own;   /* end of the calling thread's stack; NULL: not a shared one */
static __thread size_t stack_size; /* its bytes */
static __thread char *stack_low;   /* its lowest pinned byte */

static struct {
	char *end;
	size_t bytes, tls;      /* of most stacks; tls: the part for thread-local variables, at the top of each */
	char *kept_from;        /* start of the part to preserve at the end */
	_Atomic uint32_t stage; /* STAGE_... */
	int argc;
	char **argv;
	bool leaving, flushed;
	bool last;  /* stack_exits is called */
	int status; /* the argument of exit() */
} stack;
enum { STAGE_RUNS, STAGE_ENDS, STAGE_LEFT, STAGE_FORKS };

static struct {
	jmp_buf back;
	char *end;           /* of its stack, */
	size_t bytes;        /* which has so many */
	ptrdiff_t from_end;  /* of each stack, to the C library's thread descriptor */
	pid_t child, stands; /* stands: the process of the first host that stands for it; 0: none */
	int error;
} forking;

typedef void stack_constructor(int argc, char **argv, char **environment);
extern stack_constructor *__init_array_start[], *__init_array_end[];
int stack_main(int argc, char **argv, char **environment) __asm__("main"); /* the program's */

/* Pin from @pinned down to @below or lower; returns the lowest pinned byte. */
static char *stack_pin(const char *base, char *pinned, char *below)
{
	size_t page = (size_t)tw_me->layout.page_bytes;
	char *low = (char *)((uintptr_t)below & ~(page - 1));

	low = TW_MAX(low - STACK_FIRST / 2, (char *)(uintptr_t)base);
	if (low >= pinned)
		return pinned; /* the program is about to overflow it */
	/* Cause the faults here, where they are the program's; inside tw_pin they would be Tweed's. */
	for (volatile char *at = low; at < pinned; at += page)
		*at = *at;
	int error = tw_pin(low, (size_t)(pinned - low));
	while (error && tw_me->id && !stack_own)
		pause(); /* at the start, until the job ends: one processor prints the sentence */
	if (error && tw_me->config.race)
		th_refuse("races are not looked for in programs with threads, whose stacks are pinned: leave --race "
		          "(TWEED_RACE) "
		          "out");
	if (error)
		th_refuse("stacks cannot be pinned under protocol %s: choose another by --protocol",
		          tw_me->protocol->name);
	return low;
}

/* What is pinned suffices for frames at @low + TH_STACK_SLACK, and up to @high. */
static void stack_within(char *low, char *high)
{
	th_stack_pinned = low;
	th_stack_span = TW_MAX((size_t)(high - low), TH_STACK_SLACK) - TH_STACK_SLACK;
}

static bool stack_guards(const char *address)
{
	return stack_own && (size_t)(stack_own - stack_size - address) - 1 < STACK_GUARD;
}

/* Tweed itself may read what is below any stack, to copy it for a child. */
static bool stack_overflow(const siginfo_t *si, const void *uc)
{
	const ucontext_t *context = uc;
	const char *frame = (const char *)(uintptr_t)context->uc_mcontext.gregs[REG_RSP];

	return stack_guards(si->si_addr) &&
	       (size_t)(stack_own - stack_size + STACK_GUARD - frame) < STACK_GUARD + STACK_FRAME;
}

void th_stack_extend(char *below)
{
	char *here = below + TH_STACK_SLACK;

	if (!tw_me)
		return;
	if (!stack_own) {
		th_stack_span = SIZE_MAX; /* before the next call, which may allocate memory */
		th_library_thread();
		return;
	}
	if (stack_guards(here))
		th_refuse("a thread's stack of %zu bytes has overflowed: give it a larger one (ulimit -s)", stack_size);
	if ((size_t)(stack_own - here) - 1 >= stack_size) {
		stack_within(th_foreign_pin(here), here + 1);
		return;
	}
	if (below < stack_low)
		stack_low = stack_pin(stack_own - stack_size, stack_low, below);
	stack_within(stack_low, stack_own);
}

/* The kernel must not write to the stack on its own. */
static void stack_no_rseq(void)
{
	extern const ptrdiff_t __rseq_offset __attribute__((weak));
	extern const unsigned __rseq_size __attribute__((weak));

	if (!&__rseq_size || !__rseq_size)
		return;
	struct rseq *area = (void *)((char *)__builtin_thread_pointer() + __rseq_offset);
	if (syscall(SYS_rseq, area, 32, RSEQ_FLAG_UNREGISTER, 0x53053053) == 0)
		area->cpu_id = (uint32_t)RSEQ_CPU_ID_REGISTRATION_FAILED;
}

size_t th_stack_bytes(void)
{
	return stack_size;
}

static size_t stack_limit(void)
{
	struct rlimit limit;
	bool known = getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;

	return TW_MAX(known ? (size_t)limit.rlim_cur : 0, STACK_BYTES);
}

static int stack_tls_of(struct dl_phdr_info *info, size_t bytes, void *sum)
{
	(void)bytes;
	for (unsigned i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_TLS)
			*(size_t *)sum += info->dlpi_phdr[i].p_memsz + info->dlpi_phdr[i].p_align;
	return 0;
}

static size_t stack_align(void)
{
	return TW_MAX((size_t)tw_me->layout.page_bytes * tw_me->config.superpage, (size_t)4096);
}

/* Behind a stack's end. */
struct stack_room {
	size_t bytes; /* of the stack */
	char *pinned; /* its lowest pinned byte, kept while no thread runs on it; NULL: none yet */
	_Alignas(64) char room[TH_ROOM - 64];
};
_Static_assert(sizeof(struct stack_room) == TH_ROOM, "it fits");

static struct stack_room *stack_room(char *end)
{
	return (struct stack_room *)(void *)end;
}

/* Pin what a new thread's stack needs first. */
static void stack_pin_top(char *end)
{
	stack_room(end)->pinned = stack_pin(th_stack_base(end), end, end - STACK_FIRST / 2 - stack.tls);
}

/* The room is in pages that are not pinned: under protocols whose homes migrate, its writers get them.  Homes are set
 * before any access: a page whose home is still tentative (TWEED_HOME=after-init) could not be pinned. */
char *th_stack_create(unsigned node, size_t least)
{
	static char *bad[STACK_PLACES];
	size_t room = stack_align(), bytes = TW_MAX(stack.bytes, TW_ALIGN_UP(least + stack.tls, room));
	size_t guard = TW_ALIGN_UP(STACK_GUARD, room);
	unsigned count = 0;
	char *base;

	while ((base = tw_aligned_alloc(room, guard + bytes + room)) &&
	       tw_home_set(base, guard + bytes + room, (int)node) != 0) {
		bad[count++] = base; /* used before, by another node */
		if (count == STACK_PLACES) {
			base = NULL;
			break;
		}
	}
	while (count)
		tw_free(bad[--count]);
	if (!base)
		return NULL;
	base += guard;
	memset(base + bytes, 0, TH_ROOM);
	stack_room(base + bytes)->bytes = bytes;
	return base + bytes;
}

void th_stack_scarce(size_t least)
{
	th_refuse("no %zu bytes are left of TWEED_MEMORY for a stack, in pages that no other node has used: raise it",
	          TW_MAX(stack.bytes, least + stack.tls));
}

char *th_stack_base(char *end)
{
	return end - stack_room(end)->bytes;
}

bool th_stack_holds(char *end, size_t least)
{
	return stack_room(end)->bytes >= TW_MAX(least + stack.tls, stack.bytes);
}

void *th_stack_room(char *end)
{
	return stack_room(end)->room;
}

static int stack_attr(char *end, pthread_attr_t *attr)
{
	pthread_attr_init(attr);
	return pthread_attr_setstack(attr, th_stack_base(end), stack_room(end)->bytes);
}

static void __attribute__((noreturn, cold)) stack_refuse(char *end, int error)
{
	th_refuse("cannot start a thread with a stack of %zu bytes: %s", stack_room(end)->bytes, strerror(error));
}

void th_stack_attr(char *end, pthread_attr_t *attr)
{
	if (!stack_room(end)->pinned)
		stack_pin_top(end);
	int error = stack_attr(end, attr);
	if (error)
		stack_refuse(end, error);
}

void th_stack_enter(char *end)
{
	stack_own = end;
	stack_size = stack_room(end)->bytes;
	stack_low = stack_room(end)->pinned;
	stack_within(stack_low, end);
	stack_no_rseq();
}

void th_stack_leave(void)
{
	stack_room(stack_own)->pinned = stack_low;
}

char *th_stack_own(void)
{
	return stack_own;
}

static void stack_create(size_t bytes)
{
	size_t align = stack_align();

	dl_iterate_phdr(stack_tls_of, &stack.tls);
	stack.bytes = TW_ALIGN_UP(TW_MAX(bytes ? bytes : stack_limit(), 2 * STACK_FIRST) + stack.tls, align);
	stack.end = th_stack_create((unsigned)tw_node(), 0);
	if (!stack.end)
		th_stack_scarce(0);
	tw_signal_overflow = stack_overflow;
	stack_pin_top(stack.end);
}

/* ---- the program's thread ---------------------------------------------------------------------------------------- */

/* Let the first thread leave the job, and wait until it has.  From the first store on, this thread uses only
 * registers. */
static void stack_hand_over(void)
{
	sigset_t all;

	fflush(NULL);
	th_hosts_leave();
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	/* Tweed's own, too: its handlers use this thread's errno, which is in the stack. */
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, NULL, (size_t)NSIG / 8);
	tw_gate_detach();
	stack.kept_from = (char *)((uintptr_t)__builtin_frame_address(0) - 4096);
	__asm__ volatile("	movl	%[ends], (%[stage])\n"
	                 "	movl	%[wake], %%esi\n"
	                 "	movl	$1, %%edx\n"
	                 "	movl	%[futex], %%eax\n"
	                 "	movq	%[stage], %%rdi\n"
	                 "	syscall\n"
	                 "1:	cmpl	%[left], (%[stage])\n"
	                 "	je	2f\n"
	                 "	movl	%[wait], %%esi\n"
	                 "	movl	%[ends], %%edx\n"
	                 "	xorl	%%r10d, %%r10d\n"
	                 "	movl	%[futex], %%eax\n"
	                 "	movq	%[stage], %%rdi\n"
	                 "	syscall\n"
	                 "	jmp	1b\n"
	                 "2:\n"
	                 :
	                 : [stage] "b"(&stack.stage), [ends] "i"(STAGE_ENDS), [left] "i"(STAGE_LEFT),
	                   [wake] "i"(FUTEX_WAKE_PRIVATE), [wait] "i"(FUTEX_WAIT_PRIVATE), [futex] "i"(SYS_futex)
	                 : "rax", "rcx", "rdx", "rsi", "rdi", "r10", "r11", "memory", "cc");
}

static stack_constructor __attribute__((constructor(102))) stack_begin;

/* The constructors behind stack_begin, which does not return to the C library. */
static void stack_construct(void)
{
	stack_constructor **next = __init_array_start;

	while (*next != stack_begin)
		next++;
	while (++next < __init_array_end)
		th_call(TH_CALLED(*next), (void *)(intptr_t)stack.argc, stack.argv, environ);
}

static void *stack_thread(void *arg)
{
	static char signal_stack[STACK_SIGNAL] __attribute__((aligned(64)));

	(void)arg;
	tw_gate_attach();
	th_stack_enter(stack.end);
	tw_signal_stack(&(stack_t){.ss_sp = signal_stack, .ss_size = sizeof(signal_stack)});
	tw_shootdown_thread(tw_me);
	th_signals_thread();
	th_hosts_enter();
	if (tw_id())
		th_heap_open();
	th_heap_main();
	if (tw_id() == 0) {
		stack_construct();
		exit((int)th_call(TH_CALLED(stack_main), (void *)(intptr_t)stack.argc, stack.argv, environ));
	}
	th_kind_work();
	th_locale_close();
	th_stdio_close();
	stack.leaving = true;
	stack_hand_over();
	for (;;)
		pause();
}

static void stack_start(void)
{
	pthread_attr_t attr;
	pthread_t thread;
	int error;

	error = stack_attr(stack.end, &attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	tw_gate_detach();
	if (!error)
		error = pthread_create(&thread, &attr, stack_thread, NULL);
	pthread_attr_destroy(&attr);
	if (error)
		stack_refuse(stack.end, error);
}

/* ---- stages of the two threads ----------------------------------------------------------------------------------- */

static void stack_say(uint32_t stage)
{
	stack.stage = stage;
	syscall(SYS_futex, &stack.stage, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void stack_wait(uint32_t stage)
{
	syscall(SYS_futex, &stack.stage, FUTEX_WAIT_PRIVATE, stage, NULL, NULL, 0);
}

/* ---- children ---------------------------------------------------------------------------------------------------- */

/* In the child, the C library's fork stores into the top of each thread's stack before any handler runs.  These pages
 * alone are mapped in the child, shared with its parent, until the copy replaces them; then the stores are undone. */
#define FORK_TOP 8192u
struct fork_keep {
	char *kept;
	bool keep;
};

static void fork_keep_stack(char *end, void *arg)
{
	struct fork_keep *k = arg;
	char *self = end - forking.from_end;
	size_t bytes = TW_MIN((size_t)(end - self), (size_t)FORK_TOP);
	char *page = (char *)((uintptr_t)self & ~(uintptr_t)4095);

	memcpy(k->keep ? k->kept : self, k->keep ? self : k->kept, bytes);
	madvise(page, (size_t)(end - page), k->keep ? MADV_DOFORK : MADV_DONTFORK);
	k->kept += FORK_TOP;
}

static void fork_keep(bool keep)
{
	static char *kept;
	static size_t bytes;
	struct fork_keep k = {NULL, keep};

	if (keep) {
		bytes = FORK_TOP * (th_siblings + 1u);
		kept = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (kept == MAP_FAILED)
			tw_fatal("fork: no memory for parts of the stacks: %s", strerror(errno));
	}
	k.kept = kept;
	if (!th_baton_stacks(fork_keep_stack, &k))
		fork_keep_stack(forking.end, &k);
	if (!keep)
		munmap(kept, bytes);
}

/* From now on, thread-local variables are those of the program's thread, not the caller's.  So they have the addresses
 * that the program knows; the compiler may have kept that of errno. */
static __attribute__((noinline)) void fork_variables(void)
{
	syscall(SYS_arch_prctl, ARCH_SET_FS, forking.end - forking.from_end);
}

static __attribute__((noinline, noreturn)) void fork_become(void)
{
	th_events_child();
	th_far = th_others = false;
	stack_own = NULL;
	th_stack_span = SIZE_MAX;
	th_baton_forget();
	th_hosts_forked(true);
	longjmp(forking.back, 1);
}

/* The child continues as the program's thread, on the copy of its stack. */
static void __attribute__((noreturn)) fork_go_on(const int ends[2])
{
	if (mprotect(forking.end - forking.bytes, forking.bytes, PROT_READ | PROT_WRITE))
		tw_fatal("fork: the child cannot have a stack: %s", strerror(errno));
	close(ends[0]);
	close(ends[1]);
	fork_variables();
	fork_become();
}

/* In the first thread, the only one that a child has.  The pipe's end means that the copy is complete. */
static void fork_serve(void)
{
	int ends[2];
	char none;

	forking.child = -1;
	if (pipe2(ends, O_CLOEXEC) == 0) {
		fork_keep(true);
		if (forking.stands)
			th_signals_fork(true);
		forking.child = fork();
		if (forking.child == 0 && forking.stands && fork() != 0)
			_exit(0); /* the program's child is a process of the first host */
		if (forking.child == 0)
			fork_go_on(ends);
		forking.error = errno;
		close(ends[1]);
		while (forking.child > 0 && read(ends[0], &none, 1) < 0 && errno == EINTR)
			;
		close(ends[0]);
		fork_keep(false);
		while (forking.child > 0 && forking.stands && syscall(SYS_wait4, forking.child, NULL, 0, NULL) < 0 &&
		       errno == EINTR)
			;
		if (forking.stands)
			th_signals_fork(false);
	} else {
		forking.error = errno;
	}
	stack_say(STAGE_RUNS);
}

static pid_t fork_here(void)
{
	sigset_t all, before;

	th_stack_reserve();
	th_exits_touch();
	th_stdio_touch();
	tw_fork_fetch();
	forking.end = stack_own;
	forking.bytes = stack_size;
	forking.from_end = stack_own - (char *)__builtin_thread_pointer();
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (!setjmp(forking.back)) {
		stack_say(STAGE_FORKS);
		while (stack.stage == STAGE_FORKS)
			stack_wait(STAGE_FORKS);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (forking.child < 0)
		errno = forking.error;
	return forking.child;
}

/* Replaces the C library's fork for the program and for libraries. */
pid_t fork(void)
{
	static pid_t (*real)(void);

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "fork");
	if (!tw_me || !stack_own)
		return real();
	th_atfork_prepare();
	th_mapping_fork();
	th_segments_fork();
	forking.stands = th_hosts_fork();
	pid_t child = forking.stands < 0 ? -1 : fork_here();
	if (child > 0 && forking.stands) {
		th_hosts_forked(false);
		child = forking.stands;
	} else if (child > 0) {
		th_children_add(child);
	}
	th_atfork_after(child == 0);
	return child;
}

/* ---- the first thread -------------------------------------------------------------------------------------------- */

/* The part of its stack that the program's thread still needs. */
static void stack_leave(void)
{
	size_t bytes = (size_t)(stack.end - stack.kept_from);
	char *kept =
	    mmap(NULL, stack.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (kept == MAP_FAILED)
		tw_fatal("no memory for a copy of the stack: %s", strerror(errno));
	tw_gate_attach();
	memcpy(kept + (stack.bytes - bytes), stack.kept_from, bytes);
	tw_shootdown_thread(tw_me);
	tw_globals_forget();
	tw_sync_held_forget(tw_me);
	tw_finalize();
	if (mremap(kept, stack.bytes, stack.bytes, MREMAP_MAYMOVE | MREMAP_FIXED, stack.end - stack.bytes) ==
	    MAP_FAILED)
		tw_fatal("cannot give the stack back: %s", strerror(errno));
}

static void stack_attend(void)
{
	th_signals_none();
	while (stack.stage != STAGE_ENDS) {
		if (stack.stage == STAGE_FORKS)
			fork_serve();
		stack_wait(STAGE_RUNS);
	}
	stack_leave();
	if (stack.leaving)
		syscall(SYS_exit_group, 0);
	stack_say(STAGE_LEFT);
	for (;;)
		pause();
}

/* For calls from inside the C library, too. */
static void stack_exit(int status, void *arg)
{
	(void)arg;
	stack.status = status;
	th_exits_run(status);
}

/* In either thread: leave the job.  The shared memory is gone afterwards.  The program's thread goes on with a copy of
 * its stack; there is none of a stack of the program's own making (a coroutine's), so there the job ends at once. */
static void stack_part(void)
{
	bool copied = (size_t)(stack.end - (char *)__builtin_frame_address(0)) - 1 < stack.bytes;

	th_kind_exit(stack.status);
	if (!copied && syscall(SYS_gettid) != syscall(SYS_getpid))
		th_end_job(stack.status & 255);
	th_exits_close();
	th_locale_close();
	th_stdio_close();
	if (copied) {
		stack_hand_over();
	} else {
		tw_globals_forget();
		tw_sync_held_forget(tw_me);
		tw_finalize();
	}
}

/* The C library's _exit begins with a jump to this, which ends the process.  Destructors of libraries have run, and may
 * have used shared memory.  Tweed's own code ends at once, and so does a signal handler on a stack of its own. */
static void __attribute__((noreturn)) stack_exits(int status)
{
	if (tw_me && !tw_forked() && th_heap_shares(__builtin_return_address(0))) {
		stack.status = status;
		if (stack.flushed)
			th_stdio_flush(false);
		stack_part();
	}
	for (;;)
		syscall(SYS_exit_group, status);
}

/* exit(), in either thread, after all of the program's own destructors; those of shared libraries follow.  Other
 * threads may go on to print, and one of them hold a stream for a moment, or for ever. */
static void stack_end(void)
{
	bool others = tw_me && !tw_forked();

	for (unsigned tries = 0; !th_stdio_flush(tries == STACK_FLUSHES) && others && tries < STACK_FLUSHES; tries++)
		th_sleep(tw_time_ns() + STACK_FLUSH_NS);
	stack.flushed = true;
	if (!tw_me || tw_forked())
		return;
	th_mapping_end();
	if (!stack.last)
		stack_part();
}
static void (*stack_fini)(void) __attribute__((used, section(".fini_array.00001"))) = stack_end;

/* Nested functions of GNU C have code on stacks, which are shared memory.  The linker marks such programs. */
static void stack_executable(void)
{
	const Elf64_Phdr *p = (const void *)getauxval(AT_PHDR);

	for (unsigned long i = 0; i < getauxval(AT_PHNUM); i++)
		if (p[i].p_type == PT_GNU_STACK && p[i].p_flags & PF_X)
			personality((unsigned)personality(0xffffffff) | READ_IMPLIES_EXEC);
}

/* Runs before the program's own constructors, which only processor 0 runs, in the program's thread as main(). */
static void stack_begin(int argc, char **argv, char **environment)
{
	(void)environment;
	stack.argc = argc;
	stack.argv = argv;
	fflush(NULL);
	th_events_share();
	const struct tw_boot *boot = th_fork_server();
	tw_syscalls_whole();
	stack.last = tw_redirect("_exit", (void (*)(void))(uintptr_t)stack_exits);
	stack_executable();
	th_iostreams_begin();
	th_state_begin();
	tw_init(NULL, NULL);
	th_turns_check();
	tw_fork_copies(tw_me->app, tw_me->config.memory);
	th_open();
	stack_create(th_kind_open());
	if (tw_id() == 0)
		th_heap_open();
	th_stdio_open();
	th_mapping_open();
	th_segments_open();
	th_state_open(&stack.argv);
	th_iostreams_open();
	th_locale_open();
	th_executable_open();
	th_hosts_open(boot);
	on_exit(stack_exit, NULL);
	th_exits_open();
	th_events_open();
	th_channels_open(th_hosts_many(boot));
	th_pipes_open();
	th_atfork_open();
	stack_start();
	stack_attend();
}
