/* SPDX-License-Identifier: BSD-3-Clause */
/* migrate.c - homes that migrate to the active writer (Cashmere-2LMigr, section 2.6).
 *
 * The entry's shared word is the page's homes word at its keeper: the home, and whether a migration is in progress,
 * entered by one compare-and-swap that is the paper's conditional lock.  It is read where the home matters: at
 * faults, at acquires for noticed pages, before diffs.
 *
 * A migration excludes diffs and writes at the home by publication (doc/internals/publication.md).  A flusher publishes its
 * diff bit, and a home about to write publishes `write`; then they read the shared word, and wait while a migration
 * is in progress.  A migrator sets the shared word, then reads everybody's words, and gives up if it finds a diff bit
 * or a writing home.  At least one sees the other (tests/models/migrate.pml).  For this, a home whose last writer
 * released publishes `read`.
 *
 * A reader may fetch from a home that is no longer one: that copy has all that was released before the migration, and
 * what the new home writes later is noticed to the reader, which published itself before it asked where the home is.
 * It asks after it took the time of its update, so that these notices are newer than that (migrate.pml, HOME_FIRST).
 * The diff bit of a page goes before the page is unlocked, if no diff of it is under way: else it could be a
 * neighbour's (DENOUNCE_LATE). */
#include "protocols/cashmere/cashmere.h"

/* Until no migration of the page is in progress.  The migrator waits for nobody.  Page locked. */
void cash_home_settled(struct tw_proc *me, tw_page_t p)
{
	_Atomic uint32_t nobody = 0;
	for (uint64_t pause_ns = 1000; tw_home_refresh(me, p); pause_ns = TW_MIN(2 * pause_ns, 100000u))
		tw_futex_wait(&nobody, 0, pause_ns);
}

/* Does a diff of another node's, or a writer at the home, stand in the way? */
static bool migrate_blocked(const struct tw_proc *me, tw_page_t p)
{
	if ((tw_dir_word(me, p, me->page[p].home - 1u) & TW_DIR_RIGHTS) == TW_WRITE)
		return true;
	for (unsigned n = 0; n < me->nodes && !tw_planted(me, "migrate-blindly"); n++)
		if (tw_dir_word(me, p, n) & TW_DIR_DIFF)
			return true;
	return false;
}

void cash_migrate(struct tw_proc *me, tw_page_t p)
{
	struct tw_page *e = &me->page[p];

	if (cash_is_home(me, e) || migrate_blocked(me, p) || !tw_home_move_begin(me, p))
		return;
	if (migrate_blocked(me, p)) {
		tw_home_move_end(me, p, e->home - 1u);
		return;
	}
	if (!tw_planted(me, "migrate-unfetched")) {
		cash_fetch(me, p);
		cash_fetched(me);
	}
	if (e->twin)
		tw_twin_destroy(me, p);
	tw_home_move_end(me, p, me->node);
	me->stats->now.migrations++;
	tw_trace_page(me, TW_TRACE_migration, p);
}
