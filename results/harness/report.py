# SPDX-License-Identifier: BSD-3-Clause
"""One self-contained report.html."""
import html
import json
import os

from .files import replacing
from .machine import warning as busy_warning

STYLE = """body{font:15px/1.45 system-ui,sans-serif;max-width:1100px;margin:2em auto;padding:0 1em;color:#222}h1{font-size:1.6em}
h2{font-size:1.25em;border-bottom:1px solid #ccc;margin-top:2em}h3{font-size:1.05em;margin:1.6em 0 .4em}table{border-collapse:collapse;font-size:13px}
td,th{padding:2px 8px;text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}th{border-bottom:1px solid #888}td.l,th.l{text-align:left}
tr:nth-child(even){background:#f6f6f6}.good{background:#d9f2e3}.bad{background:#fbdcd2}.wide{overflow-x:auto}.note{font-size:13px;color:#555}
figure{margin:1em 0}svg{max-width:100%;height:auto}pre{background:#f6f6f6;padding:.6em;overflow-x:auto}.warn{background:#fff3cd;padding:.5em 1em}"""


def warnings(data, machine, jobs):
    cores, real = machine.get("cpus", 0), not data.plan.virtual
    if real and any(g.total > cores for g in data.groups):
        yield (f"This machine has {cores} cores: times of more processors than that say little about a cluster. Counts "
               f"do not depend on it.")
    if real and jobs > 1:
        yield f"Up to {jobs} runs were made at the same time: do not compare their times."
    busy = busy_warning(data.others)
    if real and busy:
        yield busy
    for g in data.plain.values():
        if g.bad:
            yield (f"Plain C of {g.application}, {g.size}, did not end well ({g.state}): {g.why}. Speed-ups lack these "
                   f"rounds.")
    bad = sum(len(g.bad) for g in data.groups)
    if bad:
        yield f"{bad} runs did not end well: see the last table. They are in no median."


def write(directory, plan, warned, machine, tables, figures):
    facts = " · ".join(html.escape(str(v)) for v in (machine.get("name"), f"{machine.get('cpus')} cores",
                                                     machine.get("machine"),
                                                    f"Linux {machine.get('kernel')}", f"tweed {machine.get('tweed')}",
                                                     machine.get("date")) if v)
    parts = [f"<h1>{html.escape(plan.title)}</h1>", f"<p>{html.escape(plan.text)}</p>" if plan.text else "",
             f"<p class=note>{facts}</p>"]
    parts += [f"<p class=warn>{html.escape(w)}</p>" for w in warned]
    parts.append("<h2>Figures</h2>")
    for f in figures:
        note = f"<figcaption class=note>{html.escape(f.note)}</figcaption>" if f.note else ""
        parts.append(f'<figure id="{f.name}">{f.svg(os.path.join(directory, "figures"))}{note}</figure>')
    parts.append("<h2>Tables</h2>")
    parts += [t.html() for t in tables]
    with open(plan.path, encoding="utf-8") as f:
        text = f.read()
    parts.append(f"<h2>How to repeat</h2><pre>{html.escape(machine.get('command', ''))}</pre>"
                 f"<pre>{html.escape(text)}</pre>")
    page(os.path.join(directory, "report.html"), plan.title, parts)


def page(path, title, parts):
    """A self-contained HTML file."""
    head = f"<!doctype html><html lang=en><meta charset=utf-8><title>{html.escape(title)}</title><style>{STYLE}</style>"
    text = f"{head}\n" + "\n".join(parts) + "</html>\n"
    with replacing(path) as f:
        f.write(text)


def machine(directory):
    with open(os.path.join(directory, "machine.json"), encoding="utf-8") as f:
        return json.load(f)
