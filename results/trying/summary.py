# SPDX-License-Identifier: BSD-3-Clause
"""The programs' results, as tables and files."""
import collections
import csv
import os

from harness.execute import write
from harness.machine import warning
from harness.table import DASH, Table, write_all

from .trial import OUTCOMES

SLOW, SECONDS = 3, 0.3  # a run is slow if it takes so many times as long as the native one, and so much longer
COUNTERS = ["read_faults", "write_faults", "page_transfers", "data_bytes", "lock_acquires", "lock_remote", "barriers",
            "messages"]


def slow(result):
    return result.ratio and result.ratio > SLOW and result.seconds - result.native > SECONDS


def shortened(text, most=110):
    return text if len(text) <= most else text[:most - 3] + "..."


def outcomes(results):
    rows, marks = [], {}
    for r in results:
        marks[len(rows), 5] = "good" if r.outcome == "right" else "bad"
        rows.append([r.program.name, r.kind or DASH, r.shape, r.protocol, r.transport, r.outcome, r.native, r.seconds,
                     f"{r.ratio:.1f}" if r.ratio else None, shortened(r.why)])
    return Table("outcomes", "Outcomes", ["program", "kind", "shape", "protocol", "transport", "outcome", "native, s",
                                          "s", "times", "why"], rows,
                  "times: seconds over those of the native program at as many threads, starting included.", marks,
                 left=10)


def programs(results):
    """A line for each program, a column for each place."""
    places = list(dict.fromkeys((r.shape, r.protocol, r.transport) for r in results))
    by = {}
    for r in results:
        by.setdefault(r.program.name, {})[r.shape, r.protocol, r.transport] = r
    rows = []
    for name, found in by.items():
        first = next(iter(found.values()))
        rows.append([name, first.program.version or DASH, first.kind or DASH,
                     *(cell(found[p]) if p in found else DASH for p in places)])
    many = len({t for _, _, t in places}) > 1
    return Table("programs", "Programs", ["program", "version", "kind",
                 *(" ".join(filter(None, [s, p.strip("-"), t if many or p == "-" else ""])) for s, p, t in places)],
                 rows, "With the time over the native program's.", left=3 + len(places))


def cell(r):
    return f"{r.outcome} {r.ratio:.1f}" if r.ratio else r.outcome


def share(counted, name):
    times = counted.get("times", {})
    whole = sum(times.values())
    return f"{100 * times.get(name, 0) / whole:.0f} %" if whole else None


def advice(r, cores):
    """What takes the time, and the section of the guide about it."""
    s = r.run.get("statistics", {})
    c, processors = s.get("counters", {}), r.place[0] * r.place[1]
    guide = {"openmp": "doc/guide/openmp.md, Making it faster", "threads": "doc/guide/threads.md, Making it faster",
             "openshmem": "doc/guide/openshmem.md, Making it faster"}.get(r.kind,
                                                                          "doc/guide/first-program.md, What it costs")
    per_second = {k: v / max(r.seconds, 1e-3) for k, v in c.items()}
    faults = per_second.get("read_faults", 0) + per_second.get("write_faults", 0)
    if per_second.get("lock_acquires", 0) > 1000 and per_second["lock_acquires"] > faults / 4:
        return (f"locks and atomics: {c['lock_acquires']:,}, {c.get('lock_remote', 0):,} of them from another node: "
                f"fewer, or a processor's own sums first ({guide})")
    if faults > 1000:
        return ("pages go back and forth: --trace, and `tweed report` names them (doc/guide/tracing.md, False "
                "sharing; ") + guide + ")"
    if per_second.get("barriers", 0) > 1000:
        return f"{c['barriers']:,} barriers: longer parts between them ({guide})"
    if processors > cores:
        return f"{processors} processors on {cores} cores: each waits for a core (try --shapes with fewer)"
    if float(r.seconds) < 1:
        return "the run is shorter than a second: starting the job counts"
    return f"no counter stands out: --trace shows what it waits for (doc/guide/tracing.md; {guide})"


def reasons(results):
    """Slow runs."""
    rows, cores = [], len(os.sched_getaffinity(0))
    for r in filter(slow, results):
        s = r.run.get("statistics", {})
        c = s.get("counters", {})
        data = c.get("data_bytes")
        rows.append([r.program.name, r.shape, r.protocol, r.transport, f"{r.ratio:.1f}", share(s, "user"),
                     share(s, "protocol"), share(s, "comm_wait"),
                     c.get("read_faults", 0) + c.get("write_faults", 0), c.get("page_transfers"),
                     None if data is None else data / 1e6, c.get("lock_acquires"),
                     c.get("lock_remote"), c.get("barriers"), advice(r, cores)])
    return Table("slow", f"More than {SLOW} times the native program's time",
                 ["program", "shape", "protocol", "transport", "times", "computing", "protocol ",
                 "waiting", "faults", "transfers", "MB", "locks, atomics", "remote", "barriers", "what helps"], rows,
                 left=15)


def failures(results):
    """All results that are not right, with the whole sentence."""
    found = {}
    for r in results:
        if r.outcome != "right":
            found.setdefault((r.program.name, r.outcome, r.why),
                             []).append(" ".join(filter(None, [r.shape, r.protocol.strip("-"), r.transport])))
    rows = [[name, outcome, ", ".join(where), why] for (name, outcome, why), where in found.items()]
    return Table("failures", "What is not right", ["program", "outcome", "where", "why"], rows, left=4)


def line(results):
    count = collections.Counter(r.outcome for r in results)
    busy = warning([(r.run["others"], r.seconds) for r in results if r.run])
    count_of_programs = len({r.program.name for r in results})
    return f"Runs: {len(results)}, of programs: {count_of_programs}: " + ", ".join(f"{count[o]} {o}" for o in OUTCOMES
            if count[o]) + "." + ("\n" + busy if busy else "")


def save(directory, results):
    """Write results.csv, results.json, tables/; return the tables."""
    columns = ["program", "version", "kind", "shape", "protocol", "transport", "outcome", "native_seconds", "seconds",
               "times", "others", "why", *COUNTERS]
    rows = [dict(zip(columns, [r.program.name, r.program.version, r.kind, r.shape, r.protocol, r.transport, r.outcome,
                               r.native, r.seconds, r.ratio,
                               r.run.get("others"), r.why, *(r.run.get("statistics", {}).get("counters", {}).get(c)
                                                             for c in COUNTERS)])) for r in results]
    path = os.path.join(directory, "results.csv")
    with open(path + ".part", "w", newline="", encoding="utf-8") as f:
        w = csv.DictWriter(f, columns, lineterminator="\n")
        w.writeheader()
        w.writerows(rows)
    os.replace(path + ".part", path)
    write(os.path.join(directory, "results.json"), rows)
    made = [t for t in (programs(results), outcomes(results), failures(results), reasons(results)) if t.rows]
    write_all(directory, made)
    return made
