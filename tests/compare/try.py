#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`tweed try`: try.py TWEED.  Programs that are right, refused, wrong, dead, without an end; builds that fail; what
is run again, and what is not; refusals."""
import csv
import fcntl
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import types
import unittest.mock

sys.dont_write_bytecode = True
from command import TWEED, check, end  # noqa: E402

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../results"))
from harness import interrupts  # noqa: E402
from trying import process  # noqa: E402
from trying.build import Build  # noqa: E402
from trying.outputs import Reference  # noqa: E402
from trying.trial import Trial  # noqa: E402

# Its argument says what it does under Tweed; natively it is good.  It writes a file, and appends to another.
SOURCE = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <unistd.h>
static double part[2];
static void *work(void *p) { *(double *)p = 1 / 3.0; return 0; }
int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	int ours = getenv("TWEED_" "PROCESSOR") != NULL;
	pthread_t t[2];
	pthread_create(&t[0], 0, work, &part[0]);
	if (!strcmp(how, "refused")) {
		pthread_attr_t large;
		pthread_attr_init(&large);
		pthread_attr_setstacksize(&large, 1ul << 44);
		if (!pthread_create(&t[1], &large, work, &part[1]))
			pthread_join(t[1], 0);
	}
	pthread_join(t[0], 0);
	char folder[4096];
	printf("in %s by %s\n", getcwd(folder, sizeof(folder)), COMPILER);
	printf("pid %d: %.17g and %d\n", getpid(), part[0] + ours * 1e-12, !strcmp(how, "wrong") && ours);
	fflush(stdout);
	if (!strcmp(how, "crash") && ours)
		raise(SIGSEGV);
	if (!strcmp(how, "hang") && ours)
		pause();
	FILE *f = fopen("log.txt", "a");
	fprintf(f, "once%s\n", !strcmp(how, "file") && ours ? " too often" : "");
	fclose(f);
	return !strcmp(how, "status") && ours ? 3 : 0;
}
"""
PLAN = """
title = "A plan of a test"
protocols = ["2L"]
shapes = ["2x1"]
timeout = {timeout}
[[program]]
name = "right"
folder = "program"
command = "./main"
build = "make CC={{cc}}"
compare = ["stdout", "log.*"]
protocols = ["2L", "TS"]
[[program]]
name = "sanitized"
folder = "program"
command = "./main"
build = "make CC={{cc}} CFLAGS=-fsanitize=address"
[[program]]
name = "unbuilt"
folder = "program"
command = "./main"
build = "case {{cc}} in *tweed*) echo an error of the build; exit 1 ;; esac; make"
[[program]]
name = "gcc"
folder = "program"
command = "./main"
build = "make CC=gcc"
"""
MAKEFILE = "main: main.c\n\t$(CC) $(CFLAGS) -DCOMPILER='\"$(CC)\"' -o $@ $<\n"


def tried(*args, cwd):
    return subprocess.run([TWEED, "try", *args], capture_output=True, text=True, cwd=cwd, timeout=120, check=False)


def outcomes(folder):
    with open(os.path.join(folder, "results.csv"), encoding="utf-8") as f:
        return {(r["program"], r["protocol"]): r["outcome"] for r in csv.DictReader(f)}


def whys(folder):
    with open(os.path.join(folder, "results.json"), encoding="utf-8") as f:
        return " ".join(r["why"] for r in json.load(f))


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def runs(folder):
    return {f: os.stat(os.path.join(folder, "runs", f)).st_mtime_ns for f in os.listdir(os.path.join(folder, "runs"))
            if f.endswith(".json")}


