#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Counters of the protocols: the kernels at 8x4 with pages of 8 KiB under each protocol, by the paper's rules (no page
is updated before it is missed, stays writable over a release, or is prefetched), as in Cashmere-2L's table 3.  Ends
with the comparisons of its section 3.3, and fails if one does not hold."""
import argparse
import json
import os
import subprocess
import sys
import tempfile

KERNELS = {"sor": "apps/sor", "gauss": "apps/gauss", "clu": "splash/clu", "lu": "splash/lu"}
PROTOCOLS = ["2L", "2LS", "2LOffMC", "2LMigr", "1LD", "1L", "TS"]
COUNTERS = ["read_faults", "write_faults", "page_transfers", "host_transfers", "directory_updates", "write_notices",
            "data_bytes",
            "twins", "incoming_diffs", "flush_updates", "shootdowns", "migrations"]
RULES = {"TWEED_PREFETCH": "0", "TWEED_RELEASE": "eager"}
PARAMETERS = ":refresh=0,retention=0"


def parse():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--build", default="build", help="the build directory")
    p.add_argument("--shape", default="8x4")
    p.add_argument("--page-size", default="8K")
    p.add_argument("--protocols", nargs="+", default=PROTOCOLS)
    p.add_argument("--paper", action="store_true", help="the paper's problem sizes")
    p.add_argument("--json", metavar="FILE", help="all counters, too")
    return p.parse_args()


def program(a, protocol, kernel):
    """1L needs programs that announce their stores; the tests have some."""
    path = f"tests/instrument/{kernel}-gcc" if protocol == "1L" else KERNELS[kernel]
    return os.path.join(a.build, path)


def count(a, protocol, kernel, who):
    nodes, processors = a.shape.split("x")
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        command = [os.path.join(a.build, "tools/tweed"), "run", "-n", nodes, "-p", processors, "--page-size",
                   a.page_size,
                   "--protocol", protocol + PARAMETERS, "--stats", out.name, "--", program(a, protocol, kernel),
                   "--init", who]
        subprocess.run(command + (["--paper"] if a.paper else []), check=True, env={**os.environ, **RULES},
                       stdout=subprocess.DEVNULL)
        return json.load(open(out.name, encoding="utf-8"))["counters"]


def table(a, counts, kernel, who):
    print(f"\n{kernel}, initialised by {'its owners' if who == 'owner' else 'processor 0'}, {a.shape}, pages of "
          f"{a.page_size}\n")
    print("| | " + " | ".join(a.protocols) + " |\n|---|" + "--:|" * len(a.protocols))
    for c in COUNTERS:
        print(f"| {c} | " + " | ".join(f"{counts[kernel, who, p][c]:,}" for p in a.protocols) + " |")


def expectations(counts):
    """(expectation, whether it holds)"""
    def of(kernel, who, protocol, counter):
        return counts[kernel, who, protocol][counter]

    for kernel, factor in (("gauss", 3), ("lu", 5)):
        for counter in ("page_transfers", "data_bytes"):
            one, two = of(kernel, "owner", "1LD", counter), of(kernel, "owner", "2L", counter)
            yield f"{kernel}: {counter} of 1LD are {one / two:.2f} times those of 2L, at least {factor}", \
                one >= factor * two
    for kernel in ("sor", "gauss", "lu"):
        two, migrating = of(kernel, "master", "2L", "twins"), of(kernel, "master", "2LMigr", "twins")
        yield f"{kernel}: {migrating} twins of 2LMigr, fewer than {two} of 2L, where processor 0 initialised", \
            migrating < two
    for kernel in ("sor", "clu", "lu"):
        diffs = of(kernel, "owner", "2L", "incoming_diffs")
        yield f"{kernel}: {diffs} incoming diffs of 2L, none in a program of barriers", diffs == 0
    for kernel in KERNELS:
        if (kernel, "owner", "1L") in counts:
            twins = of(kernel, "owner", "1L", "twins")
            yield f"{kernel}: {twins} twins of 1L, which makes none", twins == 0


def main():
    a = parse()
    counts = {}
    for who in "owner", "master":
        for kernel in KERNELS:
            for i, protocol in enumerate(a.protocols):
                if sys.stderr.isatty():
                    print(f"\r{who} {kernel} {i + 1}/{len(a.protocols)} \033[K", end="", file=sys.stderr, flush=True)
                counts[kernel, who, protocol] = count(a, protocol, kernel, who)
            if sys.stderr.isatty():
                print("\r\033[K", end="", file=sys.stderr, flush=True)
            table(a, counts, kernel, who)
    if a.json:
        with open(a.json, "w", encoding="utf-8") as f:
            json.dump([{"kernel": k, "init": w, "protocol": p, "counters": c} for (k, w, p), c in counts.items()], f,
                      indent=1)
    print()
    wrong = 0
    if {"2L", "2LMigr", "1LD"} <= set(a.protocols):
        for said, holds in expectations(counts):
            print(("ok    " if holds else "WRONG ") + said)
            wrong += not holds
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
