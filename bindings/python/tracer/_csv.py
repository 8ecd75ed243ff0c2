# SPDX-License-Identifier: Apache-2.0
"""Rows as CSV that is safe to open: names come from other users, and a spreadsheet runs formulas."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence

from ._format import visible

__all__ = ["csv_of"]

_NUMBER = re.compile(r"-?\d+(\.\d+)?(e[+-]?\d+)?", re.IGNORECASE | re.ASCII)


def csv_of(fields: Sequence[str], rows: Iterable[Mapping[str, object]]) -> str:
    """A header and the `fields` of each row. None is an empty cell."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(fields)
    for row in rows:
        writer.writerow([_cell(row[name]) for name in fields])
    return text.getvalue()


def _cell(value: object) -> object:
    """A text is shown as in tables, and never begins as a formula does; a number stays one, also as text."""
    if not isinstance(value, str) or _NUMBER.fullmatch(value):
        return value
    return visible(f"'{value}" if value.startswith(("=", "+", "-", "@", "\t", "\r")) else value)
