# SPDX-License-Identifier: BSD-3-Clause
"""Chrome's trace-event JSON."""
import json

from .times import object_name
from .tracefile import NO_NODE, NO_PAGE

PAIRS = {"lock_wait": ("lock_take", "lock"), "barrier_arrive": ("barrier_leave", "barrier"),
         "flag_wait": ("flag_seen", "flag")}


def events(trace):
    for node in range(trace.nodes):
        yield {"ph": "M", "pid": node, "tid": 0, "name": "process_name", "args": {"name": f"node {node}"}}
    for (node, p), ring in sorted(trace.rings.items()):
        where = {"pid": node, "tid": p}
        yield {"ph": "M", **where, "name": "thread_name", "args": {"name": trace.name((node, p))}}
        open_pairs = {}
        for e in ring.events:
            us = e.t * 1e6
            if e.kind == "span":
                yield {"ph": "X", **where, "name": trace.head["spans"][e.page], "cat": "time", "ts": e.a * 1e6,
                       "dur": us - e.a * 1e6}
            elif e.kind in PAIRS:
                open_pairs[PAIRS[e.kind][0]] = us
            elif e.kind in open_pairs:
                since = open_pairs.pop(e.kind)
                kind = next(k for end, k in PAIRS.values() if end == e.kind)
                yield {"ph": "X", **where, "name": f"{kind} {object_name(e.a)}", "cat": "sync", "ts": since,
                       "dur": us - since}
            else:
                args = {"page": e.page} if e.page != NO_PAGE else {}
                args.update({"node": e.node} if e.node != NO_NODE else {}, a=hex(e.a), b=hex(e.b))
                yield {"ph": "i", **where, "s": "t", "name": e.kind, "cat": "event", "ts": us, "args": args}


def write(trace, path, title):
    ordered = sorted(events(trace), key=lambda e: e.get("ts", -1.0))
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"displayTimeUnit": "ns", "otherData": {"run": title}, "traceEvents": ordered}, f)
