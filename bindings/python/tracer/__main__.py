# SPDX-License-Identifier: Apache-2.0
"""The command `tracer`, also `python -m tracer`."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
from typing import NoReturn

__all__ = ["main"]

_PROCESSES_IN_FILE = 20000


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        print(f"{self.prog}: TRC101: {message}\n  Fix: see {self.prog} --help", file=sys.stderr)
        raise SystemExit(2)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="tracer", description="Shows recordings of libtracer.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    report = commands.add_parser(
        "report", help="write a recording's report as one HTML page",
        description="Writes the report of a recording as one HTML page, which needs no network and no other file.")
    report.add_argument("file", metavar="FILE", help="a recording, made with --record; - is standard input")
    report.add_argument("-o", "--output", metavar="PAGE", default=None,
                        help="the page to write; - is standard output. Default: FILE with .html at its end")
    report.add_argument("--text", action="store_true", help="print the tables as text instead")
    report.add_argument("--title", default=None, help="what stands at its head. Default: the file's name")
    return parser


def _write(path: str, page: bytes) -> None:
    """Whole or not at all: who opens it meanwhile sees the older page."""
    from ._errors import Problem, RecordingError

    temporary = None
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            with open(path, "wb") as device:  # a pipe or a device can't be replaced
                device.write(page)
            return
        target = os.path.realpath(path)
        descriptor, temporary = tempfile.mkstemp(dir=os.path.dirname(target), prefix=".tracer-", suffix=".html")
        with open(descriptor, "wb") as file:
            file.write(page)
        os.chmod(temporary, os.stat(target).st_mode & 0o777 if os.path.exists(target) else 0o666 & ~_umask())
        os.replace(temporary, target)
        temporary = None
    except OSError as error:
        problem = Problem("TRC114", error.errno, f"can't write {path}: {os.strerror(error.errno or 0)}",
                          "name a file in a folder that exists and that you may write to", "")
        raise RecordingError((problem,)) from None
    finally:
        if temporary is not None:
            os.unlink(temporary)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _to_stdout(data: bytes) -> None:
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        # Who reads has had enough; nothing is to be flushed at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _report(options: argparse.Namespace) -> int:
    from ._errors import TracerError
    from ._report import report_of_descriptor, report_of_path

    try:
        if options.file == "-":
            # A pipe that gives nothing is waited for in the library, where Python's own handler does not come.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            report = report_of_descriptor(0, options.title or "standard input", _PROCESSES_IN_FILE)
        else:
            report = report_of_path(options.file, options.title, _PROCESSES_IN_FILE)
        if options.text:
            from ._show import text_of

            print(text_of(report))
            return 0
        output = options.output
        if output is None:
            output = "-" if options.file == "-" else os.path.splitext(options.file)[0] + ".html"
        page = report.html().encode("utf-8")
        if output == "-":
            _to_stdout(page)
        else:
            _write(output, page)
        for line in report.certificate.damage.lines():
            print(f"tracer: {os.fsencode(options.file).decode(errors='backslashreplace')}: {line}", file=sys.stderr)
        return 0
    except TracerError as error:
        text = str(error).encode(errors="backslashreplace").decode()
        print(f"tracer: {text}", file=sys.stderr)
        return 1


def main(arguments: list[str] | None = None) -> int:
    """What the console script runs. 0: all went well, 1: an error, 2: the command line is wrong, 130: interrupted."""
    try:
        options = _parser().parse_args(arguments)
        return _report(options)
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
