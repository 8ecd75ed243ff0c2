# SPDX-License-Identifier: Apache-2.0
"""A report as one page that needs nothing else: the same that tracerd writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._report import Report

__all__ = ["page_of"]


def page_of(report: Report) -> str:
    """The whole page."""
    from ._show import plain_text

    return report._shown.page(report.title, plain_text(report))
