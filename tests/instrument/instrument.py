#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What `tweed cc` compiles announces every store and no other, polls when asked to, and is refused what it cannot do.

instrument.py TWEED gcc|clang SOURCE-ROOT BYTES POLL    BYTES, POLL: bytes.c and poll.c as that compiler compiled
them"""
import json
import os
import subprocess
import sys
import tempfile

LEVELS = ["-O0", "-O2", "-O3"]
ROUNDS = "1500"
failures = []
cases = 0


def run(*command, env=None):
    return subprocess.run(command, env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", timeout=200)


def expect(name, good, said=""):
    global cases
    cases += 1
    if not good:
        failures.append(name)
        print(f"FAILED {name}\n" + "\n".join("    " + l for l in said.strip().splitlines()[-8:]), flush=True)
    return good


def ends(name, done, status=0):
    return expect(name, done.returncode == status, f"status {done.returncode}, not {status}\n{done.stdout}")


class Suite:
    def __init__(self, tweed, compiler, root):
        self.tweed, self.root = tweed, root
        self.env = {"CC": compiler, "CXX": {"gcc": "g++", "clang": "clang++"}[compiler]}
        self.compiler = compiler

    def cc(self, *args, command="cc"):
        return run(self.tweed, command, *args, env=self.env)

    def source(self, name):
        return os.path.join(self.root, "tests/instrument", name)

    def stores(self):
        with open("/proc/cpuinfo") as f:
            native = ["-march=native"] if " avx2 " in f.read() else []
        for level in LEVELS:
            for more in [[], native] if native else [[]]:
                name = f"stores {level} {' '.join(more)}"
                done = self.cc("-std=gnu11", "-D_GNU_SOURCE", "-w", level, *more, "-I" + self.root,
                               "-I" + self.root + "/include", "-o", "stores", self.source("stores.c"),
                               self.source("shadow.c"))
                if ends(name + " compiles", done):
                    ends(name, run(self.tweed, "run", "--protocol", "none", "./stores", "1", ROUNDS))
        ends("an unannounced store is found", run(self.tweed, "run", "--protocol", "none", "./stores", "--miss", "50"),
             1)

    def bytes(self, program):
        for shape in ("2x2", "4x1", "4x2"):
            nodes, processors = shape.split("x")
            for more in [["--transport", "sim"], []]:
                ends(f"bytes {shape} {more}", run(self.tweed, "run", "-n", nodes, "-p", processors, "--protocol", "1L",
                                                  *more,
                                                  program, "8"))
        ends("bytes under 2L", run(self.tweed, "run", "-n", "2", "-p", "2", program, "8"))

    def poll_time(self, program):
        done = run(self.tweed, "run", "-n", "2", "-p", "2", "--protocol", "2LS", "--shootdown", "polled",
                   "--stats", "stats.json", program)
        if not ends("poll", done):
            return None
        with open("stats.json") as f:
            stats = json.load(f)
        expect("poll: shootdowns", stats["counters"]["shootdowns"] > 0, str(stats["counters"]))
        return stats["times"]["polling"]

    def poll(self, program):
        expect("a program built with --poll polls", self.poll_time(program) != 0)
        ends("poll compiles without --poll", self.cc("-O2", "-w", "-o", "no-poll", self.source("poll.c")))
        expect("one built without does not", self.poll_time("./no-poll") in (0, None))

    def objects(self):
        for level in LEVELS:
            done = self.cc("-std=c++17", level, "-Wall", "-o", "objects", self.source("objects.cc"), command="c++")
            if not ends(f"objects {level} compiles", done):
                continue
            for protocol in ("1L", "2L"):
                ends(f"objects {level} {protocol}",
                     run(self.tweed, "run", "-n", "2", "-p", "2", "--protocol", protocol, "./objects"))

    def refused(self, name, done, *words):
        ok = done.returncode == 2 and done.stdout.count("\n") == 1 and all(w in done.stdout for w in words)
        expect(name, ok, f"status {done.returncode}\n{done.stdout}")

    def refusals(self):
        with open("plain.c", "w") as f:
            f.write("int plain;\nint main(void) { return plain; }\n")
        with open("complex.c", "w") as f:
            f.write("#include <complex.h>\ndouble complex z;\n")
        for option, words in {"-fsanitize=address": "leave it out", "-m32": "64 bits"}.items():
            self.refused(option, self.cc(option, "plain.c", "-o", "plain"), option, words)
        shown = self.cc("--show", "-flto=auto", "-flto-partition=none", "plain.c", "-o", "plain")
        expect("-flto is left out", shown.returncode == 0 and "-flto" not in shown.stdout
               and " -fno-lto " in shown.stdout, shown.stdout)
        ends("-flto, compiled", self.cc("-O2", "-flto", "-c", "plain.c", "-o", "lto.o"))
        ends("-flto, linked", self.cc("-O2", "-flto", "lto.o", "-o", "plain"))
        shown = self.cc("--show", "-static", "plain.c", "-o", "plain")
        expect("-static is left out", shown.returncode == 0 and "-static" not in shown.stdout, shown.stdout)
        with open("arguments", "w") as f:
            f.write("'-DNAME=\"a b\"'\n-m32")
        self.refused("an option in a file", self.cc("@arguments", "plain.c", "-o", "plain"), "-m32", "64 bits")
        expect("-flto: nothing is said to a makefile", not self.cc("-flto", "-c", "plain.c").stdout, "")
        self.refused("no arguments", self.cc(), "--help")
        self.refused("no compiler", run(self.tweed, "cc", "plain.c", env={"CC": "no-such-cc"}), "no-such-cc", "CC")
        self.refused("another compiler", run(self.tweed, "cc", "plain.c", env={"CC": "true"}), "true", "CC")
        ends("separate compilation", self.cc("-c", "plain.c", "-o", "announced.o"))
        ends("separate linking", self.cc("announced.o", "-o", "plain"))
        for cc in ("tweed cc", self.tweed + " cc"):
            ends(f"CC='{cc}'", run(self.tweed, "cc", "-c", "plain.c", env={"CC": cc}))
        ends("an object of the bare compiler", run(self.compiler, "-c", "plain.c", "-o", "silent.o"))
        self.refused("an object that does not announce its stores", self.cc("silent.o", "-o", "plain"), "silent.o",
                     "tweed cc")
        shown = self.cc("--show", "plain.c", "-o", "it's")
        expect("--show", shown.returncode == 0 and "kernel-address" in shown.stdout and "'it'\\''s'" in shown.stdout,
               shown.stdout)
        done = self.cc("-c", "complex.c")
        if self.compiler == "gcc":
            expect("complex numbers", done.returncode != 0 and "use clang" in done.stdout, done.stdout)
        else:
            ends("complex numbers", done)


def main():
    tweed, compiler, *paths = sys.argv[1:]
    tweed, root, program_bytes, program_poll = map(os.path.abspath, [tweed, *paths])
    suite = Suite(tweed, compiler, root)
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        suite.stores()
        suite.bytes(program_bytes)
        suite.poll(program_poll)
        suite.objects()
        suite.refusals()
        os.chdir("/")
    print(f"{compiler}: {cases - len(failures)} of {cases} good")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
