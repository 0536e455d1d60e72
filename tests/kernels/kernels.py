#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Kernels at small sizes, each verified against its sequential form: under 2L at every shape, and repeated with
processor 0
initialising; under each other protocol at one shape, in turns; with each fault backend.  --brief: 2L at 2x2, for slow
builds.
--planted: in a build with -Dplant=true no kernel verifies under a protocol that forgets write notices.  A line for each
failure, a count at the end."""
import argparse
import os
import subprocess
import sys

SHAPES = ["1x4", "2x2", "4x1", "4x2", "8x4"]
PROTOCOLS = ["2LS", "2LOffMC", "2LMigr", "1LD", "TS"]
FAULTS = ["mprotect", "uffd-monitor"]
KERNELS = [
    ("apps/em3d", ["--nodes", "2000", "--iterations", "10"]),
    ("apps/ilink", ["--alleles", "3", "--thetas", "2", "--threshold", "500"]),
    ("apps/tsp", ["--cities", "16", "--grain", "12"]),
    ("splash/water", ["--molecules", "100", "--steps", "3"]),
    ("splash/barnes", ["--bodies", "1500", "--steps", "2"]),
    ("splash/barnes", ["--bodies", "1500", "--steps", "2", "--build", "parallel"]),
    ("splash/cholesky", ["--side", "10"]),
    ("splash/fft", ["--log", "14"]),
    ("splash/ocean", ["--size", "33", "--steps", "2"]),
    ("splash/radix", ["--keys", "60000"]),
    ("splash/volrend", ["--size", "64", "--pixels", "96", "--frames", "3"]),
]
TRIES = 5  # for a planted bug to show
LIMIT, PLANTED_LIMIT = 120, 10  # seconds; programs that read stale data may wait for ever


def parse():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--build", required=True, help="the build directory")
    p.add_argument("--compiler",
                   help="also under 1L, with the programs that `tweed cc` compiled with it (tests/instrument)")
    extent = p.add_mutually_exclusive_group()
    extent.add_argument("--brief", action="store_true")
    extent.add_argument("--planted", action="store_true")
    return p.parse_args()


def run(a, shape, options, program, args, env=None, limit=LIMIT):
    """Did the job end well?  With the command and what it said."""
    nodes, processors = shape.split("x")
    command = [os.path.join(a.build, "tools/tweed"), "run", "-n", nodes, "-p", processors, *options, "--",
               os.path.join(a.build, program), *args, "--verify"]
    try:
        done = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace",
                              timeout=limit)
        return done.returncode == 0, command, done.stdout
    except subprocess.TimeoutExpired:
        return False, command, f"no end after {limit} s"


def good(a, shape, options, program, args):
    passed, command, said = run(a, shape, options, program, args)
    if not passed:
        print(f"FAILED {' '.join(command)}\n" + "\n".join("    " + l for l in said.strip().splitlines()[-4:]),
              flush=True)
    return passed


def planted(a, program, args):
    """Four nodes of one processor: nothing is shared but by the protocol."""
    env = dict(os.environ, TWEED_PLANT="skip-notice")
    for _ in range(TRIES):
        passed, command, _ = run(a, "4x1", [], program, args, env, PLANTED_LIMIT)
        if not passed:
            return True
    print(f"FAILED, verified {TRIES} times with TWEED_PLANT=skip-notice: {' '.join(command)}", flush=True)
    return False


def main():
    a = parse()
    results = []
    for i, (program, args) in enumerate(KERNELS):
        if a.planted:
            results.append(planted(a, program, args))
        if a.planted or a.brief:
            results.append(good(a, "2x2", [], program, args))
            continue
        results += [good(a, shape, [], program, args) for shape in SHAPES]
        results.append(good(a, "2x2", [], program, args + ["--init", "master", "--repeat", "3"]))
        for n, protocol in enumerate(PROTOCOLS):
            results.append(good(a, SHAPES[(i + n) % len(SHAPES)], ["--protocol", protocol], program, args))
        results += [good(a, "2x2", ["--fault", fault], program, args) for fault in FAULTS]
        if a.compiler:
            copy = os.path.join("tests/instrument", f"{os.path.basename(program)}-{a.compiler}")
            results.append(good(a, SHAPES[(i + 1) % len(SHAPES)], ["--protocol", "1L"], copy, args))
    print(f"{sum(results)} of {len(results)} good", flush=True)
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
