#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""OpenMP programs, built by `tweed omp cc` and run over nodes, against the same programs with gcc's own run-time: what they print
and how they end must be equal.

openmp.py TWEED SOURCES          each program under protocols and shapes, in a folder of its own, which is removed
openmp.py TWEED SOURCES FIRST N  programs made at random from seeds FIRST to FIRST + N - 1 (program.py)"""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import program

WARN = ["-O2", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas"]
PROTOCOLS = ["2L", "2LMigr", "TS"]
SHAPES = ["1x2", "2x1", "2x2", "3x1"]
PROGRAMS = {"regions.c": ["5"], "shares.c": [], "locks.c": [], "tasks.c": [], "calls.c": [], "classes.cpp": []}
REFUSED = {"cancel": "cancel is not supported",
           "thread": "threads of its own (pthread_create) is not supported", "fork": "fork() in an OpenMP",
           "exit": "exit(7) was called in a parallel region", "lock": "was not initialized",
           "doacross": "ordered with the clause depend is not supported", "reduction": "reduction with the modifier task"}
failures = []
cases = 0
tweed, sources = (os.path.abspath(a) for a in sys.argv[1:3])


def run(*command, timeout=100, **env):
    try:
        return subprocess.run(command, env={**os.environ, "CC": "gcc", "CXX": "g++", **env}, input="a line\n", stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=timeout)
    except subprocess.TimeoutExpired as late:
        return subprocess.CompletedProcess(command, 124, (late.stdout or b"").decode(), "no end")


def expect(name, good, *done):
    global cases
    cases += 1
    if not good:
        failures.append(name)
        print(f"FAILED {name}", *(f"status {d.returncode}\n{d.stdout[-1500:]}{d.stderr[-600:]}" for d in done), sep="\n", flush=True)
    return good


def build(source):
    """Both programs, without their ends .tw and .gcc; None when one does not compile."""
    name = os.path.basename(source).split(".")[0]
    cxx = source.endswith("pp")
    good = True
    for end, command in [(".tw", [tweed, "omp", "c++" if cxx else "cc"]), (".gcc", ["g++" if cxx else "gcc", "-fopenmp"])]:
        done = run(*command, *WARN, source, "-o", name + end)
        good &= expect(f"{source} compiles for {end}", done.returncode == 0 and not done.stderr, done)
    return name if good else None


def compare(name, shape, protocol, *args, options=(), **env):
    nodes, processors = shape.split("x")
    right = run(f"./{name}.gcc", *args, OMP_NUM_THREADS=str(int(nodes) * int(processors)), **env)
    done = run(tweed, "run", "-n", nodes, "-p", processors, "--protocol", protocol, *options, f"./{name}.tw", *args, **env)
    return expect(f"{name} {shape} {protocol} {' '.join(options)} {env or ''}",
                  done.returncode == right.returncode and done.stdout == right.stdout and not done.stderr, done, right)


def programs():
    for source, args in PROGRAMS.items():
        name = build(os.path.join(sources, source))
        for protocol in PROTOCOLS if name else []:
            for shape in SHAPES:
                compare(name, shape, protocol, *args)
        if name:
            compare(name, "2x1", "2L", *args, options=["--transport", "sim", "--seed", "3"])
            compare(name, "2x1", "2L", *args, options=["--fault", "mprotect"])
            compare(name, "2x2", "2L", *args, options=["--page-size", "16K", "--home", "after-init"])
            compare(name, "1x2", "none", *args)
    compare("shares", "2x1", "2L", OMP_SCHEDULE="static,4")
    compare("shares", "3x1", "2L", OMP_SCHEDULE="monotonic:guided , 2")


def said(name, done, status, text):
    expect(name, done.returncode == status and text in done.stderr and done.stderr.count("\n") == 1, done)


def refusals():
    name = build(os.path.join(sources, "refused.c"))
    for what, text in REFUSED.items() if name else []:
        done = run(tweed, "run", "-n", "2", "./refused.tw", what)
        expect(f"refused {what}", done.returncode not in (0, 124) and text in done.stderr, done)
    done = run(tweed, "run", "-n", "2", "./refused.tw", OMP_SCHEDULE="dynamic,x")
    expect("bad OMP_SCHEDULE", done.returncode == 2 and "OMP_SCHEDULE is 'dynamic,x'" in done.stderr, done)
    done = run(tweed, "run", "-n", "2", "./refused.tw", OMP_STACKSIZE="much")
    expect("bad OMP_STACKSIZE", done.returncode == 2 and "OMP_STACKSIZE is 'much'" in done.stderr, done)
    done = run("./refused.tw")
    expect("without tweed run", done.returncode == 2 and "tweed run" in done.stderr, done)
    said("clang", run(tweed, "omp", "cc", "x.c", CC="clang"), 2, "is not gcc")
    said("what follows omp", run(tweed, "omp", "ld"), 2, "is followed by cc or c++")


def random(first, count):
    for seed in range(first, first + count):
        source = f"seed{seed}.c"
        with open(source, "w", encoding="utf-8") as f:
            f.write(program.make(seed))
        name = build(source)
        shape = ["2x1", "2x2", "1x2", "3x1"][seed % 4]
        if name and not compare(name, shape, PROTOCOLS[seed // 4 % 3]):
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
        refusals()
print(f"{cases - len(failures)} passed, {len(failures)} failed")
sys.exit(bool(failures))
