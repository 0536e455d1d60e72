#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`tweed machine measure`: this host's machine file, for virtual time (doc/reference/machines.md), by `tweed bench`."""
import argparse
import json
import platform
import subprocess
import sys
import time

from harness.command import Parser, run
from harness.plan import Refused

HELP = """Prints the machine file of this host: what 'tweed bench' measures of its operations, over the transport that
OPTIONS or the environment name.  OPTIONS are those of 'tweed run'.  Takes about 20 s, with nothing beside."""
PAGE_KIB = 4
WORK_PS = 1000  # of a block: each program has its own, which plans measure
PROTECTED = "change of own rights"  # the floor of a row of `tweed bench`


def rows(tweed, *options):
    done = subprocess.run([tweed, "bench", "--json", *options], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          text=True, check=False)
    if done.returncode:
        raise Refused(f"'tweed bench {' '.join(options)}' failed with status {done.returncode}")
    return json.loads(done.stdout)


def find(found, key, value, what):
    """Number @what of the first row whose @key is @value."""
    for row in found:
        if row[key] == value and row[what] is not None:
            return row[what]
    raise Refused(f"'tweed bench' has not measured '{value}'")


def costs(found, network):
    """By the names in machine files.  Times in the rows are us, bandwidths MB/s."""
    def ns(us):
        return max(0, round(us * 1000))

    fault = find(found, "name", "fault on a resident page", "value")  # with the protocol's part
    copy = find(found, "floor_is", "copy", "floor")  # of a page, out of cache, as pages come from other nodes
    stream = max(r["value"] for r in network if r["unit"] == "MB/s" and r["name"].startswith("writes"))
    protect = find(found, "floor_is", PROTECTED, "floor") if any(r["floor_is"] == PROTECTED for r in found) else \
        fault / 3
    one_way = find(network, "name", "8-byte write, one way", "value")
    atomic = find(network, "name", "fetch-and-add", "value")
    answer = find(network, "name", "message of 64 bytes and its answer", "value")
    overhead = max(0.0, atomic - 2 * one_way)
    return {
        "work_ps": WORK_PS,
        "trap_ns": ns(fault - protect),
        "protect_ns": ns(protect),
        "twin_ns": ns(find(found, "floor_is", "copy in cache", "floor") / PAGE_KIB),
        "diff_ns": ns(find(found, "name", "outgoing diff, one word", "value") / PAGE_KIB),
        "merge_ns": ns(find(found, "name", "incoming diff, one word", "value") / PAGE_KIB),
        "copy_ns": ns(copy / PAGE_KIB),
        "directory_ns": ns(find(found, "name", "directory update", "value")),
        "lock_ns": ns(find(found, "name", "lock, uncontended", "value")),
        "message_ns": ns(answer / 2 - one_way - overhead),
        "serve_ns": 0,
        "land_ns": 0,
        "overhead_ns": ns(overhead),
        "latency_ns": ns(one_way),
        "link_mb": round(min(stream, PAGE_KIB * 1024 / copy)),
        "network_mb": 0,
    }


def main():
    p = Parser(prog="tweed machine", usage="tweed machine measure [OPTIONS]", description=HELP,
               formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--tweed", default="tweed", help=argparse.SUPPRESS)
    p.add_argument("what", metavar="measure", choices=["measure"])
    o, options = p.parse_known_args()
    if any(word.partition("=")[0] == "--page-size" for word in options):
        raise Refused("machine files are for pages of all sizes: leave --page-size out")
    page = ["--page-size", f"{PAGE_KIB}K"]
    found, network = rows(o.tweed, *page, *options), rows(o.tweed, "--network", *page, *options)
    print(f"# {platform.node()}, {platform.machine()}, Linux {platform.release()}, {time.strftime('%Y-%m-%d')}: "
          f"tweed machine measure {' '.join(options)}".rstrip())
    for name, value in costs(found, network).items():
        print(f"{name} = {value}")


if __name__ == "__main__":
    run(main)
