#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""job.py TWEED NODES PROCESSORS BACKEND PROGRAM [ARGS...] - run one job under one fault backend.

Becomes `tweed run`; exits with 77 (skipped) when this host's kernel does not offer the backend."""
import json
import os
import subprocess
import sys


def usable(tweed, kind="fault_backends"):
    """Names of the fault backends (or transports) that work here, fastest first."""
    info = subprocess.run([tweed, "info", "--json"], stdout=subprocess.PIPE, check=True, timeout=60)
    return [d["name"] for d in json.loads(info.stdout)[kind] if d["usable"]]


def main():
    if len(sys.argv) < 6:
        sys.exit(__doc__)
    tweed, nodes, processors, backend, *program = sys.argv[1:]
    if backend not in usable(tweed):
        print(f"backend {backend} is not usable here")
        sys.exit(77)
    os.execv(tweed, [tweed, "run", "-n", nodes, "-p", processors, "--fault", backend, "--", *program])


if __name__ == "__main__":
    main()
