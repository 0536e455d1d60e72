# SPDX-License-Identifier: BSD-3-Clause
"""Plans of global pointers: apps/pgas/figures.c, the measurements of Dewan and Jenkins' figures 3 to 7, over locales,
and over transports or on machines of virtual time.

Each run writes DIR/runs/KEY.json; DIR/runs.csv has a line for each series of a run, from which all else is derived."""
import csv
import os
import re
import statistics
import time

from . import report
from .execute import Progress, Programs, finish, spawn, to_run, without_settings, write
from .figure import Figure, curves, identifier
from .identity import identity, tools_digest
from .machine import Others, shares, warning
from .plan import File, Refused
from .reduce import write_measured
from .table import Table, write_all

KEYS = {"title", "text", "repetitions", "timeout", "locales", "transports", "machines", "figures", "remote", "total",
        "wanted"}
COLUMNS = ["transport", "figure", "locales", "repetition", "state", "series", "loop_s", "clear_s"]
LINE = re.compile(r"^figure \d, (.*), \d+ locales: loop ([\d.]+) s, clear ([\d.]+) s", re.M)
TITLES = {3: "atomic operations, 25 % each of read, write, compare-and-swap, exchange",
          4: "defer_delete, try_reclaim each 1024",
          5: "defer_delete, try_reclaim each", 6: "defer_delete, reclaimed at the end", 7: "pin and unpin"}
DEFERRING = (4, 5, 6)
PLAIN, OBJECT = "atomic int", "AtomicObject"


class PgasPlan(File):
    def __init__(self, path):
        super().__init__(path, KEYS)
        self.locales, self.figures = self.numbers("locales", [1, 2], range(1, 257)), self.numbers("figures", [*TITLES],
                                                                                                  TITLES)
        self.remote = self.numbers("remote", [0, 50, 100], range(101))
        self.machines = self.typed(self.table, "machines", list, [])
        self.transports = self.typed(self.table, "transports", list, [] if self.machines else ["shm"])
        self.networks = self.transports + self.machines
        self.total = self.typed(self.table, "total", int, 100000)
        self.wanted = self.typed(self.table, "wanted", (int, float), 1.05)
        if self.total < 10 or not self.networks or not all(isinstance(t, str) for t in self.networks):
            raise Refused(f"{path}: total is 10 or more, transports and machines are lists of names")
        self.runs = [(network, figure, remote, n) for network in self.networks for figure in self.figures
                     for remote in (self.remote if figure in DEFERRING else [0]) for n in self.locales]

    def numbers(self, key, default, allowed):
        values = self.typed(self.table, key, list, default)
        if not values or not all(isinstance(v, int) and v in allowed for v in values):
            raise Refused(f"{self.path}: {key} is a list of numbers from {min(allowed)} to {max(allowed)}, not "
                          f"{values!r}")
        return values


def result_name(network, figure, remote, n, repetition):
    return f"{network}-{figure}-{remote}-{n}.{repetition}.json"


class Executor:
    """One run at a time, because times are measured."""

    def __init__(self, plan, directory, tweed):
        self.plan, self.directory, self.tweed = plan, directory, tweed
        self.programs = {}
        for network in plan.networks:
            name = "pgas-figures-counted" if network in plan.machines else "pgas-figures"
            self.programs[network] = Programs(plan, tweed).find(name)
            if not self.programs[network]:
                raise Refused(f"there is no program {name} beside this command: build it, or install Tweed as a whole")
        os.makedirs(os.path.join(directory, "runs"), exist_ok=True)

    def path(self, *run):
        return os.path.join(self.directory, "runs", result_name(*run))

    def run_all(self):
        """Run round by round."""
        todo = to_run([(*r, i) for i in range(self.plan.repetitions) for r in self.plan.runs], self.path,
                      lambda *r: self.identity(*r[:4]), self.plan.timeout)
        progress = Progress(len(todo))
        try:
            for run in todo:
                what = f"{run[0]} figure {run[1]} at {run[3]}"
                progress.show(what)
                write(self.path(*run), self.one(*run))
                progress.step(what)
        finally:
            progress.end()

    def command(self, network, figure, remote, n):
        virtual = network in self.plan.machines
        total = self.plan.total if virtual or network == "shm" else self.plan.total // 10
        over = ["--time", "virtual", "--machine", network] if virtual else ["--transport", network]
        return [self.tweed, "run", "-n", str(n), "-p", "1", *over, self.programs[network], "--figure", str(figure),
                "--total", str(total), "--remote", str(remote)]

    def identity(self, *run):
        return identity([*self.command(*run), tools_digest(self.tweed)], {}, [self.programs[run[0]]])

    def one(self, network, figure, remote, n, repetition):
        command = self.command(network, figure, remote, n)
        run = {"transport": network, "figure": figure, "locales": n, "repetition": repetition, "command": command,
               "measured": [], "identity": self.identity(network, figure, remote, n), "timeout": self.plan.timeout}
        begun, others = time.monotonic(), Others()
        with spawn(command, without_settings()) as child:
            out, err, late = finish(child, self.plan.timeout)
        run |= {"wall": time.monotonic() - begun, "others": others.share()}
        if late:
            return run | {"state": "timeout"}
        return run | {"state": "failed" if child.returncode else "ok", "errors": err[-2000:],
                      "measured": [[series, float(loop), float(clear)] for series, loop, clear in LINE.findall(out)]}


