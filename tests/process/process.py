#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Cases in which threads share what belongs to one process, built by `tweed` and run over nodes, against the same
cases with the C library's threads or gcc's OpenMP: output, exit status and the files left behind must be equal.

process.py TWEED SOURCES [--shapes 2x1,2x2] [--protocols 2L,TS] [--transports shm,ofi] [--kinds threads,openmp]
                         [--hosts] [--only NAME] [--jobs N] [--timeout SECONDS] [--all] [--single] [--keep]

--hosts: half of the nodes on each of two hosts, network namespaces, that have no folder of the run in common; status 77: cannot be
tested here.  --all: OpenMP for all sources, not only some.  --only: a source (files), a case (files/readdir_in_turn), or a part of
such a name.  --single: a process for each case; else cases that do not disturb each other share one, and are repeated
singly when it fails.  --keep: the folder stays."""
import argparse
import concurrent.futures
import contextlib
import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../cluster"))
import hosts as network  # noqa: E402
from beside import Beside, run  # noqa: E402

SOURCES = ["descriptors.c", "files.c", "channels.c", "waits.c", "streams.c", "standard.c", "exits.c", "memory.c",
           "mappings.c", "state.c", "commandline.c", "arguments.c", "signals.c", "processes.c", "cxxstreams.cpp"]
NOT_OPENMP = ["exits.c"]  # exit() in a region is not OpenMP's
SOME = ["descriptors.c", "files.c", "streams.c", "standard.c", "memory.c", "mappings.c"]  # by OpenMP without --all
KINDS = {"threads": ([["cc", "--pthreads"], ["c++", "--pthreads"]], "-pthread"),
         "openmp": ([["omp", "cc"], ["omp", "c++"]], "-fopenmp")}
# What is not as in one process.  Each has its line in doc/guide/process.md; one that is right is an error.
WRONG = {
    "mappings/anonymous_shared": "a child of fork() has a copy of shared mappings",
    "mappings/mprotect_meets_read": "mprotect has no effect on shared memory",
}
# Beside, on several hosts; right at some shapes.
WRONG_HOSTS = {
    "waits/signalfd_by_thread": "signalfd is of the first host's threads",
    "waits/interrupted_waits": "a signal during a call that blocks waits until the call returns",
    "standard/fmemopen_write": "such a stream is used on the host that has made it",
    "standard/fopencookie_write": "such a stream is used on the host that has made it",
    "standard/fopencookie_read": "such a stream is used on the host that has made it",
    "state/clock_counts_threads": "processor time is one on each host",
    "arguments/data_of_main": "sendmmsg and recvmmsg fail",
    "state/nice_of_main": "nice is one on each host",
}
LINES = "".join(f"line {i:02} of the input\n" for i in range(1, 41))
NUMBERS = " ".join(str(i) for i in range(1, 61)) + "\n"
MOST = 3  # threads beside main's


def words(text):
    return text.split(",")


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tweed", type=os.path.abspath)
    parser.add_argument("sources", type=os.path.abspath)
    parser.add_argument("--shapes", type=words, default=["2x1"])
    parser.add_argument("--protocols", type=words, default=["2L"])
    parser.add_argument("--transports", type=words, default=["shm"])
    parser.add_argument("--kinds", type=words, default=list(KINDS))
    parser.add_argument("--hosts", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--timeout", type=int, default=20)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--single", action="store_true")
    parser.add_argument("--keep", action="store_true")
    return parser.parse_args()


def inputs(folder):
    os.makedirs(os.path.join(folder, "folder"))
    texts = {"lines.txt": LINES, "numbers.txt": NUMBERS, **{f"folder/{c}.txt": f"this is {c}.txt\n" for c in "abc"}}
    for name, text in texts.items():
        with open(os.path.join(folder, name), "w", encoding="ascii") as f:
            f.write(text)


def left_behind(folder):
    """Path -> kind, rights and contents."""
    found = {}
    for here, folders, files in os.walk(folder):
        for name in folders + files:
            path = os.path.join(here, name)
            text = b""
            if os.path.isfile(path):
                with open(path, "rb") as f:
                    text = f.read()
            found[os.path.relpath(path, folder)] = (f"{os.lstat(path).st_mode:o}", text)
    return found


class Result:
    def __init__(self, done, files):
        self.lines, self.status, self.errors = done.stdout.split("\n"), done.returncode, done.stderr
        self.files = files

    def difference(self, right):
        """The first one, or None."""
        for n, line in enumerate(right.lines):
            got = self.lines[n] if n < len(self.lines) else None
            if got != line:
                return f"line {n + 1} is {got!r}, not {line!r}{self.end(right)}"
        if len(self.lines) > len(right.lines):
            return f"line {len(right.lines) + 1} is {self.lines[len(right.lines)]!r}, which is too much"
        if self.status != right.status:
            return f"all lines{self.end(right)}"
        for name in sorted(set(self.files) | set(right.files)):
            if self.files.get(name) != right.files.get(name):
                return f"file {name} is {str(self.files.get(name))[:120]}, not {str(right.files.get(name))[:120]}"
        return None

    def end(self, right):
        said = self.errors.strip().split("\n")[0][:160]
        late = " (no end)" if self.status == 124 else ""
        return (f"; status {self.status}{late}, not {right.status}" if self.status != right.status else "") + \
            (f"; {said}" if said else "")


class Suite:
    def __init__(self, asked, scratch):
        self.asked, self.scratch = asked, scratch
        self.where = []  # options of `tweed run`
        self.natives, self.passed, self.failed = {}, 0, 0
        self.folders = 0

    def execute(self, command, threads, cases, **env):
        """@cases in a folder of their own."""
        self.folders += 1
        folder = tempfile.mkdtemp(prefix="run", dir=self.scratch)
        inputs(folder)
        done = run("timeout", "-k", "2", str(self.asked.timeout), *command, "-t", str(threads), *cases, cwd=folder,
                   text=LINES, OMP_NUM_THREADS=str(threads + 1), timeout=self.asked.timeout + 10, **env)
        result = Result(done, left_behind(folder))
        if not self.asked.keep:
            shutil.rmtree(folder, ignore_errors=True)
        return result

    def native(self, name, threads, cases):
        key = (name, threads, *cases)
        if key not in self.natives:
            self.natives[key] = self.execute([f"{name}.gcc"], threads, cases, OMP_WAIT_POLICY="passive")
        return self.natives[key]

    def good(self, name, place, cases):
        """None, or the first difference."""
        shape, protocol, transport = place
        nodes, processors = shape.split("x")
        threads = min(MOST, max(1, int(nodes) * int(processors) - 1))
        right = self.native(name, threads, cases)
        if right.status == 124:
            return "without Tweed there is no end"
        half = int(nodes) // 2
        where = [*self.where, "--hosts", f"a:{half},b:{half}"] if self.where else []
        got = self.execute([self.asked.tweed, "run", "-n", nodes, "-p", processors, "--protocol", protocol,
                            "--transport", transport, *where, f"{name}.tw"], threads, cases)
        return got.difference(right)

    def check(self, name, place, cases):
        """@cases as one process; singly when that fails.  Lines about those that fail, and how many there are."""
        wrong = self.good(name, place, cases)
        if self.where and f"{os.path.basename(name)}/{cases[0]}" in WRONG_HOSTS:
            return [], 1
        if f"{os.path.basename(name)}/{cases[0]}" in WRONG:
            return [] if wrong else [(cases[0], "is right: take it out of WRONG")], 1
        if not wrong or len(cases) == 1:
            return [(cases[0], wrong)] if wrong else [], len(cases)
        singly = [(case, self.good(name, place, [case])) for case in cases]
        failed = [(case, w) for case, w in singly if w]
        return failed or [("+".join(cases), wrong)], len(cases)

    def batches(self, name, listed):
        source = os.path.basename(name)
        chosen = [line.split() for line in listed if self.asked.only in f"{source}/{line.split()[0]}"]
        single = [len(c) > 1 or self.asked.single or f"{source}/{c[0]}" in {**WRONG, **WRONG_HOSTS}
                  for c in chosen]
        shared = [c[0] for c, one in zip(chosen, single) if not one]
        alone = [[c[0]] for c, one in zip(chosen, single) if one]
        return [shared[i:i + 16] for i in range(0, len(shared), 16)] + alone

    def kind(self, kind):
        folder = os.path.join(self.scratch, kind)
        os.makedirs(folder)
        os.chdir(folder)
        beside = Beside(self.asked.tweed, *KINDS[kind])
        work = []
        for source in SOURCES:
            if kind == "openmp" and (source in NOT_OPENMP or not self.asked.all and source not in SOME):
                continue
            if self.asked.only.split("/")[0] in SOURCES_BY_NAME and \
                    SOURCES_BY_NAME[self.asked.only.split("/")[0]] != source:
                continue
            built = beside.build(os.path.join(self.asked.sources, source))
            if not built:
                self.failed += 1
                continue
            name = os.path.join(folder, built)
            listed = run(f"{name}.gcc").stdout.splitlines()
            work += [(name, (shape, protocol, transport), cases) for cases in self.batches(name, listed)
                     for shape in self.asked.shapes for protocol in self.asked.protocols
                     for transport in self.asked.transports]
        with concurrent.futures.ThreadPoolExecutor(self.asked.jobs) as pool:
            for (name, place, _), (failed, n) in zip(work, pool.map(lambda w: self.check(*w), work)):
                self.passed += n - len(failed)
                self.failed += len(failed)
                for case, wrong in failed:
                    print(f"FAILED {kind} {' '.join(place)} {os.path.basename(name)}/{case}: {wrong}", flush=True)


SOURCES_BY_NAME = {os.path.splitext(s)[0]: s for s in SOURCES}


def main():
    asked = options()
    unknown = [k for k in asked.kinds if k not in KINDS]
    if unknown:
        sys.exit(f"there is no kind '{unknown[0]}', only {', '.join(KINDS)}")
    scratch = tempfile.mkdtemp(prefix="tweed-process-")
    suite = Suite(asked, scratch)
    try:
        with contextlib.ExitStack() as stack:
            if asked.hosts:
                why = network.missing(("ip", "unshare"))
                if why:
                    print(f"not tested: {why}")
                    return 77
                h = stack.enter_context(network.Hosts(ssh=False))
                suite.where = ["--rsh", h.rsh, "--net-interface", "10.231.3.0/24"]
            for kind in asked.kinds:
                suite.kind(kind)
    finally:
        os.chdir("/")
        if asked.keep:
            print(f"kept: {scratch}")
        else:
            shutil.rmtree(scratch, ignore_errors=True)
    print(f"{suite.passed} passed, {suite.failed} failed")
    return 1 if suite.failed or not suite.passed else 0


if __name__ == "__main__":
    sys.exit(main())
