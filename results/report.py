#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: tweed report FILE [--out DIR | --text] [--chrome FILE]

Prints what `tweed run --trace FILE` has recorded as tables, and draws it: a timeline, the pages, locks and barriers
(SVG and PNG, by gnuplot), and all of it in DIR/report.html.  False sharing is named with the allocation.

  --out DIR      where the pictures go (FILE.report)
  --text         only the tables
  --chrome FILE  also Chrome's trace-event JSON, which ui.perfetto.dev shows
"""
import html
import os
import shutil
import sys

from harness.plan import Refused
from harness.report import page
from tracing import chrome, pictures, sharing, tables, timeline
from tracing.tracefile import Trace


def headline(trace):
    h = trace.head
    nodes, processors = trace.nodes // h["host_nodes"], trace.processors * h["host_nodes"]
    return (f"{' '.join([h['program'], *h['arguments']])}, {nodes}x{processors}, {h['protocol']}, {h['transport']}, "
            f"pages of {h['page_size'] >> 10}K, {h['date']}")


def caveats(trace):
    lost = sum(r.lost for r in trace.rings.values())
    silent = [f"{n}.{p}" for n, p in trace.ids() if not trace.rings[n, p].events]
    wrong = max((c["error_ns"] for c in trace.tail["clocks"]), default=0)
    if trace.tail["status"]:
        yield f"The job ended with status {trace.tail['status']}."
    if lost:
        yield (f"{lost} events were overwritten, each processor's oldest: what follows is of those that are left; "
               "TWEED_TRACE_EVENTS makes room for more.")
    if silent:
        yield f"Nothing came from {', '.join(silent)}."
    if wrong:
        yield f"Clocks of other hosts may be wrong by {wrong / 1000:.0f} us."


def draw(trace, used, made, folder):
    parts = [f"<h1>{html.escape(os.path.basename(trace.head['program']))}</h1><p>{html.escape(headline(trace))}</p>"]
    parts += [f"<p class=warn>{html.escape(c)}</p>" for c in caveats(trace)]
    parts.append(timeline.part(trace))
    for p in pictures.make(trace, used):
        p.draw(folder)
        parts.append(f"<figure id={p.name}>{p.svg(folder)}</figure>")
    page(os.path.join(folder, "report.html"), "tweed report", parts + [t.html() for t in made])


def arguments(words):
    """(file, folder or None, chrome file or None)"""
    files, options = [], {}
    words = iter(words)
    for word in words:
        name, equals, value = word.partition("=")
        if word == "--help":
            print(__doc__.strip())
            sys.exit(0)
        elif word == "--text":
            options[word] = True
        elif name in ("--out", "--chrome", "--tweed"):
            options[name] = value if equals else next(words, "")
            if not options[name]:
                raise Refused(f"{name} needs a value: {'a directory' if name == '--out' else 'a file'}")
        elif word.startswith("-") and word != "-":
            raise Refused(f"{name} is no option of 'tweed report'; it has --out, --text and --chrome")
        else:
            files.append(word)
    if len(files) != 1:
        raise Refused("'tweed report' draws one trace: tweed report FILE [--out DIR | --text] [--chrome FILE]")
    if "--text" in options and "--out" in options:
        raise Refused("--text draws nothing, and --out says where to: leave one out")
    folder = None if "--text" in options else options.get("--out", files[0] + ".report")
    if folder and not shutil.which("gnuplot"):
        raise Refused("gnuplot is not there to draw: install it (gnuplot-nox), or use --text for the tables alone")
    return files[0], folder, options.get("--chrome")


def main():
    path, folder, chrome_file = arguments(sys.argv[1:])
    trace = Trace(path)
    used = sharing.analyse(trace)
    made = tables.make(trace, used)
    try:
        if chrome_file:
            chrome.write(trace, chrome_file, headline(trace))
        if folder:
            draw(trace, used, made, folder)
    except OSError as e:
        raise Refused(f"cannot write '{e.filename}': {e.strerror}; name another place with --out or --chrome") from e
    print("\n".join([headline(trace), *caveats(trace), "", *(t.text() for t in made)]), end="" if made else "\n")
    if folder:
        print(f"\n{os.path.join(folder, 'report.html')}")


if __name__ == "__main__":
    try:
        main()
    except Refused as e:
        print(f"tweed: {e}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(1)
