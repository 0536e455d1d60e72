#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: tweed report FILE [--out DIR | --text] [--chrome FILE]

Draws what `tweed run --trace FILE` has recorded: a timeline, a map of the pages, locks and barriers as pictures (SVG, by
gnuplot) and report.html in DIR (FILE.report), and tables on standard output.  False sharing is named with the allocation.

  --out DIR      where the pictures go
  --text         only the tables
  --chrome FILE  also Chrome's trace-event JSON, which ui.perfetto.dev shows
"""
import bisect
import collections
import html
import itertools
import json
import os
import shutil
import subprocess
import sys

import sharing
from tracefile import NO_NODE, NO_PAGE, Trace, TraceError

ROWS = 20  # of a table
COLUMNS = 600  # of a picture
PALETTE = {"user": "#8fbc8f", "protocol": "#e69f00", "polling": "#999999", "write_doubling": "#cc79a7", "comm_wait": "#d55e00"}


class Mistake(Exception):
    """One sentence for the user."""


# ---- what the events say -------------------------------------------------------------------------------------------------


def flatten(ring):
    """[(begin, end, category)]: of spans within spans, the innermost."""
    out, stack = [], []

    def close(until):
        while stack and stack[-1][1] <= until:
            begin, end, category = stack.pop()
            if end > begin:
                out.append((begin, end, category))
            if stack:
                stack[-1][0] = max(stack[-1][0], end)

    for begin, end, category in sorted(((e.a, e.t, e.page) for e in ring.events if e.kind == "span"), key=lambda s: (s[0], -s[1])):
        close(begin)
        if stack and begin > stack[-1][0]:
            out.append((stack[-1][0], begin, stack[-1][2]))
        stack.append([begin, end, category])
    close(float("inf"))
    return sorted(out)


def extent(ring):
    if not ring.events:
        return (0.0, 0.0)
    return (min(e.a if e.kind == "span" else e.t for e in ring.events), ring.events[-1].t)


def object_name(handle):
    kind = {1: "lock", 2: "barrier", 3: "flag"}.get(handle >> 60, "object")
    if kind == "barrier" and handle & (1 << 60) - 1 == 0:
        return "all"
    return f"{handle >> 52 & 0xff}.{handle >> 28 & 0xffffff}"


def waits(trace, begin, end):
    """{handle: [(processor, from, until, end event)]} of begin events and the next end event of the same handle."""
    found = collections.defaultdict(list)
    for who in trace.ids():
        since = {}
        for e in trace.rings[who].events:
            if e.kind == begin:
                since[e.a] = e.t
            elif e.kind == end:
                found[e.a].append((who, since.pop(e.a, e.t), e.t, e))
    return found


def episodes(trace, handle_waits):
    """{which time: [(arrival, processor)]} of a barrier, where all that came to the fullest are known."""
    by_number = collections.defaultdict(list)
    for who, arrival, _, e in handle_waits:
        by_number[e.b].append((arrival, who))
    most = max(map(len, by_number.values()))
    return {n: sorted(a) for n, a in by_number.items() if len(a) == most}


# ---- tables --------------------------------------------------------------------------------------------------------------


def seconds(s):
    return f"{s * 1e3:.3f} ms" if s < 1 else f"{s:.3f} s"


def processor_table(trace):
    rows = []
    for node in range(trace.nodes):
        for p in range(trace.processors + 1):
            ring = trace.rings[node, p]
            kinds = collections.Counter(e.kind for e in ring.events)
            begin, end = extent(ring)
            times = collections.Counter()
            for b, e, category in flatten(ring):
                times[trace.head["spans"][category]] += e - b
            agent = p == trace.processors
            user = "-" if agent else seconds(max(0.0, end - begin - sum(times.values())))
            rows.append([f"{node}.agent" if agent else f"{node}.{p}", user, seconds(times["protocol"]), seconds(times["comm_wait"]),
                         kinds["read_fault"], kinds["write_fault"], kinds["fetch"], kinds["diff_out"] + kinds["diff_update"],
                         kinds["message_out"], len(ring.events), ring.lost])
    return ("Processors", ["", "user", "protocol", "wait", "read faults", "write faults", "fetches", "diffs", "messages", "events",
                           "lost"], rows)


def page_row(trace, allocations, number, page):
    base = trace.space + number * trace.page_size
    named = allocations.at(base, base + trace.page_size - 1)
    names = ", ".join(dict.fromkeys(text for _, _, text in named[:3])) + (", ..." if len(named) > 3 else "")
    verdict = "false sharing" if page.false > page.true else "true sharing" if page.true else "-"
    return [number, hex(base), page.read_faults, page.write_faults, page.fetches, page.diffs, len(page.sharers), len(page.writers),
            verdict, names]


def page_table(trace, pages, allocations):
    top = sorted(pages.items(), key=lambda x: (-x[1].cost, x[0]))[:ROWS]
    title = f"Pages: {len(pages)}" + (f", the {len(top)} busiest" if len(pages) > len(top) else "")
    return (title, ["page", "address", "read faults", "write faults", "fetches", "diffs", "nodes", "writers", "in one interval",
                    "allocated at"], [page_row(trace, allocations, n, p) for n, p in top])


def false_table(trace, pages, allocations):
    rows = []
    for number, page in sharing.false_pages(pages)[:ROWS]:
        for node, part, text in sharing.describe(trace, number, page, allocations):
            rows.append([number, page.false, page.cost, node, part, text])
    return ("Shared falsely, the most costly first", ["page", "intervals", "faults, fetches, diffs", "node", "uses", "of what was "
                                                      "allocated at"], rows)


def lock_table(locks):
    rows = []
    for handle, taken in locks.items():
        times = [until - since for _, since, until, _ in taken]
        rows.append([object_name(handle), len(taken), sum(1 for t in taken if t[3].b), sum(times), max(times)])
    rows.sort(key=lambda r: -r[3])
    return ("Locks", ["lock", "acquisitions", "from another node", "waits", "longest wait"],
            [r[:3] + [seconds(r[3]), seconds(r[4])] for r in rows[:ROWS]])


def barrier_table(trace, barriers):
    rows = []
    for handle, passed in barriers.items():
        known = episodes(trace, passed).values()
        skews = [a[-1][0] - a[0][0] for a in known]
        last, times = collections.Counter(a[-1][1] for a in known).most_common(1)[0]
        rows.append([object_name(handle), len(skews), seconds(sum(skews) / len(skews)), seconds(max(skews)),
                     seconds(sum(until - since for _, since, until, _ in passed)), f"{last[0]}.{last[1]} ({times})"])
    rows.sort(key=lambda r: -r[1])
    return ("Barriers", ["barrier", "times", "mean skew", "greatest skew", "waits", "most often last"], rows[:ROWS])


def flag_table(flags):
    rows = [[object_name(h), len(w), seconds(sum(u - s for _, s, u, _ in w)), seconds(max(u - s for _, s, u, _ in w))]
            for h, w in flags.items()]
    rows.sort(key=lambda r: -r[1])
    return ("Flags", ["flag", "waits", "time", "longest"], rows[:ROWS])


def tables(trace, pages):
    allocations = sharing.Allocations(trace)
    some = [processor_table(trace), page_table(trace, pages, allocations), false_table(trace, pages, allocations),
            lock_table(waits(trace, "lock_wait", "lock_take")),
            barrier_table(trace, waits(trace, "barrier_arrive", "barrier_leave")),
            flag_table(waits(trace, "flag_wait", "flag_seen"))]
    return [t for t in some if t[2]]


def print_table(title, head, rows):
    cells = [head] + [[str(c) for c in row] for row in rows]
    width = [max(len(row[i]) for row in cells) for i in range(len(head))]
    print(f"\n{title}\n")
    left = [any(isinstance(row[i], str) and not row[i][:1].isdigit() for row in rows) for i in range(len(head))]
    for row in cells:
        print("  " + "  ".join(c.ljust(w) if l else c.rjust(w) for c, w, l in zip(row, width, left)).rstrip())


def headline(trace):
    h = trace.head
    nodes, processors = trace.nodes // h["host_nodes"], trace.processors * h["host_nodes"]
    return (f"{' '.join([h['program'], *h['arguments']])}, {nodes}x{processors}, {h['protocol']}, {h['transport']}, "
            f"pages of {h['page_size'] >> 10}K, {h['date']}")


def caveats(trace):
    lost = sum(r.lost for r in trace.rings.values())
    silent = [f"{n}.{p}" for n, p in trace.ids() if not trace.rings[n, p].events]
    wrong = max((c["error_ns"] for c in trace.tail["clocks"]), default=0)
    if trace.tail["status"]:
        yield f"The job ended with status {trace.tail['status']}."
    if lost:
        yield (f"{lost} events were overwritten, each processor's oldest: what follows is of those that are left; "
               "TWEED_TRACE_EVENTS makes room for more.")
    if silent:
        yield f"Nothing came from {', '.join(silent)}."
    if wrong:
        yield f"Clocks of other hosts may be wrong by {wrong / 1000:.0f} us."


# ---- pictures ------------------------------------------------------------------------------------------------------------


def quote(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def gnuplot(path, height, script, blocks):
    """blocks: {name: rows of numbers}.  A block without rows gets one that draws nothing."""
    lines = [f"set terminal svg size 1100,{height} dynamic font 'sans,11' name {quote(os.path.basename(path)[:-4])}",
             f"set output {quote(path)}"]
    for name, rows in blocks.items():
        width = len(rows[0]) if rows else 8
        lines += [f"${name} << EOD", *(" ".join(map(str, row)) for row in rows or [("NaN",) * width]), "EOD"]
    done = subprocess.run(["gnuplot"], input="\n".join(lines + script) + "\n", text=True, capture_output=True)
    if done.returncode or not os.path.exists(path):
        raise Mistake(f"gnuplot cannot draw {path}: {(done.stderr.strip().splitlines() or ['no reason given'])[-1]}")


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
    """A mark for each bin that has one."""
    return [(begin + (i + 0.5) * width, y) for i in sorted({int((e.t - begin) / width) for e in events})]


def draw_timeline(trace, path):
    rows = [(n, p) for n in range(trace.nodes) for p in range(trace.processors + 1) if trace.rings[n, p].events]
    if not rows:
        return False
    begin = min(extent(trace.rings[r])[0] for r in rows)
    end = max(extent(trace.rings[r])[1] for r in rows)
    width = max((end - begin) / COLUMNS, 1e-9)
    boxes = {name: [] for name in PALETTE}
    marks = {"reads": [], "writes": [], "messages": []}
    for i, who in enumerate(rows):
        ring, y = trace.rings[who], len(rows) - i
        b, e = extent(ring)
        if who[1] < trace.processors:
            boxes["user"].append((b, y, b, e, y - 0.4, y + 0.3))
        for column, times in binned(flatten(ring), begin, width).items():
            low = y - 0.4
            for category, spent in sorted(times.items()):
                high = low + 0.7 * min(spent / width, 1.0)
                x = begin + column * width
                boxes[trace.head["spans"][category]].append((x, y, x, x + width, low, min(high, y + 0.3)))
                low = high
        for name, kind, at in (("reads", "read_fault", 0.34), ("writes", "write_fault", 0.39), ("messages", "message_out", 0.44)):
            marks[name] += thinned([e for e in ring.events if e.kind == kind], begin, width, y + at)
    tics = ", ".join(f"{quote(f'{n}.agent' if p == trace.processors else f'{n}.{p}')} {len(rows) - i}"
                     for i, (n, p) in enumerate(rows))
    measured = [e.t for e in trace.rings[rows[0]].events if e.kind in ("measure_begin", "measure_end")]
    script = [f"set arrow from {t}, graph 0 to {t}, graph 1 nohead dt 2" for t in measured[-2:]]
    script += [f"set ytics ({tics})", f"set yrange [0.4:{len(rows) + 0.6}]", f"set xrange [{begin}:{end + width}]",
              "set xlabel 'seconds'", "set key outside bottom center horizontal", "set style fill solid noborder", "plot " + ", ".join(
                  [f"${n} using 1:2:3:4:5:6 with boxxyerror lc rgb '{PALETTE[n]}' title {quote(n.replace('_', ' '))}"
                   for n in boxes if boxes[n]]
                  + [f"${n} using 1:2 with points pt 7 ps 0.15 lc rgb '{c}' title {quote(t)}" for n, c, t in (
                      ("reads", "#0072b2", "read fault"), ("writes", "#000000", "write fault"), ("messages", "#9400d3", "message"))
                     if marks[n]])]
    gnuplot(path, 120 + 28 * len(rows), script, {**boxes, **marks})
    return True


def draw_pages(trace, pages, path):
    if not pages:
        return False
    numbers = sorted(pages)
    group = -(-len(numbers) // COLUMNS)
    measures = (("faults", lambda p: p.read_faults + p.write_faults), ("transfers", lambda p: p.fetches + p.diffs),
                ("sharers", lambda p: len(p.sharers)))
    false = {n for n, _ in sharing.false_pages(pages)}
    blocks, tics = {name: [] for name, _ in measures} | {"false": []}, []
    for column, at in enumerate(range(0, len(numbers), group)):
        some = numbers[at:at + group]
        for y, (name, measure) in enumerate(measures):
            value = max(measure(pages[n]) for n in some)
            if value:
                blocks[name].append((column, y, column - 0.5, column + 0.5, y - 0.45, y + 0.45, value))
        if false.intersection(some):
            blocks["false"].append((column, 2.6))
        if column % max(1, len(numbers) // group // 8) == 0:
            tics.append(f"{quote(f'+{some[0] * trace.page_size:x}')} {column}")
    columns = -(-len(numbers) // group)
    script = ["unset key", "set style fill solid noborder", f"set xrange [-0.5:{columns - 0.5}]"]
    script += ["set multiplot layout 3,1 spacing 0,0.02 margins 0.07,0.9,0.16,0.96", "set palette defined (0 '#fff7bc', 1 '#fe9929', 2 '#993404')", "unset ytics"]
    for y, (name, _) in enumerate(measures):
        last = y == len(measures) - 1
        script += [f"set xtics ({', '.join(tics)})" if last else "unset xtics", f"set yrange [{y - 0.5}:{y + 0.8}]",
                   f"set xlabel {quote(f'address, from {trace.space:x} on (hexadecimal)' if last else '')}", f"set ylabel {quote(name)}", f"set cbrange [{'1' if last else '0.9'}:*]", "unset logscale cb" if last else "set logscale cb",
                   f"plot ${name} using 1:2:3:4:5:6:7 with boxxyerror lc palette" + (
                       ", $false using 1:2 with points pt 11 ps 0.5 lc rgb 'red'" if last else "")]
    script.append("unset multiplot")
    gnuplot(path, 420, script, blocks)
    return True


def draw_locks(locks, path):
    top = sorted(locks.items(), key=lambda x: -sum(u - s for _, s, u, _ in x[1]))[:ROWS]
    if not top:
        return False
    rows = [(i, sum(u - s for _, s, u, _ in w) * 1e3, sum(u - s for _, s, u, e in w if e.b) * 1e3) for i, (_, w) in enumerate(top)]
    tics = ", ".join(f"{quote(object_name(h))} {i}" for i, (h, _) in enumerate(top))
    gnuplot(path, 320, [f"set xtics ({tics}) rotate by -45", "set ylabel 'wait, ms'", "set style fill solid noborder", "set boxwidth 0.8",
                        "set yrange [0:*]", f"set xrange [-1:{len(top)}]",
                        "plot $locks using 1:2 with boxes lc rgb '#e69f00' title 'all waits', "
                        "$locks using 1:3 with boxes lc rgb '#d55e00' title 'of these, for another node'"], {"locks": rows})
    return True


def draw_barriers(trace, barriers, path):
    blocks = {}
    for handle, passed in sorted(barriers.items(), key=lambda x: -len(x[1]))[:6]:
        blocks[f"b{len(blocks)}"] = (object_name(handle), [(a[-1][0], (a[-1][0] - a[0][0]) * 1e6 + 1e-3)
                                                           for a in episodes(trace, passed).values()])
    if not blocks:
        return False
    gnuplot(path, 320, ["set xlabel 'seconds'", "set ylabel 'skew, us'", "set logscale y", "set xrange [0:*]",
                        "plot " + ", ".join(f"${n} using 1:2 with points pt 7 ps 0.3 title {quote(t)}" for n, (t, _) in blocks.items())],
            {n: rows for n, (_, rows) in blocks.items()})
    return True


STYLE = """body{font:14px sans-serif;margin:2em auto;max-width:1150px;color:#222}table{border-collapse:collapse;margin:1em 0}
td,th{padding:2px 10px;text-align:right;border-bottom:1px solid #ddd;font-variant-numeric:tabular-nums}td:last-child,th:last-child
{text-align:left}svg{max-width:100%;height:auto}.note{background:#fff3cd;padding:6px 10px}"""


def write_html(path, trace, some_tables, pictures):
    parts = ["<!DOCTYPE html><html lang='en'><head><meta charset='utf-8'><title>tweed report</title>", f"<style>{STYLE}</style></head>",
             f"<body><h1>{html.escape(os.path.basename(trace.head['program']))}</h1><p>{html.escape(headline(trace))}</p>"]
    parts += [f"<p class='note'>{html.escape(c)}</p>" for c in caveats(trace)]
    for title, svg in pictures:
        with open(svg, encoding="utf-8") as f:
            text = f.read()
        parts.append(f"<h2>{title}</h2>{text[text.index('<svg'):]}")
    for title, head, rows in some_tables:
        cell = "".join(f"<th>{html.escape(h)}</th>" for h in head)
        parts.append(f"<h2>{html.escape(title)}</h2><table><tr>{cell}</tr>")
        parts += ["<tr>" + "".join(f"<td>{html.escape(str(c))}</td>" for c in row) + "</tr>" for row in rows]
        parts.append("</table>")
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(parts + ["</body></html>\n"]))


def draw(trace, pages, some_tables, folder):
    os.makedirs(folder, exist_ok=True)
    locks, barriers = waits(trace, "lock_wait", "lock_take"), waits(trace, "barrier_arrive", "barrier_leave")
    pictures = [("Timeline", "timeline.svg", lambda f: draw_timeline(trace, f)),
                ("Pages by address: faults, transfers, sharers; a red mark: shared falsely", "pages.svg", lambda f: draw_pages(trace, pages, f)),
                ("Waits for locks", "locks.svg", lambda f: draw_locks(locks, f)),
                ("Skew of barriers, from the first to the last arrival", "barriers.svg", lambda f: draw_barriers(trace, barriers, f))]
    drawn = []
    for title, name, function in pictures:
        path = os.path.join(folder, name)
        if function(path):
            drawn.append((title, path))
    write_html(os.path.join(folder, "report.html"), trace, some_tables, drawn)


# ---- Chrome's trace events ----------------------------------------------------------------------------------------------------


PAIRS = {"lock_wait": ("lock_take", "lock"), "barrier_arrive": ("barrier_leave", "barrier"), "flag_wait": ("flag_seen", "flag")}


def chrome_events(trace):
    for node in range(trace.nodes):
        yield {"ph": "M", "pid": node, "tid": 0, "name": "process_name", "args": {"name": f"node {node}"}}
    for (node, p), ring in sorted(trace.rings.items()):
        where = {"pid": node, "tid": p}
        name = "agent" if p == trace.processors else f"processor {node}.{p}"
        yield {"ph": "M", **where, "name": "thread_name", "args": {"name": name}}
        open_pairs = {}
        for e in ring.events:
            us = e.t * 1e6
            if e.kind == "span":
                yield {"ph": "X", **where, "name": trace.head["spans"][e.page], "cat": "time", "ts": e.a * 1e6, "dur": us - e.a * 1e6}
            elif e.kind in PAIRS:
                open_pairs[PAIRS[e.kind][0]] = us
            elif e.kind in open_pairs:
                since = open_pairs.pop(e.kind)
                kind = next(k for end, k in PAIRS.values() if end == e.kind)
                yield {"ph": "X", **where, "name": f"{kind} {object_name(e.a)}", "cat": "sync", "ts": since, "dur": us - since}
            else:
                args = {"page": e.page} if e.page != NO_PAGE else {}
                args.update({"node": e.node} if e.node != NO_NODE else {}, a=hex(e.a), b=hex(e.b))
                yield {"ph": "i", **where, "s": "t", "name": e.kind, "cat": "event", "ts": us, "args": args}


def write_chrome(trace, path):
    events = sorted(chrome_events(trace), key=lambda e: e.get("ts", -1.0))
    try:
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"displayTimeUnit": "ns", "otherData": {"run": headline(trace)}, "traceEvents": events}, f)
    except OSError as e:
        raise Mistake(f"cannot write '{path}': {e.strerror}; name another file with --chrome") from e


