#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The dependency rule of the folders, held by their #include lines and by what their object files call.

layers.py ROOT [LIBRARY]   plant mistakes and require that they are found, then check the tree, and libtweed.a; status
1 when it is broken"""
import os
import re
import subprocess
import sys

# Folder or file: what its files may include of the project, besides files of the same folder. The longest match counts.
# Lowest first; protocols are found by name in protocols/protocols.c, so nobody includes them.
RULE = {
    "include/tweed/tweed.h": [],
    "include/tweed/instrumented.h": [],
    "include/tweed/parmacs.h": ["include/tweed/tweed.h"],
    "include/tweed/shared_heap.h": [],
    "include/tweed/threads.h": [],
    "include/tweed/gcc/": [],
    "include/tweed/driver/setting.h": [],
    "include/tweed/driver/transport.h": ["include/tweed/driver/setting.h"],
    "include/tweed/driver/fault.h": [],
    "include/tweed/driver/": [],  # complete in itself: all that a driver's author reads
    "core/base/": ["include/tweed/driver/util.h", "include/tweed/driver/costs.h", "include/tweed/driver/setting.h"],
    "net/": ["core/base/", "include/tweed/driver/transport.h", "include/tweed/driver/setting.h"],
    "core/fault/": ["core/base/", "include/tweed/driver/fault.h"],
    "core/": ["net/", "include/"],
    "core/memory/reserved.c": ["core/", "include/", "sync/sync.h", "runtime/openmp/reserve.h"],  # a registry
    "sync/": ["net/", "core/", "include/"],
    "protocols/": ["include/tweed/driver/"],
    "protocols/cashmere/predictors/": ["protocols/cashmere/cashmere.h", "include/tweed/driver/"],
    "runtime/": ["net/", "core/", "sync/", "include/"],
    "include/tweed/shmem.h": ["include/tweed/shmem_types.h", "include/tweed/shmem_generic.h"],
    "include/tweed/shmem_types.h": [],
    "include/tweed/shmem_generic.h": [],
    "include/tweed/pshmem.h": ["include/tweed/shmem.h"],
    "include/tweed/shmemx.h": ["include/tweed/shmem.h"],
    "include/tweed/mpp/": ["include/tweed/shmem.h", "include/tweed/shmemx.h"],
    "pgas/": ["net/", "core/", "sync/", "include/"],
    "include/tweed/pgas.h": [],
    "tools/": ["net/", "core/", "sync/", "pgas/shmem/size.h", "pgas/shmem/collective/table.h", "include/",
               "runtime/stores/wrapped.h", "runtime/threads/emulate.h"],
    "runtime/stores/": ["core/", "include/"],
    "runtime/process/": ["core/", "sync/", "net/auth.h", "net/interface.h", "runtime/threads/",
                         "include/"],
    "runtime/process/settings/": ["core/", "runtime/threads/", "runtime/process/", "runtime/openmp/reserve.h",
                                  "include/"],
    "runtime/threads/": ["core/", "sync/", "runtime/process/", "include/"],
    "runtime/pthreads/": ["core/", "sync/", "runtime/threads/", "runtime/process/", "include/"],
    "runtime/openmp/": ["core/", "sync/", "runtime/threads/", "runtime/process/", "runtime/pthreads/pthreads.h",
                        "runtime/pthreads/thread.h", "include/"],
    "apps/": ["include/tweed/tweed.h"],
    "apps/pgas/": ["include/tweed/tweed.h", "include/tweed/pgas.h"],
    "splash/": ["apps/kernel.h", "include/tweed/tweed.h"],
    "tests/": [""],
}
# What the objects of a folder may call, beside those of the same folder. A registry's file names its members, and is
# called from below.
CALLS = {
    "core/base/": [],
    "net/": ["core/base/"],
    "core/fault/": ["core/base/"],
    "core/": ["core/", "net/"],
    "sync/": ["core/", "net/"],
    "protocols/": ["core/", "net/"],
    "runtime/": ["core/", "net/", "sync/"],
    "pgas/": ["core/", "net/", "sync/"],
}
REGISTRIES = ("net/transports.c", "core/fault/backends.c", "core/memory/reserved.c", "protocols/protocols.c")
# Definitions here have the C library's names: who calls read or free means that.
WRAPPERS = ("core/process/", "core/memory/heap_private.c", "runtime/")
# Files here may call each other in circles; nowhere else.
CIRCLES = ("pgas/",)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^">]+)[">]', re.M)
CORE_NAME = re.compile(r"^[ \t]*extern\b[^;]*\btw_(?!protocol_)\w+\s*[;([].*", re.M)  # declared by hand
LIBGCC = re.compile(r"__(popcount|parity|ffs|clz|ctz|bswap|u?(div|mod|divmod|mul|ashl|ashr|lshr|cmp|neg)[sdt]i)\w*$")
COMMENT = re.compile(r"/\*.*?\*/", re.S)


def read_tree(root):
    tree = {}
    for folder, below, files in os.walk(root):
        below[:] = [b for b in below if b[0] != "." and not os.path.exists(os.path.join(folder, b, "meson-private"))]
        for name in files:
            if name.endswith((".c", ".h")):
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8") as f:
                    tree[os.path.relpath(path, root)] = f.read()
    return tree


def rule_for(path):
    return max((r for r in RULE if path == r or (r.endswith("/") and path.startswith(r))), key=len, default=None)


def resolve(tree, path, name):
    """The project's file that `#include "name"` in @path means, or None."""
    places = [os.path.dirname(path), "", "include"]
    return next((p for p in (os.path.normpath(os.path.join(d, name)) for d in places) if p in tree), None)


