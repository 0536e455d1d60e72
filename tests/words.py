#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Words and names of the sources: no retired word, no name of something that does not exist.

words.py ROOT         plant mistakes and require that they are found, then check the tree; status 1 when it is broken

In identifiers, comments and documents the words of doc/reference/glossary.md are used; RETIRED are those that came
before them.
Files, functions, settings and hooks that a comment or a document names must exist."""
import os
import re
import subprocess
import sys

RETIRED = set("""tell tells telling told untold hear hears heard unheard owe owes owed mate mates
lend lends lending lent lender lenders doze dozes dozing greet greets greeted greeting greetings under_way""".split())
# Parts of names that were files and are other words now.
RETIRED_FILES = set("""ahead.c yield.c choices.c lot.c words.h meet.c drain.c forward.c guard.c exchange.c
hello.c""".split())
# Sources with planted mistakes.
PLANTED = ("tests/words.py", "tests/layers.py")
# What is said of the past, and what is made from elsewhere.
PAST = ("CHANGELOG.md", "results/measured/", "results/published/")
CODE = (".c", ".h", ".S", ".pml")
TEXT = (".md", ".1")
SCRIPTS = (".py", ".sh", "meson.build", ".toml", ".ld", ".map", ".m4")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
STRING = re.compile(r'"(?:\\.|[^"\\\n])*"')
PYTHON = re.compile(r'"""(.*?)"""|#([^\n]*)', re.S)
WORD = re.compile(r"[A-Za-z][A-Za-z_0-9]*")
SPAN = re.compile(r"`([^`\n]+)`")
FENCE = re.compile(r"^```.*?^```", re.S | re.M)
LINK = re.compile(r"\]\(([^)#\s]+)")
# Names of Tweed's own: functions, constants, settings.
OWN = re.compile(r"\b(?:tw|cash|ts|ofi|sim|sh|th|job|sync|wire)_[a-z0-9_]+\b(?!\*)|"
                 r"\bTWEED_[A-Z0-9_]+\b(?!\*)|\bTW_[A-Z0-9_]+\b(?!\*)")
FILE = re.compile(r"(?<![\w/.<*-])((?:[\w-]+/)*[\w-]+\.(?:c|h|py|pml|md|S|m4|toml|ld))(?![\w/*])")
# Files that are not of this project, or of a user's.
FOREIGN = set("""mine.c mine.h prog.c program.c x.c x.h main.c a.c b.c c.c hello.c foo.c file.c loop.c omp.h
pthread.h shmem.h shmemx.h mpi.h stdio.h
pmix.h Makefile.am plan.toml mine.toml crew.c flags.c name.c threads.h pan.c""".split())


def comments(path, text):
    """The comments of a source, or a document without its examples."""
    if path.endswith(TEXT):
        return FENCE.sub("", text)
    if path.endswith(CODE):
        return "\n".join(COMMENT.findall(text))
    return "\n".join(a or b for a, b in PYTHON.findall(text))


def code(path, text):
    if path.endswith(CODE):
        return STRING.sub('""', COMMENT.sub(" ", text))
    return ""


def parts(word):
    """An identifier's words: put_signal, TW_HELD, SendAll."""
    lower = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", word).lower()
    return [lower, *lower.split("_")] if "_" in lower else [lower]


def retired(path, text):
    said = comments(path, text) + "\n" + code(path, text)
    return sorted({w for w in WORD.findall(said) if RETIRED & set(parts(w))
                   or any(r in w.lower() for r in RETIRED if "_" in r)})


