# SPDX-License-Identifier: Apache-2.0
"""How sessions, recordings and reports show themselves: text, a rich table, a page in a notebook."""

from __future__ import annotations

import html
import shutil
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ._errors import TracerError

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

    from ._report import Report

__all__ = ["Shown", "html_of", "mimebundle_of", "plain_text", "text_of"]

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


def text_of(shown: Shown) -> str:
    """Aligned plain text, as wide as the terminal. Without a report, it says why: it never raises, because a repr()
    should not."""
    try:
        return plain_text(shown.report, columns_of_stdout(), _shows_utf8())
    except TracerError as error:
        return f"<tracer.{type(shown).__name__}: {error}>"
    except Exception as error:
        return f"<tracer.{type(shown).__name__}: {type(error).__name__}: {error}>"


def plain_text(report: Report, columns: int | None = None, utf8: bool = True) -> str:
    """As tracerd shows it, without line ends before and after."""
    text = report._shown.format(report.title, None, columns, utf8).strip("\n")
    return "\n".join([text, *report.certificate.damage.lines()])


def html_of(shown: Shown) -> str:
    """The report's page in a frame of its own, which can't reach what is around it. Raises TracerError."""
    page = html.escape(shown.report.html(), quote=True)
    return (f'<iframe srcdoc="{page}" sandbox="allow-scripts" width="100%" height="{_FRAME_HEIGHT}" '
            f'style="border:0;width:100%;height:{_FRAME_HEIGHT}px" title="tracer report"></iframe>')


def _in_terminal_ipython() -> bool:
    module = sys.modules.get("IPython")
    shell = module.get_ipython() if module is not None and hasattr(module, "get_ipython") else None
    formatter = getattr(shell, "display_formatter", None)
    return formatter is not None and "text/html" not in formatter.active_types


def mimebundle_of(shown: Shown, include: Iterable[str] | None = None,
                  exclude: Iterable[str] | None = None) -> dict[str, str]:
    """Plain text and the page, as a notebook asks for them. Never raises: then the text says so, without the page."""
    wanted = {"text/plain", "text/html"}
    if include is not None:
        wanted &= set(include)
    elif _in_terminal_ipython():
        wanted.discard("text/html")
    if exclude is not None:
        wanted -= set(exclude)
    bundle: dict[str, str] = {}
    if not wanted:
        return bundle
    try:
        once = shown.report  # Read once for all forms.
    except Exception:
        return {"text/plain": text_of(shown)} if "text/plain" in wanted else bundle
    if "text/plain" in wanted:
        bundle["text/plain"] = text_of(once)
    if "text/html" in wanted:
        try:
            bundle["text/html"] = html_of(once)
        except Exception as error:
            # A notebook would show nothing at all, not even the text.
            bundle["text/plain"] = (f"{bundle.get('text/plain') or text_of(once)}\n"
                                    f"the page can't be shown: {type(error).__name__}: {error}")
    return bundle


class _Rich:
    def __init__(self, shown: Shown) -> None:
        self._shown = shown

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from . import _rich

        try:
            report = self._shown.report
        except TracerError:
            yield text_of(self._shown)
            return
        yield from _rich.parts_of(report, options.max_width, options.encoding.startswith("utf"))


class Shown:
    """A session, run, recording, or a report itself: how it is shown."""

    __slots__ = ()

    @property
    def report(self) -> Report:
        """The report: figures, and how complete they are."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return text_of(self)

    def __rich__(self) -> Any:
        return _Rich(self)

    def _repr_html_(self) -> str:
        return html_of(self)

    def _repr_mimebundle_(self, include: Iterable[str] | None = None, exclude: Iterable[str] | None = None) -> dict[str, str]:
        return mimebundle_of(self, include, exclude)
