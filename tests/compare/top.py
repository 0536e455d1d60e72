#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`tweed top`: top.py TWEED.  Looks at a running job: once, as JSON, as Prometheus' text, on a terminal; refusals."""
import fcntl
import json
import os
import pty
import re
import select
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time
import urllib.request

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "results"))
from command import TWEED, check, end  # noqa: E402
from top import fault_lines  # noqa: E402

SOURCE = r"""
#include "tweed/tweed.h"
#include <unistd.h>
int main(int argc, char **argv)
{
	tw_init(&argc, &argv);
	volatile long *sum = tw_malloc_all(4096);
	tw_lock_t *lock = tw_malloc_all(sizeof(*lock));
	if (tw_id() == 0)
		*lock = tw_lock_create();
	tw_barrier_all();
	if (tw_id() == 3) {
		tw_lock_acquire(*lock);
		sleep(60);
	}
	usleep(200000);
	for (int i = 0; i < 100; i++)
		sum[0] += tw_id();
	tw_lock_acquire(*lock);
	return (int)sum[0];
}
"""


def top(*args, job):
    return subprocess.run([TWEED, "top", str(job), *args], capture_output=True, text=True, timeout=60,
                          stdin=subprocess.DEVNULL)


def unix(path):
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(path)
        s.sendall(b"GET / HTTP/1.0\r\n\r\n")
        text = b""
        while more := s.recv(65536):
            text += more
        return text.decode()


