#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`tweed compare`: compare.py TWEED.  A plan of programs that are right, wrong, too slow and dead; resuming;
redrawing; refusals."""
import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import types

sys.dont_write_bytecode = True
from command import TWEED, check, compare, end, stopped  # noqa: E402

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../results"))
from harness import reduce, tables  # noqa: E402
from harness.table import DASH  # noqa: E402

PROGRAM = """#!/bin/sh
# A program that does not use Tweed: its first argument says how it ends.
echo "run $*" >>"{log}"
echo "time: 0.5 s"
case "$1$2$3" in
*--sequential*) echo "verified: yes" ;;
*wrong*) echo "verified: no"; exit 1 ;;
*late*) exec sleep 60 ;;
*dead*) kill -9 $$ ;;
*) echo "verified: yes" ;;
esac
"""
PLAN = """
title = "A plan of a test"
repetitions = 2
timeout = 2
figures = ["speedup", "breakdown", "traffic", "scaling", "clustering", "networks", "ratios"]
tables = ["times", "counters", "clustering", "statements", "least", "table3"]
published = "cashmere-2l"
[application.sor]
program = "{program}"
sizes = {{ wrong = "wrong", late = "late", dead = "dead" }}
[[runs]]
applications = ["sor"]
sizes = ["default", "wrong", "late", "dead"]
protocols = ["none"]
shapes = ["1x1", "2x1"]
"""


def states(folder):
    with open(os.path.join(folder, "runs.csv"), encoding="utf-8") as f:
        return {(r["size"], r["protocol"], r["repetition"]): r["state"] for r in csv.DictReader(f)}


def lines(path):
    with open(path, encoding="utf-8") as f:
        return f.read().count("\n")


def report(top):
    log, program, plan, out = (os.path.join(top, n) for n in ("log", "program", "plan.toml", "out"))
    with open(program, "w", encoding="utf-8") as f:
        f.write(PROGRAM.format(log=log))
    os.chmod(program, 0o755)
    with open(plan, "w", encoding="utf-8") as f:
        f.write(PLAN.format(program=program))
    done = compare(plan, "--out", out, cwd=top)
    check("bad runs give status 1", done.returncode == 1, done.stdout + done.stderr)
    found = states(out)
    for size, state in (("default", "ok"), ("wrong", "wrong"), ("late", "timeout"), ("dead", "failed")):
        check(f"{size} is {state}", found.get((size, "none", "1")) == state, found)
    check("plain C ran", found.get(("default", "sequential", "0")) == "ok", found)
    check("none at two nodes was left out", len(found) == 16, len(found))
    check("a table of what went wrong", "2 timeout" in done.stdout and "2 wrong" in done.stdout, done.stdout)
    for name in ("report.html", "tables/times.txt", "tables/times.md", "tables/times.tex", "figures/speedup.svg",
                 "figures/speedup.png", "figures/speedup.pdf"):
        check(f"{name} is there", os.path.getsize(os.path.join(out, name)) > 200)
    with open(os.path.join(out, "report.html"), encoding="utf-8") as f:
        page = f.read()
    with open(os.path.join(out, "figures", "speedup.gp"), encoding="utf-8") as f:
        script = f.read()
    check("one legend", script.count("set key center") == 1 and "unset key" in script)
    check("the report is self-contained", "<svg" in page and "<script" not in page and "<link" not in page
          and "<img" not in page)

    before = lines(log)
    with open(os.path.join(out, "report.html"), "rb") as f:
        first = f.read()
    check("nothing runs twice", compare(plan, "--out", out, cwd=top).returncode == 1 and lines(log) == before,
          f"{before} {lines(log)}")
    os.remove(os.path.join(out, "report.html"))
    shutil.rmtree(os.path.join(out, "figures"))
    check("redrawing", compare("--redraw", out, cwd=top).returncode == 1 and lines(log) == before)
    with open(os.path.join(out, "report.html"), "rb") as f:
        again = f.read()
    check("a redrawn report differs in its date alone", len(first) == len(again))
    compare(plan, "--out", out, "--retry", cwd=top)
    check("--retry runs what did not end well", lines(log) == before + 6, f"{before} {lines(log)}")

    machine = os.path.join(out, "machine.json")
    with open(machine, encoding="utf-8") as f:
        facts = json.load(f)
    with open(machine, "w", encoding="utf-8") as f:
        json.dump(facts | {"tweed": "0.0.1"}, f)
    done = compare(plan, "--out", out, cwd=top)
    check("results of another version stay apart", done.returncode == 2 and "another --out" in done.stderr, done.stderr)


def stops(top):
    """What ran before a plan is stopped can be redrawn; the same command goes on."""
    log, program, plan = (os.path.join(top, n) for n in ("stops", "program", "stops.toml"))
    text = "baseline = false\n" + PLAN.format(program=program).replace(', "dead"]', "]").replace("repetitions = 2",
                                                                                                 "repetitions = 1")
    with open(program, "w", encoding="utf-8") as f:
        f.write(PROGRAM.format(log=log))
    for number in (signal.SIGINT, signal.SIGTERM):
        with open(plan, "w", encoding="utf-8") as f:
            f.write(text.replace("timeout = 2", "timeout = 50"))
        out = os.path.join(top, f"stopped-{number}")
        done, ran = stopped(number, plan, "--out", out, cwd=top)
        check(f"signal {number} stops", done.returncode == 128 + number and "goes on from here" in done.stderr,
              f"{done.returncode} {done.stderr}")
        check(f"signal {number}: a line for each run", len(states(out)) == ran, ran)
        os.remove(os.path.join(out, "runs.csv"))  # as who is killed leaves it
        again = compare("--redraw", out, cwd=top)
        check(f"redrawn after signal {number}", "report.html" in again.stdout and len(states(out)) == ran, again.stderr)
        begun = lines(log)
        with open(plan, "w", encoding="utf-8") as f:
            f.write(text.replace("timeout = 2", "timeout = 1"))
        compare(plan, "--out", out, cwd=top)
        check(f"it goes on after signal {number}", len(states(out)) - ran == lines(log) - begun > 0,
              f"{ran} {states(out)}")


def identities(top):
    """A result is of one command, one program and its settings: of others it is run again, and what the plan has no
    more is not shown."""
    log, program, plan, out = (os.path.join(top, n) for n in ("identities", "program", "identities.toml", "identified"))
    with open(program, "w", encoding="utf-8") as f:
        f.write(PROGRAM.format(log=log))

    def again(text):
        before = lines(log) if os.path.exists(log) else 0
        with open(plan, "w", encoding="utf-8") as f:
            f.write(text)
        done = compare(plan, "--out", out, cwd=top)
        return lines(log) - before, done

    text = PLAN.format(program=program).replace('["default", "wrong", "late", "dead"]', '["default"]')
    check("plain C and one run, two rounds", again(text)[0] == 4)
    ran, done = again(text.replace('sizes = { wrong', 'sizes = { default = "-n 7", wrong'))
    check("other arguments: run again", ran == 4 and "4 results are of other" in done.stderr, f"{ran} {done.stderr}")
    with open(program, "a", encoding="utf-8") as f:
        f.write("# another program\n")
    ran, done = again(text)
    check("another program: run again", ran == 4 and "run again" in done.stderr, f"{ran} {done.stderr}")
    check("the same: not run again", again(text)[0] == 0)
    ran, done = again(text.replace("repetitions = 2", "repetitions = 1\nbaseline = false"))
    check("fewer are shown", ran == 0 and len(states(out)) == 1, states(out))
    check("and all are kept", again(text)[0] == 0 and len(states(out)) == 4, states(out))


def baseline(top):
    """A plain C that fails gives status 1, and the report says why."""
    program, plan, out = (os.path.join(top, n) for n in ("failing", "failing.toml", "failed"))
    with open(program, "w", encoding="utf-8") as f:
        f.write('#!/bin/sh\ncase $* in *--sequential*) echo "no room for the grid" >&2; exit 3 ;; esac\necho "time: '
                '0.5 s"\necho "verified: yes"\n')
    os.chmod(program, 0o755)
    with open(plan, "w", encoding="utf-8") as f:
        f.write(PLAN.format(program=program).replace('["default", "wrong", "late", "dead"]', '["default"]'))
    done = compare(plan, "--out", out, cwd=top)
    with open(os.path.join(out, "report.html"), encoding="utf-8") as f:
        page = f.read()
    check("a plain C that fails: status 1", done.returncode == 1, done.stderr)
    check("and why", "no room for the grid (exit status 3)" in page and "no room for the grid" in done.stdout,
          done.stdout)


def virtual(top):
    """In virtual time a plan repeats itself to the nanosecond, and a program's work takes its published time."""
    plan, seconds = os.path.join(top, "virtual.toml"), []
    with open(plan, "w", encoding="utf-8") as f:
        f.write('time = "virtual"\nwork = "published"\npublished = "cashmere-2l"\ntables = ["execution", "times"]\n'
                '[[runs]]\napplications = ["sor"]\nsizes = ["tiny"]\nprotocols = ["2L", "1L"]\nshapes = ["2x2"]\n'
                'machines = ["memory-channel", "hdr:latency_ns=5000"]\n')
    for name in "once", "again":
        out = os.path.join(top, name)
        done = compare(plan, "--out", out, cwd=top)
        check(f"virtual time, {name}", done.returncode == 0, done.stdout + done.stderr)
        with open(os.path.join(out, "runs.csv"), encoding="utf-8") as f:
            seconds.append({(r["protocol"], r["network"]): float(r["seconds"]) for r in csv.DictReader(f)})
    check("the same times", seconds[0] == seconds[1] and len(seconds[0]) == 6, seconds)
    plain = [s for (protocol, _), s in seconds[0].items() if protocol == "sequential"]
    check("published sequential times", all(abs(s / 162.2 - 1) < .001 for s in plain), plain)
    check("machines differ",
          seconds[0]["2L", "virtual/memory-channel"] > seconds[0]["2L", "virtual/hdr:latency_ns=5000"])


