# SPDX-License-Identifier: Apache-2.0
"""Placeholder."""

from __future__ import annotations

from ._layout import Part
from ._store import Store

__all__ = ["note_shipped"]


def note_shipped(store: Store, part: Part, path: str) -> None:
    """Puts the part into the index of its host and hour."""
