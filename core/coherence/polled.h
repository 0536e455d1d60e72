/* SPDX-License-Identifier: BSD-3-Clause */
/* polled.h - polled pages: support for programs that wait for a flag with fences alone (OpenMP's flush) and plain loads
 * and stores.
 *
 * Many programs expect what threads of one machine provide: a thread that sees the flag also sees what was stored
 * before it, although there is no fence between those stores and the store to the flag, nor behind the loop that waits
 * for it. With copies of pages this does not hold. A fault fetches a page as it is now, not as it was at the last
 * acquire, and a home's stores are in the master copy before they are released. Therefore, for pages on which a loop
 * was seen to wait:
 *
 * - before a store to the page may be made, everything stored before is released, under the fences' lock;
 * - the page is fetched only by faults, under that lock, after an acquire.
 *
 * Correctness. A reader of a value in the page held the lock when it fetched the page. The releases before the store of
 * that value were also made under the lock, and before the fetch, because the value was there already. So the acquire
 * before the fetch covers them. The fetch makes the value visible to the other processors of the fetching node, too; so
 * what they have mapped is brought up to date before it (tw_protocol.freshen).
 *
 * Detection. A page becomes polled when a loop waits on it: two consecutive fences with nearly nothing between them,
 * both followed by an instruction that loads the same word, as reported by the assembler wrapper (tools/compile/as.c).
 * It stays polled. At the page's home, other nodes write to the frame at any time; there the page is unmapped behind
 * each fence and each stepped access (tw_protocol.hide), and the writers publish it after everything else
 * (tw_dirty_drain).
 *
 * The lock is released behind the access that faulted, by a single step (tw_fault.step). Otherwise stores that other
 * nodes publish at the home could come between. A backend that serves faults in another thread cannot single-step.
 *
 * Every store to the page faults: it is executed by a single step as well, and then released, under the same lock.
 * Where that would be too slow, because the program stores to the page all the time, and where nothing steps, the
 * page stays writable until the processor faults on another page for a store, which may be the data of the next
 * flag.
 *
 * Limits. Only the first load from a page between two fences faults, if the page was not written in between; at its
 * home, each load, unless the program loads from it all the time. So data of waiting threads must not lie in the flag's
 * page; the assembler wrapper ensures this for large arrays. Stores to a pinned page, such as the storing thread's
 * stack, never fault. A flag that is set before any thread has waited long enough for it is an ordinary page. Programs
 * that fence where OpenMP requires it need none of this. */
#ifndef TW_CORE_COHERENCE_POLLED_H
#define TW_CORE_COHERENCE_POLLED_H

#include "tweed/driver/protocol.h"

#define TW_POLLED_MOST 62u /* most polled pages of a job */

/* The lock of the program's fences, a tw_lock_t: enter() acquires, leave() releases. [sync; fault: under it only the
 * single-stepped instruction of the application runs, and its holder does not enter again] */
struct tw_fence {
	void (*enter)(void), (*leave)(void);
};

/* tw_serve_fn - run the protocol's hook for a fault on @p; @freshen: before a read fault, the hook freshen, too. */
typedef void tw_serve_fn(struct tw_proc *me, tw_page_t p, bool write, bool freshen);

/* tw_proc.fences: what the core calls in a program that fences, from this processor's first fence on.
 * fault - serve a fault on @p by @serve. If the page is polled: under the fences' lock, acquire and fetch the page,
 * and release what was stored before, if it is a store; let the access be executed by a single step; release the lock.
 * Without the step the lock is released first. A store to another page first releases polled pages that are writable,
 * under the lock. [fault]
 * synced - called after each acquire, and each release. Returns whether it was made in a fault. [sync, fault] */
struct tw_fence_hooks {
	void (*fault)(struct tw_proc *me, tw_page_t p, bool write, tw_serve_fn *serve);
	bool (*synced)(struct tw_proc *me, bool acquire);
};

/* tw_polled_any - does this processor fence, and has the job polled pages? */
static inline bool tw_polled_any(const struct tw_proc *me)
{
	return me->fences && __atomic_load_n((const uint64_t *)(const void *)(me->net->base + me->layout.polled_list),
	                                     __ATOMIC_RELAXED);
}

/* tw_polled_fence - execute a fence. The program's next load reads @flag; NULL: not known. [sync] */
void tw_polled_fence(struct tw_proc *me, const struct tw_fence *fence, const void *flag);

#endif
