# SPDX-License-Identifier: BSD-3-Clause
"""`tweed compare`, as the tests beside run it: FILE.py TWEED."""
import os
import subprocess
import sys

TWEED = os.path.abspath(sys.argv[1])
failures = []


def compare(*args, cwd):
    return subprocess.run([TWEED, "compare", *args], capture_output=True, text=True, cwd=cwd, timeout=120)


def check(what, holds, more=""):
    if not holds:
        failures.append(what)
        print(f"FAILED: {what}: {more}")


def end(name):
    print(f"{name}: {'failed: ' + ', '.join(failures) if failures else 'good'}")
    sys.exit(1 if failures else 0)
