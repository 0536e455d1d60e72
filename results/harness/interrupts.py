# SPDX-License-Identifier: BSD-3-Clause
"""SIGINT and SIGTERM, and the children of a command: none is left running, at whatever moment the signal arrives."""
import contextlib
import signal
import subprocess
import threading

_starting = False  # a child is being started, which nobody could end yet
_arrived = None    # the signal that arrived meanwhile


def take():
    """From now on both signals raise KeyboardInterrupt in the main thread, with the signal's number."""
    signal.signal(signal.SIGINT, _handler)
    signal.signal(signal.SIGTERM, _handler)


def _handler(number, _frame):
    global _arrived
    if not _starting:
        raise KeyboardInterrupt(number)
    _arrived = number


def _start():
    global _starting
    _starting = threading.current_thread() is threading.main_thread()  # signals are handled there


def _started():
    global _starting, _arrived
    if threading.current_thread() is not threading.main_thread():
        return
    _starting, number, _arrived = False, _arrived, None
    if number is not None:
        raise KeyboardInterrupt(number)


@contextlib.contextmanager
def child_of(command, end, **options):
    """A child process; end(child) is called when its parent is interrupted, or fails."""
    _start()
    try:
        child = subprocess.Popen(command, **options)
    except BaseException:
        _started()
        raise
    with child:
        try:
            _started()
            yield child
        except BaseException:
            end(child)
            raise
