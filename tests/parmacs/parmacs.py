#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The PARMACS macros, and programs whose global variables and heap are shared, under each protocol; how they end; and
what
`tweed cc` refuses to place.

parmacs.py TWEED M4 TWEED-M4 SOURCES    in a folder of its own, which is removed"""
import os
import shutil
import subprocess
import sys
import tempfile

PROTOCOLS = ["2L", "2LS", "2LOffMC", "2LMigr", "1LD", "1L", "TS"]
failures = []
cases = 0
tweed, m4, macros, sources = (os.path.abspath(shutil.which(a) or a) for a in sys.argv[1:5])


def run(*command, cc="gcc", timeout=120):
    return subprocess.run(command, env={**os.environ, "CC": cc, "CXX": {"gcc": "g++", "clang": "clang++"}[cc]},
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=timeout)


def expect(name, good, done):
    global cases
    cases += 1
    if not good:
        failures.append(name)
        print(f"FAILED {name}: status {done.returncode}\n{done.stdout[-600:]}{done.stderr[-600:]}", flush=True)
    return good


def expand(name, *options):
    out = name.removesuffix(".in")
    with open(out, "w", encoding="utf-8") as f:
        subprocess.run([m4, *options, macros, os.path.join(sources, name)], stdout=f, check=True)
    return out


def build(program, cc, *args):
    warn = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-Wno-cast-function-type", "-Wno-unused-value",
            "-Wno-unused-parameter"]
    done = run(tweed, "cc", *args[:-1], *warn, "-o", program, args[-1], cc=cc)
    expect(f"{program} compiles", done.returncode == 0, done)


def job(shape, *args):
    nodes, processors = shape.split("x")
    return run(tweed, "run", "-n", nodes, "-p", processors, *args)


def programs(compilers):
    """Those that announce their stores run under 1L, too."""
    source = expand("macros.c.in", "-Ulen", "-Uindex")
    expand("macros.h.in", "-Ulen", "-Uindex")
    threads = os.path.join(sources, "threads.c")
    named = {}
    for cc in compilers:
        for stores in [["--no-stores"], []]:
            mark = f"{cc}{'' if stores else '-1L'}"
            build("copied-" + mark, cc, *stores, "--parmacs", "--copied-globals", "-DSHARED=0", source)
            named["copied-" + mark] = not stores
            if stores or cc == "clang":
                build("shared-" + mark, cc, *stores, "--parmacs", "-DSHARED=1", source)
                os.makedirs(mark, exist_ok=True)
                build(mark + "/threads", cc, *stores, "--shared-globals", "--shared-heap", threads)
                named["shared-" + mark] = named[mark + "/threads"] = not stores
    return named


def run_one(program, shape, protocol, *more):
    name = f"{program} {shape} {protocol} {' '.join(more)}"
    done = job(shape, "--protocol", protocol, *more, "./" + program)
    count = eval(shape.replace("x", "*"))
    last = f"{50 * count} items, sum right" if program.endswith("threads") else f"{count} processors, 0 failures"
    said = done.stdout.splitlines()
    expect(name, done.returncode == 0 and not done.stderr and said and said[-1] == last and
           (program.endswith("threads") or sorted(said[:-1]) == ["before", "worked"]), done)


def run_all(named):
    for program, announced in named.items():
        for protocol in PROTOCOLS:
            if announced or protocol != "1L":
                run_one(program, "2x2", protocol)
        run_one(program, "4x1", "2L")
        run_one(program, "1x3", "none")
        for more in [] if announced else [["--fault", "mprotect"], ["--page-size", "64K"], ["--home", "after-init"],
                                          ["--transport", "sim"]]:
            run_one(program, "2x2", "2L", *more)
    # stores are not announced: gcc knows none into shared variables
    build("plain", "gcc", "--parmacs", "-DSHARED=1", "macros.c")
    run_one("plain", "2x2", "2L")
    done = job("2x2", "./copied-gcc", "-p", "3")
    expect("fewer than there are", done.stdout.splitlines()[-1:] == ["3 processors, 0 failures"], done)


def ends():
    """Status, and the sentence on standard error; none for a program's own end."""
    build("ends", "gcc", "--no-stores", "--parmacs", "--copied-globals", expand("ends.c.in"))
    for how, status, words in [
            ("returns", 0, ""), ("usage", 255, ""), ("returned", 5, ""),
            ("too many", 2, "the program wants 5 processors, and the job has 4"),
            ("single", 2, "all 4 processors of the job are at work"),
            ("memory", 2, "G_MALLOC: no 1125899906842624 bytes"),
            ("private", 2, "PAUSEINIT: .* is not shared memory"), ("worker exits", 7, "a worker called exit(7)"),
            ("worker creates", 2, "CREATE is for the processor that runs main()"),
            ("worker dies", 134, "was killed by signal 6"),
            ("main exits", 6, "main() has ended, with a status other than 0")]:
        done = job("2x2", "./ends", how)
        parts = words.split(".*")
        expect("ends " + how, done.returncode == status and all(p in done.stderr for p in parts) and
               done.stderr.count("\n") == bool(words) + (how == "worker dies"), done)  # and where
    done = run("./ends", "returns")
    expect("without a job", done.returncode == 2 and "must be started by: tweed run" in done.stderr, done)
    done = run(tweed, "cc", "--no-stores", "-o", "unplaced", "ends.c")
    expect("without --parmacs compiles", done.returncode == 0, done)
    done = job("2x2", "./unplaced", "returns")
    expect("without --parmacs", done.returncode == 2 and "link it with 'tweed cc --parmacs'" in done.stderr, done)