def may(allowed, target):
    return any(target == a or ((a.endswith("/") or not a) and target.startswith(a)) for a in allowed)


def check_file(tree, path):
    rule = rule_for(path)
    if rule is None:
        return [f"{path}: its folder has no rule: add one to RULE in tests/layers.py"]
    allowed = RULE[rule] + ([rule] if rule.endswith("/") and rule != "protocols/" else [])
    wrong = []
    code = COMMENT.sub("", tree[path])
    if rule == "protocols/":
        wrong += [f"{path}: '{line.strip()}' goes round the driver headers" for line in CORE_NAME.findall(code)]
    for quote, name in INCLUDE.findall(code):
        target = resolve(tree, path, name)
        if target is None and quote == '"':
            wrong.append(f'{path}: "{name}" is no file of the project')
        elif target and os.path.dirname(target) == os.path.dirname(path) and rule == "protocols/":
            continue  # a family's own header, and no other's
        elif target and target != path and not may(allowed, target):
            wrong.append(f"{path} must not include {target}; it may include {', '.join(allowed) or 'nothing'}")
    return wrong


# ---- symbols


def read_library(library, sources):
    """Object files as their sources -> the sources that they call -> by which symbol."""
    named = {path.replace("/", "_") + ".o": path for path in sources}
    defined, used, path = {}, {}, None
    for line in subprocess.run(["nm", library], capture_output=True, text=True, check=True).stdout.splitlines():
        word = line.split()
        if line.endswith(":"):
            path = named.get(line[:-1])
        elif path and len(word) == 2 and word[0] in "Uw":
            used.setdefault(path, set()).add(word[1])
        elif path and len(word) == 3 and word[1] in "TDBRVWCi" and (word[2].startswith("tw_")
                                                                    or not path.startswith(WRAPPERS)):
            defined.setdefault(word[2], path)
    for names in used.values():  # which are among the program's functions, where threads of a processor take turns
        defined.update((n, "libgcc") for n in names if LIBGCC.match(n))
    return {path: {defined[n]: n for n in sorted(names) if defined.get(n, path) != path} for path,
            names in used.items()}


def wrong_calls(calls):
    wrong = []
    for path, called in sorted(calls.items()):
        rule = max((r for r in CALLS if path.startswith(r)), key=len, default=None)
        for target, name in sorted(called.items()):
            if rule and not {path, target} & set(REGISTRIES) and not target.startswith((rule, *CALLS[rule])):
                wrong.append(f"{path} must not call {name} of {target}; it may call "
                             f"{', '.join(CALLS[rule]) or 'nothing'}")
    return wrong


