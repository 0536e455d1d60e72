/* SPDX-License-Identifier: BSD-3-Clause */
/* polled.h - polled pages: programs that wait for a flag with fences alone (OpenMP's flush), and plain loads and stores.
 *
 * Many expect what threads of one machine give them: who sees the flag also sees what was stored before it, though no fence stands between
 * that and the store to the flag, nor behind the loop that waits for it.  With copies that is not so.  A fault fetches a page as it is
 * now, not as it was at the last acquire; a home's stores are in the master before they are released.  So, for pages on which
 * a loop was seen to wait:
 *
 *   - before a store may be made to one, all that was stored before is released, under the fences' lock;
 *   - one is fetched by faults alone, under that lock, after an acquire.
 *
 * Who reads a value there had the lock when it fetched it.  The releases before the store were made under it as well, and not later: the value was
 * there already.  So the acquire before the fetch has learned of them.  For the processors of the fetching node the fetch
 * makes the value visible, too: before it, what they have mapped is brought up to date (tw_protocol.freshen).
 *
 * A page is found when a loop waits on it: two fences in a row, with next to nothing between them, both followed by an instruction
 * that looks at one and the same word, which the assembler tells (tools/compile/as.c).  It stays polled.  Where the home is here, other nodes write to the
 * frame at any time: there the page is unmapped behind each fence (tw_protocol.hide), and they publish it after all else
 * (tw_polled_late).
 *
 * The lock is let go behind the access that faulted, by a single step (tw_fault.step): else what other nodes publish at the home might come
 * between.  A backend that serves faults in another thread cannot do so.
 *
 * What remains.  Only the first access to a page between two fences faults, if it was not written in between, and only the first store between two
 * releases: data of threads that wait must not lie in the flag's page, which the assembler sees to for large arrays.
 * Stores to a pinned page, such as the stack of the thread that stores, never fault.  And a flag that is set before anyone waited long
 * enough for it is a page like any other.  Programs that fence where OpenMP wants it need none of this. */
#ifndef TW_CORE_COHERENCE_POLLED_H
#define TW_CORE_COHERENCE_POLLED_H

#include "tweed/driver/protocol.h"

/* The lock of the program's fences, that of a tw_lock_t: who enters acquires, who leaves has released.  [sync; fault: under it runs no
 * application code but the instruction that is stepped, and tw_polls.held keeps its holder from entering again] */
struct tw_fence {
	void (*enter)(void), (*leave)(void);
};

/* tw_polled_fence - a fence; the program is going to look at @flag.  NULL: not known.  [sync] */
void tw_polled_fence(struct tw_proc *me, const struct tw_fence *fence, const void *flag);
/* tw_polled_fault - before a fault on @p is served.  True when the page is polled: then this processor has the fences' lock, has
 * acquired, and fetches the page before it calls tw_polled_fetched, which releases and leaves the lock.  [fault] */
bool tw_polled_fault(struct tw_proc *me, tw_page_t p);
void tw_polled_fetched(struct tw_proc *me);

#endif
