# SPDX-License-Identifier: Apache-2.0
"""`tracer top` on a terminal: draws frames, and follows keys."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace

from rich.segment import Segment
from rich.style import Style
from textual.app import App, ComposeResult
from textual.events import Key, MouseScrollDown, MouseScrollUp, Resize
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from .._errors import TracerError
from ._model import View
from ._screen import SORTS, About, Choices, Frame, Line, Node, frame_of

__all__ = ["Top"]

_PERIOD_S = 1.0
_STYLES = {name: Style.parse(name) for name in ("bold", "dim", "reverse", "red", "yellow", "green", "blue", "magenta", "cyan")}
_STYLES[""] = Style()
_COLORLESS = {name: style if name in ("bold", "dim", "reverse") else Style() for name, style in _STYLES.items()}


class _Drawn(Widget, can_focus=True):
    """The lines of a frame. Only those that have changed are drawn again."""

    DEFAULT_CSS = "_Drawn { width: 100%; height: 100%; background: ansi_default; color: ansi_default; }"

    def __init__(self) -> None:
        super().__init__()
        self._lines: list[Line] = []

    def show(self, lines: list[Line]) -> None:
        before, self._lines = self._lines, lines
        if len(before) != len(lines):
            self.refresh()
            return
        changed = [Region(0, number, self.size.width, 1) for number, (old, new) in enumerate(zip(before, lines)) if old != new]
        if changed:
            self.refresh(*changed)

    def render_line(self, y: int) -> Strip:
        line = self._lines[y] if y < len(self._lines) else []
        styles = _COLORLESS if self.app.no_color else _STYLES
        return Strip([Segment(text, styles[style]) for text, style in line])


class Top(App[int]):
    """The whole of it. `refresh`: called on a thread each second; true: the app ends with this status."""

    CSS = "Screen { background: ansi_default; color: ansi_default; }"
    TITLE = "tracer top"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS = []

    def __init__(self, view: View, about: About, *, period_s: float = _PERIOD_S, is_live: bool = True,
                 interrupt: Callable[[], None] | None = None, ended: Callable[[], int | None] = lambda: None,
                 about_now: Callable[[About], About] = lambda about: about) -> None:
        """`interrupt`: what Ctrl-C does, besides quitting. `ended`: the status with which to end by itself.
        `about_now`: what has changed in `about`."""
        super().__init__(ansi_color=True)
        self.view, self.about, self.choices = view, about, Choices()
        self._period_s, self._is_live = period_s, is_live
        self._interrupt, self._ended, self._about_now = interrupt, ended, about_now
        self._frame = Frame([], [], 1)
        self._drawn = _Drawn()
        self._wake = asyncio.Event()
        self.failed: TracerError | None = None
        """Why it has ended by itself."""

    def show(self) -> int:
        """On the terminal, until it is left. Raises what has ended it."""
        status = self.run() or 0
        if self.failed is not None:
            raise self.failed
        return status

    def compose(self) -> ComposeResult:
        yield self._drawn

    def on_mount(self) -> None:
        self._drawn.focus()
        self.draw()
        self.run_worker(self._follow(), exit_on_error=True)

    async def _follow(self) -> None:
        while True:
            if not self.choices.paused:
                try:
                    await asyncio.to_thread(self.view.refresh)
                    self.about = await asyncio.to_thread(self._about_now, self.about)
                except TracerError as error:
                    self.failed = error
                    self.exit(1)
                    return
                if self._is_live:
                    self.about = replace(self.about, now=time.strftime("%H:%M:%S"))
                self.draw()
                self._want_detail()
            status = self._ended()
            if status is not None:
                self.exit(status)
                return
            try:
                await asyncio.wait_for(self._wake.wait(), self._period_s)
            except TimeoutError:
                pass
            self._wake.clear()

    def draw(self) -> None:
        width, height = self.size
        self._frame = frame_of(self.view, self.choices, self.about, width, height)
        self._drawn.show(self._frame.lines)

    def on_resize(self, event: Resize) -> None:
        self.draw()

    # Keys.

    def _at(self) -> int:
        return next((number for number, node in enumerate(self._frame.nodes) if node.id == self.choices.cursor), 0)

    def _node(self) -> Node | None:
        return self._frame.nodes[self._at()] if self._frame.nodes else None

    def _move(self, by: int) -> None:
        if self._frame.nodes:
            at = max(0, min(self._at() + by, len(self._frame.nodes) - 1))
            self.choices.cursor = self._frame.nodes[at].id
            self._want_detail()

    def _want_detail(self) -> None:
        """Of a row whose processes are shown, or that is explained."""
        node = self._node()
        is_leaf = node is not None and (node.level == "task" or (node.level == "run" and not self.view.index.tasks_of_run(node.row)))
        wanted = self.choices.panel == "why" or (is_leaf and node is not None and node.open)
        key = node.row.get("task_key" if node.level == "task" else "run_key") if node is not None and wanted and \
            node.level in ("task", "run") else None
        if node is not None and node.level == "process":
            return
        if key != self.view.key:
            self.view.key, self.view.detail = key, {}
            self._wake.set()

    def _open(self, opened: bool) -> None:
        node = self._node()
        if node is None:
            return
        if node.open is not None and node.open != opened:
            self.choices.toggled[node.id] = opened
            self.draw()
            self._want_detail()
        elif not opened:
            above = [each for each in self._frame.nodes[:self._at()] if each.depth < node.depth]
            if above:
                self.choices.cursor = above[-1].id

    def _panel(self, name: str) -> None:
        self.choices.panel = "" if self.choices.panel == name else name
        self.choices.scrolled = 0
        self._want_detail()

    def _page(self, by: int) -> None:
        if self.choices.panel:
            self.choices.scrolled = max(self.choices.scrolled + by * 8, 0)
        else:
            self._move(by * self._frame.rows_shown)

    def _edit(self, event: Key) -> None:
        choices = self.choices
        if event.key in ("enter", "escape"):
            choices.editing = False
            if event.key == "escape":
                choices.filter = ""
        elif event.key == "backspace":
            choices.filter = choices.filter[:-1]
        elif event.is_printable and event.character:
            choices.filter += event.character

    def on_key(self, event: Key) -> None:
        event.stop()
        event.prevent_default()
        choices = self.choices
        if event.key == "ctrl+c":
            if self._interrupt is not None:
                self._interrupt()
            self.exit(130)
        elif choices.editing:
            self._edit(event)
        else:
            self._press(event.key)
        self.draw()

    def _press(self, key: str) -> None:
        choices = self.choices
        if key in ("up", "k"):
            self._move(-1)
        elif key in ("down", "j"):
            self._move(1)
        elif key in ("pageup", "pagedown"):
            self._page(-1 if key == "pageup" else 1)
        elif key in ("home", "end"):
            self._move(-len(self._frame.nodes) if key == "home" else len(self._frame.nodes))
        elif key in ("right", "left"):
            self._open(key == "right")
        elif key in ("enter", "w"):
            node = self._node()
            if key == "enter" and node is not None and node.level == "folded":
                self._open(not node.open)
            else:
                self._panel("why")
        elif key == "f":
            self._panel("findings")
        elif key == "question_mark":
            self._panel("help")
        elif key == "slash":
            choices.editing = True
        elif key == "s":
            choices.sort = SORTS[(SORTS.index(choices.sort) + 1) % len(SORTS)]
        elif key in ("e", "c"):
            choices.toggled.update({node.id: key == "e" for node in self._frame.nodes if node.level in ("run", "step")})
        elif key == "space":
            choices.paused = not choices.paused
            self._wake.set()
        elif key == "escape":
            choices.panel, choices.filter = "", ""
        elif key == "q":
            self.exit(0)

    def on_mouse_scroll_down(self, event: MouseScrollDown) -> None:
        self._page_or_move(1)

    def on_mouse_scroll_up(self, event: MouseScrollUp) -> None:
        self._page_or_move(-1)

    def _page_or_move(self, by: int) -> None:
        if self.choices.panel:
            self.choices.scrolled = max(self.choices.scrolled + by * 3, 0)
        else:
            self._move(by)
        self.draw()
