# SPDX-License-Identifier: BSD-3-Clause
"""The tables of a trace."""
import collections

from harness.table import Table

from . import sharing
from .times import episodes, flatten, object_name, waits

ROWS = 20  # of a table


def seconds(s):
    return f"{s * 1e3:.3f} ms" if s < 1 else f"{s:.3f} s"


def processors(trace):
    rows = []
    for who in [(n, p) for n in range(trace.nodes) for p in range(trace.processors + 1)]:
        ring, times = trace.rings[who], collections.Counter()
        kinds = collections.Counter(e.kind for e in ring.events)
        for begin, end, category in flatten(ring):
            times[trace.head["spans"][category]] += end - begin
        begin, end = ring.extent
        user = None if who[1] == trace.processors else seconds(max(0.0, end - begin - sum(times.values())))
        rows.append([trace.name(who), user, seconds(times["protocol"]), seconds(times["comm_wait"]),
                     kinds["read_fault"],
                     kinds["write_fault"], kinds["fetch"], kinds["diff_out"] + kinds["diff_update"],
                     kinds["message_out"],
                     sum(ring.written), ring.lost])
    return Table("processors", "Processors", ["", "user", "protocol", "wait", "read faults", "write faults", "fetches",
                                              "diffs",
                                              "messages", "events", "lost"], rows)


def page_names(trace, allocations, number):
    base = trace.space + number * trace.page_size
    named = allocations.at(base, base + trace.page_size - 1)
    return ", ".join(dict.fromkeys(text for _, _, text in named[:3])) + (", ..." if len(named) > 3 else "")


def pages(trace, used, allocations):
    rows = []
    for number, page in sorted(used.items(), key=lambda x: (-x[1].cost, x[0]))[:ROWS]:
        verdict = "false sharing" if page.false > page.true else "true sharing" if page.true else None
        rows.append([hex(trace.space + number * trace.page_size), page_names(trace, allocations, number), verdict,
                     page.read_faults,
                     page.write_faults, page.fetches, page.diffs, page.invalidations, len(page.sharers),
                     len(page.writers)])
    title = f"Pages: {len(used)}" + (f", the {ROWS} busiest" if len(used) > ROWS else "")
    return Table("pages", title, ["page", "allocated at", "in one interval", "read faults", "write faults", "fetches",
                                  "diffs",
                                  "invalidations", "nodes", "writers"], rows, left=3)


def shared_falsely(trace, used, allocations):
    rows = []
    for number, page in sharing.false_pages(used)[:ROWS]:
        for node, part, text in sharing.describe(trace, number, page, allocations):
            rows.append([hex(trace.space + number * trace.page_size), f"node {node}", part, text, page.false,
                         page.cost])
    return Table("false", "Shared falsely, the most costly first",
                 ["page", "used by", "", "of what was allocated at", "intervals",
                                                                    "faults, fetches, diffs"], rows, left=4)


def locks(taken):
    rows = [(sum(until - since for _, since, until, _ in w), object_name(h), w) for h, w in taken.items()]
    return Table("locks", "Locks", ["lock", "acquisitions", "from another node", "waits", "longest wait"],
                 [[name, len(w), sum(1 for *_, e in w if e.b), seconds(total), seconds(max(u - s for _, s, u, _ in w))]
                  for total, name, w in sorted(rows, key=lambda r: -r[0])[:ROWS]])


def barriers(passed):
    rows = []
    for handle, w in sorted(passed.items(), key=lambda x: -len(x[1]))[:ROWS]:
        known = episodes(w).values()
        skews = [a[-1][0] - a[0][0] for a in known]
        last, times = collections.Counter(a[-1][1] for a in known).most_common(1)[0]
        rows.append([object_name(handle), len(skews), seconds(sum(skews) / len(skews)), seconds(max(skews)),
                     seconds(sum(until - since for _, since, until, _ in w)), f"{last[0]}.{last[1]} ({times})"])
    return Table("barriers", "Barriers", ["barrier", "times", "mean skew", "greatest skew", "waits", "most often last"],
                 rows)


def flags(seen):
    rows = [[object_name(h), len(w), seconds(sum(u - s for _, s, u, _ in w)), seconds(max(u - s for _, s, u, _ in w))]
            for h, w in sorted(seen.items(), key=lambda x: -len(x[1]))[:ROWS]]
    return Table("flags", "Flags", ["flag", "waits", "time", "longest"], rows)


def make(trace, used):
    """The tables with rows."""
    allocations = sharing.Allocations(trace)
    some = [processors(trace), pages(trace, used, allocations), shared_falsely(trace, used, allocations),
            locks(waits(trace, "lock_wait", "lock_take")), barriers(waits(trace, "barrier_arrive", "barrier_leave")),
            flags(waits(trace, "flag_wait", "flag_seen"))]
    return [t for t in some if t.rows]
