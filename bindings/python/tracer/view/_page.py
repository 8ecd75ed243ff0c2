# SPDX-License-Identifier: Apache-2.0
"""The page: views/ of the repository, over one document."""

from __future__ import annotations

from .. import _core

__all__ = ["POLICY_OF_SERVER", "served_page"]

POLICY_OF_SERVER = ("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
                    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'")


def served_page() -> str:
    """Its links are relative, so that it works below any path."""
    parts = {
        "POLICY": "", "TITLE": "tracer", "STYLE": '<link rel="stylesheet" href="page.css">\n<link rel="icon" href="page.svg" type="image/svg+xml">',
        "TEXT": "This page needs JavaScript. The same figures as text: tracerd report RECORDING", "DATA": "",
        "SCRIPT": '<script src="page.js"></script>',
    }
    # Names of the template's places stand between two signs.
    pieces = _core.page_file("template").split("%")
    return "".join(parts[piece] if at % 2 else piece for at, piece in enumerate(pieces))
