# SPDX-License-Identifier: Apache-2.0
"""The command `tracer`, also `python -m tracer`."""

from __future__ import annotations

import argparse
import difflib
import errno
import os
import shlex
import signal
import sys
import tempfile
import warnings
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from ._errors import TracerError
    from ._report import Report

__all__ = ["main"]

_PROCESSES_IN_FILE = 20000
# Command -> the package that does it, which is imported for it only.
_COMMANDS = {"cost": "cost", "prices": "cost", "whatif": "whatif", "recommend": "recommend", "tune": "tune",
             "sweep": "sweep", "top": "view", "ui": "view", "notify": "view", "lake": "lake"}


_OF_TRACERD = {"run", "watch", "task", "runs", "why", "log", "compare", "history", "files", "lineage", "dump", "export",
               "explain", "serve", "status", "check", "setup"}


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        print(f"{self.prog}: TRC101: {message}\n  Fix: see {self.prog} --help", file=sys.stderr)
        raise SystemExit(2)


    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            near = difflib.get_close_matches(str(value), map(str, action.choices), 1)
            names = f": did you mean {near[0]!r}?" if near else f": one of {', '.join(action.choices)}" if len(list(action.choices)) < 5 else ""
            raise argparse.ArgumentError(action, f"there is no {value!r}{names}")


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *given: object) -> NoReturn:
        import tracer

        print(f"tracer {tracer.__version__}")
        raise SystemExit(0)


def _parser() -> argparse.ArgumentParser:
    from .cost._command import add_commands
    from .lake._command import add_commands as add_lake
    from .recommend._command import add_commands as add_recommend
    from .sweep._command import add_commands as add_sweep
    from .tune._command import add_commands as add_tune
    from .view._command import add_commands as add_views
    from .whatif._command import add_commands as add_whatif

    parser = _Parser(prog="tracer", description="Shows recordings of libtracer.")
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    report = commands.add_parser(
        "report", help="write a recording's report as one HTML page",
        description="Writes the report of a recording as one HTML page, which needs no network and no other file.")
    report.add_argument("files", metavar="FILE", nargs="+",
                        help="a recording, made with --record; - is standard input. For several: their sums")
    report.add_argument("-o", "--output", metavar="PAGE", default=None,
                        help="the file to write; - is standard output. Default: FILE with .html in place of .tracer, or after "
                        "any other ending; with --text and --json, standard output")
    report.add_argument("--text", action="store_true", help="write the tables as text instead")
    report.add_argument("--json", action="store_true",
                        help="write all figures as one JSON object instead: docs/report.md describes it")
    report.add_argument("--by", choices=("run", "step", "task", "sample", "tool", "process", "tree"), default=None,
                        help="with --text: the rows of the table. Default: those that fit the recording; tree: all")
    report.add_argument("--price", metavar="USD", default=None,
                        help="what an hour of the machine costs: the waste has a cost by it. Default: the imported price of its instance "
                        "type, where the recording says that, else the one chosen with 'tracer prices use'")
    report.add_argument("--price-date", metavar="YYYY-MM-DD", default=None, help="of this price. Default: today")
    report.add_argument("--region", default=None, help="which imported price counts, where the machine's type has several")
    report.add_argument("--title", default=None, help="the page title. Default: the file's name")
    add_commands(commands)
    add_whatif(commands)
    add_recommend(commands)
    add_tune(commands)
    add_sweep(commands)
    add_views(commands)
    add_lake(commands)
    return parser


def _write(path: str, page: bytes) -> None:
    """Whole or not at all: who opens it meanwhile sees the older page."""
    from ._core import end_of_links

    temporary = None
    try:
        end, follows = end_of_links(path)
        if os.path.exists(path) and not os.path.isfile(path):
            # A pipe or a device can't be replaced.
            flags = os.O_WRONLY | os.O_CLOEXEC | (0 if follows else os.O_NOFOLLOW)
            with open(os.open(end, flags), "wb") as device:
                device.write(page)
            return
        target = os.path.realpath(end) if follows else end
        descriptor, temporary = tempfile.mkstemp(dir=os.path.dirname(target) or ".", prefix=".tracer-", suffix=".html")
        with open(descriptor, "wb") as file:
            file.write(page)
        # A new one is for its owner only, as what it shows: names and arguments of others.
        if os.path.exists(target):
            os.chmod(temporary, os.stat(target).st_mode & 0o777)
        os.replace(temporary, target)
        temporary = None
    except OSError as error:
        raise _unwritten(path, error, "name a file in a folder that exists and that you may write to") from None
    finally:
        if temporary is not None:
            os.unlink(temporary)


def _unwritten(name: str, error: OSError, fix: str) -> TracerError:
    from ._errors import RecordingError

    return RecordingError.of("TRC114", error.errno, f"can't write {name}: {os.strerror(error.errno or 0)}", fix)


def _to_stdout(data: bytes) -> None:
    try:
        if sys.stdout is None:
            raise OSError(errno.EBADF, "closed")
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except OSError as error:
        if sys.stdout is not None:
            # Nothing is to be flushed at the end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        # Who reads a pipe may have had enough.
        if not isinstance(error, BrokenPipeError):
            raise _unwritten("standard output", error, "name a file with -o, on a disk with room") from None


