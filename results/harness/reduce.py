# SPDX-License-Identifier: BSD-3-Clause
"""Reduces DIR/runs/*.json to DIR/runs.csv, a line for each run, and that to medians.  Tables and figures only use the
CSV."""
import csv
import glob
import json
import os
import statistics

from .files import replacing
from .plan import SEQUENTIAL, Refused

AXES = ["application", "size", "protocol", "nodes", "processors", "network", "page_size", "settings"]
RESULT = ["repetition", "state", "seconds", "wall", "exit_status", "others", "why"]
TIMES = ["user", "protocol_time", "polling", "comm_wait", "write_doubling"]


def rows_of(directory):
    for path in sorted(glob.glob(os.path.join(glob.escape(directory), "runs", "*.json"))):
        try:
            with open(path, encoding="utf-8") as f:
                result = json.load(f)
            run, statistics_ = result["run"], result.get("statistics", {})
            row = {k: run[k] for k in AXES if k != "settings"} | {k: result.get(k, "")
                                                                  for k in RESULT} | {"state": result["state"],
                                                                                      "why": why(result)}
        except (ValueError, KeyError, TypeError) as e:
            raise Refused(f"{path} is no result of a run: remove it, and run the plan again") from e
        row["settings"] = " ".join(f"{k}={v}" for k, v in sorted(run["settings"].items()))
        row |= {name if name != "protocol" else "protocol_time": t for name, t in statistics_.get("times", {}).items()}
        row |= statistics_.get("counters", {})
        yield row


def why(result):
    """The last output of a failed run, in one line."""
    if result["state"] == "ok":
        return ""
    if result["state"] == "timeout":
        return f"not done after {result['timeout']} s" if "timeout" in result else "not done in time"
    lines = [line.strip() for text in (result.get("errors", ""), result.get("output", ""))
             for line in text.splitlines()[-1:] if line.strip()]
    return f"{lines[0][:200] if lines else 'it said nothing'} (exit status {result.get('exit_status')})"


def reduce(directory, plan):
    """Write runs.csv for the plan's runs."""
    wanted = set(Data.plan_keys(plan, plan.baseline))
    rows = [r for r in rows_of(directory)
            if tuple(r[a] for a in AXES) in wanted and r["repetition"] in range(plan.repetitions)]
    counters = list(dict.fromkeys(k for r in rows for k in r if k not in AXES + RESULT + TIMES))
    path = os.path.join(directory, "runs.csv")
    with replacing(path, newline="") as f:
        w = csv.DictWriter(f, AXES + RESULT + TIMES + counters, restval="", lineterminator="\n")
        w.writeheader()
        w.writerows(rows)


def write_measured(directory, columns, series, names):
    """The runs.csv of plans whose runs print several figures: five columns of the run, then those of each of
    @series(measured).  @names: the files of the plan's runs."""
    path = os.path.join(directory, "runs.csv")
    with replacing(path, newline="") as f:
        w = csv.writer(f, lineterminator="\n")
        w.writerow(columns)
        for name in sorted(glob.glob(os.path.join(glob.escape(directory), "runs", "*.json"))):
            if os.path.basename(name) not in names:
                continue
            with open(name, encoding="utf-8") as g:
                run = json.load(g)
            for figures in series(run["measured"]) or [[""] * (len(columns) - 5)]:
                w.writerow([*(run[c] for c in columns[:5]), *figures])


def number(text):
    try:
        return float(text)
    except ValueError:
        return None


def quartiles(values):
    """(median, first quartile, third quartile) of three values and more; else their median, or None."""
    if len(values) < 3:
        return statistics.median(values) if values else None
    least, middle, most = statistics.quantiles(values, n=4, method="inclusive")
    return middle, least, most


