#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Traces: their counts are the run's counters, false sharing is named, and nothing else; full rings, jobs that die,
damaged files.

trace.py --tweed TWEED --sharer SHARER --torture TORTURE --kernel KERNEL --sor SOR [--stores PROGRAM] [--hosts]
[--brief]

--stores: a program compiled by `tweed cc`, for 1L.  --hosts: agents behind a remote shell, over the transport ofi.
--brief: for slow builds, two protocols."""
import argparse
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import xml.dom.minidom

RESULTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../results")
sys.dont_write_bytecode = True
sys.path.insert(0, RESULTS)
from tracing.tracefile import EVENT, MAGIC, PIECE, SECTION, Trace  # noqa: E402

PROTOCOLS = ["2L", "2LS", "2LOffMC", "2LMigr", "1LD", "TS", "simple", "2L:levels=1,home=migrate"]
COUNTED = {"read_faults": ["read_fault"], "write_faults": ["write_fault"], "page_transfers": ["fetch"],
           "directory_updates": ["directory"],
           "write_notices": ["notice_out"], "twins": ["twin"], "incoming_diffs": ["diff_in"],
           "diffs": ["diff_out", "diff_update"],
           "flush_updates": ["diff_update"], "shootdowns": ["shootdown"], "migrations": ["migration"],
           "exclusive_transitions": ["exclusive_enter"], "exclusive_breaks": ["exclusive_break"],
           "messages": ["message_out"],
           "invalidations": ["invalidation"], "updates": ["update"], "lock_acquires": ["lock_take"],
           "barriers": ["barrier_leave"],
           "flag_acquires": ["flag_seen"]}
results = []


def check(name, problems):
    problems = [p for p in problems if p]
    results.append(not problems)
    for p in problems[:6]:
        print(f"{name}: FAILED, {p}", flush=True)


def run(a, shape, program, *arguments, options=(), trace="t.tw", status=0):
    nodes, processors = shape.split("x")
    clean = {k: v for k, v in os.environ.items() if not k.startswith("TWEED_")}
    done = subprocess.run([a.tweed, "run", "-n", nodes, "-p", processors, "--trace", trace, *options, "--", program,
                           *arguments],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=120,
                          env=clean)
    if status is not None and done.returncode != status:
        sys.exit(f"{program} {shape} {options}: status {done.returncode}\n{done.stdout[-2000:]}")
    return done


def report(a, *arguments):
    return subprocess.run([a.tweed, "report", *arguments], capture_output=True, text=True, timeout=120)


# ---- counts
# --------------------------------------------------------------------------------------------------------------


def measured(events):
    """Those between the last tw_stats_reset and the tw_stats_stop after it."""
    begins = [i for i, e in enumerate(events) if e.kind == "measure_begin"]
    events = events[begins[-1] + 1:] if begins else events
    ends = [i for i, e in enumerate(events) if e.kind == "measure_end"]
    return events[:ends[-1]] if ends else events


def differences(trace, stats):
    sources = [((p["node"], p["processor"]), p["counters"]) for p in stats["processors"]]
    sources += [((n["node"], trace.processors), n["agent"]["counters"]) for n in stats["nodes"]]
    for who, counters in sources:
        ring = trace.rings[who]
        if ring.lost:
            yield f"{who} lost {ring.lost} events"
        events = measured(ring.events)
        for counter, kinds in COUNTED.items():
            count = sum(e.kind in kinds for e in events)
            if count != counters[counter]:
                yield f"{who}: {counter} is {counters[counter]}, but {count} events say so"
        remote = sum(e.b for e in events if e.kind == "lock_take")
        if remote != counters["lock_remote"]:
            yield f"{who}: lock_remote is {counters['lock_remote']}, but {remote} events say so"


def counts(a, shape, options, program, *arguments):
    run(a, shape, program, *arguments, options=["--trace-events", "4194304", "--stats", "t.json", *options])
    trace = Trace("t.tw")
    with open("t.json", encoding="utf-8") as f:
        stats = json.load(f)
    faults = stats["counters"]["read_faults"] + stats["counters"]["write_faults"]
    check(f"counts of {os.path.basename(program)} {shape} {' '.join(options)}",
          [*differences(trace, stats), "" if faults else "the program had no faults"])
    return stats["counters"]


def all_counts(a):
    seen = {}
    torture = [a.torture, "--seeds", "3:1", "--ops", "60"]
    for protocol in PROTOCOLS:
        options = ["--protocol", protocol]
        for got in (counts(a, "2x2", options, *torture), counts(a, "2x2", options, a.kernel, "--size", "128",
                                                                "--verify"),
                    counts(a, "2x1", options, a.sharer, "8")):
            for k, v in got.items():
                seen[k] = seen.get(k, 0) + v
    counts(a, "2x2", ["--fault", "mprotect"], *torture)
    counts(a, "2x2", ["--fault", "uffd-monitor"], *torture)
    counts(a, "2x2", ["--home", "after-init"], *torture)
    if a.stores:
        counts(a, "2x2", ["--protocol", "1L"], a.stores, "--size", "128", "--verify")
    if not a.brief:
        check("coverage", [f"no run counted {c}" for c in COUNTED if not seen[c]])


# ---- sharing
# --------------------------------------------------------------------------------------------------------------


def source_lines(sharer_source):
    """{what: line} of the allocations in sharer.c, by their comments."""
    with open(sharer_source, encoding="utf-8") as f:
        return {m.group(1): n for n, line in enumerate(f, 1) if (m := re.search(r"= tw_\w+\(.*/\* the (\w+)", line))}


def names(a, shape, *options):
    lines = source_lines(os.path.join(os.path.dirname(os.path.abspath(__file__)), "sharer.c"))
    run(a, shape, a.sharer, "24", options=options)
    done = report(a, "t.tw", "--text")
    shared = done.stdout.partition("\nShared falsely")[2].partition("\nLocks")[0]
    named = {what for what, n in lines.items() if f"(sharer.c:{n})" in shared}
    check(f"names {shape} {' '.join(options)}", [
        "" if set(lines) == {"left", "right", "padded", "counter"} else f"sharer.c has {lines}",
        "" if done.returncode == 0 else f"status {done.returncode}: {done.stderr}",
        "" if "sharer_page" in shared else "the variable is not named",
        "" if named == {"left", "right"} else f"named as shared falsely: {sorted(named)}\n{done.stdout}"])


def names_none(a, protocol):
    """A page of sor is written by one node in one interval, and read by the other in the next."""
    run(a, "2x1", a.sor, "--rows", "512", "--columns", "2048", "--iterations", "60",
        options=["--protocol", protocol, "--trace-events", "4194304"])
    done = report(a, "t.tw", "--text")
    check(f"names none under {protocol}", ["" if done.returncode == 0 and "Barriers" in done.stdout
                                           and "Shared falsely" not in done.stdout else done.stdout])


def all_names(a):
    for protocol in ("2L", "2LMigr", "TS"):
        names_none(a, protocol)
    for protocol in PROTOCOLS:
        names(a, "2x1", "--protocol", protocol)
    names(a, "2x2", "--fault", "mprotect")
    names(a, "3x1", "--page-size", "16K")
    names(a, "2x1", "--trace-events", "256")  # the allocations are the oldest, and kept


# ---- pictures
# -------------------------------------------------------------------------------------------------------------


def chrome_problems(path, trace):
    with open(path, encoding="utf-8") as f:
        events = json.load(f)["traceEvents"]
    open_until, last = {}, -1.0
    for e in events:
        if e["ph"] not in ("X", "i", "M") or not isinstance(e["name"], str) or not isinstance(e["pid"],
                int) or not isinstance(e["tid"], int):
            yield f"malformed: {e}"
        if e["ph"] == "M":
            continue
        if not e["ts"] >= last or (e["ph"] == "i" and e["s"] != "t"):
            yield f"out of order, or no instant of a thread: {e}"
        last = e["ts"]
        if e["ph"] == "X":
            if not e["dur"] >= 0:
                yield f"negative: {e}"
            # Complete events of a thread lie within each other or apart.
            stack = open_until.setdefault((e["pid"], e["tid"]), [])
            while stack and stack[-1] <= e["ts"] + 1e-3:
                stack.pop()
            if stack and e["ts"] + e["dur"] > stack[-1] + 1e-3:
                yield f"overlaps: {e}, {stack[-1]}"
            stack.append(e["ts"] + e["dur"])
    names_seen = {e["name"] for e in events}
    yield from (f"no {n}" for n in ("protocol", "comm_wait", "read_fault", "fetch", "thread_name")
                if n not in names_seen)
    faults = sum(e.kind == "read_fault" for r in trace.rings.values() for e in r.events)
    if faults != sum(e["name"] == "read_fault" for e in events):
        yield "not all read faults are there"


def pictures(a):
    run(a, "2x2", a.torture, "--seeds", "5:1", "--ops", "40")
    done = report(a, "t.tw", "--out", "drawn", "--chrome", "t.json")
    problems = ["" if done.returncode == 0 else f"status {done.returncode}: {done.stderr}"]
    for name in ("timeline.svg", "pages.svg", "locks.svg", "barriers.svg"):
        try:
            xml.dom.minidom.parse(os.path.join("drawn", name))
        except (OSError, xml.parsers.expat.ExpatError) as e:
            problems.append(f"{name}: {e}")
    with open("drawn/report.html", encoding="utf-8") as f:
        text = f.read()
    problems.append("" if text.count("<svg") == 4 else "the pictures are not in report.html")
    data = json.loads(re.search(r"const trace = (.*);\n", text)[1])
    problems.append("" if len(data["rows"]) >= 4 and all(r["spans"] for r in data["rows"][:2]) and data["end"] > 0
                    else "the timeline that can be zoomed lacks processors")
    problems.append("report.html needs other files" if re.search(r"(src|href)=['\"](?!#)|@import|url\((?!['\"]?#)",
                                                                 text) else "")
    problems += [f"no table '{t}'" for t in ("Processors", "Pages", "Locks", "Barriers") if t not in done.stdout
                 or t not in text]
    check("pictures", problems + list(chrome_problems("t.json", Trace("t.tw"))))
    check("default folder", ["" if report(a, "t.tw").returncode == 0 and os.path.exists("t.tw.report/report.html")
                             else "nothing drawn"])


# ---- rings, ends
# ----------------------------------------------------------------------------------------------------------


def overflow(a):
    slots = 256
    run(a, "2x1", a.sharer, "100", options=["--trace-events", str(slots)])
    trace = Trace("t.tw")
    problems = []
    for who in trace.ids():
        ring = trace.rings[who]
        last = [e for e in ring.events if e.kind == "barrier_leave"]
        problems += ["" if ring.written[0] > 1000 and ring.kept[0] == slots - slots // 64
                     else f"{who}: {ring.written}, {ring.kept}",
                     "" if last and last[-1].b >= 100 else f"{who}: the newest events are not there",
                     "" if ring.events[-1].kind == "measure_end" or ring.events[-1].kind == "span"
                     else f"{who} ends with {ring.events[-1]}"]
    said = report(a, "t.tw", "--text").stdout
    lost = sum(r.lost for r in trace.rings.values())
    check("overflow", problems + ["" if f"{lost} events were overwritten" in said
                                  else "the report does not say what is lost"])


def agent_killed(a):
    """The other node's events are there."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("TWEED_")}
    job = subprocess.Popen([a.tweed, "run", "-n", "2", "--trace", "t.tw", "--", a.sharer, "1000000000"], env=clean,
                           stderr=subprocess.DEVNULL)
    time.sleep(1)
    with open(f"/proc/{job.pid}/task/{job.pid}/children", encoding="ascii") as f:
        os.kill(int(f.read().split()[1]), signal.SIGKILL)
    began = time.monotonic()
    job.wait(30)
    trace = Trace("t.tw")
    there = [bool(trace.rings[who].events) for who in trace.ids()]
    check("an agent is killed", ["" if sum(there) == 1 else f"rings: {there}",
                                 "" if time.monotonic() - began < 3 else "the job ends too late",
                                 "" if trace.tail["status"] == 137 else f"status {trace.tail['status']}"])


