# SPDX-License-Identifier: BSD-3-Clause
"""Figures: a gnuplot script with its data for each, in DIR/figures, drawn as SVG and PNG."""
import os
import shutil
import subprocess

from .plan import Refused

COLOURS = ["#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#999999", "#f0e442", "#000000"]
PARTS = [("user", "User"), ("protocol_time", "Protocol"), ("polling", "Polling"), ("comm_wait", "Comm & Wait"),
         ("write_doubling", "Write doubling")]


class Figure:
    """@panels: (title, body) pairs, drawn in a grid; panels without a body are skipped.  A body has its own plot
    command and data blocks."""

    def __init__(self, name, title, panels, columns=3, width=330, height=250, note=""):
        self.name, self.title, self.note = name, title, note
        self.panels = [(t, body) for t, body in panels if body]
        self.columns = max(1, min(columns, len(self.panels)))
        self.rows = -(-len(self.panels) // self.columns)
        self.size = (max(width * self.columns, 560), height * self.rows + 40)

    def script(self):
        colours = "\n".join(f"set linetype {i + 1} lc rgb '{c}' lw 2 pt 7" for i, c in enumerate(COLOURS))
        bodies = "\n\n".join(f"# {title}\nset title {quote(title)}\n{body}" for title, body in self.panels)
        return f"""# gnuplot {self.name}.gp: draws {self.name}.svg and {self.name}.png
{colours}
set tics nomirror font ',9'
set border 3 lc rgb '#666666'
set grid ytics lc rgb '#dddddd' lt 1
set style fill solid 0.9 noborder
set key below horizontal Left reverse font ',9' samplen 1
do for [device in "svg png"] {{
if (device eq "svg") {{ set terminal svg size {self.size[0]},{self.size[1]} font 'sans,11' noenhanced background 'white' }} \
else {{ set terminal pngcairo size {self.size[0]},{self.size[1]} font 'sans,10' noenhanced }}
set output '{self.name}.'.device
set multiplot layout {self.rows},{self.columns} title {quote(self.title)} font ',13'
{bodies}
unset multiplot
set output
}}
"""

    def draw(self, directory):
        os.makedirs(directory, exist_ok=True)
        # Data blocks are not allowed inside a loop, so they precede it.
        blocks, lines = [], []
        inside = False
        for line in self.script().splitlines():
            if line.startswith("$") and "<< EOD" in line:
                inside = True
            (blocks if inside else lines).append(line)
            if line == "EOD":
                inside = False
        with open(os.path.join(directory, self.name + ".gp"), "w", encoding="utf-8") as f:
            f.write("\n".join(lines[:1] + blocks + lines[1:]) + "\n")
        done = subprocess.run(["gnuplot", self.name + ".gp"], cwd=directory, capture_output=True, text=True)
        if done.returncode:
            raise Refused(f"gnuplot cannot draw {os.path.join(directory, self.name)}.gp: "
                          f"{' '.join(done.stderr.split())}")

    def svg(self, directory):
        with open(os.path.join(directory, self.name + ".svg"), encoding="utf-8") as f:
            text = f.read()
        # A page has several drawings: their names must be distinct.
        text = text[text.index("<svg"):]
        for mark in ("id='", 'id="', "url(#", "href='#", 'href="#'):
            text = text.replace(mark, mark + self.name)
        return text


def quote(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def block(name, rows):
    def cell(c):
        return "NaN" if c is None else quote(c) if isinstance(c, str) else f"{c:.9g}"
    return f"${name} << EOD\n" + "\n".join(" ".join(map(cell, r)) for r in rows) + "\nEOD\n"


def identifier(text):
    return "".join(c if c.isalnum() else "_" for c in text)


def clustered(name, labels, series, ylabel):
    """Bars: series = [(title, values)], one value for each label.  None when there is no value."""
    if all(v is None for _, values in series for v in values):
        return None
    data = block(name, [[label] + [values[i] for _, values in series] for i, label in enumerate(labels)])
    plot = ", \\\n  ".join(f"${name} using {i + 2}:xtic(1) title {quote(title)} lt {i + 1}"
                       for i, (title, _) in enumerate(series))
    return f"{data}unset logscale\nset style data histograms\nset style histogram clustered gap 1\nset boxwidth 0.9\n" \
           f"set xtics rotate by -35\n" \
           f"set ylabel {quote(ylabel)} font ',9'\nset yrange [0:*]\nset xrange [-0.6:{len(labels) - 0.4}]\n" \
           f"plot {plot}\n"


def curves(name, series, xlabel, ylabel, logscale="xy"):
    """Lines: @series = [(title, points)].  None when there is no point."""
    blocks, plots = "", []
    for i, (title, points) in enumerate(series):
        points = [p for p in points if p[1] is not None]
        if points:
            data = f"{name}_{i}"
            blocks += block(data, points)
            plots.append(f"${data} using 1:2 with linespoints lt {i + 1} ps 0.5 title {quote(title)}")
    if not plots:
        return None
    return f"{blocks}unset logscale\nset logscale {logscale}\nset xrange [*:*]\nset yrange [*:*]\n" \
           f"set xtics norotate\nset xlabel {quote(xlabel)} font ',9'\n" \
           f"set ylabel {quote(ylabel)} font ',9'\nplot {', '.join(plots)}\n"


def speedup(data):
    """The paper's figure 5: a bar for each configuration P:C."""
    panels = []
    for a in data.applications:
        groups = [g for g in data.groups if g.application == a]
        shapes = sorted({(g.total, g.processors) for g in groups})
        series = [(p, [first(data.speedup(g) for g in groups if g.protocol == p and (g.total, g.processors) == s)
                       for s in shapes])
                  for p in data.protocols]
        panels.append((a, clustered("speedup_" + identifier(a), [f"{t}:{c}" for t, c in shapes], series, "speed-up")))
    return Figure("speedup", f"Speed-up over {data.plan.base}, by processors:processors of a node", panels)


def breakdown(data):
    """The paper's figure 4: the distribution of time at the largest shape, in percent of the first protocol's time."""
    largest = data.largest()
    panels = []
    for a in data.applications:
        groups = [(p, largest[a, p]) for p in data.protocols if (a, p) in largest]
        times = {p: [g.median(part) or 0 for part, _ in PARTS] for p, g in groups}
        whole = next((sum(t) for t in times.values() if sum(t)), None)
        if not whole:
            continue
        name = "breakdown_" + identifier(a)
        rows = [[p] + [100 * t / whole for t in times[p]] for p, _ in groups]
        plot = ", \\\n  ".join(f"${name} using {i + 2}:xtic(1) title {quote(title)} lt {i + 1}"
                       for i, (_, title) in enumerate(PARTS))
        panels.append((a, f"{block(name, rows)}unset logscale\nset style data histograms\nset style histogram "
                          f"rowstacked\nset boxwidth 0.75\n"
                       f"set xtics rotate by -35\nset ylabel '% of {groups[0][0]}' font ',9'\nset yrange [0:*]\n"
                       f"set xrange [-0.6:{len(rows) - 0.4}]\nplot {plot}\n"))
    return Figure("breakdown", "Where the time goes", panels,
                  note="Sums over all processors; User includes what the processor waited for a core.")


def scaling(data):
    """Speed-up over processors."""
    panels = []
    for a in data.applications:
        blocks, plots = "", []
        for i, p in enumerate(data.protocols):
            best = {}
            for g in data.groups:
                if g.application == a and g.protocol == p and data.speedup(g):
                    best[g.total] = max(best.get(g.total, 0), data.speedup(g))
            if best:
                name = f"scaling_{identifier(a)}_{identifier(p)}"
                blocks += block(name, [[n, s] for n, s in sorted(best.items())])
                plots.append(f"${name} using 1:2 with linespoints lt {i + 1} title {quote(p)}")
        if plots:
            panels.append((a, f"{blocks}set logscale x 2\nset xrange [*:*]\nset yrange [0:*]\nset xtics norotate\n"
                           f"set xlabel 'processors' font ',9'\nset ylabel 'speed-up' font ',9'\nplot "
                           f"{', '.join(plots)}, 1 lc rgb '#999999' dt 2 notitle\n"))
    return Figure("scaling", "Scaling", panels)


def traffic(data):
    """Traffic at the largest shape, relative to the first protocol."""
    largest = data.largest()
    panels = []
    for title, columns in (("page transfers", ("page_transfers",)), ("data", ("data_bytes",)),
                           ("faults", ("read_faults", "write_faults"))):
        base = {a: total(largest.get((a, data.protocols[0])), columns) for a in data.applications}
        series = [(p, [over(total(largest.get((a, p)), columns), base[a]) for a in data.applications])
                  for p in data.protocols]
        panels.append((title, clustered("traffic_" + identifier(title), data.applications, series,
                                        f"{title} / {data.protocols[0]}'s")))
    return Figure("traffic", "What the protocols do at the largest shape", panels, columns=1, width=960, height=270)


def clustering(data):
    """Section 3.3.3: the same processors, on fewer nodes."""
    most = max(g.total for g in data.groups)
    panels = []
    for a in data.applications:
        groups = [g for g in data.groups if g.application == a and g.total == most]
        shapes = sorted({g.processors for g in groups})
        series = [(p, [first(total(g, ("data_bytes",), 1e6) for g in groups if g.protocol == p and g.processors == c)
                       for c in shapes])
                  for p in data.protocols]
        panels.append((a, clustered("clustering_" + identifier(a), [f"{most}:{c}" for c in shapes], series,
                                    "data, MB")))
    return Figure("clustering", "Clustering: data moved, by processors:processors of a node", panels)


def networks(data):
    """Times by network."""
    names = list(dict.fromkeys(g.network for g in data.groups))
    panels = []
    for a in data.applications:
        groups = [g for g in data.groups if g.application == a]
        series = [(p, [first(g.median("seconds") for g in groups if g.protocol == p and g.network == n) for n in names])
                  for p in data.protocols]
        panels.append((a, clustered("networks_" + identifier(a), names, series, "seconds")))
    return Figure("networks", "Time by network", panels)


def ratios(data, published):
    """Measured / paper, a point for each count of table 3."""
    points = list(published.ratios(data)) if published else []
    if not points:
        return None
    applications = list(dict.fromkeys(p[0] for p in points))
    blocks, plots = "", []
    for i, measure in enumerate(dict.fromkeys(p[2] for p in points)):
        name = "ratios_" + measure
        blocks += block(name, [[applications.index(a) + (i - 2) * 0.12, min(max(r, 0.03), 30)] for a, _, m,
                               r in points if m == measure])
        plots.append(f"${name} using 1:2 with points lt {i + 1} ps 0.7 title {quote(measure.replace('_', ' '))}")
    tics = ", ".join(f"{quote(a)} {i}" for i, a in enumerate(applications))
    body = f"{blocks}set logscale y\nset yrange [0.025:40]\nset xrange [-0.7:{len(applications) - 0.3}]\n" \
           f"set xtics norotate ({tics})\n" \
           f"set ylabel 'ours / paper' font ',9'\nplot {', '.join(plots)}, 1.5 lc rgb '#999999' dt 2 notitle, " \
           f"1/1.5 lc rgb '#999999' dt 2 notitle\n"
    return Figure("ratios", "Counts beside the paper's: a point for each protocol", [("", body)], width=960, height=380,
                  note="Between the dashed lines: within a factor of 1.5. Below 0.03 and above 30: drawn there.")


def first(values):
    return next((v for v in values if v is not None), None)


def total(group, columns, unit=1):
    values = [group.median(c) for c in columns] if group else [None]
    return None if None in values else sum(values) / unit


def over(a, b):
    return None if a is None or not b else a / b


FIGURES = {"speedup": speedup, "breakdown": breakdown, "scaling": scaling, "traffic": traffic, "clustering": clustering,
           "networks": networks}


def check_gnuplot():
    if not shutil.which("gnuplot"):
        raise Refused("there is no gnuplot here: install the package gnuplot-nox")


def check(names):
    """Refuse unknown figures before anything runs."""
    if names:
        check_gnuplot()
    for name in names:
        if name not in FIGURES and name != "ratios":
            raise Refused(f"there is no figure {name}: there are {', '.join([*FIGURES, 'ratios'])}")


def make(names, data, published):
    for name in names:
        figure = ratios(data, published) if name == "ratios" else FIGURES[name](data)
        if figure and figure.panels:
            yield figure
