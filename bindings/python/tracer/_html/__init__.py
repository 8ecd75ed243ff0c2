# SPDX-License-Identifier: Apache-2.0
"""A report as one page that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from .._format import visible
from . import _data

if TYPE_CHECKING:
    from .._report import Report

__all__ = ["page_of"]


@cache
def _file(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@cache
def _policy() -> str:
    """Only the page's own style and script count; nothing is fetched or sent."""
    return (f"default-src 'none'; style-src 'sha256-{_hash(_file('style.css'))}'; "
            f"script-src 'sha256-{_hash(_file('app.js'))}'; base-uri 'none'; form-action 'none'")


def embedded(data: object) -> str:
    """JSON that can't end the element it is in, whatever its texts are: ASCII without <, > and &."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def page_of(report: Report) -> str:
    """The whole page."""
    from .._show import report_text

    text = "\n".join(visible(line) for line in report_text(report).split("\n"))
    parts = {
        "POLICY": _policy(),
        "TITLE": html.escape(visible(report.title, 200)),
        "STYLE": _file("style.css"),
        "TEXT": html.escape(text),
        "DATA": embedded(_data.data_of(report)),
        "SCRIPT": _file("app.js"),
    }
    pieces = _file("template.html").split("%")
    # Names of the template's places stand between two signs: what is filled in is never looked at again.
    return "".join(parts[piece] if i % 2 else piece for i, piece in enumerate(pieces))
