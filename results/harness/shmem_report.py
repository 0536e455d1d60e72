# SPDX-License-Identifier: BSD-3-Clause
"""Tables, figures and the report of a plan of OpenSHMEM (harness/shmem.py)."""
import os
import re
import statistics

from . import report
from .figure import Figure, clustered, curves, identifier
from .machine import shares, warning
from .plan import Refused
from .shmem import TWEED, Data
from .table import Table, write_all

SIZED = re.compile(r"(.*)\.(\d+)$")
LATENCIES = [("get.fence", "get"), ("get.barrier", "get and barrier"), ("put.fence", "put and quiet"),
             ("put.barrier", "put and barrier")]
COLLECTIVES = ["broadcast", "collect", "fcollect", "alltoall", "reduce"]


# ---- tables ----

def others(place):
    return [who for who in place.options if who != TWEED]


def wanted(data):
    """A line for each bound: the worst ratio of all measures and other implementations."""
    rows, marks = [], {}
    for w in data.plan.wanted:
        place = next(p for p in data.plan.places if p.name == w.place)
        ratios = [(r, m, who) for pes in place.pes for who in others(place) for m in data.measures(place)
                  if w.fits(place.name, m)
                  for r in [data.ratio(place, pes, who, m)] if r is not None]
        if not ratios:
            rows.append([place.text, ", ".join(w.measures), None, w.ratio, None, "", "not measured"])
            continue
        worst, missed = max(ratios), sum(r > w.ratio for r, _, _ in ratios)
        marks[len(rows), 6] = "bad" if missed else "good"
        rows.append([place.text, ", ".join(w.measures), f"{statistics.median(r for r, _, _ in ratios):.2f}", w.ratio,
                     f"{worst[0]:.2f}",
                     f"{worst[1]} ({worst[2]})", f"{missed} of {len(ratios)} missed" if missed
                     else f"all {len(ratios)} kept"])
    return Table("wanted", "What is wanted", ["place", "measures", "median ratio", "wanted", "worst", "of", "verdict"],
                 rows,
                 "A ratio is the median over rounds of Tweed's time over the other's, or the other's rate over "
                 "Tweed's: below 1 Tweed is the faster one.",
                 marks, left=2)


def measured(data, place, pes):
    """Every figure of a place."""
    columns, rows, marks = ["measure", "unit", TWEED], [], {}
    for who in others(place):
        columns += [who, "ratio"]
    for m in data.measures(place):
        row = [m, data.units[m], data.value(place, pes, TWEED, m)]
        for who in others(place):
            r = data.ratio(place, pes, who, m)
            if r is not None and r > 1:
                marks[len(rows), len(row) + 1] = "bad"
            row += [data.value(place, pes, who, m), None if r is None else f"{r:.2f}"]
        rows.append(row)
    return Table(f"{place.name}-{pes}", place.text if len(place.pes) == 1 else f"{pes} {place.text}", columns, rows,
                 marks=marks, left=2)


def went_wrong(data):
    return Table("bad", "What did not end well", ["place", "PEs", "implementation", "round", "state"],
                 [[p, str(n), w, r, s] for p, n, w, r, s in data.bad], left=5)


# ---- figures ----

def by_size(data, place, pes, family, of=lambda size, value: value):
    """[(implementation, [(bytes, value)])]"""
    sizes = [int(m[2]) for m in map(SIZED.match, data.measures(place)) if m and m[1] == family]
    def point(who, size):
        value = data.value(place, pes, who, f"{family}.{size}")
        return size, None if value is None else of(size, value)
    return [(who, [point(who, size) for size in sizes]) for who in place.options]


def sizes(data, place, pes):
    """Latency and throughput of puts and gets, collectives: each over bytes."""
    panels = []
    for family, title in LATENCIES:
        name = identifier(f"{place.name}_{pes}_{family}")
        panels.append((f"{title}: latency", curves(name, by_size(data, place, pes, family), "bytes", "us")))
        panels.append((f"{title}: throughput", curves(name + "_rate",
                                                      by_size(data, place, pes, family, lambda n,
                                                              us: n / us if us else None), "bytes", "MB/s")))
    for family, title in (("get.stream", "non-blocking gets"), ("put.stream", "non-blocking puts")):
        panels.append((f"{title}: throughput", curves(identifier(f"{place.name}_{pes}_{family}"),
                                                      by_size(data, place, pes, family), "bytes", "MB/s")))
    for family in COLLECTIVES:
        panels.append((family, curves(identifier(f"{place.name}_{pes}_{family}"), by_size(data, place, pes, family),
                                      "bytes of each PE", "us")))
    return Figure(f"{place.name}-sizes", f"{place.text}: by size", panels, columns=4)


def single(data, place, pes):
    """Measures without a size: atomics, synchronization, locks, rates, starting."""
    def bars(title, measures):
        shown = [m for m in data.measures(place) if any(m.startswith(p) for p in measures) and not SIZED.match(m)]
        series = [(who, [data.value(place, pes, who, m) for m in shown]) for who in place.options]
        unit = data.units[shown[0]] if shown else ""
        return title, clustered(identifier(f"{place.name}_{pes}_{title}"), [m.removeprefix("atomic.") for m in shown],
                                series, unit) if shown else None
    return Figure(f"{place.name}-single", f"{place.text}: atomics, synchronization, locks, starting",
                  [bars("atomics", ["atomic."]), bars("barrier and sync", ["barrier", "sync"]),
                   bars("locks", ["lock."]), bars("8-byte puts", ["put.rate"]),
                   bars("starting", ["init", "hello"])], columns=2, width=480)


def over_pes(data, place):
    panels = [(m, curves(identifier(f"{place.name}_{m}"), [(who,
                                                            [(n, data.value(place, n, who, m)) for n in place.pes])
                                                           for who in place.options],
                         "PEs", "us", "y")) for m in data.measures(place)]
    return Figure(f"{place.name}-pes", f"{place.text}: by their number", panels)


# ---- the report ----

def draw(directory, plan):
    """Write tables, figures and the report from runs.csv; return the tables, whether a run failed, and messages."""
    data = Data(directory, plan)
    if not data.found:
        raise Refused(f"{directory} has no results of this plan")
    shown = [(place, pes) for place in plan.places for pes in place.pes
             if any((place.name, pes) == k[:2] for k in data.found)]
    tables = [wanted(data)] + [measured(data, place, pes) for place,
                               pes in shown] + ([went_wrong(data)] if data.bad else [])
    figures = []
    for place in dict.fromkeys(p for p, _ in shown):
        made = [over_pes(data, place)] if len(place.pes) > 1 else [sizes(data, place, place.pes[0]),
                                                                   single(data, place, place.pes[0])]
        figures += [f for f in made if f.panels]
    write_all(directory, tables)
    for f in figures:
        f.draw(os.path.join(directory, "figures"))
    machine = report.machine(directory)
    cores = machine["cpus"]
    warned = [f"This machine has {cores} cores: times of more PEs than that say what waiting for a core "
              "costs."] if any(n > cores for _, n in shown) else []
    warned += filter(None, [warning(list(shares(directory)))])
    report.write(directory, plan, warned, machine, tables, figures)
    return tables, bool(data.bad), warned
