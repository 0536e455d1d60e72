# SPDX-License-Identifier: BSD-3-Clause
"""Jobs over several hosts: through a remote shell that stays here, through ssh between network namespaces, under a
resource
manager; what is lost, stopped or cut ends the job with one sentence within the time, and leaves nothing behind.

usage: cluster.py TWEED SOR BUSY GROUP... [--tries N] [--watch SECONDS] [--transport NAME] [--whole] [--times]

GROUP: local, evil and silence (a shell in place of ssh), ssh, links and kernels (need root and sshd), mpirun, slurm
(its daemons
as root).  --whole: every kernel under every protocol, output through ssh, hosts that never answer.  Exit status 77:
cannot be tested
here."""

import argparse
import atexit
import hashlib
import json
import os
import re
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../kernels"))
import hosts as network  # noqa: E402
import slurm as manager  # noqa: E402
import small  # noqa: E402

LATE_S = 10  # seconds beyond the watch: other tests use the processors meanwhile
failures = []
sentences = {}  # of `ends`, with the seconds that they took
cases = 0
last_report = time.monotonic()


def processes():
    """(pid, command line, state) of all that look like part of a job."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                command = f.read().replace(b"\0", b" ").decode(errors="replace")
            with open(f"/proc/{pid}/environ", "rb") as f:
                environment = f.read()
            with open(f"/proc/{pid}/comm", encoding="ascii", errors="replace") as f:
                name = f.read().strip()
        except OSError:
            continue
        if mark.encode() in environment or (options.tweed in command and " agent --stdio" in command):
            found.append((int(pid), name, command))
    return [p for p in found if p[0] != os.getpid()]


def environment_of(pid):
    with open(f"/proc/{pid}/environ", encoding="utf-8", errors="replace") as f:
        return dict(entry.split("=", 1) for entry in f.read().split("\0") if "=" in entry)


def named(pid):
    """A pattern for what the launcher must call the agent @pid."""
    variables = environment_of(pid)
    if "PMIX_RANK" in variables:
        return f"node {variables['PMIX_RANK']} on host {re.escape(socket.gethostname())} "
    if "SSH_CONNECTION" in variables:
        host = {"10.231.1.2": "a", "10.231.2.2": "b"}[variables["SSH_CONNECTION"].split()[2]]
    elif "TW_CLUSTER_HOST" in variables:
        host = variables["TW_CLUSTER_HOST"]
    else:
        return rf"node \d \(pid {pid}\)"
    return f"node {'ab'.index(host)} on host {host} "


def left_behind(seconds, but=0):
    """What looks like part of a job after so long, @but one process."""
    end = time.monotonic() + seconds
    while (left := [p for p in processes() if p[0] != but]) and time.monotonic() < end:
        time.sleep(0.02)
    return left


def abandon():
    """Nothing of ours outlives us, also when we are given up."""
    for pid, _, _ in processes():
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass


class Job:
    """A running `tweed run`; its agents are found by their names."""

    def __init__(self, args, prefix=(), stdin=None, env=None):
        self.err = tempfile.TemporaryFile()
        self.out = tempfile.TemporaryFile()
        clean = {k: v for k, v in os.environ.items() if not k.startswith("TWEED_")}
        # who is not to be found silent has time on a busy machine
        watch = options.watch if options.busy in args else 20
        environment = {**clean, "TW_CLUSTER_MARK": mark, "TWEED_WATCH": str(watch), "TWEED_MEMORY": "64M",
                       "TWEED_TRANSPORT": options.transport, **(env or {})}
        self.process = subprocess.Popen([*prefix, *args], stdin=stdin or subprocess.DEVNULL, stdout=self.out,
                                        stderr=self.err,
                                        # a group that its parent can continue, as in a shell
                                        preexec_fn=os.setpgrp, env=environment)

    def text(self, file):
        file.seek(0)
        return file.read().decode(errors="replace")

    def wait(self, seconds):
        """(status, stdout, lines on stderr); status None: it had to be killed."""
        try:
            status = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            status = None
            self.process.kill()
            self.process.wait()
        lines = self.text(self.err).splitlines()
        return status, self.text(self.out), [line for line in lines if not line.startswith("srun: job ")]

    def runs(self, processors):
        """Wait until so many processors of `busy` run."""
        end = time.monotonic() + 60
        while time.monotonic() < end and self.process.poll() is None:
            if sum(name == "busy-runs" for _, name, _ in processes()) >= processors:
                return self.process.poll() is None
            time.sleep(0.05)
        return False

    def still(self):
        """Why it does not run, as far as can be seen."""
        return [f"the job does not run: status {self.process.poll()}, " + ", ".join(name for _, name, _ in processes())]

    def agents(self):
        return sorted(pid for pid, name, _ in processes() if name == "tweed-agent")


def report(name, problems, lines=()):
    global cases, last_report
    cases += 1
    if options.times:
        print(f"{time.monotonic() - last_report:6.1f} s  {name}", flush=True)
        last_report = time.monotonic()
    if problems:
        failures.append(name)
        print(f"{name}: {'; '.join(problems)}")
        for line in lines[:12]:
            print("    stderr: " + line)
        sys.stdout.flush()


def tweed(*args):
    return [options.tweed, "run", *args]


def good(name, job, seconds=60, stdout=None, status=0):
    got, out, lines = job.wait(seconds)
    problems = [] if got == status else [f"status {got}, not {status}"]
    if stdout is not None and not re.search(stdout, out):
        problems.append(f"prints {out[-300:]!r}")
    if status == 0 and lines:
        problems.append("complains")
    if left := left_behind(2):
        problems.append(f"leaves {left}")
    report(name, problems, lines)


def ends(name, job, since, *expected, within=None, status=None):
    """The job must end with one sentence that matches every pattern, and leave nothing."""
    within = within or options.watch + LATE_S
    got, _, lines = job.wait(max(within - (time.monotonic() - since), 0.1))
    took = time.monotonic() - since
    problems = []
    if got is None:
        problems.append(f"still runs after {within} s")
    elif got == 0 or (status is not None and got != status):
        problems.append(f"status {got}")
    said = [line for line in lines if line.startswith("tweed")]  # a remote shell may say why, too
    if len(said) != 1 or not all(re.search(e, said[0]) for e in expected):
        problems.append(f"not one line that matches {expected}")
    if left := left_behind(options.watch * 2 + LATE_S):
        problems.append(f"leaves {left}")
        for pid, _, _ in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
    report(name, problems, lines)
    if not problems:
        sentences.setdefault(re.sub(r"\bpid \d+", "pid N", said[0]), []).append(took)
    return took


def script(name, text):
    path = os.path.join(place, name)
    with open(path, "w", encoding="ascii") as f:
        f.write(text)
    os.chmod(path, stat.S_IRWXU)
    return path


# ---- a shell in place of ssh ----------------------------------------------------------------------------------------


SHELL = "#!/bin/sh\nexport TW_CLUSTER_HOST=$1\nshift\ncd /\n"


def shell():
    return ["--rsh", script("rsh", SHELL + "exec sh -c \"$*\"\n")]


def local():
    rsh = shell()
    start(rsh, ())
    refused(rsh)
    held()
    info(rsh)
    output(rsh)
    launcher(rsh)


def silence():
    stopped("emulated", [], tweed("-n", "2", "-p", "2", "--transport", "shm", options.busy))
    stopped("through a remote shell", [], tweed(*shell(), "--hosts", "a,b", "-p", "2", options.busy))


def start(rsh, prefix):
    good("a kernel on hosts", Job(tweed(*rsh, "--hosts", "a,b", "-p", "2", *options.sor), prefix),
         stdout="verified: yes")
    stats = os.path.join(place, "stats.json")
    good("statistics", Job(tweed(*rsh, "--hosts", "a,b", "-p", "2", "--protocol", "2LS", "--stats", stats,
                                 *options.sor), prefix),
         stdout="verified: yes")
    with open(stats, encoding="utf-8") as f:
        used = json.load(f)
    report("what hosts use", [f"{key} is {used[key]}" for key, choices in
                              (("fault", ("uffd", "uffd-monitor", "mprotect")), ("shootdown", ("protect", "polled")))
                              if used[key] not in choices])
    good("more nodes of a host", Job(tweed(*rsh, "--hosts", "a:2,b", "-n", "3", *options.sor), prefix),
         stdout="3 processors on 3 nodes[^$]*verified: yes")
    good("processors as nodes", Job(tweed(*rsh, "--hosts", "a,b", "-p", "2", "--protocol", "1LD", *options.sor),
                                    prefix),
         stdout="verified: yes")
    with open(os.path.join(place, "hosts"), "w", encoding="ascii") as f:
        f.write("# two\na:1  # first\nb\n")
    good("hosts' file", Job(tweed(*rsh, "--hostfile", os.path.join(place, "hosts"), "true"), prefix))
    good("environment, directory, arguments",
         Job(tweed(*rsh, "--hosts", "a,b", "--env", "TW_A=b c", "--tag", "sh", "-c", "echo $TW_A $PWD \"$1\"", "x",
                   "d  'e"), prefix),
         stdout=f"^(\\[[01].0\\] b c {re.escape(os.getcwd())} d  'e\n){{2}}$")
    text = b"".join(b"%d\n" % i for i in range(200000))
    data = tempfile.TemporaryFile()
    data.write(text)
    data.seek(0)
    good("input", Job(tweed(*rsh, "--hosts", "a,b", "md5sum"), prefix, stdin=data),
         stdout=hashlib.md5(text).hexdigest())
    good("status", Job(tweed(*rsh, "--hosts", "a,b", "sh", "-c", "exit 7"), prefix), status=7)


def refused(rsh):
    def bad(name, args, *expected):
        began = time.monotonic()
        ends(name, Job(tweed(*args)), began, *expected, within=10, status=2)
    def second(name, does, *expected):
        """The same of the second host, when the first has an agent already."""
        bad(name, ["--rsh", script("second",
                                   f"#!/bin/sh\nhost=$1\nshift\n[ $host = a ] || {does}\nexec sh -c \"$*\"\n"),
                   "--hosts", "a,b",
                   "true"], "host b ", *expected)
    bad("no tweed there", [*rsh, "--hosts", "a,b", "--remote-tweed", "/no/tweed", "true"], "host a", "/no/tweed",
        "--remote-tweed")
    bad("host that is not reached", ["--rsh", "/bin/false", "--hosts", "a,b", "true"], "host a cannot be reached",
        "/bin/false a true")
    bad("no remote shell", ["--rsh", "/no/rsh", "--hosts", "a,b", "true"], "/no/rsh", "No such file")
    bad("talkative shell", ["--rsh", script("noisy", "#!/bin/sh\necho Welcome to this host\n" +
                                            "shift; exec sh -c \"$*\"\n"),
                            "--hosts", "a,b", "true"], "host a answers with 'Welcome", "must print nothing")
    hello = struct.pack("<II16s32s64s40sQQII", 1, 176, b"tweed-agent 1", b"9.9.9", b"far", b"boot", 7, 7, 1, 1)
    with open(os.path.join(place, "hello"), "wb") as f:
        f.write(hello)
    bad("another version", ["--rsh", script("other", f"#!/bin/sh\ncat {place}/hello; cat >/dev/null\n"), "--hosts",
                            "a,b", "true"],
        "node 0 on host a", "tweed 9.9.9", "0000000000000007", "same build")
    second("another version of the second", f"{{ cat {place}/hello; exec cat >/dev/null; }}", "node 1", "tweed 9.9.9",
           "same build")
    second("no tweed on the second", "exit 127", "cannot run", "install tweed there")
    second("second that is not reached", "exit 255", "cannot be reached", "status 255")
    second("second that dies", "kill -9 $$", "cannot be reached", "signal 9")
    if options.whole:
        began = time.monotonic()
        ends("host that does not answer", Job(tweed("--rsh", script("mute", "#!/bin/sh\nsleep 1000\n"), "--hosts",
                                                    "a,b", "true")), began,
             "host a has not answered for 30 s", within=35, status=2)
    alone = os.path.join(place, "alone")
    os.mkdir(alone)
    here = os.getcwd()
    os.chdir(alone)
    job = Job(tweed("--rsh", script("remove", f"#!/bin/sh\nshift\nrmdir {alone} 2>/dev/null\nexec sh -c \"$*\"\n"),
                    "--hosts", "a,b", "true"))
    os.chdir(here)
    ends("directory that is not there", job, time.monotonic(), "cannot enter the directory", "all hosts have",
         within=10, status=2)


EVIL = """#!/usr/bin/env python3
import os, struct, subprocess, sys, threading
host, command = sys.argv[1], " ".join(sys.argv[2:])
os.environ["TW_CLUSTER_HOST"] = host
if host != "b":
    os.execvp("sh", ["sh", "-c", command])
