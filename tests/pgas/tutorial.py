#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compile and run every listing of doc/guide/pgas.md.

tutorial.py PAGE TWEED HEADERS LIBRARY COMPILER...
A listing is a fenced block ```c NAME.c.  Each must be C++, too.  Exit status 1 when one fails, or prints nothing."""
import os
import re
import subprocess
import sys
import tempfile

EXPECTED = {"hello.c": "hello from PE 3 of 4", "root.c": "PE 3 reads: made by PE 0",
            "count.c": "4000 hits, 2000 remote",
            "stack.c": "PE 3 popped", "list.c": "retired", "map.c": "PE 3: all is there"}


def main():
    page, tweed, headers, library, *compiler = sys.argv[1:]
    with open(page, encoding="utf-8") as f:
        listings = re.findall(r"^```c (\w+\.c)\n(.*?)^```", f.read(), re.M | re.S)
    wrong = sorted(set(EXPECTED) - {name for name, _ in listings})
    for name in wrong:
        print(f"{name}: no such listing")
    with tempfile.TemporaryDirectory() as folder:
        for name, text in listings:
            source, program = os.path.join(folder, name), os.path.join(folder, name[:-2])
            with open(source, "w", encoding="utf-8") as f:
                f.write(text)
            build = [*compiler, "-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-I", headers, "-o", program, source,
                     library,
                     "-pthread", "-ljemalloc"]
            done = subprocess.run(build, capture_output=True, text=True)
            if done.returncode == 0:
                done = subprocess.run([*compiler, "-x", "c++", "-std=c++17", "-Wall", "-Werror", "-I", headers,
                                       "-fsyntax-only", source],
                                      capture_output=True, text=True)
            if done.returncode == 0:
                done = subprocess.run([tweed, "run", "-n", "2", "-p", "2", program], capture_output=True, text=True,
                                      timeout=60)
            retired = re.search(r"(\d+) retired, (\d+) freed", done.stdout)
            if done.returncode or EXPECTED.get(name, "\0") not in done.stdout or retired and retired[1] != retired[2]:
                wrong.append(name)
                print(f"{name}: status {done.returncode}\n{done.stdout}{done.stderr}")
    print(f"{len(listings)} listings, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
