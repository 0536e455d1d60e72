# SPDX-License-Identifier: BSD-3-Clause
"""What else the machine did while something ran."""
import glob
import json
import os
import resource
import time

BUSY = 0.1  # of the processors' time: more of it, taken by others, and times are not to be trusted


def used():
    """Seconds of processor time that all processes have used, in the host's view of this machine too; 0 where it is not told."""
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
    """From now on."""

    def __init__(self):
        self.time, self.used, self.own = time.monotonic(), used(), own()

    def share(self):
        """Of the processors' time, what others than this process and its children, which have ended, have used."""
        whole = (time.monotonic() - self.time) * (os.cpu_count() or 1)
        return min(max((used() - self.used - (own() - self.own)) / whole, 0), 1) if whole > 0 else 0


def shares(directory):
    """What DIR/runs/*.json have: pairs of what Others.share has told and seconds."""
    for path in glob.glob(os.path.join(glob.escape(directory), "runs", "*.json")):
        with open(path, encoding="utf-8") as f:
            result = json.load(f)
        if "others" in result:
            yield result["others"], result["wall"]


def warning(measured):
    """A sentence if @measured, pairs of what Others.share has told and seconds, say that the machine was busy, or ""."""
    seconds = sum(s for _, s in measured)
    mean = sum(share * s for share, s in measured) / seconds if seconds else 0
    return f"Others used {100 * mean:.0f} % of this machine's processors while this ran: its times are not to be trusted." if mean > BUSY else ""
