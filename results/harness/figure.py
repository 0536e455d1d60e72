# SPDX-License-Identifier: BSD-3-Clause
"""Figures: a gnuplot script with its data for each, in DIR/figures, drawn as SVG, PNG and PDF."""
import os
import shutil
import subprocess

from .plan import Refused

COLOURS = ["#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#999999", "#f0e442", "#000000"]
PARTS = [("user", "User"), ("protocol_time", "Protocol"), ("polling", "Polling"), ("comm_wait", "Comm & Wait"),
         ("write_doubling", "Write doubling")]
SHAPES = "nodes x processors of each"
QUARTILES = "Medians of the rounds; where there are at least three, with quartiles."
HEAD, LEGEND = 40, 22  # pixels above the panels; of a line of the legend
TERMINALS = {"svg": "svg size {0},{1} font 'sans,11' background 'white'", "png": "pngcairo size {0},{1} font 'sans,10'",
             "pdf": "pdfcairo size {2:.3f}in,{3:.3f}in font 'sans,10' fontscale 0.75"}
SETTING = """set border 3 lc rgb '#666666'
set tics nomirror font ',9' noenhanced
set grid ytics lc rgb '#dddddd' lt 1
set style fill solid 0.9 noborder
set errorbars 0.5 lc rgb '#444444' lw 1
set key above horizontal Left reverse font ',9' samplen 1 noenhanced
"""


class Body(str):
    """A panel's plot: data blocks and commands.  @series: {line type: (style, title)}, for a legend of all panels."""

    def __new__(cls, text, series):
        body = super().__new__(cls, text)
        body.series = series
        return body


