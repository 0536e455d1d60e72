#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Each mistake of mistakes.c is found by TWEED_SHMEM_CHECK: the sentence, and the line of the call, or of both.

mistakes.py TWEED PROGRAM SOURCE"""
import os
import re
import subprocess
import sys

CASE = re.compile(r'^\t(WRONG|PE0|PE1)\("([\w-]+)", (?:"([^"]*)")?')


def table(source):
    cases = {}
    with open(source, encoding="utf-8") as f:
        for number, text in enumerate(f, 1):
            found = CASE.match(text)
            if found:
                kind, name, sentence = found.groups()
                texts = cases.setdefault(name, [])
                texts.append(f"({os.path.basename(source)}:{number})")
                if kind != "PE1":
                    texts.append(sentence)
    # The call that is wrong is in a function of its own.
    cases["ctx-private"] = ["another thread", "in_thread"]
    return cases


def main():
    tweed, program, source = sys.argv[1:]
    wrong = 0

    def run(check, nodes, name):
        command = [tweed, "oshrun", "-n", "2", "--ppn", "1" if nodes == 2 else "2", *["--shmem-check"] * check, program,
                   name]
        try:
            result = subprocess.run(command, capture_output=True, text=True, timeout=60)
        except subprocess.TimeoutExpired:
            return None, "no end"
        return result.returncode, result.stderr

    cases = table(source)
    for i, (name, texts) in enumerate(cases.items()):
        status, error = run(True, 1 + i % 2, name)
        if status != 1 or not all(t in error for t in texts):
            wrong += 1
            print(f"WRONG: {name}: status {status}, {error!r} lacks one of {texts}")
    for nodes in (1, 2):
        status, error = run(True, nodes, "")
        if status != 0 or error:
            wrong += 1
            print(f"WRONG: no mistake, {nodes} nodes: status {status}, {error!r}")
    # What costs nothing finds nothing: without the setting these go by.
    for name in ("put-overlap", "wait-stack", "reduce-overlap"):
        status, error = run(False, 1, name)
        if status != 0 or error:
            wrong += 1
            print(f"WRONG: {name} without checks: status {status}, {error!r}")
    print(f"{len(cases)} kinds of mistakes, {wrong} not found")
    return 1 if wrong else 0


sys.exit(main())
