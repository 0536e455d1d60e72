# SPDX-License-Identifier: BSD-3-Clause
"""Tables of operations beside those of a program that others wrote, measured in turns on the same machine."""


def median(values):
    return sorted(values)[len(values) // 2] if values else float("nan")


def rows(lines):
    """Values by name, of lines `NAME|VALUE|...` that tweed-bench prints."""
    found = {}
    for parts in (line.split("|") for line in lines):
        if len(parts) > 3:
            found.setdefault(parts[0], []).append(float(parts[1]))
    return found


def table(peer, ours, theirs, bounds):
    """Print medians side by side, then what only we have; True if every one keeps its bound on ours / theirs (above
    1: of times)."""
    good = True
    print(f"| operation | tweed | {peer} | ratio | bound |\n|---|---|---|---|---|")
    for name, bound in bounds.items():
        one, two = median(ours.get(name, [])), median(theirs.get(name, []))
        kept = one / two <= bound if bound > 1 else one / two >= bound
        good &= kept
        print(f"| {name} | {one:.2f} | {two:.2f} | {one / two:.2f} | {bound}{'' if kept else ' MISSED'} |")
    for name in ours:
        if name not in bounds:
            print(f"| {name} | {median(ours[name]):.2f} | | | |")
    return good
