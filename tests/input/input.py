# SPDX-License-Identifier: BSD-3-Clause
"""Mistaken calls of tweed: each ends in exactly one sentence on standard error that names the mistake and, where one
is near, the right word; with status 2; with nothing started and no file made or changed.

usage: input.py TWEED PROGRAM    PROGRAM: of the bare compiler"""

import os
import re
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tempfile

tweed = os.path.abspath(sys.argv[1])
program = os.path.abspath(sys.argv[2])
RESULTS = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..", "results"))
failures = []
cases = 0


def call(args, env=None, cwd=None):
    clean = {k: v for k, v in os.environ.items() if not k.startswith("TWEED_")}
    return subprocess.run([tweed, *args], env={**clean, **(env or {})}, cwd=cwd, stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=30)


def report(name, problems, done):
    global cases
    cases += 1
    if problems:
        failures.append(name)
        print(f"{name}: {'; '.join(problems)}\n    status {done.returncode}, stderr: "
              f"{done.stderr.decode(errors='replace')}")


def tree(path):
    return {os.path.join(d, f): os.stat(os.path.join(d, f)).st_size for d, _, files in os.walk(path) for f in files}


def bad(name, args, *expected, env=None):
    """The call must fail as described above, and its sentence must match every pattern of @expected."""
    before = tree(".")
    done = call(args, env)
    text = done.stderr.decode(errors="replace")
    problems = []
    if done.returncode != 2:
        problems.append("status is not 2")
    if text.count("\n") != 1 or not text.endswith("\n"):
        problems.append("not exactly one line")
    if not text.startswith("tweed: "):
        problems.append("does not start with 'tweed: '")
    if done.stdout:
        problems.append("prints to standard output")
    problems += [f"does not match '{e}'" for e in expected if not re.search(e, text)]
    if tree(".") != before:
        problems.append("something was started or changed")
    report(name, problems, done)


def good(name, args, status=0, env=None, stdout=None):
    done = call(args, env)
    problems = [] if done.returncode == status else [f"status is not {status}"]
    if status == 0 and done.stderr:
        problems.append("complains")
    if stdout is not None and done.stdout.decode() != stdout:
        problems.append(f"prints {done.stdout!r}")
    report(name, problems, done)


def executable(name, text):
    with open(name, "wb") as f:
        f.write(text if isinstance(text, bytes) else text.encode())
    os.chmod(name, stat.S_IRWXU)


def settings():
    run = ["run", "./touch"]
    bad("bench: an option that there is not", ["bench", "--foo"], "--foo")
    bad("bench: the same, for JSON", ["bench", "--json", "--foo"], "--foo")
    bad("protocol in the wrong case", run, "TWEED_PROTOCOL", "'2l'", "did you mean 2L", env={"TWEED_PROTOCOL": "2l"})
    bad("misspelt variable", run, "TWEED_PROTOCL", "did you mean TWEED_PROTOCOL", env={"TWEED_PROTOCL": "2L"})
    bad("variable in the wrong case", run, "did you mean TWEED_NODES", env={"TWEED_nodes": "2"})
    bad("variable like no other", run, "TWEED_XYZZY", "tweed info", env={"TWEED_XYZZY": "1"})
    bad("empty name", run, "TWEED_ ", env={"TWEED_": "1"})
    bad("long name", run, "is no setting", env={"TWEED_" + "A" * 5000: "1"})
    bad("empty number", run, "TWEED_NODES", env={"TWEED_NODES": ""})
    bad("empty choice", run, "TWEED_LOCK", "queue, array", env={"TWEED_LOCK": ""})
    bad("long value", run, "TWEED_STATS", env={"TWEED_STATS": "x" * 5000})
    bad("long choice", run, "TWEED_FAULT", env={"TWEED_FAULT": "x" * 5000})
    bad("switch", run, "TWEED_TAG", "0, 1", env={"TWEED_TAG": "yes"})
    bad("info with a bad environment", ["info"], "TWEED_HOME", "did you mean first-touch",
        env={"TWEED_HOME": "first_touch"})


