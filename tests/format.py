#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The format of the sources: lines of at most 120 columns, no blanks at their ends; C as clang-format has it.

format.py ROOT [CLANG-FORMAT]   status 1 when something is not so

Exempt are tables of documents, regions where clang-format is off, and texts that Python keeps as they are."""
import os
import re
import subprocess
import sys
import tempfile
import tokenize

WIDTH = 120
VERSION = "14"  # of clang-format: others break lines elsewhere
KINDS = (".c", ".h", ".S", ".py", ".md", ".pml", ".sh", "meson.build")
PAST = ("results/measured/", "results/published/")
OFF = re.compile(r"/\* clang-format off.*?(?:clang-format on \*/|\Z)", re.S)


def listed(root):
    done = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True, check=False)
    files = done.stdout.split("\n")
    return [f for f in files if f.endswith(KINDS) and not f.startswith(PAST)]


def kept_lines(path, text):
    """Numbers of the lines that may be long."""
    if path.endswith((".c", ".h")):
        return {n for m in OFF.finditer(text) for n in range(text.count("\n", 0, m.start()) + 1,
                                                             text.count("\n", 0, m.end()) + 2)}
    if path.endswith(".py"):  # a text of several lines
        with open(path, "rb") as f:
            return {n for t in tokenize.tokenize(f.readline) if t.type == tokenize.STRING and t.start[0] != t.end[0]
                    for n in range(t.start[0], t.end[0] + 1)}
    if path.endswith(".md"):
        return {n for n, line in enumerate(text.split("\n"), 1) if line.lstrip().startswith("|") or "](" in line and
                " " not in line.strip()}
    return set()


def lines(root, path):
    full = os.path.join(root, path)
    with open(full, encoding="utf-8") as f:
        text = f.read()
    kept = kept_lines(full, text)
    for n, line in enumerate(text.split("\n"), 1):
        if len(line.expandtabs(8) if path.endswith((".c", ".h")) else line) > WIDTH and n not in kept:
            yield f"{path}:{n}: {len(line)} columns, at most {WIDTH}"
        if line != line.rstrip() and not path.endswith(".md"):
            yield f"{path}:{n}: a blank at the end"


def formatted(root, command, files):
    version = subprocess.run([command, "--version"], capture_output=True, text=True, check=True).stdout
    if f"version {VERSION}." not in version:
        print(f"clang-format {VERSION} is not here: not looked at")
        return []
    done = subprocess.run([command, "--style=file", "--dry-run", "--Werror", *files], cwd=root, capture_output=True,
                          text=True, check=False)
    wrong = sorted({line.split(":")[0] for line in done.stderr.splitlines() if "clang-format-violations" in line})
    return [f"{path}: not as clang-format has it: clang-format -i {path}" for path in wrong]


def self_test():
    """Each planted mistake must be found, and nothing else."""
    planted = {"x.c": ["int x;" + 130 * " " + "/* */\n", "int x; \n"], "x.py": ["x = 1" + 130 * " " + "+ 1\n"],
               "x.md": [130 * "a " + "\n"]}
    good = {"x.c": ["/* clang-format off */\n" + 130 * "x" + "\n/* clang-format on */\n", "int x;\n"],
            "x.md": ["| " + 130 * "a " + "|\n"], "x.py": ['x = """\n' + 130 * "a" + '\n"""\n']}
    with tempfile.TemporaryDirectory() as folder:
        for kinds, wrong in (planted, True), (good, False):
            for name, text in ((n, t) for n, texts in kinds.items() for t in texts):
                with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
                    f.write(text)
                if bool(list(lines(folder, name))) != wrong:
                    sys.exit(f"self-test: {name} with {text!r} is found {'not' if wrong else 'wrong'}")


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: format.py ROOT [CLANG-FORMAT]")
    self_test()
    root, files = sys.argv[1], listed(sys.argv[1])
    wrong = [w for path in files for w in lines(root, path)]
    if len(sys.argv) == 3:
        wrong += formatted(root, sys.argv[2], [f for f in files if f.endswith((".c", ".h"))])
    print("\n".join([*wrong, f"{len(files)} files, {len(wrong)} wrong"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
