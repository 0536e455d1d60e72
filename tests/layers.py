#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The dependency rule of the folders, held by their #include lines.

layers.py ROOT         plant wrong includes and require that they are found, then check the tree; status 1 when it is broken"""
import os
import re
import sys

# Folder or file: what its files may include of the project, besides files of the same folder.  The longest match counts.
# Lowest first; protocols are found by name in protocols/list.c, so nobody includes them.
RULE = {
    "include/tweed/tweed.h": [],
    "include/tweed/instrumented.h": [],
    "include/tweed/parmacs.h": ["include/tweed/tweed.h"],
    "include/tweed/shared_heap.h": [],
    "include/tweed/threads.h": [],
    "include/tweed/gcc/": [],
    "include/tweed/driver/transport.h": [],
    "include/tweed/driver/fault.h": [],
    "include/tweed/driver/": [],  # complete in itself: all that a driver's author reads
    "base/": ["include/tweed/driver/util.h"],
    "net/": ["base/", "include/tweed/driver/transport.h"],
    "core/fault/": ["base/", "include/tweed/driver/fault.h"],
    "core/": ["base/", "net/", "include/"],
    "core/layout.c": ["base/", "core/", "net/", "include/", "sync/sync.h"],  # the sizes of sync's memory
    "sync/": ["base/", "net/", "core/", "include/"],
    "protocols/": ["include/tweed/driver/"],
    "api/": ["base/", "net/", "core/", "sync/", "include/"],
    "include/tweed/shmem.h": ["include/tweed/shmem_types.h", "include/tweed/shmem_generic.h"],
    "include/tweed/shmem_types.h": [],
    "include/tweed/shmem_generic.h": [],
    "include/tweed/pshmem.h": ["include/tweed/shmem.h"],
    "include/tweed/shmemx.h": ["include/tweed/shmem.h"],
    "include/tweed/mpp/": ["include/tweed/shmem.h", "include/tweed/shmemx.h"],
    "pgas/": ["base/", "net/", "core/", "sync/", "include/"],
    "include/tweed/pgas.h": [],
    "tools/": ["base/", "net/", "core/", "sync/", "api/", "pgas/shmem/size.h", "pgas/shmem/collective/table.h", "include/", "instrument/wrapped.h"],
    "instrument/": ["base/", "core/", "include/"],
    "threads/": ["base/", "core/", "sync/", "include/"],
    "pthreads/": ["base/", "core/", "sync/", "threads/", "include/"],
    "openmp/": ["base/", "core/", "sync/", "threads/", "pthreads/pthreads.h", "include/"],
    "apps/": ["include/tweed/tweed.h"],
    "apps/pgas/": ["include/tweed/tweed.h", "include/tweed/pgas.h"],
    "splash/": ["apps/kernel.h", "include/tweed/tweed.h"],
    "tests/": [""],
}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^">]+)[">]', re.M)
CORE_NAME = re.compile(r"^[ \t]*extern\b[^;]*\btw_(?!protocol_)\w+\s*[;([].*", re.M)  # declared by hand
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


def check(tree):
    return [w for path in sorted(tree) for w in check_file(tree, path)]


def self_test(tree):
    """Each planted file must be found, and nothing else."""
    planted = [
        ("base/x.c", '#include "tweed/driver/transport.h"'),
        ("net/x.c", '#include "core/config.h"'),
        ("net/x.c", '#include "tweed/driver/protocol.h"'),
        ("net/x.c", '#include "../sync/sync.h"'),
        ("core/x.c", '#include "sync/sync.h"'),
        ("core/x.c", '#\tinclude <protocols/cashmere/cashmere.h>'),
        ("core/fault/x.c", '#include "core/job.h"'),
        ("sync/x.c", '#include "protocols/cashmere/cashmere.h"'),
        ("protocols/x/x.c", '#include "core/job.h"'),
        ("protocols/x/x.c", '#include "base/util.h"'),
        ("protocols/x/x.c", '#include "tweed/tweed.h"'),
        ("protocols/x/x.c", "extern struct tw_proc *tw_me;"),
        ("protocols/x/x.c", '#include "protocols/cashmere/cashmere.h"'),
        ("protocols/x.c", '#include "protocols/cashmere/cashmere.h"'),
        ("include/tweed/driver/x.h", '#include "base/util.h"'),
        ("include/tweed/driver/x.h", '#include "core/layout.h"'),
        ("include/tweed/driver/transport.h", '#include "tweed/driver/protocol.h"'),
        ("api/x.c", '#include "tools/tools.h"'),
        ("tools/x.c", '#include "protocols/cashmere/cashmere.h"'),
        ("apps/x.c", '#include "base/util.h"'),
        ("splash/x.c", '#include <tweed/driver/protocol.h>'),
        ("include/tweed/tweed.h", '#include "base/util.h"'),
        ("core/x.c", '#include "core/nowhere.h"'),
        ("elsewhere/x.c", "int x;"),
    ]
    silent = [("protocols/x/x.h", "extern const struct tw_protocol tw_protocol_x;\nextern const struct tw_thing x_thing;"),
              ("apps/x.c", '/* #include "base/util.h" */'), ("apps/x.c", '#include "tweed/tweed.h"\n#include <stdio.h>')]
    before = check(tree)
    for path, text in planted + silent:
        found = [w for w in check({**tree, path: text}) if w not in before]
        if len(found) != ((path, text) in planted):
            sys.exit(f"self-test: {path} with {text!r} gave {found}")
    return len(planted)


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: layers.py ROOT")
    tree = read_tree(sys.argv[1])
    planted = self_test(tree)
    wrong = check(tree)
    for w in wrong:
        print(w)
    print(f"{len(tree)} files, {planted} planted includes found, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
