# SPDX-License-Identifier: BSD-3-Clause
"""The runs of one program, and their outcomes: right, refused, wrong, crash, hang; build, error."""
import contextlib
import glob
import json
import os
import re
import shutil
import statistics

from harness.execute import without_settings, write
from harness.identity import digest, digest_file

from . import process
from .build import Build, sentences
from .outputs import Reference
from .program import NATIVE

OUTCOMES = ("right", "refused", "wrong", "crash", "hang", "build", "error")
WRONG = ("wrong", "crash", "hang")
SEQUENTIAL = "SC"
ROUNDS = 3  # of references; differences between them are ignored
ENDS = re.compile(r"killed by signal|exited with status|the job is ended")  # the end of a process, not the reason
LOST = re.compile(r"by a null pointer|which is no memory|no pointer can have")  # no reason either


class Result:
    """A row: @run as recorded, or None for a program that was not run."""

    def __init__(self, trial, place, outcome, why, run=None):
        self.program, self.kind, self.place = trial.program, trial.kind, place
        self.outcome, self.why, self.run = outcome, why, run or {}
        self.native = trial.native_seconds(place) if run else None
        self.seconds = self.run.get("seconds")

    @property
    def ratio(self):
        return self.seconds / self.native if self.native and self.seconds and self.outcome in ("right",
                                                                                               "wrong") else None

    @property
    def shape(self):
        return f"{self.place[0]}x{self.place[1]}"

    @property
    def protocol(self):
        return self.place[2] or "-"

    @property
    def transport(self):
        return self.place[3]


