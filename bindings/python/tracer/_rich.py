# SPDX-License-Identifier: Apache-2.0
"""A report as rich shows it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from ._format import visible

if TYPE_CHECKING:
    from ._report import Report

__all__ = ["parts_of"]

_MOST_COLUMNS = 11
_STYLES = ((r"[█#]+", "green"), (r"▒+", "yellow"), (r"░+", "dim"), (r"[≥≤]", "bold yellow"))


def _text(cell: str, style: str = "") -> Text:
    text = Text(cell, style=style, no_wrap=True, overflow="ellipsis")
    for pattern, found in _STYLES:
        text.highlight_regex(pattern, found)
    return text


def _table(report: Report, columns: int, utf8: bool) -> tuple[Table, str]:
    # Beside the gap of two, rich has a place for a line between columns.
    lines, numbers, legend = report._native.table(None, max(columns - _MOST_COLUMNS - 2, 20), utf8)
    table = Table(box=SIMPLE_HEAD if utf8 else None, padding=(0, 1), pad_edge=False, collapse_padding=True,
                  show_header=True, header_style="bold")
    width = len(numbers)
    # What was folded wraps: it does not widen the names.
    names = max(len(line[0]) for line in lines if len(line) == width)
    for i, (title, is_number) in enumerate(zip(lines[0], numbers, strict=True)):
        table.add_column(title, justify="right" if is_number else "left", no_wrap=i > 0, max_width=None if i else names)
    failed = lines[0].index("failed") if "failed" in lines[0] else None
    for line in lines[1:]:
        if len(line) != width:  # a line of its own: what was folded
            table.add_row(*[Text(cell, style="dim") for cell in line], *[""] * (width - len(line)))
            continue
        style = "red" if failed is not None and line[failed] else "bold" if line[0] == "total" else ""
        table.add_row(*[_text(cell, style if i in (0, failed) else "") for i, cell in enumerate(line)])
    return table, legend


def parts_of(report: Report, columns: int, utf8: bool) -> Iterator[RenderableType]:
    """One below the other."""
    yield Text(visible(report.title), style="bold")
    notes = report._shown.notes(columns, utf8)
    if notes["findings"]:
        severity = report.findings[0].severity
        yield Text(notes["findings"].strip("\n"), style="red" if severity == "error" else "yellow" if severity == "warning" else "")
    table, legend = _table(report, columns, utf8)
    yield table
    for name, style in (("legend", "dim"), ("pipelines", ""), ("cgroups", ""), ("touched", ""), ("engines", ""), ("queue", ""),
                        ("requested", ""), ("waste", ""), ("failures", "red"), ("excused", "dim"), ("survivors", "yellow"),
                        ("certificate", "green" if report.certificate.complete else "bold yellow")):
        text = legend if name == "legend" else notes[name]
        if text:
            yield Text(text.strip("\n"), style=style)
    for line in report.certificate.damage.lines():
        yield Text(line, style="bold yellow")
