#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""OpenMP programs, built by `tweed omp cc` and run over nodes, against the same programs with gcc's own run-time:
what they print
and how they end must be equal.

openmp.py TWEED SOURCES          each program under protocols and shapes, in a folder of its own, which is removed
openmp.py TWEED SOURCES FIRST N  programs made at random from seeds FIRST to FIRST + N - 1 (program.py)"""
import json
import os
import re
import sys
import tempfile

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                                                         "..")]
import program
from beside import Beside, run

PROTOCOLS = ["2L", "2LMigr", "TS"]
SHAPES = ["1x2", "2x1", "2x2", "3x1"]
PROGRAMS = {"regions.c": ["5"], "shares.c": [], "locks.c": [], "more.c": [], "tasks.c": [], "stolen.c": [],
            "events.c": [], "flags.c": [], "ordered.c": [], "calls.c": [], "devices.c": [], "classes.cpp": [],
            "doacross.c": [], "cancel.c": [], "reductions.c": [], "memory.c": [], "sums.c": []}
FEW = ["doacross.c", "cancel.c", "reductions.c", "memory.c"]  # at some shapes
# runtime/openmp/defaults.S; the latter by large programs
CHOSEN = {"TWEED_PROTOCOL": "2L:home=migrate", "TWEED_PAGE_SIZE": "16K"}
REFUSED = {"twice": "was fulfilled before",
           "away": "the task is one of another node's",
           "lock": "was not initialized",
           "reduction": "in_reduction: no task_reduction"}
tweed, sources = (os.path.abspath(a) for a in sys.argv[1:3])
beside = Beside(tweed, [["omp", "cc"], ["omp", "c++"]], "-fopenmp")


def programs():
    for source, args in PROGRAMS.items():
        name = beside.build(os.path.join(sources, source))
        for protocol in PROTOCOLS if name else []:
            for shape in SHAPES if source not in FEW else ["1x2", "2x2"]:
                beside.compare(name, shape, protocol, *args)
        if name and source not in FEW:
            beside.compare(name, "2x1", "2L", *args, options=["--transport", "sim:seed=3"])
            beside.compare(name, "2x1", "2L", *args, options=["--fault", "mprotect"])
            beside.compare(name, "2x2", "SC", *args)
            beside.compare(name, "2x2", "2L", *args, options=["--page-size", "16K", "--home", "after-init"])
            beside.compare(name, "1x2", "none", *args)
            for shape in [s for s in SHAPES if s != "1x2"]:  # homes migrate between nodes
                beside.compare(name, shape, None, *args)
    for shape in SHAPES:  # more locks in use than synchronization objects
        for protocol in PROTOCOLS + ["SC"]:
            beside.compare("locks", shape, protocol, options=["--sync-objects", "640"])
    # A processor that waits for the lock of the fences in a fault is shot at by the lock's holder.
    beside.compare("flags", "2x2", "2LS", options=["--fault", "mprotect"])
    for protocol in PROTOCOLS:
        beside.compare("flags", "4x1", protocol)
        for shape, last in [("2x1", "1"), ("3x1", "2"), ("2x2", "3")]:  # the flags' home is the last thread's node
            beside.compare("flags", shape, protocol, last)
    beside.compare("shares", "2x1", "2L", OMP_SCHEDULE="static,4")
    beside.compare("shares", "3x1", "2L", OMP_SCHEDULE="monotonic:guided , 2")
    for shape in SHAPES + ["1x1"]:
        beside.compare("cancel", shape, "2L", OMP_CANCELLATION="true")


def threads():
    """Threads of the program's own; and exit() in regions and in threads."""
    name = beside.build(os.path.join(sources, "threads.c"))
    for shape, protocol, *options in [("1x1", "2L"), ("1x2", "2LMigr"), ("1x2", "TS"), ("2x1", None), ("2x1", "TS"),
                                      ("2x2", "2L"), ("2x2", "2LMigr"), ("4x1", "2L"), ("4x1", "TS"), ("2x2", "SC"),
                                      *[("2x2", "2L", "--transport", "ofi")] * usable("ofi")] if name else []:
        beside.compare(name, shape, protocol, options=options)
    for end in ["alone", "main", "region", "thread"] if name else []:
        beside.compare(name, "2x1", None, end)


def apart():
    """Do large arrays begin pages of their own, which flags do not share?"""
    symbols = run("nm", "flags.tw")
    at = [line.split()[0] for line in symbols.stdout.splitlines() if line.endswith(" field")]
    beside.expect("large arrays begin a page", len(at) == 1 and int(at[0], 16) % 16384 == 0, symbols)


