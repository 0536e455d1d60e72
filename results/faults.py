#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Faults, copies and messages of TS and 2L: the kernels at their default sizes, and relaxation in place on one array,
whose rows are not multiple of a page.  The protocols take turns; medians of the rounds.  Times are TS's over 2L's."""
import argparse
import json
import os
import statistics
import subprocess
import tempfile

KERNELS = [f"apps/{k}" for k in ("sor", "gauss", "em3d", "ilink", "tsp")] + \
          [f"splash/{k}" for k in ("clu", "lu", "water", "barnes", "volrend", "fft", "radix", "ocean", "cholesky")]
ONE_ARRAY = [["--start", "zero"], ["--start", "random"], ["--start", "zero", "--init", "master"],
             ["--start", "zero", "--look", "1"]]
COUNTERS = {"read_faults": "read faults", "write_faults": "write faults", "twins": "twins", "write_notices": "notices",
            "page_transfers": "transfers", "messages": "messages"}


def parse():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--build", default="build", help="the build directory")
    p.add_argument("--shape", default="2x1")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--only", help="part of a program's path")
    p.add_argument("--settings", default="", help="options of tweed run, for both")
    return p.parse_args()


def count(a, protocol, program):
    """The counters of one job, and its time."""
    nodes, processors = a.shape.split("x")
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        subprocess.run([os.path.join(a.build, "tools/tweed"), "run", "-n", nodes, "-p", processors, "--protocol",
                        protocol, "--stats", out.name,
                        *a.settings.split(), "--", os.path.join(a.build, program[0]), *program[1:]],
                       check=True, stdout=subprocess.DEVNULL, timeout=300)
        with open(out.name, encoding="utf-8") as f:
            found = json.load(f)
    return {**found["counters"], "elapsed": found["elapsed"]}


def row(a, program):
    runs = {"2L": [], "TS": []}
    for _ in range(a.rounds):
        for protocol, done in runs.items():
            done.append(count(a, protocol, program))
    two, ts = ({c: statistics.median(r[c] for r in done) for c in done[0]} for done in runs.values())
    faults = [m["read_faults"] + m["write_faults"] for m in (two, ts)]
    cells = [f"{two[c]:,.0f} / {ts[c]:,.0f}" for c in COUNTERS]
    name = " ".join([os.path.basename(program[0]), *program[1:]])
    print(f"| {name} | " + " | ".join(cells) +
          f" | {faults[1] / max(faults[0], 1):.2f} | {ts['elapsed'] / two['elapsed']:.2f} |", flush=True)


def main():
    a = parse()
    print(f"| {a.shape}, 2L / TS | " + " | ".join(COUNTERS.values()) + " | faults, TS / 2L | time, TS / 2L |")
    print("|---|" + "--:|" * (len(COUNTERS) + 2))
    for program in [[k] for k in KERNELS] + [["tests/protocols/one_array"] + o for o in ONE_ARRAY]:
        if not a.only or a.only in program[0]:
            row(a, program)


if __name__ == "__main__":
    main()
