#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`tweed top`: look at a running job (doc/guide/top.md).

The launcher answers each question with its statistics so far, a line of JSON (tools/launch/top.c)."""
import argparse
import curses
import http.server
import json
import os
import re
import select
import socket
import sys
import time

from harness.command import Parser, run
from harness.plan import Refused

HELP = """Shows how fast a running job of this user and host works, and what its processors wait for.  JOB is the
process id of 'tweed run'; it may be left out if there is one job.  Keys: q quits, n and p show nodes or processors."""
RATES = [("faults", ["read_faults", "write_faults"]), ("pages", ["page_transfers"]), ("diffs", ["diffs"]),
         ("notices", ["write_notices"]), ("locks", ["lock_acquires"]), ("moved", ["lock_remote"]),
         ("messages", ["messages"])]  # moved: locks from another node
PROMETHEUS = "text/plain; version=0.0.4"


def process(text):
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"'{text}' is no process id of 'tweed run'")
    return int(text)


def seconds(text):
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.05 <= value <= 3600:
        raise argparse.ArgumentTypeError(f"'{text}' is no number of seconds from 0.05 to 3600")
    return value


def parser():
    p = Parser(prog="tweed top", usage="tweed top [JOB] [--once | --json | --prometheus ADDRESS] [--interval S]",
               allow_abbrev=False, description=HELP)
    p.add_argument("job", nargs="?", type=process, metavar="JOB", help="process id of 'tweed run'")
    p.add_argument("--interval", type=seconds, default=1.0, metavar="S", help="seconds between two looks (default 1)")
    way = p.add_mutually_exclusive_group()
    way.add_argument("--once", action="store_true", help="print one look, of one interval, and end")
    way.add_argument("--json", action="store_true", help="print a line of JSON for each look, until the job ends")
    way.add_argument("--prometheus", metavar="ADDRESS",
                     help="serve the counters as Prometheus' text at 127.0.0.1:PORT, or at the Unix socket PATH")
    p.add_argument("--tweed", required=True, help=argparse.SUPPRESS)
    return p


# ---- the job ----

def jobs():
    """The process ids of all jobs of this host that can be asked."""
    with open("/proc/net/unix", encoding="utf-8") as f:
        return sorted({int(m[1]) for m in re.finditer(r"@tweed-run-(\d+)$", f.read(), re.M)})


def command(number):
    """What it was started by, in short."""
    try:
        with open(f"/proc/{number}/cmdline", "rb") as f:
            words = f.read().decode(errors="replace").split("\0")
    except OSError:
        words = []
    return " ".join(words[1:])[:40].strip() or "ended"


def choose(job):
    running = jobs()
    if job is None and len(running) == 1:
        return running[0]
    if job in running:
        return job
    if not running:
        raise Refused("no job runs on this host: start one by 'tweed run'")
    listed = ", ".join(f"{number} ({command(number)})" for number in running)
    if job is None:
        raise Refused(f"several jobs run on this host: name one of {listed}")
    raise Refused(f"there is no job {job}: name one of {listed}")


class Job:
    """A connection to its launcher."""

    def __init__(self, number):
        self.number = number
        self.socket = socket.socket(socket.AF_UNIX)
        try:
            self.socket.connect(f"\0tweed-run-{number}")
        except OSError as error:
            raise Refused(f"job {number} cannot be asked: {error.strerror.lower()}")
        self.lines = self.socket.makefile("rb")

    def look(self):
        """What it says now; None: it has ended."""
        try:
            self.socket.sendall(b"?")
            line = self.lines.readline()
        except OSError:
            return None
        return json.loads(line) if line else None


# ---- what is shown ----

def parts(state, by_nodes):
    """{name: (counters, times, [seconds], waits)}, of processors, or of nodes with their agents."""
    shown = {}
    for p in state["processors"]:
        name = str(p["node"]) if by_nodes else f"{p['node']}.{p['processor']}"
        c, t, total, waits = shown.setdefault(name, ({}, {}, [0.0], []))
        for key, value in p["counters"].items():
            c[key] = c.get(key, 0) + value
        for key, value in p["times"].items():
            t[key] = t.get(key, 0.0) + value
        total[0] += p["total"]
        if p["waits"]:
            waits.append(p["waits"])
    if by_nodes:
        for n in state["nodes"]:
            for key, value in n["agent"]["counters"].items():
                shown[str(n["node"])][0][key] += value
    return shown


def share(now, before, key):
    seconds = now[2][0] - before[2][0]
    return f"{100 * (now[1][key] - before[1][key]) / seconds:.0f}" if seconds > 0 else "-"


def quantity(x):
    """Four places: 12, 3.4k, 120M."""
    for unit in ["", "k", "M", "G"]:
        if x < 1000 or unit == "G":
            return f"{x:.0f}{unit}" if x >= 10 or not unit else f"{x:.1f}{unit}"
        x /= 1000
    return ""


def waiting(state, waits):
    """The first wait, and the lock's holder."""
    if not waits:
        return ""
    more = f" and {len(waits) - 1} more" if len(waits) > 1 else ""
    lock = re.search(r"lock ([0-9a-f]+)$", waits[0])
    holder = [f"{p['node']}.{p['processor']}" for p in state["processors"] if lock and lock[1] in p["held"]]
    return waits[0] + (f", which {holder[0]} holds" if holder else "") + more


