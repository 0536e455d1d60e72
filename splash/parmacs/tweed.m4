/*dnl m4_divert(-1) m4_define(`define', m4_defn(`m4_define')) m4_define(`divert', m4_defn(`m4_divert')) m4_define(`dnl', m4_defn(`m4_dnl')) m4_define(`undefine', m4_defn(`m4_undefine')) m4_define(`ifdef', m4_defn(`m4_ifdef')) m4_dnl
divert(-1)
# SPDX-License-Identifier: BSD-3-Clause
# tweed.m4 - the macros of Argonne National Laboratory (PARMACS) on Tweed: for the programs of SPLASH-2, Splash-3 and
# Splash-4.
#
#	m4 -Ulen -Uindex PREFIX/share/tweed/tweed.m4 program.c.in > program.c
#	tweed cc --parmacs --no-stores -O2 -o program program.c -lm
#
# tweed/parmacs.h declares what they expand to; doc/guide/splash.md explains how to build a suite.  The first line is
# for `m4 -P`, which has
# its own names only with a prefix: it opens a comment of C, which the last line closes.

define(`TWEED_ENV', `
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>
#include <tweed/parmacs.h>
#ifndef PAGE_SIZE
#define PAGE_SIZE 4096
#endif
#define __MAX_THREADS__ 16384
')
define(`MAIN_ENV', `TWEED_ENV')
define(`EXTERN_ENV', `TWEED_ENV')
define(`MAIN_INITENV', `{;}')
define(`MAIN_END', `{exit(0);}')

# A missing number of processors is 0, which starts the function on one more (SPLASH-2).
define(`CREATE', `{tw_parmacs_create((void (*)(void))($1), ($2 + 0));}')
define(`WAIT_FOR_END', `{tw_parmacs_join();}')

# Callers omit the semicolon.
define(`G_MALLOC', `tw_parmacs_malloc($1);')
define(`G_MALLOC_F', `tw_parmacs_malloc($1)')
define(`NU_MALLOC', `tw_parmacs_malloc($1);')
define(`NU_MALLOC_F', `tw_parmacs_malloc($1)')
define(`G_FREE', `tw_free($1);')
define(`NU_FREE', `tw_free($1);')

define(`LOCKDEC', `tw_lock_t $1;')
define(`LOCKINIT', `{($1) = tw_lock_create();}')
define(`LOCK', `{tw_lock_acquire($1);}')
define(`UNLOCK', `{tw_parmacs_unlock($1);}')

define(`ALOCKDEC', `tw_lock_t ($1)[$2];')
define(`ALOCKINIT', `{tw_parmacs_locks_init(($1), ($2));}')
define(`ALOCK', `{tw_lock_acquire(($1)[$2]);}')
define(`AULOCK', `{tw_parmacs_unlock(($1)[$2]);}')
define(`AGETL', `(($1)[$2])')

define(`BARDEC', `tw_parmacs_barrier_t $1;')
define(`BARINIT', `{tw_parmacs_barrier_init(&($1), ($2 + 0));}')
define(`BARRIER', `{tw_parmacs_barrier_wait(&($1), ($2));}')
define(`BAREXCLUDE', `{;}')
define(`BARINCLUDE', `{;}')
define(`ABARDEF', `')
define(`ABAREXTERN', `')
define(`BAREXTERN', `')

define(`PAUSEDEC', `tw_parmacs_pause_t $1;')
define(`PAUSEINIT', `{tw_parmacs_pause_init(&($1));}')
define(`SETPAUSE', `{tw_parmacs_pause_set(&($1));}')
define(`WAITPAUSE', `{tw_parmacs_pause_wait(&($1));}')
define(`CLEARPAUSE', `{;}')

define(`CONDVARDEC', `long $1;')
define(`CONDVARINIT', `{tw_parmacs_condition_init(&($1));}')
define(`CONDVARWAIT', `{tw_parmacs_condition_wait(&($1), ($2));}')
define(`CONDVARSIGNAL', `{tw_parmacs_condition_signal(&($1));}')
define(`CONDVARBCAST', `{tw_parmacs_condition_broadcast(&($1));}')

# Subscripts are returned one by one, 0 to $3, then -1 to each of $4 processors.
define(`GSDEC', `struct { tw_lock_t lock; long next; } $1;')
define(`GSINIT', `{($1).lock = tw_lock_create(); ($1).next = 0;}')
define(`GETSUB', `{tw_lock_acquire(($1).lock);
($2) = ($1).next <= ($3) ? ($1).next : -1;
($1).next = ($1).next < ($3) + ($4) ? ($1).next + 1 : 0;
tw_parmacs_unlock(($1).lock);}')

# Locks order more than fences do.
define(`RELEASE_FENCE', `{;}')
define(`ACQUIRE_FENCE', `{;}')
define(`FULL_FENCE', `{;}')

define(`FETCH_ADD', `TWEED_FETCH(`$1', `+ ($2)');')
define(`FETCH_SUB', `TWEED_FETCH(`$1', `- ($2)');')
define(`FETCH_ADD_DOUBLE', `TWEED_FETCH(`*($1)', `+ ($2)');')
# On the word that has the bits of a variable: TWEED_ATOMIC(variable, operation, value, expected value), the last two of
# the same type; 0 where the operation has none.
define(`TWEED_ATOMIC', `({union { __typeof__($1) is; unsigned long word; } tw_value_ = {0}, tw_expect_ = {0};
_Static_assert(sizeof($1) == 4 || sizeof($1) == 8, "atomic operations need a variable of 4 or 8 bytes");
tw_value_.is = $3;
tw_expect_.is = $4;
tw_value_.word = tw_parmacs_atomic(tw_at_, sizeof($1), TW_PARMACS_$2, tw_value_.word, tw_expect_.word);
tw_value_.is;})')
define(`TWEED_COMPARE_EXCHANGE', `({__typeof__($1) tw_was_ = $2;
$2 = TWEED_ATOMIC(`$1', `COMPARE_EXCHANGE', `$3', `tw_was_');
__builtin_memcmp(&tw_was_, &$2, sizeof(tw_was_)) == 0;})')
define(`TWEED_FETCH', `({__typeof__($1) *tw_at_ = &($1), tw_by_ = 0 $2;
(__typeof__($1))0.5 == 0 ? TWEED_ATOMIC(`*tw_at_', `ADD', `tw_by_', 0) : TWEED_ATOMIC(`*tw_at_', `ADD_REAL', `tw_by_', 0);})')
define(`LOAD', `({__typeof__($1) *tw_at_ = &($1);
TWEED_ATOMIC(`*tw_at_', `LOAD', 0, 0);})')
define(`STORE', `({__typeof__($1) *tw_at_ = &($1), tw_new_ = ($2);
TWEED_ATOMIC(`*tw_at_', `STORE', `tw_new_', 0);})')
define(`CAS', `({__typeof__($1) *tw_at_ = &($1), tw_new_ = ($3);
TWEED_COMPARE_EXCHANGE(`*tw_at_', `($2)', `tw_new_');})')

define(`CLOCK', `{($1) = tw_parmacs_clock();}')
define(`SPLASH3_ROI_BEGIN', `tw_parmacs_measure(1)')
define(`SPLASH3_ROI_END', `tw_parmacs_measure(0)')
define(`SPLASH4_ROI_BEGIN', `tw_parmacs_measure(1)')
define(`SPLASH4_ROI_END', `tw_parmacs_measure(0)')

define(`GET_PID', `{($1) = tw_id();}')
define(`GET_HOME', `{($1) = tw_node();}')

# Words that Splash-4 uses, with -P, and that other programs use as names of their own.
ifdef(`m4_define', `', `undefine(`LOAD', `STORE', `CAS')')
ifdef(`m4_define', `m4_divert(0)*/m4_undefine(`define', `divert', `dnl', `undefine', `ifdef')m4_dnl', `divert(0)*/dnl')
