#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Processes that programs make, and signals, over each transport: what the job says, and its status.

ends.py TWEED SOURCES KIND...    KIND: tweed, globals, parmacs, shmem, omp, pthreads"""
import json
import os
import signal
import subprocess
import sys
import tempfile

KINDS = {"tweed": ["cc"], "globals": ["cc", "--no-stores", "--shared-globals"], "shmem": ["oshcc"],
         "parmacs": ["cc", "--parmacs"], "omp": ["omp", "cc"], "pthreads": ["cc", "--pthreads"]}
MISUSES = {"omp": 1, "pthreads": 1, "parmacs": 2}
THREADS = "a child of fork() has one thread"
CHILD = "a child of fork() used shared memory or called a function of Tweed"
tweed, sources, kinds = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3:]
wrong = 0


def run(*command, **env):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60,
                              env={**os.environ, "CC": "gcc", **env})
        return done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired as late:
        return 124, (late.stdout or b"").decode(), "no end"


def expect(what, got, status, out, *texts):
    """On stderr each of the texts, and nothing if there is none."""
    global wrong
    good = got[0] == status and out in got[1] and all(t in got[2] for t in texts) and (not got[2] or texts)
    wrong += not good
    if not good:
        print(f"WRONG: {what}: {got}", flush=True)


def job(kind, transport, program, *args, shape=("2", "1"), options=()):
    return run(tweed, *(["oshrun", "-n", str(int(shape[0]) * int(shape[1])), "--ppn", shape[1]] if kind == "shmem"
                        else ["run", "-n", shape[0], "-p", shape[1]]),
               "--transport", transport, *options, "./" + program, *args)


def build(source, kind):
    program = f"{source}-{kind}"
    got = run(tweed, *KINDS[kind], "-O1", "-Wall", "-Wextra", "-Werror", f"-DKIND_{kind.upper()}",
              os.path.join(sources, source + ".c"), "-o", program)
    expect(f"{program} compiles", got, 0, "")
    return program


def children(kind, transport):
    program = build("children", kind) if transport == "shm" else f"children-{kind}"
    got = job(kind, transport, program)
    expect(f"children of {kind} over {transport}", got, 0, "right", THREADS if kind in ("omp", "pthreads") else CHILD)
    expect(f"lines of {kind} over {transport}", (got[2].count("\n"), "", ""), MISUSES.get(kind, 3), "")


def deaths(transport):
    """No other library's report of a signal is printed, and it leaves no file.  Tweed's own says where."""
    for number in (signal.SIGABRT, signal.SIGSEGV):
        got = job("tweed", transport, "signals-tweed", "dies", str(int(number)))
        expect(f"{number.name} over {transport}", got, 128 + number, "", f"was killed by signal {int(number)}")
        expect(f"lines for {number.name} over {transport}", (got[2].count("\n"), "", ""), 2, "")
    expect(f"files left over {transport}", (len([n for n in os.listdir() if n.endswith(".btr")]), "", ""), 0, "")


def use():
    """Handlers, masks and stacks of the program and of a library that is loaded late."""
    with open("take.c", "w", encoding="utf-8") as f:
        f.write("#include <signal.h>\nvoid take(int number, void (*handler)(int)) { signal(number, handler); }\n")
    expect("a library compiles", run("cc", "-shared", "-fPIC", "-o", "take.so", "take.c"), 0, "")
    for fault in [b["name"] for b in info["fault_backends"] if b["usable"]]:
        expect(f"signals under {fault}", job("tweed", "shm", "signals-tweed", "works", "./take.so",
                                             options=("--fault", fault)), 0, "")
    expect("signals with interrupts", job("tweed", "shm", "signals-tweed", "works", "./take.so",
                                          options=("--shootdown", "interrupt"), shape=("2", "2")), 0, "")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    info = json.loads(run(tweed, "info", "--json")[1])
    transports = [t["name"] for t in info["transports"] if t["name"] in ("shm", "ofi") and t["usable"]]
    build("signals", "tweed")
    for transport in transports:
        deaths(transport)
        for kind in kinds:
            children(kind, transport)
    use()
print(f"{wrong} wrong")
sys.exit(wrong != 0)
