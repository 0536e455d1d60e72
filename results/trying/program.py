# SPDX-License-Identifier: BSD-3-Clause
"""Programs to try (doc/guide/trying.md): one from the command line, or several from a plan."""
import difflib
import os
import re
import shlex
from dataclasses import dataclass, field

from harness.plan import Refused, load, settings_of

KINDS = {  # the compilers: names of the command, or its arguments
    "openmp": ("tweed-omp-gcc", "tweed-omp-g++"),
    "threads": ("tweed-pthreads-gcc", "tweed-pthreads-g++"),
    "openshmem": (["oshcc"], ["oshc++"]),
    "parmacs": (["cc", "--no-stores", "--parmacs"], ["c++", "--no-stores", "--parmacs"]),
    "tweed": (["cc", "--no-stores"], ["c++", "--no-stores"]),
}
NATIVE = ("openmp", "threads")  # kinds that run without Tweed
TEXT, WHOLE, NUMBER, TRUTH, LIST, TABLE = "a text", "a whole number", "a number", "true or false", \
    "a list of texts", "a table"
# Fields of a program, in a plan and on the command line, and fields of a plan for all of its programs.
FIELDS = {"folder": TEXT, "build": TEXT, "command": TEXT, "name": TEXT, "version": TEXT, "kind": TEXT, "cd": TEXT,
          "compare": LIST, "ignore": LIST,
          "tolerance": NUMBER, "unordered": TRUTH, "expect": TEXT, "status": WHOLE, "input": TEXT, "env": TABLE,
          "settings": TABLE, "timeout": NUMBER,
          "slower": NUMBER, "build_timeout": NUMBER, "shapes": LIST, "protocols": LIST, "transports": LIST}
OWN = ("folder", "command", "name", "version")


@dataclass
class Program:
    folder: str
    command: str  # with placeholders
    name: str = ""
    version: str = ""
    build: str = ""
    kind: str = ""
    cd: str = "."
    compare: list = field(default_factory=lambda: ["stdout"])
    ignore: list = field(default_factory=list)
    tolerance: float = 1e-9
    unordered: bool = False
    expect: str = ""
    status: int = 0
    input: str = ""
    env: dict = field(default_factory=dict)
    settings: dict = field(default_factory=dict)
    timeout: float = 60
    slower: float = 20
    build_timeout: float = 900
    shapes: list = field(default_factory=lambda: ["2x2"])
    protocols: list = field(default_factory=lambda: ["2L", "2LMigr", "TS"])
    transports: list = field(default_factory=list)  # none: those of the kind

    def places(self):
        """(nodes, processors, protocol, transport) of the runs; protocols make no difference to OpenSHMEM."""
        transports = self.transports or (["shm", "ofi"] if self.kind == "openshmem" else ["shm"])
        for shape in self.shapes:
            for protocol in [""] if self.kind == "openshmem" else self.protocols:
                for transport in transports:
                    yield (*shape_of(shape), protocol, transport)

    def words(self, processors):
        """The command.  The number of threads excludes main's thread, except for OpenMP."""
        names = {"processors": processors, "threads": max(processors - 1, 1) if self.kind == "threads" else processors}
        return [re.sub(r"\{(processors|threads)\}", lambda m: str(names[m[1]]), w) for w in shlex.split(self.command)]


def shape_of(text):
    match = re.fullmatch(r"([1-9]\d*)x([1-9]\d*)", text)
    if not match:
        raise Refused(f"{text!r} is no shape: it is NODESxPROCESSORS, such as 2x2")
    return int(match[1]), int(match[2])


def nearest(word, names):
    near = difflib.get_close_matches(word, names, 1, 0.5)
    return f"did you mean {near[0]}?" if near else f"there are {', '.join(sorted(names))}"


