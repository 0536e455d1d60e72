#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""OpenMP programs, built by `tweed omp cc` and run over nodes, against the same programs with gcc's own run-time: what they print
and how they end must be equal.

openmp.py TWEED SOURCES          each program under protocols and shapes, in a folder of its own, which is removed
openmp.py TWEED SOURCES FIRST N  programs made at random from seeds FIRST to FIRST + N - 1 (program.py)"""
import os
import sys
import tempfile

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")]
import program
from beside import Beside, run

PROTOCOLS = ["2L", "2LMigr", "TS"]
SHAPES = ["1x2", "2x1", "2x2", "3x1"]
PROGRAMS = {"regions.c": ["5"], "shares.c": [], "locks.c": [], "tasks.c": [], "stolen.c": [], "flags.c": [], "calls.c": [], "classes.cpp": []}
REFUSED = {"cancel": "cancel is not supported",
           "thread": "threads of its own (pthread_create) is not supported", "fork": "fork() in a program whose threads are processors",
           "exit": "exit(7) was called in a parallel region", "lock": "was not initialized",
           "doacross": "ordered with the clause depend is not supported", "reduction": "reduction with the modifier task"}
tweed, sources = (os.path.abspath(a) for a in sys.argv[1:3])
beside = Beside(tweed, [["omp", "cc"], ["omp", "c++"]], "-fopenmp")


def programs():
    for source, args in PROGRAMS.items():
        name = beside.build(os.path.join(sources, source))
        for protocol in PROTOCOLS if name else []:
            for shape in SHAPES:
                beside.compare(name, shape, protocol, *args)
        if name:
            beside.compare(name, "2x1", "2L", *args, options=["--transport", "sim", "--seed", "3"])
            beside.compare(name, "2x1", "2L", *args, options=["--fault", "mprotect"])
            beside.compare(name, "2x2", "2L", *args, options=["--page-size", "16K", "--home", "after-init"])
            beside.compare(name, "1x2", "none", *args)
    beside.compare("shares", "2x1", "2L", OMP_SCHEDULE="static,4")
    beside.compare("shares", "3x1", "2L", OMP_SCHEDULE="monotonic:guided , 2")


def apart():
    """Do large arrays begin pages of their own, which flags do not share?"""
    symbols = run("nm", "flags.tw")
    at = [line.split()[0] for line in symbols.stdout.splitlines() if line.endswith(" field")]
    beside.expect("large arrays begin a page", len(at) == 1 and int(at[0], 16) % 4096 == 0, symbols)


def stealing():
    """Are tasks carried out by several threads, where they share a node?"""
    for shape, protocol, threads in [("1x2", "2L", 2), ("1x2", "TS", 2), ("2x2", "2LMigr", 2), ("1x2", "1LD", 1), ("2x1", "2L", 1)]:
        nodes, processors = shape.split("x")
        done = run(tweed, "run", "-n", nodes, "-p", processors, "--protocol", protocol, "./stolen.tw", "where")
        beside.expect(f"threads with tasks at {shape} {protocol}", done.returncode == 0 and done.stdout == f"{threads}\n", done)


def refusals():
    name = beside.build(os.path.join(sources, "refused.c"))
    for what, text in REFUSED.items() if name else []:
        done = run(tweed, "run", "-n", "2", "./refused.tw", what)
        beside.expect(f"refused {what}", done.returncode not in (0, 124) and text in done.stderr, done)
    done = run(tweed, "run", "-n", "2", "./refused.tw", OMP_SCHEDULE="dynamic,x")
    beside.expect("bad OMP_SCHEDULE", done.returncode == 2 and "OMP_SCHEDULE is 'dynamic,x'" in done.stderr, done)
    done = run(tweed, "run", "-n", "2", "./refused.tw", OMP_STACKSIZE="much")
    beside.expect("bad OMP_STACKSIZE", done.returncode == 2 and "OMP_STACKSIZE is 'much'" in done.stderr, done)
    done = run("./refused.tw")
    beside.expect("without tweed run", done.returncode == 2 and "tweed run" in done.stderr, done)
    beside.said("clang", run(tweed, "omp", "cc", "x.c", CC="clang"), 2, "is not gcc")
    beside.said("what follows omp", run(tweed, "omp", "ld"), 2, "is followed by cc or c++")


def random(first, count):
    for seed in range(first, first + count):
        source = f"seed{seed}.c"
        with open(source, "w", encoding="utf-8") as f:
            f.write(program.make(seed))
        name = beside.build(source)
        shape = ["2x1", "2x2", "1x2", "3x1", "1x4"][seed % 5]
        if name and not beside.compare(name, shape, PROTOCOLS[seed % 3]):
            print(f"seed {seed}: {sys.argv[0]} {tweed} {sources} {seed} 1", flush=True)
        for end in (".c", ".tw", ".gcc"):
            if os.path.exists(f"seed{seed}{end}"):
                os.unlink(f"seed{seed}{end}")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    if len(sys.argv) > 3:
        random(int(sys.argv[3]), int(sys.argv[4]))
    else:
        programs()
        apart()
        stealing()
        refusals()
beside.end()
