#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Programs with threads, built by make, CMake, meson and autoconf with nothing but the compiler's name, then run.

build.py BUILD SOURCES    installs BUILD into a temporary directory; what is not installed here (CMake, autoconf,
libtool, ccache) is left out, and named"""
import concurrent.futures
import glob
import os
import pty
import shutil
import signal
import subprocess
import sys
import tempfile

SAID = "1 begun, 50 times, sum 50000050\n"
PLUGIN = "plugin -5, "
WORDS = {"threads": ("tweed cc --pthreads", "tweed c++ --pthreads"), "omp": ("tweed omp cc", "tweed omp c++")}
NAMES = {"threads": ("tweed-pthreads-gcc", "tweed-pthreads-g++"), "omp": ("tweed-omp-gcc", "tweed-omp-g++")}
build_dir, source_dir = (os.path.abspath(a) for a in sys.argv[1:3])
failures, cases = [], 0


def expect(name, good, *done):
    global cases
    cases += 1
    if not good:
        failures.append(name)
        print(f"FAILED {name}", *(d if isinstance(d, str) else f"status {d.returncode}\n{d.stdout[-2500:]}"
                                  f"{d.stderr[-1500:]}" for d in done), sep="\n", flush=True)
    return good


def run(*command, cwd=None, text="", **env):
    try:
        return subprocess.run(command, env={**ENV, **env}, cwd=cwd, input=text, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    except subprocess.TimeoutExpired as late:
        return subprocess.CompletedProcess(command, 124, (late.stdout or b"").decode(), "no end")


def good(name, *command, **kwargs):
    done = run(*command, **kwargs)
    return expect(name, done.returncode == 0, done)


def job(name, folder, program="main", *arguments):
    """The program shares the library's variables over nodes; and runs alone."""
    for shape in ("1x4", "2x2"):
        n, p = shape.split("x")
        done = run("tweed", "run", "-n", n, "-p", p, f"./{program}", *arguments, cwd=folder, THREADS="4")
        right = done.stdout.startswith(SAID) and (not arguments or PLUGIN in done.stdout)
        expect(f"{name}: {program} at {shape}", right and done.returncode == 3, done)
    done = run(f"./{program}", *arguments, cwd=folder)
    expect(f"{name}: {program} alone", done.stdout.startswith(SAID) and done.returncode == 3 and not done.stderr, done)


def sources(name, **texts):
    """A folder with files; `main_c` is main.c."""
    folder = os.path.join(top, name)
    os.mkdir(folder)
    for file, text in texts.items():
        with open(os.path.join(folder, file.replace("_", ".")), "w", encoding="utf-8") as f:
            f.write(text)
    return folder


def project(name):
    folder = os.path.join(top, name)
    shutil.copytree(os.path.join(source_dir, "project"), folder)
    return folder


def has(name, *commands):
    lacking = [c for c in commands if not shutil.which(c)]
    if lacking:
        print(f"{name} is left out: there is no {', '.join(lacking)}")
    return not lacking


def counted():
    """A folder with a gcc and g++ that note their calls."""
    folder = os.path.join(top, "counted")
    if not os.path.isdir(folder):
        os.mkdir(folder)
        for name in ("gcc", "g++"):
            path = os.path.join(folder, name)
            with open(path, "w", encoding="utf-8") as f:
                f.write(f'#!/bin/sh\necho {name} "$@" >> {folder}/calls\nexec {shutil.which(name)} "$@"\n')
            os.chmod(path, 0o755)
    with open(f"{folder}/calls", "w", encoding="utf-8"):
        return folder


def calls():
    with open(os.path.join(top, "counted", "calls"), encoding="utf-8") as f:
        return len(f.readlines())


# ---- programs that are started without `tweed run` --------------------------------------------------------------

def on_terminal(*command):
    """What the command writes to standard error, which is a terminal."""
    ours, theirs = pty.openpty()
    done = subprocess.run(command, env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=theirs,
                          timeout=30, check=False)
    os.close(theirs)
    text = b""
    try:
        while part := os.read(ours, 4096):
            text += part
    except OSError:
        pass
    os.close(ours)
    return done.returncode, text.decode()


