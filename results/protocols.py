#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The kernels under each protocol, beside 2L: runs made in turns, so that a ratio compares runs under the same conditions.  Printed are
medians of time over 2L's time: below 1 is faster than 2L."""
import argparse
import json
import os
import statistics
import sys

import kernels

PROTOCOLS = ["2L", "2LS", "2LOffMC", "2LMigr", "1LD", "1L", "TS"]


def parse():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--build", default="build", help="the build directory, with tests for 1L")
    p.add_argument("--shape", default="2x1")
    p.add_argument("--protocols", nargs="+", default=PROTOCOLS)
    p.add_argument("--kernels", nargs="+", default=list(kernels.KERNELS))
    p.add_argument("--repeat", type=int, default=7)
    p.add_argument("--full", action="store_true", help="the paper's sizes")
    p.add_argument("--json", metavar="FILE", help="all times, too")
    return p.parse_args()


def time_of(a, kernel, protocol):
    program, quick, full = kernels.KERNELS[kernel]
    if protocol == "1L":  # needs programs that announce their stores; the tests have some
        program = f"tests/instrument/{kernel}-gcc"
    nodes, processors = a.shape.split("x")
    command = [os.path.join(a.build, "tools/tweed"), "run", "-n", nodes, "-p", processors, "--protocol", protocol, "--",
               os.path.join(a.build, program), *(full if a.full else quick)]
    return kernels.run(command)[0]


def main():
    a = parse()
    times = {(k, p): [] for k in a.kernels for p in a.protocols}
    for r in range(a.repeat):
        for k in a.kernels:
            for p in a.protocols:
                kernels.progress(f"round {r + 1} of {a.repeat}, {k}, {p} ...")
                times[k, p].append(time_of(a, k, p))
    kernels.progress("")
    print(f"time / 2L's time at {a.shape}, medians of {a.repeat} rounds\n")
    print("| | 2L, s | " + " | ".join(a.protocols[1:]) + " | best |\n|---|--:|" + "--:|" * (len(a.protocols) - 1) + "---|")
    for k in a.kernels:
        ratio = {p: statistics.median(t / b for t, b in zip(times[k, p], times[k, "2L"])) for p in a.protocols}
        best = min(ratio, key=ratio.get)
        print(f"| {k} | {statistics.median(times[k, '2L']):.3f} | " + " | ".join(f"{ratio[p]:.2f}" for p in a.protocols[1:]) +
              f" | {best} |")
    if a.json:
        with open(a.json, "w", encoding="utf-8") as f:
            json.dump([{"kernel": k, "protocol": p, "shape": a.shape, "seconds": t} for (k, p), t in times.items()], f, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
