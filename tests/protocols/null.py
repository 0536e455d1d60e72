#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""null.py TWEED CORE KERNEL - under the protocol null the core does its part and no more; and null cannot pass for a
real protocol: one line warns, `tweed info` says so, a kernel's verification fails."""
import json
import os
import subprocess
import sys

problems = []


def tweed(*args):
    done = subprocess.run([sys.argv[1], *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=100,
                          env={**os.environ, "TWEED_PROTOCOL": "null"})
    return done.returncode, done.stdout, done.stderr


def expect(condition, sentence, *said):
    if not condition:
        problems.append(sentence + ": " + repr(said))


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    core, kernel = sys.argv[2:]
    info = json.loads(tweed("info", "--json")[1])
    incoherent = [p["name"] for p in info["protocols"] if not p["coherent"]]
    expect(incoherent == ["null"], "tweed info calls other protocols incoherent than null", incoherent)
    for fault in [f["name"] for f in info["fault_backends"] if f["usable"]]:
        for nodes, processors in ("1", "4"), ("2", "2"), ("4", "1"):
            status, out, err = tweed("run", "-n", nodes, "-p", processors, "--fault", fault, core)
            warned = err.count("tweed: warning: under protocol null ")
            expect(status == 0 and out.endswith(", 0 failed\n"), f"{core} fails at {nodes}x{processors} {fault}", out,
                   err)
            expect(warned == (nodes != "1") and err.count("\n") == warned, "not one warning, or more than that", nodes,
                   err)
    expect(tweed("run", "-p", "2", kernel, "--verify")[0] == 0, f"{kernel} fails on one node")
    expect(tweed("run", "-n", "2", kernel, "--verify")[0] != 0, f"{kernel} passes on two nodes without coherence")
    for p in problems:
        print(p)
    print(f"{len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
