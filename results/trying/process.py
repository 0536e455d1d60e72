# SPDX-License-Identifier: BSD-3-Clause
"""Runs one process with a time limit and its output in files; no descendant is left running."""
import contextlib
import os
import resource
import selectors
import signal
import subprocess
import time
from dataclasses import dataclass

from harness.interrupts import child_of
from harness.machine import Others

MOST = 64 << 20  # maximum bytes of an output; a program that prints more is ended
GLANCE = 0.2     # seconds: the longest wait


@dataclass
class Ended:
    status: int      # as a shell has it: 128 + signal
    late: bool       # it was ended because of the time limit
    flooded: bool    # ... or because it printed too much
    seconds: float
    processor: float  # seconds of processor time, of all of its processes
    others: float     # share of the processors' time that others have used meanwhile


def take(ready, kept, files):
    """Copy what is ready to read; True: too much output."""
    for key, _ in ready:
        data = os.read(key.fd, 1 << 16)
        if not data:
            kept.unregister(key.fileobj)
        else:
            files[key.data].write(data)
    return any(f.tell() > MOST for f in files)


def end(child, all_of_it):
    """End the process by SIGTERM, then by SIGKILL; a job's launcher ends its job."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGTERM) if all_of_it else child.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(5 if all_of_it else 20)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def run(command, folder, environment, out, err, limit, stdin=os.devnull, launcher=False):
    """@launcher: on SIGTERM it ends its processes itself."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    late, flooded, others = False, False, Others()
    with open(stdin, "rb") as source, open(out, "wb") as out_file, open(err, "wb") as err_file, \
            child_of(command, lambda c: end(c, not launcher), cwd=folder, env=environment, stdin=source,
                     stdout=subprocess.PIPE,
                     stderr=subprocess.PIPE, start_new_session=True) as child, selectors.DefaultSelector() as kept:
        files = [out_file, err_file]
        kept.register(child.stdout, selectors.EVENT_READ, 0)
        kept.register(child.stderr, selectors.EVENT_READ, 1)
        while child.poll() is None and not late and not flooded:
            left = begun + limit - time.monotonic()
            late = left <= 0
            if kept.get_map():
                flooded = take(kept.select(min(max(left, 0), GLANCE)), kept, files)
            else:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.wait(min(max(left, 0), GLANCE))
        seconds = time.monotonic() - begun
        end(child, not launcher)
        while kept.get_map() and (ready := kept.select(0)):  # the rest in the pipes
            if take(ready, kept, files):
                break
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    status = child.returncode if child.returncode >= 0 else 128 - child.returncode
    return Ended(status, late, flooded, seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
                 others.share())