def plan(top):
    write(os.path.join(top, "program", "main.c"), SOURCE)
    write(os.path.join(top, "program", "Makefile"), MAKEFILE)
    for target in (".", "nowhere"):
        os.symlink(target, os.path.join(top, "program", "to " + target))
    write(os.path.join(top, "outside", "part.h"), "")
    os.symlink("../outside", os.path.join(top, "program", "outside"))
    write(os.path.join(top, "plan.toml"), PLAN.format(timeout=60))
    before = sorted(os.listdir(os.path.join(top, "program")))
    done = tried("plan.toml", cwd=top)
    out = os.path.join(top, "try-plan")
    check("not all is right", done.returncode == 1, done.stdout + done.stderr)
    found = outcomes(out)
    for program, protocol, outcome in (("right", "2L", "right"), ("right", "TS", "right"),
                                       ("sanitized", "2L", "refused"),
                                       ("unbuilt", "2L", "build"), ("gcc", "2L", "build")):
        check(f"{program} is {outcome}", found.get((program, protocol)) == outcome, f"{found} {whys(out)}")
    for words in ("was given -fsanitize=address", "an error of the build", "not built by {cc}"):
        check(f"it says: {words}", words in done.stdout, done.stdout)
    check("the folder is as it was", sorted(os.listdir(os.path.join(top, "program"))) == before)
    check("a link to another folder is a copy of that",
          os.path.exists(os.path.join(out, "programs", "right", "native", "outside", "part.h")) and
          not os.path.islink(os.path.join(out, "programs", "right", "native", "outside")))
    for name in ("tables/programs.md", "tables/failures.txt", "tables/outcomes.tex",
                 "runs/right-2x1-2L-shm/files/log.txt"):
        check(f"{name} is there", os.path.getsize(os.path.join(out, name)) > 0)
    first = runs(out)
    check("nothing runs twice", tried("plan.toml", cwd=top).returncode == 1 and runs(out) == first)
    write(os.path.join(top, "plan.toml"), PLAN.format(timeout=50).replace('"stdout", "log.*"', '"stdout"'))
    tried("plan.toml", "--only", "right", cwd=top)
    check("other files are compared: it runs again", all(t != first[f] for f,
                                                         t in runs(out).items() if f.startswith("right")))


def ends(top):
    """How programs end; the builds are one, as only the arguments differ."""
    out = os.path.join(top, "try-program")
    for how, outcome, words in (("", "right", "1"), ("wrong", "wrong", "and 1' in place of"),
                                ("crash", "crash", "signal 11"), ("status", "wrong", "status 3 in place of 0"),
                                ("refused", "refused", "are left of TWEED_MEMORY for a stack"),
                                ("hang", "hang", "ended after 4 s"), ("file", "wrong", "log.txt, line 1")):
        done = tried("--protocols", "2L", "--shapes", "2x1", "--timeout", "4" if how == "hang" else "30", "--compare",
                     "stdout", "--compare", "log.txt", "program", "--", "./main", how, cwd=top)
        check(f"{how or 'good'} is {outcome}", outcomes(out) == {("program", "2L"): outcome} and words in whys(out),
              f"{outcomes(out)} {whys(out)} {done.stderr}")
        check(f"{how or 'good'}: status", done.returncode == (outcome != "right"), done.returncode)
    first = runs(out)
    table = os.path.join(out, "tables", "failures.txt")
    check("what failed is in a table", os.path.exists(table))
    judged = tried("--protocols", "2L", "--shapes", "2x1", "--timeout", "30", "--compare", "stdout", "--compare",
                   "log.txt", "--ignore", "once", "program", "--", "./main", "file", cwd=top)
    check("judged again, without a run", judged.returncode == 0 and runs(out) == first, judged.stdout)
    check("nothing fails any more: the table is gone", not os.path.exists(table))
    write(os.path.join(top, "program", "main.c"), SOURCE.replace("1 / 3.0", "1 / 7.0"))
    tried("--protocols", "2L", "--shapes", "2x1", "--compare", "stdout", "--compare", "log.txt", "program", "--",
          "./main", "file", cwd=top)
    check("another source: it runs again", all(t != first[f] for f, t in runs(out).items()))


def error(top, what, source, *words, args=(), command=("./main",)):
    """A native program that nothing can be compared with."""
    write(os.path.join(top, what, "main"), source)
    os.chmod(os.path.join(top, what, "main"), 0o755)
    done = tried("--build", "true", "--kind", "threads", "--protocols", "2L", *args, what, "--", *command, cwd=top)
    out = os.path.join(top, "try-" + what)
    check(f"{what} is an error", set(outcomes(out).values()) == {"error"} and all(w in whys(out) for w in words),
          f"{whys(out)} {done.stderr}")