class Group:
    """The repetitions of one configuration.  Only successful ones count; spread is (maximum - minimum) / median."""

    def __init__(self, rows):
        first = rows[0]
        self.rows = rows
        self.application, self.size, self.protocol = first["application"], first["size"], first["protocol"]
        self.network, self.page_size, self.settings = first["network"], first["page_size"], first["settings"]
        self.nodes, self.processors = int(first["nodes"]), int(first["processors"])
        self.good = [r for r in rows if r["state"] == "ok"]
        self.bad = [r["state"] for r in rows if r["state"] != "ok"]
        self.seconds = {int(r["repetition"]): float(r["seconds"]) for r in self.good}

    @property
    def shape(self):
        return f"{self.nodes}x{self.processors}"

    @property
    def total(self):
        return self.nodes * self.processors

    def values(self, column):
        return [v for v in (number(r.get(column, "")) for r in self.good) if v is not None]

    def median(self, column):
        values = self.values(column)
        return statistics.median(values) if values else None

    def quartiles(self, column):
        return quartiles(self.values(column))

    def spread(self, column="seconds"):
        values = self.values(column)
        return (max(values) - min(values)) / statistics.median(values) if values and statistics.median(values) else None

    def speedup(self, baseline):
        """Plain C's time divided by this one's."""
        return baseline.over(self) if baseline else None

    @property
    def why(self):
        """The output of the first failed run."""
        return next((r["why"] for r in self.rows if r["state"] != "ok" and r.get("why")), "")

    def ratios(self, other):
        """This one's times divided by the other's, of rounds that have both."""
        return [s / other.seconds[i] for i, s in self.seconds.items() if other and other.seconds.get(i)]

    def over(self, other):
        """Median over the repetitions of this one's time divided by the other's in the same round."""
        ratios = self.ratios(other)
        return statistics.median(ratios) if ratios else None

    def faster(self, other):
        """In three quarters of the rounds, and are there at least three rounds?"""
        ratios = self.ratios(other)
        return len(ratios) >= 3 and statistics.quantiles(ratios, n=4, method="inclusive")[2] < 1

    @property
    def state(self):
        """"ok", or what went wrong and how often."""
        return "ok" if not self.bad else ", ".join(f"{self.bad.count(s)} {s}" for s in dict.fromkeys(self.bad))


class Data:
    """runs.csv, grouped."""

    def __init__(self, directory, plan):
        groups = {}
        self.directory, self.plan = directory, plan
        try:
            with open(os.path.join(directory, "runs.csv"), newline="", encoding="utf-8") as f:
                for row in csv.DictReader(f):
                    groups.setdefault(tuple(row[a] for a in AXES), []).append(row)
        except OSError as e:
            raise Refused(f"{directory} has no runs.csv: it is no directory of tweed compare") from e
        every = [Group(rows) for rows in groups.values()]
        order = self.order = {r: i for i, r in enumerate(self.plan_keys(plan))}
        self.groups = sorted((g for g in every if g.protocol != SEQUENTIAL and self.key(g) in order),
                             key=lambda g: order[self.key(g)])
        self.plain = {(g.application, g.size, g.network): g for g in every if g.protocol == SEQUENTIAL}
        self.others = [(s, w) for g in every for r in g.rows if (s := number(r.get("others") or "")) is not None
                       and (w := number(r["wall"]))]
        self.applications = list(dict.fromkeys(g.application for g in self.groups))
        self.protocols = list(dict.fromkeys(g.protocol for g in self.groups))

    @staticmethod
    def key(g):
        return (g.application, g.size, g.protocol, g.nodes, g.processors, g.network, g.page_size, g.settings)

    @staticmethod
    def plan_keys(plan, baselines=False):
        for r in plan.runs + (plan.baselines() if baselines else []):
            yield (r.application, r.size, r.protocol, r.nodes, r.processors, r.network, r.page_size,
                   " ".join(f"{k}={v}" for k, v in r.settings))

    def baseline(self, g):
        return self.plain.get((g.application, g.size, g.network if self.plan.virtual else "none"))

    def speedup(self, g):
        return g.speedup(self.baseline(g))

    def speedups(self, g):
        """The same, with quartiles."""
        baseline = self.baseline(g)
        return quartiles(baseline.ratios(g)) if baseline else None

    def largest(self):
        """The groups with the most processors, of the first network, page size and settings: the input of table 3."""
        most = max((g.total for g in self.groups), default=0)
        out = {}
        for g in self.groups:
            if g.total == most:
                out.setdefault((g.application, g.protocol), g)
        return out