class Tree:
    def __init__(self, files):
        """@files: path -> text."""
        self.files = files
        self.paths = set(files)
        self.names = {os.path.basename(p) for p in files}
        self.defined = set()
        for path, text in files.items():
            if not path.endswith(TEXT) and path not in PLANTED:
                self.defined.update(WORD.findall(COMMENT.sub(" ", text) if path.endswith(CODE) else text))

    def exists(self, path, name):
        if re.search(r"(^|/)(mine|[A-Z]+)\.\w+$", name):  # a user's, or any
            return True
        if name.startswith(("tables/", "share/", "PREFIX/")):  # what a command writes, or what is installed
            return True
        if "/" not in name:
            return name in self.names or name in FOREIGN
        places = (name, os.path.join(os.path.dirname(path), name), os.path.join("include", name),
                  os.path.join("tests", name),
                  os.path.join("include/tweed", name))
        return any(os.path.normpath(p) in self.paths for p in places) or any(p.endswith("/" + name) for p in self.paths)

    def wrong_names(self, path, text):
        said = comments(path, text)
        named = " ".join(SPAN.findall(said)) if path.endswith(".md") else said
        wrong = [f"file {n}" for n in FILE.findall(named) if not self.exists(path, n)]
        wrong += [f"name {n}" for n in OWN.findall(named) if n not in self.defined and not self.stem(n)]
        if path.endswith(".md"):
            for link in LINK.findall(FENCE.sub("", text)):
                target = os.path.normpath(os.path.join(os.path.dirname(path), link))
                if "://" not in link and target not in self.paths and not any(p.startswith(target + "/")
                                                                              for p in self.paths):
                    wrong.append(f"link {link}")
        return sorted(set(wrong))

    def stem(self, name):
        """What stands for several: tw_word_ or a name with a macro's ending."""
        return "mine" in name or name.endswith("_") and any(name in d for d in self.defined)

    def check_file(self, path):
        text = self.files[path]
        if path.startswith(PAST) or path in PLANTED:
            return []
        wrong = [f"{path}: the word '{w}' is retired: doc/reference/glossary.md has the one to use"
                 for w in retired(path, text)]
        wrong += [f"{path}: {n} does not exist" for n in self.wrong_names(path, text)]
        if os.path.basename(path) in RETIRED_FILES:
            wrong.append(f"{path}: that file name is retired")
        return wrong

    def check(self):
        return [w for path in sorted(self.paths) for w in self.check_file(path)] + self.same_headers() + self.hooks()

    def same_headers(self):
        seen = {}
        for path in sorted(p for p in self.paths if p.endswith(".h")
                           and not p.startswith(("tests/", "include/tweed/mpp/"))):
            seen.setdefault(os.path.basename(path), []).append(path)
        return [f"two headers of one name: {', '.join(p)}" for p in seen.values() if len(p) > 1]

    def hooks(self):
        """The hooks that the two authors' documents list in tables must be members of the operations' tables."""
        wrong = []
        for document, header in (("doc/internals/writing-a-protocol.md", "include/tweed/driver/protocol.h"),
                                 ("doc/internals/transports.md", "include/tweed/driver/transport.h")):
            members = set(re.findall(r"\(\*(\w+)\)|(?:\bconst \*|\b)(\w+);", self.files.get(header, "")))
            members = {a or b for a, b in members}
            for table in re.findall(r"^\| (?:hook|operation)s? .*\n\|[-| ]+\n((?:\|.*\n)+)",
                                    self.files.get(document, ""), re.M):
                for row in table.splitlines():
                    wrong += [f"{document}: hook {n} is not in {header}"
                              for n in re.findall(r"`(\w+)`", row.split("|")[1]) if n not in members]
        return wrong


def read_tree(root):
    listed = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True,
                            check=False).stdout.split("\n")
    if not any(listed):  # an unpacked archive
        listed = [os.path.relpath(os.path.join(d, f), root) for d, below, fs in os.walk(root) for f in fs
                  if "build" not in d and not d.startswith(".git")]
    files = {}
    for path in filter(None, listed):
        if path.endswith(CODE + TEXT + SCRIPTS) or "." not in os.path.basename(path):
            try:
                with open(os.path.join(root, path), encoding="utf-8") as f:
                    files[path] = f.read()
            except (OSError, UnicodeDecodeError):
                pass
    return files


def self_test(tree):
    planted = [("core/x.c", "/* It tells the other one. */"), ("core/x.c", "int job_told;"),
               ("core/x.c", "int under_way_now;"),
               ("core/x.c", "/* see core/nowhere.c */"), ("core/x.c", "/* tw_no_such_thing does it */"),
               ("doc/x.md", "`TWEED_NO_SUCH`"),
               ("doc/x.md", "[x](nowhere.md)"), ("doc/x.md", "whoever hears"), ("core/x/settings.h", "int x;")]
    silent = [("core/x.c", 'char *x = "tell";'), ("doc/x.md", "```\nint told;\n```"),
              ("core/x.c", "/* core/job/job.c, tw_me: estimate */")]
    for path, text in planted + silent:
        tree.files[path] = text
        tree.paths.add(path)
        found = tree.check_file(path) + [w for w in tree.same_headers() if path in w]
        del tree.files[path]
        tree.paths.remove(path)
        if bool(found) != ((path, text) in planted):
            sys.exit(f"self-test: {path} with {text!r} gave {sorted(found)}")
    return len(planted)


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: words.py ROOT")
    files = read_tree(sys.argv[1])
    tree = Tree(files)
    wrong = tree.check()
    planted = self_test(tree)
    for w in wrong:
        print(w)
    print(f"{len(files)} files, {planted} planted mistakes found, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
