#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""descriptors.py TWEED PROGRAM - where descriptors of Tweed's are, over each transport of one host: not below the
program's limit, not in commands that it starts, and not closed by it (descriptors.c); the message when there are too
few; the address at which the transport ofi listens, and the libraries that it loads."""
import collections
import ctypes
import json
import os
import platform
import resource
import struct
import subprocess
import sys

tweed, program = sys.argv[1:]
failures = []


def run(*args, soft=None, hard=None):
    def limit():
        given = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft or hard, hard or given[1]))
    return subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                          text=True, timeout=60, preexec_fn=limit if soft or hard else None)


def expect(name, good, done):
    if not good:
        failures.append(name)
        print(f"FAILED {name}: status {done.returncode}\n{done.stdout[-2000:]}", flush=True)


def before_it_joins(transport):
    """Descriptors below 1000 of a program that does not join the job, and at its limit."""
    done = run(tweed, "run", "-n", "2", "-p", "2", "--transport", transport, "--memory", "64M", "--", "/bin/sh", "-c",
               "sleep 0.2; ulimit -Sn; for f in /proc/$$/fd/*; do test -e $f && echo ${f##*/}; done; exit 0", soft=1000)
    numbers = collections.Counter(done.stdout.split())
    low = {n for n in numbers if int(n) < 1000}
    expect(f"{transport}, a program that does not join",
           done.returncode == 0 and low <= {"0", "1", "2"} and numbers["1000"] == 4, done)


def inside(transport):
    for fault in ["auto", "mprotect"] if transport == "shm" else ["auto"]:
        done = run(tweed, "run", "-n", "2", "-p", "2", "--transport", transport, "--memory", "64M", "--fault", fault,
                   program, "1000", soft=1000)
        expect(f"{transport} {fault}", done.returncode == 0 and not done.stdout, done)
    done = run(tweed, "oshrun", "-n", "4", "--ppn", "2", "--transport", transport, program, "1000", "shmem", soft=1000)
    expect(f"{transport} shmem", done.returncode == 0 and not done.stdout, done)


def few():
    """Too few, and just enough."""
    jobs = [(64, 1, "shm", 12), (64, 1, "shm", 128), (64, 1, "shm", 150), (4, 4, "ofi", 32), (2, 2, "shm", 26)]
    for nodes, processors, transport, hard in jobs:
        done = run(tweed, "run", "-n", str(nodes), "-p", str(processors), "--transport", transport, "--memory", "64M",
                   "/bin/true", hard=hard)
        expect(f"{nodes}x{processors} {transport} with {hard}",
               done.returncode == 2 and done.stdout.count("\n") == 1 and "too many open files" in done.stdout, done)
    done = run(tweed, "run", "-n", "4", "-p", "2", "--memory", "64M", program, hard=128)
    expect("4x2 with 128", done.returncode == 0 and not done.stdout, done)


def forbid(number):
    """The system call fails with EPERM in this process and its children."""
    parts = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7fff0000)]
    program = b"".join(struct.pack("HBBI", *part) for part in parts)
    libc, code = ctypes.CDLL(None), ctypes.create_string_buffer(program)
    libc.prctl(38, 1, 0, 0, 0)
    filter_ = struct.pack("HxxxxxxP", 4, ctypes.addressof(code))
    libc.prctl(22, 2, ctypes.byref(ctypes.create_string_buffer(filter_)), 0, 0)


def forbidden():
    """A server cannot open what it needs: one line, and exit status 2."""
    for name, number in [("socket", 41), ("bind", 49), ("listen", 50), ("epoll_create", 213), ("eventfd2", 290)]:
        done = subprocess.run([tweed, "run", "-n", "2", "--transport", "ofi", "--memory", "64M", "/bin/true"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60,
                              preexec_fn=lambda n=number: forbid(n))
        expect(f"{name} forbidden", done.returncode == 2 and done.stdout.count("\n") == 1, done)


def addresses():
    """A job of one host listens at the loopback device alone; a domain that libfabric does not have is refused."""
    script = "sleep 0.5; readlink /proc/$PPID/fd/*; cat /proc/net/tcp /proc/net/tcp6; exit 0"
    done = run(tweed, "run", "-n", "2", "--transport", "ofi", "--memory", "64M", "--", "/bin/sh", "-c", script)
    sockets = {line[8:-1] for line in done.stdout.splitlines() if line.startswith("socket:[")}
    rows = [line.split() for line in done.stdout.splitlines() if line.count(":") > 4]
    at = {row[1].split(":")[0] for row in rows if len(row) > 9 and row[3] == "0A" and row[9] in sockets}
    expect(f"listens at {at}", at == {"0100007F"}, done)
    done = run(tweed, "run", "-n", "2", "--transport", "ofi", "--net-device", "nope", "--", "/bin/true")
    expect("no such domain", done.returncode == 2 and 'domain "nope"' in done.stdout, done)


def start():
    """An agent loads no library of PSM without a device for it, and does not read the kernel's symbols."""
    script = ("sleep 0.3; grep -q libfabric /proc/$PPID/maps || echo no libfabric; "
              "grep libinfinipath /proc/$PPID/maps; grep syscr /proc/$PPID/io; exit 0")
    done = run(tweed, "run", "-n", "2", "--transport", "ofi", "--memory", "64M", "--", "/bin/sh", "-c", script)
    reads = [int(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("syscr: ")]
    slow = "libinfinipath" in done.stdout and not os.path.isdir("/sys/class/infiniband")
    expect("start", done.returncode == 0 and "no libfabric" not in done.stdout and not slow and
           max(reads, default=0) < 2000, done)


def main():
    info = json.loads(subprocess.run([tweed, "info", "--json"], stdout=subprocess.PIPE, check=True, timeout=60).stdout)
    usable = [t["name"] for t in info["transports"] if t["usable"]]
    for transport in ["shm", "sim", "ofi"]:
        if transport in usable:
            before_it_joins(transport)
            inside(transport)
        else:
            print(f"{transport} does not work here")
    done = run(program, "1000", "shmem", soft=1000)
    expect("alone", done.returncode == 0 and not done.stdout, done)
    few()
    if "ofi" in usable and platform.machine() == "x86_64":
        forbidden()
    if "ofi" in usable:
        addresses()
        start()
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
