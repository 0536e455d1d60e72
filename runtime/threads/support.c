/* SPDX-License-Identifier: BSD-3-Clause */
#include "runtime/threads/support.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/coherence/word.h"
#include "runtime/process/streams/stdio.h"
#include "sync/sync.h"

struct th_locks th_locks;
bool th_far, th_others, th_words;

void th_refuse(const char *format, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	th_stdio_flush(false);
	tw_say_last(text);
	if (tw_me)
		tw_me->stats->refused = 1;
	_exit(2);
}

void th_word_lock(uint32_t *word)
{
	th_stack_reserve();
	if (th_others)
		tw_lock_acquire(th_lock_in(word));
}

void th_word_unlock(uint32_t *word)
{
	if (th_others)
		tw_lock_release(th_lock_in(word));
}

void *th_allocate_all(size_t bytes)
{
	void *p = tw_malloc_all(bytes);

	if (!p)
		th_refuse("no memory is left of TWEED_MEMORY: raise it");
	return p;
}

__attribute__((noinline, section(".tweed_calls"))) uintptr_t th_call(th_called *function, const void *a, const void *b,
                                                                     const void *c)
{
	uintptr_t result = ((uintptr_t(*)(const void *, const void *, const void *))function)(a, b, c);

	__asm__ volatile("" : "+r"(result)); /* so that this is no jump */
	return result;
}

void th_end_job(int status)
{
	tw_me->stats->refused = TW_ENDED_JOB;
	for (;;)
		syscall(SYS_exit_group, status);
}

/* A file of other compilers in the program (tools/compile/ld_copies.c). */
extern const char tw_foreign_spins[] __attribute__((weak));

void th_open(void)
{
	tw_lock_t *lock = (tw_lock_t *)(void *)&th_locks;

	if (tw_foreign_spins && tw_id() == 0 && tw_me->nodes > 1)
		tw_log("warning: %s was made by another compiler, and seems to have locks of its own: if it releases "
		       "them by plain stores, compile it with 'tweed cc', or run the program on one node",
		       tw_foreign_spins);
	if (tw_id() == 0)
		for (size_t i = 0; i < sizeof(th_locks) / sizeof(*lock); i++)
			lock[i] = tw_lock_create();
	tw_bcast(&th_locks, sizeof(th_locks), 0);
	th_words = tw_word_direct(tw_me);
	tw_sync_others = &th_others;
}

/* The number changes once.  A 0 may be read from an old copy, so only the atomic operation decides. */
static uint32_t word_number(uint32_t *word, bool some)
{
	static uint32_t spare; /* created, but another processor was first */
	uint32_t seen = *word, made;

	while (!(seen & TH_NUMBER)) {
		if (!spare) {
			tw_lock_t lock = some ? tw_sync_lock_create_some(tw_me) : tw_lock_create();
			spare = lock.id ? tw_sync_short(tw_me, lock.id) : 0;
		}
		made = spare ? spare : TH_WORD_FREE;
		uint32_t old = th_compare_and_swap(word, seen, seen | made);
		if (old == seen)
			spare = 0;
		seen = old == seen ? made : old;
	}
	return seen & TH_NUMBER;
}

tw_lock_t th_lock_in(uint32_t *word)
{
	return (tw_lock_t){tw_sync_whole(tw_me, word_number(word, false))};
}

tw_lock_t th_lock_in_some(uint32_t *word)
{
	uint32_t number = word_number(word, true);

	return (tw_lock_t){number < TH_WORD_FREE ? tw_sync_whole(tw_me, number) : 0};
}
