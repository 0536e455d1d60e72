#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs with POSIX threads, built by `tweed cc --pthreads` and run over nodes, against the same programs with the
C library's threads.

pthreads.py TWEED SOURCES    each program under protocols and shapes, in a folder of its own, which is removed"""
import json
import os
import pty
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from beside import Beside, run

PROTOCOLS = ["2L", "TS"]
SHAPES = {"1x2": "1", "2x1": "1", "2x2": "3", "4x1": "3"}  # and how many threads main() makes
CROWDS = {"1x1": "5", "1x2": "5", "2x1": "9", "2x2": "20"}
PROGRAMS = ["threads.c", "objects.c", "handed.c", "robust.c", "waits.c", "handlers.c", "classes.cpp", "before_main.cpp",
            "own_new.cpp", "by_name.c", "interrupted.c", "timers.c", "clocks.c", "children.c",
            "loader.c", "edges.c"]
REFUSED = {"child": "a child of fork() has one thread",
           "waits": "sem_wait: a child of fork() would wait for ever",
           "result": "let it return its results by a pipe or a file",
           "stack": "bytes are left of TWEED_MEMORY for a stack",
           "jail": "seccomp: a filter of system calls", "filter": "seccomp: a filter of system calls",
           "clone": "clone: a process that is made so cannot use the program's memory",
           "again": "holds the lock already"}
ENDS = ["many", "leave", "status", "exit", "alone"]
tweed, sources = (os.path.abspath(a) for a in sys.argv[1:3])
beside = Beside(tweed, [["cc", "--pthreads"], ["c++", "--pthreads"]], "-pthread")


def programs():
    for source in PROGRAMS:
        name = beside.build(os.path.join(sources, source))
        if not name:
            continue
        for shape, threads in SHAPES.items():
            for protocol in PROTOCOLS:
                beside.compare(name, shape, protocol, threads)
        beside.compare(name, "2x1", "2LMigr", "1")
        beside.compare(name, "2x2", "SC", "3")
        beside.compare(name, "2x1", "2L", "1", options=["--transport", "sim:seed=3"])
        beside.compare(name, "2x1", "2L", "1", options=["--fault", "mprotect"])
        beside.compare(name, "2x2", "2L", "3", options=["--page-size", "16K", "--home", "after-init"])
        beside.compare(name, "1x2", "none", "1")


def mutexes():
    """More mutexes and spin locks than synchronization objects."""
    name = beside.build(os.path.join(sources, "mutexes.c"))
    for shape, threads in {"1x1": "3", "1x2": "3", "2x1": "3", "2x2": "6", "4x1": "3"}.items() if name else []:
        for protocol in PROTOCOLS + ["SC"]:
            beside.compare(name, shape, protocol, threads, options=["--sync-objects", "640"])
    for options in [["--lock", "array"], ["--transport", "sim:seed=3"], ["--transport", "ofi"]] if name else []:
        if "ofi" not in options or usable("ofi"):
            beside.compare(name, "2x2", "2L", "6", options=options + ["--sync-objects", "640"])


def newer():
    """C11 and C++20."""
    for source, options in [("c11.c", []), ("modern.cpp", ["-std=c++20"])]:
        name = beside.build(os.path.join(sources, source), *options)
        for shape, protocol in [("1x1", "2L"), ("1x2", "TS"), ("2x1", "2L"), ("2x1", "TS")] if name else []:
            beside.compare(name, shape, protocol, "3")
    done = run(tweed, "run", "-n", "2", "./modern.tw", "1", "look")
    beside.expect("a wait without a wake", done.stdout == "looks again 0\n", done)


def atomics():
    """Atomic operations, on the newest copy or with a lock."""
    name = beside.build(os.path.join(sources, "atomics.c"), "-latomic")
    for shape, protocol, *options in [("2x1", "2L"), ("2x2", "2L"), ("3x1", "2L"), ("2x2", "2LS"), ("3x1", "2LMigr"),
                                      ("2x2", "2L:home=migrate"), ("3x1", "1LD"), ("2x2", "2L:refresh=0"),
                                      ("2x2", "TS"), ("4x1", "TS"), ("3x1", "TS:lease=0,signature=4"),
                                      ("3x1", "TS", "--transport", "ofi"),
                                      ("2x2", "TS", "--transport", "sim:seed=7"),
                                      ("2x2", "2LS", "--fault", "uffd-monitor"),
                                      ("2x2", "SC"), ("3x1", "SC", "--transport", "ofi"),
                                      ("2x1", "2L", "--fault", "mprotect"),
                                      ("3x1", "2L", "--page-size", "16K", "--home", "after-init"),
                                      ("2x1", "2L", "--transport", "sim:seed=3"),
                                      ("2x2", "2LMigr", "--transport", "sim:seed=5"),
                                      ("2x2", "2L", "--transport", "ofi"),
                                      ("3x1", "2L:home=migrate", "--transport", "ofi")] if name else []:
        if "ofi" not in options or usable("ofi"):
            beside.compare(name, shape, protocol, str(2 * int(shape[0]) - 1), options=options)


def pending():
    """Releases of mutexes that stay pending over networks."""
    for source in ["pending.c", "handed.c"]:
        name = beside.build(os.path.join(sources, source))
        for transport in ["sim:seed=5", "ofi"] if name else []:
            for shape, protocol in [("2x1", "2L"), ("2x2", "2L"), ("3x1", "TS"), ("2x2", "TS"), ("3x1", "2LMigr")]:
                if transport != "ofi" or usable("ofi"):
                    beside.compare(name, shape, protocol, "5", options=["--transport", transport])


def usable(transport):
    known = json.loads(run(tweed, "info", "--json").stdout)["transports"]
    return any(t["name"] == transport and t["usable"] for t in known)


def crowds():
    """More threads than processors."""
    for source in ["crowd.c", "crowd_classes.cpp", "blocking.c"]:
        name = beside.build(os.path.join(sources, source))
        for shape, threads in CROWDS.items() if name else []:
            for protocol in PROTOCOLS:
                beside.compare(name, shape, protocol, threads)
        if name and usable("ofi"):
            beside.compare(name, "2x1", "2L", "5", options=["--transport", "ofi"])
        if name:
            beside.compare(name, "2x1", "2L", "5", options=["--fault", "mprotect"])
            beside.compare(name, "2x2", "2L", "9", options=["--lock", "array"])
    name = beside.build(os.path.join(sources, "starts.c"))
    for shape, protocol in 3 * [("2x1", "2LMigr")] + [("3x1", "2LMigr"), ("2x1", "2L"), ("2x2", "TS")] if name else []:
        beside.compare(name, shape, protocol, "400")
    if not beside.build(os.path.join(sources, "crowd.c")):
        return
    for shape in ["1x2", "2x1"]:  # us a switch: between two processors, and within one
        nodes, processors = shape.split("x")
        done = run(tweed, "run", "-n", nodes, "-p", processors, "./crowd.tw", "16", SWITCHES="1")
        print(shape, "16 threads:", done.stderr, end="")


def contexts():
    """Stacks of the program's own making, and the like."""
    name = beside.build(os.path.join(sources, "contexts.c"))
    cancel = beside.build(os.path.join(sources, "cancel.c"))
    for shape in ["1x1", "1x2", "2x1"] if name and cancel else []:
        for protocol in PROTOCOLS:
            beside.compare(name, shape, protocol)
            beside.compare(cancel, shape, protocol)
    for how in ["0", "1", "2"] if name else []:
        for shape, protocol, *options in [("1x1", "2L"), ("2x1", "2L"), ("2x2", "TS"),
                                          ("2x1", "2L", "--transport", "ofi")]:
            if "ofi" not in options or usable("ofi"):
                beside.compare(name, shape, protocol, "leave", how, options=options)
    for what, text in {"other": "another node used first", "jump": "did not run on a stack of its own"}.items():
        beside.said(f"contexts {what}", run(tweed, "run", "-n", "3", "./contexts.tw", what), 2, text)
    name = beside.build(os.path.join(sources, "fibers.c"))
    for shape, protocol in [("1x1", "2L"), ("1x2", "2L"), ("1x2", "TS"), ("2x1", "TS")] if name else []:
        beside.compare(name, shape, protocol)


