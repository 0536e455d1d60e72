# SPDX-License-Identifier: BSD-3-Clause
"""The identity of a run: its command, its settings and the programs that it runs.  A result with another identity
belongs to another run."""
import functools
import glob
import hashlib
import json
import os


def digest(parts):
    """A digest of byte strings, which are delimited."""
    h = hashlib.sha256()
    for p in parts:
        h.update(len(p).to_bytes(8, "little") + p)
    return h.hexdigest()


def digest_file(path):
    if os.path.islink(path) and not os.path.isfile(path):
        return os.readlink(path).encode()
    with open(path, "rb") as f:
        return hashlib.file_digest(f, "sha256").digest()


digest_program = functools.lru_cache(maxsize=None)(digest_file)  # for files that do not change while plans run


@functools.lru_cache(maxsize=None)
def tools_digest(tweed):
    """A digest of the command, and of the libraries that it links into programs."""
    top = os.path.dirname(os.path.dirname(tweed))
    libraries = [f for d in ("", "runtime/*", "lib", "lib/*")
                 for f in glob.glob(os.path.join(glob.escape(top), d, "libtweed*.a"))]
    return digest([digest_file(f) for f in [tweed, *sorted(libraries)]])


def identity(command, settings, programs):
    return digest([json.dumps([command, settings]).encode(), *map(digest_program, programs)])


def is_of(path, wanted, timeout):
    """Is there a result at @path with the identity @wanted?  One that exceeded a shorter time limit than the present
    one does not count."""
    try:
        with open(path, encoding="utf-8") as f:
            result = json.load(f)
    except (OSError, ValueError):
        return False
    return result.get("identity") == wanted and not (result.get("state") == "timeout"
                                                     and result.get("timeout", 0) < timeout)