def alone():
    program = os.path.join(top, "alone")
    for words in WORDS.values():
        if not good("alone", *words[0].split(), "-O2", os.path.join(source_dir, "alone.c"), "-o", program):
            return
        done = run(program)
        expect("status, and no note", done.returncode == 5 and done.stderr == "1\n", done)
        done = run("bash", "-c", f"exec -a other {program} read", text="a line\n")
        expect("input and name", done.stdout == "other says a line\n", done)
    done = run(program, "abort")
    expect("a signal of its own", done.returncode == -signal.SIGABRT, done)
    done = run(program, "kill")
    expect("a signal that ends it", done.returncode == -signal.SIGTERM, done)
    done = run("tweed", "run", program, "again")
    expect("started by a program of a job", done.returncode == 6, done)
    done = run(program, "again")
    expect("started by one that is alone", done.returncode == 6, done)
    status, text = on_terminal(program)
    expect("a note on a terminal", status == 5 and "1 node of 1 processor" in text and text.count("\n") == 2, text)
    job_of_two = run(program, TWEED_NODES="2", TWEED_STATS="summary")
    expect("settings of the environment", job_of_two.returncode == 5 and ", 2x1," in job_of_two.stderr, job_of_two)
    with subprocess.Popen([program, "wait"], env=ENV, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as waits:
        waits.stdout.readline()
        waits.terminate()
        expect("SIGTERM", waits.wait(20) == -signal.SIGTERM)
    os.rename(root, root + "-moved")
    done = run(program, PATH=os.path.dirname(TWEED).replace(root, root + "-moved") + ":/usr/bin:/bin")
    expect("the installation was moved", done.returncode == 5, done)
    done = run(program, PATH="/usr/bin:/bin")
    os.rename(root + "-moved", root)
    expect("no tweed", done.returncode == 2 and "there is no 'tweed' at " + TWEED in done.stderr, done)


# ---- make --------------------------------------------------------------------------------------------------------

def make():
    for name, (cc, cxx), flags in (("make, words", WORDS["threads"], "-O2 -flto=auto -fwhole-program"),
                                   ("make, one word", NAMES["omp"], "-O2 -fopenmp -flto=auto")):
        folder = project(name.replace(", ", "-"))
        path = counted()
        if not good(name, "make", "-f", "Makefile.plain", "check", f"CC={cc}", f"CXX={cxx}", f"CFLAGS={flags}",
                    cwd=folder, PATH=f"{path}:{ENV['PATH']}"):
            continue
        # 5 objects, 3 libraries, a program of objects, and 3 that are compiled and linked at once.
        expect(f"{name}: one compiler a compilation", calls() == 12, str(calls()))
        job(name, folder, "main", "./plugin.so")
        done = run("./archived", cwd=folder)
        expect(f"{name}: -static", done.returncode == 0 and done.stdout == "C++ 10 10\n", done)


def script():
    """CC names a script that runs Tweed, which finds CC."""
    path = os.path.join(top, "script")
    with open(path, "w", encoding="utf-8") as f:
        f.write('#!/bin/sh\nexec tweed omp cc "$@"\n')
    os.chmod(path, 0o755)
    for cc in (path, "tweed-omp-gcc", "tweed omp cc", "env X=1 tweed omp cc", TWEED + " omp cc", ""):
        folder = counted()
        good(f"CC='{cc}'", path, "-c", os.path.join(source_dir, "project", "base.c"), "-o", "/dev/null", CC=cc,
             PATH=f"{folder}:{ENV['PATH']}")
        expect(f"CC='{cc}': one compiler", calls() == 1, str(calls()))


def without_openmp():
    """tweed-omp-gcc takes pragmas of OpenMP for comments without -fopenmp, as gcc does."""
    source, program = os.path.join(top, "level.c"), os.path.join(top, "level")
    with open(source, "w", encoding="utf-8") as f:
        f.write("#ifdef _OPENMP\nint level = 1;\n#else\nint level;\n#endif\nint main(void) { return 3 + level; }\n")
    for words, status in (["tweed-omp-gcc"], 3), (["tweed-omp-gcc", "-fopenmp"], 4), (["tweed", "omp", "cc"], 4):
        if good(" ".join(words), *words, source, "-o", program):
            expect(f"{' '.join(words)}: _OPENMP", run(program).returncode == status)


def links():
    """A link called gcc to tweed-omp-gcc, which comes first in PATH; one to tweed is refused."""
    source = os.path.join(source_dir, "project", "base.c")
    for cc in (NAMES["threads"][0], NAMES["omp"][0], "tweed"):
        folder = os.path.join(top, "links-" + cc)
        os.mkdir(folder)
        os.symlink(shutil.which(cc, path=ENV["PATH"]), os.path.join(folder, "gcc"))
        os.symlink("gcc", os.path.join(folder, "cc"))
        env = {"PATH": f"{folder}:{counted()}:{ENV['PATH']}"}
        done = run("cc", "-c", source, "-o", "/dev/null", **env)
        if cc == "tweed":
            expect("link to tweed", done.returncode == 2 and "is a link to tweed: link it to" in done.stderr, done)
            continue
        expect(f"link to {cc}: one compiler", done.returncode == 0 and calls() == 1, done, str(calls()))
        good(f"link to {cc}: an option of Tweed's", "cc", "--show", "-c", source, "-o", "/dev/null", **env)


def ccache():
    if not has("ccache", "ccache"):
        return
    source = os.path.join(source_dir, "project", "tally.c")
    for cc in ("tweed-pthreads-gcc", "tweed-omp-gcc"):
        env = {"CCACHE_DIR": os.path.join(top, "ccache-" + cc)}
        for _ in range(2):
            good(f"ccache {cc}", "ccache", cc, "-O2", "-c", source, "-o", os.path.join(top, "cached.o"), **env)
        done = run("ccache", "--print-stats", **env)
        expect(f"ccache {cc} has it", any(f"{way}_cache_hit\t1" in done.stdout for way in ("preprocessed", "direct")),
               done)


# ---- libraries ----------------------------------------------------------------------------------------------------

def contains(path):
    with open(path, "rb") as f:
        return b"\0.tweed.object\0" in f.read()


def libraries():
    folder = project("libraries")
    cc = "tweed-pthreads-gcc"
    library = [cc, "-O2", "-fPIC", "-shared", "-o", "libtally.so", "base.c", "tally.c"]
    good("a library of sources", *library, "-Wl,--no-undefined", "-Wl,--version-script=exports.map", cwd=folder)
    with open(os.path.join(folder, "link"), "w", encoding="utf-8") as f:
        f.write("-O2 main.c\n'-L.' -Wl,-rpath,. -ltally -ldl -o main\n")
    good("a program of it, its arguments in a file", cc, "@link", cwd=folder)
    job("a version script", folder)
    # A library that is not shared is loaded, and its variables are each processor's.
    good("private variables", *library, "--private-globals", cwd=folder)
    good("a program of them", cc, "@link", cwd=folder)
    expect("it is a plain library", not contains(os.path.join(folder, "libtally.so")))
    done = run("./main", cwd=folder)
    expect("private variables, alone", done.stdout == SAID and done.returncode == 3, done)
    os.mkdir(os.path.join(folder, "deep"))
    good("a library of a library", cc, "-fPIC", "-shared", "-o", "deep/libbase.so", "base.c", cwd=folder)
    good("that one", cc, "-fPIC", "-shared", "-o", "libtally.so", "tally.c", "deep/libbase.so", cwd=folder)
    os.rename(os.path.join(folder, "deep"), os.path.join(folder, "moved"))
    done = run(cc, "@link", cwd=folder)
    expect("a library that was removed", done.returncode != 0 and done.stderr.count("tweed: ") == 1 and
           "libbase.so, which is not there any more" in done.stderr, done)
    good("a library that was moved", cc, "@link", "-Lmoved", cwd=folder)
    job("a library that was moved", folder)


def archives():
    """Libraries of other compilers: the program is linked with their archives where that is possible."""
    folder = os.path.join(top, "archives")
    os.mkdir(folder)
    sources = {
        "count.c": "static int n[99];\nint count(void)\n{\n\treturn ++n[5];\n}\n",
        "user.c": "int count(void);\nint twice(void)\n{\n\treturn count() + count();\n}\n",
        "main.c": "#include <pthread.h>\n#include <stdio.h>\nint count(void);\n"
                  "static void *work(void *arg)\n{\n\tcount();\n\treturn arg;\n}\n"
                  "int main(void)\n{\n\tpthread_t thread;\n\tpthread_create(&thread, NULL, work, NULL);\n"
                  "\tpthread_join(thread, NULL);\n\tprintf(\"%d\\n\", count());\n\treturn 0;\n}\n",
        "extra.cpp": "static int n[99];\nint first()\n{\n\treturn ++n[5];\n}\n",
        "extras.cpp": "int first();\nint second()\n{\n\treturn first() + 1;\n}\n",
        "more.cpp": "int second();\nint more()\n{\n\treturn second() - 2;\n}\n",
        "both.c": "int twice(void), count(void);\nint main(void)\n{\n\treturn twice() + count();\n}\n"}
    for name, text in sources.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            f.write(text)
    good("a library by gcc", "gcc", "-fPIC", "-shared", "-o", "libcount.so", "count.c", cwd=folder)
    good("one that needs it", "gcc", "-fPIC", "-shared", "-o", "libuser.so", "user.c", "-L.", "-lcount", cwd=folder)
    good("its object", "gcc", "-c", "count.c", "user.c", cwd=folder)
    good("its archive", "ar", "rcs", "libcount.a", "count.o", cwd=folder)
    link = ["tweed-pthreads-gcc", "-L.", "-Wl,-rpath,."]
    for library in ["-lcount", "./libcount.so"]:
        good(f"a program with {library}", *link, "main.c", library, "-o", "main", cwd=folder)
        done = run(TWEED, "run", "-n", "2", "-p", "1", "./main", cwd=folder)
        expect(f"{library}: one variable for all", done.stdout == "2\n", done)
    for name, text in {
            "early.c": "int make_key(void);\nstatic int made = -1;\n"
                       "__attribute__((constructor)) static void early(void)\n{\n\tmade = make_key();\n}\n"
                       "int result(void)\n{\n\treturn made;\n}\n",
            "key.c": "#include <pthread.h>\nint result(void);\nstatic pthread_key_t key, other;\n"
                     "int make_key(void)\n{\n\tint error = pthread_key_create(&key, 0);\n"
                     "\treturn error ? error : pthread_setspecific(key, &key);\n}\n"
                     "int main(void)\n{\n\treturn result() || pthread_key_create(&other, 0) || key == other ||\n"
                     "\t       pthread_getspecific(key) != &key;\n}\n"}.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            f.write(text)
    good("a library with a constructor", "gcc", "-fPIC", "-shared", "-o", "libearly.so", "early.c", cwd=folder)
    good("a program that it calls", *link, "-rdynamic", "key.c", "-learly", "-o", "key", cwd=folder)
    expect("a key of a constructor", run(TWEED, "run", "-n", "2", "-p", "1", "./key", cwd=folder).returncode == 0)
    good("another library has it", *link, "both.c", "-luser", "-lcount", "-o", "both", cwd=folder)
    expect("one copy of it", run("./both", cwd=folder).returncode == 6)
    with open(os.path.join(folder, "cxx.cpp"), "w", encoding="utf-8") as f:
        f.write('#include <string>\nextern "C" int count()\n{\n\tstatic std::string all[9];\n'
                '\tall[5] += "another one, ";\n'
                '\treturn static_cast<int>(all[5].size()) / 13;\n}\n')
    good("a library in C++", "sh", "-c", "g++ -fPIC -c cxx.cpp && g++ -shared -o libcxx.so cxx.o && "
         "ar rcs libcxx.a cxx.o", cwd=folder)
    good("a program in C with it", *link, "main.c", "-lcxx", "-o", "main", cwd=folder)
    done = run(TWEED, "run", "-n", "2", "-p", "1", "./main", cwd=folder)
    expect("C++'s archive: one variable for all", done.stdout == "2\n", done)
    good("a library whose archive lacks a function", "sh", "-c", "g++ -fPIC -shared -o libextra.so extra.cpp "
         "extras.cpp && g++ -c extra.cpp more.cpp && ar rcs libextra.a extra.o", cwd=folder)
    good("a program with it", *link, "main.c", "more.o", "-lcount", "-lextra", "-o", "main", cwd=folder)
    done = run(TWEED, "run", "-n", "2", "-p", "1", "./main", cwd=folder)
    expect("beside a library that stays: one variable for all", done.stdout == "2\n", done)
    good("an archive without it", "sh", "-c", "rm libcount.a; ar rcs libcount.a user.o", cwd=folder)
    good("a program with the library", *link, "main.c", "-lcount", "-o", "main", cwd=folder)


def inlined():
    """A static variable of an inline function: hidden in a library, which then has its own, or not."""
    folder = os.path.join(top, "inlined")
    os.mkdir(folder)
    one = "inline int &one() { static int n; return n; }\n"
    for name, text in (("library.cpp", one + '__attribute__((visibility("default"))) int add() { return ++one(); }\n'),
                       ("main.cpp", one + "int add();\nint main() { add(); return 10 * add() + ++one(); }\n")):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            f.write(text)
    for visibility, status in ("hidden", 21), ("default", 23):
        for words in (["tweed-pthreads-g++", "-O2", "-fPIC", f"-fvisibility={visibility}", "-shared", "library.cpp",
                       "-o", "liblibrary.so"], ["tweed-pthreads-g++", "-O2", "main.cpp", "-o", "main", "-L.",
                                                "-llibrary"]):
            good(f"inline function, {visibility}", *words, cwd=folder)
        done = run("./main", cwd=folder)
        expect(f"static variable of an inline function, {visibility}", done.returncode == status, done)


def strict():
    """Old standards and warnings as errors: the compilers add headers, which give none."""
    flags = ["-pedantic", "-Wall", "-Wextra", "-Werror"]
    folder = sources("strict",
                     one_c="int n;\nint one(void)\n{\n\tint was_ = 0;\n"
                     "\treturn __sync_val_compare_and_swap(&n, was_, 1);\n}\n",
                     one_cpp="#include <atomic>\nstd::atomic_flag flag = ATOMIC_FLAG_INIT;\n"
                     "bool one()\n{\n\treturn flag.test_and_set();\n}\n",
                     late_c="char two[2];\nvoid fill(void)\n{\n\t__builtin_memset(two, 1, 4);\n}\n")
    for standard in ["c89", "c99", "gnu17"]:
        good(f"-std={standard}", "tweed-pthreads-gcc", f"-std={standard}", *flags, "-c", "one.c", cwd=folder)
    good("-Wold-style-cast", "tweed-pthreads-g++", "-std=c++11", *flags, "-Wold-style-cast", "-c", "one.cpp",
         cwd=folder)
    good("-std=c++98", "tweed-pthreads-g++", "-std=c++98", *flags, "-x", "c++", "-c", "one.c", cwd=folder)
    good("-flto", "tweed-pthreads-gcc", "-O2", "-flto", *flags, "-c", "late.c", cwd=folder)
    asked = ["-E", "-P", "-"]
    for name in ["tweed-pthreads-gcc", "tweed-omp-g++"]:
        done = run(name, *asked, text="__GNUC__\n")
        expect(f"{name} -E -P", done.stdout == run("gcc", *asked, text="__GNUC__\n").stdout, done)


def assembler():
    """Accesses of the source's own assembler, unless its statement computes, and to volatile variables are atomic: how
    many calls are made, and how many of these for loads."""
    load, store = "movzwl (%1), %0\\n\\t", "movw %w0, (%1)\\n\\t"
    for name, text, calls_made, loads in (("a load", load, 1, 1), ("a load and a store", load + store, 2, 1),
                                          ("a decoder", load + "add $1, %0\\n\\t" + 2 * store, 0, 0),
                                          ("a wait", load + 2 * store + "pause\\n\\t", 3, 1),
                                          ("in capitals", (load + "add $1, %0;" + 2 * store).upper(), 0, 0)):
        text = text.replace("%W0", "%w0").replace("\\N\\T", "\\n\\t")
        assembled(name, f'unsigned f(unsigned short *p)\n{{\n\tunsigned v;\n\t__asm__ volatile("{text}" : "=&r"(v)'
                  " : \"r\"(p));\n\treturn v;\n}\n", calls_made, loads)
    for name, statement, calls_made, loads in (("a sum", "n += *p", 1, 1), ("a comparison", "n = *p > 7", 1, 1),
                                               ("a counter", "*p += 5", 2, 1), ("a write", "*p = n", 1, 0),
                                               ("an exchange",
                                                '__asm__ volatile("xchgl %0, (%1)" : "+r"(n) : "r"(p))', 1, 0)):
        assembled(name, f"int f(volatile int *p, int n)\n{{\n\t{statement};\n\treturn n;\n}}\n", calls_made, loads)
    search = ("struct image { unsigned w, row, n; unsigned long *at; };\n"
              "int f(const struct image *a, const struct image *b, unsigned d)\n{\n\tfor (unsigned x = 0;;) {\n"
              "\t\tunsigned i = x + d;\n\t\tif (i >= a->w)\n\t\t\treturn 1;\n"
              "\t\tif ((i >> 6) + d * a->row >= a->n)\n\t\t\t__builtin_trap();\n"
              "\t\tif (a->at[(i >> 6) + d * a->row] & b->at[x >> 6])\n\t\t\treturn 0;\n"
              "\t\tx += 64;\n\t\tif (x >= b->w)\n\t\t\treturn 1;\n\t}\n}\n")
    wait = 'void f(int **p)\n{\n\twhile (!**p)\n\t\t__asm__ volatile("" ::: "memory");\n}\n'
    count = ("int f(const int *p, int n, int k)\n{\n\tfor (int i = 0; i < n; i += k)\n"
             "\t\tif ((i & 7) && p[3] == 5)\n\t\t\treturn i;\n\treturn 0;\n}\n")
    element = 'int a[64], i;\nvoid f(void)\n{\n\twhile (!a[i + 1])\n\t\t__asm__ volatile("" ::: "memory");\n}\n'
    counted = ('long f(int *p)\n{\n\tlong n = 0;\n\twhile (!*p) {\n\t\tn++;\n'
               '\t\t__asm__ volatile("" ::: "memory");\n\t}\n\treturn n;\n}\n')
    # As gcc orders blocks: between a label and a jump back to it lies what neither leads to.
    blocks = ("f:\n\t.cfi_startproc\n\tjmp\t.L3\n.L1:\n\ttestl\t%edi, %edi\n\tjne\t.L5\n\tjmp\t.L4\n"
              ".L2:\n\tmovl\t8(%rsi), %eax\n\ttestl\t%eax, %eax\n\tje\t.L4\n\tjmp\t.L5\n"
              ".L3:\n\tcmpl\t$10, %edi\n\tje\t.L2\n\tcmpl\t$26, %edi\n\tjne\t.L1\n"
              ".L4:\n\tmovl\t$1, %eax\n.L5:\n\tret\n\t.cfi_endproc\n")
    for name, code, loads in (("a search", search, 0), ("a wait behind a pointer", wait, 2), ("a count", count, 0),
                              ("a wait for an element", element, 2), ("a counted wait", counted, 2)):
        assembled(name, code, loads, loads)
    assembled("blocks", blocks, 0, 0, source="main.s")
    assembled("a wait behind a pointer, optimized", wait, 1, 1, "-O2")
    vector = ("typedef int four __attribute__((vector_size(16)));\nvolatile four v[2];\n"
              "four f(four x)\n{\n\tv[0] = x;\n\treturn v[1];\n}\n")
    assembled("volatile vectors", vector, 0, 0)
    # The function aligns its frame, and has more in memory below the stack's end.
    aligned = ("typedef int eight __attribute__((vector_size(32)));\n__attribute__((target(\"avx2\")))\n"
               "void f(int *p, int *q, int n, int m, int k, int l)\n{\n\teight a[4];\n"
               "\tfor (int i = 0; i < n; i++)\n\t\t((int *)a)[i & 31] = p[i] * m + q[k + i] * l + p[m + i] * k"
               "\n\t\t    + q[l * i] - p[n - i] * q[i * k + m] + p[i * m + l];\n\tfor (int i = 0; i < 4; i++)\n"
               "\t\t((eight *)q)[i] = a[i] + ((eight *)p)[i];\n}\n")
    fence = "void f(int *p)\n{\n\t*p = 1;\n\t__atomic_thread_fence(__ATOMIC_RELEASE);\n\t*p = 2;\n}\n"
    # Instructions that compute are between the full fence and what gcc adds to it.
    full = ("struct slot { void *job; long more[7]; };\n"
            "struct deque { unsigned end; long age; struct slot slot[9]; };\n"
            "void *f(struct deque *d)\n{\n\tunsigned n = __atomic_load_n(&d->end, __ATOMIC_ACQUIRE);\n\tif (!n--)\n"
            "\t\treturn 0;\n\t__atomic_store_n(&d->end, n, __ATOMIC_RELEASE);\n"
            "\t__atomic_thread_fence(__ATOMIC_SEQ_CST);\n"
            "\tvoid *job = __atomic_load_n(&d->slot[n].job, __ATOMIC_ACQUIRE);\n"
            "\treturn n > (unsigned)__atomic_load_n(&d->age, __ATOMIC_ACQUIRE) ? job : 0;\n}\n")
    two = ("void f(int *p)\n{\n\t__atomic_thread_fence(__ATOMIC_SEQ_CST);\n\t*p = 2;\n"
           "\t__atomic_thread_fence(__ATOMIC_RELEASE);\n\tp[9] = 2;\n}\n")
    for name, code, fences in (("an aligned frame", aligned, 0), ("a fence", fence, 1), ("a full fence", full, 0),
                               ("two fences", two, 1)):
        folder = sources(name, main_c=code)
        good(name, "tweed-pthreads-gcc", "-O2", "-c", "main.c", cwd=folder)
        done = run("objdump", "-dr", "main.o", cwd=folder)
        expect(name, done.stdout.count("tw_threads_order") == fences, done)
    folder = sources("intel", right_S='.intel_syntax noprefix\nand ebx, 5 # a block of locks\nxchg eax, ebx\n',
                     wrong_S='.intel_syntax noprefix\nlock add dword ptr [rbx], 5\n',
                     other_S='.intel_syntax noprefix\nxchg eax, [rbx]\n')
    good("Intel syntax", "tweed-pthreads-gcc", "-c", "right.S", cwd=folder)
    for name in "wrong.S", "other.S":
        done = run("tweed-pthreads-gcc", "-c", name, cwd=folder)
        expect(f"Intel syntax, {name}", done.returncode and "write atomic operations in AT&T's" in done.stderr, done)


def assembled(name, code, calls_made, loads, optimize="-O1", source="main.c"):
    folder = sources("assembler " + name, **{source.replace(".", "_"): code})
    good(f"assembler, {name}", "tweed-pthreads-gcc", optimize, "-c", source, cwd=folder)
    done = run("objdump", "-dr", "main.o", cwd=folder)
    expect(f"assembler, {name}: calls", (done.stdout.count("tw_threads_atomic_begin"),
                                         done.stdout.count("tw_threads_atomic_begin_load")) == (calls_made, loads),
           done)


def own_sections():
    """Variables in sections of the program's own, also those of archives and of lists of files."""
    item = "struct item { long value; };\n"
    folder = sources("sections",
                     main_c='#include <pthread.h>\n#include <stdio.h>\n' + item +
                     'extern struct item __start_items[], __stop_items[];\nextern int table[3];\n'
                     'static struct item one __attribute__((used, section("items"))) = {1};\n'
                     'static int zero __attribute__((aligned(4096), section(".own.zero")));\n'
                     'static void *work(void *arg)\n{\n'
                     '\tfor (struct item *i = __start_items; i < __stop_items; i++)\n\t\ti->value *= 10;\n'
                     '\tzero += 5;\n\ttable[1]++;\n\treturn arg;\n}\n'
                     'int main(void)\n{\n\tpthread_t t;\n\tlong sum = 0;\n\tone.value = 2;\n'
                     '\tfor (int i = 0; i < 2; i++) {\n\t\tpthread_create(&t, 0, work, 0);\n'
                     '\t\tpthread_join(t, 0);\n\t}\n'
                     '\tfor (struct item *i = __start_items; i < __stop_items; i++)\n\t\tsum += i->value;\n'
                     '\tprintf("%ld %d %d\\n", sum, zero, table[1]);\n\treturn 0;\n}\n',
                     more_c=item + 'static struct item two __attribute__((used, section("items"))) = {3};\n'
                     'int table[3] __attribute__((section("tables"))) = {5, 6, 7};\n')
    good("its object", "tweed-pthreads-gcc", "-c", "more.c", cwd=folder)
    good("its archive", "ar", "rcs", "libmore.a", "more.o", cwd=folder)
    good("its thin archive", "ar", "rcsT", "libthin.a", "more.o", cwd=folder)
    for words in ["more.c"], ["-L.", "-lmore"], ["./libthin.a"], ["more.o", "-Wl,--gc-sections"]:
        good(f"sections: {words}", "tweed-pthreads-gcc", "main.c", *words, "-o", "main", cwd=folder)
        for shape in ["1", "2"], ["2", "1"]:
            done = run(TWEED, "run", "-n", shape[0], "-p", shape[1], "./main", cwd=folder)
            expect(f"sections: {words} at {shape}", done.stdout == "500 10 8\n", done)


def wrapped():
    """The linker's --wrap is for the program's calls, and not for Tweed's."""
    folder = sources("wrapped", main_c="#include <string.h>\n#include <unistd.h>\nstatic int writes;\n"
                     "ssize_t __real_write(int file, const void *from, size_t bytes);\n"
                     "ssize_t __wrap_write(int file, const void *from, size_t bytes)\n"
                     "{\n\twrites++;\n\treturn __real_write(file, from, bytes);\n}\n"
                     "int main(int argc, char **argv)\n{\n\tchar to[9];\n\tmemset(to, argc, 9);\n"
                     "\treturn write(1, argv[0], 0) < 0 ? 1 : 10 * writes + to[3];\n}\n")
    good("--wrap", "tweed-pthreads-gcc", "-O0", "main.c", "-o", "main", "-Wl,--wrap=write", "-Wl,--wrap=memcpy",
         cwd=folder)
    done = run("./main", cwd=folder)
    expect("functions that the program wraps", done.returncode == 11, done)


def names():
    """Functions of the program that are called as some of the C library's, which Tweed and its networks call."""
    own = ["send", "recv", "wait", "signal", "close", "connect", "bind", "getenv", "fork", "dlsym", "pread64", "mmap",
           "getpid", "sleep", "pthread_atfork", "strdup", "getrandom", "write"]
    declared = "".join(f"long {name}(long a, long b);\n" for name in own) + \
        f"#define SUM(x) ({' + '.join(f'{name}(x, 1)' for name in own)})\nint printf(const char *format, ...);\n"
    folder = sources("names",
                     own_c="".join(f"long {name}(long a, long b)\n{{\n\treturn a * b + {i};\n}}\n"
                                   for i, name in enumerate(own)),
                     thread_c=declared + "int pthread_create(unsigned long *, void *, void *(*)(void *), void *);\n"
                     "int pthread_join(unsigned long, void **);\nstatic long sum;\n"
                     "static void *work(void *arg)\n{\n\tsum += SUM(sum + 1);\n\treturn arg;\n}\n"
                     "int main(void)\n{\n\tunsigned long t;\n\tpthread_create(&t, 0, work, 0);\n"
                     '\tpthread_join(t, 0);\n\tprintf("%ld\\n", sum);\n\treturn 0;\n}\n',
                     shmem_c=declared + "void shmem_init(void);\nvoid shmem_finalize(void);\n"
                     "void shmem_barrier_all(void);\nint shmem_my_pe(void);\n"
                     "long shmem_long_g(const long *, int);\nlong sum;\n"
                     "int main(void)\n{\n\tshmem_init();\n\tif (shmem_my_pe() == 1)\n\t\tsum += SUM(1);\n"
                     "\tshmem_barrier_all();\n\tif (shmem_my_pe() == 0)\n"
                     '\t\tprintf("%ld\\n", shmem_long_g(&sum, 1));\n\tshmem_finalize();\n\treturn 0;\n}\n')
    expected = f"{len(own) + sum(range(len(own)))}\n"
    good("names: the object", "tweed-pthreads-gcc", "-w", "-fno-builtin", "-c", "own.c", cwd=folder)
    good("names: the archive", "ar", "rcs", "libown.a", "own.o", cwd=folder)
    good("names: the thin archive", "ar", "rcsT", "libthin.a", "own.o", cwd=folder)
    for compiler, *words in (["tweed-pthreads-gcc", "thread.c", "own.c"], ["tweed-omp-gcc", "thread.c", "own.c"],
                             ["tweed-pthreads-gcc", "thread.c", "-L.", "-lown"],
                             ["tweed-pthreads-gcc", "thread.c", "libthin.a"], ["tweed-oshcc", "shmem.c", "own.c"]):
        good(f"names: {compiler} {words}", compiler, "-w", "-fno-builtin", *words, "-o", "main", cwd=folder)
        for transport in "shm", "ofi":
            done = run(TWEED, "run", "-n", "2", "--transport", transport, "./main", cwd=folder)
            expect(f"names: {compiler} {words} over {transport}", done.stdout == expected, done)


def large():
    """1.7 GiB of variables, all of which code for addresses below 2 GiB must reach."""
    folder = sources("large", main_c="static char big[1700u << 20];\nint last[2];\nint main(int argc, char **argv)\n"
                     "{\n\tbig[argc * 1600 << 20] = last[argc - 1] = argv[0] != 0;\n"
                     "\treturn big[1600u << 20] + last[0] + 1;\n}\n")
    good("large variables", "tweed-pthreads-gcc", "-O1", "main.c", "-o", "main", cwd=folder)
    done = run("tweed", "run", "-n", "2", "./main", cwd=folder)
    expect("large variables, 2x1", done.returncode == 3, done)


# ---- CMake, meson, autoconf ----------------------------------------------------------------------------------------

def configured(name, folder, ninja):
    """Build what CMake or meson has configured."""
    if good(f"{name}: build", "ninja", "-C", folder):
        for tester in ninja:
            good(f"{name}: {tester}", *tester.split(), cwd=folder)
        job(name, folder, "main", "./libplugin.so")


def cmake():
    if not has("CMake", "cmake"):
        return
    share = os.path.join(os.path.dirname(os.path.dirname(TWEED)), "share")
    for name, kind, env, options in (
            ("CMake, words", "threads", dict(zip(("CC", "CXX"), WORDS["threads"])), []),
            ("CMake, toolchain", "omp", {},
             [f"-DCMAKE_TOOLCHAIN_FILE={share}/tweed/cmake/tweed-omp.cmake", "-DOPENMP=1"])):
        source, folder = project(name.replace(", ", "-")), os.path.join(top, name.replace(", ", "-") + "-build")
        if not good(name, "cmake", "-G", "Ninja", "-S", source, "-B", folder,
                    f"-DCMAKE_INSTALL_PREFIX={folder}-installed", *options, **env):
            continue
        with open(os.path.join(folder, "found.txt"), encoding="utf-8") as f:
            found = f.read()
        expect(f"{name}: checks", found == "111111  GNU GNU", found)
        configured(name, folder, ["ctest", "ninja install"])
        job(f"{name}, installed", f"{folder}-installed/bin")
        expect(f"{name}: compile_commands.json", os.path.getsize(os.path.join(folder, "compile_commands.json")) > 100)
    folder = os.path.join(top, "found-build")
    for option in ("-DOPENMP=0", "-DOPENMP=1"):
        if good(f"find_package {option}", "cmake", "-G", "Ninja", "-S", os.path.join(source_dir, "found"), "-B", folder,
                option):
            good(f"find_package {option}: build", "ninja", "-C", folder)
            good(f"find_package {option}: tests", "ctest", cwd=folder)


def meson():
    data = os.path.join(os.path.dirname(os.path.dirname(TWEED)), "share")
    source, folder = project("meson"), os.path.join(top, "meson-build")
    if good("meson", "meson", "setup", "--native-file", "tweed-threads", "-Db_lto=true", folder, source,
            XDG_DATA_DIRS=data):
        configured("meson", folder, ["meson test --no-rebuild"])
        # The program is linked again when a library's code has changed: it contains it.
        path = os.path.join(source, "base.c")
        with open(path, encoding="utf-8") as f:
            text = f.read()
        with open(path, "w", encoding="utf-8") as f:
            f.write(text.replace("notes++", "notes += 2"))
        good("meson: a library has changed", "ninja", "-C", folder)
        done = run("./main", cwd=folder)
        expect("meson: the program knows", "sum 100000050" in done.stdout, done)


def autoconf():
    if not has("autoconf", "autoreconf", "automake", "libtoolize"):
        return
    folder, out = project("autoconf"), os.path.join(top, "autoconf-build")
    if not good("autoreconf", "autoreconf", "-fi", cwd=folder):
        return
    os.mkdir(out)
    cc, cxx = WORDS["threads"]
    if not good("configure", os.path.join(folder, "configure"), f"CC={cc}", f"CXX={cxx}", f"--prefix={out}-installed",
                "--disable-static", cwd=out):
        return
    with open(os.path.join(out, "config.h"), encoding="utf-8") as f:
        found = f.read()
    wanted = ["HAVE_MALLOC 1", "HAVE_REALLOC 1", "HAVE_STRDUP 1", "HAVE_POSIX_MEMALIGN 1", "SIZEOF_LONG 8"]
    expect("configure: checks", all(w in found for w in wanted) and "FUNCTION 1" not in found, found)
    if good("autoconf: make", "make", "check", "install", cwd=out):
        job("autoconf", out)
        job("autoconf, installed", f"{out}-installed/bin")


# Side by side; then alone, which moves Tweed.
LANES = ([make, script, without_openmp, links, ccache, libraries, archives, strict, inlined, assembler, own_sections,
          wrapped, names, large, meson],
         [cmake, autoconf])
with tempfile.TemporaryDirectory() as top:
    root = os.path.join(top, "root")
    ENV = {k: v for k, v in os.environ.items() if k not in ("CC", "CXX", "CFLAGS", "CXXFLAGS", "LDFLAGS")}
    subprocess.run(["meson", "install", "-C", build_dir, "--no-rebuild", "--quiet", "--destdir", root], check=True,
                   stdout=subprocess.DEVNULL)
    TWEED = next(p for p in glob.glob(f"{root}/**/bin/tweed", recursive=True))
    os.mkdir(os.path.join(top, "tmp"))
    ENV.update(PATH=f"{os.path.dirname(TWEED)}:{ENV['PATH']}", TMPDIR=os.path.join(top, "tmp"))
    wanted = [p for p in LANES[0] + LANES[1] + [alone] if len(sys.argv) < 4 or p.__name__ in sys.argv[3:]]
    with concurrent.futures.ThreadPoolExecutor() as pool:
        list(pool.map(lambda lane: [part() for part in lane if part in wanted], LANES))
    expect("nothing is left behind", not glob.glob(os.path.join(top, "tmp", "tweed-ld-*")))
    if alone in wanted:
        alone()
print(f"{cases} cases, {len(failures)} failed")
sys.exit(1 if failures else 0)
