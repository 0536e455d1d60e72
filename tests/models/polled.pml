/* SPDX-License-Identifier: BSD-3-Clause */
/* polled.pml - a flag that is polled with fences and plain loads (core/coherence/polled.h).
 *
 * Processor W stores data, then a flag in a polled page, then fences.  It is the home of both pages, so each store is
 * in the master at once.  Between data and flag the program has no fence: the store to the flag faults, and that
 * fault fences.  Processors 0 and 1 of another node share that node's frames.  They fence, read the flag, read the
 * data, once or several times, for ever, with no fence between the reads.  A fence's acquire unmaps pages with notices
 * from the acquiring processor.  A processor that has the page mapped does not fault, and sees what another processor's
 * fetch puts into the frame.
 *
 * HOME: the readers' node is the home of the flag's page.  W's releases write the flag to the frame, after all else.
 *
 * Claim:    a processor that sees the flag's n-th value sees the data's n-th or a later one.  Nothing blocks for
 *           ever.
 * Not here: data that W stores after it has stored to the flag's page.
 *
 * N: values.  P: processors of the reading node.
 *
 * pan:  -DN=3 -DP=1
 * pan:  -DN=2 -DP=2
 * pan:  -DN=3 -DP=1 -DHOME
 * pan:  -DN=2 -DP=2 -DHOME
 * fail: -DN=2 -DP=1 -DNO_TRAP        the store to the flag is not preceded by a fence
 * fail: -DN=2 -DP=1 -DNO_LOCK        the flag's page is fetched without the fences' lock and an acquire
 * fail: -DN=2 -DP=1 -DACQUIRE_FIRST  the lock is released between acquire and fetch
 * fail: -DN=2 -DP=2 -DNO_FRESHEN     pages that other processors have mapped stay stale
 * fail: -DN=2 -DP=1 -DHOME -DNO_HIDE   the page stays mapped at its home behind an access that was stepped
 */
bit lock;
byte home_data, home_flag;   /* the masters */
bit dirty_data, dirty_flag;  /* W's, since its last release */

byte data, flag;             /* the frames of the reading node */
bit stale_data, stale_flag;  /* a notice is later than the last fetch */
bit sees_data[2], sees_flag[2]; /* mapped, per processor */
bit noticed_data[2], noticed_flag[2]; /* notices not yet acted upon, per processor */
bit page_lock;

inline release()
{
	if
	:: dirty_data -> d_step { stale_data = 1; noticed_data[0] = 1; noticed_data[1] = 1; dirty_data = 0 }
	:: else
	fi;
	if
#ifdef HOME
	:: dirty_flag -> d_step { flag = home_flag; dirty_flag = 0 }
#else
	:: dirty_flag -> d_step { stale_flag = 1; noticed_flag[0] = 1; noticed_flag[1] = 1; dirty_flag = 0 }
#endif
	:: else
	fi
}

inline writer_fence()
{
	atomic { !lock -> lock = 1 };
	release();
	lock = 0
}

active proctype w()
{
	byte n = 0;

	do
	:: n < N ->
		n++;
		d_step { home_data = n; dirty_data = 1 };
#ifndef NO_TRAP
		writer_fence();
#endif
		d_step { home_flag = n; dirty_flag = 1 };
		writer_fence()
	:: else -> break
	od
}

inline acquire(me)
{
	d_step {
		if
		:: noticed_data[me] -> noticed_data[me] = 0; sees_data[me] = sees_data[me] && !stale_data
		:: else
		fi;
		if
		:: noticed_flag[me] -> noticed_flag[me] = 0; sees_flag[me] = sees_flag[me] && !stale_flag
		:: else
		fi
	}
}

/* Update what the other processor has mapped. */
inline freshen(me)
{
#ifdef NO_FRESHEN
	skip
#else
	atomic { !page_lock -> page_lock = 1 };
	if
	:: sees_data[1 - me] && stale_data -> stale_data = 0; data = home_data
	:: else
	fi;
	page_lock = 0
#endif
}

inline fetch_flag(me)
{
	atomic { !page_lock -> page_lock = 1 };
	if
#ifndef HOME
	:: stale_flag || !flag -> stale_flag = 0; flag = home_flag
#endif
	:: else
	fi;
	sees_flag[me] = 1;
	page_lock = 0
}

inline fetch_data(me)
{
	atomic { !page_lock -> page_lock = 1 };
	if
	:: stale_data || !data -> stale_data = 0; data = home_data
	:: else
	fi;
	sees_data[me] = 1;
	page_lock = 0
}

inline hide(me)
{
#ifdef HOME
	atomic { !page_lock -> page_lock = 1 };
	sees_flag[me] = 0;
	page_lock = 0
#else
	skip
#endif
}

inline load_flag(me)
{
	if
	:: !sees_flag[me] ->
#ifdef NO_LOCK
		fetch_flag(me);
		f = flag
#else
		atomic { !lock -> lock = 1 };
		acquire(me);
#ifdef ACQUIRE_FIRST
		lock = 0;
		fetch_flag(me);
		f = flag;
#else
		freshen(me);
		fetch_flag(me);
		f = flag;
		lock = 0;
#endif
#ifdef NO_HIDE
		skip
#else
		hide(me)
#endif
#endif
	:: else -> f = flag
	fi
}

proctype reader(byte me)
{
	byte f;

end:	do
	:: atomic { !lock -> lock = 1 };
		acquire(me);
		lock = 0;
		do
		:: load_flag(me);
			if
			:: !sees_data[me] -> fetch_data(me)
			:: else
			fi;
			assert(data >= f)
		:: break
		od
	od
}

init
{
	run reader(0);
	if
	:: P > 1 -> run reader(1)
	:: else
	fi
}
