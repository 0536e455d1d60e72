# SPDX-License-Identifier: BSD-3-Clause
"""The pictures of a trace."""
import collections

from harness.figure import Figure, block, quote

from . import sharing
from .times import episodes, flatten, object_name, waits

COLUMNS = 600  # of a picture
OBJECTS = 20  # in it
WIDTH = 1100
PALETTE = {"user": "#8fbc8f", "protocol": "#e69f00", "polling": "#999999", "write_doubling": "#cc79a7",
           "comm_wait": "#d55e00"}
MARKS = {"read_fault": (0.34, "#0072b2"), "write_fault": (0.39, "#000000"), "message_out": (0.44, "#9400d3")}


def picture(name, title, height, lines, blocks):
    """None if there is nothing to draw."""
    if not any(blocks.values()):
        return None
    body = "".join(block(n, rows) for n, rows in blocks.items() if rows) + "\n".join(lines) + "\n"
    return Figure(name, title, [("", body)], columns=1, width=WIDTH, height=height)


def binned(segments, begin, width):
    """{bin: {category: seconds}}"""
    bins = collections.defaultdict(collections.Counter)
    for b, e, category in segments:
        i = int((b - begin) / width)
        while b < e:
            stop = min(e, begin + (i + 1) * width)
            bins[i][category] += stop - b
            b, i = max(stop, b + width * 1e-9), i + 1
    return bins


def thinned(events, begin, width, y):
    """A mark for each bin with an event."""
    return [(begin + (i + 0.5) * width, y) for i in sorted({int((e.t - begin) / width) for e in events})]


def rows_of(trace):
    """(node, processor) of those with events, agents too."""
    return [(n, p) for n in range(trace.nodes) for p in range(trace.processors + 1) if trace.rings[n, p].events]


def measured(trace):
    """[begin, end] of the part that the program measures, as the first processor saw it; [] if it does not say."""
    times = [e.t for e in trace.rings[rows_of(trace)[0]].events if e.kind in ("measure_begin", "measure_end")]
    return times[-2:] if len(times) > 1 else []


def timeline(trace):
    """Of the measured part, or else of all."""
    rows = rows_of(trace)
    if not rows:
        return None
    begin, end = measured(trace) or (min(trace.rings[r].extent[0] for r in rows),
                                     max(trace.rings[r].extent[1] for r in rows))
    width = max((end - begin) / COLUMNS, 1e-9)
    boxes, marks = {name: [] for name in PALETTE}, {name: [] for name in MARKS}
    for i, who in enumerate(rows):
        ring, y = trace.rings[who], len(rows) - i
        b, e = max(begin, ring.extent[0]), min(end, ring.extent[1])
        if who[1] < trace.processors and e > b:
            boxes["user"].append((b, y, b, e, y - 0.4, y + 0.3))
        spans = [(max(s[0], begin), min(s[1], end), s[2]) for s in flatten(ring) if s[1] > begin and s[0] < end]
        for column, times in binned(spans, begin, width).items():
            low, x = y - 0.4, begin + column * width
            for category, spent in sorted(times.items()):
                high = min(low + 0.7 * min(spent / width, 1.0), y + 0.3)
                boxes[trace.head["spans"][category]].append((x, y, x, x + width, low, high))
                low = high
        for kind, (at, _) in MARKS.items():
            marks[kind] += thinned([e for e in ring.events if e.kind == kind and begin <= e.t <= end], begin, width,
                                   y + at)
    plots = [f"${n} using 1:2:3:4:5:6 with boxxyerror lc rgb '{PALETTE[n]}' title {quote(n.replace('_', ' '))}"
             for n in boxes if boxes[n]]
    plots += [f"${n} using 1:2 with points pt 7 ps 0.2 lc rgb '{MARKS[n][1]}' title "
              f"{quote(n.replace('_out', '').replace('_', ' '))}"
              for n in marks if marks[n]]
    tics = ", ".join(f"{quote(trace.name(who))} {len(rows) - i}" for i, who in enumerate(rows))
    lines = [f"set ytics ({tics})", "unset grid", f"set yrange [0.4:{len(rows) + 0.6}]",
              f"set xrange [{begin}:{end + width}]",
              "set xlabel 'seconds'", "set style fill solid noborder", "plot " + ", ".join(plots)]
    title = "Timeline: the part that is measured" if measured(trace) else "Timeline"
    return picture("timeline", title, 120 + 28 * len(rows), lines, {**boxes, **marks})


