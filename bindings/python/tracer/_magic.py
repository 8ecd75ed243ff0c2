# SPDX-License-Identifier: Apache-2.0
"""%load_ext tracer, then %%tracer: runs a cell in its own session."""

from __future__ import annotations

import argparse
import re
import shlex
from typing import Any, NoReturn

from ._open import session
from ._session import Session

__all__ = ["load"]

_VARIABLE = "_tracer"
_BEGIN = "_tracer_begin"
_MAGIC = re.compile(r"%%tracer(?:[ \t]+(?P<line>.*))?$")
_OTHER_MAGIC = re.compile(r"\s*%%(?P<name>\w+)(?P<line>.*)\n?")


class _HelpShown(Exception):
    """The help was asked for and printed: the cell is not run."""

    def _render_traceback_(self) -> list[str]:
        return []


def _usage_error(message: str) -> Exception:
    from IPython.core.error import UsageError  # type: ignore[import-not-found,unused-ignore]

    error: Exception = UsageError(f"%%tracer: {message}; %%tracer --help shows what it takes")
    return error


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise _usage_error(message)

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        raise _HelpShown


def _parser() -> _Parser:
    parser = _Parser(prog="%%tracer", add_help=False, description="Runs the cell in a session, and shows what it found.")
    parser.add_argument("--help", "-h", action="help", help="show this")
    for name in ("pipeline", "run", "sample", "step"):
        parser.add_argument(f"--{name}", help=f"the {name} of what the cell starts")
    parser.add_argument("--label", action="append", default=[], metavar="NAME=VALUE", help="any number of these")
    parser.add_argument("--record", metavar="FILE", help="keep a recording")
    parser.add_argument("--interval", type=float, metavar="SECONDS", help="between snapshots; default 1.0")
    parser.add_argument("--as", dest="variable", default=_VARIABLE, metavar="NAME",
                        help=f"the variable that gets the session; default {_VARIABLE}")
    parser.add_argument("--quiet", action="store_true", help="show nothing")
    return parser


def _label(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise _usage_error(f"--label {text} is not NAME=VALUE")
    return name, value


class _Cells:
    """The sessions of cells: each begins with its cell's first line, and ends with the cell."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._open: list[Session] = []

    def begin(self, line: str) -> None:
        """What a cell's first line becomes. The shell runs the rest as any other cell: it may await, and what it raises is
        shown once."""
        events = self._shell.events
        options, opened = self._open_one(line)
        # Cells that this cell runs end before.
        inner = 0

        def before() -> None:
            nonlocal inner
            inner += 1

        def after() -> None:
            nonlocal inner
            inner -= 1
            if inner < 0:
                events.unregister("pre_execute", before)
                events.unregister("post_execute", after)
                self._end(options, opened)

        events.register("pre_execute", before)
        events.register("post_execute", after)

    def run(self, line: str, cell: str) -> Any:
        """%%tracer [--sample S1] …: runs the cell in a session, and shows its report."""
        options, opened = self._open_one(line)
        magic = _OTHER_MAGIC.match(cell)
        try:
            if magic is not None:
                return self._shell.run_cell_magic(magic["name"], magic["line"].strip(), cell[magic.end():])
            result = self._shell.run_cell(cell)
        finally:
            self._end(options, opened)
        error = result.error_before_exec or result.error_in_exec
        if error is not None:
            # It was shown. The notebook is to stop here all the same.
            error._render_traceback_ = list
            raise error

    def _open_one(self, line: str) -> tuple[argparse.Namespace, Session]:
        # Of a cell that was interrupted while it began or ended.
        while self._open:
            self._open.pop().close()
        try:
            words = shlex.split(line)
        except ValueError as error:
            raise _usage_error(str(error).lower()) from None
        options = _parser().parse_args(words)
        if not options.variable.isidentifier():
            raise _usage_error(f"--as {options.variable} does not name a variable")
        opened = session(
            pipeline=options.pipeline, run=options.run, sample=options.sample, step=options.step,
            labels=dict(map(_label, options.label)) or None, record=options.record, sample_interval=options.interval,
        )
        self._open.append(opened)
        return options, opened

    def _end(self, options: argparse.Namespace, opened: Session) -> None:
        try:
            opened.close()
        finally:
            if opened in self._open:
                self._open.remove(opened)
            self._shell.user_ns[options.variable] = opened
        if not options.quiet:
            from IPython.display import display  # type: ignore[import-not-found,unused-ignore]

            display(opened)  # type: ignore[no-untyped-call,unused-ignore]


def _begin_at_first_line(lines: list[str]) -> list[str]:
    """Of a cell with %%tracer: its own lines stay where they are. Other magics below it are for _Cells.run."""
    first = _MAGIC.match(lines[0]) if lines else None
    rest = "".join(lines[1:])
    if first is None or _OTHER_MAGIC.match(rest):
        return lines
    return [f"get_ipython().run_line_magic({_BEGIN!r}, {(first['line'] or '').strip()!r})\n", *lines[1:]]


# It is not asked whether a cell is complete: a terminal's user goes on typing below %%tracer.
_begin_at_first_line.has_side_effects = True  # type: ignore[attr-defined]


def load(shell: Any) -> None:
    """Registers the magic with an IPython shell."""
    cells = _Cells(shell)
    shell.register_magic_function(cells.run, "cell", "tracer")
    shell.register_magic_function(cells.begin, "line", _BEGIN)
    if _begin_at_first_line not in shell.input_transformers_cleanup:
        shell.input_transformers_cleanup.append(_begin_at_first_line)