def shapes():
    bad("no nodes", ["run", "-n", "0", "./touch"], "-n ", "'0'", "1 to 256")
    bad("too many processors", ["run", "-n", "2", "-p", "9999", "./touch"], "-p ", "'9999'", "1 to 64")
    for value in ("-1", "+1", "1.5", "1e3", " 1", "1 ", "0x2", "two", "99999999999999999999999", "257", "1K", ""):
        bad(f"nodes '{value}'", ["run", "-n", value, "./touch"], "-n is ", "1 to 256")
    bad("baseline on two nodes", ["run", "-n", "2", "--protocol", "none", "./touch"], "none", "one node", "-n 1")


def sizes():
    for value in ("0", "1", "5K", "12K", "2K", "128K", "4KB", "4 K", "-4K", "4Q", "K", "18446744073709551616",
                  "16777216T"):
        bad(f"page size '{value}'", ["run", "--page-size", value, "./touch"], "--page-size", "power of two",
            "4K to 64K")
    bad("memory that is no multiple of 2M", ["run", "--memory", "3M", "./touch"], "TWEED_MEMORY", "multiple of 2M")
    bad("memory 8GB", ["run", "--memory", "8GB", "./touch"], "'8GB'", "2M to 1T")
    bad("superpage", ["run", "--superpage", "3", "./touch"], "power of two from 1 to 512")
    bad("spin", ["run", "--spin", "10001", "./touch"], "0 to 10000, or auto")
    bad("seed", ["run", "--transport", "sim:seed=18446744073709551616", "./touch"], "seed of sim is")


def options():
    bad("no command", [], "no command")
    bad("misspelt command", ["rnu", "./touch"], "did you mean 'tweed run'")
    bad("misspelt option", ["run", "--protocl", "2L", "./touch"], "did you mean --protocol")
    bad("misspelt option with a value", ["run", "--fualt=auto", "./touch"], "--fualt", "did you mean --fault")
    bad("unknown letter", ["run", "-x", "./touch"], "-x", "--help")
    bad("option without its value", ["run", "--stats"], "--stats needs a value")
    bad("protocol", ["run", "--protocol", "2LL", "./touch"], "did you mean 2L")
    bad("parameter without a value", ["run", "--protocol", "2L:refresh", "./touch"], "refresh of 2L needs a value")
    good("choice with its value behind it", ["run", "--tag", "0", "./true"])
    bad("agents' command", ["where"], "SIGUSR1")
    # Stand-ins: each shows how it was called.
    path = {"PATH": f"{os.getcwd()}/stand-ins:{os.environ['PATH']}"}
    good("under perf", ["run", "--perf", "./true", "1"], env=path, stdout="perf record -q -o perf.data.0 -- ./true 1\n")
    good("under gdb", ["run", "--gdb", "./true", "a b"], env=path,
         stdout=f"gdb -q -x {RESULTS}/gdb.py --args ./true a b\n")
    bad("valgrind without its backend", ["run", "--valgrind", "--fault", "uffd", "./true"], "valgrind",
        "--fault mprotect", env=path)
    bad("gdb on other hosts", ["run", "--gdb", "--hosts", "a", "--transport", "ofi", "./true"], "emulated nodes",
        env=path)
    bad("no perf", ["run", "--perf", "./true"], "no program 'perf' in PATH", env={"PATH": "/no/such"})
    bad("fault backend", ["run", "--fault", "mprotec", "./touch"], "did you mean mprotect")
    bad("shootdown without the backend for it", ["run", "--fault", "mprotect", "--shootdown=protect", "./touch"],
        "protect",
        "--shootdown polled")
    bad("shootdown that leaves reads", ["run", "--protocol", "SC", "--shootdown", "protect", "./touch"], "all rights",
        "--shootdown interrupt")
    bad("faults by a thread", ["run", "--protocol", "SC", "--fault", "uffd-monitor", "./touch"], "uffd-monitor",
        "--fault uffd")
    bad("transport", ["run", "--transport", "tcp", "./touch"], "must be one of shm")
    bad("info with an argument", ["info", "--jsn"], "--jsn")
    bad("the agent by hand", ["agent", "./touch"], "PMIx", "mpirun", "tweed run")
    bad("the agent with an option", ["agent", "-n", "2", "./touch"], "TWEED_PROCESSORS=4")
    bad("the agent without its launcher", ["agent", "--socket", "77"], "takes no options")