def archive():
    """Threads of an archive that gcc has made, of a library that the program opens, and of a library by gcc."""
    source = os.path.join(sources, "archive.cpp")
    made = run("sh", "-c", f"g++ -O1 -c {source} -o archive.o && ar rcs libarchive.a archive.o && "
               f"g++ -shared -fPIC {source} -o libforeign.so && "
               f"{tweed} c++ --pthreads -shared -fPIC {source} -o libopened.so && "
               f"{tweed} c++ --pthreads -shared -fPIC -DOPENS {source} -o libopens.so && "
               f"{tweed} c++ --pthreads -c -DOPENS {source} -o opens.o && ar rcs libopensit.a opens.o")
    for name, status, options in [("archive", 0, ["-larchive"]), ("opened", 0, ["-DOPEN"]),
                                  ("opens", 0, ["-DASK", "-lopens", "-Wl,-rpath,."]),
                                  ("opensit", 0, ["-DASK", "-lopensit"]),
                                  ("foreign", 2, ["-lforeign", "-Wl,-rpath,."])]:
        done = run(tweed, "c++", "--pthreads", "-DMAIN", source, "-o", name, "-L.", *options)
        for shape in ["2x1", "2x2"] if beside.expect(f"{name} compiles", done.returncode == 0, made, done) else []:
            done = run(tweed, "run", "-n", shape[0], "-p", shape[2], f"./{name}")
            beside.expect(f"threads of {name} {shape}", done.returncode == status and
                          (done.stdout == "3 5\n" or "which gcc has made" in done.stderr), done)


