#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What `meson install` puts down is enough to build and run a program, with nothing of the source tree.

install.py BUILD PROGRAM.c VERSION [COMPILER-OPTION...]    installs into a temporary directory; compiles the program
as C
and as C++ with the installed pkg-config file, with each compiler there is; runs it with the installed tweed."""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

C = [("gcc", ["-std=c11", "-Wpedantic"]), ("clang", ["-std=c11", "-Wpedantic"])]
CXX = [("g++", ["-std=c++11"]), ("clang++", ["-std=c++11"]), ("g++", ["-std=c++20"]), ("clang++", ["-std=c++20"])]
WARN = ["-Wall", "-Wextra", "-Werror"]


def run(command, **kwargs):
    done = subprocess.run(command, capture_output=True, text=True, **kwargs)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def one(root, pattern):
    found = glob.glob(os.path.join(root, "**", pattern), recursive=True)
    if len(found) != 1:
        sys.exit(f"installed as {pattern}: {found or 'nothing'}")
    return found[0]


def flags(root, pc):
    """pkg-config's answer for a package in a staging directory: its own paths there, those of others in the system."""
    path = [os.path.dirname(pc), run(["pkg-config", "--variable=pc_path", "pkg-config"]).strip()]
    env = {**os.environ, "PKG_CONFIG_LIBDIR": ":".join(path)}
    prefix = run(["pkg-config", "--variable=prefix", "tweed"], env=env).strip()
    words = ["pkg-config", f"--define-variable=prefix={root}{prefix}", "tweed"]
    return run(words + ["--cflags"], env=env).split(), run(words + ["--libs"], env=env).split()


def check_man(root):
    with open(one(root, "tweed.1"), encoding="utf-8") as f:
        text = f.read()
    for command in re.findall(r"^  tweed (\w\S*)", run([one(root, "bin/tweed"), "--help"]), re.M):
        if not re.search(rf"^\.(It )?Cm {re.escape(command)}( |$)", text, re.M):
            sys.exit(f"tweed.1 does not mention tweed {command}")


def check_files(root):
    """bin/ has nothing but our commands; a package's file requires what programs link, not what is loaded; the
    drivers' headers are there."""
    others = [f for f in os.listdir(os.path.dirname(one(root, "bin/tweed"))) if not f.startswith("tweed")]
    if others:
        sys.exit(f"installed into bin/: {others}")
    one(root, "libexec/tweed/counter")
    one(root, "include/tweed/driver/stats.h")
    with open(one(root, "tweed.pc"), encoding="utf-8") as f:
        required = re.findall(r"^Requires.*", f.read(), re.M)
    if required:
        sys.exit(f"tweed.pc: {required}")


def build(folder, compiler, options, source, cflags, libs):
    out = os.path.join(folder, "program-" + compiler + options[0])
    language = "c++" if "++" in compiler else "c"
    run([compiler, "-g", *options, *WARN, *cflags, "-x", language, source, "-x", "none", "-o", out, *libs])
    return out


def main():
    build_dir, source, version, *options = sys.argv[1:]
    with tempfile.TemporaryDirectory() as root:
        run(["meson", "install", "-C", build_dir, "--no-rebuild", "--quiet", "--destdir", root])
        tweed = one(root, "bin/tweed")
        if run([tweed, "--version"]) != f"tweed {version}\n":
            sys.exit("the installed tweed is of another version")
        run([tweed, "info", "--json"])
        check_files(root)
        one(root, "bin/tweed-bench")
        check_man(root)
        with open(one(root, "tweed.h"), encoding="utf-8") as f:
            functions = len(re.findall(r"^TW_API .*?\btw_\w+\(", f.read(), re.M))
        cflags, libs = flags(root, one(root, "tweed.pc"))
        compilers = [(c, o) for c, o in C + CXX if shutil.which(c)]
        if not all(any("++" in c or not cxx for c, _ in compilers) for cxx in (False, True)):
            sys.exit("there is no compiler of C, or none of C++")
        # The copy is out of reach of the source tree's headers.
        source = shutil.copy(source, root)
        for compiler, standard in compilers:
            program = build(root, compiler, standard + options, source, cflags, libs)
            said = run([tweed, "run", "-n", "2", "-p", "2", program])
            if said != f"4 on 2: sum 10, nodes 2, {functions} functions\n":
                sys.exit(f"{compiler} {standard[0]}: the program said {said!r}; tweed.h has {functions} functions")
            print(f"{compiler} {standard[0]}: built and run")
        trace = os.path.join(root, "trace")
        run([tweed, "run", "-n", "2", "--trace", trace, program])
        if "(program.c:" not in run([tweed, "report", "--text", trace]):
            sys.exit("tweed report does not name the program's allocations")
        print("tweed report: a trace of it")
        # A build with a sanitizer has no instrumentation.
        for command in ("cc", "c++") if glob.glob(os.path.join(root, "**", "libtweed-stores.a"),
                                                  recursive=True) else ():
            program = os.path.join(root, "instrumented")
            run([tweed, command, *options, "-x", command.replace("cc", "c"), source, "-o", program])
            said = run([tweed, "run", "-n", "2", "-p", "2", "--protocol", "1L", program])
            if said != f"4 on 4: sum 10, nodes 6, {functions} functions\n":
                sys.exit(f"tweed {command}: the program said {said!r}")
            print(f"tweed {command}: built, and run under 1L")
            run([one(root, "bin/tweed-" + command), *options, "-x", command.replace("cc", "c"), source, "-o", program])
            if run([tweed, "run", "-n", "2", "-p", "2",
                    program]) != f"4 on 2: sum 10, nodes 2, {functions} functions\n":
                sys.exit(f"tweed-{command}: the program said {said!r}")
            one(root, "tweed.m4")
            run([tweed, command, *options, "--no-stores", "--shared-globals", "--shared-heap", "-x",
                 command.replace("cc", "c"),
                 source, "-o", program])
            if run([tweed, "run", "-n", "2", "-p", "2",
                    program]) != f"4 on 2: sum 10, nodes 2, {functions} functions\n":
                sys.exit(f"tweed {command} --shared-globals: the program said {said!r}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
