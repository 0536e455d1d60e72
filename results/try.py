#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`tweed try`: try the user's programs (doc/guide/trying.md)."""
import argparse
import os
import shlex
import shutil
import subprocess
import sys

from harness import interrupts
from harness.command import Parser
from harness.execute import Progress, without_settings
from harness.files import claim
from harness.identity import tools_digest
from harness.plan import Refused
from trying import summary, trial
from trying.build import build_command
from trying.program import FIELDS, KINDS, LIST, NUMBER, TABLE, TRUTH, WHOLE, make, nearest, plan

USAGE = """tweed try [OPTIONS] FOLDER -- COMMAND ARGS...
       tweed try PLAN.toml [--out DIR] [--only NAME]"""
HELP = {
    "build": ("COMMAND", "how it is built; {cc} and {cxx} are the compilers (default: by makefile, configure or "
                         "CMakeLists.txt)"),
    "name": ("NAME", "what it is called (default: the folder's name)"), "version": ("TEXT", "shown beside the name"),
    "kind": ("KIND", f"{', '.join(KINDS)} (default: found from what it includes and links)"),
    "cd": ("FOLDER", "where in the folder the command is run"),
    "compare": ("WHAT", "stdout, stderr, or a file that it writes, such as 'out/*.dat'; may be repeated (default: "
                        "stdout)"),
    "ignore": ("REGEX", "lines that do not count; may be repeated"),
    "tolerance": ("X", "by how much numbers may differ, of the greater one or of 1 (default 1e-9)"),
    "unordered": (None, "lines may come in any order"), "expect": ("FILE",
                                                                   "what it must print, in place of what the native "
                                                                   "program prints"),
    "status": ("N", "the exit status of success (default 0)"), "input": ("FILE", "its standard input"),
    "env": ("NAME=VALUE", "a variable for it; may be repeated"),
    "settings": ("TWEED_X=VALUE", "one of Tweed's settings; may be repeated"),
    "timeout": ("S", "seconds for a run (default 60), and for one of Tweed's ..."),
    "slower": ("K", "... at least K times what the native program takes (default 20)"),
    "build_timeout": ("S", "seconds for a build (default 900)"),
    "shapes": ("LIST", "NODESxPROCESSORS, separated by blanks or commas (default 2x2)"),
    "protocols": ("LIST", "default: 2L 2LMigr TS"),
    "transports": ("LIST", "default: shm; for OpenSHMEM shm and ofi"),
}


def parser():
    p = Parser(prog="tweed try", usage=USAGE, allow_abbrev=False,
               description="Build a program natively and for Tweed, run both, and say what became of each run: "
               "right, refused, wrong, crash, hang.  The folder is copied, never touched.  What ran is not run again, "
               "unless something of it has changed.",
               epilog="{processors} in COMMAND is how many there are, {threads} how many threads the program may "
                      "start.")
    p.add_argument("folder", nargs="?", help="a program's source, or a plan of several")
    for name, (word, text) in HELP.items():
        kind = FIELDS[name]
        if kind == TRUTH:
            p.add_argument("--" + name, action="store_true", default=None, help=text)
        else:
            p.add_argument("--" + name.replace("_", "-"), metavar=word, help=text,
                           type={NUMBER: float, WHOLE: int}.get(kind, str),
                           action="append" if kind == TABLE or name in ("compare", "ignore") else "store")
    p.add_argument("--out", metavar="DIR", help="where copies and results go (default: try-NAME)")
    p.add_argument("--only", metavar="NAME", action="append", help="of a plan, this program; may be repeated")
    p.add_argument("--retry", action="store_true", help="run again what is not right")
    p.add_argument("--tweed", required=True, help=argparse.SUPPRESS)
    return p


def parse(words):
    """(options, command or None)"""
    command = None
    if "--" in words:
        at = words.index("--")
        words, command = words[:at], words[at + 1:]
    p = parser()
    a, rest = p.parse_known_args(words)
    if rest:
        # pylint: disable=protected-access
        names = [o for action in p._actions for o in action.option_strings if o != "--tweed"]
        if rest[0].startswith("-"):
            raise Refused(f"{rest[0]} is no option of 'tweed try': {nearest(rest[0].partition('=')[0], names)}")
        raise Refused(f"'tweed try' takes one folder: what is {rest[0]!r}? the program's command comes after --")
    if not a.folder:
        raise Refused("give the folder of a program, -- and its command, or a plan: tweed try FOLDER -- ./prog ARGS")
    return a, command


def pairs(words, option):
    for word in words:
        if "=" not in word:
            raise Refused(f"{option} takes NAME=VALUE, not {word!r}")
    return dict(w.split("=", 1) for w in words)


