# SPDX-License-Identifier: Apache-2.0
"""The page: views/ of the repository, over one document."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from .._format import visible

__all__ = ["POLICY_OF_SERVER", "asset", "document_of", "embedded", "exported_page", "served_page"]

_MOST_TITLE = 200

POLICY_OF_SERVER = ("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
                    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'")


@cache
def asset(name: str) -> str:
    """page.html, page.svg, page.js or page.css: of the installed package, or of the repository that it lies in."""
    installed = Path(__file__).with_name("page") / name
    if installed.exists():
        return installed.read_text("utf-8")
    views = Path(__file__).resolve().parents[4] / "views"
    return (views / name if name.endswith((".html", ".svg")) else views / "dist" / name).read_text("utf-8")


def _filled(parts: Mapping[str, str]) -> str:
    """Places of the template stand between two signs; what is filled in is never looked at again."""
    pieces = asset("page.html").split("%")
    return "".join(parts[piece] if at % 2 else piece for at, piece in enumerate(pieces))


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def embedded(document: str) -> str:
    """JSON that can't end the element it is in, whatever its texts are."""
    return document.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def exported_page(document: str, title: str, text: str) -> str:
    """One file that needs nothing else: only the page's own style and script count; nothing is fetched or sent."""
    style, script = asset("page.css"), asset("page.js")
    policy = (f"default-src 'none'; style-src 'sha256-{_hash(style)}'; script-src 'sha256-{_hash(script)}'; "
              "base-uri 'none'; form-action 'none'")
    return _filled({
        "POLICY": f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n',
        "TITLE": html.escape(visible(title, _MOST_TITLE)),
        "STYLE": f"<style>{style}</style>",
        "TEXT": html.escape(text),
        "DATA": f'<script type="application/json" id="data">{embedded(document)}</script>\n',
        "SCRIPT": f"<script>{script}</script>",
    })


def served_page() -> str:
    """Its links are relative, so that it works below any path."""
    return _filled({
        "POLICY": "", "TITLE": "tracer", "STYLE": '<link rel="stylesheet" href="page.css">\n<link rel="icon" href="page.svg" type="image/svg+xml">',
        "TEXT": "This page needs JavaScript. The same figures as text: tracerd report RECORDING", "DATA": "",
        "SCRIPT": '<script src="page.js"></script>',
    })


def document_of(report: str, title: str, **more: Any) -> str:
    """A report's JSON, and what else the page draws."""
    rest = json.dumps({"title": title, **{name: value for name, value in more.items() if value}}, ensure_ascii=False)
    return f"{report.rstrip().removesuffix('}').rstrip()},{rest[1:]}"
