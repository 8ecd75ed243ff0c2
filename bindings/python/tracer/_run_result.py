# SPDX-License-Identifier: Apache-2.0
"""What a command consumed: the result and the error of tracer.run()."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from . import _core
from ._errors import Problem, TracerError
from ._source import Source
from ._temp_recording import TempRecording

if TYPE_CHECKING:
    from ._events import Host
    from ._session import Session

__all__ = ["CommandFailedError", "Path", "RunResult", "Usage", "as_typed", "at_least"]

Path = str | bytes | os.PathLike[str]


@dataclass(frozen=True, slots=True)
class Usage:
    """What a command and everything that it started consumed. None: unknown."""

    wall_ns: int | None
    """From its first start to its last end."""
    cpu_ns: int | None
    peak_rss_bytes: int | None
    """The peak of its largest process."""
    peak_memory_bytes: int | None
    """The most that its living processes held together at any snapshot; at least the peak of the largest process."""
    read_bytes: int | None
    """By read calls, without exec's own reads, io_uring, splice, mmap."""
    written_bytes: int | None
    """By write calls, without io_uring, splice, mmap, send."""
    processes: int | None
    """Processes that ended."""
    failed: int | None
    """The ones that ended by a signal, or with a status other than 0 that is not an answer."""
    bounds: Mapping[str, str] = field(default_factory=dict)
    """The figures above that are not exact, each "at least" or "at most". All are "at least" if the end of the command
    itself was lost."""


class CommandFailedError(TracerError, subprocess.CalledProcessError):
    """A command with `check=True` has failed: `returncode`, `cmd`, `stdout`, `stderr`, and `result`."""

    result: RunResult | None
    """None in a process other than the one that ran it."""

    def __init__(self, result: RunResult) -> None:
        status = result.returncode
        how = f"was ended by signal {-status}" if status < 0 else f"has returned {status}"
        problem = Problem("TRC123", None, f"{as_typed(result.args)}: {how}", "see its errors, and result.report", "")
        subprocess.CalledProcessError.__init__(self, status, result.args, result.stdout, result.stderr)
        self.problems = (problem,)
        self.result = result

    def __str__(self) -> str:
        return "\n".join(map(str, self.problems))

    def __reduce__(self) -> tuple[Any, ...]:
        # Not the result: it is of a session of this process.
        return _failed_elsewhere, (self.returncode, self.cmd, self.stdout, self.stderr, self.problems)


def _failed_elsewhere(returncode: int, cmd: Any, stdout: Any, stderr: Any, problems: tuple[Problem, ...]) -> TracerError:
    error = CommandFailedError.__new__(CommandFailedError)
    subprocess.CalledProcessError.__init__(error, returncode, cmd, stdout, stderr)
    error.problems = problems
    error.result = None
    return error


class RunResult(Source):
    """A command that has ended, and what it consumed. Its tables and its report cover only this command."""

    def __init__(self, args: list[Path], returncode: int, stdout: Any, stderr: Any, usage: dict[str, Any],
                 in_session: Session, command: tuple[int, int, bool]) -> None:
        self.args = args
        """The words of the command."""
        self.returncode = returncode
        """0 to 255, or minus the number of the signal that ended it."""
        self.stdout = stdout
        """Its output, if that was captured; else None."""
        self.stderr = stderr
        self.pid = command[0]
        """It is another's by now, or nobody's."""
        self._usage = usage
        self._session = in_session
        self._command = command
        self._spool: TempRecording | None = None

    @property
    def usage(self) -> Usage:
        """The usage of the command and everything that it started."""
        values = {name: each for name, each in self._usage.items() if name != "time"}
        pairs = {name: each for name, each in values.items() if isinstance(each, tuple)}
        bounds = {name: bound for name, (_, bound) in pairs.items() if bound != "exact"}
        return Usage(**{**values, **{name: value for name, (value, _) in pairs.items()}}, bounds=bounds)

    @property
    def where_time_went(self) -> dict[str, float]:
        """The share of each cause in the lives of all its processes, 0 to 1, the largest first: "CPU" (at least one
        thread was on one), "disk", "pipe", "child" … Empty: unknown, such as without the family "waits"."""
        return {cause: share for cause, _, share in self._usage["time"]}

    @property
    def time_ns(self) -> dict[str, int]:
        """The same in nanoseconds, summed over all processes."""
        return {cause: time_ns for cause, time_ns, _ in self._usage["time"]}

    @property
    def host(self) -> Host:
        """The machine."""
        return self._session.host

    @property
    def problems(self) -> list[Problem]:
        """Problems with its session, or with its recording. Empty: all is well."""
        return self._session.problems

    @property
    def figures(self) -> _core.Session | None:
        """The session that followed nothing else, for the report; None in a session that follows others as well."""
        return self._session._core if self._command[2] else None

    def check_returncode(self) -> None:
        """Raises CommandFailedError if the command has failed."""
        if self.returncode != 0:
            raise CommandFailedError(self)

    def _read_report(self, most_processes: int) -> _core.NativeReport:
        session = self._session._core
        if session.tier == "recording":
            return super()._read_report(most_processes)
        # Of before, as more ends while it is read.
        figures = _core.session_figures(session, False)
        return _core.report_of_reader(self.open_reader(), session, figures, self.figures is None, self.pid, most_processes)

    def open_reader(self) -> _core.RecordingReader:
        """A reader of the events of this command alone."""
        if self._spool is None:
            spool = TempRecording(None)
            pid, since_ns, whole = self._command
            name = os.fsencode(spool.name)
            _core.copy_tree(self._session.open_reader(), pid, since_ns, whole, spool.fileno(), name)
            self._spool = spool
        return self._spool.open_reader()


def as_typed(argv: list[Path]) -> str:
    """The command for a shell, which takes each word as it is: it may be pasted behind sudo."""
    return shlex.join(map(os.fsdecode, argv))


def at_least(usage: dict[str, Any]) -> dict[str, Any]:
    """Of a command whose end was lost: what is 0 so far is not known."""
    values = {name: each if isinstance(each, tuple) else (each, "exact") for name, each in usage.items() if name != "time"}
    known = {name: (value, "at least") if value else None for name, (value, _) in values.items()}
    return {**known, "time": usage["time"]}
