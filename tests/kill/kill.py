# SPDX-License-Identifier: BSD-3-Clause
"""Kill one process of a job at a random moment: the job must be gone within two seconds, say who died, and leave
nothing behind.

usage: kill.py TWEED BUSY [--tries N] [--seed S] [--shape NxP]

A try fails when the launcher outlives the victim by 2 s; when its status does not name the signal; when standard error
is not exactly one line with the victim's pid; when a process of the job is left (found by a mark in its
environment); or when /dev/shm or /tmp has a new entry (a private mount of each, where we may make one).  Some
tries kill the launcher instead: then there is nobody to speak, but the rest holds."""

import argparse
import ctypes
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

LIMIT_S = 2.0
PLACES = ("/dev/shm", "/tmp")
# tsan's runtime makes this file in /tmp before main and unlinks it at once; a process killed in between leaves it.
NOT_OURS = "tsan.rodata."
# In a sanitizer build a SIGSEGV that we send shall kill, not be explained.
SANITIZERS = {name: os.environ.get(name, "") + ":handle_segv=0" for name in ("ASAN_OPTIONS", "TSAN_OPTIONS")}


def private_places(paths):
    """New /dev/shm and /tmp for us and our children alone; returns copies of the programs that are still reachable."""
    libc = ctypes.CDLL(None, use_errno=True)
    clone_newns, ms_rec, ms_private = 0x20000, 0x4000, 0x40000
    programs = [(os.path.basename(p), open(p, "rb").read()) for p in paths]
    os.chdir("/")
    if libc.unshare(clone_newns) or libc.mount(b"none", b"/", None, ms_rec | ms_private, None):
        return None
    for place in PLACES:
        if libc.mount(b"tmpfs", place.encode(), b"tmpfs", 0, None):
            return None
    copies = []
    os.mkdir("/tmp/bin")
    for name, content in programs:
        copies.append("/tmp/bin/" + name)
        with open(copies[-1], "wb") as f:
            f.write(content)
        os.chmod(copies[-1], 0o755)
    return copies


def entries(private):
    found = {os.path.join(p, e) for p in PLACES for e in os.listdir(p) if not e.startswith(NOT_OURS)}
    return found if private else {e for e in found if "tweed" in e}


def parent(pid):
    try:
        with open(f"/proc/{pid}/stat", "rb") as f:
            return int(f.read().rsplit(b")", 1)[1].split()[1])
    except (OSError, IndexError):
        return -1


