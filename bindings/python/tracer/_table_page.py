# SPDX-License-Identifier: Apache-2.0
"""Tables and texts as one HTML page that needs no network, no script and no other file, in the style of reports."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Collection, Iterable, Sequence
from html import escape

from ._format import visible

__all__ = ["STYLE", "facts_html", "list_html", "page_of", "table_html"]

# The colors are those of views/src/style.css: a test compares them. Where a row has no room, each of its cells is a line.
STYLE = """
:root {
  color-scheme: light;
  --bg: #f5f5f2; --panel: #ffffff; --line: #e1e1db; --text: #15181c; --dim: #565e68; --accent: #1a5fb4;
}
@media (prefers-color-scheme: dark) {
  :root {
    color-scheme: dark;
    --bg: #0e1115; --panel: #161a20; --line: #272d36; --text: #e7eaee; --dim: #9ba5b1; --accent: #7fb3ff;
  }
}
* { box-sizing: border-box; }
html { background: var(--bg); color: var(--text); font: 14px/1.45 system-ui, "Segoe UI", Roboto, sans-serif; }
body { margin: 0; }
main { max-width: 1500px; margin: 0 auto; padding: 16px 20px 40px; }
h1 { font-size: 20px; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 15px; margin: 28px 0 8px; }
p, li { overflow-wrap: anywhere; }
.facts { color: var(--dim); margin: 2px 0 12px; padding: 0; list-style: none; }
.wide { border: 1px solid var(--line); border-radius: 8px; overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: 4px 12px; border-bottom: 1px solid var(--line); vertical-align: top; }
th { background: var(--panel); font-weight: 600; white-space: nowrap; }
td { overflow-wrap: anywhere; min-width: 7em; }
tbody tr:nth-child(even) { background: var(--panel); }
tbody tr:last-child td { border-bottom: 0; }
tr.sum td { font-weight: 600; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; min-width: 0; }
.texts { list-style: none; margin: 0; padding: 0; display: grid; gap: 6px; }
.texts li { border: 1px solid var(--line); border-left: 5px solid var(--accent); border-radius: 8px; padding: 6px 12px; }
.texts p { margin: 0; }
.texts .besides { color: var(--dim); }
@media (max-width: 720px) {
  main { padding: 12px 12px 32px; }
  thead { display: none; }
  table, tbody, tr, td { display: block; }
  tr { padding: 6px 0; border-bottom: 1px solid var(--line); }
  tr:last-child { border-bottom: 0; }
  td { border: 0; padding: 1px 12px; min-width: 0; display: grid; grid-template-columns: 40% minmax(0, 1fr); gap: 8px; }
  td:empty { display: none; }
  td::before { content: attr(data-name); color: var(--dim); text-align: left; white-space: normal; }
  .number { text-align: left; white-space: normal; }
}
@media print {
  :root { color-scheme: light; --bg: #fff; --panel: #f6f7f9; --line: #d9dde3; --text: #000; --dim: #444; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  main { max-width: none; padding: 0; }
  tr, .texts li { break-inside: avoid; }
}
"""


def _text(text: str) -> str:
    return escape(visible(text))


def table_html(header: Sequence[str], rows: Iterable[Sequence[str]], numbers: Collection[int], sums: int = 0) -> str:
    """`numbers` are columns that stand to the right; the last `sums` rows are sums of the others."""
    lines = list(rows)
    names = [_text(name) for name in header]
    parts = ['<div class="wide"><table><thead><tr>']
    parts += [f"<th{' class=number' if place in numbers else ''}>{name}</th>" for place, name in enumerate(names)]
    parts.append("</tr></thead>\n<tbody>")
    for number, line in enumerate(lines):
        parts.append("<tr class=sum>" if number >= len(lines) - sums else "<tr>")
        parts += [f'<td{" class=number" if place in numbers else ""} data-name="{names[place]}">{_text(cell)}</td>'
                  for place, cell in enumerate(line)]
        parts.append("</tr>\n")
    parts.append("</tbody></table></div>")
    return "".join(parts)


def list_html(items: Iterable[Sequence[str]]) -> str:
    """Of each: a heading, then lines."""
    parts = ["<ul class=texts>"]
    for head, *lines in items:
        parts.append(f"<li><p><strong>{_text(head)}</strong></p>" + "".join(f"<p class=besides>{_text(line)}</p>" for line in lines) + "</li>\n")
    return "".join([*parts, "</ul>"])


def facts_html(facts: Iterable[str]) -> str:
    lines = "".join(f"<li>{_text(fact)}</li>\n" for fact in facts)
    return f"<ul class=facts>{lines}</ul>" if lines else ""


def page_of(title: str, parts: Iterable[tuple[str, str]]) -> str:
    """Of HTML, each with its heading, or none."""
    digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    body = "\n".join((f"<h2>{_text(heading)}</h2>\n" if heading else "") + part for heading, part in parts if part)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{_text(title)}</title>
<style>{STYLE}</style>
</head>
<body>
<main>
<h1>{_text(title)}</h1>
{body}
</main>
</body>
</html>
"""
