#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Virtual time: runs repeat themselves to the nanosecond, whatever else this host does; costs have their effects.

virtual.py TWEED SOURCES   builds kernels that count their work into the current folder's virtual/; status 1 when a
check fails"""
import json
import os
import subprocess
import sys
import time

tweed, sources = sys.argv[1:3]
folder = os.path.abspath("virtual")
failed = 0
PROTOCOLS = ["2L", "2LS", "2LOffMC", "2LMigr", "1LD", "TS", "SC", "simple"]


def build(name):
    program = os.path.join(folder, name)
    subprocess.run([tweed, "cc", "--no-stores", "--count", "-O3", "-I" + sources, "-I" + sources + "/apps",
                    f"{sources}/apps/{name}.c", f"{sources}/apps/kernel.c", "-o", program, "-lm"], check=True)
    return program


def run(program, nodes, processors, protocol, machine="memory-channel", arguments=(), cpus=None):
    """The statistics without what may differ; None if the run failed."""
    stats = os.path.join(folder, "stats.json")
    command = [tweed, "run", "--time", "virtual", "--machine", machine, "-n", str(nodes), "-p", str(processors),
               "--protocol", protocol, "--stats", stats, program, "--verify", *arguments]
    done = subprocess.run(["timeout", "-s", "KILL", "120", *command], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, preexec_fn=(lambda: os.sched_setaffinity(0, cpus)) if cpus else None)
    if done.returncode:
        print(f"status {done.returncode}: {' '.join(command)}\n{done.stdout}{done.stderr}")
        return None
    with open(stats) as f:
        data = json.load(f)
    return {key: value for key, value in data.items() if key not in ("wall", "date", "configuration")}


def check(ok, what):
    global failed
    failed += not ok
    print(f"{'ok' if ok else 'FAILED'}: {what}", flush=True)


def repeats(program, arguments):
    """Alone, beside a busy loop, and on one core."""
    for protocol in PROTOCOLS:
        alone = run(program, 2, 2, protocol, arguments=arguments)
        with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
            beside = run(program, 2, 2, protocol, arguments=arguments)
            busy.kill()
        one = run(program, 2, 2, protocol, arguments=arguments, cpus={min(os.sched_getaffinity(0))})
        name = os.path.basename(program)
        check(alone and alone == beside, f"{name} under {protocol} takes {alone and alone['elapsed']} s, also beside "
              f"a busy loop")
        check(alone and alone == one, f"{name} under {protocol}: also on one core")


def observed(program, arguments):
    """Neither a trace nor statistics take virtual time."""
    def measure(*options):
        done = subprocess.run([tweed, "run", "--time", "virtual", "--machine", "memory-channel", "-n", "2", "-p", "2",
                               *options, program, *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True)
        return [line for line in done.stdout.splitlines() if line.startswith("time:")]
    alone = measure()
    for options in ("--trace", os.path.join(folder, "trace")), ("--stats", os.path.join(folder, "stats.json")):
        check(alone and alone == measure(*options), f"{alone}, also with {options[0]}")


def machine(text):
    path = os.path.join(folder, "machine.toml")
    with open(path, "w") as f:
        f.write(text)
    return path


def costs(program, arguments):
    """Each cost of an operation that occurs makes the run longer; computation alone scales with processors."""
    free = {"work_ps": 1000, **{cost + "_ns": 0 for cost in ("trap", "protect", "twin", "diff", "merge", "copy",
            "directory", "lock", "message", "serve", "land", "overhead", "latency")}, "link_mb": 0, "network_mb": 0}

    def elapsed(changes, nodes=2, processors=2):
        text = "".join(f"{key} = {value}\n" for key, value in {**free, **changes}.items())
        data = run(program, nodes, processors, "2L", machine(text), arguments)
        return data["elapsed"] if data else 0
    base, alone = elapsed({}), elapsed({}, 1, 1)
    check(3.5 < alone / max(base, 1e-9) < 4.5, f"without costs four processors are {alone / max(base, 1e-9):.2f} "
          "times as fast as one")
    for cost in "trap", "protect", "directory", "overhead", "latency", "twin", "diff", "serve", "land":
        more = elapsed({cost + "_ns": 10000})
        check(more > base, f"{cost}: {base:.6f} s without, {more:.6f} s with it")
    for bandwidth in "link", "network":
        more = elapsed({bandwidth + "_mb": 1, "latency_ns": 1})
        check(more > base, f"{bandwidth}: {base:.6f} s unlimited, {more:.6f} s with 1 MB/s")
    slow = elapsed({"work_ps": 2000}, 1, 1)
    check(1.9 < slow / alone < 2.1, f"work: {alone:.6f} s at 1000 ps a block, {slow:.6f} s at 2000")


def openshmem():
    """What operations of PEs take, by the machine's costs: latency 1000 ns, overhead 100, an access within a node 40, 1
    ns a byte on the link, and 4096 for a KiB that is copied; and 25 ns for the look at the clock at the end."""
    program = os.path.join(folder, "pes")
    subprocess.run([tweed, "oshcc", "--count", "-O2", f"{sources}/tests/virtual/pes.c", "-o", program], check=True)
    names = [line.split("(")[1].split(",")[0] for line in open(f"{sources}/include/tweed/driver/costs.h")
             if line.strip().startswith("X(")]
    costs = {"latency": 1000, "overhead": 100, "directory": 40, "copy": 4096, "link": 1000}
    path = machine("".join(f"{name}_{'ps' if name == 'work' else 'mb' if name in ('link', 'network') else 'ns'} = "
                           f"{costs.get(name, 0)}\n" for name in names))

    def said(nodes, cpus=None):
        done = subprocess.run(["timeout", "-s", "KILL", "60", tweed, "oshrun", "-n", "4", "--ppn", str(4 // nodes),
                               "--time", "virtual", "--machine", path, program], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, env={**os.environ, "SHMEM_SYMMETRIC_SIZE": "2M"},
                              preexec_fn=(lambda: os.sched_setaffinity(0, cpus)) if cpus else None)
        check(done.returncode == 0 and not done.stderr, f"pes on {nodes} nodes: {done.stderr}")
        return {line.rpartition(" ")[0]: int(line.rpartition(" ")[2]) for line in done.stdout.splitlines()}
    for nodes, wanted in (2, {"ping-pong": (2150, 70), "ping-pong within the node": (80, 200), "fetch_inc": (2108, 1),
                              "inc": (100, 1), "put of 32 KiB": (34893, 1), "barrier": (1148, 100)}), \
            (1, {"ping-pong": (80, 200), "fetch_inc": (40, 1), "inc": (40, 1), "put of 32 KiB": (131137, 1)}):
        alone = said(nodes)
        for what, (ns, more) in wanted.items():
            check(ns <= alone[what] <= ns + more, f"{what} on {nodes} nodes: {alone[what]} ns of {ns} to {ns + more}")
        for what, value in ("sum", 256), ("count", 128), ("slept", 2000025), ("day", 0), ("seconds", 0):
            check(alone[what] == value, f"{what} on {nodes} nodes: {alone[what]} of {value}")
        with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
            beside = said(nodes)
            busy.kill()
        check(alone == beside and alone == said(nodes, {min(os.sched_getaffinity(0))}),
              f"on {nodes} nodes all take as long beside a busy loop, and on one core")


THREADS = {"sum": (2016, 0), "busy": (1, 0), "counter": (1, 0), "wall": (1, 0), "turns": (1, 0), "atomic": (0, 10000),
           "critical": (0, 40000), "hand-over": (100, 120000), "pipe": (1000000, 300000), "poll": (5000000, 10000),
           "spin": (3000000, 100000), "lock by hand": (0, 200000),
           "counted": (100, 0)}


def threads():
    """Programs of threads; one that does not count is refused."""
    source, program = f"{sources}/tests/virtual/threads.c", os.path.join(folder, "threads")
    for options, name in (["--count"], program), ([], program + ".uncounted"):
        subprocess.run([tweed, "omp", "cc", *options, "-O2", "-fopenmp", source, "-o", name], check=True)

    def said(nodes, processors, protocol, end="", cpus=None, arguments=()):
        return subprocess.run(["timeout", "-s", "KILL", "60", tweed, "run", "--time", "virtual", "--machine", "hdr",
                               "-n", str(nodes), "-p", str(processors), "--protocol", protocol, program + end,
                               *arguments],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              preexec_fn=(lambda: os.sched_setaffinity(0, cpus)) if cpus else None)
    for nodes, processors, protocol in (1, 1, "2L"), (1, 2, "TS"), (2, 1, "2L"), (2, 1, "TS"), (2, 2, "2LMigr"):
        job = f"threads on {nodes}x{processors} under {protocol}"
        done = said(nodes, processors, protocol)
        check(done.returncode == 0 and not done.stderr, f"{job}: status {done.returncode} {done.stderr}")
        values = {line.rpartition(" ")[0]: int(line.rpartition(" ")[2]) for line in done.stdout.splitlines()}
        for name, (least, more) in THREADS.items():
            check(least <= values.get(name, -1) <= least + more,
                  f"{job}: {name} {values.get(name)} of {least} to {least + more}")
        share = values.get("loop of all", 0) * nodes * processors / max(values.get("loop of one", 0), 1)
        check(.99 < share < 1.03, f"{job}: a loop on all takes {share:.3f} of its part of the time on one")
        with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
            beside = said(nodes, processors, protocol).stdout
            busy.kill()
        check(done.stdout == beside == said(nodes, processors, protocol, "", {min(os.sched_getaffinity(0))}).stdout,
              f"{job}: all take as long beside a busy loop, and on one core")
    # No chance helps a node that others keep from a word of synchronization, or from a signature.
    for name, arguments in ("cancel", ["1"]), ("atomics", ["3"]):
        program = os.path.join(folder, name)
        subprocess.run([tweed, "cc", "--pthreads", "--count", "-O2", "-D_GNU_SOURCE",
                        f"{sources}/tests/pthreads/{name}.c", "-latomic", "-o", program], check=True)
        done = said(2, 1, "TS", arguments=arguments)
        check(done.returncode == 0 and not done.stderr, f"{name} under TS: status {done.returncode} {done.stderr}")
    program = os.path.join(folder, "threads")
    done = said(2, 1, "2L", ".uncounted")
    check(done.returncode == 2 and done.stderr.count("\n") == 1 and "build it with --count" in done.stderr,
          f"threads that count no work: status {done.returncode} {done.stderr}")


def running(program):
    """The processes that execute the program."""
    found = []
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{process}/exe") == program:
                found.append(int(process))
        except OSError:
            pass  # it has ended
    return sorted(found)


def endings(program):
    """A processor that dies, or that never joins, does not hang the job.  Whether the agent's thread or the job's end
    comes first differs from run to run."""
    short = [subprocess.run(["timeout", "-s", "KILL", "20", tweed, "run", "--time", "virtual", "-n", "1", "-p", "1",
                             "/bin/true"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
             for _ in range(60)]
    check(all(d.returncode == 0 for d in short), f"a program that is no job, {len(short)} times: "
          f"{[d.stderr for d in short if d.returncode][:1]}")
    for what, command in ("a program that is no job", ["/bin/true"]), ("a refused option", [program, "--bad"]):
        done = subprocess.run(["timeout", "-s", "KILL", "20", tweed, "run", "--time", "virtual", "-n", "2", "-p", "2",
                               *command], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        check(done.returncode == (0 if command == ["/bin/true"] else 2) and "by force" not in done.stderr,
              f"{what}: status {done.returncode}")
    with subprocess.Popen([tweed, "run", "--time", "virtual", "-n", "2", "-p", "2", program, "--iterations", "1000000"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as job:
        children = []
        while len(children) < 4 and job.poll() is None:
            time.sleep(0.2)
            children = running(program)
        os.kill(children[-1], 9)
        try:
            said = job.communicate(timeout=20)[1]
        except subprocess.TimeoutExpired:
            job.kill()
            said = "nothing within 20 s"
        check("was killed by signal 9" in said and "by force" not in said, f"a processor is killed: {said.strip()}")


os.makedirs(folder, exist_ok=True)
em3d, sor = build("em3d"), build("sor")
repeats(em3d, ["--nodes", "2000", "--iterations", "10"])
repeats(sor, ["--rows", "256", "--columns", "256", "--iterations", "10"])
observed(em3d, ["--nodes", "2000", "--iterations", "10"])
costs(em3d, ["--nodes", "2000", "--iterations", "10"])
openshmem()
threads()
endings(sor)
sys.exit(failed > 0)