# ---- the command ---------------------------------------------------------------------------------------------------------


def arguments(words):
    """(file, folder or None, chrome file or None)"""
    files, options, text = [], {}, False
    words = iter(words)
    for word in words:
        name, equals, value = word.partition("=")
        if word == "--help":
            print(__doc__.strip())
            sys.exit(0)
        elif word == "--text":
            text = True
        elif name in ("--out", "--chrome"):
            options[name] = value if equals else next(words, "")
            if not options[name]:
                raise Mistake(f"{name} needs a value: {'a directory' if name == '--out' else 'a file'}")
        elif word.startswith("-") and word != "-":
            raise Mistake(f"{name} is no option of 'tweed report'; it has --out, --text and --chrome")
        else:
            files.append(word)
    if len(files) != 1:
        raise Mistake("'tweed report' draws one trace: tweed report FILE [--out DIR] [--chrome FILE]")
    if text and "--out" in options:
        raise Mistake("--text draws nothing, and --out says where to: leave one out")
    folder = None if text else options.get("--out", files[0] + ".report")
    if folder and not shutil.which("gnuplot"):
        raise Mistake("gnuplot is not there to draw: install it (gnuplot-nox), or use --text for the tables alone")
    return files[0], folder, options.get("--chrome")


def report(words):
    path, folder, chrome = arguments(words)
    trace = Trace(path)
    pages = sharing.analyse(trace)
    some_tables = tables(trace, pages)
    print(headline(trace))
    for caveat in caveats(trace):
        print(caveat)
    for table in some_tables:
        print_table(*table)
    if chrome:
        write_chrome(trace, chrome)
    if folder:
        try:
            draw(trace, pages, some_tables, folder)
        except OSError as e:
            raise Mistake(f"cannot write to '{folder}': {e.strerror}; name another directory with --out") from e
        print(f"\nPictures: {os.path.join(folder, 'report.html')}")


def main():
    try:
        report(sys.argv[1:])
    except (Mistake, TraceError) as e:
        print(f"tweed: {e}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
