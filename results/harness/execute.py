# SPDX-License-Identifier: BSD-3-Clause
"""Runs a plan.  Each run writes one file DIR/runs/KEY.REPETITION.json; a run whose own result exists is not
repeated."""
import concurrent.futures
import contextlib
import dataclasses
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import threading
import time

from .files import replacing
from .identity import identity, is_of, tools_digest
from .interrupts import child_of
from .machine import Others
from .plan import SEQUENTIAL, Refused
from .published import Published

STATES = ("ok", "wrong", "failed", "timeout")
CALIBRATION = 1000000  # picoseconds for a unit of work, while an application's time on one processor is measured
GLANCE = 0.5  # seconds: the longest wait; a wait does not see a signal that arrived just before it


def write(path, value):
    """Write a file completely or not at all, because runs may be interrupted."""
    with replacing(path) as f:
        json.dump(value, f, indent=1)


def spawn(command, environment):
    """A child that is ended when its parent is interrupted."""
    return child_of(command, subprocess.Popen.terminate, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                    errors="replace",
                    env=environment, stdin=subprocess.DEVNULL)


def finish(child, timeout):
    """Its standard output, standard error, and whether it was ended because of the time limit."""
    end = time.monotonic() + timeout
    while (left := end - time.monotonic()) > 0:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return *child.communicate(timeout=min(left, GLANCE)), False
    child.terminate()
    try:
        return *child.communicate(timeout=15), True
    except subprocess.TimeoutExpired:
        child.kill()
        return *child.communicate(), True


def to_run(runs, path, identity_of, timeout):
    """Those of @runs without a result; prints how many have one of another program, command or settings."""
    todo = [r for r in runs if not is_of(path(*r), identity_of(*r), timeout)]
    stale = sum(os.path.exists(path(*r)) for r in todo)
    if stale:
        print(f"tweed: {stale} results are of other programs, commands, settings or times: these are run again",
              file=sys.stderr)
    return todo


def without_settings():
    """The environment without Tweed's variables."""
    return {k: v for k, v in os.environ.items() if not k.startswith("TWEED_")}


class Programs:
    """The applications' folder: beside this build's command, or that of the installed ones on the command's PATH."""

    def __init__(self, plan, tweed):
        self.plan, self.tweed = plan, tweed
        top = os.path.dirname(os.path.dirname(tweed))
        self.folders = [os.path.join(top, d) for d in ("bin", "apps", "apps/counted", "apps/pgas", "splash",
                                                       "tests/instrument", "libexec/tweed")]

    def find(self, name):
        if os.sep in name:
            path = os.path.join(os.path.dirname(self.plan.path), os.path.expanduser(name))
            return path if os.access(path, os.X_OK) else None
        return next((p for p in (os.path.join(d, name) for d in self.folders) if os.access(p, os.X_OK)
                     and os.path.isfile(p)), None)

    def of(self, run):
        """The program of a run, or None."""
        application = self.plan.applications[run.application]
        return self.find(application.counted if run.machine else application.announced if run.protocol == "1L" else
                         application.program)

    def check(self):
        """Refuse a plan whose programs do not exist; skip and print runs of 1L without a program that announces its
        stores."""
        left_out = {}
        for run in self.plan.runs:
            if self.of(run):
                continue
            if run.protocol != "1L":
                raise Refused(f"there is no program {self.plan.applications[run.application].program} for "
                              f"{run.application}: build it, "
                              f"or name its path in the plan's [application.{run.application}]")
            left_out[run.application] = None
        self.plan.runs = [r for r in self.plan.runs if r.protocol != "1L" or r.application not in left_out]
        return list(left_out)


