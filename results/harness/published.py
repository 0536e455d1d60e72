# SPDX-License-Identifier: BSD-3-Clause
"""A paper's numbers compared with the measured ones."""
import csv
import json
import os
import re
import statistics

from .plan import HERE, Refused
from .table import DASH, Table, show

LABELS = {"seconds": "time, s", "lock_flag_acquires": "lock and flag acquires", "barriers": "barriers",
          "read_faults": "read faults",
          "write_faults": "write faults", "page_transfers": "page transfers", "directory_updates": "directory updates",
          "write_notices": "write notices", "data_bytes": "data, bytes", "twins": "twins",
          "incoming_diffs": "incoming diffs",
          "flush_updates": "flush-updates", "shootdowns": "shootdowns", "migrations": "migrations"}
RATIO = 1.5  # counts within this ratio are considered equal


def value(group, measure):
    """The measured value, by the paper's names."""
    if not group:
        return None
    if measure == "lock_flag_acquires":
        locks, flags = group.median("lock_acquires"), group.median("flag_acquires")
        return None if locks is None else locks + flags
    if measure == "barriers":  # the paper counts those of the program, not of each processor
        arrivals = group.median("barriers")
        return None if arrivals is None else arrivals / group.total
    return group.median(measure)


class Published:
    def __init__(self, name):
        self.folder = os.path.join(HERE, "published", name)
        if not os.path.isdir(self.folder):
            raise Refused(f"there are no published numbers {name}: there are "
                          f"{', '.join(sorted(os.listdir(os.path.dirname(self.folder))))}")
        self.numbers = {(r["protocol"], r["application"], r["measure"]): float(r["value"]) for r in self.rows("table3")}
        self.sequential = {r["application"]: float(r["seconds"]) for r in self.rows("table2")}

    def rows(self, name):
        with open(os.path.join(self.folder, name + ".csv"), newline="", encoding="utf-8") as f:
            return list(csv.DictReader(f))

    # ---- table 1 ----

    def costs(self, directory):
        """Costs of basic operations, from the output of `tweed bench`."""
        path = os.path.join(directory, "bench.json")
        if not os.path.exists(path):
            return None
        with open(path, encoding="utf-8") as f:
            ours = {(r.get("protocol"), r["name"]): r["value"] for r in json.load(f)}
        protocols = [p for p in ("2L", "2LS", "1LD", "1L") if any(k[0] == p for k in ours)]
        rows = [[r["operation"]] + [c for p in protocols for c in (ours.get((p, r["name"])),
                                                                   float(r[p]) if r[p] else None)]
                for r in self.rows("table1")]
        return Table("table1", "Table 1: costs of basic operations, microseconds, and the paper's",
                     ["operation"] + [c for p in protocols for c in (p, "paper")], rows,
                     "The paper: Alpha 21064A at 233 MHz, Memory Channel; here: this machine, nodes that share its "
                     "memory.")

    # ---- table 3 ----

    def statistics(self, data):
        """For each protocol and application: measured, and measured / paper."""
        largest = data.largest()
        applications = [a for a in data.applications if any(a == k[1] for k in self.numbers)]
        rows, marks = [], {}
        for protocol in dict.fromkeys(k[0] for k in self.numbers):
            if not any(p == protocol for _, p in largest):
                continue
            for measure in LABELS:
                if not any((protocol, a, measure) in self.numbers for a in applications):
                    continue
                row = [protocol, LABELS[measure]]
                for a in applications:
                    ours, paper = value(largest.get((a, protocol)), measure), self.numbers.get((protocol, a, measure))
                    ratio = ours / paper if ours is not None and paper else None
                    if ratio is not None and measure not in ("seconds",):
                        marks[len(rows), len(row) + 1] = "good" if 1 / RATIO <= ratio <= RATIO else "bad"
                    row += [ours, f"{ratio:.2f}" if ratio is not None else "=" if ours == paper == 0 else DASH]
                rows.append(row)
        columns = ["protocol", "measure"] + [c for a in applications for c in (a, "/paper")]
        return Table("table3", "Table 3: statistics at the largest shape, and their ratio to the paper's", columns,
                     rows,
                     f"Green: within a factor of {RATIO} of the paper's. Sizes are the paper's only where the plan "
                     f"says `paper`. "
                     "`=`: zero in both.", marks, left=2)

    def execution(self, data):
        """Table 3's times, and by how much 2L takes less than 1LD; Table 2's sequential times beside them."""
        largest = data.largest()
        protocols = [p for p in dict.fromkeys(k[0] for k in self.numbers) if any(q == p for _, q in largest)]
        rows, errors, gains = [], [], []
        for a in data.applications:
            row = [a, self.sequential.get(a)]
            ours = {p: value(largest.get((a, p)), "seconds") for p in protocols}
            paper = {p: self.numbers.get((p, a, "seconds")) for p in protocols}
            for p in protocols:
                ratio = ours[p] / paper[p] if ours[p] and paper[p] else None
                errors += [abs(ratio - 1)] if ratio else []
                row += [ours[p], paper[p], f"{ratio:.2f}" if ratio else DASH]
            for times in ours, paper:
                both = times.get("1LD") and times.get("2L")
                row.append(f"{100 * (1 - times['2L'] / times['1LD']):.0f} %" if both else DASH)
            gains += [1 - ours["2L"] / ours["1LD"]] if DASH != row[-2] else []
            rows.append(row)
        note = f"Median error of {len(errors)} times: {100 * statistics.median(errors):.0f} %. " if errors else ""
        note += f"2L takes {100 * statistics.mean(gains):.0f} % less than 1LD on average." if gains else ""
        return Table("execution", "Table 3: execution times at the largest shape, seconds, and the paper's",
                     ["application", "sequential"] + [c for p in protocols for c in (p, "paper", "ratio")] +
                     ["2L less than 1LD by", "paper"], rows, note)

    def reasons(self, data):
        """Why counts of table 3 differ by more than RATIO."""
        largest = data.largest()
        rows = []
        for r in self.rows("reasons"):
            far = []
            for p in data.protocols:
                ours, paper = value(largest.get((r["application"], p)),
                                    r["measure"]), self.numbers.get((p, r["application"], r["measure"]))
                if ours is not None and paper and not 1 / RATIO <= ours / paper <= RATIO:
                    far.append(f"{p} {ours / paper:.2f}")
            if far:
                rows.append([r["application"], LABELS[r["measure"]], ", ".join(far), r["reason"]])
        return Table("reasons", f"Why counts of table 3 differ by more than a factor of {RATIO}",
                     ["application", "measure", "ours / paper", "because"],
                     rows, "At the paper's sizes.", left=4)

    def ratios(self, data, measures=("read_faults", "write_faults", "page_transfers", "data_bytes", "twins")):
        """(application, protocol, measure, measured / paper), for the figure."""
        for (a, p), group in data.largest().items():
            for m in measures:
                ours, paper = value(group, m), self.numbers.get((p, a, m))
                if ours and paper:
                    yield a, p, m, ours / paper

    # ---- section 3.3 ----

    def statements(self, data):
        groups = {}
        for g in data.groups:
            groups.setdefault((g.application, g.protocol, g.shape), g)
        rows, marks, counts = [], {}, {True: 0, False: 0}
        for s in self.rows("statements"):
            ours = [self.of(groups, s, side) for side in "ab"]
            holds = self.holds(s, *ours)
            if holds is not None:
                counts[holds] += 1
                marks[len(rows), 6] = "good" if holds else "bad"
            rows.append([s["section"], s["application"], s["statement"], LABELS.get(s["measure"], s["measure"]),
                         f"{s['a']} {s['a_shape']}: {show(ours[0])}", f"{s['b']} {s['b_shape']}: {show(ours[1])}",
                         DASH if holds is None else "agrees" if holds else "differs"])
        return Table("statements", "Section 3.3: the paper's comparisons, and whether they hold here",
                     ["section", "application", "the paper says", "measure", "ours", "ours", ""], rows,
                     f"{counts[True]} agree, {counts[False]} differ; {DASH}: not in this plan, or zero on both sides. "
                     f"Times depend on machine and network, counts do not.",
                     marks, left=4)

    @staticmethod
    def of(groups, s, side):
        nodes, processors = map(int, s[side + "_shape"].split("x"))
        shapes = [f"{nodes}x{processors}"]
        if s[side] in ("1LD", "1L"):  # every processor is a node in any shape
            shapes += [f"{nodes * processors // k}x{k}" for k in (4, 2, 1)]
        return next((v for v in (value(groups.get((s["application"], s[side], shape)), s["measure"])
                                 for shape in shapes) if v is not None), None)

    @staticmethod
    def holds(s, a, b):
        if a is None or b is None or (a == b == 0 and s["relation"] == "below"):
            return None
        factor = float(s["factor"])
        if s["relation"] == "like":
            return a <= factor * b and b <= factor * a
        return a * factor <= b and (a < b or factor > 1)

    def least(self, data):
        """The protocols with the fewest faults and the least data: here, and in the paper's table 3."""
        largest = data.largest()
        protocols = [p for p in data.protocols if any(k[0] == p for k in self.numbers)]
        rows, marks = [], {}
        for a in data.applications:
            row = [a]
            for measures in (("read_faults", "write_faults"), ("data_bytes",)):
                ours = {p: self.sum(lambda m: value(largest.get((a, p)), m), measures) for p in protocols}
                paper = {p: self.sum(lambda m: self.numbers.get((p, a, m)), measures) for p in protocols}
                here, there = self.lowest(ours), self.lowest(paper)
                every = {p: self.sum(lambda m: value(largest.get((a, p)), m), measures) for p in data.protocols}
                agrees = bool(set(here) & set(there)) if here and there else None
                if agrees is not None:
                    marks[len(rows), len(row) + 3] = "good" if agrees else "bad"
                row += [" ".join(self.lowest(every)) or DASH, " ".join(here) or DASH, " ".join(there) or DASH,
                        DASH if agrees is None else "agrees" if agrees else "differs"]
            rows.append(row)
        return Table("least", "Which protocol makes fewest faults, and which moves least data", ["application"] +
                     ["fewest faults of all", "of the paper's", "in the paper", ""] +
                     ["least data of all", "of the paper's", "in the paper", ""],
                     rows, "Protocols within 2 % of the least count as least.", marks)

    @staticmethod
    def sum(of, measures):
        values = [of(m) for m in measures]
        return None if None in values else sum(values)

    @staticmethod
    def lowest(values):
        present = {p: v for p, v in values.items() if v is not None}
        return [p for p, v in present.items() if v <= min(present.values()) * 1.02]


def name_of(published):
    return re.sub(r"(^|-)([a-z])", lambda m: m[1] + m[2].upper(), published)