def words():
    """Words that other commands have taught: they work here, or are answered."""
    def prints(name, args, pattern, status=0):
        done = call(args)
        text = done.stdout.decode()
        problems = ([] if done.returncode == status and not done.stderr else ["is refused"]) + \
            ([] if re.search(pattern, text) else [f"prints {text[:200]!r}"])
        report(name, problems, done)
    prints("help", ["help"], "^usage: tweed COMMAND[^$]*tweed agent ")
    prints("help of a command", ["help", "run"], "^usage: tweed run ")
    prints("a letter for help", ["run", "-h"], "^usage: tweed run ")
    prints("version as a word", ["version"], r"^tweed \d")
    prints("help of the agent", ["agent", "--help"], "^usage: tweed agent ")
    prints("help of omp", ["omp", "--help"], r"^usage: tweed omp cc \| c\+\+ [^$]*OpenMP")
    prints("help of omp cc", ["omp", "cc", "--help"], "^usage: tweed omp cc [^$]*OpenMP")
    prints("help of info", ["info", "--help"], r"\[PROGRAM\]")
    for name in "TWEED_HOME", "home", "--home":
        prints(f"info of {name}", ["info", name], r"^  TWEED_HOME +first-touch\n    [^\n]+\n    --home, first-touch \|")
    prints("info of a protocol", ["info", "TS"], r"^  TS +logical[^$]*TS:lease=")
    prints("info of a transport", ["info", "shm"], r"^  shm +[^\n]+\n    works here\n")
    prints("info of a collective call", ["info", "sync"], r"^  sync +node [^$]*dissemination")
    prints("info of no change", ["info", "--changed"], "^all settings are at their defaults\n")
    bad("help of no command", ["help", "rnu"], "did you mean 'tweed run'")
    bad("hosts in JSON", ["info", "--json", "--hosts"], "--hosts", "without --json", "LIST")


def compilers():
    """A compiler's name that is this command again, as CMake sets CC for a script: called once more, not for ever."""
    if not os.path.exists(os.path.join(os.path.dirname(tweed), "../runtime/openmp/libtweed-openmp.a")):
        return
    with open("one.c", "w") as f:
        f.write("int main(void)\n{\n\treturn 0;\n}\n")
    for command, variable in (("omp cc", "CC"), ("omp c++", "CXX"), ("cc", "CC"), ("oshcc", "CC"), ("oshc++", "CXX")):
        executable("again", f"#!/bin/sh\necho called >>calls\nexec {tweed} {command} \"$@\"\n")
        job = subprocess.Popen(["./again", "-x", "c++" if "+" in command else "c", "one.c", "-o", "one"],
                               env={**os.environ, variable: "./again"},
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               start_new_session=True)
        try:
            out, err = job.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            os.killpg(job.pid, signal.SIGKILL)
            out, err = job.communicate()
        done = subprocess.CompletedProcess(job.args, job.returncode, out, err)
        with open("calls") as f:
            calls = len(f.readlines())
        problems = ([] if done.returncode == 0 else ["fails"]) + ([] if calls <= 3 else [f"{calls} calls"])
        report(f"{command} in a script that {variable} names", problems, done)
        os.unlink("calls")
    os.symlink(tweed, "tweed-omp-cc")
    done = subprocess.run(["./tweed-omp-cc", "-O2", "one.c", "-o", "one"], env={**os.environ, "CC": "./tweed-omp-cc"},
                          capture_output=True, timeout=30)
    report("one word", [] if done.returncode == 0 else ["fails"], done)
    bad("a library of copied variables", ["cc", "--parmacs", "--copied-globals", "-shared", "one.c"],
        "'tweed cc' was given -shared", "make it an archive")
    for args, shown in ((["cc", "--show", "--parmacs", "--no-stores", "one.c"], "^gcc "),
                        (["c++", "--show", "--parmacs", "--no-stores", "one.c"], r"^g\+\+ ")):
        env = {k: v for k, v in os.environ.items() if k not in ("CC", "CXX")}
        done = subprocess.run([tweed, *args], env=env, capture_output=True, timeout=30)
        report(" ".join(args), [] if re.search(shown, done.stdout.decode()) else ["another compiler"], done)