def marked(mark):
    """All living processes that inherited @mark (zombies have no environment any more)."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as f:
                if mark in f.read():
                    found.append(int(pid))
        except OSError:
            pass
    return found


def describe(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            return f"{pid} ({f.read().replace(bytes(1), b' ').decode(errors='replace').strip()})"
    except OSError:
        return str(pid)


def family(launcher):
    """(agents, processors) of the job."""
    parents = {int(p): parent(p) for p in os.listdir("/proc") if p.isdigit()}
    agents = [p for p, of in parents.items() if of == launcher]
    return agents, [p for p, of in parents.items() if of in agents]


def choose(rng, launcher):
    """Kill somebody; returns (kind, pid, signal), or None when the job does not run."""
    number = rng.choice((signal.SIGKILL, signal.SIGSEGV))
    kind = rng.choice(("processor",) * 6 + ("agent",) * 3 + ("launcher",))
    if kind == "launcher":
        os.kill(launcher, signal.SIGKILL)
        return kind, launcher, signal.SIGKILL
    give_up = time.monotonic() + 10
    while time.monotonic() < give_up:
        agents, processors = family(launcher)
        victims = processors if kind == "processor" else agents
        if victims:
            victim = rng.choice(victims)
            try:
                os.kill(victim, number)
                return kind, victim, number
            except ProcessLookupError:
                pass
    return None


def one_try(rng, options, number, private):
    nodes, processors = (int(x) for x in options.shape.split("x"))
    text = f"killtest-{os.getpid()}-{number}-{rng.getrandbits(64):x}"
    mark = ("TW_KILL_MARK=" + text).encode()
    command = [options.tweed, "run", "-n", str(nodes), "-p", str(processors), options.busy]
    if rng.random() < 0.3:
        command.append("--child")
    before = entries(private)
    with tempfile.TemporaryFile(dir="/") if private else tempfile.TemporaryFile() as err:
        job = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=err,
                               env={**os.environ, **SANITIZERS, "TW_KILL_MARK": text})
        time.sleep(rng.choice((0.0, 0.01, 0.05, 0.3)) * rng.random() * 2)
        chosen = choose(rng, job.pid)
        if not chosen:
            job.kill()
            err.seek(0)
            sys.exit("kill: the job does not run: " + err.read().decode(errors="replace"))
        kind, victim, sig = chosen
        killed = time.monotonic()
        problems = []
        try:
            status = job.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            problems.append(f"the launcher still runs after {LIMIT_S} s")
            status = None
        left = marked(mark)
        while left and time.monotonic() < killed + LIMIT_S:
            time.sleep(0.01)
            left = marked(mark)
        took = time.monotonic() - killed
        if left:
            problems.append("left behind: " + ", ".join(describe(p) for p in left))
            for pid in left:
                os.kill(pid, signal.SIGKILL)
            job.wait()
        err.seek(0)
        lines = err.read().decode(errors="replace").splitlines()
    if kind == "launcher":
        if lines:
            problems.append("the others complained")
    else:
        if status is not None and status != 128 + sig:
            problems.append(f"status {status}, expected {128 + sig}")
        if len(lines) != 1 or f"(pid {victim})" not in lines[0] or f"signal {int(sig)} " not in lines[0]:
            problems.append(f"not exactly one line that names pid {victim} and signal {int(sig)}")
        if lines and kind not in lines[0]:
            problems.append(f"the line does not say that it was a{'n' if kind == 'agent' else ''} {kind}")
    new = entries(private) - before
    if new:
        problems.append("new files: " + ", ".join(sorted(new)))
    return kind, victim, sig, took, lines, problems


def stopped_start(options, number):
    """An agent that is stopped while the job starts: found within the watch, and named."""
    job = subprocess.Popen([options.tweed, "run", "-n", "2", "--watch", "1", options.busy], stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL,
                           stderr=subprocess.PIPE)
    agents = []
    while not agents and job.poll() is None:
        agents = family(job.pid)[0]
    time.sleep(0.003 * number)
    os.kill(agents[0], signal.SIGSTOP)
    began = time.monotonic()
    try:
        err = job.communicate(timeout=45)[1].decode(errors="replace")
    except subprocess.TimeoutExpired:
        job.kill()
        err = "still runs"
        job.wait()
        os.kill(agents[0], signal.SIGKILL)
    took = time.monotonic() - began
    problems = [] if err.count("\n") == 1 and f"(pid {agents[0]}) has been silent" in err else [f"{took:.1f} s: "
                                                                                                f"{err!r}"]
    return problems


def check_the_check():
    """The search for survivors must be able to find one."""
    mark = f"killtest-control-{os.getpid()}"
    sleeper = subprocess.Popen(["sleep", "60"], env={**os.environ, "TW_KILL_MARK": mark})
    time.sleep(0.05)
    found = sleeper.pid in marked(("TW_KILL_MARK=" + mark).encode())
    sleeper.kill()
    sleeper.wait()
    if not found:
        sys.exit("kill: the control failed: a survivor was not found")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("tweed")
    p.add_argument("busy")
    p.add_argument("--tries", type=int, default=int(os.environ.get("KILL_TRIES", "20")))
    p.add_argument("--seed", type=int, default=int(os.environ.get("KILL_SEED", str(time.time_ns() % 1000000))))
    p.add_argument("--shape", default="2x2")
    p.add_argument("--starts", type=int, default=0, help="tries to stop an agent at the start, before the others")
    options = p.parse_args()
    options.tweed, options.busy = os.path.abspath(options.tweed), os.path.abspath(options.busy)
    if not shutil.which("sleep"):
        sys.exit("kill: no sleep")
    check_the_check()
    copies = private_places([options.tweed, options.busy]) if os.geteuid() == 0 else None
    if copies:
        options.tweed, options.busy = copies
    failed, slowest = 0, 0.0
    for number in range(options.starts):
        if problems := stopped_start(options, number):
            failed += 1
            print(f"start {number}: {'; '.join(problems)}")
    for number in range(options.tries):
        rng = random.Random(options.seed * 1000003 + number)
        kind, victim, sig, took, lines, problems = one_try(rng, options, number, bool(copies))
        slowest = max(slowest, took)
        if problems:
            failed += 1
            print(f"try {number} (seed {options.seed}): {kind} {victim}, {signal.Signals(sig).name}: "
                  f"{'; '.join(problems)}")
            for line in lines:
                print("    stderr: " + line)
    print(f"kill: {options.tries + options.starts - failed} of {options.tries + options.starts} good, slowest "
          f"{slowest:.2f} s, seed {options.seed}")
    sys.exit(1 if failed else 0)


main()
