/* SPDX-License-Identifier: BSD-3-Clause */
/* migrate.c - homes that migrate to the active writer (Cashmere-2LMigr, section 2.6).
 *
 * The directory entry's shared word is the page's homes word at its keeper: the home, and whether a migration is in
 * progress.  A migration begins by one compare-and-swap, the paper's conditional lock.  The word is read where the
 * home matters: at faults, at acquires for pages with notices, before diffs.
 *
 * A migration excludes diffs and writes at the home by publication (doc/internals/publication.md).  A node that
 * flushes publishes its diff bit, and a home about to write publishes `write`; then they read the homes word, and
 * wait while a migration is in progress.  A migrator sets the homes word, then reads the words of all nodes, and
 * gives up if it finds a diff bit or a writing home.  At least one of two sees the other (tests/models/migrate.pml).
 * For this, a home whose last writer has released publishes `read`.
 *
 * A reader may fetch from a previous home.  That copy has all that was released before the migration.  What the new
 * home writes later is noticed to the reader, because the reader published itself before it read where the home is.
 * It reads that after it took the time of its update, so these notices are newer than the update (migrate.pml,
 * HOME_FIRST).  A page's diff bit is removed before the page is unlocked, if no diff of the page is in flight: else
 * the removal could hit a neighbour's bit (DENOUNCE_LATE). */
#include "protocols/cashmere/cashmere.h"

/* Wait until no migration of the page is in progress; a migrator waits for no other processor.  Page locked. */
void cash_home_settled(struct tw_proc *me, tw_page_t p)
{
	_Atomic uint32_t nobody = 0;
	for (uint64_t pause_ns = 1000; tw_home_refresh(me, p); pause_ns = TW_MIN(2 * pause_ns, 100000u))
		tw_futex_wait(&nobody, 0, pause_ns);
}

/* Does another node's diff, or a writer at the home, prevent the migration? */
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
