#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Must-fail control: in a build with -Dplant=true, torture must find each planted bug, and nothing without one."""
import argparse
import os
import re
import subprocess
import sys

PLANTS = ["skip-flush", "skip-notice", "no-flush-update", "drop-incoming-diff", "no-break-wait",
          "no-demand", "no-demand@sim", "own-lock"]


def parse():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--tweed", required=True, help="the tweed command of a build with -Dplant=true")
    p.add_argument("--torture", required=True, help="the torture program of that build")
    p.add_argument("--plants", default=",".join(PLANTS))
    p.add_argument("--shapes", default="2x2,4x2,3x3")
    p.add_argument("--seeds", type=int, default=60, help="seeds to try, in turn on each shape")
    p.add_argument("--per-job", type=int, default=5)
    p.add_argument("--timeout", type=int, default=60, help="seconds per job; the program's own watchdog has half of it")
    return p.parse_args()


def run(a, plant, shape, first):
    """@plant: NAME or NAME@TRANSPORT; no name: none.  Returns (kind, sentence): kind is "violation", "hang", "end" (a processor refused what it read), "clean" or
    "other"."""
    nodes, processors = shape.split("x")
    command = [a.tweed, "run", "-n", nodes, "-p", processors, a.torture, "--seeds", f"{first}:{a.per_job}",
               "--watchdog", str(a.timeout // 2)]
    environment = dict(os.environ)
    environment.pop("TWEED_PLANT", None)
    name, _, transport = plant.partition("@")
    if name:
        environment["TWEED_PLANT"] = name
    if transport:
        environment["TWEED_TRANSPORT"] = transport
    try:
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              errors="replace", timeout=a.timeout)
    except subprocess.TimeoutExpired:
        return "hang", f"no end after {a.timeout} s"
    if done.returncode == 0:
        return "clean", ""
    for kind in "violation", "hang":
        for line in done.stderr.splitlines():
            if f"torture: {kind}: " in line:
                return kind, line.split(f"torture: {kind}: ", 1)[1]
    for line in done.stderr.splitlines():
        if re.match(r"tweed: \d+\.\d+: ", line):
            return "end", line
    return "other", f"exit status {done.returncode}: {done.stderr.strip()[:300]}"


def find(a, plant):
    """Try seeds until one finds the bug."""
    shapes = a.shapes.split(",")
    for i, first in enumerate(range(1, a.seeds + 1, a.per_job)):
        shape = shapes[i % len(shapes)]
        kind, said = run(a, plant, shape, first)
        if kind == "end" and run(a, "@" + plant.partition("@")[2], shape, first)[0] != "clean":
            kind = "other"  # not the bug's doing
        if kind in ("violation", "hang", "end"):
            print(f"{plant}: found as {kind} at {shape}: {said}", flush=True)
            return True
        if kind == "other":
            print(f"{plant}: FAILED at {shape} seeds {first}:{a.per_job}: {said}", flush=True)
            return False
    print(f"{plant}: FAILED, not found by {a.seeds} seeds", flush=True)
    return False


def control(a):
    """The same build without a bug: what is found below is the bug's doing."""
    for shape in a.shapes.split(","):
        kind, said = run(a, "", shape, 1)
        if kind != "clean":
            print(f"no plant: FAILED at {shape}: {kind}: {said}", flush=True)
            return False
    return True


def main():
    a = parse()
    results = [control(a)] + [find(a, p) for p in a.plants.split(",")]
    print(f"{results.count(True)} passed, {results.count(False)} failed")
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