agent = subprocess.Popen(["sh", "-c", command], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
turn = threading.Lock()
death = lambda processor: (8, struct.pack("<Iiiiiiii", processor, 7, 9, 0, 1, 0, 0, 1))
after, frames = {frames}

def read(file):
    head = file.read(8)
    if len(head) < 8:
        os._exit(0)
    kind, size = struct.unpack("<II", head)
    body = file.read(size)
    return kind, head + body

def say(data):
    with turn:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()

def evil():
    for kind, body in frames:
        say(struct.pack("<II", kind, len(body)) + body)

def commands():
    while True:
        kind, data = read(sys.stdin.buffer)
        agent.stdin.write(data)
        agent.stdin.flush()
        if kind == after:
            evil()

threading.Thread(target=commands, daemon=True).start()
while True:
    kind, data = read(agent.stdout)
    say(data)
    if after == kind:
        evil()
        if not frames:
            say(data)
"""


def evil():
    """A host whose agent lies, each time otherwise: the launcher names it, and neither breaks nor believes it."""
    number = 'lambda n: struct.pack("<I", n)'
    args = ["--hosts", "a,b", "-p", "2", "--survive", "sleep"]

    def liar(after, frames):
        """After a frame of this kind, from either side; no frames: it comes twice."""
        return ["--rsh", script("evil", EVIL.replace("{frames}", f"{after}, {frames}"))]
    lies = (("death of a processor that no node has", 7, "[death(0x41414141)]"),
            ("death before the start", 1, "[death(0)] * 3"),
            ("ready twice", 6, "[]"), ("answers to no question", 7, f"[(25, ({number})(0))] * 9"),
            ("output without end", 7, "[(15, struct.pack('<I', 1) + b'y' * 16384)] * 100"),
            ("a failure without status", 7, f"[(13, ({number})(0))]"))
    for name, after, frames in lies:
        job = Job(tweed(*liar(after, frames), *args, "20"))
        ends("evil: " + name, job, time.monotonic(), "node 1 on host b sent a damaged message", within=20, status=1)
    for name, frames, seconds, said in (("deaths without end", "[death(1)] * 40000", "20", "sent a damaged message"),
                                        ("ends many times", f"[(22, ({number})(9))] * 99", "2",
                                         "was killed by signal 9")):
        status, _, lines = Job(tweed(*liar(7, frames), *args, seconds)).wait(30)
        report("evil: " + name, ([] if status in (0, 1) else [f"status {status}"]) +
               ([] if sum(said in line and "agent of node 1" in line for line in lines) == 1 else ["says otherwise"]),
               lines)


def held():
    """A shell whose other processes hold the wire and outlive it keeps neither a job that ends well nor one that does
    not."""
    holds = script("holds", SHELL + "exec 3<&0\ntrap '' TERM HUP INT\nsleep 1000 <&3 &\nsetsid sleep 1000 <&3 &\n"
                                    "setsid sh -c \"$*\" <&3 &\nwait\n")
    args = tweed("--rsh", holds, "--hosts", "a,b", "-p", "2")
    began = time.monotonic()
    done = subprocess.run([options.tweed, "info", "--hosts", "a,b"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          check=False,
                          stdin=subprocess.DEVNULL, timeout=60,
                          env={**os.environ, "TW_CLUSTER_MARK": mark, "TWEED_TRANSPORT": options.transport,
                               "TWEED_RSH": holds})
    report("held answer", ([] if done.returncode == 0 else [f"status {done.returncode}"]) +
           ([] if time.monotonic() - began < 10 else ["waits"]), done.stdout.decode().splitlines())
    abandon()  # what the shell has left is its own
    good("held wire", Job([*args, "true"]), seconds=8)
    good("held wire, status", Job([*args, "sh", "-c", "exit 7"]), seconds=8, status=7)
    for name, number, said in (("killed", signal.SIGKILL, r"was killed by signal 9"),
                               ("stopped", signal.SIGSTOP, "has been silent")):
        job = Job([*args, options.busy])
        if not job.runs(4):
            report(f"held wire, {name} agent", job.still(), job.wait(0.1)[2])
            continue
        victim = job.agents()[-1]
        expected = named(victim)
        os.kill(victim, number)
        ends(f"held wire, {name} agent", job, time.monotonic(), expected, said)


def count(name, args, prefix=(), lines=100000, seconds=100):
    """32 ranks print so many lines each: all arrive, whole, in each rank's order; the launcher's memory stays small."""
    job = subprocess.Popen([*prefix, *args, "seq", "-f", "line %.0f", str(lines)], stdout=subprocess.PIPE,
                           stdin=subprocess.DEVNULL,
                           env={**os.environ, "TW_CLUSTER_MARK": mark, "TWEED_WATCH": str(options.watch),
                                "TWEED_MEMORY": "64M"})
    last, problems, most = {}, [], 0
    time.sleep(options.watch + 1)  # a reader that takes its time is not a lost one
    for line in job.stdout:
        rank, word, number = line.split()
        if word != b"line" or int(number) != last.get(rank, 0) + 1:
            problems.append(f"{line!r} after {last.get(rank)}")
            break
        last[rank] = int(number)
        if int(number) % (lines // 5) == 0:
            with open(f"/proc/{job.pid}/status", encoding="ascii") as f:
                high = re.search(r"VmHWM:\s+(\d+)", f.read())
                most = max(most, int(high[1]) if high else 0)
    job.stdout.close()
    if job.wait(seconds) != 0:
        problems.append(f"status {job.returncode}")
    if len(last) != 32 or set(last.values()) != {lines}:
        problems.append(f"{len(last)} ranks, {sum(last.values())} lines")
    if most > 40000:
        problems.append(f"the launcher had {most} KB")
    report(name, problems)
    print(f"{name}: {len(last)} ranks, {sum(last.values())} lines in order, launcher {most} KB")


def output(rsh):
    count("output of hosts", tweed(*rsh, "--transport", options.transport, "--hosts", "a,b", "-p", "16", "--tag"))
    count("output of emulated nodes", tweed("-n", "2", "-p", "16", "--tag"), lines=100000 if options.whole else 20000)
    job = subprocess.Popen(["sh", "-c", "\"$@\" | head -n 2", "sh",
                            *tweed(*rsh, "--transport", options.transport, "--hosts", "a,b", "yes")],
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                           env={**os.environ, "TW_CLUSTER_MARK": mark})
    out = job.communicate(timeout=20)[0]
    report("output that nobody reads", ([] if out == b"y\ny\n" else [f"{out!r}"]) +
           [f"leaves {p}" for p in left_behind(3)])


def info(rsh):
    def table(name, status, *expected, env=None):
        done = subprocess.run([options.tweed, "info", "--hosts", "a,b"], capture_output=True, check=False,
                              stdin=subprocess.DEVNULL,
                              env={**os.environ, "TWEED_TRANSPORT": options.transport, "TWEED_RSH": rsh[1],
                                   **(env or {})})
        out = done.stdout.decode()
        problems = [] if done.returncode == status else [f"status {done.returncode}"]
        problems += [f"does not match '{e}'" for e in expected if not re.search(e, out)]
        report(name, problems, out.splitlines())
    table("info of hosts", 0, r"(?m)^a +yes +\d", r"(?m)^b +yes +\d", "nothing that a job over")
    table("info of hosts that are not reached", 1, r"(?m)^a +no$", "a: cannot be reached",
          env={"TWEED_RSH": "/bin/false"})
    table("info of hosts without tweed", 1, r"(?m)^b +no$", "b: reached, but tweed is not there",
          env={"TWEED_REMOTE_TWEED": "/no/tweed"})
    table("info with a transport that stays", 1, "shm does not leave a host", env={"TWEED_TRANSPORT": "shm"})


def launcher(rsh):
    args = tweed(*rsh, "--hosts", "a,b", "-p", "2", options.busy)
    job = Job(args)
    job.runs(4)
    job.process.kill()
    job.wait(1)
    report("killed launcher", [f"leaves {p}" for p in left_behind(4)])
    job = Job(args)
    job.runs(4)
    job.process.send_signal(signal.SIGSTOP)
    report("launcher that is stopped from outside", [f"leaves {p}"
                                                     for p in left_behind(options.watch + LATE_S, job.process.pid)])
    job.process.kill()
    job.wait(1)
    for name, command in (("hosts", args), ("emulated nodes",
                                            tweed("-n", "2", "-p", "2", "--transport", "shm", options.busy))):
        job = Job(command)
        job.runs(4)
        job.process.send_signal(signal.SIGTSTP)
        time.sleep(options.watch + 1.5)
        busy = {pid for pid, n, _ in processes() if n == "busy-runs"}
        states = {open(f"/proc/{pid}/stat", encoding="ascii").read().rsplit(")", 1)[1].split()[0] for pid in busy}
        problems = [] if len(busy) == 4 and states == {"T"} else [f"{len(busy)} processors, states {states}"]
        job.process.send_signal(signal.SIGCONT)
        time.sleep(options.watch + 0.5)
        if job.process.poll() is not None:
            problems.append("does not go on")
        job.process.send_signal(signal.SIGINT)
        status, _, lines = job.wait(3)
        if status != 128 + signal.SIGINT:
            problems.append(f"status {status}")
        problems += [f"leaves {p}" for p in left_behind(3)]
        report(f"Ctrl-Z with {name}", problems, lines)


def stopped(name, prefix, args):
    slowest = 0.0
    for number in range(options.tries):
        job = Job(args, prefix)
        if not job.runs(4):
            report(f"stopped agent, {name}", job.still(), job.wait(0.1)[2])
            continue
        victims = job.agents()
        victim = victims[number % len(victims)]
        expected = named(victim)
        began = time.monotonic()
        os.kill(victim, signal.SIGSTOP)
        slowest = max(slowest, ends(f"stopped agent {number}, {name}", job, began, expected,
                                    f"silent for {options.watch} s", status=1))
    print(f"stopped agents, {name}: {options.tries} tries, slowest {slowest:.1f} s, watch {options.watch} s")


# ---- ssh ------------------------------------------------------------------------------------------------------------


def on_hosts(test):
    """Run @test(hosts, options of `tweed run`, prefix of commands on the launcher's host)."""
    why = network.missing()
    if why:
        print(f"ssh: not tested, {why}")
        sys.exit(77 if len(options.group) == 1 else 1)
    with network.Hosts() as h:
        prefix = ["ip", "netns", "exec", h.name("l")]
        begun = time.monotonic()
        while subprocess.run([*prefix, *h.rsh.split(), "b", "true"], check=False, capture_output=True).returncode:
            if time.monotonic() > begun + 10:
                report("sshd", ["does not answer"])
                return
            time.sleep(0.1)
        test(h, ["--rsh", h.rsh, "--net-interface", "10.231.3.0/24", "--env", "TW_CLUSTER_MARK"], prefix)


def ssh():
    def test(h, rsh, prefix):
        start(rsh, prefix)
        began = time.monotonic()
        ends("host without a way to it", Job(tweed(*rsh, "--hosts", "a,c", "true"), prefix), began,
             "host c cannot be reached", "status 255",
             within=10, status=2)
        if h.six:
            good("hosts by IPv6", Job(tweed("--rsh", h.rsh, "--net-interface", "fd00:231:3::/64", "--env",
                                            "TW_CLUSTER_MARK", "--hosts",
                                            "[fd00:231:1::2],[fd00:231:2::2]", *options.sor), prefix),
                 stdout="verified: yes")
        if options.whole:
            count("output through ssh", tweed(*rsh, "--transport", options.transport, "--hosts", "a,b", "-p", "16",
                                              "--tag"), prefix)
        stopped("through ssh", prefix, tweed(*rsh, "--hosts", "a,b", "-p", "2", options.busy))
    on_hosts(test)


def links():
    def cut(h, number, name, args, prefix, *expected):
        slowest = 0.0
        for k in range(options.tries):
            job = Job(args, prefix)
            if not job.runs(4):
                report(f"link {name}", job.still(), job.wait(0.1)[2])
                continue
            began = time.monotonic()
            h.cut(number, silently=k % 2 == 1)
            slowest = max(slowest, ends(f"link {name} is cut {k}", job, began, *expected))
            h.cut(number, down=False, silently=k % 2 == 1)
        print(f"link {name}: {options.tries} tries, slowest {slowest:.1f} s, watch {options.watch} s")

    def test(h, rsh, prefix):
        args = tweed(*rsh, "--hosts", "a,b", "-p", "2", options.busy)
        cut(h, 3, "between the hosts", args, prefix, "node 0 on host a", "node 1 on host b")
        cut(h, 2, "to the launcher", args, prefix, "node 1 on host b", f"silent for {options.watch} s")
    on_hosts(test)


SHAPES = {"2x2": ["--hosts", "a,b", "-p", "2"], "4x1": ["--hosts", "a:2,b:2", "-p", "1"]}


def kernels():
    """Kernels verify between hosts with addresses of their own: all under all protocols, or one under each."""
    table = {}

    def one(rsh, prefix, protocol, kernel, shape):
        name, size = kernel
        before = len(failures)
        began = time.monotonic()
        good(f"{name} under {protocol} at {shape}", Job(tweed(*rsh, "--protocol", protocol, *SHAPES[shape],
             f"{build}/{small.program(name, protocol)}", *size.split(), "--verify"), prefix), stdout="verified: yes")
        table[name, shape, protocol] = f"{time.monotonic() - began:.1f} s" if len(failures) == before else "WRONG"

    def test(_, rsh, prefix):
        for k, protocol in enumerate(small.PROTOCOLS):
            for i, kernel in enumerate(small.KERNELS):
                for j, shape in enumerate(SHAPES):
                    if options.whole or (i == k % len(small.FIRST) and j == k // len(small.FIRST)):
                        one(rsh, prefix, protocol, kernel, shape)
    on_hosts(test)
    print("".join(f"{text:>9}" for text in ("kernel", "shape", *small.PROTOCOLS)))
    for name, _ in small.KERNELS:
        for shape in SHAPES:
            row = [table.get((name, shape, protocol), "-") for protocol in small.PROTOCOLS]
            if set(row) != {"-"}:
                print("".join(f"{text:>9}" for text in (name, shape, *row)))


# ---- a resource manager ---------------------------------------------------------------------------------------------


def mpirun():
    if subprocess.run(["sh", "-c", "command -v mpirun"], check=False, capture_output=True).returncode:
        print("mpirun: not tested, it is not installed")
        sys.exit(77 if len(options.group) == 1 else 1)
    managed("mpirun", ["mpirun", "--oversubscribe", "--bind-to", "none", "--allow-run-as-root"], {})


def slurm():
    why = manager.missing()
    if why:
        print(f"slurm: not tested, {why}")
        sys.exit(77 if len(options.group) == 1 else 1)
    with manager.Slurm() as s:
        why = s.ready()
        if why is not None:
            report("slurm", [f"is not ready: {why}"])
            return
        managed("srun", ["srun", "--mpi=pmix", "--overcommit"], s.environment)


def managed(name, call, env):
    agent = [options.tweed, "agent"]
    good(f"agents by {name}", Job([*call, "-n", "4", *agent, *options.sor], env=env), stdout="verified: yes")
    good(f"processors of {name}'s agents", Job([*call, "-n", "2", *agent, "--", *options.sor],
                                              env={**env, "TWEED_PROCESSORS": "2"}),
         stdout="4 processors on 2 nodes[^$]*verified: yes")
    began = time.monotonic()
    ends(f"status through {name}", Job([*call, "-n", "2", *agent, "sh", "-c", "exit 5"], env=env), began,
         "exited with status 5",
         within=20, status=5)
    began = time.monotonic()
    ends(f"no program for {name}", Job([*call, "-n", "2", *agent, "./nothing"], env=env), began, "./nothing", within=20,
         status=2)
    for what, number, said in (("stopped", signal.SIGSTOP, "silent"),
                               ("killed", signal.SIGKILL, "was killed by signal 9")):
        job = Job([*call, "-n", "2", *agent, options.busy], env=env)
        if not job.runs(2):
            report(f"{what} agent under {name}", job.still(), job.wait(0.1)[2])
            continue
        victim = job.agents()[-1]
        expected = named(victim)
        began = time.monotonic()
        os.kill(victim, number)
        ends(f"{what} agent under {name}", job, began, expected, said, within=options.watch + LATE_S + 5)


p = argparse.ArgumentParser()
p.add_argument("tweed")
p.add_argument("sor")
p.add_argument("busy")
p.add_argument("group", nargs="+", choices=("local", "evil", "silence", "ssh", "links", "kernels", "mpirun", "slurm"))
p.add_argument("--tries", type=int, default=int(os.environ.get("CLUSTER_TRIES", "3")))
p.add_argument("--watch", type=int, default=2)
p.add_argument("--transport", default="ofi")
p.add_argument("--whole", action="store_true")
p.add_argument("--times", action="store_true")
options = p.parse_args()
options.tweed, options.busy = os.path.abspath(options.tweed), os.path.abspath(options.busy)
build = os.path.dirname(os.path.dirname(os.path.abspath(options.sor)))
options.sor = [os.path.abspath(options.sor), "--rows", "258", "--columns", "512", "--iterations", "8", "--verify"]
mark = f"cluster-{os.getpid()}-{time.time_ns()}"
usable = subprocess.run([options.tweed, "info", "--json"], capture_output=True, check=True).stdout.decode()
if not re.search(r'"name": "' + options.transport + r'",[^}]*"usable": true', usable):
    print(f"cluster: not tested, transport {options.transport} does not work here")
    sys.exit(77)
atexit.register(abandon)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # a timeout
with tempfile.TemporaryDirectory() as place:
    options.tweed = shutil.copy(options.tweed, place)  # what runs from here is ours
    for group in options.group:
        {"local": local, "evil": evil, "silence": silence, "ssh": ssh, "links": links, "kernels": kernels,
         "mpirun": mpirun, "slurm": slurm}[group]()
if options.tries > 1:
    for sentence, took in sorted(sentences.items()):
        print(f"{len(took):4} times, slowest {max(took):5.1f} s: {sentence}")
print(f"cluster: {cases - len(failures)} of {cases} good")
sys.exit(1 if failures else 0)
