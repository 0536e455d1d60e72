#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The library's symbols and the header's prototypes are the functions of OpenSHMEM 1.5 (functions.txt), no more and
no less.

symbols.py LIBRARY INCLUDE COMPILER..."""
import os
import re
import subprocess
import sys

WORDS = "int32 int64 uint32 uint64 size ptrdiff".split()
AMO = "int long longlong uint ulong ulonglong".split() + WORDS
RMA = ("float double longdouble char schar short int long longlong uchar ushort uint ulong ulonglong "
       "int8 int16 int32 int64 uint8 uint16 uint32 uint64 size ptrdiff").split()
WHOLE = "short int long longlong ushort uint ulong ulonglong".split()
KINDS = {
    "none": [""],
    "rma": RMA,
    "size": "8 16 32 64 128".split(),
    "half": "32 64".split(),
    "amo": AMO,
    "ext": ["float", "double"] + AMO,
    "bit": "uint ulong ulonglong int32 int64 uint32 uint64".split(),
    "sync": ["short", "ushort"] + AMO,
    "wait": "short int long longlong".split(),
    "teambits": "uchar ushort uint ulong ulonglong int8 int16 int32 int64 uint8 uint16 uint32 uint64 size".split(),
    "complex": "complexd complexf".split(),
    "setbits": ["uchar"] + WHOLE,
    "setorder": WHOLE + "float double longdouble".split(),
}


def expected():
    names = set()
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "functions.txt")
    for line in open(path, encoding="utf-8"):
        words = line.split("#")[0].split()
        if not words:
            continue
        ctx = words[0] == "ctx"
        kind, *forms = words[1:] if ctx else words
        for form in forms:
            for t in KINDS[kind]:
                name = re.sub(r"T(?=_|$)", t, form) if kind != "none" else form
                names.add(name)
                if ctx:
                    names.add(name.replace("shmem_", "shmem_ctx_", 1))
    return names


def symbols(library):
    out = subprocess.run(["nm", "-g", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    found = {}
    for line in out.splitlines():
        parts = line.split()
        if len(parts) == 3 and re.fullmatch(r"p?shmem_\w+|p?start_pes", parts[2]):
            found[parts[2]] = parts[1]
    return found


def prototypes(compiler, include):
    out = subprocess.run([*compiler, "-E", "-P", "-x", "c", "-std=c99", "-I", include, "-"],
                         input="#include <shmem.h>\n",
                         capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"\b(p?shmem_\w+|p?start_pes)\s*\(", out))


def complain(what, names):
    for name in sorted(names):
        print(f"{name}: {what}")
    return bool(names)


def main():
    library, include, *compiler = sys.argv[1:]
    want = expected()
    found = symbols(library)
    both = want | {"p" + n for n in want}
    declared = prototypes(compiler, include)
    wrong = complain("not in the library", both - set(found))
    wrong |= complain("not in the specification", set(found) - both)
    wrong |= complain("not declared", both - declared)
    wrong |= complain("declared, but not in the specification", declared - both)
    wrong |= complain("cannot be replaced by a profiler: not weak", {n for n in want & set(found) if found[n] != "W"})
    # A test that cannot fail: a name that is missing must be noticed.
    assert "shmem_put_that_is_not_there" not in found and "shmem_ctx_uint64_atomic_fetch_xor_nbi" in want
    print(f"{len(want)} functions, by two names each")
    return 1 if wrong else 0


sys.exit(main())
