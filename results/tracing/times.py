# SPDX-License-Identifier: BSD-3-Clause
"""Times of a trace: activities of the processors over time, and their waits."""
import collections


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

    for begin, end, category in sorted(((e.a, e.t, e.page) for e in ring.events if e.kind == "span"),
                                       key=lambda s: (s[0], -s[1])):
        close(begin)
        if stack and begin > stack[-1][0]:
            out.append((stack[-1][0], begin, stack[-1][2]))
        stack.append([begin, end, category])
    close(float("inf"))
    return sorted(out)


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


def episodes(handle_waits):
    """{which time: [(arrival, processor)]} of a barrier, for times of which all arrivals are known."""
    by_number = collections.defaultdict(list)
    for who, arrival, _, e in handle_waits:
        by_number[e.b].append((arrival, who))
    most = max(map(len, by_number.values()))
    return {n: sorted(a) for n, a in by_number.items() if len(a) == most}