def _refuse_to_overwrite(file: str, output: str) -> None:
    """The recording itself, by any of its names."""
    from ._errors import InvalidArgumentError

    try:
        same = os.path.samestat(os.fstat(0) if file == "-" else os.stat(file), os.stat(output))
    except OSError:
        return
    if same and os.path.isfile(output):
        raise InvalidArgumentError(f"{output} is the recording itself, which would be overwritten",
                                   "name another file with -o")


def _refuse_several_machines(files: list[str]) -> None:
    """A price is that of one kind of machine."""
    from ._errors import InvalidArgumentError
    from ._recording import read

    if len({(host.cpu_count, host.memory_bytes >> 30) for host in (read(file).host for file in files)}) > 1:
        raise InvalidArgumentError("these recordings are of machines of several sizes", "give a price for those of one size")


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    """As errors are."""
    print(f"tracer: {message}", file=sys.stderr)


def _output_of(options: argparse.Namespace) -> str:
    if options.output is not None:
        return str(options.output)
    if options.text or options.json or "-" in options.files:
        return "-"
    # Of r42.S1 and r42.S2 each has a page of its own.
    return str(options.files[0]).removesuffix(".tracer") + ".html"


def _report(options: argparse.Namespace) -> int:
    from ._errors import InvalidArgumentError, TracerError
    from ._report import report_of_descriptor, report_of_paths

    output = _output_of(options)
    warnings.showwarning = _show_warning
    try:
        if options.by is not None and not options.text:
            raise InvalidArgumentError("--by is for the table: a page has all of its rows", "add --text")
        if options.price_date is not None and options.price is None:
            raise InvalidArgumentError("--price-date needs --price", "add --price")
        if options.text and options.json:
            raise InvalidArgumentError("--text and --json exclude each other", "leave one out")
        if "-" in options.files and len(options.files) > 1:
            raise InvalidArgumentError("standard input can't be read beside files", "name files")
        if output != "-":
            for file in options.files:
                _refuse_to_overwrite(file, output)
        if options.price is not None and len(options.files) > 1:
            _refuse_several_machines(options.files)
        if options.files == ["-"]:
            # A pipe that gives nothing is waited for in the library, where Python's own handler does not come.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            report = report_of_descriptor(0, options.title or "standard input", _PROCESSES_IN_FILE)
        else:
            report = report_of_paths(options.files, options.title, _PROCESSES_IN_FILE)
        if options.price is not None or options.region is not None:
            report = report.with_price(options.price, date=options.price_date, region=options.region)
        if options.json:
            page = f"{report.to_json()}\n".encode()
        else:
            page = _text_of(report, output, options.by) if options.text else report.html().encode("utf-8")
        if output == "-":
            _to_stdout(page)
        else:
            _write(output, page)
        if options.text:
            return 0
        names = os.fsencode(", ".join(options.files)).decode(errors="backslashreplace")
        for line in report.certificate.damage.lines():
            print(f"tracer: {names}: {line}", file=sys.stderr)
        return 0
    except TracerError as error:
        text = str(error).encode(errors="backslashreplace").decode()
        print(f"tracer: {text}", file=sys.stderr)
        return 2 if isinstance(error, InvalidArgumentError) else 1


def _text_of(report: Report, output: str, by: str | None) -> bytes:
    """For a file as wide as it comes, in UTF-8; else as standard output shows it."""
    from ._show import plain_text, text_of

    if by is not None:
        return report.text(by).lstrip("\n").encode("utf-8", "backslashreplace")

    if output != "-":
        return f"{plain_text(report)}\n".encode("utf-8", "backslashreplace")
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return f"{text_of(report)}\n".encode(encoding, "backslashreplace")


def _analysis(options: argparse.Namespace) -> int:
    from importlib import import_module

    from ._errors import InvalidArgumentError, MissingPackageError, TracerError

    run = import_module(f".{_COMMANDS[options.command]}._command", __package__).run
    try:
        text: str
        status: int
        text, status = run(options)
        _to_stdout(text.encode("utf-8", "backslashreplace"))
        return status
    except TracerError as error:
        text = str(error).encode(errors="backslashreplace").decode()
        print(f"tracer: {text}", file=sys.stderr)
        return 2 if isinstance(error, (InvalidArgumentError, MissingPackageError)) else 1


def main(arguments: list[str] | None = None) -> int:
    """What the console script runs. 0: all went well, 1: an error, 2: the command line is wrong or an extra is missing, 130:
    interrupted."""
    given = sys.argv[1:] if arguments is None else arguments
    if given and given[0] in _OF_TRACERD:
        _parser().error(f"{given[0]} is a command of tracerd: tracerd {shlex.join(given)}")
    # What follows -- is a command there.
    end = given.index("--") if given[:1] in (["top"], ["notify"]) and "--" in given else len(given)
    try:
        options = _parser().parse_args(given[:end])
        options.words = given[end + 1:]
        return _report(options) if options.command == "report" else _analysis(options)
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