def died(a):
    for mistake, status in (("kill", 137), ("fatal", 1)):
        done = run(a, "2x1", a.sharer, mistake, status=status)
        trace = Trace("t.tw")
        kinds = {who: {e.kind for e in trace.rings[who].events} for who in trace.ids()}
        said = report(a, "t.tw", "--text")
        left = [f for f in os.listdir(".") if f.endswith(".tmp")]
        check(f"a job that dies: {mistake}", [
            "" if "flag_set" in kinds[0, 0] and "flag_seen" in kinds[1, 0] else f"events missing: {kinds}",
            "" if trace.tail["status"] == status else f"status {trace.tail['status']}",
            "" if said.returncode == 0 and f"ended with status {status}" in said.stdout
            else f"report: {said.stdout[:300]}{said.stderr}",
            f"left behind: {left}" if left else "",
            "" if mistake == "kill" or re.search(r"1\.0: \d+ ns before: flag_seen", done.stdout)
            else f"no last events:\n{done.stdout}"])
    agent_killed(a)
    os.remove("t.tw")
    run(a, "2x1", "./nowhere", status=2)
    check("nothing started", ["" if not os.path.exists("t.tw") else "a file was made"])


def sections(data):
    at, cuts = len(MAGIC), []
    while at < len(data):
        cuts.append(at)
        at += SECTION.size + SECTION.unpack_from(data, at)[1]
    return cuts


