#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""run.py TWEED FAULTY SANITIZERS - must-fail control of a sanitizer build: each mistake is reported, and ends the job
badly."""
import subprocess
import sys

# mistake: (sanitizer that sees it, what it says)
MISTAKES = {
    "overflow": ("address", "heap-buffer-overflow"),
    "late": ("address", "heap-use-after-free"),
    "leak": ("address", "4321 byte(s) in 1 object(s)"),
    "arithmetic": ("undefined", "signed integer overflow"),
    "race": ("thread", "data race"),
}


def job(tweed, faulty, mistake, fault):
    done = subprocess.run([tweed, "run", "-n", "2", "-p", "1", "--fault", fault, "--", faulty, mistake],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", timeout=60)
    return done.returncode, done.stdout, done.stderr


def main():
    tweed, faulty, sanitizers = sys.argv[1:]
    wrong = 0
    for fault in "auto", "mprotect":
        status, out, err = job(tweed, faulty, "none", fault)
        if status or err or out.split() != ["made", "made"]:
            wrong += 1
            print(f"without a mistake, {fault}: exit status {status}: {err}")
        for mistake, (sanitizer, words) in MISTAKES.items():
            if sanitizer not in sanitizers.split(","):
                continue
            status, _, err = job(tweed, faulty, mistake, fault)
            if status == 0 or words not in err:
                wrong += 1
                print(f"{mistake}, {fault}: exit status {status}, and not a word of '{words}': {err}")
            else:
                print(f"{mistake}, {fault}: found")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
