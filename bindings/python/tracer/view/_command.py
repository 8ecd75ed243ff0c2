# SPDX-License-Identifier: Apache-2.0
"""The commands `tracer top` and `tracer notify`."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

from ._ui import add_command as add_ui

__all__ = ["add_commands", "run"]

_WRONG_STATUS = 2


def add_commands(commands: argparse._SubParsersAction[Any]) -> None:
    top = commands.add_parser(
        "top", help="show runs, steps and tasks in the terminal, while they run",
        usage="tracer top [--socket PATH] [FILE ...]\n       tracer top -- COMMAND [ARGUMENT ...]",
        description="Shows what this user may see of the service of this host: runs, steps, tasks and processes, what was found, and "
        "where time went. With files: a recording, as far as it goes. With a command: runs it, and shows it; the status is the "
        "command's. The ? key lists the keys.")
    top.add_argument("files", metavar="FILE", nargs="*", help="a recording, or the files of one; its end is shown")
    top.add_argument("--socket", metavar="PATH", help="of another service. Default: TRACER_SOCKET, or /run/tracer/tracer.sock")
    add_ui(commands)


def run(options: argparse.Namespace) -> tuple[str, int]:
    """What to print, and the exit status."""
    from .._errors import CommandError, InvalidArgumentError, NotPermittedError, ServiceError

    try:
        if options.command == "ui":
            from . import _ui

            return "", _ui.run(options)
        if not os.isatty(0) or not os.isatty(2):
            raise InvalidArgumentError("tracer top needs a terminal as standard input and standard error",
                                       "call it in one; 'tracer report' and 'tracerd run' need none")
        if options.words and (options.files or options.socket):
            raise InvalidArgumentError("a command is given beside a file or a socket", "leave one of them out")
        return "", _top(options)
    except CommandError as error:
        print(f"tracer: {error}", file=sys.stderr)
        return "", 127 if error.code == "TRC120" else 126
    except (ServiceError, NotPermittedError, ImportError) as error:
        print(f"tracer: {error}", file=sys.stderr)
        return "", _WRONG_STATUS


def _top(options: argparse.Namespace) -> int:
    from .._errors import MissingPackageError

    try:
        from ._start import of_command, of_files, of_service
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("textual", "rich"):
            raise
        raise MissingPackageError("tracer top needs textual, which is not installed", "pip install 'libtracer[ui]'") from None
    if options.words:
        return of_command(options.words)
    return of_files(options.files) if options.files else of_service(options.socket)
