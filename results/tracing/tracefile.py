# SPDX-License-Identifier: BSD-3-Clause
"""Reads files written by `tweed run --trace FILE`; doc/guide/tracing.md describes the format."""
import collections
import json
import struct

from harness.plan import Refused

MAGIC = b"TWTRACE1"
SECTION = struct.Struct("<II")
PIECE = struct.Struct("<HHHHQQ")
EVENT = struct.Struct("<QHHIQQ")
HEAD, EVENTS, TAIL = 1, 2, 3
HEAD_KEYS = {"date", "program", "arguments", "protocol", "transport", "nodes", "processors", "host_nodes", "page_size",
             "kinds", "spans"}
TAIL_KEYS = {"status", "clocks", "symbols", "globals"}
NO_NODE, NO_PAGE, UNKNOWN = 0xffff, 0xffffffff, 0xffffffffffffffff

Event = collections.namedtuple("Event", "t kind node page a b")  # t: seconds from the trace's start; kind: its name


class Ring:
    """The events of one processor, or an agent's service, in order."""

    def __init__(self):
        self.written = [0, 0]  # events; allocations
        self.kept = [0, 0]
        self.space = 0  # the processor's address of the shared space
        self.events = []

    @property
    def lost(self):
        return sum(self.written) - sum(self.kept)

    @property
    def extent(self):
        """Start of the first event, and end of the last."""
        if not self.events:
            return 0.0, 0.0
        return min(e.a if e.kind == "span" else e.t for e in self.events), self.events[-1].t


class Trace:
    """rings: {(node, processor): Ring}; the agent is processor number `processors`."""

    def __init__(self, path):
        try:
            with open(path, "rb") as f:
                data = f.read()
        except OSError as e:
            raise Refused(f"cannot read '{path}': {e.strerror}; name what tweed run --trace has written") from e
        if data[:len(MAGIC)] != MAGIC:
            raise Refused(f"'{path}' is no trace; name what tweed run --trace has written")
        self.head = self.tail = None
        self.rings = collections.defaultdict(Ring)
        try:
            raw = self._read(memoryview(data))
            self.nodes, self.processors, self.page_size = (int(self.head[k])
                                                           for k in ("nodes", "processors", "page_size"))
            self.space = max((r.space for r in self.rings.values()), default=0)
            self._translate(raw)
        except (ValueError, KeyError, TypeError, IndexError, AttributeError, struct.error) as e:
            raise Refused(f"'{path}' is damaged or cut off; run the program again") from e

    def _read(self, data):
        raw = collections.defaultdict(list)
        at = len(MAGIC)
        while at < len(data):
            kind, size = SECTION.unpack_from(data, at)
            body = data[at + SECTION.size:at + SECTION.size + size]
            if len(body) != size:
                raise ValueError
            at += SECTION.size + size
            if kind == HEAD:
                self.head = json.loads(bytes(body))
            elif kind == TAIL:
                self.tail = json.loads(bytes(body))
            elif kind == EVENTS:
                node, processor, ring, _, written, space = PIECE.unpack_from(body)
                r = self.rings[node, processor]
                r.written[ring], r.space = written, space
                events = list(EVENT.iter_unpack(body[PIECE.size:]))
                r.kept[ring] += len(events)
                raw[node, processor] += events
            else:
                raise ValueError
        self._check()
        return raw

    def _check(self):
        if not (HEAD_KEYS <= self.head.keys()
                and TAIL_KEYS <= self.tail.keys()) or len(self.tail["clocks"]) != self.head["nodes"]:
            raise ValueError
        if not (1 <= self.head["nodes"] <= 256 and 1 <= self.head["processors"] <= 64 and self.head["host_nodes"] >= 1):
            raise ValueError
        if any(not {"offset_ns", "error_ns"} <= c.keys() for c in self.tail["clocks"]):
            raise ValueError

    def _translate(self, raw):
        """Convert numbers to names, and times to seconds on the launcher's clock, also spans' beginnings."""
        kinds, shift = self.head["kinds"], [c["offset_ns"] for c in self.tail["clocks"]]
        span = kinds.index("span")
        begin = min((min(e[0], e[4]) if e[1] == span else e[0]) - shift[node] for (node, _), events in raw.items()
                    for e in events) if any(raw.values()) else 0
        for (node, processor), events in raw.items():
            off = begin + shift[node]
            if processor > self.processors or any(e[1] == span and e[3] >= len(self.head["spans"]) for e in events):
                raise ValueError
            self.rings[node, processor].events = sorted(
                (Event((t - off) * 1e-9, kinds[k], n, page, (a - off) * 1e-9 if k == span else a, b)
                 for t, k, n, page, a, b in events), key=lambda e: e.t)

    def ids(self):
        """(node, processor) of all processors, in order."""
        return [(n, p) for n in range(self.nodes) for p in range(self.processors)]

    def name(self, who):
        return f"{who[0]}.agent" if who[1] == self.processors else f"{who[0]}.{who[1]}"

    def symbol(self, site):
        return self.tail["symbols"].get(str(site), "an allocation in a library" if site == 0 else hex(site))
