#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A thread ends the program: one sentence names the line, what it did, and the callers.  A program that stands still,
or that is asked, says where its threads are.

crash.py TWEED FOLDER"""
import glob
import mmap
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time

tweed, folder = (os.path.abspath(p) for p in sys.argv[1:3])
CORE = 1 << 36  # bytes: enough for any of them
CASES = {
    "null": r"thread.* read address 0x10, by a null pointer",
    "wild": r"thread.* read address 0x7eadbeef0000, which is no memory",
    "write": r"thread.* wrote to address 0x7eadbeef0000, which is no memory",
    "impossible": r"thread.* read an address that no pointer can have",
    "private": r"thread.* read address 0x[0-9a-f]+, which is private memory of processor 0\.0 \(an anonymous mapping\)",
    "constant": r"thread.* wrote to address 0x[0-9a-f]+, whose rights are r--p \(/.*crash\)",
    "call": r"thread.* jumped to address 0x0, by a null pointer",
    "plugin": r"thread.* jumped to address 0x[0-9a-f]+, which is code of processor 0\.0 \(/.*plugin\.so\): only the "
              r"processor that calls dlopen has the library: link it, and open NULL",
    "archived": r"first\+0x[0-9a-f]+ read address 0x10, by a null pointer; each processor has its own variables of "
                r"libfirst-1\.2\.so: if threads share what it made, link its archive: -l:libfirst\.a",
    "library": r"second\+0x[0-9a-f]+ read address 0x10, by a null pointer; each processor has its own variables of "
               r"libsecond\.so: if threads share what it made, compile it with Tweed's compiler",
    "abort": r"thread.* called abort",
    "illegal": r"thread.* executed an instruction that this processor does not have",
    "stack": r"deep.* wrote to address 0x[0-9a-f]+, below its stack: give it a larger one \(ulimit -s\)"
             r"; called from deep.* \d+ times",
}
STATUS = {"abort": 134, "illegal": 132}
CALLERS = {"archived", "library"}  # the thread's function has called another one
LINE = r"\+0x[0-9a-f]+ \(crash\.c:\d+\)"
LOCKS = [rf"0\.0: in pthread_mutex_lock, called from both{LINE}, main{LINE}",
         rf"1\.0: in pthread_mutex_lock, called from both{LINE}, thread{LINE}",
         r"deadlock of locks: 0\.0 in tw_lock_acquire.* which 1\.0 holds; 1\.0 in tw_lock_acquire.*"]
LOOP = [rf"0\.0: in pthread_join, called from main{LINE}", rf"1\.0: in forever{LINE}, called from thread{LINE}",
        r"interrupted by signal 15 .*"]


def still(job, patterns, err=""):
    """@err: what was read of its errors."""
    err += job.communicate(timeout=60)[1]
    lines = err.splitlines()
    good = len(lines) == len(patterns) and all(re.fullmatch("tweed: " + p, l) for p, l in zip(patterns, lines))
    if not good:
        print(f"{job.args}: {err}")
    return not good


def core_holds(mark, *options):
    """Does the core file of a crash contain @mark?"""
    subprocess.run([tweed, "run", "-n", "2", "--memory", "64M", *options, program, "null"], cwd=work,
                   stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60,
                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (CORE, CORE)))
    cores = glob.glob(os.path.join(work, "core*"))
    with open(cores[0], "rb") as f, mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ) as core:
        found = core.find(mark) >= 0
    os.unlink(cores[0])
    return len(cores) == 1 and found


def start(*options):
    return subprocess.Popen([tweed, "run", "-n", "2", *options], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


bad = 0
with tempfile.TemporaryDirectory() as work:
    program = os.path.join(work, "crash")
    for name, text in {"plugin.so": "void plugin(void) {}",
                       "libfirst-1.2.so": "char first(const volatile char *p) { return *p; }",
                       "libsecond.so": "char second(const volatile char *p) { return *p; }"}.items():
        subprocess.run(["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", os.path.join(work, name)], check=True,
                       input=text, text=True)
    subprocess.run(["ar", "rc", "libfirst.a"], cwd=work, check=True)
    subprocess.run([tweed, "cc", "--pthreads", "-g", "-w", os.path.join(folder, "crash.c"), "-o", program,
                    f"-L{work}", f"-Wl,-rpath,{work}", "-l:libfirst-1.2.so", "-lsecond"], check=True)
    for transport in ("shm", "ofi"):
        for case, sentence in CASES.items():
            run = subprocess.run([tweed, "run", "-n", "2", "-p", "1", "--transport", transport, program, case],
                                 cwd=work, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
            lines = run.stderr.splitlines()
            callers = rf"; called from thread{LINE}" if case in CALLERS else ""
            sentence = sentence.replace(".*", r"\S* \(crash\.c:\d+\)", 1)
            if run.returncode != STATUS.get(case, 139) or len(lines) != 2 or \
                    not re.fullmatch(rf"tweed: 1\.0: {sentence}{callers}", lines[0]):
                bad += 1
                print(f"{case}, {transport}: status {run.returncode}: {run.stderr}")
    for transport in ("shm", "ofi"):
        bad += still(start("--watch", "2", "--transport", transport, program, "locks"), LOCKS)
        job = start("--transport", transport, program, "loop")
        job.stdout.readline()
        time.sleep(.5)  # for main
        job.send_signal(signal.SIGUSR1)
        err = job.stderr.readline() + job.stderr.readline()
        job.terminate()
        bad += still(job, LOOP, err)
    with open("/proc/sys/kernel/core_pattern", encoding="utf-8") as f:
        pattern = f.read().strip()
    if pattern == "core" and resource.getrlimit(resource.RLIMIT_CORE)[1] in (CORE, resource.RLIM_INFINITY):
        marked = bytes(b"nu"[i % 2] ^ (i + 1) for i in range(16))  # on the thread's stack
        for options, expected in [((), False), (("--core-shared",), True),
                                  (("--core-shared", "--fault", "mprotect"), True)]:
            if core_holds(marked, *options) != expected:
                bad += 1
                print(f"core file with {options}: the thread's stack is {'missing' if expected else 'there'}")
    else:
        print(f"no core files here: pattern {pattern}")
print(f"crash: {bad} wrong")
sys.exit(bad != 0)