class Progress:
    """Progress with the remaining time, only on a terminal."""

    def __init__(self, total):
        self.total, self.done, self.begun, self.lock = total, 0, time.monotonic(), threading.Lock()

    def step(self, what):
        with self.lock:
            self.done += 1
            self.show(what)

    def show(self, what):
        if not sys.stderr.isatty() or not self.total:
            return
        spent = time.monotonic() - self.begun
        left = spent / self.done * (self.total - self.done) if self.done else 0
        bar = "#" * (30 * self.done // self.total)
        sys.stderr.write(f"\r\033[K[{bar:<30}] {self.done}/{self.total}  {int(left) // 60}:{int(left) % 60:02d} left  "
                         f"{what}"[:150])
        sys.stderr.flush()

    def end(self):
        if sys.stderr.isatty():
            sys.stderr.write("\r\033[K")


class Executor:
    def __init__(self, plan, directory, tweed, jobs):
        self.plan, self.tweed, self.jobs = plan, tweed, jobs
        self.directory = os.path.join(directory, "runs")
        self.programs = Programs(plan, tweed)
        self.children, self.lock, self.stopped = set(), threading.Lock(), False
        self.cores = sorted(os.sched_getaffinity(0))
        self.work = {}  # work_ps of an application and size, where it is not the machine's
        os.makedirs(self.directory, exist_ok=True)

    def path(self, run, repetition):
        return os.path.join(self.directory, f"{run.key}.{repetition}.json")

    def wanted(self):
        """All runs, in the order of repetitions, so that compared runs are close in time."""
        runs = (self.plan.baselines() if self.plan.baseline else []) + self.plan.runs
        order = {a: i for i, a in enumerate(dict.fromkeys(r.application for r in self.plan.runs))}
        runs.sort(key=lambda r: order[r.application])  # stable: plain C first
        return [(r, i) for i in range(self.plan.repetitions) for r in runs]

    def identity(self, run):
        """The identity of a run, for all repetitions."""
        program = self.programs.of(run)
        plain = run.protocol == SEQUENTIAL and not run.machine
        machine = [run.machine] if os.path.isfile(run.machine) else []
        return identity([*self.command(run, ""), "" if plain else tools_digest(self.tweed)], run.environment(),
                        [program, *machine])

    def sequential(self, runs):
        """The seconds that each application's work is to take on one processor: published, or plain C's here."""
        if self.plan.work == "measured":
            plain = {key: dataclasses.replace(r, network="none") for key, r in runs.items()}
            self.run_each([(r, "work") for r in plain.values()], 1)
            return {key: self.seconds(r) for key, r in plain.items()}
        published = Published(self.plan.published)
        for a, _ in runs:
            if a not in published.sequential:
                raise Refused(f"{self.plan.path}: {self.plan.published} has no sequential time of {a}: take it out of "
                              f"the plan, or work = \"published\"")
        return {key: published.sequential[key[0]] for key in runs}

    def calibrate(self):
        """Choose work_ps so that each application takes its sequential time on one processor."""
        runs = {(r.application, r.size): r for r in reversed(self.plan.baselines())}
        self.work = dict.fromkeys(runs, CALIBRATION)
        wanted = self.sequential(runs)
        self.run_each([(r, "work") for r in runs.values()], self.jobs)
        self.work = {key: round(CALIBRATION * wanted[key] / self.seconds(r)) for key, r in runs.items()}

    def seconds(self, run):
        with open(self.path(run, "work"), encoding="utf-8") as f:
            result = json.load(f)
        if result["state"] != "ok":
            raise Refused(f"{run.application} on one processor did not end well, so its work is unknown: see "
                          f"{self.path(run, 'work')}")
        return result["seconds"]

    def run_all(self):
        if self.plan.work != "machine":
            self.calibrate()
        self.run_each(self.wanted(), self.jobs)

    def run_each(self, runs, jobs):
        """Run pairs of a run and a repetition, but those that have a result."""
        todo = to_run(runs, self.path, lambda r, i: self.identity(r), self.plan.timeout)
        progress = Progress(len(todo))
        try:
            with concurrent.futures.ThreadPoolExecutor(jobs, initializer=self.take_core) as pool:
                waiting = []
                try:
                    waiting += [pool.submit(self.one, run, repetition, progress) for run, repetition in todo]
                    pending = waiting
                    while pending:
                        done, pending = concurrent.futures.wait(pending, GLANCE, concurrent.futures.FIRST_EXCEPTION)
                        for w in done:
                            w.result()
                except BaseException:
                    for w in waiting:
                        w.cancel()
                    self.stop()
                    raise
        finally:
            progress.end()

    def take_core(self):
        """A worker's jobs of virtual time take one core each; where all may choose, several might take the same."""
        if self.plan.virtual:
            with self.lock:
                self.cores = self.cores[1:] + self.cores[:1]
                os.sched_setaffinity(0, self.cores[:1])

    def stop(self):
        with self.lock:
            self.stopped = True
            for child in self.children:
                child.send_signal(signal.SIGTERM)  # `tweed run` ends its job

    def command(self, run, stats):
        program = [self.programs.of(run), "--verify", *self.plan.arguments(run)]
        if run.protocol == SEQUENTIAL and not run.machine:
            return program[:1] + ["--sequential"] + program[1:]
        protocol, transport = ("none", "") if run.protocol == SEQUENTIAL else run.drivers
        network = ["--time", "virtual", "--machine", self.machine(run)] if run.machine else ["--transport", transport]
        pages = ["--page-size", run.page_size] if run.protocol != SEQUENTIAL else []
        return [self.tweed, "run", "-n", str(run.nodes), "-p", str(run.processors), "--protocol", protocol,
                *network, *pages, "--stats", stats, "--", *program]

    def machine(self, run):
        """The machine of virtual time, on which this application's work takes its time."""
        work = self.work.get((run.application, run.size))
        return f"{run.machine}{',' if ':' in run.machine else ':'}work_ps={work}" if work else run.machine

    def one(self, run, repetition, progress):
        if self.stopped:
            return
        progress.show(f"{run.application} {run.protocol} {run.shape} {run.network}")
        path = self.path(run, repetition)
        stats = path + ".stats"
        command = self.command(run, stats)
        result = {"run": {**vars(run), "settings": dict(run.settings)}, "repetition": repetition, "command": command,
                  "identity": self.identity(run),
                  "timeout": self.plan.timeout}
        result |= self.execute(command, run)
        if self.stopped:
            return
        if os.path.exists(stats):
            try:
                with open(stats, encoding="utf-8") as f:
                    result["statistics"] = json.load(f)
            except ValueError:
                result["state"] = "failed"
            os.remove(stats)
        write(path, result)
        progress.step(f"{run.application} {run.protocol} {run.shape} {run.network}")

    def execute(self, command, run):
        begun, others = time.monotonic(), Others()
        with spawn(command, without_settings() | run.environment()) as child:
            with self.lock:
                self.children.add(child)
                if self.stopped:
                    child.terminate()
            out, err, late = finish(child, self.plan.timeout)
            with self.lock:
                self.children.discard(child)
        seconds = re.findall(r"^time: ([0-9.]+) s", out, re.M)
        return {"state": self.judge(child.returncode, out, late, seconds), "exit_status": child.returncode,
                "seconds": statistics.median(map(float, seconds)) if seconds else None,
                "wall": time.monotonic() - begun, "others": others.share(),
                "output": out[-2000:], "errors": err[-2000:]}

    @staticmethod
    def judge(status, out, late, seconds):
        if late:
            return "timeout"
        if "verified: no" in out:
            return "wrong"
        return "ok" if status == 0 and seconds and "verified: yes" in out else "failed"
