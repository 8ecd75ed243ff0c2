# SPDX-License-Identifier: Apache-2.0
"""%load_ext tracer, then %%tracer: a cell in a session of its own."""

from __future__ import annotations

import argparse
import shlex
from typing import Any, NoReturn

from ._errors import InvalidArgumentError
from ._open import session
from ._session import Session

__all__ = ["load"]

_VARIABLE = "_tracer"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise InvalidArgumentError(f"%%tracer: {message}", "%%tracer --help shows what it takes")

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        raise InvalidArgumentError(self.format_help())


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
        raise InvalidArgumentError(f"%%tracer: --label {text}", "give NAME=VALUE")
    return name, value


def load(shell: Any) -> None:
    """Registers the magic with an IPython shell."""
    open_cells: list[Session] = []

    def trace_cell(line: str, cell: str) -> None:
        """%%tracer [--sample S1] …: runs the cell in a session, and shows what it found."""
        # Of a cell that was interrupted while it began or ended.
        while open_cells:
            open_cells.pop().close()
        options = _parser().parse_args(shlex.split(line))
        if not options.variable.isidentifier():
            raise InvalidArgumentError(f"%%tracer: {options.variable} is no name of a variable", "give --as NAME")
        opened = session(
            pipeline=options.pipeline, run=options.run, sample=options.sample, step=options.step,
            labels=dict(map(_label, options.label)) or None, record=options.record, sample_interval=options.interval,
        )
        open_cells.append(opened)
        try:
            result = shell.run_cell(cell)
        finally:
            opened.close()
            open_cells.remove(opened)
            shell.user_ns[options.variable] = opened
        if not options.quiet:
            from IPython.display import display  # type: ignore[import-not-found,unused-ignore]

            display(opened)  # type: ignore[no-untyped-call,unused-ignore]
        # The cell's own traceback was shown; the notebook is to stop here all the same.
        result.raise_error()

    shell.register_magic_function(trace_cell, "cell", "tracer")
