# SPDX-License-Identifier: BSD-3-Clause
"""Plans of OpenSHMEM: apps/shmem_bench under Tweed and under other implementations, in turns.

Each run writes DIR/runs/KEY.json; DIR/runs.csv has a line for each figure that a run printed, from which all else is
derived."""
import csv
import fnmatch
import os
import re
import shlex
import shutil
import statistics
import subprocess
import time
from dataclasses import dataclass

from .execute import Progress, finish, spawn, to_run, without_settings, write
from .identity import identity, tools_digest
from .machine import Others
from .plan import HERE, File, Refused
from .reduce import write_measured

TWEED = "tweed"
KEYS = {"title", "text", "repetitions", "timeout", "other", "places", "wanted"}
HELLOS = 5  # of a run
RATES = ("MB/s", "M/s")
COLUMNS = ["place", "pes", "implementation", "repetition", "state", "measure", "value", "unit"]
RESULT = re.compile(r"^([a-z_0-9.]+)\|([0-9.]+)\|(\S+)$", re.M)


@dataclass(frozen=True, eq=False)
class Place:
    """The runs of a plan.  @turns: measures, all if empty, of the runs of a round; @options: of each launcher, by
    implementation, "NAME" or "NAME, VARIANT"."""
    name: str
    text: str
    pes: tuple
    turns: tuple
    start: bool
    options: dict


@dataclass(frozen=True)
class Wanted:
    """The bound on ratios to any other implementation, for measures that match a pattern."""
    place: str
    measures: tuple
    ratio: float

    def fits(self, place, measure):
        return place == self.place and any(fnmatch.fnmatchcase(measure, m) for m in self.measures)


class ShmemPlan(File):
    def __init__(self, path):
        super().__init__(path, KEYS)
        self.others = self.typed(self.table, "other", dict, {})
        for name, other in self.others.items():
            self.known(other, {"compile", "run", "environment"}, f"other.{name}")
            if not all(self.typed(other, k, str, "") for k in ("compile", "run")):
                raise Refused(f"{path}: other.{name} takes compile and run, the commands before the source and before "
                              f"-n")
        self.places = [self.place(t) for t in self.typed(self.table, "places", list, [])]
        self.wanted = [self.bound(t) for t in self.typed(self.table, "wanted", list, [])]
        self.runs = [(place, pes, turn, who) for place in self.places for pes in place.pes
                     for turn in range(len(place.turns))
                     for who in place.options]

    def place(self, t):
        self.known(t, {"name", "text", "pes", "measure", "turns", "start", "options"}, "[[places]]")
        name, options = self.typed(t, "name", str, ""), self.typed(t, "options", dict, {})
        pes = self.typed(t, "pes", list, [2])
        if not re.fullmatch(r"\w+", name):
            raise Refused(f"{self.path}: a place has a name, of letters and digits, not {name!r}")
        if not pes or not all(isinstance(n, int) and n > 0 for n in pes):
            raise Refused(f"{self.path}: place {name}: pes is a list of whole numbers from 1")
        turns = self.typed(t, "turns", list, [self.typed(t, "measure", list, [])])
        if not turns or not all(isinstance(turn, list) for turn in turns) or ("turns" in t and "measure" in t):
            raise Refused(f"{self.path}: place {name}: measure is a list, or turns is a list of such lists")
        for who in options:
            if who.split(",")[0] not in (TWEED, *self.others):
                raise Refused(f"{self.path}: place {name}: there is no implementation {who}: there are "
                              f"{', '.join((TWEED, *self.others))}")
        return Place(name, self.typed(t, "text", str, name), tuple(pes), tuple(map(tuple, turns)),
                     self.typed(t, "start", bool, False), {TWEED: "", **options})

    def bound(self, t):
        self.known(t, {"place", "measures", "ratio"}, "[[wanted]]")
        if self.typed(t, "place", str, "") not in [p.name for p in self.places]:
            raise Refused(f"{self.path}: [[wanted]] names no place of this plan: there are "
                          f"{', '.join(p.name for p in self.places)}")
        return Wanted(t["place"], tuple(self.typed(t, "measures", list, [])),
                      float(self.typed(t, "ratio", (int, float), 1)))


# ---- running ----

def result_name(place, pes, turn, who, repetition):
    return re.sub(r"[^A-Za-z0-9-]+", "_", f"{place.name}-{pes}-{who}" +
                  (f"-{turn}" if len(place.turns) > 1 else "")) + f".{repetition}.json"