def circles(calls):
    """Sets of files each of which reaches the others by calls."""
    calls = {path: [t for t in called if t not in REGISTRIES] for path,
             called in calls.items() if path not in REGISTRIES}
    reached = {}
    for path in calls:
        todo, seen = [path], set()
        while todo:
            for target in calls.get(todo.pop(), []):
                if target not in seen:
                    seen.add(target)
                    todo.append(target)
        reached[path] = seen
    found = {frozenset(t for t in seen if path in reached.get(t, ())) for path, seen in reached.items() if path in seen}
    return sorted(sorted(c) for c in found)


def check_library(calls):
    return wrong_calls(calls) + [f"they call each other in a circle: {', '.join(c)}" for c in circles(calls)
                                 if not all(path.startswith(CIRCLES) for path in c)]


def check(tree):
    return [w for path in sorted(tree) for w in check_file(tree, path)]


def self_test(tree):
    """Each planted file must be found, and nothing else."""
    planted = [
        ("core/base/x.c", '#include "tweed/driver/transport.h"'),
        ("net/x.c", '#include "core/job/settings.h"'),
        ("net/x.c", '#include "tweed/driver/protocol.h"'),
        ("net/x.c", '#include "../sync/sync.h"'),
        ("core/x.c", '#include "sync/sync.h"'),
        ("core/x.c", '#\tinclude <protocols/cashmere/cashmere.h>'),
        ("core/fault/x.c", '#include "core/job/job.h"'),
        ("sync/x.c", '#include "protocols/cashmere/cashmere.h"'),
        ("protocols/x/x.c", '#include "core/job/job.h"'),
        ("protocols/x/x.c", '#include "core/base/base.h"'),
        ("protocols/x/x.c", '#include "tweed/tweed.h"'),
        ("protocols/x/x.c", "extern struct tw_proc *tw_me;"),
        ("protocols/x/x.c", '#include "protocols/cashmere/cashmere.h"'),
        ("protocols/x.c", '#include "protocols/cashmere/cashmere.h"'),
        ("include/tweed/driver/x.h", '#include "core/base/base.h"'),
        ("include/tweed/driver/x.h", '#include "core/memory/regions.h"'),
        ("include/tweed/driver/transport.h", '#include "tweed/driver/protocol.h"'),
        ("runtime/x.c", '#include "tools/tools.h"'),
        ("tools/x.c", '#include "protocols/cashmere/cashmere.h"'),
        ("apps/x.c", '#include "core/base/base.h"'),
        ("splash/x.c", '#include <tweed/driver/protocol.h>'),
        ("include/tweed/tweed.h", '#include "core/base/base.h"'),
        ("core/x.c", '#include "core/nowhere.h"'),
        ("elsewhere/x.c", "int x;"),
    ]
    silent = [("protocols/x/x.h",
               "extern const struct tw_protocol tw_protocol_x;\nextern const struct tw_thing x_thing;"),
              ("apps/x.c", '/* #include "core/base/base.h" */'),
              ("apps/x.c", '#include "tweed/tweed.h"\n#include <stdio.h>')]
    before = check(tree)
    for path, text in planted + silent:
        found = [w for w in check({**tree, path: text}) if w not in before]
        if len(found) != ((path, text) in planted):
            sys.exit(f"self-test: {path} with {text!r} gave {found}")
    for calls, wrong in (({"net/x.c": {"core/job/job.c": "tw_me"}}, 1),
                         ({"core/x.c": {"libgcc": "__popcountdi2"}}, 1),
                         ({"core/x.c": {"core/y.c": "a"}, "core/y.c": {"core/x.c": "b"}}, 1),
                         ({"pgas/x.c": {"pgas/y.c": "a"}, "pgas/y.c": {"pgas/x.c": "b"}}, 0),
                         ({"sync/x.c": {"core/y.c": "a"}}, 0)):
        if len(check_library(calls)) != wrong:
            sys.exit(f"self-test: {calls} gave {check_library(calls)}")
    return len(planted)


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: layers.py ROOT [LIBRARY]")
    tree = read_tree(sys.argv[1])
    planted = self_test(tree)
    wrong = check(tree)
    calls = read_library(sys.argv[2], tree) if len(sys.argv) == 3 else {}
    if len(sys.argv) == 3 and not calls:
        wrong.append(f"{sys.argv[2]} has no object of the tree")
    wrong += check_library(calls)
    for w in wrong:
        print(w)
    print(f"{len(tree)} files, {len(calls)} objects, {planted} planted includes found, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
