#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Costs of instrumentation: the four kernels under `none` on one processor, compiled by the bare compiler, by `tweed
cc` and by `tweed cc --poll`; and `1L` and `1LD` on two nodes, the same programs.  Ratios of medians of runs made in
turns."""
import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

KERNELS = {
    "sor": (["apps/sor.c", "apps/kernel.c"], ["--rows", "1024", "--columns", "2048", "--iterations", "20"]),
    "gauss": (["apps/gauss.c", "apps/kernel.c"], ["--size", "768"]),
    "clu": (["splash/clu.c", "splash/block_lu.c", "apps/kernel.c"], ["--size", "1024"]),
    "lu": (["splash/lu.c", "splash/block_lu.c", "apps/kernel.c"], ["--size", "1024"]),
}
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def compile_kernel(a, compiler, kernel, kind):
    out = f"{kernel}-{compiler}-{kind}"
    sources = [os.path.join(ROOT, s) for s in KERNELS[kernel][0]]
    words = ["-std=gnu11", "-O3", "-ffp-contract=off", "-I" + ROOT, "-I" + ROOT + "/include", *sources, "-o", out,
             "-lm"]
    tweed = os.path.join(a.build, "tools/tweed")
    command = {"bare": [compiler, *words, os.path.join(a.build, "libtweed.a"), "-pthread", "-ljemalloc"],
               "cc": [tweed, "cc", *words], "poll": [tweed, "cc", "--poll", *words]}[kind]
    subprocess.run(command, check=True, env={**os.environ, "CC": compiler})
    return "./" + out


def run(a, shape, protocol, program, kernel):
    nodes, processors = shape.split("x")
    command = [os.path.join(a.build, "tools/tweed"), "run", "-n", nodes, "-p", processors, "--protocol", protocol, "--",
               program,
               *KERNELS[kernel][1]]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return float(re.search(r"^time: ([0-9.]+) s", said, re.M).group(1))


def medians(a, kernel, jobs):
    """@jobs: (shape, protocol, program); run in turns."""
    times = [[run(a, *job, kernel) for job in jobs] for _ in range(a.repeat)]
    return [statistics.median(t[i] for t in times) for i in range(len(jobs))]


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--build", required=True, help="the build directory")
    p.add_argument("--repeat", type=int, default=9)
    a = p.parse_args()
    a.build = os.path.abspath(a.build)
    print("| kernel | compiler | tweed cc / bare | tweed cc --poll / bare | --poll / without | 1L / 1LD at 2x1 |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        for kernel in KERNELS:
            for compiler in (c for c in ("gcc", "clang") if shutil.which(c)):
                bare, cc, poll = (compile_kernel(a, compiler, kernel, k) for k in ("bare", "cc", "poll"))
                t = medians(a, kernel, [("1x1", "none", bare), ("1x1", "none", cc), ("1x1", "none", poll),
                                        ("2x1", "1L", cc), ("2x1", "1LD", bare)])
                ratios = (t[1] / t[0], t[2] / t[0], t[2] / t[1], t[3] / t[4])
                print(f"| {kernel} | {compiler} | " + " | ".join(f"{r:.2f}" for r in ratios) + " |", flush=True)
        os.chdir("/")


if __name__ == "__main__":
    sys.exit(main())