class Figure:
    """@panels: (title, body) pairs, drawn in a grid; panels without a body are skipped.  A body has its own plot
    command and data blocks.  Where the panels agree on what line types mean, one legend stands below all of them."""

    def __init__(self, name, title, panels, columns=3, width=330, height=250, note=""):
        self.name, self.title, self.note = name, title, note
        self.panels = [(t, body) for t, body in panels if body]
        self.rows = max(1, -(-len(self.panels) // columns))
        self.columns = max(1, -(-len(self.panels) // self.rows))
        self.legend = self.common()
        whole = max(width * self.columns, 560)
        self.below = LEGEND * -(-sum(7 * len(title) + 45 for _, title in self.legend.values()) // whole)
        self.size = (whole, height * self.rows + HEAD + self.below)

    def common(self):
        """The series of all panels; {} where two of them differ, or one has a key of its own."""
        series = {}
        for _, body in self.panels:
            for kind, entry in getattr(body, "series", {None: None}).items():
                if not kind or series.setdefault(kind, entry) != entry:
                    return {}
        return dict(sorted(series.items()))

    def placed(self, i):
        """The commands that draw panel @i in its place."""
        title, body = self.panels[i]
        w, h = 1 / self.columns, (self.size[1] - HEAD - self.below) / self.rows / self.size[1]
        bottom = 1 - HEAD / self.size[1] - (i // self.columns + 1) * h
        return (f"# {title}\nset size {w:.4f},{h:.4f}\nset origin {i % self.columns * w:.4f},{bottom:.4f}\n"
                f"set title {quote(title)} noenhanced\n{'unset key' if self.legend else ''}\n{body}")

    def explained(self):
        """The commands that draw the legend: a plot of nothing."""
        if not self.legend:
            return ""
        entries = ", ".join(f"NaN with {style} lt {kind} title {quote(title)}"
                            for kind, (style, title) in self.legend.items())
        return (f"reset\nset size 1,{self.below / self.size[1]:.4f}\nset origin 0,0\nunset border\nunset tics\n"
                f"set style fill solid 0.9 noborder\n"
                f"set key center center horizontal Left reverse font ',9' samplen 1 noenhanced\nset margins 0,0,0,0\n"
                f"plot [0:1] [0:1] {entries}\n")

    def script(self):
        colours = "\n".join(f"set linetype {i + 1} lc rgb '{c}' lw 2 pt 7" for i, c in enumerate(COLOURS))
        bodies = "\n\n".join(map(self.placed, range(len(self.panels))))
        inches = [n / 96 for n in self.size]
        terminals = "\n".join(f"if (device eq '{device}') {{ set terminal {terminal.format(*self.size, *inches)} }}"
                              for device, terminal in TERMINALS.items())
        return f"""# gnuplot {self.name}.gp: draws {', '.join(f'{self.name}.{device}' for device in TERMINALS)}
{colours}
do for [device in "{' '.join(TERMINALS)}"] {{
{terminals}
set output '{self.name}.'.device
reset
{SETTING}set multiplot title {quote(self.title)} font ',13' noenhanced
{bodies}
{self.explained()}unset multiplot
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


def slanted(labels):
    """Labels below bars are turned where they would not stand beside each other."""
    return "rotate by -35" if sum(len(label) + 2 for label in labels) > 44 else "norotate"


def span(value):
    """(value, least, most) of a value, or of one with its quartiles."""
    return value if isinstance(value, tuple) else (value, value, value)


def clustered(name, labels, series, ylabel, xlabel=""):
    """Bars: series = [(title, values)], one value for each label: a number, a tuple of one and its quartiles, or None.
    A series without values takes no room.  None when there is no value."""
    shown = [(i, title, values) for i, (title, values) in enumerate(series) if any(v is not None for v in values)]
    if not shown:
        return None
    ranges = any(isinstance(v, tuple) for _, _, values in shown for v in values)
    def cells(value):
        return span(value) if ranges else (value,)
    data = block(name, [[label] + [c for _, _, values in shown for c in cells(values[i])]
                        for i, label in enumerate(labels)])
    using = [":".join(str(n) for n in range(3 * k + 2, 3 * k + 5)) if ranges else str(k + 2)
             for k in range(len(shown))]
    plot = ", \\\n  ".join(f"${name} using {columns}:xtic(1) title {quote(title)} lt {i + 1}"
                           for columns, (i, title, _) in zip(using, shown))
    style = "errorbars gap 1 lw 1" if ranges else "clustered gap 1"
    return Body(f"{data}unset logscale\nset format y '%g'\nset style data histograms\nset style histogram {style}\n"
                f"set boxwidth 0.9\nset xtics {slanted(labels)}\nset xlabel {quote(xlabel)} font ',9' noenhanced\n"
                f"set ylabel {quote(ylabel)} font ',9' noenhanced\nset yrange [0:*]\n"
                f"set xrange [-0.6:{len(labels) - 0.4}]\nplot {plot}\n",
                {i + 1: ("boxes", title) for i, title, _ in shown})


def curves(name, series, xlabel, ylabel, logscale="xy"):
    """Lines: @series = [(title, points)].  None when there is no point.  Logarithmic axes have powers of ten as tics; an
    x axis of base 2 ("xy 2"), its values."""
    blocks, plots, kinds = "", [], {}
    for i, (title, points) in enumerate(series):
        points = [p for p in points if p[1] is not None]
        if points:
            data = f"{name}_{i}"
            blocks += block(data, points)
            plots.append(f"${data} using 1:2 with linespoints lt {i + 1} ps 0.5 title {quote(title)}")
            kinds[i + 1] = ("linespoints", title)
    if not plots:
        return None
    axes, *base = logscale.split()
    tens = {a: a in axes and not (a == "x" and base) for a in "xy"}
    tics = "\n".join(f"set format {a} '{'10^{%L}' if tens[a] else '%g'}'\nset {a}tics enhanced" for a in "xy")
    scales = "\n".join(f"set logscale {a} {10 if tens[a] else base[0]}" for a in axes)
    return Body(f"{blocks}unset logscale\n{scales}\nset xrange [*:*]\nset yrange [*:*]\n{tics}\n"
                f"set xtics norotate\nset xlabel {quote(xlabel)} font ',9' noenhanced\n"
                f"set ylabel {quote(ylabel)} font ',9' noenhanced\nplot {', '.join(plots)}\n", kinds)


def shape_of(shape):
    """(processors, processors of a node) as NODESxPROCESSORS."""
    return f"{shape[0] // shape[1]}x{shape[1]}"


def speedup(data):
    """The paper's figure 5: a bar for each shape."""
    panels = []
    for a in data.applications:
        groups = [g for g in data.groups if g.application == a]
        shapes = sorted({(g.total, g.processors) for g in groups})
        series = [(p, [first(data.speedups(g) for g in groups if g.protocol == p and (g.total, g.processors) == s)
                       for s in shapes])
                  for p in data.protocols]
        panels.append((a, clustered("speedup_" + identifier(a), list(map(shape_of, shapes)), series, "speed-up",
                                    SHAPES)))
    return Figure("speedup", f"Speed-up over {data.plan.base}", panels, note=QUARTILES)


def breakdown(data):
    """The paper's figure 4: the distribution of time at the largest shape, in percent of the first protocol's time."""
    largest = data.largest()
    panels = []
    parts = [(i + 1, part, title) for i, (part, title) in enumerate(PARTS)
             if any(g.median(part) for g in largest.values())]
    for a in data.applications:
        groups = [(p, largest[a, p]) for p in data.protocols if (a, p) in largest]
        times = {p: [g.median(part) or 0 for _, part, _ in parts] for p, g in groups}
        whole = next((sum(t) for t in times.values() if sum(t)), None)
        if not whole:
            continue
        name = "breakdown_" + identifier(a)
        rows = [[p] + [100 * t / whole for t in times[p]] for p, _ in groups]
        plot = ", \\\n  ".join(f"${name} using {i + 2}:xtic(1) title {quote(title)} lt {kind}"
                       for i, (kind, _, title) in enumerate(parts))
        body = (f"{block(name, rows)}unset logscale\nset style data histograms\nset style histogram rowstacked\n"
                f"set boxwidth 0.75\nset xtics {slanted([p for p, _ in groups])}\n"
                f"set ylabel '% of {groups[0][0]}' font ',9' noenhanced\nset yrange [0:*]\n"
                f"set xrange [-0.6:{len(rows) - 0.4}]\nplot {plot}\n")
        panels.append((a, Body(body, {kind: ("boxes", title) for kind, _, title in parts})))
    return Figure("breakdown", "Where the time goes", panels,
                  note="Sums over all processors; User includes what the processor waited for a core.")


def scaling(data):
    """Speed-up over processors."""
    panels = []
    least, most = min(g.total for g in data.groups), max(g.total for g in data.groups)
    for a in data.applications:
        blocks, plots, kinds = "", [], {}
        for i, p in enumerate(data.protocols):
            best = {}
            for g in data.groups:
                if g.application == a and g.protocol == p and data.speedup(g):
                    best[g.total] = max(best.get(g.total, (0,)), span(data.speedups(g)))
            if best:
                name = f"scaling_{identifier(a)}_{identifier(p)}"
                aside = 1.02 ** (i - len(data.protocols) / 2)  # bars of several protocols beside each other
                blocks += block(name, [[n * aside, *s] for n, s in sorted(best.items())])
                plots.append(f"${name} using 1:2:3:4 with yerrorlines lt {i + 1} ps 0.6 title {quote(p)}")
                kinds[i + 1] = ("linespoints", p)
        if plots:
            panels.append((a, Body(f"{blocks}set logscale x 2\nset xrange [{least / 1.2}:{most * 1.2}]\n"
                                   f"set yrange [0:*]\nset xtics norotate\nset xlabel 'processors' font ',9'\n"
                                   f"set ylabel 'speed-up' font ',9'\nplot "
                                   f"{', '.join(plots)}, 1 lc rgb '#999999' dt 2 notitle\n", kinds)))
    return Figure("scaling", "Scaling", panels, note=QUARTILES)


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
        panels.append((a, clustered("clustering_" + identifier(a), [shape_of((most, c)) for c in shapes], series,
                                    "data, MB", SHAPES)))
    return Figure("clustering", "Clustering: data moved by the same processors on fewer nodes", panels)


def networks(data):
    """Times by network."""
    names = list(dict.fromkeys(g.network for g in data.groups))
    panels = []
    for a in data.applications:
        groups = [g for g in data.groups if g.application == a]
        series = [(p, [first(g.quartiles("seconds") for g in groups if g.protocol == p and g.network == n)
                       for n in names])
                  for p in data.protocols]
        panels.append((a, clustered("networks_" + identifier(a), names, series, "seconds")))
    return Figure("networks", "Time by network", panels, note=QUARTILES)


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
    body = f"{blocks}set logscale y\nset format y '10^{{%L}}'\nset ytics enhanced\nset yrange [0.025:40]\n" \
           f"set xrange [-0.7:{len(applications) - 0.3}]\n" \
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
