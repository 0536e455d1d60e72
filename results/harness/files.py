# SPDX-License-Identifier: BSD-3-Clause
"""Files that are complete or absent, and folders that only one process at a time writes to."""
import contextlib
import fcntl
import os

from .plan import Refused


@contextlib.contextmanager
def replacing(path, **how):
    """A text file, written beside the old one, which it replaces when complete."""
    part = path + ".part"
    try:
        with open(part, "w", encoding="utf-8", **how) as f:
            yield f
        os.replace(part, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(part)
        raise


def claim(directory):
    """Lock @directory for this process until it ends."""
    fd = os.open(os.path.join(directory, ".lock"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as e:
        raise Refused(f"{directory} is being written to by another process: wait for its end, or give another "
                      "--out") from e
