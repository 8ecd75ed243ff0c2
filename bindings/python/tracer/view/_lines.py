# SPDX-License-Identifier: Apache-2.0
"""Lines of a terminal, by the width that it gives to characters."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size

from ._texts import Signs

__all__ = ["Line", "STYLE_OF_SEVERITY", "STYLE_OF_STATUS", "fit", "fitted"]

# Parts of a line: a text, and how it looks.
Line = list[tuple[str, str]]

STYLE_OF_STATUS = {"failed": "red", "stalled": "yellow", "running": "green", "queued": "blue", "elsewhere": "cyan"}
STYLE_OF_SEVERITY = {"error": "red", "warning": "yellow"}


def fit(text: str, width: int, signs: Signs, right: bool = False) -> str:
    """Exactly so wide."""
    if (missing := width - cell_len(text)) >= 0:
        return " " * missing + text if right else text + " " * missing
    if width < 1:
        return ""
    return set_cell_size(set_cell_size(text, width - 1).rstrip() + signs.ellipsis, width)


def width_of(line: Line) -> int:
    return sum(cell_len(text) for text, _ in line)


def fitted(line: Line, width: int, signs: Signs) -> Line:
    """Cut where it is longer, filled up where it is shorter."""
    left, parts = width, []
    for number, (text, style) in enumerate(line):
        size = cell_len(text)
        if size > left or (size == left and number + 1 < len(line) and any(each for each, _ in line[number + 1:])):
            parts.append((fit(text + (" " if size == left else ""), left, signs), style))
            left = 0
            break
        parts.append((text, style))
        left -= size
    if left:
        parts.append((" " * left, ""))
    return parts
