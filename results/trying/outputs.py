# SPDX-License-Identifier: BSD-3-Clause
"""Compares outputs: numbers within a tolerance, without ignored lines and differences between two runs of one
program."""
import functools
import itertools
import re

NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
WHOLE = re.compile(r"[-+]?\d+")
LINE = 90  # characters of a line that is quoted


def near(a, b, tolerance):
    """Whole numbers must be equal; others may differ by @tolerance, relative to the greater one, and absolute."""
    if a == b:
        return True
    if WHOLE.fullmatch(a) and WHOLE.fullmatch(b):
        return int(a) == int(b)
    x, y = float(a), float(b)
    return x == y or abs(x - y) <= tolerance * max(1, abs(x), abs(y))


class Text:
    """The compared lines of an output, each as words between numbers, and numbers."""

    def __init__(self, data, ignore, unordered):
        lines = data.decode(errors="replace").splitlines()
        self.lines = [(n, line) for n, line in enumerate(lines, 1) if not any(re.search(i, line) for i in ignore)]
        if unordered:
            self.lines.sort(key=lambda line: NUMBER.sub(lambda m: f"{float(m[0]):.6g}", line[1]))
        self.parts = [([" ".join(t.split()) for t in NUMBER.split(line)], NUMBER.findall(line)) for _,
                      line in self.lines]


def unlike(x, y, tolerance):
    """The places of numbers of one line that differ; None: its words differ, too."""
    if x[0] != y[0]:
        return None
    return {i for i, (a, b) in enumerate(zip(x[1], y[1])) if not near(a, b, tolerance)}


class Reference:
    """Outputs of runs that are right.  Differences between them are ignored; @unstable: whole lines may be missing."""

    def __init__(self, outputs, ignore, tolerance, unordered):
        self.data, self.ignore, self.tolerance, self.unordered = outputs[0], ignore, tolerance, unordered
        self.binary = b"\0" in self.data
        self.masked = {}  # line: places of numbers, or None
        self.unstable = ""
        for other in outputs[1:]:
            self.learn(other)

    @functools.cached_property
    def text(self):
        return Text(self.data, self.ignore, self.unordered)

    def learn(self, data):
        if data == self.data:
            return
        if self.binary:
            self.unstable = self.unstable or self.difference(data)
            return
        other = Text(data, self.ignore, self.unordered)
        if len(other.lines) != len(self.text.lines):
            self.unstable = self.difference(data)
        for i, (x, y) in enumerate(zip(self.text.parts, other.parts)):
            places = unlike(x, y, self.tolerance)
            if places is None or self.masked.get(i, set()) is None:
                self.masked[i] = None
            elif places:
                self.masked[i] = self.masked.get(i, set()) | places

    def difference(self, data):
        """The first difference of @data, in words, or ""."""
        if data == self.data:
            return ""
        if self.binary:
            at = next((i for i, (a, b) in enumerate(zip(self.data, data)) if a != b), min(len(self.data), len(data)))
            short = at == min(len(self.data), len(data))
            return f"{len(data)} bytes in place of {len(self.data)}" if short else f"byte {at}"
        other = Text(data, self.ignore, self.unordered)
        for i, (x, y) in enumerate(itertools.zip_longest(self.text.parts, other.parts)):
            if x is None:
                return f"line {other.lines[i][0]} is one too many: {quote(other.lines[i][1])}"
            if y is None:
                return f"line {self.text.lines[i][0]} is missing: {quote(self.text.lines[i][1])}"
            mask = self.masked.get(i, set())
            if mask is not None and (places := unlike(x, y, self.tolerance)) != set() and (places is None
                                                                                           or places - mask):
                return (f"line {other.lines[i][0]}: {quote(other.lines[i][1])} in place of "
                        f"{quote(self.text.lines[i][1])}")
        return ""


def quote(line):
    line = " ".join(line.split())
    return "'" + (line if len(line) <= LINE else line[:LINE - 3] + "...") + "'"
