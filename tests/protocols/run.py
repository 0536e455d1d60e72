#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""One protocol through everything: kernels verified at every shape, litmus, coherence and torture; --full: on every
fault backend that works here, 32 processes included, and --torture 1000; --brief: at one shape, for slow builds.  A
line for each
failure, a count at the end."""
import argparse
import json
import os
import subprocess
import sys

SHAPES = ["1x4", "2x2", "4x1", "4x2", "8x4"]
KERNELS = {"apps/sor": ["--iterations", "40"], "apps/gauss": [], "splash/clu": [], "splash/lu": []}


def parse():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--build", required=True, help="the build directory")
    p.add_argument("--protocol", required=True)
    p.add_argument("--compiler",
                   help="take the programs that `tweed cc` compiled with it: gcc or clang (tests/instrument)")
    p.add_argument("--settings", help="for torture: see tests/torture/run.py")
    p.add_argument("--homes-move", action="store_true", help="the protocol migrates homes")
    extent = p.add_mutually_exclusive_group()
    extent.add_argument("--full", action="store_true")
    extent.add_argument("--brief", action="store_true")
    p.add_argument("--torture", type=int, default=20, help="seeds")
    p.add_argument("--first", type=int, default=1, help="first seed")
    return p.parse_args()


def path(a, program):
    if a.compiler:
        return os.path.join(a.build, "tests/instrument", f"{os.path.basename(program)}-{a.compiler}")
    return os.path.join(a.build, program)


def run(a, shape, fault, program, *args):
    nodes, processors = shape.split("x")
    command = [os.path.join(a.build, "tools/tweed"), "run", "-n", nodes, "-p", processors, "--protocol", a.protocol,
               "--fault", fault, "--", path(a, program), *args]
    try:
        # Homes migrate: litmus must not take that for a fault.
        env = dict(os.environ, TW_TEST_HOMES_MOVE="1") if a.homes_move else None
        done = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", timeout=300)
        bad = done.returncode != 0
        said = done.stdout
    except subprocess.TimeoutExpired:
        bad, said = True, "no end after 300 s"
    if bad:
        print(f"FAILED {' '.join(command)}\n" + "\n".join("    " + l for l in said.strip().splitlines()[-4:]),
              flush=True)
    return not bad


def backends(a):
    if not a.full:
        return ["auto"]
    info = json.loads(subprocess.check_output([os.path.join(a.build, "tools/tweed"), "info", "--json"], text=True))
    names = [f["name"] for f in info["fault_backends"] if f["usable"]]
    return [f for f in names if subprocess.run(
        [os.path.join(a.build, "tools/tweed"), "run", "--protocol", a.protocol, "--fault", f, "true"],
        stderr=subprocess.DEVNULL).returncode != 2]


def main():
    a = parse()
    a.torture //= 5 if a.brief else 1
    results = []
    for fault in backends(a):
        for shape in ["2x2"] if a.brief else SHAPES:
            for kernel, args in KERNELS.items():
                results.append(run(a, shape, fault, kernel, "--verify", *args))
        for shape in SHAPES if a.full else ["2x2"] if a.brief else ["2x2", "4x1"]:
            results.append(run(a, shape, fault, "tests/litmus/litmus"))
        for shape in SHAPES if a.full else ["2x2"] if a.brief else ["4x2"]:
            results.append(run(a, shape, fault, "tests/coherence/coherence"))
    print(f"{a.protocol} {a.compiler or ''}: {sum(results)} of {len(results)} good", flush=True)
    torture = [sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../torture/run.py"),
               "--tweed", os.path.join(a.build, "tools/tweed"),
               "--torture", path(a, "tests/torture/torture"),
               "--total", str(a.torture), "--first", str(a.first)]
    torture += [] if a.settings is None else ["--settings", a.settings]
    if not a.full:
        torture += ["--shapes", "2x2" if a.brief else "2x2,4x1,4x2", "--ops", "100"]
    status = subprocess.run(torture, env=dict(os.environ, TWEED_PROTOCOL=a.protocol)).returncode
    sys.exit(0 if all(results) and status == 0 else 1)


if __name__ == "__main__":
    main()