def best():
    """Only what is faster in most rounds is best."""
    class Few:
        protocols = ["2L", "TS"]
        plan = types.SimpleNamespace(virtual=False)

    def named(one, two):
        rows = [{"application": "a", "size": "s", "protocol": p, "network": "shm", "page_size": "4K", "settings": "",
                 "nodes": "2", "processors": "1",
                 "state": "ok", "repetition": str(i), "seconds": str(t)} for p,
                times in (("2L", one), ("TS", two)) for i, t in enumerate(times)]
        Few.groups = [reduce.Group([r for r in rows if r["protocol"] == p]) for p in Few.protocols]
        return tables.relative(Few).rows[0][-1]
    check("clearly", named([1, 1.1, 1, 1.2], [2, 2.1, 2, 2]) == "2L", named([1, 1.1, 1, 1.2], [2, 2.1, 2, 2]))
    check("the other one", named([2, 2.1, 2, 2], [1, 1.1, 1, 1.2]) == "TS")
    check("within the noise", named([1, 3, 1, 3], [2, 1, 2, 1]) == DASH)
    check("one round", named([1], [2]) == DASH)


def full(top):
    """No room for a result: one sentence, and nothing that is half; the same command goes on."""
    if os.geteuid() or subprocess.run(["unshare", "-m", "true"], check=False).returncode:
        return
    plan, folder = os.path.join(top, "full.toml"), os.path.join(top, "full")
    program = os.path.join(top, "right")
    with open(program, "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\necho 'time: 0.5 s'\necho 'verified: yes'\n")
    os.chmod(program, 0o755)
    with open(plan, "w", encoding="utf-8") as f:
        f.write(f'repetitions = 1\n[application.sor]\nprogram = "{program}"\n[[runs]]\napplications = ["sor"]\n'
                f'protocols = ["2L"]\nshapes = ["2x1"]\n')
    os.mkdir(folder)
    script = f"""mount -t tmpfs -o size=12k tmpfs {folder} || exit 3
{TWEED} compare {plan} --out {folder}; status=$?
find {folder} -name '*.part' -o -name '*.json' -size 0
exit $status"""
    done = subprocess.run(["unshare", "-m", "sh", "-c", script], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True)
    check("no room for results", done.returncode == 1 and "Traceback" not in done.stderr
          and "No space left" in done.stderr.splitlines()[-1] and
          not done.stdout, done.stdout + done.stderr)


