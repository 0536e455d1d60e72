#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`tweed compare`: run a plan; tables, figures and a report (doc/guide/comparing.md)."""
import argparse
import datetime
import json
import os
import platform
import shlex
import shutil
import subprocess
import sys

from harness import execute, figure, interrupts, pgas, reduce, report, shmem, shmem_report, tables
from harness.files import claim
from harness.identity import is_of, tools_digest
from harness.plan import Plan, Refused, find, load
from harness.published import Published
from harness.table import write_all


def parse():
    p = argparse.ArgumentParser(prog="tweed compare",
                                description="Run protocols x applications x shapes x networks as a plan says, and "
                                            "make tables, "
                                "figures and a report of what came out.  What ran is not run again: a stopped plan "
                                "goes on where it was.")
    p.add_argument("plan", nargs="?", help="a file, or a plan that came with Tweed (see --list)")
    p.add_argument("--out", metavar="DIR", help="where results go (default: compare-PLAN)")
    p.add_argument("--jobs", type=int, metavar="N",
                   help="run up to N at the same time: for counts and virtual time, not for times (default 1; in "
                        "virtual time the number of cores)")
    p.add_argument("--retry", action="store_true", help="run again what did not end well")
    p.add_argument("--redraw", metavar="DIR", help="run nothing: make tables, figures and report of what DIR has")
    p.add_argument("--list", action="store_true", help="name the plans that came with Tweed")
    p.add_argument("--tweed", required=True, help=argparse.SUPPRESS)
    a = p.parse_args()
    if not a.list and bool(a.plan) == bool(a.redraw):
        raise Refused("give a plan, or --redraw DIR; --list names the plans that came with Tweed")
    if a.jobs is not None and a.jobs < 1:
        raise Refused(f"--jobs takes a whole number from 1, not {a.jobs}")
    return a


def plan_of(path):
    """The kind of a plan: one with places is for OpenSHMEM, one with locales for global pointers."""
    table = load(path)
    return shmem.ShmemPlan(path) if "places" in table else pgas.PgasPlan(path) if "locales" in table else Plan(path)


def show_plans():
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "plans")
    for name in sorted(os.listdir(folder)):
        plan = plan_of(os.path.join(folder, name))
        print(f"{name.removesuffix('.toml'):15} {len(plan.runs) * plan.repetitions:5} runs  {plan.title}")


def check(plan, tweed):
    """Refuse a plan that would fail later; return the published numbers, if the plan names some."""
    published = Published(plan.published) if plan.published else None
    tables.check(plan.tables, published)
    figure.check(plan.figures)
    clean = {k: v for k, v in os.environ.items() if not k.startswith("TWEED_")}
    questions = [(("info",), tuple(r.settled().items())) for r in plan.runs]
    questions += [(("run", "-n", "1", "-p", "1", "--time", "virtual", "--machine", r.machine, "true"), ())
                  for r in plan.runs if r.machine]
    for words, settings in dict.fromkeys(questions):
        done = subprocess.run([tweed, *words], capture_output=True, text=True, env=clean | dict(settings),
                              stdin=subprocess.DEVNULL)
        if done.returncode:
            raise Refused(f"{plan.path}: {done.stderr.strip().removeprefix('tweed: ')}")
    return published


def prepare(a, tweed):
    """Create the directory, with a copy of the plan and a description of the machine."""
    path = find(a.plan)
    directory = a.out or "compare-" + os.path.basename(path).removesuffix(".toml")
    plan = plan_of(path)
    a.jobs = a.jobs or (len(os.sched_getaffinity(0)) if plan.virtual else 1)
    if isinstance(plan, Plan):
        check(plan, tweed)
    else:
        figure.check_gnuplot()
        if a.jobs > 1:
            raise Refused(f"{path} measures times: it takes no --jobs")
    machine = {"name": platform.node(), "cpus": len(os.sched_getaffinity(0)), "kernel": platform.release(),
               "machine": platform.machine(),
               "tweed": subprocess.run([tweed, "--version"], capture_output=True, text=True,
                                       check=True).stdout.split()[-1],
               "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"), "jobs": a.jobs,
               "command": shlex.join(["tweed", "compare", *sys.argv[3:]]), "plan": os.path.abspath(path)}
    try:
        os.makedirs(directory, exist_ok=True)
        claim(directory)
        before = report.machine(directory) if os.path.exists(os.path.join(directory, "machine.json")) else machine
        for k in ("name", "cpus", "kernel", "tweed"):
            if before[k] != machine[k]:
                raise Refused(f"{directory} has results of another machine or version ({k} {before[k]}, here "
                              f"{machine[k]}): give another --out")
        shutil.copyfile(path, os.path.join(directory, "plan.toml"))
        machine["jobs"] = max(machine["jobs"], before["jobs"])
        execute.write(os.path.join(directory, "machine.json"), machine)
    except OSError as e:
        raise Refused(f"{directory} cannot be written: {e.strerror}; give another --out") from e
    return directory, plan


