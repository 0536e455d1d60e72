# SPDX-License-Identifier: BSD-3-Clause
"""For gdb, in a processor of a job: `tweed run --gdb` loads it; else `gdb -x results/gdb.py -p PID`.

Faults on shared memory are signals, which it passes.  `tweed page EXPRESSION` prints the state of the page there."""
import gdb

gdb.execute("handle SIGSEGV SIGBUS nostop noprint pass", to_string=True)


class Tweed(gdb.Command):
    """What Tweed knows: page EXPRESSION, the state of the page at the address EXPRESSION."""

    def __init__(self):
        super().__init__("tweed", gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION, prefix=True)


class Page(gdb.Command):
    """tweed page EXPRESSION: the state of the page at that address, for this processor and its node."""

    def __init__(self):
        super().__init__("tweed page", gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    def invoke(self, argument, from_tty):
        if not argument:
            raise gdb.GdbError("tweed page needs an address, as in: tweed page &x")
        try:
            address = int(gdb.parse_and_eval(argument).cast(gdb.lookup_type("unsigned long")))
        except gdb.error as error:
            raise gdb.GdbError(str(error))
        try:
            text = gdb.parse_and_eval(f"((const char *(*)(unsigned long))tw_page_describe)({address})")
        except gdb.error as error:
            raise gdb.GdbError(f"tweed page needs a stopped process of a program of Tweed: {error}")
        print(text.string())


Tweed()
Page()
