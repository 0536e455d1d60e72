#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""TWEED_RACE=ww: race-free programs give no report, racer's races are all reported, once for each page and node but
one; in a build
with -Dplant=true each planted race of a kernel is reported, with its function.

A planted race is a matter of timing: a job that ran one node after the other has none, so there are some tries."""
import argparse
import os
import re
import subprocess
import sys

TRIES = 30  # a race is found only if both sides are written before either is flushed
SHAPES = [(2, 1), (2, 2)]
PROTOCOLS = ["2LOffMC", "2LMigr", "1LD", "TS"]  # besides 2L
SIZES = {
    "sor": ["--rows", "130", "--columns", "2048", "--iterations", "40"],
    "gauss": ["--size", "200"],
    "clu": ["--size", "320"],
    "lu": ["--size", "320"],
    "em3d": ["--nodes", "2000", "--iterations", "10"],
    "ilink": ["--alleles", "3", "--thetas", "2", "--threshold", "500"],
    "tsp": ["--cities", "16", "--grain", "12"],
    "water": ["--molecules", "200", "--steps", "20"],
    "barnes": ["--bodies", "600", "--steps", "2", "--build", "parallel"],
    "cholesky": ["--side", "8"],
    "fft": ["--log", "12"],
    "ocean": ["--size", "33", "--steps", "2"],
    "radix": ["--keys", "30000"],
    "volrend": ["--size", "32", "--pixels", "64", "--frames", "2"],
}
# Kernel: the planted race, and the function that must be named: of either of the two that write.
PLANTS = {
    "sor": ("sor-total", r"sor_add_total"),
    "gauss": ("gauss-row", r"gauss_neighbour"),
    "clu": ("lu-diagonal", r"lu_diagonal_moved|lu_interior"),
    "lu": ("lu-diagonal", r"lu_diagonal_moved|lu_interior"),
    "water": ("water-unlocked", r"water_add_group"),
}


def parse():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--tweed", required=True)
    p.add_argument("--planted", action="store_true", help="the build has -Dplant=true: look for the planted races")
    p.add_argument("programs", nargs="+",
                   help="paths of all kernels in SIZES, and of litmus, coherence, torture, racer")
    return p.parse_args()


def run(a, shape, program, arguments, plant=None, options=()):
    """Exit status, output, and the lines that report a race."""
    environment = {k: v for k, v in os.environ.items() if k not in ("TWEED_PLANT", "TWEED_RACE")}
    environment["TWEED_RACE"] = "ww"
    if plant:
        environment["TWEED_PLANT"] = plant
    command = [a.tweed, "run", "-n", str(shape[0]), "-p", str(shape[1]), *options, "--", program, *arguments]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", timeout=120)
    return done.returncode, done.stdout, [l for l in done.stdout.splitlines() if ": data race" in l]


def clean(a, shape, program, arguments, options=()):
    status, output, races = run(a, shape, program, arguments, options=options)
    name = f"{os.path.basename(program)} {shape[0]}x{shape[1]} {' '.join(options)}".rstrip()
    if status == 0 and not races:
        return True
    print(f"{name}: FAILED, " + (f"reported: {races[0]}" if races else f"exit status {status}:\n{output[-2000:]}"))
    return False


def found(a, shape, program, protocol):
    name = os.path.basename(program)
    plant, function = PLANTS[name]
    title = f"{name} {shape[0]}x{shape[1]} {protocol} {plant}"
    said = "nothing"
    for _ in range(TRIES):
        races = run(a, shape, program, SIZES[name], plant=plant, options=("--protocol", protocol))[2]
        for line in races:
            if re.search(rf" in ({function})[.+]", line):
                print(f"{title}: {line}")
                return True
        said = races[0] if races else said
    print(f"{title}: FAILED, not found by {TRIES} jobs; last report: {said}")
    return False


def certain(a, shape, program, options=(), nodes=None):
    """Every node stores to a page of each home: all but the first to flush must report it."""
    races = run(a, shape, program, ["race"], options=options)[2]
    nodes = nodes or shape[0]
    name = f"racer {shape[0]}x{shape[1]} {' '.join(options)}".rstrip()
    found = {(re.search(r"made dirty here by processor (\d+)\.", l).group(1), re.search(r"page (\d+)", l).group(1))
             for l in races
             if re.search(r" in racer_store\+", l)}
    pages = {page for _, page in found}
    if len(pages) == nodes and len(found) >= nodes * (nodes - 1):
        return True
    print(f"{name}: FAILED, node and page of the reports: {sorted(found)}; output: {races}")
    return False


def mixed(a, program, shape, options):
    """An atomic operation of node 0 and stores of others to the same word: reported by one side, on every page."""
    races = run(a, shape, program, ["mixed"], options=options)[2]
    pages = {re.search(r"page (\d+)", l).group(1) for l in races}
    if len(pages) == shape[0]:
        return True
    print(f"racer mixed {shape[0]}x{shape[1]} {' '.join(options)}: FAILED, pages of the reports: {sorted(pages)}")
    return False


def main():
    a = parse()
    path = {os.path.basename(p): p for p in a.programs}
    sim = ("--transport", "sim")
    results = [certain(a, shape, path["racer"], options)
               for shape in SHAPES + [(3, 1), (4, 2)] for options in ((), sim, ("--fault", "mprotect"))]
    for protocol in PROTOCOLS:
        options = ("--protocol", protocol)
        results.append(certain(a, (2, 2), path["racer"], options, nodes=4 if protocol == "1LD" else 2))
        results.append(clean(a, (2, 2), path["torture"], ["--seeds", "21:8", "--ops", "100"], options))
        results.append(clean(a, (3, 2), path["torture"], ["--seeds", "31:4", "--ops", "100"], (*options, *sim)))
    results += [clean(a, shape, path["racer"], [what]) for shape in SHAPES
                for what in ("neighbours", "equal", "ordered", "atomic")]
    results += [mixed(a, path["racer"], shape, ("--protocol", protocol)) for shape in SHAPES
                for protocol in ("2L", "2LMigr", "TS")]
    for shape in SHAPES:
        for name, size in SIZES.items():
            for protocol in ("2L", "TS"):
                results.append(clean(a, shape, path[name], [*size, "--verify"], ("--protocol", protocol)))
        results.append(clean(a, shape, path["litmus"], []))
        results.append(clean(a, shape, path["coherence"], []))
        results.append(clean(a, shape, path["torture"], ["--seeds", "1:8", "--ops", "100"]))
        results.append(clean(a, shape, path["torture"], ["--seeds", "9:4", "--ops", "100"], sim))
    if a.planted:
        results += [found(a, shape, path[name], protocol) for protocol in ("2L", "TS") for shape in SHAPES
                    for name in PLANTS]
    print(f"{results.count(True)} passed, {results.count(False)} failed")
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