def outsiders():
    """Programs that run without joining the job: a warning names what builds or starts them; but nobody waits for who
    never comes."""
    def says(name, args, *expected, status=0):
        done = call(["run", "-n", "2", "-p", "2", *args])
        text = done.stderr.decode()
        problems = [] if done.returncode == status else [f"status is not {status}"]
        if text.count("\n") != bool(expected) or not all(re.search(e, text) for e in expected):
            problems.append(f"does not say {expected} in one line")
        report(name, problems, done)
    with open("threads.c", "w") as f:
        f.write("#include <pthread.h>\nstatic void *f(void *a)\n{\n\treturn a;\n}\nint main(void)\n{\n\tpthread_t t;\n"
                "\treturn pthread_create(&t, 0, f, 0) || pthread_join(t, 0);\n}\n")
    with open("team.c", "w") as f:
        f.write("int main(void)\n{\n\tint n = 0;\n#pragma omp parallel reduction(+ : n)\n\tn++;\n\treturn !n;\n}\n")
    with open("mpi.c", "w") as f:
        f.write("int MPI_Init(void)\n{\n\treturn 0;\n}\n")
    with open("rank.c", "w") as f:
        f.write("int MPI_Init(void);\nint main(void)\n{\n\treturn MPI_Init();\n}\n")
    if shutil.which("gcc"):
        for command in ("mpi.c -DMPI_Init=main -o serial", "-pthread threads.c -o threads", "-fopenmp team.c -o team",
                        "-shared -fPIC -Wl,-soname,libmpi.so.40 mpi.c -o libmpi.so.40",
                        "rank.c ./libmpi.so.40 -Wl,-rpath,$ORIGIN -o rank"):
            subprocess.run(["gcc", *command.split()], check=True)
        says("threads of another compiler", ["./threads"], "warning: './threads' ran 4 times", "'tweed cc --pthreads'")
        says("a program of another compiler", ["./serial"], "warning: './serial' ran 4 times", "'tweed cc'")
        says("OpenMP of another compiler", ["./team"], "warning: './team' ran 4 times", "'tweed omp cc'")
        says("MPI", ["./rank"], "warning: './rank' ran 4 times", "MPI", "mpirun")
        good("one of them alone", ["run", "./team"])
    says("no threads", ["true"])
    executable("early", f"#!/bin/sh\n[ $TWEED_RANK = 1 ] && exit 0\nexec {program} 10\n")
    says("one that never joins", ["./early"],
         "node 0 processor 1 .* before it called tw_init, for which the others wait", status=1)
    executable("ranks", "#!/bin/sh\necho $TWEED_RANK of $TWEED_SIZE >>ranks-$TWEED_RANK\n")
    done = call(["run", "-n", "2", "-p", "2", "./ranks"], {"TWEED_RANK": "7", "TWEED_SIZE": "9"})
    texts = []
    for i in range(4):
        with open(f"ranks-{i}") as f:
            texts.append(f.read())
    report("ranks", [] if texts == [f"{i} of 4\n" for i in range(4)] else [f"are {texts}"], done)


def texts():
    """Texts that only their users read: checked where nobody uses them, too.  Words of other launchers; files of
    another kind."""
    with open("one.c", "w") as f:
        f.write("int main(void)\n{\n\treturn 0;\n}\n")
    bad("collectives of no OpenSHMEM program", ["run", "--collectives", "x=y", "./touch"], "TWEED_COLLECTIVES", "'x=y'",
        "CALL=ALGORITHM")
    bad("collectives of an OpenSHMEM program", ["oshrun", "-n", "2", "--collectives", "foo=bar", "./touch"],
        "TWEED_COLLECTIVES", "'foo=bar'")
    bad("loss of no node", ["run", "--transport", "sim:lose=x", "./touch"], "lose is 'x'", "NODE@SECONDS")
    bad("loss of a node that is not there", ["run", "-n", "2", "--transport", "sim:lose=2@1", "./touch"],
        "a node below 2")
    bad("stall without its end", ["run", "--transport", "sim:stall=0@1", "./touch"], "stall is '0@1'",
        r"NODE@SECONDS\+SECONDS")
    bad("hosts without end", ["run", "--hostfile", "/dev/zero", "./touch"], "/dev/zero", "no hosts' file",
        "1048576 bytes")
    bad("processors of mpirun", ["run", "-np", "4", "./touch"], "-np is no option", "-n is the number of nodes")
    bad("processors of mpirun in one", ["run", "-np4", "./touch"], "-np is no option")
    bad("nodes of srun", ["run", "-N", "2", "./touch"], "-N is no option", "-n is the number of nodes")
    bad("more of a node than of the job", ["oshrun", "-n", "2", "--ppn", "3", "./touch"],
        "--ppn 3 does not divide the 2")
    bad("PEs that do not spread", ["oshrun", "-n", "5", "--hosts", "a,b", "./touch"], "5 PEs", "2 nodes", "--ppn")
    bad("options of no benchmark", ["bench", "--foo"], "--foo is no option")
    bad("a program as a plan", ["compare", "one.c"], "one.c is no plan", "TOML")
    cpu = max(os.sched_getaffinity(0))
    cpus = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {cpu})
    bad("more processors than cores hold", ["run", "-n", "200", "-p", "64", "./touch"], "12800 processors",
        "at most 256", "--oversubscribe")
    os.sched_setaffinity(0, cpus)