def calls_of(name, pattern):
    """How often each function of an object file calls what matches."""
    calls, function = {}, ""
    for line in run("objdump", "-dr", name).stdout.splitlines():
        if line.endswith(">:"):
            function = line.split("<")[1][:-2]
            calls[function] = 0
        elif function:
            calls[function] += bool(re.search(pattern, line))
    return calls


def fences():
    """Only the program's own: gcc has barriers in functions with a frame pointer, too."""
    for options in ["-O0", "-O0 -g", "-O1 -fno-omit-frame-pointer", "-O2", "-O2 -fno-omit-frame-pointer", "-O1 -pg",
                    "-O0 -mno-red-zone"]:
        made = run(tweed, "omp", "cc", *options.split(), "-c", os.path.join(sources, "fences.c"), "-o", "fences.o")
        calls = calls_of("fences.o", "tw_threads_order")
        wrong = [f for f, n in calls.items() if str(n) != f[-1]]
        beside.expect(f"fences, {options}: {wrong}", len(calls) > 8 and not wrong, made)


def sums():
    """Operations without a result: all of them where gcc optimizes, and none whose result is used."""
    for options in ["-O0", "-O1", "-O2", "-O3", "-Os", "-O2 -fno-omit-frame-pointer", "-O3 -march=native", "-O2 -fPIC",
                    "-O2 -g"]:
        made = run(tweed, "omp", "cc", *options.split(), "-c", os.path.join(sources, "sums.c"), "-o", "sums.o")
        calls = {f: n for f, n in calls_of("sums.o", r"\stw_threads_(sum_[48]|post_)").items()
                 if re.search(r"_\d$", f)}
        wrong = [f for f, n in calls.items() if n != int(f[-1]) and (f[-1] == "0" or options != "-O0")]
        beside.expect(f"operations without a result, {options}: {wrong}", len(calls) == 13 and not wrong, made)
    for protocol in PROTOCOLS if usable("ofi") else []:
        for shape in ["2x1", "3x1", "2x2"]:
            beside.compare("sums", shape, protocol, options=["--transport", "ofi"])


def thread_local():
    """Thread-local variables of any size: they lie at the top of the stacks."""
    for kib in [64, 230, 250, 1024, 8192]:
        done = run(tweed, "omp", "cc", "-O1", f"-DKIB={kib}", os.path.join(sources, "tls.c"), "-o", "tls")
        if not beside.expect(f"{kib} KiB of thread-local variables compile", done.returncode == 0, done):
            continue
        for options in [["--fault", "mprotect"], ["--protocol", "TS"]]:
            n = kib * 64
            done = run(tweed, "run", "-n", "2", *options, "./tls")
            beside.expect(f"{kib} KiB of thread-local variables, {options[1]}",
                          done.returncode == 0 and done.stdout == f"{n * (n - 1) + 2}\n", done)


def library():
    """Regions of a library whose variables each processor has for itself."""
    source, own = os.path.join(sources, "library.c"), ["-L.", "-lcount", f"-Wl,-rpath,{os.getcwd()}"]
    made = run("gcc", "-fopenmp", "-shared", "-fPIC", source, "-o", "libcount.so")
    done = run(tweed, "omp", "cc", "-DMAIN", source, "-o", "library", *own)
    if beside.expect("a library and its program compile", made.returncode == done.returncode == 0, made, done):
        done = run(tweed, "run", "-n", "2", "./library")
        beside.expect("regions of a library", done.stdout == "100 1100 4950\n", done)


def stealing():
    """Are tasks carried out by several threads, where they share a node?"""
    for shape, protocol, threads in [("1x2", "2L", 2), ("1x2", "TS", 2), ("2x2", "2LMigr", 2), ("1x2", "1LD", 1),
                                     ("2x1", "2L", 1)]:
        nodes, processors = shape.split("x")
        done = run(tweed, "run", "-n", nodes, "-p", processors, "--protocol", protocol, "./stolen.tw", "where")
        beside.expect(f"threads with tasks at {shape} {protocol}",
                      done.returncode == 0 and done.stdout == f"{threads}\n", done)


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
    beside.expect("without tweed run", done.returncode == run(tweed, "run", "./refused.tw").returncode, done)
    beside.said("clang", run(tweed, "omp", "cc", "x.c", CC="clang"), 2, "is not gcc")
    beside.said("what follows omp", run(tweed, "omp", "ld"), 2, "is followed by cc or c++")


def settings(*command, **env):
    """What a command that prints settings as JSON says of those that programs choose: value and origin of each."""
    done = run(*command, **env)
    said = {s["name"]: (s["value"], s["origin"])
            for s in json.loads(done.stdout)["settings"]} if done.returncode == 0 else {}
    return [said.get(name) for name in CHOSEN], done


