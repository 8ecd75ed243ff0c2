# SPDX-License-Identifier: Apache-2.0
"""Figures with bounds."""

from __future__ import annotations

from dataclasses import dataclass

from ._format import bounded

__all__ = ["Figure"]


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure, and how it relates to the true value."""

    value: int
    bound: str
    """"exact", "at least" (part of it is not known) or "at most"."""

    def __str__(self) -> str:
        return bounded(self.bound, str(self.value))