class Trial:
    def __init__(self, program, out, tweed, tools):
        self.program, self.tweed, self.tools = program, tweed, tools
        self.out = os.path.realpath(out)
        self.made = Build(program, os.path.join(self.out, "programs", program.name), self.out, tweed, tools)
        self.references = {}  # processors: [runs]
        self.results = []

    @property
    def kind(self):
        return self.made.kind

    def steps(self):
        """The maximum number of steps, for progress: the build, references, runs."""
        places = list(self.program.places())
        return 1 + ROUNDS * len({n * p for n, p, *_ in places}) + len(places)

    def run_all(self, step, retry):
        """Do all missing steps, with @retry also those that are not right; @step(what) is called before each."""
        step("build")
        outcome, why = self.made.build(retry)
        self.program.kind = self.program.kind or self.kind  # decides transports
        places = list(self.program.places())
        if outcome:
            self.results = [Result(self, place, outcome, why) for place in places]
            return
        for processors in dict.fromkeys(n * p for n, p, *_ in places):
            self.references[processors] = self.all_references(processors, step, retry)
            self.show_reference(places, processors)
        for place in places:
            step(" ".join(filter(None, (f"{place[0]}x{place[1]}", *place[2:]))))
            result = self.judged(place)
            if retry and result.outcome != "right" and result.run:
                self.forget(result.run)
                result = self.judged(place)
            if result.outcome in WRONG and self.right_if_sequential(place):
                result.why += f"; right under --protocol {SEQUENTIAL}: the program seems to have data races"
            self.results.append(result)

    def right_if_sequential(self, place):
        """Other protocols differ from this one only in accesses between nodes that nothing orders."""
        nodes, processors, protocol, transport = place
        return nodes > 1 and self.kind in NATIVE and not protocol.startswith(SEQUENTIAL) and \
            self.judged((nodes, processors, SEQUENTIAL, transport)).outcome == "right"

    # ---- runs ----

    @staticmethod
    def forget(run):
        """The next request for it runs it again."""
        os.remove(run["folder"] + ".json")

    def all_references(self, processors, step, retry):
        """The reference runs, with @retry once more if nothing can be compared with them."""
        runs = [self.reference(processors, i, step) for i in range(ROUNDS)]
        if not retry or not self.unusable(runs):
            return runs
        for run in runs:
            self.forget(run)
        return self.all_references(processors, step, False)

    def reference(self, processors, number, step):
        """A reference run: native, or of one node."""
        if self.kind in NATIVE:
            step(f"native, {processors} threads")
            return self.one(f"native-{processors}.{number}", self.made.native, self.program.words(processors),
                            processors, self.program.timeout)
        step(f"1x{processors}")
        return self.tweeds(self.place_of_reference(processors), f"reference-{processors}.{number}",
                           self.program.timeout)

    def place_of_reference(self, processors):
        return 1, processors, "" if self.kind == "openshmem" else self.program.protocols[0], "shm"

    def show_reference(self, places, processors):
        """A run by Tweed; also if it failed, it is a result."""
        place = self.place_of_reference(processors)
        bad = next((r for r in self.references[processors] if self.ended(r)[0]), None)
        if self.kind not in NATIVE and bad and place not in places:
            self.results.append(Result(self, place, *self.ended(bad), bad))

    def judged(self, place):
        references = self.references[place[0] * place[1]]
        bad = self.unusable(references)
        if bad and self.kind in NATIVE:
            return Result(self, place, "error", bad)
        usual = 0 if bad else statistics.median(r["seconds"] for r in references)
        run = self.tweeds(place, "-".join(filter(None, (f"{place[0]}x{place[1]}", *place[2:]))),
                          max(self.program.timeout, self.program.slower * usual))
        if bad and not self.ended(run)[0] and not self.program.expect:
            return Result(self, place, "error", bad, run)
        return Result(self, place, *self.judge(run, references), run)

    def tweeds(self, place, key, limit):
        nodes, processors, protocol, transport = place
        words = self.program.words(nodes * processors)
        stats = os.path.join(self.made.folder, "stats.json")
        if self.kind == "openshmem":
            command = [self.tweed, "oshrun", "-n", str(nodes * processors), "--ppn", str(processors), "--transport",
                       transport, "--stats", stats, *words]
        else:
            command = [self.tweed, "run", "-n", str(nodes), "-p", str(processors), "--protocol", protocol,
                       "--transport", transport,
                       "--stats", stats, "--", *words]
        return self.one(key, self.made.ours, command, nodes * processors, limit, stats)

    def one(self, key, tree, command, processors, limit, stats=""):
        """The record of this run, if its identity is unchanged; else run it."""
        p = self.program
        folder = os.path.join(self.out, "runs", re.sub(r"[^A-Za-z0-9._=,+-]", "_", f"{p.name}-{key}"))
        settings = {k: str(v) for k, v in (p.env | (p.settings if stats else {})).items()}
        with contextlib.suppress(OSError, KeyError):
            with open(tree.folder + ".json", encoding="utf-8") as f:
                built = json.load(f)["identity"]
        identity = digest([json.dumps([command, p.cd, settings, sorted(p.compare), built, self.tools if stats else "",
                                       self.made.program_digest(tree)]).encode(),
                           digest_file(p.input) if p.input else b""])
        with contextlib.suppress(OSError, ValueError):
            with open(folder + ".json", encoding="utf-8") as f:
                run = json.load(f)
            if run["identity"] == identity and (not run["late"] or run["limit"] >= limit):
                return run | {"folder": folder}
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        with contextlib.suppress(OSError):
            os.remove(stats)
        tree.restore()
        ended = process.run(command, os.path.join(tree.folder, p.cd),
                            without_settings() | {"OMP_NUM_THREADS": str(processors)} | settings,
                            os.path.join(folder, "stdout"), os.path.join(folder, "stderr"), limit,
                            p.input or os.devnull, bool(stats))
        run = {"program": p.name, "version": p.version, "kind": self.kind, "run": key, "identity": identity,
               "command": command, "limit": limit,
               "written": tree.changed()[0], **vars(ended)}
        self.collect(tree, folder)
        with contextlib.suppress(OSError, ValueError):
            with open(stats, encoding="utf-8") as f:
                run["statistics"] = json.load(f)
        tree.restore()
        write(folder + ".json", run)
        return run | {"folder": folder}

    def collect(self, tree, folder):
        """Copy the compared files to the run's folder."""
        at = os.path.join(tree.folder, self.program.cd)
        for pattern in self.program.compare:
            for path in sorted(glob.glob(pattern, root_dir=at, recursive=True)) if pattern not in ("stdout",
                                                                                                   "stderr") else []:
                if os.path.isfile(os.path.join(at, path)):
                    target = os.path.join(folder, "files", path)
                    os.makedirs(os.path.dirname(target), exist_ok=True)
                    shutil.copyfile(os.path.join(at, path), target)

    # ---- judgement ----

    @staticmethod
    def said(run):
        with open(os.path.join(run["folder"], "stderr"), encoding="utf-8", errors="replace") as f:
            return f.read()

    def ended(self, run):
        """(outcome, why) of a run that ended wrongly, or ("", "")."""
        said = sentences(self.said(run))
        why = [s for s in said if not ENDS.search(s) and not s.startswith("warning: ")]
        if run["flooded"]:
            return "hang", f"it printed more than {process.MOST >> 20} MiB, and was ended"
        if run["late"]:
            busy = run["processor"] / run["seconds"] / len(os.sched_getaffinity(0))
            return "hang", (f"ended after {run['limit']:.0f} s, in which it used {100 * busy:.0f} % of the processors' "
                            f"time") + (f"; {why[0]}" if why else "")
        if run["status"] == self.program.status:
            return "", ""
        if any("killed by signal" in s for s in said) or 128 < run["status"] <= 192:
            name = next((s for s in said if "killed by signal" in s), f"killed by signal {run['status'] - 128}")
            return ("refused", why[0]) if why and not LOST.search(why[0]) else ("crash", why[0] if why else name)
        if why:
            return "refused", why[0]
        return "wrong", f"it ended with status {run['status']} in place of {self.program.status}" + self.last_words(run)

    def last_words(self, run):
        lines = [line for line in self.said(run).splitlines() if line.strip() and not sentences(line)]
        return f": {lines[-1].strip()[:120]}" if lines else ""

    def unusable(self, references):
        """The reason why there is no reference, or ""."""
        name = "the native run" if self.kind in NATIVE else "the run of one node, which others are compared with,"
        for run in references:
            outcome, why = self.ended(run)
            if outcome:
                return f"{name} did not end well: {why}" + ("" if outcome == "wrong" else self.last_words(run))
        for what, outputs in self.outputs(references).items():
            if None in outputs:
                return f"{name} made no {what}: name by --compare what is compared" if not any(outputs) \
                    else f"{name} makes {what} at times"
        return ""

    def outputs(self, runs):
        """{compared item: [its bytes in each run, or None]}"""
        found = {}
        for pattern in self.program.compare:
            names = {pattern} if pattern in ("stdout", "stderr") or not glob.has_magic(pattern) else set()
            for run in runs if not names else []:
                names.update(glob.glob(pattern, root_dir=os.path.join(run["folder"], "files"), recursive=True))
            for name in sorted(names) or [pattern]:
                found[name] = [self.output(run, name) for run in runs]
        return found

    def output(self, run, name):
        """The bytes that a run has printed, or written to a file; the folders and compilers of both builds get one
        name."""
        path = os.path.join(run["folder"], name if name in ("stdout", "stderr") else os.path.join("files", name))
        if not os.path.isfile(path):
            return None
        with open(path, "rb") as f:
            data = f.read()
        for one, other in ((self.made.ours.folder, self.made.native.folder), (self.made.wrapper("tweed-gcc"), "gcc"),
                           (self.made.wrapper("tweed-g++"), "g++")):
            data = data.replace(one.encode(), other.encode())
        return b"".join(line for line in data.splitlines(True)
                        if not line.startswith(b"tweed: ")) if name == "stderr" else data

    def judge(self, run, references):
        outcome, why = self.ended(run)
        if outcome:
            return outcome, why
        expected = self.outputs(references)
        if self.program.expect:
            with open(self.program.expect, "rb") as f:
                expected["stdout"] = [f.read()]
        masked = 0
        for what, outputs in expected.items():
            reference = Reference(outputs, self.program.ignore, self.program.tolerance, self.program.unordered)
            got = self.output(run, what)
            if got is None:
                return "wrong", f"it made no {what}"
            if reference.unstable:
                return "error", (f"{what} is not the same twice without Tweed either: {reference.unstable}; say by "
                                 f"--ignore or --unordered what does not count")
            difference = reference.difference(got)
            if difference:
                return "wrong", f"{what}, {difference}"
            masked += len(reference.masked)
        return "right", f"lines that differ without Tweed, too, and are not compared in full: {masked}" \
            if masked else ""

    def native_seconds(self, place):
        runs = self.references.get(place[0] * place[1])
        return statistics.median(r["seconds"] for r in runs) if runs and self.kind in NATIVE else None
