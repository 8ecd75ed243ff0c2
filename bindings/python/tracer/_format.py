# SPDX-License-Identifier: Apache-2.0
"""Bounds, counts and names as people read them."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence

__all__ = ["aligned", "bounded", "counted", "ending", "visible"]

_SIGNS = {"exact": "", "at least": "≥ ", "at most": "≤ "}

# What steers a terminal, hides text or changes its direction: controls, separators of lines, marks of direction,
# characters without a width, halves of pairs, private and unassigned ones at the end of planes.
_HIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
                     "\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff]")


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is not UTF-8
        return f"\\x{code - 0xDC00:02x}"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def visible(text: str, most: int | None = None) -> str:
    """With what can't be seen written out, such as \\x1b and \\u202e; at most `most` characters of it."""
    if most is not None and len(text) > most:
        text = text[:most] + "…"
    return _HIDDEN.sub(_escape, text)


def ending(name: str, most: int | None) -> str:
    """The last part of a long name tells it apart."""
    return visible(name if most is None or len(name) <= most else "…" + name[-most:])


def counted(count: int, one: str, many: str = "") -> str:
    """"1 task", "2 tasks"; `many`: where it is not `one` with an s."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def bounded(bound: str, text: str) -> str:
    """"≥ 13 ms" for what is a bound."""
    return _SIGNS[bound] + text


def aligned(lines: Sequence[Sequence[str]], right: Container[int] = ()) -> list[str]:
    """The lines of a table; `right`: the columns whose cells stand on the right."""
    widths = [max(map(len, column)) for column in zip(*lines)]
    return ["  ".join(cell.rjust(width) if place in right else cell.ljust(width)
                      for place, (cell, width) in enumerate(zip(line, widths))).rstrip() for line in lines]
