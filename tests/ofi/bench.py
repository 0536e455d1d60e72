#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""bench.py BUILD - operations over ofi on loopback beside libfabric's fi_pingpong on the same provider, in turns;
medians.

A write with its flush takes a round trip; "usec/xfer" of fi_pingpong is one way, half of it."""
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.dont_write_bytecode = True
import peer  # noqa: E402

ROUNDS = 5
PINGPONG = ["fi_pingpong", "-e", "msg", "-p", "tcp"]
ROUND_TRIPS = ["8-byte write and flush", "8-byte read", "fetch-and-add"]
STREAM = "writes of 1024 KiB each, flush at the end"
BOUNDS = {**dict.fromkeys(ROUND_TRIPS, 1.3), STREAM: 0.85}


def pingpong(size, times):
    """(microseconds one way, MB/s)"""
    command = [*PINGPONG, "-I", str(times), "-S", str(size)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:
        time.sleep(0.5)
        said = subprocess.run([*command, "127.0.0.1"], stdout=subprocess.PIPE, check=True, text=True,
                              timeout=120).stdout
        server.wait(60)
    fields = said.splitlines()[-1].split()
    return float(fields[6]), float(fields[5])


def main():
    build = sys.argv[1]
    said, theirs = [], {}
    for _ in range(ROUNDS):
        trip = 2 * pingpong(8, 20000)[0]
        for name in ROUND_TRIPS:
            theirs.setdefault(name, []).append(trip)
        theirs.setdefault(STREAM, []).append(pingpong(1 << 20, 1000)[1])
        said += subprocess.run(
            [f"{build}/tools/tweed", "run", "-n", "2", "-p", "1", "--transport", "ofi", "--memory", "64M",
             "--protocol", "2L:refresh=0,retention=0", "--spin", "100", f"{build}/tools/tweed-bench", "network"],
            stdout=subprocess.PIPE, check=True, text=True, timeout=300).stdout.splitlines()
    sys.exit(not peer.table("fi_pingpong", peer.rows(said), theirs, BOUNDS))


if __name__ == "__main__":
    main()