def fault_lines(before, now, most=5):
    """Lines about the faults between two states, as far as they are known: the last ones of each processor.  The
    variables and blocks with most of them, then the pages."""
    things, share, by, names = {}, {}, {}, {}
    for old, p in zip(before["processors"], now["processors"]):
        count = p["faults"] - old["faults"]
        latest = p["faulted"][:count]
        for address in latest:
            page = address // now["page_size"] * now["page_size"]
            share[page] = share.get(page, 0) + count / len(latest)
            by.setdefault(page, set()).add(f"{p['node']}.{p['processor']}")
            if name := now["places"].get(str(address)):
                names.setdefault(page, set()).add(name)
                thing = re.sub(r"\+0x[0-9a-f]+$", "", name)
                things[thing] = things.get(thing, 0) + count / len(latest)
    total = sum(share.values())
    lines = [f"{100 * things[thing] / total:5.0f} %  of faults: {thing}"
             for thing in sorted(things, key=things.get, reverse=True)[:most]]
    for page in sorted(share, key=share.get, reverse=True)[:most]:
        where = sorted(by[page])
        processors = ", ".join(where[:4]) + (f" and {len(where) - 4} more" if len(where) > 4 else "")
        lines.append(f"{100 * share[page] / total:5.0f} %  of faults: page {page:x}, by {processors}" +
                     (f", at {', '.join(sorted(names[page])[:3])}" if page in names else ""))
    return lines


def table(before, now, seconds, by_nodes):
    """The lines of one look: what happened between two states, @seconds apart."""
    shape = f"{now['shape']['nodes']}x{now['shape']['processors']}"
    lines = [f"{' '.join([os.path.basename(now['program'])] + now['arguments'])[:60]}   {shape}   {now['protocol']}   "
             f"{now['transport']}   {now['wall']:.0f} s", "a second:"]
    timed = any(p["times"]["protocol"] for p in now["processors"])
    head = ["node" if by_nodes else "processor"] + [name for name, _ in RATES] + ["MB", "barriers so far"] + \
        (["protocol %", "waits %"] if timed else []) + ["waits in"]
    rows = [head]
    old = parts(before, by_nodes)
    for name, part in parts(now, by_nodes).items():
        row = [name]
        for _, counters in RATES:
            row.append(quantity(sum(part[0][c] - old[name][0][c] for c in counters) / seconds))
        row.append(f"{(part[0]['data_bytes'] - old[name][0]['data_bytes']) / seconds / 1e6:.1f}")
        row.append(str(part[0]["barriers"]))
        if timed:
            row += [share(part, old[name], "protocol"), share(part, old[name], "comm_wait")]
        rows.append(row + [waiting(now, part[3])])
    width = [max(len(row[i]) for row in rows) for i in range(len(head))]
    for row in rows:
        cells = [row[i].rjust(width[i]) for i in range(len(head) - 1)] + [row[-1]]
        lines.append("  ".join(cells).rstrip())
    return lines + fault_lines(before, now)