def used(*command, **env):
    """The same, from the statistics of a run."""
    done = run(tweed, "run", "-n", "2", "--stats", "used.json", *command, **env)
    if done.returncode:
        return None, done
    with open("used.json", encoding="utf-8") as f:
        said = json.load(f)["configuration"]
    return [(said[name]["value"], said[name]["origin"]) for name in CHOSEN], done


def waiting():
    """Of more threads than processors: what is counted of their waits, and how often they read from another node."""
    name = beside.build(os.path.join(sources, "ordered.c"))
    for shape, count in [("1x1", "16"), ("2x1", "16"), ("2x1", "4")] if name else []:
        nodes, processors = shape.split("x")
        command = [tweed, "run", "-n", nodes, "-p", processors, "--transport", "sim", "--stats", "used.json"]
        done = run(*command, "./ordered.tw", count)
        beside.expect(f"ordered {count} at {shape}", done.returncode == 0, done)
        if done.returncode:
            continue
        with open("used.json", encoding="utf-8") as f:
            said = json.load(f)
        times = [t for p in said["processors"] for t in p["times"].values()]
        beside.expect(f"times of {count} threads at {shape}", max(times) <= said["elapsed"] * 1.01, done)
        beside.expect(f"reads of {count} threads at {shape}", said["counters"]["round_trips"] < 40000, done)


def usable(transport):
    return any(t["name"] == transport and t["usable"] for t in json.loads(run(tweed, "info",
                                                                              "--json").stdout)["transports"])


def with_note(name, old, new):
    """A copy of the program whose note says something else, of the same length."""
    with open("large.tw", "rb") as f:
        text = f.read()
    assert text.count(old) == 1 and len(old) == len(new)
    with open(name, "wb") as f:
        f.write(text.replace(old, new))
    os.chmod(name, 0o700)


def defaults():
    """Settings that programs choose: read, shown, overridden one by one, and left out where they do not go with the
    user's."""
    with open("large.c", "w", encoding="utf-8") as f:
        f.write(f'#include "{os.path.join(sources, "shares.c")}"\nchar large[128 << 20];\n')
    if not beside.build("large.c"):
        return
    chosen, plain = [(value, "program") for value in CHOSEN.values()], [("2L", "default"), ("4K", "default")]
    for name, want, options, env in [
            ("as they come", chosen, [], {}),
            ("page size by an option", [chosen[0], ("8K", "option")], ["--page-size", "8K"], {}),
            ("page size by a variable", [chosen[0], ("4K", "environment")], [], {"TWEED_PAGE_SIZE": "4K"}),
            ("protocol by an option", [("2L", "option"), chosen[1]], ["--protocol", "2L"], {}),
            ("protocol by a variable", [("TS", "environment"), chosen[1]], [], {"TWEED_PROTOCOL": "TS"}),
            ("homes after initialization", [plain[0], chosen[1]], ["--home", "after-init"], {}),
            ("superpages", [plain[0], chosen[1]], [], {"TWEED_SUPERPAGE": "4"}),
            *[("over a network", [plain[0], chosen[1]], ["--transport", "ofi"], {})] * usable("ofi")]:
        said, done = used(*options, "./large.tw", **env)
        beside.expect(f"settings, {name}", said == want, done, run("cat", "used.json"))
    said, done = used("./shares.tw")
    beside.expect("settings, not a large program", said == [chosen[0], plain[1]], done)
    for name, want, command, env in [("of a program", chosen, ["./large.tw"], {}), ("of none", plain, [], {}),
                                     ("of gcc's", plain, ["./large.gcc"], {}),
                                     ("with a variable", [("2L", "environment"), chosen[1]], ["./large.tw"],
                                      {"TWEED_PROTOCOL": "2L"})]:
        said, done = settings(tweed, "info", "--json", *command, **env)
        beside.expect(f"tweed info {name}", said == want, done)
    beside.said("tweed info of no program", run(tweed, "info", "./nothing"), 2, "does not exist")
    for old, new, text in [(b"TWEED_PAGE_SIZE=", b"TWEED_PAGE_SEIZ=", "no setting that a program can choose"),
                           (b"PAGE_SIZE=16K", b"PAGE_SIZE=17K", "TWEED_PAGE_SIZE is '17K'"),
                           (b"TWEED_PAGE_SIZE=16K", b"TWEED_RSH=elsewhere", "no setting that a program can choose"),
                           (b"PAGE_SIZE=16K\0", b"PAGE_SIZE=16K;", "damaged")]:
        with_note("wrong.tw", old, new)
        for command in ["run", "info"]:
            beside.said(f"{new} in a note, {command}", run(tweed, command, "./wrong.tw"), 2, text)


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
        threads()
        waiting()
        defaults()
        apart()
        fences()
        sums()
        stealing()
        thread_local()
        library()
    refusals()
beside.end()
