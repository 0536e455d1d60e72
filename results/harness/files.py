# SPDX-License-Identifier: BSD-3-Clause
"""Files that are whole, or not there."""
import contextlib
import os


@contextlib.contextmanager
def replacing(path, **how):
    """A text file, written beside the old one, whose place it takes when it is whole."""
    part = path + ".part"
    try:
        with open(part, "w", encoding="utf-8", **how) as f:
            yield f
        os.replace(part, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(part)
        raise