def family():
    def member(choices, *expected):
        bad(choices, ["run", "-n", "2", "--protocol", "2L:" + choices, "./touch"], *expected)
    both = "writes=stores,updates=doubling"
    member("levels=2,writes=stores", "both writes=stores and updates=doubling")
    member("levels=1,updates=doubling", "both writes=stores and updates=doubling")
    member(both, "levels=1")
    member(f"levels=1,{both},home=migrate", "home=first-touch")
    member(f"levels=1,{both},local=shootdown", "leave out local=shootdown")
    member("writes=store", "writes of 2L is 'store'", "twin, stores", "did you mean stores")
    member("retentoin=0", "2L has no parameter 'retentoin'", "did you mean retention")
    member("retention=256", "retention of 2L is '256'", "from 0 to 255")
    bad("parameters of what has none", ["run", "--protocol", "simple:x=1", "./touch"], "simple has no parameters")
    bad("parameters of shm", ["run", "--transport", "shm:x=1", "./touch"], "shm has no parameters")
    bad("races without twins", ["run", "-n", "2", "--protocol", "1L", "./touch"], "TWEED_RACE",
        env={"TWEED_RACE": "ww"})
    bad("units without diffs", ["run", "-n", "2", "--protocol", "1L", "--diff-unit", "8", "./touch"], "--diff-unit",
        "doubles stores")
    bad("races that nobody looks for", ["run", "-n", "2", "--race", "--protocol", "simple", "./touch"],
        "protocol simple does not look for races")
    bad("program that does not announce its stores", ["run", "-n", "2", "-p", "2", "--protocol", "1L", program],
        "tweed cc", "1L")


def virtual_time():
    def machine(text):
        with open("costs", "w") as f:
            f.write(text)
        return ["run", "--time", "virtual", "--machine", "./costs", "./touch"]

    def changed(change):
        return ["run", "--time", "virtual", "--machine", "hdr:" + change, "./touch"]

    bad("a time that is none", ["run", "--time", "virtuell", "./touch"], "--time is 'virtuell'", "did you mean virtual")
    bad("a machine without virtual time", ["run", "--machine", "hdr", "./touch"], "--time virtual")
    bad("a change of no cost", changed("latency_n=5"), "'latency_n' is no cost", "did you mean latency_ns")
    bad("a change that is no number", changed("latency_ns=5,link_mb=fast"), "NAME = NUMBER")
    bad("a change twice", changed("latency_ns=5,latency_ns=6"), "latency_ns is given twice")
    bad("no such machine", ["run", "--time", "virtual", "--machine", "cray", "./touch"], "no machine 'cray'", "a path")
    bad("two networks", ["run", "--time", "virtual", "--transport", "ofi", "./touch"],
        r"leave TWEED_TRANSPORT \(--transport\) out")
    bad("deaths in virtual time", ["run", "--time", "virtual", "--survive", "./touch"], "--survive")
    bad("faults served by a thread", ["run", "--time", "virtual", "--fault", "uffd-monitor", "./touch"],
        "--fault auto")
    bad("a cost that is none", machine("trap_n = 1\n"), "costs:1", "'trap_n' is no cost",
        "did you mean trap_ns")
    bad("a cost that is no number", machine("# a machine\ntrap_ns = many\n"), "costs:2", "NAME = NUMBER")
    bad("a cost below nothing", machine("trap_ns = -1\n"), "costs:1", "from 0")
    bad("a cost twice", machine("trap_ns = 1\ntrap_ns = 2\n"), "costs:2", "trap_ns is given twice")
    bad("costs that are missing", machine("trap_ns = 1\n"), "work_ps is missing")