def refusals(top):
    def refused(what, text, *words, args=()):
        path = os.path.join(top, "bad.toml")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        done = compare(*(args or (path,)), "--out", os.path.join(top, "no"), cwd=top)
        check(what, done.returncode == 2 and done.stderr.count("\n") == 1 and all(w in done.stderr for w in words),
              done.stderr)
        check(what + ": nothing is written", not os.path.exists(os.path.join(top, "no")))

    run = '[[runs]]\napplications = ["sor"]\n'
    refused("no plan of this name", "", "smoke", args=("nosuch",))
    refused("a program in place of a plan", "", "no plan", ".toml", args=("program",))
    refused("no TOML", "title = ", "no plan")
    refused("no runs", "title = 'x'", "[[runs]]")
    refused("an unknown key", run + "protocol = ['2L']", "no key protocol", "protocols")
    refused("an unknown application", "[[runs]]\napplications = ['sort']", "sort", "sor")
    refused("an unknown size", run + "sizes = ['huge']", "huge", "small")
    refused("no shape", run + "shapes = ['2']", "NODESxPROCESSORS")
    refused("a wrong type", "repetitions = 'two'\n" + run, "repetitions", "whole number")
    refused("no setting", run + "settings = { UPDATES = 0 }", "TWEED_")
    refused("an unknown table", "tables = ['nothing']\n" + run, "nothing", "times")
    refused("an unknown figure", "figures = ['nothing']\n" + run, "nothing", "speedup")
    refused("an unknown paper", "published = 'nothing'\n" + run, "nothing", "cashmere-2l")
    refused("an unknown protocol", run + "protocols = ['2l']", "2l", "2L")
    refused("networks in virtual time", "time = 'virtual'\n" + run + "networks = ['shm']", "no key networks",
            "machines")
    refused("machines in real time", run + "machines = ['hdr']", "no key machines", "networks")
    refused("an unknown machine", "time = 'virtual'\n" + run + "machines = ['cray']", "no machine 'cray'")
    refused("no time", "time = 'fast'\n" + run, "real or virtual")
    refused("published work in real time", "work = 'published'\n" + run, "time = \"virtual\"")
    refused("an unknown network", run + "networks = ['token-ring']", "token-ring")
    done = compare("--redraw", os.path.join(top, "nothing"), cwd=top)
    check("no directory to redraw", done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr)
    done = compare(cwd=top)
    check("no plan at all", done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr)


with tempfile.TemporaryDirectory() as directory:
    report(directory)
    stops(directory)
    identities(directory)
    baseline(directory)
    virtual(directory)
    best()
    full(directory)
    refusals(directory)
done = subprocess.run([TWEED, "compare", "--list"], capture_output=True, text=True)
check("the shipped plans load", done.returncode == 0 and "smoke" in done.stdout and "cashmere" in done.stdout,
      done.stderr)
end("compare")
