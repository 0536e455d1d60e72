#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Spread torture seeds over shapes x fault backends x transports x page sizes; every seed runs once.
TW_TEST_TIMES=N in the environment: N times as many seeds, as `./check --long` has it."""
import argparse
import itertools
import os
import subprocess
import sys
import time

from job import usable

SHAPES = ["1x4", "2x2", "4x1", "4x2", "8x4"]
# Settings that lead to other paths; the jobs take turns.
SETTINGS = ["", "TWEED_LOCK=array", "TWEED_TWINS=1M", "TWEED_HOME=round-robin", "TWEED_HOME=after-init",
            "TWEED_SUPERPAGE=16", "TWEED_PREFETCH=0", "TWEED_RELEASE=eager"]


def parse():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--tweed", required=True, help="the tweed command")
    p.add_argument("--torture", required=True, help="the torture program")
    p.add_argument("--total", type=int, default=200, help="number of seeds (default 200; the full run takes 2000)")
    p.add_argument("--first", type=int, default=1, help="first seed")
    p.add_argument("--shapes", default=",".join(SHAPES))
    p.add_argument("--faults", default="", help="fault backends; default: all that are usable here")
    p.add_argument("--transports", default="shm,sim")
    p.add_argument("--page-sizes", default="4K,16K")
    p.add_argument("--settings", default=",".join(SETTINGS),
                   help="NAME=VALUE,...; jobs take turns; an empty one: defaults")
    p.add_argument("--ops", type=int, default=0, help="operations per processor and phase; 0: the program's choice")
    p.add_argument("--timeout", type=int, default=600, help="seconds per job")
    p.add_argument("--verbose", action="store_true", help="a line for each job with its time")
    return p.parse_args()


def run(a, combination, setting, first, count):
    """One job.  Returns None, or what went wrong."""
    shape, fault, transport, size = combination
    nodes, processors = shape.split("x")
    # Delays and reorderings of sim are other ones for every job, and the same when it is repeated.
    command = [a.tweed, "run", "-n", nodes, "-p", processors, "--fault", fault, "--transport",
               f"{transport}:seed={first}" if transport.startswith("sim") else transport, "--page-size", size,
               a.torture]
    if a.ops:
        command += ["--ops", str(a.ops)]
    environment = dict(os.environ)
    if setting:
        environment.update([setting.split("=", 1)])
    replay = f"{setting} " + " ".join(command)
    began = time.monotonic()
    try:
        done = subprocess.run(command + ["--seeds", f"{first}:{count}"], env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, errors="replace", timeout=a.timeout)
    except subprocess.TimeoutExpired:
        return f"no end after {a.timeout} s\n  replay: {replay} --seeds {first}:{count}"
    if a.verbose:
        print(f"{time.monotonic() - began:7.2f} s  {shape} {fault} {transport} {size} {setting} seeds {first}:{count}",
              flush=True)
    if done.returncode == 0 and f"torture: {count} seeds, 0 violations" in done.stdout:
        return None
    said = "\n    ".join(done.stderr.strip().splitlines()[:6])
    seed = f"{first}:{count}"
    for word in done.stderr.split("--seeds ")[1:]:
        seed = word.split()[0]
        break
    return f"exit status {done.returncode}\n    {said}\n  replay: {replay} --seeds {seed}"


def accepted(a, setting, *options):
    """Does the protocol of the environment take it?  Some homes cannot migrate, for instance."""
    environment = dict(os.environ, **dict([setting.split("=", 1)] if setting else []))
    return subprocess.run([a.tweed, "run", "-n", "2", "-p", "1", *options, "true"], env=environment,
                          stderr=subprocess.DEVNULL).returncode != 2


def main():
    a = parse()
    a.total *= int(os.environ.get("TW_TEST_TIMES", "1"))
    faults = a.faults.split(",") if a.faults else [f for f in usable(a.tweed) if accepted(a, "", "--fault", f)]
    combinations = list(itertools.product(a.shapes.split(","), faults, a.transports.split(","),
                                          a.page_sizes.split(",")))
    seed, passed, failed = a.first, 0, 0
    # Fewer seeds than combinations: walk through them with a stride, so that every value of each axis has its turn.
    if a.total < len(combinations):
        combinations = combinations[::-(-len(combinations) // a.total)][:a.total]
    settings = [s for s in a.settings.split(",") if accepted(a, s)]
    for i, c in enumerate(combinations):
        setting = settings[(i + i // 4 + i // 12) % len(settings)]  # all settings meet all values of every axis
        count = a.total // len(combinations) + (i < a.total % len(combinations))
        wrong = run(a, c, setting, seed, count)
        if wrong:
            failed += 1
            print(f"FAILED {' '.join(c)} {setting} seeds {seed}:{count}: {wrong}", flush=True)
        else:
            passed += 1
        seed += count
    print(f"torture: {a.total} seeds on {len(combinations)} combinations of shape, backend, transport and page size")
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
