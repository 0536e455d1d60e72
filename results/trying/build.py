# SPDX-License-Identifier: BSD-3-Clause
"""Copies of a program's folder, built natively and with one of Tweed's compilers, and the selection of that
compiler."""
import contextlib
import json
import os
import re
import shlex
import shutil
import stat
import subprocess

from harness.execute import without_settings, write
from harness.identity import digest, digest_file
from harness.plan import Refused

from . import process
from .program import KINDS, nearest

# products of other builds, or not needed
LEFT_OUT = (".git", ".hg", ".svn", "CMakeFiles", "CMakeCache.txt", "config.cache", "config.status")
SOURCES = (".c", ".h", ".cc", ".cpp", ".cxx", ".C", ".H", ".hpp", ".hh", ".U", ".in")
# Texts in sources that require a certain compiler; the first one found decides.
MARKS = [("openshmem", rb'#\s*include\s*[<"](mpp/|tweed/)?p?shmemx?\.h'),
         ("tweed", rb'#\s*include\s*[<"]tweed/(tweed|pgas)\.h'),
         ("parmacs", rb"^\s*(EXTERN_ENV|MAIN_ENV|MAIN_INITENV)\b"),
         ("openmp", rb"#\s*pragma\s+omp\b|#\s*include\s*[<\"]omp\.h"),
         ("threads", rb"#\s*include\s*<(pthread\.h|threads\.h|thread|future)>"
                     rb"|\b(g_thread_(try_)?new|uv_thread_create)\b")]
# Library functions that a natively built program uses.
SYMBOLS = [("openmp", r" (GOMP_|omp_|__kmpc_)"),
           ("threads", r" (pthread_create|thrd_create|_ZNSt6thread|g_thread_(try_)?new|uv_thread_create)")]
MARK = b"TWEED_BOOT"  # a variable that each program of Tweed's reads (core/job/join.c)
# From sure signs of an error to mere words, as in "-Wno-error" and "Looking for memkind: not found".
ERRORS = [re.compile(r"\berror:|undefined reference|cannot find|No rule", re.I), re.compile("error|not found", re.I)]


def sentences(text):
    """Tweed's message, without its prefix and the number of a processor."""
    return [m[1] for m in re.finditer(r"^(?:\[[\d.]+\] )?tweed: (?:\d+\.\d+: )?(.+)$", text, re.M)]


def read(path, most=1 << 20):
    with open(path, "rb") as f:
        return f.read(most)


def is_elf(path, types):
    with contextlib.suppress(OSError):
        head = read(path, 18)
        return head[:4] == b"\x7fELF" and head[16] in types
    return False


def stale(path):
    """Is it an object, or a program, of another build?  Libraries may be third-party ones."""
    return is_elf(path, (1,)) or (is_elf(path, (2, 3)) and os.access(path, os.X_OK)
                                  and ".so" not in os.path.basename(path))


def files_of(folder):
    """Relative paths of all files that are not folders."""
    for at, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names + [d for d in folders if os.path.islink(os.path.join(at, d))]):
            yield os.path.relpath(os.path.join(at, name), folder)


def unlink_outside(source, target):
    """In the copy @target of @source, replace links to what is outside of the source."""
    top = os.path.realpath(source) + os.sep
    for at, folders, names in os.walk(target):
        for name in folders + names:
            path = os.path.join(at, name)
            original = os.path.realpath(os.path.join(source, os.path.relpath(path, target)))
            if not os.path.islink(path) or (original + os.sep).startswith(top) or not os.path.exists(original):
                continue
            os.remove(path)
            if os.path.isdir(original):
                shutil.copytree(original, path, symlinks=True)
            else:
                shutil.copy2(original, path)


def copy(source, target, without):
    """Copy a folder, except the results' folder @without, which may be inside, products of other builds, and special
    files.  Links stay links inside of the folder; a link to another folder or file becomes a copy of that."""
    def ignored(at, names):
        paths = [(n, os.path.join(at, n)) for n in names]
        return {n for n, p in paths if n in LEFT_OUT or os.path.realpath(p) == without
                or (not os.path.islink(p) and not os.path.isdir(p) and (
            not stat.S_ISREG(os.lstat(p).st_mode) or stale(p)))}
    shutil.rmtree(target, ignore_errors=True)
    try:
        shutil.copytree(source, target, symlinks=True, ignore=ignored)
        unlink_outside(source, target)
    except shutil.Error as e:
        raise Refused(f"{source} cannot be copied: {e.args[0][0][2]}") from e
    except OSError as e:
        raise Refused(f"{source} cannot be copied to {target}: {e.strerror}") from e


