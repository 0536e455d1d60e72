# SPDX-License-Identifier: BSD-3-Clause
"""Programs of threads, built by `tweed` for the processors of a job and by gcc for one process: what they print and
how they end must be
equal."""
import os
import subprocess
import sys

WARN = ["-O2", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas", "-D_GNU_SOURCE"]


def run(*command, timeout=100, cwd=None, text="a line\n", **env):
    """@text: standard input."""
    try:
        return subprocess.run(command, env={**os.environ, "CC": "gcc", "CXX": "g++", **env}, input=text, cwd=cwd,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", errors="replace",
                              timeout=timeout)
    except subprocess.TimeoutExpired as late:
        return subprocess.CompletedProcess(command, 124, (late.stdout or b"").decode(), "no end")


class Beside:
    """@compiler: of C and of C++, the words after tweed's name; @flag: gcc's, for the same programs."""

    def __init__(self, tweed, compilers, flag):
        self.tweed, self.compilers, self.flag = tweed, compilers, flag
        self.cases = 0
        self.failures = []
        self.natives = {}

    def expect(self, name, good, *done):
        self.cases += 1
        if not good:
            self.failures.append(name)
            print(f"FAILED {name}", *(f"status {d.returncode}\n{d.stdout[-1500:]}{d.stderr[-600:]}" for d in done),
                  sep="\n", flush=True)
        return good

    def said(self, name, done, status, text):
        self.expect(name, done.returncode == status and text in done.stderr and done.stderr.count("\n") == 1, done)

    def build(self, source, *options):
        """Both programs, without their ends .tw and .gcc; None when one does not compile."""
        name = os.path.basename(source).split(".")[0]
        cxx = source.endswith("pp")
        good = True
        for end, command in [(".tw", [self.tweed, *self.compilers[cxx]]),
                             (".gcc", ["g++" if cxx else "gcc", self.flag])]:
            done = run(*command, *WARN, *options, source, "-latomic", "-o", name + end)
            good &= self.expect(f"{source} compiles for {end}", done.returncode == 0 and not done.stderr, done)
        return name if good else None

    def native(self, name, threads, args, env):
        """The same each time: gcc's threads that wait for a flag burn whole time slices where there are more of them
        than cores."""
        key = (name, threads, args, *env.items())
        if key not in self.natives:
            self.natives[key] = run(f"./{name}.gcc", *args, OMP_NUM_THREADS=str(threads), **env)
        return self.natives[key]

    def compare(self, name, shape, protocol, *args, options=(), **env):
        """@protocol: None: as the program comes."""
        nodes, processors = shape.split("x")
        right = self.native(name, int(nodes) * int(processors), args, env)
        done = run(self.tweed, "run", "-n", nodes, "-p", processors, *(["--protocol", protocol] if protocol else []),
                   *options, f"./{name}.tw", *args, **env)
        return self.expect(f"{name} {shape} {protocol} {' '.join(options)} {env or ''}",
                           done.returncode == right.returncode and done.stdout == right.stdout and not done.stderr,
                           done, right)

    def end(self):
        print(f"{self.cases - len(self.failures)} passed, {len(self.failures)} failed")
        sys.exit(bool(self.failures))
