# SPDX-License-Identifier: Apache-2.0
"""The commands `tracer top`, `tracer notify` and `tracer ui`."""

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
    top.add_argument("--past", metavar="PATH", action="append", default=[],
                     help="recordings of earlier runs, or a folder of them: from three of a pipeline on, the headline says when a run "
                     "will be done. May be given several times")

    notify = commands.add_parser(
        "notify", help="send a message when something fails, a run ends, or a machine is idle",
        usage="tracer notify --on WHAT [--webhook URL] [--state FILE] [--socket PATH] [FILE ...] [-- COMMAND [ARGUMENT ...]]",
        description="Follows the service of this host, or recordings, and sends one message for each finding and each run that ends: "
        "as JSON to a webhook, or to the standard input of a command. What can't be delivered is tried again for a day.")
    notify.add_argument("files", metavar="FILE", nargs="*", help="a recording, or the files of one: until it ends")
    notify.add_argument("--on", metavar="WHAT", required=True,
                        help="some of error, warning, finding=CODE, run-end, idle; with commas")
    notify.add_argument("--webhook", metavar="URL", help="where messages are posted")
    notify.add_argument("--socket", metavar="PATH", help="of another service. Default: TRACER_SOCKET, or /run/tracer/tracer.sock")
    notify.add_argument("--state", metavar="FILE", help="keeps what was sent, so that a restart sends what was missed, and nothing twice")
    notify.add_argument("--idle-after", metavar="MINUTES", type=float, default=60.0,
                        help="for how long a machine works for nobody before that is said. Default: 60")
    notify.add_argument("--price", metavar="USD", help="what an hour of the machine costs. Default: the price of 'tracer prices use'")
    add_ui(commands)


def run(options: argparse.Namespace) -> tuple[str, int]:
    """What to print, and the exit status."""
    from .._errors import CommandError, InvalidArgumentError, NotPermittedError, ServiceError

    try:
        if options.command == "ui":
            from . import _ui

            return "", _ui.run(options)
        if options.command == "notify":
            return "", _notify(options)
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
        return of_command(options.words, options.past)
    return of_files(options.files) if options.files else of_service(options.socket, options.past)


def _notify(options: argparse.Namespace) -> int:
    from .._errors import InvalidArgumentError
    from .._recording import read
    from ._model import Service, View
    from ._notify import Deliverer, Idle, Sent, Wanted, follow, price_of_host, stopped_by_signals, to_command, to_webhook

    wanted = Wanted.of(options.on)
    if bool(options.webhook) == bool(options.words):
        raise InvalidArgumentError("nobody gets the messages" if not options.words else "both a webhook and a command are given",
                                   "give --webhook URL, or -- COMMAND")
    if options.files and (wanted.idle or options.socket):
        raise InvalidArgumentError("a recording says nothing of an idle machine, and needs no service", "leave out idle and --socket")
    send = to_command(options.words) if options.words else to_webhook(options.webhook)
    sent = Sent(options.state)
    stop = stopped_by_signals()
    deliverer = Deliverer(send, sent)
    if options.files:
        recording = read(tuple(options.files))
        follow(View(recording), recording.host.host_name, wanted, deliverer, sent, None, lambda: not recording.damage.truncated, stop)
    else:
        service = Service(options.socket)
        try:
            idle = Idle(60 * options.idle_after, options.price or price_of_host(), sent=sent) if wanted.idle else None
            follow(View(service), service.host.host_name, wanted, deliverer, sent, idle, None, stop)
        finally:
            service.close()
    return 1 if deliverer.lost or deliverer.waiting else 0