def build_command(program):
    """The build command: as specified for the program, or by the files in its folder."""
    if program.build:
        return program.build
    has = set(os.listdir(program.folder))
    if "CMakeLists.txt" in has:
        return "cmake -S . -B build -DCMAKE_C_COMPILER={cc} -DCMAKE_CXX_COMPILER={cxx} && cmake --build build"
    if "configure" in has:
        return "./configure CC={cc} CXX={cxx} && make"
    if has & {"Makefile", "makefile", "GNUmakefile"}:
        return "make CC={cc} CXX={cxx}"
    raise Refused(f"{program.folder} has no makefile, CMakeLists.txt or configure: say by --build how it is built, "
                  f"such as --build '{{cc}} -O2 -o prog *.c'")


class Tree:
    """A copy that was built.  Before each run, changes by the previous run are undone."""

    def __init__(self, folder):
        self.folder, self.kept = folder, folder + ".kept"
        self.state = None

    @staticmethod
    def look(folder):
        found = {}
        for name in files_of(folder):
            st = os.lstat(os.path.join(folder, name))
            found[name] = st.st_size, st.st_mtime_ns
        return found

    def keep(self):
        """Record the state after the build, with which runs begin."""
        shutil.rmtree(self.kept, ignore_errors=True)
        shutil.copytree(self.folder, self.kept, symlinks=True)
        self.state = self.look(self.folder)

    def changed(self):
        """Files that a run has written or created; files that it has removed."""
        now = self.look(self.folder)
        return [n for n in now if self.state.get(n) != now[n]], [n for n in self.state if n not in now]

    def restore(self):
        if self.state is None:  # of an earlier call
            self.state = self.look(self.kept)
        written, removed = self.changed()
        for name in written:
            os.remove(os.path.join(self.folder, name))
        for name in [n for n in written if n in self.state] + removed:
            path = os.path.join(self.folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            shutil.copy2(os.path.join(self.kept, name), path, follow_symlinks=False)
        for at, folders, _ in os.walk(self.folder):
            for name in [f for f in folders if not os.path.islink(os.path.join(at, f))]:
                if not os.path.isdir(os.path.join(self.kept, os.path.relpath(os.path.join(at, name), self.folder))):
                    shutil.rmtree(os.path.join(at, name))
                    folders.remove(name)


class Build:
    """The builds of a program in @folder: native/ and tweed/, each a Tree, and wrappers/."""

    def __init__(self, program, folder, results, tweed, tools):
        self.program, self.folder, self.results, self.tweed, self.tools = program, folder, results, tweed, tools
        self.native, self.ours = (Tree(os.path.join(folder, n)) for n in ("native", "tweed"))
        self.kind = program.kind
        self.note = ""

    def wrapper(self, name):
        return os.path.join(self.folder, "wrappers", name)

    def wrappers(self):
        """Commands of one word that build systems can use as gcc."""
        out = []
        for name, called in zip(("tweed-gcc", "tweed-g++"), KINDS[self.kind]):
            words = ["-a", called, self.tweed] if isinstance(called, str) else [self.tweed, *called]
            path = self.wrapper(name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as f:
                f.write(f'#!/bin/bash\nexport CC=gcc CXX=g++\nexec {shlex.join(words)} "$@"\n')
            os.chmod(path, 0o755)
            out.append(path)
        for name in ("gcc-ar", "gcc-ranlib"):  # CMake's, for archives with link-time optimisation
            path, tool = self.wrapper(f"tweed-{name}"), shutil.which(name)
            if tool and not os.path.lexists(path):
                os.symlink(tool, path)
        return out

    def make(self, tree, compilers, identity, retry):
        """Build, unless it was done, with @retry unless it succeeded;
        return {"state": "built" or "failed", "log": ..., "program": digest}."""
        state_path, log = tree.folder + ".json", tree.folder + ".log"
        if os.path.exists(state_path):
            with open(state_path, encoding="utf-8") as f:
                made = json.load(f)
            if made["identity"] == identity and not (retry and made["state"] == "failed"):
                tree.restore()
                return made
            os.remove(state_path)
        copy(self.program.folder, tree.folder, self.results)
        names = dict(zip(("cc", "cxx"), compilers))
        command = re.sub(r"\{(cc|cxx)\}", lambda m: names[m[1]], build_command(self.program))
        environment = without_settings() | {"CC": compilers[0], "CXX": compilers[1]}
        done = process.run(["sh", "-c", "exec 2>&1; " + command], tree.folder, environment, log, os.devnull,
                           self.program.build_timeout)
        text = read(log).decode(errors="replace")
        made = {"identity": identity, "state": "built" if not done.status and not done.late else "failed",
                "seconds": done.seconds,
                "command": command, "why": self.why(done, text)}
        tree.keep()
        write(state_path, made)
        return made

    def why(self, done, text):
        """The reason of a failed build, in a line: Tweed's sentence, or the first line that resembles an error."""
        if done.late:
            return f"it was not done after {self.program.build_timeout:g} s (build_timeout)"
        said = sentences(text)
        if said:
            return "tweed: " + said[0]
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return next((line for sign in ERRORS for line in lines if sign.search(line)),
                    lines[-1] if lines else f"it ended with status {done.status}")

    def executable(self, tree):
        """The program in a tree, or None: the command's first word may be one on the PATH."""
        word = self.program.words(1)[0]
        path = os.path.normpath(os.path.join(tree.folder, self.program.cd, word))
        return path if os.path.isfile(path) and os.access(path, os.X_OK) else None

    def missing(self, tree):
        """The reason why there is no program after a build, or ""."""
        word = self.program.words(1)[0]
        if self.executable(tree) or (os.sep not in word and shutil.which(word)):
            return ""
        made = [os.path.relpath(os.path.join(tree.folder, f), os.path.join(tree.folder, self.program.cd))
                for f in files_of(tree.folder)
                if is_elf(os.path.join(tree.folder, f), (2, 3)) and ".so" not in f]
        hint = nearest(word.removeprefix("./"), made) if made else "it made no program at all"
        return f"the build made no {word}: {hint}"

    def marked(self):
        """The kind by the sources, or ""."""
        found = set()
        for name in files_of(self.program.folder):
            path = os.path.join(self.program.folder, name)
            if name.endswith(SOURCES) and os.path.isfile(path):
                with contextlib.suppress(OSError):
                    data = read(path)
                    found.update(kind for kind, mark in MARKS if re.search(mark, data, re.M))
        return next((kind for kind, _ in MARKS if kind in found), "")

    def linked(self):
        """The kind by the undefined symbols of the native program, or of a library beside it, or ""."""
        path = self.executable(self.native)
        if not path or not is_elf(path, (2, 3)):
            return ""
        listed = subprocess.run(["ldd", path], capture_output=True, text=True, check=False,
                                cwd=os.path.dirname(path)).stdout
        own = [m for m in re.findall(r"(/\S+)", listed) if m.startswith(self.native.folder)]
        symbols = "".join(subprocess.run(["nm", "-D", "--undefined-only", f], capture_output=True, text=True,
                                         check=False).stdout for f in [path, *own])
        return next((kind for kind, mark in SYMBOLS if re.search(mark, symbols)), "")

    def is_tweeds(self):
        """Has the build used the compiler that it was given?  For scripts this is unknown."""
        path = self.executable(self.ours)
        if not path or not is_elf(path, (2, 3)):
            return True
        return MARK in read(path, 1 << 30)

    def identity(self, *more):
        return digest([json.dumps([build_command(self.program), self.program.cd, *more]).encode(),
                       *(digest([n.encode(), digest_file(os.path.join(self.program.folder, n))]) .encode()
                         for n in self.sources())])

    def sources(self):
        for name in files_of(self.program.folder):
            path = os.path.join(self.program.folder, name)
            inside = os.path.realpath(path).startswith(self.results + os.sep)
            if not inside and not set(name.split(os.sep)) & set(LEFT_OUT) and (os.path.islink(path)
                    or os.path.isfile(path)) and not stale(path):
                yield name

    def program_digest(self, tree):
        path = self.executable(tree)
        return digest_file(path).hex() if path else ""

    def build(self, retry=False):
        """(outcome, why): ("", "") if all that the kind needs was built, else "error" for the native build, "refused"
        or "build"."""
        os.makedirs(self.folder, exist_ok=True)
        if self.kind in ("", *("openmp", "threads")):
            made = self.make(self.native, ("gcc", "g++"), self.identity(), retry)
            missing = made["state"] == "built" and self.missing(self.native)
            marked = self.kind or self.marked()
            if marked in ("openshmem", "tweed", "parmacs") and (made["state"] == "failed" or missing):
                self.kind = marked
            elif made["state"] == "failed":
                return "error", f"the native build failed: {made['why']}"
            elif missing:
                return "error", missing
            else:
                self.kind = self.kind or self.linked() or marked
        if not self.kind:
            return "error", (f"neither OpenMP nor threads are used by {self.program.words(1)[0]}: name what it is by "
                             f"--kind ({', '.join(KINDS)})")
        made = self.make(self.ours, self.wrappers(), self.identity(self.kind, self.tools), retry)
        if made["state"] == "failed":
            return ("refused" if made["why"].startswith("tweed: ") else "build"), made["why"].removeprefix("tweed: ")
        missing = self.missing(self.ours)
        if missing or not self.is_tweeds():
            return "build", missing or "the program was not built by {cc}: the build names a compiler of its own"
        return "", ""
