# SPDX-License-Identifier: Apache-2.0
"""Rows of the state as `tracerd report` writes them."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .. import _core
from .._format import visible

__all__ = ["ASCII", "UTF8", "Signs", "causes_text", "clean", "figure_text", "letters_of", "signs_of_locale", "wall_text"]

Row = Mapping[str, Any]

# On one character; more would fill the lines around it.
_MOST_MARKS = 4


@dataclass(frozen=True, slots=True)
class Signs:
    """What a terminal can show."""

    utf8: bool
    at_least: str
    at_most: str
    ellipsis: str
    opened: str
    closed: str
    line: str
    done: str
    """In bars, as the next two."""
    running: str
    left: str
    life: str
    marks: Mapping[str, str]
    """By the status of a task."""


UTF8 = Signs(True, "≥", "≤", "…", "▾", "▸", "─", "█", "▓", "░", "━",
             {"failed": "✗", "stalled": "‖", "running": "▶", "queued": "○", "elsewhere": "◌", "done": "✓", "cached": "✓",
              "withdrawn": "-", "expired": "-", "aborted": "-"})
ASCII = Signs(False, ">=", "<=", "~", "v", "+", "-", "#", ">", ".", "=",
              {"failed": "E", "stalled": "S", "running": ">", "queued": "o", "elsewhere": "~", "done": ".", "cached": ".",
               "withdrawn": "-", "expired": "-", "aborted": "-"})

# Of each cause of the report, in the order of a bar.
LETTERS = {"CPU": "C", "CPU or wait": "?", "run queue": "q", "CPU limit": "l", "memory": "m", "disk": "d", "network": "n",
           "pipe": "p", "local socket": "s", "lock": "k", "child": "c", "sleep": "z", "events": "e", "stopped": "x",
           "other": "o"}
_NUMBERS: Mapping[str, Callable[[Any], str]] = {
    "ns": lambda value: _core.format_duration(int(value)), "bytes": lambda value: _core.format_bytes(int(value)),
            "share": _core.format_share, "": str}
_UNITS = {"cpu_utilization": "share"}


def signs_of_locale() -> Signs:
    """As tracerd decides it. Python itself sets LC_CTYPE=C.UTF-8 where the locale says nothing (PEP 538)."""
    said = os.environ.get("LC_ALL") or os.environ.get("LC_CTYPE") or os.environ.get("LANG") or ""
    if not os.environ.get("LC_ALL") and said == "C.UTF-8" and os.environ.get("LANG", "") in ("", "C", "POSIX"):
        said = ""
    return UTF8 if re.fullmatch(r".*\.utf-?8.*", said, re.IGNORECASE) else ASCII


def clean(text: str, signs: Signs) -> str:
    """On one line, without what steers a terminal; whatever a process calls itself."""
    if text.isascii() and text.isprintable():
        return text
    text = visible(text)
    if not signs.utf8:
        return "".join(each if each.isascii() else "?" for each in text)
    kept, marks = [], 0
    for each in text:
        marks = marks + 1 if unicodedata.combining(each) else 0
        if marks <= _MOST_MARKS:
            kept.append(each)
    return "".join(kept)


def _unit_of(name: str) -> str:
    return _UNITS.get(name) or ("ns" if name.endswith("_ns") else "bytes" if name.endswith("_bytes") else "")


def figure_text(row: Row, name: str, signs: Signs, *, at_most: bool = True, requested: bool = True) -> str:
    """"≥ 12 %" where a part is not known; "-": nothing is."""
    text_of = _NUMBERS[_unit_of(name)]
    text = ""
    if name in row:
        text = text_of(row[name])
    if f"{name}_at_least" in row:
        text = f"{signs.at_least} {text_of(row[f'{name}_at_least'])}"
    if f"{name}_at_most" in row and (at_most or not text):
        text += f"{' ' if text else ''}{signs.at_most} {text_of(row[f'{name}_at_most'])}"
    text = text or "-"
    asked = row.get("requested", {}) if requested else {}
    if name == "cpu_utilization" and "millicpus" in asked:
        text += f" of {_core.format_share(asked['millicpus'] / 1000)}"
    if name == "memory_bytes" and "memory_bytes" in asked:
        text += f" of {_core.format_bytes(asked['memory_bytes'])}"
    return text


def wall_text(row: Row, signs: Signs) -> str:
    return figure_text(row, "wall_ns", signs, at_most=False)


def causes_text(row: Row, most: int, signs: Signs) -> str:
    """"lock 68 %, CPU 31 %": the largest first; those that hardly matter are left out."""
    time = row.get("time", [])
    has_range = any(each["cause"] == "CPU or wait" for each in time)
    parts: list[str] = []
    for each in time[:most]:
        if parts and each["share"] < 0.05:
            break
        bound = signs.at_least if has_range and each["cause"] == "CPU" else ""
        parts.append(f"{each['cause']} {bound}{_core.format_share(each['share'])}")
    return ", ".join(parts)


def letters_of(row: Row, cells: int = 8) -> str:
    """"CCCCddnn": each letter is the cause in which the middle of its cell lies. Empty: not known."""
    time = row.get("time", [])
    order = list(LETTERS)
    ends, end = [], 0.0
    for each in sorted(time, key=lambda each: order.index(each["cause"]) if each["cause"] in LETTERS else len(order)):
        end += each["share"]
        ends.append((end, LETTERS.get(each["cause"], "o")))
    if not ends:
        return ""
    return "".join(next((letter for end, letter in ends if (cell + 0.5) / cells < end), ends[-1][1]) for cell in range(cells))
