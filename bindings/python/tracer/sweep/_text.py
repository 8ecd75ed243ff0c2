# SPDX-License-Identifier: Apache-2.0
"""Findings as a table, and as CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from .._format import visible
from ._finding import FIELDS, Finding, spoken, time_text

if TYPE_CHECKING:
    from . import Sweep

__all__ = ["text_of", "to_csv"]


def to_csv(findings: Sequence[Finding]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(FIELDS)
    for finding in findings:
        values = finding.to_json()
        values["evidence"] = json.dumps(values["evidence"], ensure_ascii=False)
        writer.writerow(values[name] for name in FIELDS)
    return out.getvalue()


def text_of(result: Sweep) -> str:
    lines = []
    for finding in result.findings:
        duration = "" if finding.duration_s is None else spoken(finding.duration_s)
        cost = "" if finding.cost_per_hour is None else f"{Decimal(finding.cost_per_hour):.2f} {finding.currency}/h"
        cells = (finding.finding, time_text(finding.since) or "", duration, cost, finding.started_by or "", finding.certainty)
        lines.append([visible(cell) for cell in cells])
    if not lines:
        return "\n".join([f"nothing is wasted, as far as was observed: {result.machines} machines",
                          *(f"note: {visible(note)}" for note in result.notes)])
    header = ("finding", "since", "for", "cost", "started by", "certainty")
    widths = [max(len(header[place]), *(len(line[place]) for line in lines)) for place in range(len(header))]
    parts = ["  ".join(name.ljust(width) for name, width in zip(header, widths)).rstrip()]
    for line, finding in zip(lines, result.findings):
        parts.append("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())
        parts += [f"    {visible(finding.text)}", f"    {visible(finding.advice)}"]
    costs = [Decimal(each.cost_per_hour) for each in result.findings if each.cost_per_hour is not None]
    if costs:
        dates = sorted({each.price_date for each in result.findings if each.price_date})
        parts.append(f"together {sum(costs):.2f} USD/h, by list prices of {', '.join(dates)}: an estimate, no price")
    parts += [f"note: {visible(note)}" for note in result.notes]
    return "\n".join(parts)
