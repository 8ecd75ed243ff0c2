# SPDX-License-Identifier: Apache-2.0
"""How sessions, recordings and reports show themselves: text, a rich table, a page in a notebook."""

from __future__ import annotations

import html
import shutil
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

    from tracer._report import Report

__all__ = ["Shown", "text_of", "frame_of"]

_FRAME_HEIGHT = 720


def columns_of_stdout() -> int | None:
    """How many columns a terminal has that standard output is; None: it is none, lines may be of any length."""
    try:
        if sys.stdout is None or not sys.stdout.isatty():
            return None
    except (AttributeError, ValueError):
        return None
    return max(shutil.get_terminal_size().columns, 40)


def _shows_utf8() -> bool:
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return encoding.lower().replace("_", "-").startswith("utf")


def text_of(report: Report, columns: int | None = None, utf8: bool = True) -> str:
    """Aligned plain text, without line ends before and after."""
    text = report._native.format(report.title, None, columns, utf8).strip("\n")
    damage = report.certificate.damage.lines()
    return "\n".join([text, *damage])


def frame_of(report: Report) -> str:
    """The page in a frame of its own, which can't reach what is around it."""
    page = html.escape(report.html(), quote=True)
    return (f'<iframe srcdoc="{page}" sandbox="allow-scripts" width="100%" height="{_FRAME_HEIGHT}" '
            f'style="border:0;width:100%;height:{_FRAME_HEIGHT}px" title="tracer report"></iframe>')


def _in_terminal_ipython() -> bool:
    module = sys.modules.get("IPython")
    shell = module.get_ipython() if module is not None and hasattr(module, "get_ipython") else None
    formatter = getattr(shell, "display_formatter", None)
    return formatter is not None and "text/html" not in formatter.active_types


class Shown:
    """Shows its report: the table where text is read, the page in a notebook."""

    __slots__ = ()

    def _shown_report(self) -> Report:
        """May raise: then the text says so."""
        raise NotImplementedError

    def __str__(self) -> str:
        return text_of(self._shown_report(), columns_of_stdout(), _shows_utf8())

    def __repr__(self) -> str:
        from tracer._errors import TracerError

        try:
            return str(self)
        except TracerError as error:
            name = type(self).__name__.lstrip("_")
            return f"<tracer.{name}: {error}>"

    def _repr_html_(self) -> str:
        return frame_of(self._shown_report())

    def _repr_mimebundle_(self, include: Iterable[str] | None = None,
                          exclude: Iterable[str] | None = None) -> dict[str, str]:
        wanted = {"text/plain", "text/html"}
        if include is not None:
            wanted &= set(include)
        elif _in_terminal_ipython():
            wanted.discard("text/html")
        if exclude is not None:
            wanted -= set(exclude)
        if not wanted:
            return {}
        report = self._shown_report()
        bundle: dict[str, str] = {}
        if "text/plain" in wanted:
            bundle["text/plain"] = text_of(report, columns_of_stdout())
        if "text/html" in wanted:
            bundle["text/html"] = frame_of(report)
        return bundle

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from tracer import _rich

        yield from _rich.parts_of(self._shown_report(), options.max_width, options.encoding.startswith("utf"))