def both():
    """OpenMP, too: its run-time is linked if an object, archive or library calls it."""
    name = beside.build(os.path.join(sources, "both.cpp"), "-fopenmp")
    for shape, protocol in [("1x2", "TS"), ("2x1", None), ("2x2", "2L"), ("2x2", "TS"), ("4x1", None)] if name else []:
        beside.compare(name, shape, protocol)
    for text in ["int main(void)\n{\n\treturn 0;\n}\n",
                 "#include <omp.h>\nint main(void)\n{\n\treturn omp_get_thread_num();\n}\n"]:
        with open("which.c", "w", encoding="utf-8") as f:
            f.write(text)
        done = run(tweed, "cc", "--pthreads", "-fopenmp", "which.c", "-o", "which", "-lgomp")
        # NT_VERSION: readelf's word for type 1, the settings (tools/run/program.c)
        notes, needed = run("readelf", "-n", "which").stdout, run("readelf", "-d", "which").stdout
        beside.expect("the run-time that is needed", done.returncode == 0 and "libgomp" not in needed and
                      ("NT_VERSION" in notes) == ("omp.h" in text), done)


def foreign_atomics():
    """Atomic instructions by gcc, in an object and in an archive; a sentence where they wait by pause."""
    source = os.path.join(sources, "foreign_atomics.c")
    made = run("sh", "-c", f"gcc -O2 -c {source} -o far.o && ar rcs libfar.a far.o && "
               f"gcc -O2 -DMAIN {source} far.o -o far.gcc -pthread && "
               f"{tweed} cc --pthreads -O2 -DMAIN {source} far.o -o far && "
               f"{tweed} cc --pthreads -O2 -DMAIN {source} -L. -lfar -o far.archive")
    good = beside.expect("foreign_atomics compiles", made.returncode == 0, made)
    for shape, protocol, *options in [("1x1", "2L"), ("1x2", "2L"), ("2x1", "2L"), ("2x2", "2L"), ("2x2", "TS"),
                                      ("3x1", "2LMigr"), ("2x2", "SC"), ("2x1", "2L", "--fault", "mprotect"),
                                      ("2x2", "2LS", "--fault", "uffd-monitor"),
                                      ("2x1", "2L", "--transport", "sim:seed=3"),
                                      ("2x1", "2L", "--transport", "ofi")] if good else []:
        if "ofi" in options and not usable("ofi"):
            continue
        nodes, processors = shape.split("x")
        done = run(tweed, "run", "-n", nodes, "-p", processors, "--protocol", protocol, *options, "./far", "3")
        beside.expect(f"foreign_atomics {shape} {protocol} {' '.join(options)}", done.returncode == 0 and
                      done.stdout == run("./far.gcc", "3").stdout and
                      ("far.o was made by another compiler" in done.stderr) == (nodes != "1"), done)
    done = run(tweed, "run", "-n", "2", "./far.archive", "1")
    beside.expect("foreign_atomics in an archive", good and done.stdout == run("./far.gcc", "1").stdout, done)


