#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The measurements of Dewan and Jenkins' figures 3 to 7, as a table and plots, from one command.

pgas.py --tweed TWEED --program pgas-figures [--locales 1,2,4,8] [--transport shm] [--total 100000] [--repeat 3] OUT
Writes OUT/figures.csv, OUT/figure-3.png ... (and .gp, which can be changed and run again), the median of the repetitions."""
import argparse
import csv
import os
import re
import shutil
import statistics
import subprocess
import sys

LINE = re.compile(r"^figure (\d), (.*), (\d+) locales: loop ([\d.]+) s, clear ([\d.]+) s")
TITLE = {3: "atomic int, AtomicObject, AtomicObject (ABA)", 4: "defer_delete, try_reclaim each 1024", 5: "defer_delete, try_reclaim each",
         6: "defer_delete, reclaimed at the end", 7: "pin and unpin"}


def measure(o, figure, remote, locales):
    """[(series, locales, loop s, clear s)] of one run."""
    command = [o.tweed, "run", "-n", str(locales), "-p", "1", "--transport", o.transport, o.program, "--figure", str(figure),
               "--total", str(o.total), "--remote", str(remote)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=o.limit)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: status {done.returncode}\n{done.stderr}")
    return [(m[2], int(m[3]), float(m[4]), float(m[5])) for m in map(LINE.match, done.stdout.splitlines()) if m]


def collect(o):
    """{(figure, series, locales): [(loop, clear)]}"""
    seen = {}
    for _ in range(o.repeat):
        for figure in TITLE:
            for remote in (0, 50, 100) if 4 <= figure <= 6 else (0,):
                for locales in o.locales:
                    for series, n, loop, clear in measure(o, figure, remote, locales):
                        seen.setdefault((figure, series, n), []).append((loop, clear))
    return seen


def plot(out, figure, rows):
    """A gnuplot script, run if there is gnuplot: loop solid, clear dashed where there is any."""
    path = os.path.join(out, f"figure-{figure}.gp")
    blocks, curves = [], []
    for i, series in enumerate(sorted({r[1] for r in rows})):
        points = sorted((r[2], r[3], r[4]) for r in rows if r[1] == series)
        blocks.append(f"$s{i} << E\n" + "".join("%d %g %g\n" % p for p in points) + "E\n")
        curves.append(f"$s{i} using 1:2 with linespoints lc {i + 1} title '{series}, loop'")
        if any(p[2] for p in points):
            curves.append(f"$s{i} using 1:3 with linespoints lc {i + 1} dt 2 title '{series}, clear'")
    with open(path, "w", encoding="utf-8") as f:
        f.write("".join(blocks) + f"set terminal pngcairo size 800,500\nset output 'figure-{figure}.png'\n"
                f"set title 'Figure {figure}: {TITLE[figure]}'\nset logscale xy 2\nset xlabel 'locales'\nset ylabel 's'\n"
                "set key outside right\nplot " + ", \\\n     ".join(curves) + "\n")
    if shutil.which("gnuplot"):
        subprocess.run(["gnuplot", os.path.basename(path)], cwd=out, check=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--tweed", required=True)
    p.add_argument("--program", required=True)
    p.add_argument("--locales", default="1,2,4,8", type=lambda s: [int(n) for n in s.split(",")])
    p.add_argument("--transport", default="shm")
    p.add_argument("--total", default=100000, type=int, help="operations of all locales together")
    p.add_argument("--repeat", default=3, type=int)
    p.add_argument("--limit", default=600, type=int, help="seconds for a run")
    p.add_argument("out")
    o = p.parse_args()
    os.makedirs(o.out, exist_ok=True)
    rows = [(figure, series, n, statistics.median(v[0] for v in values), statistics.median(v[1] for v in values))
            for (figure, series, n), values in sorted(collect(o).items())]
    with open(os.path.join(o.out, "figures.csv"), "w", newline="", encoding="utf-8") as f:
        table = csv.writer(f)
        table.writerow(["figure", "series", "locales", "loop_s", "clear_s"])
        table.writerows(rows)
    for figure in TITLE:
        plot(o.out, figure, [r for r in rows if r[0] == figure])
    print(f"{len(rows)} points in {o.out}/figures.csv")


if __name__ == "__main__":
    main()
