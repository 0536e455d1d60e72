#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What `tweed run --survive` says and with which status it ends.

survive.py TWEED KILLED COUNTER SHMEM   KILLED: tests/pgas/killed; COUNTER, SHMEM: a program of tweed.h, and one of
OpenSHMEM"""
import subprocess
import sys

TWEED, KILLED, COUNTER, SHMEM = sys.argv[1:5]
wrong = 0


def run(what, status, says, *command):
    global wrong
    try:
        done = subprocess.run([TWEED, "run", *command], capture_output=True, text=True, timeout=50)
    except subprocess.TimeoutExpired:
        print(f"{what}: hangs")
        wrong += 1
        return
    lines = [line for line in done.stderr.splitlines() if "Sanitizer" not in line]
    texts = [says[1]] if isinstance(says[1], str) else says[1]
    if done.returncode != status or len(lines) != says[0] or any(not any(text in line for text in texts)
                                                                 for line in lines):
        print(f"{what}: status {done.returncode} in place of {status}; wanted {says[0]} lines with '{says[1]}':\n"
              f"{done.stderr}")
        wrong += 1


shape = ["-n", "2", "-p", "2"]
run("some die", 0, (2, "was killed by signal 9 (Killed); the job goes on without it"), "--survive", *shape, KILLED,
    "some", "50")
run("a node dies", 0, (1, "was killed by signal 9 (Killed); the job goes on without the node"), "--survive", "-n", "3",
    "-p", "2", KILLED, "node", "50")
run("lost memory is read", 0, (3, ("the job goes on without the node",
                                   "and with it the memory that this operation needs",
    "exited with status 1; the job goes on without it")), "--survive", "-n", "3", "-p", "1", KILLED, "lost", "50")
run("the first node dies", 137, (1, "the job is ended, for it cannot do without node 0"), "--survive", *shape, KILLED,
    "first")
run("all die", 137, (4, "the job goes on without it"), "--survive", *shape, KILLED, "all")
run("without --survive", 137, (1, "the job is ended"), *shape, KILLED, "all")
run("shared memory", 2, (1, "shared memory cannot go on when a processor dies; run this program without --survive"),
    "--survive", *shape, COUNTER, "10")
run("OpenSHMEM", 2, (1, "OpenSHMEM cannot go on when a processor dies; run this program without --survive"),
    "--survive", *shape, SHMEM)
sys.exit(wrong != 0)
