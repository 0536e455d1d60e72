# SPDX-License-Identifier: BSD-3-Clause
"""The tables that plans name."""
from .plan import Refused
from .table import DASH, Table

COUNTERS = ["read_faults", "write_faults", "page_transfers", "host_transfers", "directory_updates", "write_notices",
            "data_bytes", "twins",
            "incoming_diffs", "flush_updates", "shootdowns", "migrations", "lock_acquires", "messages"]


def percent(x):
    return DASH if x is None else f"{100 * x:.0f} %"


def times(data):
    """Every configuration: time, speed-up, traffic."""
    axes = [("network", "network"), ("page_size", "page"), ("size", "size"), ("settings", "settings")]
    shown = [(a, label) for a, label in axes if len({getattr(g, a) for g in data.groups}) > 1]
    rows, marks = [], {}
    for g in data.groups:
        faults = [g.median("read_faults"), g.median("write_faults")]
        data_bytes = g.median("data_bytes")
        if g.bad:
            marks[len(rows), 4 + len(shown) + 6] = "bad"
        rows.append([g.application, g.protocol, g.shape, *(getattr(g, a) for a, _ in shown), g.median("seconds"),
                     percent(g.spread()),
                     data.speedup(g), None if None in faults else sum(faults), g.median("page_transfers"),
                     None if data_bytes is None else data_bytes / 1e6, f"{len(g.good)} of {len(g.good) + len(g.bad)}",
                     g.state])
    return Table("times", "All configurations", ["application", "protocol", "shape", *(label for _, label in shown),
                                                 "seconds", "spread",
                 "speed-up", "faults", "transfers", "MB", "verified", "state"], rows,
                 "Medians of runs with the right answer; spread: (most - least) / median; "
                 f"speed-up: over {data.plan.base}, run in the same round.", marks, left=3 + len(shown))


def relative(data):
    """Time divided by the first protocol's in the same round."""
    rows = []
    for key in dict.fromkeys((g.application, g.size, g.shape, g.network, g.page_size, g.settings) for g in data.groups):
        groups = {g.protocol: g for g in data.groups if (g.application, g.size, g.shape, g.network, g.page_size,
                                                         g.settings) == key}
        base = groups.get(data.protocols[0])
        ratios = {p: groups[p].over(base) if p in groups else None for p in data.protocols[1:]}
        least = min((t for g in groups.values() if (t := g.median("seconds"))), default=None)
        best = [p for p, g in groups.items() if g.good and (g.median("seconds") == least if data.plan.virtual else
                not any(other.faster(g) for other in groups.values() if other is not g))]
        compared = [p for p, g in groups.items() if len(g.seconds) >= (1 if data.plan.virtual else 3)]
        rows.append([key[0], key[2], key[3], base.median("seconds") if base else None,
                     *(None if r is None else f"{r:.2f}" for r in ratios.values()),
                     ", ".join(best) if len(compared) > 1 and len(best) < len(groups) else None])
    return Table("relative", f"Time over that of {data.protocols[0]}",
                 ["application", "shape", "network", data.protocols[0] + ", s",
                 *data.protocols[1:], "best"], rows,
                 "Medians over rounds in which the protocols take turns; below 1 is faster. Best are those that no "
                 "other one beats in three of four rounds; "
                 "nothing is said of fewer than three rounds, or if no one is beaten. In virtual time one round is "
                 "enough.", left=3)


def counters(data):
    """Counters of the protocols at the largest shape."""
    largest = data.largest()
    rows = []
    for a in data.applications:
        for c in COUNTERS:
            values = [largest[a, p].median(c) if (a, p) in largest else None for p in data.protocols]
            if any(values):
                rows.append([a, c.replace("_", " "), *values])
    return Table("counters", "Counters at the largest shape, all processors",
                 ["application", "counter", *data.protocols], rows, left=2)


def verdicts(data):
    """The results' verdicts, in an overview."""
    rows, marks = [], {}
    for key in dict.fromkeys((g.application, g.shape, g.network, g.page_size, g.settings) for g in data.groups):
        row = [key[0], key[1], key[2]]
        for p in data.protocols:
            groups = [g for g in data.groups if (g.application, g.shape, g.network, g.page_size, g.settings) == key
                      and g.protocol == p]
            good, bad = sum(len(g.good) for g in groups), sum(len(g.bad) for g in groups)
            if bad:
                marks[len(rows), len(row)] = "bad"
            row.append(DASH if not groups else "yes" if not bad else f"{bad} of {good + bad} NOT")
        rows.append(row)
    return Table("verdicts", "Whether every run verified its answer",
                 ["application", "shape", "network", *data.protocols], rows, "", marks, left=3 + len(data.protocols))


def clustering(data):
    """Section 3.3.3."""
    most = max(g.total for g in data.groups)
    shapes = sorted({g.processors for g in data.groups if g.total == most})
    rows = []
    for a in data.applications:
        for p in data.protocols:
            groups = {g.processors: g for g in data.groups if g.application == a and g.protocol == p
                      and g.total == most}
            if groups:
                rows.append([a, p] + [x for c in shapes for x in
                                      ((groups[c].median("data_bytes") or 0) / 1e6 if c in groups and groups[c].good
                                       else None,
                                       groups[c].median("seconds") if c in groups else None)])
    return Table("clustering", f"Clustering: {most} processors, on fewer nodes", ["application", "protocol"] +
                 [x for c in shapes for x in (f"{most}:{c} MB", "s")], rows, left=2)


def bad(data):
    """Failures."""
    rows = [[g.application, g.protocol, g.shape, g.network, g.page_size, g.size, g.state, g.why]
            for g in data.groups + list(data.plain.values()) if g.bad]
    return Table("bad", "Runs that did not end well", ["application", "protocol", "shape", "network", "page", "size",
                                                       "state", "why"], rows,
                 "No number of theirs is in any median. Their output is in runs/.",
                 {(i, 6): "bad" for i in range(len(rows))}, left=8)


TABLES = {"times": times, "relative": relative, "counters": counters, "verdicts": verdicts, "clustering": clustering}
PUBLISHED = {"table1": "costs", "table3": "statistics", "execution": "execution", "reasons": "reasons",
             "statements": "statements", "least": "least"}


def check(names, published):
    """Refuse unknown tables before anything runs."""
    for name in names:
        if name not in TABLES and name not in PUBLISHED:
            raise Refused(f"there is no table {name}: there are {', '.join([*TABLES, *PUBLISHED])}")
        if name in PUBLISHED and not published:
            raise Refused(f"the table {name} is beside a paper: name it in the plan, such as published = "
                          f"\"cashmere-2l\"")


def make(names, data, published):
    for name in names:
        table = TABLES[name](data) if name in TABLES else getattr(published,
                                                                  PUBLISHED[name])(data.directory if name == "table1"
                                                                                   else data)
        if table:
            yield table
    wrong = bad(data)
    if wrong.rows:
        yield wrong
