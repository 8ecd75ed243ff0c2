# SPDX-License-Identifier: Apache-2.0
"""Findings as a table, and as CSV."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from .._csv import csv_of
from .._format import aligned, counted, visible
from ._finding import FIELDS, Finding, spoken, time_text

if TYPE_CHECKING:
    from . import Sweep

__all__ = ["html_of", "text_of", "to_csv"]


def to_csv(findings: Sequence[Finding]) -> str:
    rows = (finding.to_json() for finding in findings)
    return csv_of(FIELDS, ({**row, "evidence": json.dumps(row["evidence"])} for row in rows))


_HEADER = ("finding", "since", "for", "cost", "started by", "certainty")


def _cells(finding: Finding) -> list[str]:
    duration = "" if finding.duration_s is None else spoken(finding.duration_s)
    cost = "" if finding.cost_per_hour is None else f"{Decimal(finding.cost_per_hour):.2f} {finding.currency}/h"
    cells = (finding.finding, time_text(finding.since) or "", duration, cost, finding.started_by or "", finding.certainty)
    return [visible(cell) for cell in cells]


def _together(result: Sweep) -> list[str]:
    """What all of it is."""
    if not result.findings:
        return [f"nothing is wasted, as far as was observed: {counted(result.machines, 'machine')}" if result.machines
                else "no machine was observed as a whole: none was judged. Nothing else was found"]
    costs = [Decimal(each.cost_per_hour) for each in result.findings if each.cost_per_hour is not None]
    if not costs:
        return []
    dates = sorted({each.price_date for each in result.findings if each.price_date})
    return [f"together {sum(costs):.2f} USD/h, estimated from list prices of {', '.join(dates)}; not what you will be billed"]


def html_of(result: Sweep, title: str) -> str:
    from .._table_page import facts_html, list_html, page_of, table_html

    machines = [] if not result.findings else [f"{counted(len(result.findings), 'finding')}; {counted(result.machines, 'machine was', 'machines were')} observed as a whole"]
    rows = [[*_cells(each)[:1], each.machine or "", *_cells(each)[1:]] for each in result.findings]
    return page_of(title, [
        ("", facts_html([*_together(result), *machines])),
        ("", table_html((*_HEADER[:1], "machine", *_HEADER[1:]), rows, {4}) if rows else ""),
        ("What to do", list_html([[each.text, each.advice] for each in result.findings]) if rows else ""),
        ("Notes", list_html([[note] for note in result.notes]) if result.notes else "")])


def text_of(result: Sweep) -> str:
    lines = [_cells(finding) for finding in result.findings]
    notes = [f"note: {visible(note)}" for note in result.notes]
    if not lines:
        return "\n".join([*_together(result), *notes])
    header, *rows = aligned([_HEADER, *lines])
    parts = [header]
    for row, finding in zip(rows, result.findings):
        parts += [row, f"    {visible(finding.text)}", f"    {visible(finding.advice)}"]
    return "\n".join([*parts, *_together(result), *notes])
