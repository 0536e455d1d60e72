#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs whose processors wait for what never comes: one sentence, status 1, nothing left.  And some where it comes
late.

stuck.py TWEED STUCK"""
import os
import re
import subprocess
import sys

tweed, stuck = (os.path.abspath(p) for p in sys.argv[1:3])
ALL = "all processors wait for each other: "
CASES = [
    ("second thread", 1, r"0\.1: tw_barrier_all was called by a second thread of this processor, while another thread "
                         r"of it waits in tw_barrier_all"),
    ("barrier", 1, r"tw_(finalize|barrier_all) was called, but processor [01]\.[01] has called "
                   r"tw_(barrier_all|finalize): all"),
    ("malloc", 1, r"tw_.*tw_malloc_all.*all processors must make the same call"),
    ("held", 1, r"0\.1: tw_finalize: this processor holds lock [0-9a-f]+: release it first"),
    ("two locks", 1, "deadlock of locks: "
     r"0\.0 in tw_lock_acquire of lock [0-9a-f]+, which 0\.1 holds; 0\.1 in tw_lock_acquire of lock [0-9a-f]+, which "
     r"0\.0 holds; 1\.0, 1\.1 in tw_finalize"),
    ("not released", 1, ALL +
     r"0\.0 in tw_barrier_all; 0\.1, 1\.0, 1\.1 in tw_lock_acquire of lock [0-9a-f]+, which 0\.0 holds"),
    ("too few", 1, ALL + r"0\.0, 1\.0, 1\.1 in tw_finalize; 0\.1 in tw_barrier_wait of barrier [0-9a-f]+ for 3 "
                         r"processors"),
    ("flag", 1, ALL + r"0\.0, 1\.0, 1\.1 in tw_finalize; 0\.1 in tw_flag_wait of flag [0-9a-f]+ for 7"),
    ("late", 0, ""),
    ("late signal", 7, "the signal came"),
]

TOGETHER = 4  # an agent of more jobs at once got no processor for 2 s, with asan on two cores


def start(case, transport, lock="queue"):
    command = [tweed, "run", "-n", "2", "-p", "2", "--watch", "300", "--transport", transport, "--lock", lock, stuck,
               case]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                            text=True)


def wrong(job, case, status, sentence):
    try:
        err = job.communicate(timeout=60)[1]
    except subprocess.TimeoutExpired:
        job.terminate()
        job.wait()
        err = "no end"
    # Before it, where the threads are.
    where = r"tweed: [0-9., ]+: (in |without|not begun|unknown)"
    said = [line for line in err.splitlines() if not re.match(where, line)]
    good = job.returncode == status and re.search(sentence, err) and len(said) == (sentence != "")
    if not good:
        print(f"{case}: status {job.returncode}: {err}")
    return not good


bad = 0
runs = [(case, transport, "queue") for transport in ("shm", "sim") for case in CASES]
runs += [(case, transport, "array") for case, transport, _ in runs if "lock " in case[2] and case[1]]
for first in range(0, len(runs), TOGETHER):
    jobs = [(start(case[0], transport, lock), *case) for case, transport, lock in runs[first:first + TOGETHER]]
    bad += sum([wrong(*job) for job in jobs])
print(f"stuck: {bad} wrong")
sys.exit(bad != 0)
