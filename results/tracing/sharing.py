# SPDX-License-Identifier: BSD-3-Clause
"""Pages of a trace: the processors that used them, the cost, and whether they were shared falsely.

An *interval* is the time between two barriers, or broadcasts, of all processors.  Two nodes that use a page in one
interval, one of them writing, share it falsely there if they use different bytes.  The trace contains the bytes of
diffs (first, last, how many, and which 64ths of the page) and the byte of each fault.  Where neither node takes a lock
or a flag in the interval, nothing orders the two uses, so in a program without data races they are of different bytes;
elsewhere the known bytes decide."""
import bisect
import collections
import itertools

# of stores; not home_flush, whose pages may be writable by retention
WRITES = ("diff_out", "diff_update", "doubled", "write_fault")
ORDER = ("lock_take", "lock_release", "flag_seen", "flag_set", "barrier_leave")  # without barriers of all
COUNTED = WRITES + ("read_fault", "fetch", "invalidation")

# Bytes that a node has used: from first to last, whether all of them, and in which 64ths of the page.
Area = collections.namedtuple("Area", "first last whole blocks write")


class Use:
    """The known accesses of one node to a page in an interval."""

    def __init__(self):
        self.writes = False
        self.areas = set()

    def add_diff(self, a, blocks):
        first, last, count = a & 0xffff, a >> 16 & 0xffff, a >> 32
        if count:
            self.writes = True
            self.areas.add(Area(first, last, count == last - first + 1, blocks, True))

    def add_fault(self, byte, block, write):
        self.writes = self.writes or write
        if byte < 64 * block:  # otherwise unknown
            self.areas.add(Area(byte, byte, True, 1 << byte // block, write))

    def extent(self):
        """First and last byte known to be used."""
        return (min(a.first for a in self.areas), max(a.last for a in self.areas)) if self.areas else None


def same_bytes(x, y):
    """Did two uses, one of them a write, touch a byte in common?  None: unknown."""
    pairs = [(a, b) for a in x.areas for b in y.areas if a.write or b.write]
    meeting = [(a, b) for a, b in pairs if a.first <= b.last and b.first <= a.last and a.blocks & b.blocks]
    if any(a.whole and b.whole for a, b in meeting):
        return True
    return False if pairs and not meeting else None


class Page:
    def __init__(self):
        self.read_faults = self.write_faults = self.fetches = self.diffs = self.invalidations = 0
        self.readers, self.writers = set(), set()
        self.false = self.true = 0  # intervals
        self.extents = {}  # node: first and last byte, in intervals of false sharing

    @property
    def sharers(self):
        return self.readers | self.writers

    @property
    def cost(self):
        return self.read_faults + self.write_faults + self.fetches + self.diffs

    def widen(self, node, extent):
        if extent:
            old = self.extents.get(node, extent)
            self.extents[node] = (min(old[0], extent[0]), max(old[1], extent[1]))


def of_all(handle, processors):
    """Is it a barrier of all processors?  Bits 12 to 27 of a handle are the number of participants; 0:
    tw_barrier_all."""
    return (handle >> 12 & 0xffff) in (0, processors)


def analyse(trace):
    """{page: Page}."""
    pages = collections.defaultdict(Page)
    uses = collections.defaultdict(lambda: collections.defaultdict(Use))  # (interval, page): {node: Use}
    ordered = set()  # (interval, node) with locks or flags
    for (node, processor), ring in trace.rings.items():
        interval = None
        for e in ring.events:
            if e.kind == "collective" or e.kind == "barrier_leave" and of_all(e.a, trace.nodes * trace.processors):
                interval = (e.a if e.kind == "barrier_leave" and e.a >> 12 & 0xffff else 0, e.b)
            elif e.kind in ORDER:
                ordered.add((interval, node))
            elif e.kind in COUNTED:
                count(pages[e.page], node, e)
                if processor < trace.processors and e.kind not in ("fetch", "invalidation"):
                    note(uses[interval, e.page][node], trace.page_size // 64, e)
    for (interval, page), by_node in uses.items():
        pages[page].writers.update(n for n, use in by_node.items() if use.writes)
        if len(by_node) > 1:
            judge(pages[page], by_node, {n for n in by_node if (interval, n) in ordered})
    return pages


def count(page, node, e):
    if e.kind == "fetch":
        page.fetches += 1
        page.readers.add(node)
    elif e.kind == "invalidation":
        page.invalidations += 1
    elif e.kind == "read_fault":
        page.read_faults += 1
        page.readers.add(node)
    elif e.kind == "write_fault":
        page.write_faults += 1
    else:
        page.diffs += 1


def note(use, block, e):
    if e.kind in ("read_fault", "write_fault"):
        use.add_fault(e.a, block, e.kind == "write_fault")
    else:
        use.add_diff(e.a, e.b)


def judge(page, by_node, ordered):
    """One interval in which several nodes used the page."""
    false = true = False
    for x, y in itertools.combinations(sorted(by_node), 2):
        use, other = by_node[x], by_node[y]
        if not (use.writes or other.writes):
            continue
        same = same_bytes(use, other)
        if same:
            true = True
        elif same is False or not {x, y} & ordered:
            false = True
            page.widen(x, use.extent())
            page.widen(y, other.extent())
    page.false += false
    page.true += true


class Allocations:
    """The allocation, or global variable, of an address; if there were several during the run, the last."""

    def __init__(self, trace):
        blocks = {address: (-1, size, name) for address, size, name in trace.tail["globals"]}
        for ring in trace.rings.values():
            for e in ring.events:
                if e.kind == "allocate" and (e.a not in blocks or blocks[e.a][0] < e.t):
                    blocks[e.a] = (e.t, e.b, trace.symbol(e.page))
        self.starts = sorted(blocks)
        self.blocks = blocks

    def at(self, first, last):
        """[(start, bytes, text)] of those that overlap [first, last]."""
        found = []
        i = bisect.bisect_right(self.starts, last)
        for start in reversed(self.starts[max(0, i - 4096):i]):
            _, size, text = self.blocks[start]
            if start + size > first:
                found.append((start, size, text))
        return found[::-1]


def false_pages(pages):
    """Pages that were shared falsely in most intervals in which they were shared, the most costly first."""
    found = [(n, p) for n, p in pages.items() if p.false > p.true and len(p.sharers) > 1]
    return sorted(found, key=lambda x: (-x[1].false * x[1].cost, x[0]))


def describe(trace, number, page, allocations):
    """One line for each node: the bytes and allocations that it uses."""
    base = trace.space + number * trace.page_size
    lines = []
    for node in sorted(page.extents):
        first, last = page.extents[node]
        for start, _, text in allocations.at(base + first, base + last) or [(None, 0, "memory of no known allocation")]:
            lo, hi = (max(base + first, start), last) if start else (base + first, last)
            part = f"bytes {lo - base} to {hi}" if hi > lo - base else f"from byte {hi}"
            lines.append((node, part, text if start is None else f"{text} + {lo - start}"))
    return lines
