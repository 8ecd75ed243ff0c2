# SPDX-License-Identifier: Apache-2.0
"""Figures and names as people read them: the same in text and in HTML, and the same as tracerd's."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from . import _core
from ._core import format_share as share_text

if TYPE_CHECKING:
    from ._report import Figure, ReportRow, TimeShare

__all__ = [
    "UNKNOWN", "bytes_text", "duration_text", "share_text", "figure_text", "bounded", "utilization_text",
    "memory_text", "causes_text", "visible",
]

UNKNOWN = "-"
_MOST = 2**64 - 1
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


def duration_text(ns: int) -> str:
    """"1.2 s". Sums and differences of what a recording says may be beyond what the library's figures hold."""
    return _core.format_duration(min(max(ns, 0), _MOST))


def bytes_text(bytes: int) -> str:
    """"1.2 MiB"; likewise."""
    return _core.format_bytes(min(max(bytes, 0), _MOST))


def bounded(bound: str, text: str) -> str:
    """"≥ 13 ms" for what is a bound."""
    return _SIGNS[bound] + text


def figure_text(figure: Figure | int | None, form: Callable[[int], str]) -> str:
    if figure is None:
        return UNKNOWN
    return form(figure) if isinstance(figure, int) else bounded(figure.bound, form(figure.value))


def utilization_text(row: ReportRow) -> str:
    share, cpu_ns = row.cpu_utilization, row.cpu_ns
    text = UNKNOWN if share is None or cpu_ns is None else bounded(cpu_ns.bound, share_text(share))
    asked = row.requested.millicpus if row.requested else None
    return text if asked is None else f"{text} of {share_text(asked / 1000)}"


def memory_text(row: ReportRow) -> str:
    text = figure_text(row.memory_bytes, bytes_text)
    if row.memory_at_most_bytes is not None:
        text += " " + bounded("at most", bytes_text(row.memory_at_most_bytes))
    asked = row.requested.memory_bytes if row.requested else None
    return text if asked is None else f"{text} of {bytes_text(asked)}"


def causes_text(time: tuple[TimeShare, ...]) -> str:
    """"pipe 68 %, CPU 31 %": the two largest; what hardly matters is left out."""
    parts = [f"{each.cause} {share_text(each.share)}" for i, each in enumerate(time[:2]) if i == 0 or each.share >= 0.05]
    return ", ".join(parts)
