#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""alone.py TWEED ONE_ARRAY - under TS, pages that one node alone uses cost nothing after their first interval.

The array's sweeps write each page in each interval, and at its start of zeros most stores change nothing.  Counted
are faults, twins
and write notices of the sweeps; what the pages at the bands' borders need is the limit.  Results are verified at
further shapes."""
import json
import subprocess
import sys
import tempfile

ROWS, ITERATIONS = 512, 10
PAGES = ROWS * 2050 * 8 // 4096
INTERVALS = 2 * ITERATIONS
BORDER = 12  # a row on either side lies on five or six pages
LIMITS = {"read_faults": 2 * BORDER * INTERVALS, "write_faults": 2 * BORDER * INTERVALS, "twins": BORDER,
          "write_notices": BORDER * INTERVALS + 2 * BORDER, "page_transfers": 2 * BORDER * INTERVALS}
# The whole array is read once by another node: each page is fetched, and may trap a few times until it is alone again.
LOOKED = {"read_faults": PAGES, "write_faults": 2 * PAGES}


def counters(tweed, program, shape, *args):
    """Those of one job, whose result is right."""
    nodes, processors = shape.split("x")
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        subprocess.run([tweed, "run", "-n", nodes, "-p", processors, "--protocol", "TS", "--page-size", "4K", "--stats",
                        out.name, "--",
                        program, "--rows", str(ROWS), "--iterations", str(ITERATIONS), *args, "--verify"],
                       stdout=subprocess.DEVNULL, check=True, timeout=100)
        with open(out.name, encoding="utf-8") as f:
            return json.load(f)["counters"]


def main():
    tweed, program = sys.argv[1:]
    bad = 0
    for limits, args in [(LIMITS, []), (LIMITS, ["--start", "random"]), (LOOKED, ["--look", "1"])]:
        found = counters(tweed, program, "2x1", *args)
        for name, limit in limits.items():
            if found[name] > limit:
                bad += 1
                print(f"{' '.join(args) or 'zeros'}: {name} is {found[name]}, more than {limit}")
    for shape in ["1x4", "2x2", "4x2"]:
        counters(tweed, program, shape, "--look", "1")
        counters(tweed, program, shape, "--init", "master", "--repeat", "3")
    print(f"{PAGES} pages, {INTERVALS} intervals: {bad} counters above their limits")
    sys.exit(bad != 0)


if __name__ == "__main__":
    main()