def bench(directory, plan, tweed):
    """Measure table 1's costs, once for each build of Tweed."""
    path, of = os.path.join(directory, "bench.json"), os.path.join(directory, "bench.of.json")
    identity = {"identity": tools_digest(tweed)}
    if "table1" not in plan.tables or (os.path.exists(path) and is_of(of, identity["identity"], 0)):
        return
    done = subprocess.run([tweed, "bench", "--json", "--protocols", "2L 2LS 1LD 1L TS"], capture_output=True, text=True)
    if done.returncode:
        raise Refused(f"`tweed bench` failed: {done.stderr.strip()}")
    execute.write(path, json.loads(done.stdout))
    execute.write(of, identity)


def forget(directory):
    """Remove the results of failed runs."""
    folder = os.path.join(directory, "runs")
    for name in os.listdir(folder) if os.path.isdir(folder) else []:
        path = os.path.join(folder, name)
        with open(path, encoding="utf-8") as f:
            if json.load(f).get("state") != "ok":
                os.remove(path)


def draw(directory, plan, tweed):
    """Write tables, figures and the report from runs.csv; return the tables, whether a run failed, and messages."""
    data = reduce.Data(directory, plan)
    if not data.groups:
        raise Refused(f"{directory} has no results of this plan")
    published = check(plan, tweed)
    made = list(tables.make(plan.tables, data, published))
    write_all(directory, made)
    drawn = list(figure.make(plan.figures, data, published))
    for f in drawn:
        f.draw(os.path.join(directory, "figures"))
    machine = report.machine(directory)
    warned = list(report.warnings(data, machine, machine["jobs"]))
    report.write(directory, plan, warned, machine, made, drawn)
    return made, any(g.bad for g in [*data.groups, *data.plain.values()]), warned


def run(a, directory, plan):
    executor = execute.Executor(plan, directory, a.tweed, a.jobs)
    for name in executor.programs.check():
        print(f"tweed: {name} is not built for 1L (tweed cc): left out there", file=sys.stderr)
    executor.run_all()
    bench(directory, plan, a.tweed)


def run_shmem(a, directory, plan):
    executor = shmem.Executor(plan, directory, a.tweed)
    for name in executor.build():
        print(f"tweed: {name} is not installed here: left out", file=sys.stderr)
    executor.run_all()


def run_pgas(a, directory, plan):
    pgas.Executor(plan, directory, a.tweed).run_all()


def main():
    interrupts.take()
    a = parse()
    if a.list:
        show_plans()
        return 0
    if a.redraw:
        directory = a.redraw
        if not os.path.exists(os.path.join(directory, "plan.toml")):
            raise Refused(f"{directory} is no folder of tweed compare: it has no plan.toml; name one with --redraw")
        plan = plan_of(os.path.join(directory, "plan.toml"))
    else:
        directory, plan = prepare(a, a.tweed)
        if a.retry:
            forget(directory)
    runner, results = {Plan: (run, reduce), shmem.ShmemPlan: (run_shmem, shmem),
                       pgas.PgasPlan: (run_pgas, pgas)}[type(plan)]
    try:
        if not a.redraw:
            runner(a, directory, plan)
    finally:  # also when stopped: completed runs can be redrawn
        if os.path.isdir(os.path.join(directory, "runs")):
            results.reduce(directory, plan)
    if isinstance(plan, Plan):
        made, bad, warned = draw(directory, plan, a.tweed)
    else:
        made, bad, warned = (shmem_report if isinstance(plan, shmem.ShmemPlan) else pgas).draw(directory, plan)
    print("\n".join(t.text() for t in made))
    print("\n".join([*warned, *([""] if warned else [])]), end="")
    print(f"{os.path.join(directory, 'report.html')}")
    return 1 if bad else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Refused as e:
        print(f"tweed: {e}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:
        os._exit(0)  # the reader has closed the pipe
    except OSError as e:
        print(f"tweed: cannot write results{f' to {e.filename}' if e.filename else ''}: {e.strerror}; what ran is "
              f"kept, and the same command goes on "
              "from there when that is mended", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt as e:
        print("\ntweed: stopped; the same command goes on from here, and --redraw shows what ran", file=sys.stderr)
        sys.exit(128 + e.args[0])