def errors(top):
    error(top, "broken", "#!/bin/sh\nexit 0\n", "the native build failed: x.c: error: no such thing",
          args=("--build", "echo cc -Wno-error x.c; echo x.c: error: no such thing; false"))
    error(top, "slow-build", "", "not done after 0.2 s", args=("--build", "sleep 100", "--build-timeout", "0.2"))
    error(top, "endless", "#!/bin/sh\nwhile :; do sleep 1; done\n", "did not end well", "ended after 0 s",
          args=("--timeout", "0.3"))
    error(top, "flood", "#!/bin/sh\nexec yes\n", "printed more than 64 MiB")
    error(top, "unlucky", "#!/bin/sh\necho oh dear >&2\nexit 7\n", "status 7 in place of 0: oh dear")
    error(top, "elsewhere", "#!/bin/sh\n", "the build made no ./mian", command=("./mian",))
    error(top, "silent", "#!/bin/sh\n", "made no out.txt", args=("--compare", "out.txt"))
    for what, source, args in (("needy", "#!/bin/sh\nexec test -e ../../../../given\n", ()),
                               ("needy-build", "#!/bin/sh\n", ("--build", "test -e ../../../../given"))):
        error(top, what, source, args=args)
        write(os.path.join(top, "given"), "")
        error(top, what, source, args=args)  # nothing is done again
        tried("--build", "true", "--kind", "threads", "--protocols", "2L", *args, "--retry", what, "--", "./main",
              cwd=top)
        out = os.path.join(top, "try-" + what)
        check(f"{what} is right with --retry", set(outcomes(out).values()) == {"right"}, whys(out))
        os.remove(os.path.join(top, "given"))
    error(top, "restless", "#!/bin/sh\n[ -f ../n ] || echo once; touch ../n\n", "not the same twice")


def texts():
    def same(a, b, **more):
        options = {"ignore": [], "tolerance": 1e-9, "unordered": False} | more
        return not Reference([a], **options).difference(b)
    check("numbers by tolerance", same(b"x 1.0000000000001 y", b"x  1 y") and not same(b"1.001", b"1"))
    check("whole numbers are exact", not same(b"12345678901", b"12345678902"))
    check("any order", same(b"a 1\nb 2\n", b"b 2\na 1\n", unordered=True) and not same(b"a 1\nb 2\n", b"b 2\na 1\n"))
    check("lines that do not count", same(b"time 3\na", b"a", ignore=["^time"]))
    check("bytes", not same(b"\0a", b"\0b") and same(b"\0a", b"\0a"))
    masked = Reference([b"pid 1: 5", b"pid 2: 5"], [], 0, False)
    check("what differs anyway", not masked.difference(b"pid 3: 5") and "line 1" in masked.difference(b"pid 3: 6"))
    check("lines too many, too few", "one too many" in Reference([b"a"], [], 0, False).difference(b"a\nb")
          and "missing" in Reference([b"a\nb"], [], 0, False).difference(b"a"))


def races():
    """What is wrong only under a protocol that is not sequentially consistent."""
    trial = Trial.__new__(Trial)
    for kind, place, sequential, right in (("threads", (2, 1, "2L", "shm"), "right", True),
                                           ("threads", (2, 1, "2L", "shm"), "crash", False),
                                           ("threads", (1, 2, "2L", "shm"), "right", False),
                                           ("threads", (2, 1, "SC:hold=0", "shm"), "right", False),
                                           ("openshmem", (2, 1, "", "shm"), "right", False)):
        trial.made = types.SimpleNamespace(kind=kind)
        trial.judged = lambda at, outcome=sequential: types.SimpleNamespace(outcome=outcome if at[2] == "SC" else "")
        check(f"right under SC: {kind} {place} {sequential}", trial.right_if_sequential(place) == right)


def kinds(top):
    """Found from the sources."""
    for kind, text in (("threads", "#include <pthread.h>"), ("threads", 't = g_thread_new("worker", work, NULL);'),
                       ("openmp", "#include <thread>\n#pragma omp parallel"), ("", "static int pthreads;")):
        folder = tempfile.mkdtemp(dir=top)
        write(os.path.join(folder, "main.c"), text)
        build = Build.__new__(Build)
        build.program = types.SimpleNamespace(folder=folder)
        check(f"kind of {text}", build.marked() == kind, build.marked())


def stops_early(top):
    """Signalled before it has its child in hand, it ends the child."""
    class Signalled(subprocess.Popen):
        def __init__(self, *args, **options):
            super().__init__(*args, **options)
            os.kill(os.getpid(), signal.SIGTERM)
    folder = os.path.join(top, "try-early")
    os.makedirs(folder)
    interrupts.take()
    with unittest.mock.patch.object(subprocess, "Popen", Signalled):
        try:
            process.run(["sleep", "98.76"], folder, None, os.path.join(top, "o"), os.path.join(top, "e"), 30)
            number = None
        except KeyboardInterrupt as e:
            number = e.args[0]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    check("it stops early", number == signal.SIGTERM and not sleepers(top), f"{number} {sleepers(top)}")


