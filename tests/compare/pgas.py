# SPDX-License-Identifier: BSD-3-Clause
"""`tweed compare` with a small plan of global pointers: every table and figure is made, also of what ran before it
was stopped; a bad plan is refused.

pgas.py TWEED"""
import os
import signal
import sys
import tempfile

sys.dont_write_bytecode = True
from command import compare, stopped  # noqa: E402

VIRTUAL = 'repetitions = 1\nlocales = [1, 4]\nremote = [50]\ntotal = 400\nmachines = ["aries"]\nfigures = [3, 5]\n'
PLAN = 'repetitions = 1\nlocales = [1, 2]\nremote = [50]\ntotal = 2000\ntransports = ["shm"]\n'


def small(folder, text, run=compare):
    with open(os.path.join(folder, "small.toml"), "w", encoding="utf-8") as f:
        f.write(text)
    return run("small.toml", "--out", "out", cwd=folder)


def main():
    with tempfile.TemporaryDirectory() as folder:
        refused = small(folder, PLAN + "figures = [2]\n")
        assert refused.returncode == 2 and "figures is a list of numbers from 3 to 7" in refused.stderr, refused
        done, ran = small(folder, PLAN, lambda *args, cwd: stopped(signal.SIGTERM, *args, cwd=cwd))
        assert done.returncode == 128 + signal.SIGTERM and 2 <= ran < 10, done
        assert compare("--redraw", "out", cwd=folder).returncode == 0
        done = small(folder, PLAN)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "AtomicObject's time over the plain atomic word's" in done.stdout
        for name in ["report.html", "runs.csv", "figures/figures-shm.png",
                     *(f"tables/shm-figure-{n}.md" for n in range(3, 8)), "tables/atomic.txt"]:
            assert os.path.getsize(os.path.join(folder, "out", name)), name
        before = os.stat(os.path.join(folder, "out", "runs", "shm-3-0-2.0.json")).st_mtime_ns
        assert small(folder, PLAN).returncode == 0
        assert before == os.stat(os.path.join(folder, "out", "runs",
                                              "shm-3-0-2.0.json")).st_mtime_ns, "what ran was run again"
    with tempfile.TemporaryDirectory() as folder:
        done = small(folder, VIRTUAL)
        assert done.returncode == 0 and "on aries" in open(os.path.join(folder, "out", "report.html")).read(), done


main()