def bad_files(a):
    run(a, "2x1", a.sharer, "3")
    with open("t.tw", "rb") as f:
        good = f.read()
    cuts = sections(good)
    events = next(c for c in cuts if SECTION.unpack_from(good, c)[0] == 2
                  and SECTION.unpack_from(good, c)[1] > PIECE.size)
    first = events + SECTION.size + PIECE.size
    damaged = {"empty": b"", "magic alone": good[:8], "no trace": b"\x7fELF" + good[4:],
               "another magic": b"TWTRACE9" + good[8:],
               "no tail": good[:cuts[-1]], "section type": good[:cuts[1]] + struct.pack("<I", 99) + good[cuts[1] + 4:],
               "section size": good[:cuts[1] + 4] + struct.pack("<I", 0xfffffff0) + good[cuts[1] + 8:],
               "kind": good[:first] + struct.pack("<QH", 1, 999) + good[first + 10:],
               "node": good[:events + 8] + struct.pack("<H", 200) + good[events + 10:],
               "json": good[:24] + b"\xff" * 8 + good[32:]}
    damaged.update({f"cut at {n}": good[:n] for n in (*range(9, 60, 7), *(c + 3 for c in cuts), len(good) - 1,
                                                      len(good) - EVENT.size)})
    for name, data in damaged.items():
        with open("bad.tw", "wb") as f:
            f.write(data)
        refused(a, name, "bad.tw")
    refused(a, "no file", "nowhere.tw")
    refused(a, "a directory", ".")
    refused(a, "no argument")
    refused(a, "two files", "t.tw", "t.tw")
    refused(a, "unknown option", "t.tw", "--svg")
    refused(a, "no value", "t.tw", "--out")
    refused(a, "text and out", "t.tw", "--text", "--out", "x")
    refused(a, "chrome's place", "t.tw", "--text", "--chrome", "nowhere/x")
    refused(a, "the pictures' place", "t.tw", "--out", "t.tw/x")


