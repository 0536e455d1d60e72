# SPDX-License-Identifier: BSD-3-Clause
"""What commands of this folder have in common: bad arguments and ends."""
import argparse
import os
import sys

from . import interrupts
from .plan import Refused


class Parser(argparse.ArgumentParser):
    """Bad arguments are refused in one sentence."""
    def error(self, message):
        raise Refused(f"{message}; '{self.prog} --help' explains it")


def run(main):
    """Runs @main, and ends with its status if it has one."""
    try:
        interrupts.take()
        sys.exit(main())
    except Refused as refused:
        print(f"tweed: {refused}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:
        os._exit(0)  # the reader has closed the pipe
    except KeyboardInterrupt as stop:
        sys.exit(128 + (stop.args[0] if stop.args else 2))