def terminal(job):
    """What a terminal shows, until q is pressed; and the exit status."""
    pid, fd = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm"
        os.execv(TWEED, [TWEED, "top", str(job), "--interval", "0.2"])
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 160, 0, 0))
    text, until, pressed = b"", time.monotonic() + 30, False
    try:
        while time.monotonic() < until:
            if select.select([fd], [], [], 0.1)[0]:
                text += os.read(fd, 65536)
            if b"waits in" in text and not pressed:
                os.write(fd, b"q")
                pressed = True
    except OSError:  # it has ended
        pass
    os.close(fd)
    return text.decode(errors="replace"), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def state(number):
    """What the job says now."""
    with subprocess.Popen([TWEED, "top", str(number), "--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True) as p:
        line = p.stdout.readline()
        p.terminate()
    return json.loads(line) if line else {"processors": [], "places": {}}


def all_wait(number):
    """Have the processors come where they wait?"""
    return sum(bool(s["waits"]) for s in state(number)["processors"]) == 3


def looks(number):
    done = top("--once", "--interval", "0.5", job=number)
    lines = done.stdout.splitlines()
    check("one look", done.returncode == 0 and len(lines) == 7 and "2x2" in lines[0] and "waits in" in lines[2] and
          sum("tw_lock_acquire of lock" in line and "which 1.1 holds" in line for line in lines[3:]) == 3, done)
    with subprocess.Popen([TWEED, "top", str(number), "--json", "--interval", "0.2"], stdout=subprocess.PIPE,
                          text=True) as p:
        states = [json.loads(p.stdout.readline()) for _ in range(3)]
        p.terminate()
    check("JSON", all(len(s["processors"]) == 4 and s["processors"][3]["held"] and
          s["processors"][3]["pid"] > 1 and any(p["faulted"] and p["faults"] for p in s["processors"])
          for s in states) and
          states[0]["wall"] < states[2]["wall"], states[0])
    text, status = terminal(number)
    check("a terminal", status == 0 and "which 1.1 holds" in text, (status, text))


def prometheus(number):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    with subprocess.Popen([TWEED, "top", str(number), "--prometheus", f"127.0.0.1:{port}"]) as by_port, \
            subprocess.Popen([TWEED, "top", str(number), "--prometheus", "./metrics"]) as by_path:
        text, local, until = "", "", time.monotonic() + 60
        while not (text and local) and time.monotonic() < until:
            time.sleep(0.1)
            try:
                text = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics").read().decode()
                local = unix("./metrics")
            except OSError:
                pass
        check("Prometheus at a path", 'tweed_waiting{node="1",processor="1"} 0' in local, local)
        check("Prometheus", 'tweed_waiting{node="0",processor="0"} 1' in text and "# TYPE tweed_barriers_total" in text,
              text)
        yield
        check("they end with the job", by_port.wait(60) == 0 and by_path.wait(60) == 0)
    check("the socket is gone", not os.path.exists("metrics"))


FIELD = r"""
#include <stdio.h>
#include <stdlib.h>
double field[1 << 20];
int main(void)
{
	printf("begun\n");
	fflush(stdout);
	double *block = calloc(1 << 20, 8);
	for (long i = 0; i < 1L << 40; i++)
#pragma omp parallel num_threads(2)
#pragma omp critical
		field[300000]++, block[200000]++;
	return 0;
}
"""


def places():
    """The variable of a fault, and the line that allocated the block of another, in their midst."""
    with open("field.c", "w", encoding="utf-8") as f:
        f.write(FIELD)
    subprocess.run([TWEED, "omp", "cc", "-fopenmp", "-O1", "-g", "field.c", "-o", "field"], check=True)
    with subprocess.Popen([TWEED, "run", "-n", "2", "./field"], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as job:
        job.stdout.readline()
        names, until = set(), time.monotonic() + 30
        wanted = [re.compile(rf"field\+0x{300000 * 8:x}"),
                  re.compile(rf"block of main\+0x[0-9a-f]+ \(field\.c:9\)\+0x{200000 * 8:x}")]
        while time.monotonic() < until and not all(any(map(w.fullmatch, names)) for w in wanted):
            names |= set(state(job.pid)["places"].values())
        job.terminate()
    for w in wanted:
        check(w.pattern, any(map(w.fullmatch, names)), names)


def pages():
    """Where faults were, between two states."""
    def made(*processors):
        return {"page_size": 4096, "places": {"4104": "sum+0x8", "8192": "flag"},
                "processors": [{"node": k, "processor": 0, "faults": len(a), "faulted": a[:64]}
                               for k, a in enumerate(processors)]}

    lines = fault_lines(made([], [8192]), made([8192] * 64 + [4104] * 36, [4104] * 300 + [8192]))
    check("places of faults", [line.split() for line in lines] ==
          ["75 % of faults: sum".split(),
           "25 % of faults: flag".split(),
           "75 % of faults: page 1000, by 1.0, at sum+0x8".split(),
           "25 % of faults: page 2000, by 0.0, at flag".split()], lines)
    check("no faults", not fault_lines(made([4104], []), made([4104], [])), None)


pages()
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    places()
    with open("held.c", "w", encoding="utf-8") as f:
        f.write(SOURCE)
    subprocess.run([TWEED, "cc", "--no-stores", "-O1", "held.c", "-o", "held"], check=True)
    with subprocess.Popen([TWEED, "run", "-n", "2", "-p", "2", "./held"], stderr=subprocess.DEVNULL) as job:
        until = time.monotonic() + 60
        while time.monotonic() < until and not all_wait(job.pid):
            time.sleep(0.1)
        looks(job.pid)
        for words, sentence in [((), "is no terminal: use --once or --json"),
                                (("--interval", "0"), "no number of seconds from 0.05"),
                                (("--prometheus", "9100"), "give 127.0.0.1:PORT, or the path"),
                                (("--once", "--json"), "not allowed with"), (("--foo",), "--help")]:
            done = top(*words, job=job.pid)
            check(words, done.returncode == 2 and sentence in done.stderr and done.stderr.count("\n") == 1, done)
        done = top("--once", job=1)
        check("another job", done.returncode == 2 and "there is no job 1: name one of" in done.stderr and
          f"{job.pid} (run -n 2 -p 2 ./held)" in done.stderr, done)
        served = prometheus(job.pid)
        next(served)
        job.terminate()
        job.wait(60)
        next(served, None)
end("top")
