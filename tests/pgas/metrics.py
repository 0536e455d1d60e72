#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The metrics file of pgas-intset has the fields of Remus's tutorial, and each number is true: this test draws the
same operations,
executes them on a set of its own, and counts what a lazy list on another node takes.

metrics.py TWEED INTSET TRANSPORT"""
import bisect
import os
import subprocess
import sys
import tempfile

TWEED, INTSET, TRANSPORT = sys.argv[1:4]
FIELDS = ["duration", "get_t", "get_f", "ins_t", "ins_f", "rmv_t", "rmv_f", "op_count", "write", "bytes_write", "read",
          "bytes_read", "faa",
          "cas"]
SEED, KEYS, OPS, NODE, WORD = 3, 64, 2000, 32, 8
ADVANCE_EVERY = 128
wrong = 0


def need(good, what):
    global wrong
    if not good:
        print(what)
        wrong += 1


def splitmix(state):
    mask = (1 << 64) - 1
    while True:
        state = state + 0x9e3779b97f4a7c15 & mask
        z = (state ^ state >> 30) * 0xbf58476d1ce4e5b9 & mask
        z = (z ^ z >> 27) * 0x94d049bb133111eb & mask
        yield z ^ z >> 31


def execute(insert, remove, prefill):
    """What one PE does on a list that is on another node."""
    draws, keys = splitmix(SEED * 1000), sorted(i * 100 // prefill for i in range(KEYS * prefill // 100))
    m = dict.fromkeys(FIELDS, 0)
    for _ in range(OPS):
        key, action = next(draws) % KEYS, next(draws) % 100
        kind = "get" if action < 100 - insert - remove else "ins" if action < 100 - remove else "rmv"
        at = bisect.bisect_left(keys, key)
        found = at < len(keys) and keys[at] == key
        nodes = min(at + 1, len(keys))
        m["read"] += 1 + nodes  # the root's next, and each node whole
        m["bytes_read"] += WORD + nodes * NODE
        done = not found if kind == "ins" else found
        m[f"{kind}_{'t' if done else 'f'}"] += 1
        m["op_count"] += 1
        if kind == "ins" and done:  # lock, look again; the node, the link, unlock
            m["cas"] += 1
            m["read"] += 1
            m["bytes_read"] += WORD
            m["write"] += 3
            m["bytes_write"] += NODE + 2 * WORD
            keys.insert(at, key)
        elif kind == "rmv" and done:  # two locks, look again, the node's next; mark, link, unlock both
            m["cas"] += 2
            m["read"] += 2
            m["bytes_read"] += 2 * WORD
            m["write"] += 4
            m["bytes_write"] += 4 * WORD
            keys.pop(at)
    return m


def run(directory, *arguments):
    path = os.path.join(directory, "metrics.txt")
    subprocess.run([TWEED, "run", "-n", "2", "--transport", TRANSPORT, *arguments, "--metrics", path], check=True,
                   stdout=subprocess.DEVNULL,
                   timeout=50)
    with open(path, encoding="ascii") as f:
        lines = [line.rstrip("\n").split(": ") for line in f]
    need([line[0] for line in lines] == FIELDS, f"the fields are {[line[0] for line in lines]}")
    return {name: int(number) for name, number in lines}


def compare(insert, remove, prefill, directory):
    m = run(directory, "-p", "1", INTSET, "--num-ops", str(OPS), "--key-ub", str(KEYS - 1), "--seed", str(SEED),
            "--prefill", str(prefill),
            "--insert", str(insert), "--remove", str(remove), "--first-mn-id", "1", "--last-mn-id", "1",
            "--first-cn-id", "0", "--last-cn-id", "0")
    mine = execute(insert, remove, prefill)
    # Reclamation adds a read and a compare-and-swap for each advance, and what a new chunk of memory takes.
    advances = 2 * (mine["rmv_t"] // ADVANCE_EVERY + 1) if mine["rmv_t"] else 0
    more = {"read": 2 + advances, "bytes_read": 32 + 128 * advances, "write": 1, "bytes_write": 16, "cas": advances,
            "faa": 1}
    for name in FIELDS[1:]:
        need(mine[name] <= m[name] <= mine[name] + more.get(name, 0) * (insert > 0),
             f"{insert}/{remove} of {prefill} %: {name} is {m[name]}, counted {mine[name]}")
    need(0 < m["duration"] < 50e6, f"it took {m['duration']} us")


with tempfile.TemporaryDirectory() as d:
    compare(0, 0, 100, d)
    compare(50, 50, 50, d)
    compare(20, 10, 25, d)
    both = run(d, "-p", "2", INTSET, "--num-ops", "500", "--key-ub", "63")
    need(both["op_count"] == 2000 == sum(both[name] for name in FIELDS[1:7]), f"operations of four PEs: {both}")
sys.exit(wrong != 0)
