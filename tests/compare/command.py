# SPDX-License-Identifier: BSD-3-Clause
"""`tweed compare`, as the tests beside run it: FILE.py TWEED."""
import glob
import os
import subprocess
import sys
import time

TWEED = os.path.abspath(sys.argv[1])
failures = []


def compare(*args, cwd):
    return subprocess.run([TWEED, "compare", *args], capture_output=True, text=True, cwd=cwd, timeout=120)


def stopped(number, plan, option, out, cwd):
    """Sends the signal @number once the directory @out has results of two runs; returns what it said, and how many
    results there are then."""
    child = subprocess.Popen([TWEED, "compare", plan, option, out], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             text=True, cwd=cwd)
    done, end = os.path.join(cwd, out, "runs", "*.json"), time.monotonic() + 60
    while child.poll() is None and len(glob.glob(done)) < 2 and time.monotonic() < end:
        time.sleep(0.02)
    child.send_signal(number)
    text, errors = child.communicate(timeout=60)
    return subprocess.CompletedProcess(child.args, child.returncode, text, errors), len(glob.glob(done))


def check(what, holds, more=""):
    if not holds:
        failures.append(what)
        print(f"FAILED: {what}: {more}")


def end(name):
    print(f"{name}: {'failed: ' + ', '.join(failures) if failures else 'good'}")
    sys.exit(1 if failures else 0)