def stops(top):
    """Interrupted, it leaves nothing running."""
    write(os.path.join(top, "stopped", "main"), "#!/bin/sh\nexec sleep 98.76\n")
    os.chmod(os.path.join(top, "stopped", "main"), 0o755)
    with subprocess.Popen([TWEED, "try", "--build", "true", "--kind", "threads", "stopped", "--", "./main"], cwd=top,
                          stderr=subprocess.PIPE, text=True) as child:
        until = time.monotonic() + 30
        while not (ran := sleepers(top, b"98.76")) and time.monotonic() < until:
            time.sleep(0.05)
        child.send_signal(signal.SIGTERM)
        said = child.communicate(timeout=60)[1]
    check("it stops", ran and child.returncode == 128 + signal.SIGTERM and "goes on from here" in said
          and not sleepers(top), f"{ran} {child.returncode} {said} {sleepers(top)}")


def sleepers(top, argument=b""):
    """Processes that work in a copy, and were given @argument."""
    copies = os.path.join(os.path.realpath(top), "try-")
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                if argument in f.read() and os.readlink(f"/proc/{pid}/cwd").startswith(copies):
                    found.append(pid)
        except OSError:
            pass
    return found


def refusals(top):
    def refused(what, *words, args=None, text=""):
        write(os.path.join(top, "bad.toml"), text)
        done = tried(*(args or ("--out", "no", "bad.toml")), cwd=top)
        check(what, done.returncode == 2 and done.stderr.count("\n") == 1 and all(w in done.stderr for w in words),
              done.stderr)
        check(what + ": nothing is written", not os.path.exists(os.path.join(top, "no")))

    def option(what, *words, args):
        refused(what, *words, args=("--out", "no", *args))

    program = '[[program]]\nfolder = "program"\n'
    command = program + 'command = "./main"\n'
    refused("no programs", "[[program]]", text="title = 'x'")
    refused("no TOML", "no plan", text="title = ")
    refused("no command", "has no command", text=program)
    refused("an unknown key", "comand", "command?", text=program + "comand = 'x'")
    refused("an unknown key of the plan", "tile", "title?", text="tile = 'x'\n" + command)
    refused("a wrong type", "timeout takes a number", text=command + "timeout = 'long'")
    refused("a wrong list", "ignore takes a list of texts", text=command + "ignore = [1]")
    refused("no regular expression", "regular expressions", text=command + "ignore = ['(']")
    refused("no shape", "NODESxPROCESSORS", text=command + "shapes = ['2']")
    refused("no kind", "openmpi", "openmp?", text=command + "kind = 'openmpi'")
    refused("an unknown protocol", "2l", "2L", text=command + "protocols = ['2l']")
    refused("no setting", "TWEED_", text=command + "settings = { UPDATES = 0 }")
    refused("a bad setting", "TWEED_UPDATE", text=command + "settings = { TWEED_UPDATE = 0 }")
    refused("a placeholder", "{thread}", "threads?", text=program + 'command = "./main {thread}"')
    refused("two of a name", "two programs", text=command + command)
    refused("a quote", "cannot be read", text=program + "command = \"./main '\"")
    option("no folder", "nowhere", args=("nowhere", "--", "./main"))
    option("no command given", "how is the program run", args=("program",))
    option("nothing given", "give the folder", args=())
    option("an unknown option", "--protocol", "--protocols?", args=("--protocol", "2L", "program", "--", "./main"))
    option("no number", "--timeout", args=("--timeout", "x", "program", "--", "./main"))
    option("no time", "more than 0", args=("--timeout", "0", "program", "--", "./main"))
    option("a plan and options", "takes --out", args=("--timeout", "3", "plan.toml"))
    option("no such program in a plan", "right?", args=("--only", "rigt", "plan.toml"))
    option("an unknown way to build", "--build", args=("empty", "--", "./main"))
    refused("a folder of results", "another --out", args=("--out", ".", "program", "--", "./main"))
    os.makedirs(os.path.join(top, "taken"))
    with open(os.path.join(top, "taken", ".lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        refused("a folder that another writes to", "another process",
                args=("--out", "taken", "program", "--", "./main"))
    refused("a blank", "blank", args=("--out", "a b", "program", "--", "./main"))


with tempfile.TemporaryDirectory() as directory:
    texts()
    races()
    kinds(directory)
    plan(directory)
    ends(directory)
    errors(directory)
    stops_early(directory)
    stops(directory)
    os.makedirs(os.path.join(directory, "empty"))
    refusals(directory)
    check("nothing is left running", not sleepers(directory))
end("try")
