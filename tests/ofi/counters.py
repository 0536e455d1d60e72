#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""counters.py TWEED SOR - a protocol does the same over every network: the counters of sor over ofi equal those over
shm.

With `simple`, where no counter depends on which processor comes first, all counters are compared, but for round trips,
of which a network saves some.  With 2L, only those
that do not: the order decides which processor enters exclusive mode, and with it write faults, directory updates and
what follows from them; and, in about one run of a hundred over shm alone, invalidations.  Exit status 77: ofi does not
work here."""
import json
import subprocess
import sys
import tempfile

SETTLED = ["barriers", "read_faults", "page_transfers", "lock_acquires", "twins", "diffs", "messages"]
JOBS = [("2", "1", "simple", None), ("2", "2", "simple", None), ("2", "2", "2L:refresh=0,retention=0", SETTLED)]


def counters(tweed, sor, transport, nodes, processors, protocol):
    """Those of one job."""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        subprocess.run(
            [tweed, "run", "-n", nodes, "-p", processors, "--transport", transport, "--protocol", protocol,
             "--memory", "64M", "--prefetch", "0", "--stats", out.name,
             "--", sor, "--rows", "512", "--columns", "512", "--iterations", "20", "--verify"],
            stdout=subprocess.DEVNULL, check=True, timeout=100)
        return json.load(open(out.name, encoding="utf-8"))["counters"]


def main():
    tweed, sor = sys.argv[1:]
    info = json.loads(subprocess.run([tweed, "info", "--json"], stdout=subprocess.PIPE, check=True, timeout=60).stdout)
    if "ofi" not in [t["name"] for t in info["transports"] if t["usable"]]:
        print("skipped: the transport ofi does not work here")
        sys.exit(77)
    bad = 0
    for nodes, processors, protocol, names in JOBS:
        shm = counters(tweed, sor, "shm", nodes, processors, protocol)
        ofi = counters(tweed, sor, "ofi", nodes, processors, protocol)
        assert shm["barriers"] > 0 and shm["page_transfers"] > 0
        for name in names or shm.keys() - {"round_trips"}:
            if shm[name] != ofi[name]:
                bad += 1
                print(f"{protocol} {nodes}x{processors}: {name} is {shm[name]} over shm, {ofi[name]} over ofi")
    print(f"{len(JOBS)} jobs, {bad} counters differ")
    sys.exit(bad != 0)


if __name__ == "__main__":
    main()
