#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The reference of settings agrees with the tables of the command.

settings.py TWEED SETTINGS.md   compare names, options and defaults; status 1 when they differ"""
import json
import re
import subprocess
import sys


def rows(text):
    """The cells of each row of the document's tables, without marks."""
    for line in text.splitlines():
        if line.startswith("| ") and not line.startswith("|---"):
            yield [cell.strip().replace("`", "") for cell in line.strip("|").split("|")]


def differences(info, text):
    table = {(r[0], r[1]) if not r[0].startswith("TWEED_") else r[0]: r for r in documented(text)}
    for s in info["settings"]:
        r = table.get(s["name"])
        if not r:
            yield f"{s['name']} is missing"
        elif s.get("option") and "--" + s["option"] not in r[1]:
            yield f"{s['name']}: its option is --{s['option']}, not {r[1]}"
        elif r[2].split(":")[0].split(" ")[0] not in (s["default"] or "empty", re.sub("^65536$", "64K", s["default"])):
            yield f"{s['name']}: its default is {s['default'] or 'empty'}, not {r[2]}"
    for driver in info["protocols"] + info["transports"]:
        for p in driver["parameters"] if not driver.get("variant") else []:
            r = table.get((driver["name"], p["name"]))
            if not r or r[2] != (p["default"] or "empty"):
                yield f"{driver['name']}:{p['name']}={p['default']} is missing, or has another default"


def documented(text):
    """Settings' rows; and a row for each protocol or transport that has a parameter."""
    owners = ""
    for r in rows(text):
        if r[0].startswith("TWEED_"):
            yield r
        elif len(r) == 5:
            owners = r[0] or owners
            for name in re.findall(r"[\w-]+", owners.replace("'s", "")):
                yield from ([name, parameter, *r[2:]] for parameter in r[1].split(", "))


def main():
    tweed, path = sys.argv[1:]
    info = json.loads(subprocess.run([tweed, "info", "--json"], capture_output=True, check=True, text=True).stdout)
    text = open(path, encoding="utf-8").read()
    planted = text.replace("`retention` | 3", "`retention` | 4").replace("`TWEED_LOCK`", "`TWEED_LOK`")
    if len(list(differences(info, planted))) < 2:
        sys.exit("settings: planted mistakes are not found")
    wrong = list(differences(info, text))
    print("\n".join(f"{path}: {w}" for w in wrong) or f"{len(info['settings'])} settings, 0 wrong")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