def given(a):
    """The fields set by options."""
    table = {}
    for name in HELP:
        value = getattr(a, name)
        if value is None:
            continue
        if FIELDS[name] == TABLE:
            value = pairs(value, "--" + name)
        elif FIELDS[name] == LIST and isinstance(value, str):
            # commas are part of a protocol's own settings
            value = (value if ":" in value else value.replace(",", " ")).split()
        table[name] = value
    return table


def programs_of(a, command):
    """(title, programs)"""
    if os.path.isfile(a.folder):
        if command is not None or given(a):
            raise Refused(f"{a.folder} is a plan, which says all of its programs: it takes --out, --only and --retry "
                          f"alone")
        title, programs = plan(a.folder)
        for name in a.only or []:
            if name not in [p.name for p in programs]:
                raise Refused(f"{a.folder} has no program {name}: {nearest(name, [p.name for p in programs])}")
        return title, [p for p in programs if not a.only or p.name in a.only]
    if not os.path.isdir(a.folder):
        raise Refused(f"there is no {a.folder}: give the folder of a program, or a plan")
    if not command:
        raise Refused(f"how is the program run? tweed try {a.folder} -- ./prog ARGS")
    if a.only:
        raise Refused("--only is for plans")
    table = given(a) | {"folder": os.path.abspath(a.folder), "command": shlex.join(command)}
    return "", [make(a.folder, os.getcwd(), table)]


def check(programs, tweed):
    """Refuse what would fail in each run."""
    for protocol, transport, *settings in dict.fromkeys((protocol, transport, *sorted(p.settings.items()))
                                                        for p in programs
                                                        for *_, protocol, transport in p.places()):
        asked = {"TWEED_TRANSPORT": transport} | ({"TWEED_PROTOCOL": protocol} if protocol else {}) | {k: str(v) for k,
                                                                                                       v in settings}
        done = subprocess.run([tweed, "info"], capture_output=True, text=True, check=False,
                              env=without_settings() | asked)
        if done.returncode:
            raise Refused(done.stderr.strip().removeprefix("tweed: "))
    for p in programs:
        build_command(p)
    for tool in ("gcc", "nm", "ldd"):
        if not shutil.which(tool):
            raise Refused(f"there is no {tool} here, which programs are built and looked at with: install it")


def directory_of(a, programs):
    base = os.path.basename(a.folder).removesuffix(".toml") if os.path.isfile(a.folder) else programs[0].name
    out = os.path.abspath(a.out or "try-" + base)
    if any(c.isspace() for c in out):
        raise Refused(f"{out} has a blank in it, which makefiles do not bear: give another --out")
    for p in programs:
        if (os.path.realpath(p.folder) + os.sep).startswith(os.path.realpath(out) + os.sep):
            raise Refused(f"{p.folder} lies in the results' folder {out}: give another --out")
    try:
        os.makedirs(os.path.join(out, "runs"), exist_ok=True)
        claim(out)
    except OSError as e:
        raise Refused(f"{out} cannot be written: {e.strerror}; give another --out") from e
    return out


def run(programs, out, tweed, retry):
    """Results of all programs; after each, writes the files of the results so far."""
    tools = tools_digest(tweed)
    trials = [trial.Trial(p, out, tweed, tools) for p in programs]
    progress = Progress(sum(t.steps() for t in trials))
    results, made, behind = [], [], 0
    try:
        for t in trials:
            begun = progress.done

            def step(what, name=t.program.name):
                progress.show(f"{name} {what}")
                progress.done += 1
            t.run_all(step, retry)
            behind += t.steps()
            progress.done = max(begun, behind)
            results += t.results
            made = summary.save(out, results)
    finally:
        progress.end()
    return results, made


def main():
    a, command = parse(sys.argv[1:])
    interrupts.take()
    title, programs = programs_of(a, command)
    check(programs, a.tweed)
    out = directory_of(a, programs)
    results, made = run(programs, out, a.tweed, a.retry)
    if title:
        print(f"{title}\n")
    print("\n".join(t.text() for t in made if t.name in (("programs", "failures", "slow") if title
                                                         else ("outcomes", "slow"))))
    print(f"{summary.line(results)}\n{out}")
    return 0 if all(r.outcome == "right" for r in results) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Refused as e:
        print(f"tweed: {e}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:
        os._exit(0)  # the reader has closed the pipe
    except OSError as e:
        why = e.args[0][0][2] if isinstance(e, shutil.Error) else e.strerror  # of a folder: the first error
        print(f"tweed: {e.filename or 'a result'} cannot be read or written: {why}; the same command goes on from here",
              file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt as e:
        print("\ntweed: stopped; the same command goes on from here", file=sys.stderr)
        sys.exit(128 + (e.args[0] if e.args else 2))