def atomics():
    build("atomics", "gcc", "--no-stores", "--parmacs", "--copied-globals", expand("atomics.c.in", "-P"))
    for shape in ["1x3", "2x2", "4x1"]:
        for protocol in [p for p in PROTOCOLS if p != "1L"]:
            for transport in ["shm", "sim"]:
                done = job(shape, "--protocol", protocol, "--transport", transport, "./atomics")
                count = eval(shape.replace("x", "*"))
                expect(f"atomics {shape} {protocol} {transport}", done.stdout == f"{600 * count} {200 * count}\n", done)


def private():
    """What the options are for: without them, threads.c fails."""
    build("threads", "gcc", "--no-stores", os.path.join(sources, "threads.c"))
    done = job("2x2", "./threads")
    expect("threads.c without shared variables fails", done.returncode != 0, done)


def zeroes(compilers):
    for cc in compilers:
        build("zeroes", cc, "--no-stores", "--shared-globals", os.path.join(sources, "zeroes.c"))
        done = job("2x2", "./zeroes")
        expect(f"variables that begin as zeroes, {cc}", done.stdout == "sum 10\n", done)


def refusals(compilers):
    with open("one.c", "w", encoding="utf-8") as f:
        f.write("int one;\n")
    for args, cc, words in [
            (["--shared-globals", "-c", "one.c"], "gcc", "gcc announces no stores into global variables"),
            (["--parmacs", "--copied-globals", "--shared-globals", "-c", "one.c"], "gcc",
             "--copied-globals is for --parmacs, in place of"),
            (["--copied-globals", "-c", "one.c"], "gcc", "--copied-globals is for --parmacs"),
            (["--parmacs", "--copied-globals", "-shared", "one.c"], "gcc", "-shared, but only a program's"),
            (["--parmacs", "--no-stores", "-mcmodel=large", "-c", "one.c"], "gcc", "the small code model"),
            (["--poll", "--no-stores", "-c", "one.c"], "gcc", "leave --no-stores out")]:
        if cc in compilers:
            done = run(tweed, "cc", *args, cc=cc)
            expect(" ".join(args), done.returncode == 2 and words in done.stderr and done.stderr.count("\n") == 1, done)


def main():
    compilers = [c for c in ("gcc", "clang") if shutil.which(c)]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        run_all(programs(compilers))
        ends()
        atomics()
        private()
        zeroes(compilers)
        refusals(compilers)
        os.chdir("/")
    print(f"{cases} cases, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
