#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The four kernels at several shapes under one protocol: a table of time, ratio to plain C, and what the protocol did.

Each number is the median of --repeat runs; plain C is the same kernel with --sequential, run in between, so that a
ratio compares runs made under the same conditions.  Exit status 1 when an answer is wrong."""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

KERNELS = {  # name: (program, size for seconds, size for --full)
    "sor": ("apps/sor", ["--rows", "1024", "--columns", "2048", "--iterations", "50"],
            ["--rows", "3072", "--columns", "4096", "--iterations", "20"]),
    "gauss": ("apps/gauss", ["--size", "1024"], ["--size", "2048"]),
    "clu": ("splash/clu", ["--size", "768"], ["--size", "2048"]),
    "lu": ("splash/lu", ["--size", "768"], ["--size", "2048"]),
}
SHAPES = ["1x1", "2x1", "1x2", "2x2"]


def progress(text):
    if sys.stderr.isatty():
        sys.stderr.write("\r\033[K" + text)
        sys.stderr.flush()


def run(command, env=None):
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    if done.returncode not in (0, 1) or "time:" not in done.stdout:
        progress("")
        sys.exit(f"{' '.join(command)} ended with status {done.returncode}:\n{done.stdout}{done.stderr}")
    return float(re.search(r"^time: ([0-9.]+) s", done.stdout, re.M).group(1)), done.stdout


def measure(args, kernel, shape):
    program, quick, full = KERNELS[kernel]
    size = full if args.full else quick
    path = os.path.join(args.build, program)
    nodes, processors = shape.split("x")
    times, plain, verified, stats = [], [], True, None
    for i in range(args.repeat):
        progress(f"{kernel} {shape} {args.protocol}, run {i + 1} of {args.repeat} ...")
        plain.append(run([path, "--sequential", *size])[0])
        with tempfile.NamedTemporaryFile(suffix=".json") as f:
            time, out = run([os.path.join(args.build, "tools/tweed"), "run", "-n", nodes, "-p", processors, "--protocol",
                             args.protocol, "--stats", f.name, "--", path, "--verify", *size])
            stats = json.load(open(f.name))
        times.append(time)
        verified &= out.rstrip().endswith("verified: yes")
    counters = stats["counters"]["sum"] if "sum" in stats["counters"] else stats["counters"]
    return {"kernel": kernel, "shape": shape, "time_s": statistics.median(times), "plain_s": statistics.median(plain),
            "ratio": statistics.median(p / t for p, t in zip(plain, times)),
            "faults": counters["read_faults"] + counters["write_faults"], "page_transfers": counters["page_transfers"],
            "megabytes": counters["data_bytes"] / 1e6, "verified": verified}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("--protocol", default="2L")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--full", action="store_true", help="the paper's sizes")
    parser.add_argument("--kernels", nargs="*", default=list(KERNELS))
    parser.add_argument("--shapes", nargs="*", default=SHAPES)
    parser.add_argument("--json", help="also write the rows to this file")
    args = parser.parse_args()
    rows = [measure(args, k, s) for k in args.kernels for s in args.shapes]
    progress("")
    print(f"{args.protocol}, medians of {args.repeat} runs; ratio: plain C's time / this time")
    print(f"{'kernel':8}{'shape':>6}{'time s':>10}{'ratio':>8}{'faults':>10}{'transfers':>11}{'MB':>9}  verified")
    for r in rows:
        print(f"{r['kernel']:8}{r['shape']:>6}{r['time_s']:>10.3f}{r['ratio']:>8.2f}{r['faults']:>10}{r['page_transfers']:>11}"
              f"{r['megabytes']:>9.1f}  {'yes' if r['verified'] else 'NO'}")
    if args.json:
        with open(args.json, "w") as f:
            json.dump(rows, f, indent=1)
    return 0 if all(r["verified"] for r in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
