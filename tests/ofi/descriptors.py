#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""descriptors.py TWEED - what a server of the transport has open does not leak into the programs: they have the same kinds of descriptors
over ofi as over shm.  Exit status 77: ofi does not work here."""
import collections
import json
import subprocess
import sys


def kinds(tweed, transport):
    """How many descriptors of each kind a program has, over all processors; memory files are not counted: shm needs more."""
    out = subprocess.run([tweed, "run", "-n", "2", "-p", "2", "--transport", transport, "--memory", "64M", "--",
                          "/bin/sh", "-c", "sleep 0.2; readlink /proc/$$/fd/*; exit 0"],
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True, timeout=60).stdout
    return collections.Counter(line.split(":[")[0] for line in out.splitlines() if "memfd" not in line)


def main():
    tweed = sys.argv[1]
    info = json.loads(subprocess.run([tweed, "info", "--json"], stdout=subprocess.PIPE, check=True, timeout=60).stdout)
    if "ofi" not in [t["name"] for t in info["transports"] if t["usable"]]:
        print("skipped: the transport ofi does not work here")
        sys.exit(77)
    shm, ofi = kinds(tweed, "shm"), kinds(tweed, "ofi")
    print(f"shm {dict(shm)}, ofi {dict(ofi)}")
    sys.exit(shm != ofi)


if __name__ == "__main__":
    main()