def refused(a, name, *arguments):
    done = report(a, *arguments)
    check(f"refused: {name}", ["" if done.returncode == 2 else f"status {done.returncode}",
                               "" if re.fullmatch(r"tweed: [^\n]+\n", done.stderr) else f"says {done.stderr!r}",
                               "" if not done.stdout else "prints before it complains"])


# ---- hosts
# ----------------------------------------------------------------------------------------------------------------


def hosts(a):
    with open("rsh", "w", encoding="utf-8") as f:
        f.write('#!/bin/sh\nshift\nexec /bin/sh -c "$1"\n')
    os.chmod("rsh", 0o755)
    run(a, "2x1", a.sharer, "8", options=["--hosts", "one,two", "--rsh", os.path.abspath("rsh"), "--transport", "ofi"])
    trace = Trace("t.tw")
    clocks = trace.tail["clocks"]
    # The hosts are one, with one clock: so the estimates must be 0, but for their errors.
    check("hosts", [f"clock {c}" for c in clocks if c["offset_ns"] or c["error_ns"] or "estimate_ns" not in c
                    or abs(c["estimate_ns"]) > c["estimate_error_ns"]] +
          [f"nothing of {who}" for who in trace.ids() if not trace.rings[who].events])


def main():
    p = argparse.ArgumentParser(description=__doc__)
    for option in ("--tweed", "--sharer", "--torture", "--kernel", "--sor"):
        p.add_argument(option, required=True, type=os.path.abspath)
    p.add_argument("--stores", type=os.path.abspath)
    p.add_argument("--hosts", action="store_true")
    p.add_argument("--brief", action="store_true")
    a = p.parse_args()
    if a.brief:
        del PROTOCOLS[1:4]
        del PROTOCOLS[2:]
    folder = tempfile.mkdtemp(prefix="tweed-trace-")
    os.chdir(folder)
    try:
        all_counts(a)
        all_names(a)
        pictures(a)
        overflow(a)
        died(a)
        bad_files(a)
        if a.hosts:
            hosts(a)
    finally:
        os.chdir("/")
        shutil.rmtree(folder)
    print(f"{results.count(True)} passed, {results.count(False)} failed")
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