def typed(where, key, value):
    """@value converted to the type of field @key."""
    kind = FIELDS[key]
    if kind == LIST and isinstance(value, str):
        value = [value]
    types = {TEXT: str, WHOLE: int, NUMBER: (int, float), TRUTH: bool, LIST: list, TABLE: dict}[kind]
    if not isinstance(value, types) or (isinstance(value, bool) and kind != TRUTH) or (kind == LIST
            and not all(isinstance(v, str) for v in value)):
        raise Refused(f"{where}: {key} takes {kind}, not {value!r}")
    return value


def make(where, base, table):
    """The program of a table of fields; paths are relative to the folder @base."""
    for key in ("folder", "command"):
        if not table.get(key):
            raise Refused(f"{where} has no {key}: it says " +
                          ("where the program's source is" if key == "folder" else "how the program is run"))
    p = Program(**{k: typed(where, k, v) for k, v in table.items()})
    p.folder = os.path.normpath(os.path.join(base, os.path.expanduser(p.folder)))
    p.name = p.name or os.path.basename(p.folder)
    for key in ("input", "expect"):
        path = getattr(p, key) and os.path.join(base, os.path.expanduser(getattr(p, key)))
        if path and not os.path.isfile(path):
            raise Refused(f"{where}: there is no file {getattr(p, key)} for {key}")
        setattr(p, key, path)
    check(where, p)
    return p


def check(where, p):
    if not os.path.isdir(p.folder):
        raise Refused(f"{where}: {p.folder} is no folder: name the one with the program's source")
    if p.kind and p.kind not in KINDS:
        raise Refused(f"{where}: {p.kind} is no kind of program: {nearest(p.kind, list(KINDS))}")
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._+-]*", p.name):
        raise Refused(f"{where}: a name is of letters, digits, '.', '_', '+' and '-', not {p.name!r}: give one by name")
    if p.timeout <= 0 or p.slower < 1 or p.build_timeout <= 0 or p.tolerance < 0:
        raise Refused(f"{where}: times are more than 0, slower is 1 or more, tolerance is 0 or more")
    try:
        empty = not shlex.split(p.command)
        for pattern in p.ignore:
            re.compile(pattern)
    except ValueError as e:
        raise Refused(f"{where}: the command {p.command!r} cannot be read: {e}") from e
    except re.error as e:
        raise Refused(f"{where}: ignore takes regular expressions, and {pattern!r} is none: {e}") from e
    if empty or not (p.shapes and p.protocols and p.compare):
        raise Refused(f"{where}: command, shapes, protocols and compare are not empty")
    for word in re.findall(r"\{(\w+)\}", p.command + " " + p.build):
        if word not in ("cc", "cxx", "threads", "processors"):
            raise Refused(f"{where}: there is no placeholder {{{word}}}: "
                          f"{nearest(word, ['cc', 'cxx', 'threads', 'processors'])}")
    for shape in p.shapes:
        shape_of(shape)
    settings_of(p.settings, where)


def plan(path):
    """(title, programs) of a plan."""
    table = load(path)
    common = {k: table.pop(k) for k in list(table) if k in FIELDS and k not in OWN}
    blocks, title = table.pop("program", []), table.pop("title", os.path.basename(path))
    for key in table:
        raise Refused(f"{path}: a plan has no key {key}: "
                      f"{nearest(key, ['title', 'program', *(k for k in FIELDS if k not in OWN)])}")
    if not isinstance(title, str) or not isinstance(blocks, list) or not blocks or not all(isinstance(b, dict)
                                                                                           for b in blocks):
        raise Refused(f"{path}: a plan has a title, and one [[program]] at least, with folder, build and command")
    programs = []
    for number, block in enumerate(blocks, 1):
        where = f"{path}: program {block.get('name', number)}"
        for key in block:
            if key not in FIELDS:
                raise Refused(f"{where}: a program has no key {key}: {nearest(key, FIELDS)}")
        programs.append(make(where, os.path.dirname(path), common | block))
    names = [p.name for p in programs]
    for name in names:
        if names.count(name) > 1:
            raise Refused(f"{path}: two programs are called {name}: give each a name of its own")
    return title, programs
