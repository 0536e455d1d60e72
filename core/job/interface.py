# SPDX-License-Identifier: BSD-3-Clause
"""A number for what a program and the tweed that starts it must have in common: the version and the headers, whose
structs lie in memory and messages that both use.

The program has it twice: as a constant, and as a note, which tweed run reads before it starts the program
(tools/run/program.c).

usage: interface.py ROOT VERSION SOURCE DEPENDENCIES"""

import hashlib
import pathlib
import sys

root, version, source, dependencies = sys.argv[1:]
folders = "core", "include", "net", "runtime", "sync", "tools/wire"
files = [p for folder in folders for p in pathlib.Path(root, folder).rglob("*")]
headers = sorted(p for p in files if p.suffix == ".h")
number = hashlib.sha256(version.encode())
for header in headers:
    number.update(header.read_bytes())
value = "0x" + number.hexdigest()[:16]
pathlib.Path(source).write_text(f"""#include "core/job/boot.h"

const uint64_t tw_boot_interface = {value};

__asm__("	.pushsection .note.tweed, \\"a\\", @note\\n"
        "	.balign 4\\n"
        "	.long 6, 8, 3\\n" /* NOTE_INTERFACE */
        "	.asciz \\"Tweed\\"\\n"
        "	.balign 4\\n"
        "	.quad {value}\\n"
        "	.popsection\\n");
""")
# A folder changes when a header is added or removed.
used = headers + [p for p in files if p.is_dir() and p.name != "__pycache__"]
pathlib.Path(dependencies).write_text(f"{source}: " + " ".join(map(str, used)) + "\n")