def foreign_wait():
    """A library or an archive by gcc waits: other threads of its processor run."""
    source = os.path.join(sources, "foreign_wait.c")
    for how in ["", "-DBY_POLL"]:
        made = run("sh", "-c", f"gcc {how} -shared -fPIC {source} -o libwait.so && gcc {how} -c {source} -o fw.o && "
                   f"{tweed} cc --pthreads -DMAIN {source} -o wait -L. -lwait -Wl,-rpath,. && "
                   f"{tweed} cc --pthreads -DMAIN {source} -o wait.archive fw.o")
        if not beside.expect(f"foreign_wait {how} compiles", made.returncode == 0, made):
            continue
        for name in ["wait", "wait.archive"]:
            for shape in ["1x1", "2x1"]:
                done = run(tweed, "run", "-n", shape[0], "-p", shape[2], f"./{name}")
                beside.expect(f"foreign_wait {how} {name} {shape}", done.returncode == 0 and
                              done.stdout == "late 0\ncome 1\n", done)


def foreign_thread():
    """Threads of a library by gcc."""
    source = os.path.join(sources, "foreign_thread.c")
    made = run("sh", "-c", f"gcc -O2 -shared -fPIC {source} -o libthread.so && {tweed} cc --pthreads -O2 -DMAIN "
               f"{source} -o thread -L. -lthread -Wl,-rpath,.")
    for shape in ["1x1", "1x2", "2x1"] if beside.expect("foreign_thread compiles", made.returncode == 0, made) else []:
        job = [tweed, "run", "-n", shape[0], "-p", shape[2], "./thread"]
        done = run(*job)
        beside.expect(f"foreign_thread {shape}", done.returncode == 0 and done.stdout == "100 4\n", done)
        done = run(*job, "locks")
        beside.said(f"foreign_thread {shape} locks", done, 2, "libthread.so has made, which gcc has linked")


def undisturbed():
    for source in ["undisturbed.c", "opened.cpp"]:
        name = beside.build(os.path.join(sources, source))
        for shape in ["1x1", "2x1"] if name else []:
            beside.compare(name, shape, "SC")


def own_names():
    for kind in [["cc", "--pthreads"], ["omp", "cc"]]:
        done = run(tweed, *kind, os.path.join(sources, "own_names.c"), "-o", "own_names")
        if beside.expect(f"{' '.join(kind)}: own names link", done.returncode == 0, done):
            done = run(tweed, "run", "-n", "2", "./own_names")
            beside.expect(f"{' '.join(kind)}: own names", done.stdout == "66\n", done)


def volatile():
    """Loops that wait for volatile variables: what was stored before is seen, and seldom waited for."""
    jobs = 1000
    name = beside.build(os.path.join(sources, "jobs.c"))
    for shape, protocol in [("1x2", "2L"), ("2x1", "2L"), ("2x2", "2LMigr"), ("2x1", "TS"),
                            ("2x1", "SC")] if name else []:
        beside.compare(name, shape, protocol, str(jobs if protocol == "2L" else 100))
    few, count = False, None
    for _ in range(3 if name else 0):  # one run in fifty has many demands
        run(tweed, "run", "-n", "2", "--protocol", "2L", "--stats", "jobs.json", f"./{name}.tw", str(jobs))
        with open("jobs.json") as f:
            all_of = [p["counters"] for p in json.load(f)["processors"]]
        count = {c: sum(p[c] for p in all_of) for c in ("lazy_releases", "eager_releases", "demands")}
        few = count["demands"] < jobs / 2 and count["lazy_releases"] + count["eager_releases"] < 20 * jobs
        if few:
            break
    beside.expect(f"releases of {jobs} jobs: {count}", few)


