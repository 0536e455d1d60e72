#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`tweed machine measure`: machine.py TWEED.  What it makes of measurements, which `tweed run` must read; refusals."""
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
RESULTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "results")
from command import TWEED, check, end  # noqa: E402

BENCH = [("fault on a resident page", 2.5, 2.0, "fault"), ("shootdown", 5.0, 1.5, "change of own rights"),
         ("outgoing diff, one word", 0.2, 0.1, "copy in cache"), ("incoming diff, one word", 0.4, 0.1, "copy in cache"),
         ("remote page read miss, sequential", 1.0, 0.8, "copy"), ("directory update", 0.05, None, ""),
         ("lock, uncontended", 0.04, None, "")]
NETWORK = [("8-byte write, one way", 10.0, "us"), ("fetch-and-add", 22.0, "us"),
           ("message of 64 bytes and its answer", 40.0, "us"),
           ("writes of 64 KiB each, flush at the end", 900.0, "MB/s"), ("reads of 64 KiB each", 2000.0, "MB/s")]
WANTED = {"work_ps": 1000, "trap_ns": 1000, "protect_ns": 1500, "twin_ns": 25, "diff_ns": 50, "merge_ns": 100,
          "copy_ns": 200, "directory_ns": 50, "lock_ns": 40, "message_ns": 8000, "serve_ns": 0, "land_ns": 0,
          "overhead_ns": 2000, "latency_ns": 10000, "link_mb": 900, "network_mb": 0}


def measure(tweed, *options):
    """Of a command that stands for `tweed`."""
    return subprocess.run([sys.executable, os.path.join(RESULTS, "machine.py"), "--tweed", tweed, "measure", *options],
                          capture_output=True, text=True, timeout=60)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    rows = {"": [{"shape": "2x1", "name": n, "value": v, "unit": "us", "floor": f, "floor_is": i}
                 for n, v, f, i in BENCH],
            "--network": [{"shape": "2x1", "name": n, "value": v, "unit": u, "floor": None, "floor_is": ""}
                          for n, v, u in NETWORK]}
    with open("bench", "w", encoding="utf-8") as f:
        f.write(f"#!{sys.executable}\nimport json, sys\nrows = {rows!r}\n"
                "assert sys.argv[1:3] == ['bench', '--json']\n"
                "print(json.dumps(rows['--network' if '--network' in sys.argv else '']))\n"
                "sys.exit('--fail' in sys.argv)\n")
    os.chmod("bench", 0o755)
    done = measure("./bench", "--transport", "ofi")
    said = dict(line.split(" = ") for line in done.stdout.splitlines() if not line.startswith("#"))
    check("costs", {name: int(value) for name, value in said.items()} == WANTED, done)
    check("the measured command", "tweed machine measure --transport ofi" in done.stdout, done)
    with open("here.toml", "w", encoding="utf-8") as f:
        f.write(done.stdout)
    run = subprocess.run([TWEED, "run", "-n", "1", "--time", "virtual", "--machine", "./here.toml", "true"],
                         capture_output=True, text=True, timeout=60)
    check("tweed run reads it", run.returncode == 0 and not run.stderr, run)
    for what, options, sentence in (("a page size", ["--page-size=16K"], "leave --page-size out"),
                                    ("a bench that fails", ["--fail"], "failed with status 1")):
        done = measure("./bench", *options)
        check(what, done.returncode == 2 and sentence in done.stderr and not done.stdout, done)
    done = subprocess.run([TWEED, "machine"], capture_output=True, text=True, timeout=60)
    check("nothing to do", done.returncode == 2 and "tweed machine --help" in done.stderr, done)
end("machine")