def binding():
    """Jobs that run: what --show-binding says, on machines that are made up, and where the processors of this one
    are."""
    def shows(name, args, *lines, env=None, stdout=""):
        done = call(["run", *args], env)
        said = sorted(done.stderr.decode().splitlines())
        problems = [] if done.returncode == 0 else [f"status {done.returncode}"]
        if said != [f"tweed: agent {line[0]}: processor {line}" for line in lines]:
            problems.append(f"says {said}")
        if done.stdout.decode() != stdout:
            problems.append(f"prints {done.stdout!r}")
        report(name, problems, done)
    shows("binding in two packages", ["-n", "2", "-p", "2", "--bind", "core", "--show-binding", "true"],
          "0.0 may run on cpu 0-1", "0.1 may run on cpu 2-3", "1.0 may run on cpu 4-5", "1.1 may run on cpu 6-7",
          env={"HWLOC_SYNTHETIC": "package:2 core:2 pu:2"})
    shows("binding to packages", ["-n", "1", "-p", "2", "--bind", "package", "--show-binding", "true"],
          "0.0 may run on cpu 0-3", "0.1 may run on cpu 4-7", env={"HWLOC_SYNTHETIC": "package:2 core:2 pu:2"})
    shows("no binding", ["-n", "1", "-p", "1", "--show-binding", "true"], "0.0 may run on cpu all")
    cpus = os.sched_getaffinity(0)
    cpu = max(cpus)
    os.sched_setaffinity(0, {cpu})
    shows("binding inside the cpus that we may use", ["-n", "1", "-p", "1", "--bind", "core", "--show-binding", "grep",
                                                      "Cpus_allowed_list",
                                                      "/proc/self/status"], f"0.0 may run on cpu {cpu}",
          stdout=f"Cpus_allowed_list:\t{cpu}\n")
    os.sched_setaffinity(0, cpus)


def hosts():
    def host(name, *expected):
        bad(f"hosts '{name}'", ["run", "--hosts", name, "./touch"], *expected)
    host("a,b", "shm", "does not leave a host", "--transport")
    host(",", "names no host; write")
    host("a:0", "a:0", "1 to 256")
    host("a:", "'a:'", "1 to 256")
    host("a:x", "a:x", "1 to 256")
    host("a:200,b:200", "more than 256 nodes")
    host("-oProxyCommand=touch", "no host")
    host("[-oProxyCommand=touch]", "no host")
    host("[-F]", "no host")
    host("[]", "no host")
    host("[a", "no host")
    host("a;touch", "no host")
    host("$(touch)", "no host")
    bad("more nodes than hosts", ["run", "-n", "5", "--hosts", "a,b:2", "./touch"], "5 nodes", "have 3")
    bad("hosts twice", ["run", "--hosts", "a", "--hostfile", "plain", "./touch"], "--hosts", "--hostfile")
    bad("missing hosts' file", ["run", "--hostfile", "missing", "./touch"], "missing", "No such")
    bad("directory as hosts' file", ["run", "--hostfile", "directory", "./touch"], "directory", "Is a directory")
    with open("empty-hosts", "w") as f:
        f.write("# nobody\n\n")
    for text, *expected in (("a\nb:0\n", "'b:0'", "1 to 256"), ("a\n-oProxyCommand=touch\n", "no host"),
                            ("a b;touch\n", "'b;touch'", "no host"),
                            ("a # one\nb:256\n", "more than 256"), ("a\0b\n" + "c" * 300 + "\n", "no host"),
                            ("\xff\xfe\n", "no host")):
        with open("wrong-hosts", "w", encoding="latin-1") as f:
            f.write(text)
        bad(f"hosts' file {text[:20]!r}", ["run", "--hostfile", "wrong-hosts", "--transport", "ofi", "./touch"],
            "wrong-hosts", *expected)
    bad("hosts' file without hosts", ["run", "--hostfile", "empty-hosts", "./touch"], "empty-hosts", "names no host")
    bad("environment without a name", ["run", "--env", "=x", "./touch"], "--env", "NAME")
    bad("environment of nobody", ["run", "--env", "NO_SUCH_VARIABLE", "./touch"], "NO_SUCH_VARIABLE")
    bad("environment without a value", ["run", "--env"], "--env needs a value")
    bad("asking no hosts", ["info", "--hosts", ""], "no hosts")
    bad("asking what is no host", ["info", "--hosts", "a;b"], "no host")
    bad("binding", ["run", "--bind", "cores", "./touch"], "did you mean core")
    bad("more processors than cores", ["run", "-n", "2", "-p", "64", "--bind", "core", "./touch"], "128 processors",
        "--bind none")
    bad("watch", ["run", "--watch", "-1", "./touch"], "--watch", "0 to 86400")
    good("environment", ["run", "--env", "TW_A=1", "--env=TW_B=2", "./variables"], stdout="1 2\n")