def screen(job, interval):
    """Until q is pressed, or the job ends."""
    def run(window):
        curses.use_default_colors()
        curses.curs_set(0)
        window.timeout(int(interval * 1000))
        by_nodes, before, at = len(last["processors"]) > 32, last, time.monotonic()
        while True:
            key = window.getch()
            if key == ord("q"):
                return
            by_nodes = True if key == ord("n") else False if key == ord("p") else by_nodes
            now = job.look()
            if now is None:
                return
            then, at = at, time.monotonic()
            window.erase()
            height, width = window.getmaxyx()
            for y, line in enumerate(table(before, now, max(at - then, 1e-3), by_nodes)[:height - 1]):
                window.addnstr(y, 0, line, width - 1, curses.A_REVERSE if y == 2 else 0)
            window.refresh()
            before = now

    last = job.look()
    if last is not None:
        curses.wrapper(run)


def metrics(state):
    """Prometheus' text."""
    lines = []
    for counter in state["counters"]:
        lines.append(f"# TYPE tweed_{counter}_total counter")
        for p in state["processors"]:
            lines.append(f'tweed_{counter}_total{{node="{p["node"]}",processor="{p["processor"]}"}} '
                         f'{p["counters"][counter]}')
    lines.append("# TYPE tweed_waiting gauge")
    for p in state["processors"]:
        lines.append(f'tweed_waiting{{node="{p["node"]}",processor="{p["processor"]}"}} {int(bool(p["waits"]))}')
    return "\n".join(lines) + "\n"


def serve(job, address):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            state = job.look()
            if state is None:
                self.server.ended = True
            text = metrics(state).encode() if state else b""
            self.send_response(200 if state else 410)
            self.send_header("Content-Type", PROMETHEUS)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def address_string(self):
            return "a client"

        def log_message(self, *args):
            pass

    port = re.fullmatch(r"127\.0\.0\.1:(\d+)", address)
    if not port and "/" not in address:
        raise Refused(f"--prometheus {address}: give 127.0.0.1:PORT, or the path of a Unix socket, with a '/'")
    server = http.server.HTTPServer if port else type("Local", (http.server.HTTPServer,), {
        "address_family": socket.AF_UNIX, "server_bind": http.server.socketserver.TCPServer.server_bind})
    try:
        with server(("127.0.0.1", int(port[1])) if port else address, Handler) as s:
            s.ended = False
            while not s.ended and job.number in jobs():
                if select.select([s], [], [], 1)[0]:
                    s.handle_request()
    except OSError as error:
        raise Refused(f"--prometheus {address}: {error.strerror.lower()}; choose another address")
    finally:
        if not port and os.path.exists(address):
            os.unlink(address)


def main():
    o = parser().parse_args()
    job = Job(choose(o.job))
    if o.prometheus:
        serve(job, o.prometheus)
    elif o.once:
        before, at = job.look(), time.monotonic()
        time.sleep(o.interval)
        now = job.look()
        if now is None:
            raise Refused(f"job {job.number} has ended")
        print("\n".join(table(before, now, time.monotonic() - at, len(now["processors"]) > 32)))
    elif o.json:
        while (state := job.look()) is not None:
            print(json.dumps(state), flush=True)
            time.sleep(o.interval)
    elif not sys.stdout.isatty():
        raise Refused("the output is no terminal: use --once or --json")
    else:
        screen(job, o.interval)


if __name__ == "__main__":
    run(main)
