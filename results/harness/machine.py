# SPDX-License-Identifier: BSD-3-Clause
"""Other load of the machine while something ran."""
import glob
import json
import os
import resource
import time

BUSY = 0.1  # share of the processors' time; if others use more, times are unreliable


def used():
    """Seconds of processor time that all processes have used, also in the host's view of this machine; 0 where it is
    unknown."""
    try:
        with open("/proc/stat", encoding="ascii") as f:
            user, nice, system, _, _, irq, softirq, steal = map(int, f.readline().split()[1:9])
    except (OSError, ValueError):
        return 0
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def own():
    mine, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return mine.ru_utime + mine.ru_stime + children.ru_utime + children.ru_stime


class Others:
    """Start measuring."""

    def __init__(self):
        self.time, self.used, self.own = time.monotonic(), used(), own()

    def share(self):
        """The share of the processors' time that was used by others than this process and its ended children."""
        whole = (time.monotonic() - self.time) * (os.cpu_count() or 1)
        return min(max((used() - self.used - (own() - self.own)) / whole, 0), 1) if whole > 0 else 0


def shares(directory):
    """The pairs (result of Others.share, seconds) in DIR/runs/*.json."""
    for path in glob.glob(os.path.join(glob.escape(directory), "runs", "*.json")):
        with open(path, encoding="utf-8") as f:
            result = json.load(f)
        if "others" in result:
            yield result["others"], result["wall"]


def warning(measured):
    """A sentence if the machine was busy by @measured, pairs (result of Others.share, seconds); else ""."""
    seconds = sum(s for _, s in measured)
    mean = sum(share * s for share, s in measured) / seconds if seconds else 0
    return (f"Others used {100 * mean:.0f} % of this machine's processors while this ran: its times are not to be "
            f"trusted.") if mean > BUSY else ""