def other_version():
    """A program whose note has another number; and one that finds a job whose number differs from its own."""
    with open(program, "rb") as f:
        text = f.read()
    note = struct.pack("<III8s", 6, 8, 3, b"Tweed")
    at = text.index(note) + len(note)
    number = text[at:at + 8]
    executable("other", text[:at] + bytes(8) + text[at + 8:])
    bad("a program of another version", ["run", "-n", "2", "./other"], "'./other'", "another version of Tweed",
        "build it again")
    executable("other", text.replace(number, bytes(8)).replace(note + bytes(8), note + number))
    done = call(["run", "./other", "10"])
    text = done.stderr.decode()
    report("a job of another version", [] if done.returncode == 2 and "another version of Tweed" in text.split("\n")[0]
           else ["not refused"], done)


def programs():
    bad("no program", ["run"], "no program")
    bad("no program after --", ["run", "--"], "no program")
    bad("missing program", ["run", "./nothing"], "./nothing", "does not exist")
    bad("missing program in PATH", ["run", "nothing-of-this-name"], "nothing-of-this-name", "PATH")
    bad("program of this directory", ["run", "touch-it"], "./touch-it")
    bad("empty program", ["run", ""], "no program ''")
    other_version()
    bad("directory", ["run", "./directory"], "./directory", "is a directory")
    bad("file that is not executable", ["run", "./plain"], "./plain", "not executable")
    bad("device", ["run", "/dev/null"], "/dev/null", "regular")
    bad("path through a file", ["run", "./plain/x"], "./plain/x", "Not a directory")
    bad("script without interpreter", ["run", "-n", "2", "-p", "2", "./no-interpreter"], "no-interpreter",
        "its interpreter does not exist")
    bad("neither script nor binary", ["run", "-n", "2", "-p", "2", "./garbage"], "./garbage", "Exec format")
    bad("control bytes in the name", ["run", "./a\nb"], "does not exist")


def full():
    """Files where there is no room, and pipes: the reason, and the old file or the whole new one."""
    done = call(["run", "--trace", "/dev/full", program])
    report("a trace without room", [] if done.returncode == 1 and b"No space left" in done.stderr
           else ["another reason"], done)
    done = call(["run", "--stats", "/dev/full", program])
    report("statistics without room", [] if done.returncode == 1 and b"No space left" in done.stderr
           else ["another reason"], done)
    os.mkfifo("pipe")
    reader = subprocess.Popen(["cat", "pipe"], stdout=subprocess.PIPE)
    try:
        done = call(["run", "--stats", "pipe", program])
        report("statistics into a pipe", [] if done.returncode == 0 and b'"wall"' in reader.communicate(timeout=10)[0]
               else ["not there"], done)
    except subprocess.TimeoutExpired as e:
        report("statistics into a pipe", ["waits for ever"], subprocess.CompletedProcess([], None, b"",
                                                                                         e.stderr or b""))
    reader.kill()
    reader.wait()
    # As a user, to whom folders can be closed; the files are in memory, of which there is little.
    script = f"""set -e
mount -t tmpfs -o size=256k,mode=0755 tmpfs directory
head -c 20000 /dev/zero >directory/old; chmod 666 directory/old
cp {tweed} /dev/shm/tweed-input-$$; trap 'rm -f /dev/shm/tweed-input-$$' EXIT; chmod 755 /dev/shm/tweed-input-$$
setpriv --reuid 65534 --regid 65534 --clear-groups /dev/shm/tweed-input-$$ run --stats $PWD/directory/old true
python3 -c 'import json; json.load(open("directory/old"))'
head -c 2000 /dev/zero >directory/old
head -c 1000000 /dev/zero >directory/other 2>&1 || true
setpriv --reuid 65534 --regid 65534 --clear-groups \\
	/dev/shm/tweed-input-$$ run -n 8 -p 8 --stats $PWD/directory/old true && exit 1
head -c 2000 /dev/zero | cmp - directory/old"""
    if os.geteuid() == 0 and shutil.which("setpriv") and subprocess.run(["unshare", "-m", "true"],
                                                                        check=False).returncode == 0:
        os.chmod(".", 0o755)
        done = subprocess.run(["unshare", "-m", "sh", "-c", script], stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=60)
        report("statistics in a closed folder without room", [] if done.returncode == 0
               and done.stderr.count(b"No space left") == 1 else ["damaged"], done)


