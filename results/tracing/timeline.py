# SPDX-License-Identifier: BSD-3-Clause
"""The timeline in report.html, which can be zoomed: data for timeline.js."""
import collections
import html
import json
import os

from .pictures import MARKS, PALETTE, measured, rows_of
from .times import flatten

MOST = 200_000  # spans in a page, and marks: short spans are merged, and some marks are left out


def merged(spans, least):
    """Spans that follow each other within @least seconds, as one of the category that took most of them; none if that
    is the time between them."""
    out, group = [], []
    for s in [*spans, None]:
        if group and (s is None or s[1] - group[0][0] > least):
            begin, end = group[0][0], group[-1][1]
            times = collections.Counter()
            for b, e, category in group:
                times[category] += e - b
            times[None] = end - begin - times.total()
            category = max(times, key=times.get)
            out += [] if category is None else [(begin, end, category)]
            group = []
        group.append(s)
    return out


def fewer(spans, most):
    """At most about @most spans."""
    if len(spans) <= most:
        return spans
    return merged(spans, (spans[-1][1] - spans[0][0]) / most)


def some(marks, most):
    """At most @most of them, evenly."""
    return marks[::max(1, -(-len(marks) // most))]


def ns(t):
    return round(t * 1e9)


def row(trace, who, share):
    ring = trace.rings[who]
    events = {kind: some([ns(e.t) for e in ring.events if e.kind == kind], share // len(MARKS)) for kind in MARKS}
    spans = [n for b, e, category in fewer(flatten(ring), share) for n in (ns(b), ns(e), category)]
    return {"name": trace.name(who), "user": who[1] < trace.processors, "extent": list(map(ns, ring.extent)),
            "spans": spans, "events": events}


def data(trace):
    rows = rows_of(trace)
    share = MOST // max(1, len(rows))
    return {"rows": [row(trace, who, share) for who in rows], "categories": trace.head["spans"], "colours": PALETTE,
            "marks": {kind: colour for kind, (_, colour) in MARKS.items()},
            "measured": list(map(ns, measured(trace) if rows else [])),
            "end": ns(max((trace.rings[who].extent[1] for who in rows), default=0))}


def part(trace):
    """HTML; "" if nothing happened."""
    found = data(trace)
    if not found["rows"]:
        return ""
    def key(text, colour):
        return f'<span style="color:{colour}">&#9632;</span> {html.escape(text.replace("_out", "").replace("_", " "))}'
    legend = " ".join(key(*entry) for entry in [*PALETTE.items(), *found["marks"].items()])
    with open(os.path.join(os.path.dirname(__file__), "timeline.js"), encoding="utf-8") as f:
        script = f.read()
    text = json.dumps(found, separators=(",", ":")).replace("</", "<\\/")
    return (f"<figure id=zoom><figcaption class=note>Timeline. The wheel zooms, dragging moves, a double click shows "
            f"all of the run. {legend}</figcaption><canvas style='width:100%'></canvas>"
            f"<output class=note>&nbsp;</output></figure>"
            f"<script>const trace = {text};\n{script}</script>")