def reduce(directory, plan):
    """Write runs.csv for the plan's runs."""
    write_measured(directory, COLUMNS, lambda measured: measured,
                   {result_name(*r, i) for r in plan.runs for i in range(plan.repetitions)})


class Data:
    """Medians (loop, clear) by (transport, figure, series, locales); @ratios: AtomicObject over the plain word, by
    (transport, locales), each of one run; @bad: failed runs."""

    def __init__(self, directory):
        found, self.ratios, self.bad, self.series = {}, {}, [], {}
        with open(os.path.join(directory, "runs.csv"), encoding="utf-8") as f:
            for r in csv.DictReader(f):
                place = r["transport"], int(r["figure"])
                if r["state"] != "ok":
                    self.bad.append([*map(str, place), r["locales"], r["repetition"], r["state"]])
                    continue
                found.setdefault((*place, r["series"], int(r["locales"])),
                                 {})[r["repetition"]] = float(r["loop_s"]), float(r["clear_s"])
                self.series.setdefault(place, {})[r["series"]] = True
        self.medians = {k: tuple(map(statistics.median, zip(*v.values()))) for k, v in found.items()}
        for (transport, figure, series, n), runs in found.items():
            plain = found.get((transport, figure, PLAIN, n))
            if series == OBJECT and plain:
                self.ratios[transport, n] = [loop / plain[i][0] for i,
                                             (loop, _) in runs.items() if i in plain and plain[i][0]]

    def of(self, transport, figure):
        return list(self.series.get((transport, figure), ()))


# ---- tables, figures, report ----

def wanted(data, plan):
    rows, marks = [], {}
    for (transport, n), ratios in sorted(data.ratios.items()):
        ratio = statistics.median(ratios)
        marks[len(rows), 3] = "good" if ratio <= plan.wanted else "bad"
        rows.append([transport, str(n), f"{plan.wanted:.2f}", f"{ratio:.3f}",
                     f"{min(ratios):.3f} to {max(ratios):.3f}"])
    return Table("atomic", "AtomicObject's time over the plain atomic word's",
                 ["transport", "locales", "wanted", "median", "runs"], rows, marks=marks, left=2)


def figure_table(data, plan, transport, figure):
    columns = ["series"] + [f"{n}: {part}" for n in plan.locales for part in ("loop s", "clear s")]
    rows = [[series] + [v for n in plan.locales for v in data.medians.get((transport, figure, series, n),
            (None, None))] for series in data.of(transport, figure)]
    return Table(f"{transport}-figure-{figure}", f"Figure {figure}, {transport}: {TITLES[figure]}, by locales", columns,
                 rows)


def figure_panel(data, plan, transport, figure):
    lines = []
    for series in data.of(transport, figure):
        points = [(n, *data.medians[k]) for n in plan.locales for k in [(transport, figure, series, n)]
                  if k in data.medians]
        lines.append((f"{series}: loop", [(n, loop) for n, loop, _ in points]))
        if any(clear for _, _, clear in points):
            lines.append((f"{series}: clear", [(n, clear or None) for n, _, clear in points]))
    return f"Figure {figure}: {TITLES[figure].split(',')[0]}", curves(identifier(f"{transport}_{figure}"), lines,
                                                                      "locales", "s", "xy 2")


def draw(directory, plan):
    """Write tables, figures and the report from runs.csv; return the tables, whether a run failed, and messages."""
    data = Data(directory)
    if not data.medians:
        raise Refused(f"{directory} has no results of this plan")
    tables = ([wanted(data, plan)] if data.ratios else []) + [figure_table(data, plan, t, f) for t in plan.networks
                                                              for f in plan.figures if data.of(t, f)]
    if data.bad:
        tables.append(Table("bad", "What did not end well", ["transport", "figure", "locales", "round", "state"],
                            data.bad, left=5))
    figures = [Figure(f"figures-{t}", f"Figures 3 to 7 {'on' if t in plan.machines else 'over'} {t}",
                      [figure_panel(data, plan, t, f) for f in plan.figures], width=420) for t in plan.networks]
    figures = [f for f in figures if f.panels]
    write_all(directory, tables)
    for f in figures:
        f.draw(os.path.join(directory, "figures"))
    machine = report.machine(directory)
    crowded = plan.transports and max(plan.locales) > machine["cpus"]
    warned = [f"This machine has {machine['cpus']} cores: times of more locales than that say what waiting for a core "
              f"costs."] if crowded else []
    warned += filter(None, [warning(list(shares(directory)))])
    report.write(directory, plan, warned, machine, tables, figures)
    return tables, bool(data.bad), warned
