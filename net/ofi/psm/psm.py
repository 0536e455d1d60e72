# SPDX-License-Identifier: BSD-3-Clause
"""psm.py LIBRARY ... HEADER - libNAME.so as the array NAME_image."""
import os
import sys

*libraries, header = sys.argv[1:]
with open(header, "w", encoding="ascii") as out:
    for library in libraries:
        name = os.path.basename(library).split(".")[0][3:]
        with open(library, "rb") as f:
            out.write(f"static const unsigned char {name}_image[] = {{{','.join(map(str, f.read()))}}};\n")