def no_proc():
    """A sanitizer, which reads /proc itself, may add to sentence and status."""
    if os.geteuid() or subprocess.run(["unshare", "-m", "umount", "-l", "/proc"], stderr=subprocess.DEVNULL,
                                      check=False).returncode:
        return
    done = subprocess.run(["unshare", "-m", "sh", "-c", f"umount -l /proc; {tweed} run ./touch"],
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=30)
    alone = done.returncode == 2 and done.stderr.count(b"\n") == 1
    report("no /proc", [] if (alone or b"Sanitizer" in done.stderr) and b"/proc is not there" in done.stderr
           else ["otherwise"], done)


def stats_files():
    bad("statistics in a missing directory", ["run", "--stats", "missing/s.json", "./touch"], "missing/s.json",
        "No such")
    bad("statistics into a directory", ["run", "--stats", "directory", "./touch"], "directory", "Is a directory")
    bad("statistics into the empty directory name", ["run", "--stats", "directory/", "./touch"], "directory/")
    if os.geteuid() != 0:
        os.chmod("plain", 0o444)
        bad("statistics into a read-only file", ["run", "--stats", "plain", "./touch"], "Permission denied")
        os.chmod("plain", 0o644)
    full()
    bad("statistics checked before the program", ["run", "--stats", "new.json", "./nothing"], "./nothing")


def controls():
    """The same calls without the mistake work: the cases above fail for the reason they name."""
    good("environment", ["run", "./true"], env={"TWEED_PROTOCOL": "2L", "TWEED_NODES": "2", "TWEED_BOOT": "3"})
    good("options", ["run", "-n2", "-p", "2", "--page-size=8K", "--memory", "4m", "--", "./true"])
    good("status", ["run", "./seven"], status=7)
    good("arguments", ["run", "--tag", "./echo", "--tag", "-n", "0"], stdout="[0.0] --tag -n 0\n")
    good("from PATH", ["run", "true"])
    good("version", ["--version"])
    good("info", ["info", "--json"])


with tempfile.TemporaryDirectory() as place:
    os.chdir(place)
    os.mkdir("directory")
    with open("plain", "w") as f:
        f.write("plain text\n")
    executable("touch", "#!/bin/sh\ntouch started\n")
    executable("touch-it", "#!/bin/sh\ntouch started\n")
    executable("true", "#!/bin/sh\nexit 0\n")
    executable("seven", "#!/bin/sh\nexit 7\n")
    executable("echo", "#!/bin/sh\necho \"$@\"\n")
    executable("variables", "#!/bin/sh\necho $TW_A $TW_B\n")
    executable("garbage", "neither script nor binary\n")
    os.mkdir("stand-ins")
    for name in ("gdb", "perf", "valgrind"):
        executable(f"stand-ins/{name}", '#!/bin/sh\necho "${0##*/} $*"\n')
    executable("no-interpreter", "#!/no/such/interpreter\n")
    for group in (binding, virtual_time, settings, shapes, sizes, options, words, compilers, outsiders, texts, hosts,
                  family, programs, stats_files, no_proc, controls):
        group()
    os.chdir("/")

print(f"input: {cases - len(failures)} of {cases} good")
sys.exit(1 if failures else 0)