class Executor:
    """One run at a time, because times are measured."""

    def __init__(self, plan, directory, tweed):
        self.plan, self.tweed, self.directory = plan, tweed, directory
        self.programs = {}
        os.makedirs(os.path.join(directory, "runs"), exist_ok=True)

    def build(self):
        """Compile a program for each implementation; return those whose compiler is not installed."""
        source = next((s for s in (os.path.join(HERE, "..", "apps", "shmem_bench.c"),
                                   os.path.join(HERE, "shmem_bench.c")) if os.path.exists(s)), None)
        if not source:
            raise Refused(f"there is no shmem_bench.c beside {HERE}: install Tweed as a whole")
        absent = []
        virtual = any("--time" in o for place in self.plan.places for o in place.options.values())
        for i, (name, compiler) in enumerate([(TWEED, [self.tweed, "oshcc", *["--count"] * virtual, "-O2"])] +
                                             [(n, shlex.split(o["compile"])) for n, o in self.plan.others.items()]):
            program = os.path.join(os.path.abspath(self.directory), f"program-{i}")
            if not shutil.which(compiler[0]) or (name != TWEED
                                                 and not shutil.which(shlex.split(self.plan.others[name]["run"])[0])):
                absent.append(name)
                continue
            done = subprocess.run([*compiler, "-o", program, source], capture_output=True, text=True)
            if done.returncode:
                raise Refused(f"`{shlex.join(compiler)}` does not compile {source}: {done.stderr.strip()[-300:]}")
            self.programs[name] = program
        return absent

    def path(self, *run):
        return os.path.join(self.directory, "runs", result_name(*run))

    def run_all(self):
        """Run round by round, implementations in turns."""
        runs = [r for r in self.plan.runs if r[3].split(",")[0] in self.programs]
        todo = to_run([(*r, i) for i in range(self.plan.repetitions) for r in runs], self.path,
                      lambda *r: self.identity(*r[:4]), self.plan.timeout)
        progress = Progress(len(todo))
        try:
            for place, pes, turn, who, repetition in todo:
                progress.show(f"{place.name} {pes} {who}")
                write(self.path(place, pes, turn, who, repetition), self.one(place, pes, turn, who, repetition))
                progress.step(f"{place.name} {pes} {who}")
        finally:
            progress.end()

    def command(self, place, pes, who):
        name = who.split(",")[0]
        launcher = [self.tweed, "oshrun"] if name == TWEED else shlex.split(self.plan.others[name]["run"])
        return [*launcher, "-n", str(pes), *shlex.split(place.options[who]), self.programs[name]]

    def environment(self, who):
        return {k: str(v) for k, v in self.plan.others.get(who.split(",")[0], {}).get("environment", {}).items()}

    def identity(self, place, pes, turn, who):
        tools = [tools_digest(self.tweed)] if who.split(",")[0] == TWEED else []
        return identity([*self.command(place, pes, who), *place.turns[turn], place.start, *tools],
                        self.environment(who), [self.programs[who.split(",")[0]]])

    def one(self, place, pes, turn, who, repetition):
        environment = without_settings() | self.environment(who)
        command = [*self.command(place, pes, who), *place.turns[turn]]
        result = {"place": place.name, "pes": pes, "implementation": who, "repetition": repetition, "command": command,
                  "identity": self.identity(place, pes, turn, who), "timeout": self.plan.timeout}
        result |= self.execute(command, environment)
        if place.start and turn == 0 and result["state"] == "ok":
            hellos = [self.execute([*self.command(place, pes, who), "hello"], environment) for _ in range(HELLOS)]
            if any(h["state"] != "ok" for h in hellos):
                result["state"] = "failed"
            result["measured"]["hello"] = [statistics.median(h["wall"] for h in hellos) * 1e6, "us"]
        return result

    def execute(self, command, environment):
        """A run that printed all of its figures is valid, however it ended: some implementations crash at the end."""
        begun, others = time.monotonic(), Others()
        with spawn(command, environment) as child:
            out, err, late = finish(child, self.plan.timeout)
        complete = "end" in out.splitlines()
        return {"state": "timeout" if late else "ok" if complete else "failed", "exit_status": child.returncode,
                "wall": time.monotonic() - begun, "others": others.share(),
                "measured": {name: [float(value), unit] for name, value, unit in RESULT.findall(out)},
                "errors": err[-2000:]}


# ---- results ----

def reduce(directory, plan):
    """Write runs.csv for the plan's runs."""
    write_measured(directory, COLUMNS, lambda measured: [(measure, *value) for measure, value in measured.items()],
                   {result_name(*r, i) for r in plan.runs for i in range(plan.repetitions)})


class Data:
    """Figures of rounds, by (place, pes, implementation, measure); @units by measure; @bad: failed runs."""

    def __init__(self, directory, plan):
        self.plan, self.units, self.printed, found, bad = plan, {}, {}, {}, {}
        with open(os.path.join(directory, "runs.csv"), encoding="utf-8") as f:
            for r in csv.DictReader(f):
                key = r["place"], int(r["pes"]), r["implementation"]
                if r["state"] != "ok":
                    bad[*key, r["repetition"]] = r["state"]
                elif r["measure"]:
                    self.units[r["measure"]] = r["unit"]
                    self.printed.setdefault(r["place"], {})[r["measure"]] = True
                    found.setdefault((*key, r["measure"]), {})[r["repetition"]] = float(r["value"])
        self.found = found
        self.bad = [(*k, state) for k, state in bad.items()]

    def value(self, place, pes, who, measure):
        rounds = self.found.get((place.name, pes, who, measure))
        return statistics.median(rounds.values()) if rounds else None

    def measures(self, place):
        """The measures of a place, in the order in which they were printed."""
        return list(self.printed.get(place.name, ()))

    def ratio(self, place, pes, other, measure):
        """Median over the rounds of Tweed's time divided by the other's in the same round; for rates, of the other's
        divided by Tweed's: below 1 Tweed is faster.  None: no round has both."""
        one, two = (self.found.get((place.name, pes, who, measure), {}) for who in (TWEED, other))
        if self.units.get(measure) in RATES:
            one, two = two, one
        ratios = [value / two[i] for i, value in one.items() if two.get(i)]
        return statistics.median(ratios) if ratios else None
