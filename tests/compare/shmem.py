#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Plans of OpenSHMEM: shmem.py TWEED.  Other implementations that are good, crash when all is done, die early, are
not installed."""
import csv
import json
import os
import sys
import tempfile

sys.dont_write_bytecode = True
from command import TWEED, check, compare, end  # noqa: E402

# What stands for another implementation: its compiler writes a program, its launcher is `sh RUN -n PES OPTIONS PROGRAM
# ARGS`.
COMPILE = """#!/bin/sh
echo "echo 'init|1000000.0|us'; echo 'put.rate|0.001|M/s'" >"$2"
"""
RUN = """#!/bin/sh
shift 2
case $1 in --dies) kill -9 $$ ;; --crashes) shift; crash=1 ;; esac
sh "$1"
echo end
[ -z "$crash" ] || kill -11 $$
"""
PLAN = """
repetitions = 2
timeout = 60
[other.good]
compile = "sh {top}/compile"
run = "sh {top}/run"
[other.absent]
compile = "no-such-compiler"
run = "no-such-launcher"
[[places]]
name = "node"
pes = [2]
measure = ["init", "put.rate"]
start = true
options = {{ good = "", "good, crashing" = "--crashes", "good, dying" = "--dies", absent = "" }}
[[places]]
name = "parts"
pes = [2]
turns = [["put.rate"], ["init"]]
options = {{ good = "" }}
[[wanted]]
place = "node"
measures = ["init", "put.rate"]
ratio = 0.5
[[wanted]]
place = "node"
measures = ["get.*"]
"""


def runs(top):
    for name, text in (("compile", COMPILE), ("run", RUN), ("plan.toml", PLAN.format(top=top))):
        with open(os.path.join(top, name), "w", encoding="utf-8") as f:
            f.write(text)
    out = os.path.join(top, "out")
    done = compare("plan.toml", "--out", out, cwd=top)
    check("a run that dies gives status 1", done.returncode == 1, done.stdout + done.stderr)
    check("what is not installed is named", "absent is not installed" in done.stderr, done.stderr)
    with open(os.path.join(out, "runs.csv"), encoding="utf-8") as f:
        rows = list(csv.DictReader(f))
    states = {(r["implementation"], r["state"]) for r in rows}
    check("states", states == {("tweed", "ok"), ("good", "ok"), ("good, crashing", "ok"), ("good, dying", "failed")},
          states)
    measures = {r["measure"] for r in rows if r["implementation"] == "tweed"}
    check("what was measured", measures == {"init", "put.rate", "hello"}, measures)
    with open(os.path.join(out, "tables", "wanted.txt"), encoding="utf-8") as f:
        wanted = f.read()
    check("bounds, also of rates", "all 4 kept" in wanted and "not measured" in wanted, wanted)
    for name in ("report.html", "tables/node-2.md", "figures/node-single.svg", "figures/node-single.png"):
        check(f"{name} is there", os.path.getsize(os.path.join(out, name)) > 200)
    before = os.path.getmtime(os.path.join(out, "runs", "node-2-good.0.json"))
    check("redrawing", compare("--redraw", out, cwd=top).returncode == 1)
    compare("plan.toml", "--out", out, cwd=top)
    check("nothing runs twice", os.path.getmtime(os.path.join(out, "runs", "node-2-good.0.json")) == before)
    with open(os.path.join(out, "runs", "node-2-tweed.1.json"), encoding="utf-8") as f:
        check("a run's command", "oshrun" in json.load(f)["command"])
    for turn, measure in enumerate(("put.rate", "init")):
        with open(os.path.join(out, "runs", f"parts-2-tweed-{turn}.0.json"), encoding="utf-8") as f:
            check(f"turn {turn}", list(json.load(f)["measured"]) == [measure])


def refused(top, what, text, *words, args=()):
    path = os.path.join(top, "bad.toml")
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    done = compare(path, *args, "--out", os.path.join(top, "no"), cwd=top)
    check(what, done.returncode == 2 and done.stderr.count("\n") == 1 and all(w in done.stderr for w in words),
          done.stderr)


def refusals(top):
    place = '[[places]]\nname = "node"\n'
    refused(top, "several at a time", place, "--jobs", args=("--jobs", "2"))
    refused(top, "an unknown implementation", place + "options = { mine = '' }", "mine", "tweed")
    refused(top, "no number of PEs", place + "pes = [0]", "pes")
    refused(top, "measures in turns and not", place + "measure = ['init']\nturns = [['init']]", "turns")
    refused(top, "turns of no measures", place + "turns = ['init']", "turns")
    refused(top, "a bound on nothing", place + "[[wanted]]\nplace = 'there'", "node")
    refused(top, "no launcher", "[other.mine]\ncompile = 'cc'\n" + place, "compile and run")


with tempfile.TemporaryDirectory() as directory:
    runs(directory)
    refusals(directory)
end("compare shmem")
