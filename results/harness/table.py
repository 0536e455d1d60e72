# SPDX-License-Identifier: BSD-3-Clause
"""A table, as text, Markdown, LaTeX and HTML."""
import html
import os

from .files import replacing

DASH = "–"


def show(value, digits=3):
    """A cell: numbers with a few significant digits and thousands separated, None as a dash."""
    if value is None:
        return DASH
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value != int(value):
        return f"{value:.{digits}g}" if abs(value) < 1000 else f"{value:,.0f}"
    return f"{int(value):,}"


def escape_latex(text):
    replace = {"&": r"\&", "%": r"\%", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}",
               "^": r"\^{}",
               "\\": r"\textbackslash{}", DASH: "--", "×": r"$\times$", "≥": r"$\geq$", "≤": r"$\leq$"}
    return "".join(replace.get(c, c) for c in text)


SUFFIXES = ("txt", "md", "tex")


class Table:
    """@marks: cells (row, column) that HTML shows in red ("bad") or green ("good")."""

    def __init__(self, name, title, columns, rows, note="", marks=None, left=1):
        self.name, self.title, self.columns, self.note, self.left = name, title, columns, note, left
        self.rows = [[show(c) for c in row] for row in rows]
        self.marks = marks or {}

    def text(self):
        cells = [self.columns] + self.rows
        width = [max(len(r[i]) for r in cells) for i in range(len(self.columns))]
        lines = ["  ".join(c.ljust(w) if i < self.left else c.rjust(w) for i,
                           (c, w) in enumerate(zip(r, width))).rstrip() for r in cells]
        lines.insert(1, "-" * max(map(len, lines)))
        return "\n".join([self.title, "", *lines, *(["", self.note] if self.note else [])]) + "\n"

    def markdown(self):
        def line(cells):
            return "| " + " | ".join(c.replace("|", "\\|") for c in cells) + " |"
        rule = "|" + "|".join("---" if i < self.left else "--:" for i in range(len(self.columns))) + "|"
        note = ["", self.note] if self.note else []
        return "\n".join([f"**{self.title}**", "", line(self.columns), rule, *map(line, self.rows), *note]) + "\n"

    def latex(self):
        def line(cells):
            return " & ".join(map(escape_latex, cells)) + r" \\"
        form = "l" * self.left + "r" * (len(self.columns) - self.left)
        note = ["", r"\medskip", escape_latex(self.note)] if self.note else []
        return "\n".join([r"\begin{table}", r"\centering", rf"\caption{{{escape_latex(self.title)}}}",
                          rf"\begin{{tabular}}{{{form}}}",
                          r"\hline", line(self.columns), r"\hline", *map(line, self.rows), r"\hline", r"\end{tabular}",
                          *note,
                          r"\end{table}"]) + "\n"

    def html(self):
        def cell(tag, text, i, mark=""):
            classes = " ".join(c for c in ("l" if i < self.left else "", mark) if c)
            return f"<{tag}" + (f' class="{classes}"' if classes else "") + f">{html.escape(text)}</{tag}>"
        head = "".join(cell("th", c, i) for i, c in enumerate(self.columns))
        body = "\n".join("<tr>" + "".join(cell("td", c, i, self.marks.get((n, i), "")) for i, c in enumerate(row)) +
                         "</tr>"
                         for n, row in enumerate(self.rows))
        note = f"<p class=note>{html.escape(self.note)}</p>" if self.note else ""
        return (f'<h3 id="{self.name}">{html.escape(self.title)}</h3>\n<div class=wide><table><tr>{head}</tr>\n'
                f'{body}</table></div>{note}\n')

    def write(self, directory):
        os.makedirs(directory, exist_ok=True)
        for suffix, text in zip(SUFFIXES, (self.text(), self.markdown(), self.latex())):
            with replacing(os.path.join(directory, f"{self.name}.{suffix}")) as f:
                f.write(text)


def write_all(directory, tables):
    """Write the tables of a result to its folder, and remove those of an earlier state that this one lacks."""
    folder = os.path.join(directory, "tables")
    for t in tables:
        t.write(folder)
    kept, there = {t.name for t in tables}, set(os.listdir(folder)) if os.path.isdir(folder) else set()
    for name in {os.path.splitext(n)[0] for n in there} - kept:
        files = [f"{name}.{suffix}" for suffix in SUFFIXES]
        if there.issuperset(files):
            for file in files:
                os.unlink(os.path.join(folder, file))
