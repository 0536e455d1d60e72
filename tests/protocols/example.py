#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The worked example, its page and the skeleton belong together.

example.py ROOT COMPILER...   simple.c is small; the page's code is simple.c, whole and in order; it needs the driver
headers alone; the
                              skeleton's holes stop the compiler with their sentences, and filled from simple.c it
                              compiles"""
import os
import re
import subprocess
import sys
import tempfile

LINES = 200
PAGE, EXAMPLE, TEMPLATE = "doc/internals/writing-a-protocol.md", "protocols/simple.c", "protocols/template/template.c"
HOLE = re.compile(r'^#error "((\w+): .*)"\n', re.M)
FLAGS = ["-std=gnu11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Wpedantic", "-fsyntax-only"]
problems = []


def expect(condition, sentence):
    if not condition:
        problems.append(sentence)
    return condition


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as f:
        return f.read()


def squeeze(code):
    """Lines that say something."""
    return [line.rstrip() for line in code.splitlines() if line.strip()]


def compile_(root, compiler, text):
    """Compile with no other headers of the project than include/.  Returns (status, what it said)."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "protocol.c")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        done = subprocess.run([*compiler, *FLAGS, "-I", os.path.join(root, "include"), path], capture_output=True,
                              text=True, env={**os.environ, "LC_ALL": "C"}, timeout=60)
        return done.returncode, done.stderr


def check_page(example, page):
    said = squeeze("".join(re.findall(r"^```c\n(.*?)^```", page, re.M | re.S)))
    code = squeeze(example)
    for i, line in enumerate(code):
        if not expect(i < len(said) and said[i] == line, f"{PAGE}: where {EXAMPLE} has '{line}', its code has "
                      f"'{said[i] if i < len(said) else 'nothing'}'"):
            return
    expect(len(said) == len(code),
           f"{PAGE}: its code has more than {EXAMPLE}: '{said[len(code)] if len(said) > len(code) else ''}'")


def functions(example):
    """{name: (whole text with its comment, body)} of the functions of the example, in order."""
    found = {}
    for block in re.findall(r"^(?:/\*(?:(?!\*/).)*\*/\n)?(?:static|struct)(?:(?!^\}).)*^\}.*?\n", example, re.M | re.S):
        name = re.search(r"simple_(\w+)(?=[({ ])", block).group(1)
        found[name] = block, block.split("\n{\n", 1)[-1].rsplit("}", 1)[0]
    return found


def fill(template, example, leave=None):
    """The skeleton, with each hole but @leave filled by what the example has in its place."""
    parts = functions(example)
    hooks = set(re.findall(r"^static \w+ template_(\w+)\(", template, re.M))
    text = {name: body for name, (_, body) in parts.items() if name in hooks}
    text["helpers"] = "\n".join(whole for name, (whole, _) in parts.items() if name not in hooks)
    text["summary"] = re.search(r'^ *\.summary = .*?",\n', example, re.M | re.S).group(0)
    return HOLE.sub(lambda hole: hole.group(0) if hole.group(2) == leave else text[hole.group(2)],
                    template).replace("template", "simple")


def check_template(root, compiler, template, example):
    holes = HOLE.findall(template)
    expect(len(holes) >= 8, f"{TEMPLATE}: only {len(holes)} holes were found")
    status, said = compile_(root, compiler, template)
    expect(status != 0, f"{TEMPLATE} compiles with its holes open")
    for sentence, name in holes:
        expect(sentence in said, f"{TEMPLATE}: the compiler does not say '{sentence}'")
    filled = fill(template, example)
    status, said = compile_(root, [*compiler, "-Werror"], filled)
    expect(status == 0, f"{TEMPLATE}, filled from {EXAMPLE}, does not compile:\n{said}")
    for sentence, name in holes:
        status, said = compile_(root, compiler, fill(template, example, leave=name))
        expect(status != 0 and sentence in said, f"{TEMPLATE}: the hole '{name}' left open is not noticed")


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    root, *compiler = sys.argv[1:]
    example, page, template = (read(root, p) for p in (EXAMPLE, PAGE, TEMPLATE))
    lines = example.count("\n")
    expect(lines < LINES, f"{EXAMPLE} has {lines} lines; the example is to stay under {LINES}")
    check_page(example, page)
    status, said = compile_(root, [*compiler, "-Werror"], example)
    expect(status == 0, f"{EXAMPLE} needs more than include/:\n{said}")
    check_template(root, compiler, template, example)
    for p in problems:
        print(p)
    print(f"{EXAMPLE}: {lines} lines; {len(HOLE.findall(template))} holes; {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