def nested():
    """Code on stacks, for which the linker has a warning."""
    done = run(tweed, "cc", "--pthreads", os.path.join(sources, "nested.c"), "-o", "nested")
    for fault in ["uffd", "mprotect"] if beside.expect("nested.c compiles", done.returncode == 0, done) else []:
        done = run(tweed, "run", "-n", "2", "--fault", fault, "./nested")
        beside.expect(f"nested functions {fault}", done.stdout == "321\n", done)


def signals():
    """A handled signal to the launcher, to its process group, or by a terminal's key reaches the program once."""
    for shape in ["-n1", "-p2"], ["-n2"]:
        job = [tweed, "run", *shape, "./refused.tw", "signal"]
        for number, send in (signal.SIGUSR1, os.kill), (signal.SIGINT, os.killpg), (signal.SIGTERM, os.killpg):
            with subprocess.Popen(job, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True) as p:
                p.stdout.readline()
                send(p.pid, number)
                beside.expect(f"{shape}: {number.name} by {send.__name__}", p.wait(60) == 21)
        pid, terminal = pty.fork()
        if pid == 0:
            os.execv(tweed, job)
        while b"ready" not in os.read(terminal, 1000):
            pass
        os.write(terminal, b"\x03")
        beside.expect(f"{shape}: a terminal's key", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 21)
        os.close(terminal)


def refusals():
    name = beside.build(os.path.join(sources, "refused.c"))
    for what, text in REFUSED.items() if name else []:
        done = run(tweed, "run", "-n", "2", "./refused.tw", what)
        beside.expect(f"refused {what}", done.returncode not in (0, 124) and text in done.stderr, done)
    for what, *options in [("deep",), ("main",), ("deep", "--fault", "mprotect"), ("deep", "--transport", "ofi")]:
        if name and ("ofi" not in options or usable("ofi")):
            done = run(tweed, "run", "-n", "2", *options, "./refused.tw", what)
            beside.expect(f"a stack overflows, {what} {options}",
                          done.returncode not in (0, 124) and "larger one (ulimit -s)" in done.stderr, done)
    if name:
        done = run(tweed, "run", "-n", "2", "./refused.tw", "becomes")
        beside.expect("a program becomes another", (done.returncode, done.stdout) == (7, "another\n"), done)
        signals()
    for what in ENDS if name else []:
        beside.compare(name, "2x1", "2L", what)
    if name:
        run(tweed, "run", "-n", "2", "--stats", "busy.json", "./refused.tw", "status")
        with open("busy.json") as f:
            stats = json.load(f)
        beside.expect("statistics of processors that are busy at the end", stats["exit_status"] == 5 and
                      all(p["total"] and p["counters"]["data_bytes"] for p in stats["processors"]))
    name = beside.build(os.path.join(sources, "classes.cpp"))
    if name:
        beside.compare(name, "1x2", None, "1", "promises")
        done = run(tweed, "run", "-n", "2", f"./{name}.tw", "1", "promises")
        beside.said("at the thread's end", done, 2, "call set_value")
        run(tweed, "c++", "--pthreads", "-static-libstdc++", os.path.join(sources, "classes.cpp"), "-o", "static")
        done = run(tweed, "run", "-n", "2", "./static", "1")
        beside.expect("-static-libstdc++ is left out", done.returncode == 0 and not done.stderr, done)
    beside.said("clang", run(tweed, "cc", "--pthreads", "x.c", CC="clang"), 2, "is not gcc")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    programs()
    crowds()
    mutexes()
    contexts()
    newer()
    atomics()
    pending()
    archive()
    foreign_atomics()
    undisturbed()
    foreign_wait()
    foreign_thread()
    own_names()
    volatile()
    nested()
    both()
    refusals()
beside.end()