def columns_of(trace, pages):
    """Pages in ascending order, in as many groups as there are columns; and the start addresses of some of them."""
    numbers = sorted(pages)
    group = -(-len(numbers) // COLUMNS)
    groups = [numbers[at:at + group] for at in range(0, len(numbers), group)] if numbers else []
    step = max(1, len(groups) // 8)
    return groups, [(f"+{g[0] * trace.page_size:x}", i) for i, g in enumerate(groups) if i % step == 0]


def heat(trace, pages):
    groups, tics = columns_of(trace, pages)
    false = {n for n, _ in sharing.false_pages(pages)}
    measures = {"faults": lambda p: p.read_faults + p.write_faults, "transfers": lambda p: p.fetches + p.diffs,
                "sharers": lambda p: len(p.sharers)}
    blocks, plots, top = {}, [], {}
    for y, (name, measure) in enumerate(measures.items()):
        values = [max(measure(pages[n]) for n in g) for g in groups]
        top[name] = max(values, default=0)
        # Each measure uses the whole range of colours, relative to its maximum.
        blocks[name] = [(i, -y, i - 0.5, i + 0.5, -y - 0.45, -y + 0.4, v / top[name]) for i,
                        v in enumerate(values) if v]
        if blocks[name]:
            plots.append(f"${name} using 1:2:3:4:5:6:7 with boxxyerror lc palette notitle")
    blocks["marks"] = [(i, 0.6) for i, g in enumerate(groups) if false.intersection(g)]
    if blocks["marks"]:
        plots.append("$marks using 1:2 with points pt 11 ps 0.4 lc rgb 'red' title 'shared falsely'")
    rows = ", ".join(f"{quote(f'{name}, to {top[name]}')} {-y}" for y, name in enumerate(measures))
    lines = ["set palette defined (0 '#fff7bc', 1 '#fe9929', 2 '#993404')", "set cbrange [0:1]",
             "set cbtics ('none' 0, 'most' 1)",
             "unset grid", "set style fill solid noborder", f"set ytics ({rows})", "set yrange [-2.6:0.9]",
             f"set xtics ({', '.join(f'{quote(t)} {i}' for t, i in tics)})", f"set xrange [-0.5:{len(groups) - 0.5}]",
             f"set xlabel {quote(f'address of the pages that were used, from {trace.space:x} on (hexadecimal)')}",
             "plot " + ", ".join(plots)]
    return picture("pages", "Pages by address", 320, lines, blocks)


def locks(trace):
    taken = [(h, sum(u - s for _, s, u, _ in w), sum(u - s for _, s, u, e in w if e.b))
             for h, w in waits(trace, "lock_wait", "lock_take").items()]
    top = sorted(taken, key=lambda x: -x[1])[:OBJECTS]
    tics = ", ".join(f"{quote(object_name(h))} {i}" for i, (h, _, _) in enumerate(top))
    return picture("locks", "Waits for locks", 320, [
        f"set xtics ({tics}) rotate by -45", "set ylabel 'wait, ms'", "set boxwidth 0.8", "set yrange [0:*]",
        f"set xrange [-1:{len(top)}]",
        "plot $waits using 1:2 with boxes lc rgb '#e69f00' title 'all waits', "
        "$waits using 1:3 with boxes lc rgb '#d55e00' title 'of these, for another node'"],
        {"waits": [(i, a * 1e3, r * 1e3) for i, (_, a, r) in enumerate(top)]})


def barriers(trace):
    blocks, names = {}, []
    for handle, passed in sorted(waits(trace, "barrier_arrive", "barrier_leave").items(), key=lambda x: -len(x[1]))[:6]:
        rows = [(a[-1][0], (a[-1][0] - a[0][0]) * 1e6) for a in episodes(passed).values() if len(a) > 1]
        if rows:
            names.append(object_name(handle))
            blocks[f"b{len(blocks)}"] = rows
    plots = [f"${n} using 1:2 with points pt 7 ps 0.4 title {quote(t)}" for n, t in zip(blocks, names)]
    return picture("barriers", "Skew of barriers: from the first arrival to the last", 320, [
        "set xlabel 'seconds'", "set ylabel 'skew, us'", "set logscale y", "set format y '10^{%L}'",
        "set ytics enhanced", "set xrange [0:*]",
        "plot " + ", ".join(plots)], blocks)


def make(trace, pages):
    """The pictures that are not empty."""
    return [p for p in (timeline(trace), heat(trace, pages), locks(trace), barriers(trace)) if p]
