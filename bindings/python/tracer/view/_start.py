# SPDX-License-Identifier: Apache-2.0
"""Begins `tracer top`: of a service, of recordings, or of a command that it runs."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

from .._errors import NotPermittedError, Problem, ServiceError, TracerError
from .._open import session_of_command
from .._recording import Recording, read
from .._run import _Options, _Running
from .._session import Session
from .._show import plain_text
from ._expected import PastRun, expected_of, past_runs, present_run, usual_of
from ._model import Service, View, boot_clock_ns
from ._screen import About
from ._texts import Signs, signs_of_locale
from ._top import Top

__all__ = ["of_command", "of_files", "of_service"]

# What rows and panels show.
FIELDS = ("pipeline", "sample", "run", "tasks", "expected", "processes", "living", "failed", "wall_ns", "cpu_ns", "cpu_utilization", "parallelism",
          "memory_bytes", "read_bytes", "written_bytes", "network_received_bytes", "network_sent_bytes", "queued_ns", "time",
          "waits_for", "requested")
# Of a command's output; its last line is the status.
_LAST_BYTES = 4096
_LOOK_S = 0.1


def _wall_offset_ns() -> int:
    return time.time_ns() - boot_clock_ns()


class _Past:
    """Runs of recordings, which a thread reads while the screen is there, and when the one that lives will be done by them."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._runs: list[PastRun] = []
        if paths:
            threading.Thread(target=self._read, args=(paths,), name="tracer-top-past", daemon=True).start()

    def _read(self, paths: Sequence[str]) -> None:
        files = [each for path in paths for each in (sorted(Path(path).glob("*.tracer")) if os.path.isdir(path) else [Path(path)])]
        for file in files:
            # One that can't be read, or is still written, says nothing of the past.
            with contextlib.suppress(TracerError):
                view = View(read(file), fields=FIELDS)
                view.refresh()
                self._runs += past_runs(view.index)

    def look(self, view: View) -> str:
        """Also tells the view what is usual."""
        living = [each for each in view.index.runs if each.get("state") == "running"]
        if len(living) != 1 or not self._runs:
            return ""
        view.usual = usual_of(self._runs, living[0].get("pipeline", ""))
        expected = expected_of(present_run(living[0], view.index, view.now_ns()), self._runs)
        return "" if expected is None else expected.text()


def _live(about: About, view: View, earlier: _Past) -> About:
    """What has changed besides rows."""
    living = [each["run_key"] for each in view.index.runs if each.get("state") == "running" and "run_key" in each]
    said = {key: view.why(key).get("critical_path") for key in living[:1]}
    return replace(about, expected_end=earlier.look(view), paths={key: path for key, path in said.items() if path})


def of_service(socket: str | None, past: Sequence[str] = ()) -> int:
    try:
        service = Service(socket)
    except (ServiceError, NotPermittedError) as error:
        first = error.problems[0]
        what = f"nothing can be shown of this host: {first.what}"
        fix = f"{first.fix}. Without a service: tracer top -- COMMAND, or tracer top FILE"
        raise type(error)((Problem(first.code, first.errno, what, fix, first.detail), *error.problems[1:])) from None
    try:
        missing = service.missing()
        notes = (f"blank is what the service lacks: {'; '.join(missing)}",) if missing else ()
        view = View(service, fields=FIELDS, clock=boot_clock_ns)
        earlier = _Past(past)
        return Top(view, About("live", signs_of_locale(), _wall_offset_ns(), notes=notes),
                   about_now=lambda about: _live(about, view, earlier)).show()
    finally:
        service.close()


def _damage_of(recording: Recording) -> tuple[str, tuple[str, ...]]:
    """A word for the title, and what follows from it."""
    damage = recording.damage
    if not damage:
        return "", ()
    word = "cut off" if damage.truncated else "damaged"
    return word, (f"{word}: figures are lower bounds. {'; '.join(damage.lines())}",)


def of_files(files: list[str]) -> int:
    recording = read(tuple(files))
    view = View(recording, fields=FIELDS)
    damage, notes = _damage_of(recording)
    about = About("recording", signs_of_locale(), recording.host.wall_offset_ns, notes=notes, damage=damage)

    report: dict[str, Any] = {}

    def with_report(about: About) -> About:
        # Once: it reads the recording again.
        if not report:
            report.update(json.loads(recording.report.to_json()))
        paths = {run["run_key"]: run["critical_path"] for run in report["runs"] if "critical_path" in run}
        return replace(about, verdict=report.get("verdict", ""), paths=paths)

    return Top(view, about, is_live=False, about_now=with_report).show()


class _Command:
    """Runs while it is shown. Its output goes to a file where the terminal is taken."""

    def __init__(self, words: list[str]) -> None:
        self.output: BinaryIO = tempfile.TemporaryFile(prefix="tracer-top-", buffering=0)
        taken = self.output.fileno()
        stdout, stderr = (taken if os.isatty(number) else None for number in (1, 2))
        # As tracerd run: under sudo it is run as who called that.
        caller = os.environ.get("SUDO_UID", "") if os.geteuid() == 0 else ""
        options = _Options(words, False, None, None, int(caller) if caller.isdecimal() else None, None, subprocess.DEVNULL, stdout,
                           stderr, False, False, None, None, None)
        self.running = _Running(options)
        self.status: int | None = None
        self.problem: BaseException | None = None
        self.interrupts = 0

    def follow(self, session: Session) -> None:
        try:
            self.status = self.running.finish(session, True)
        except BaseException as error:
            self.problem = error

    def interrupt(self) -> None:
        self.interrupts += 1
        self.running.command.signal(signal.SIGINT)

    def last_line(self) -> str:
        size = os.fstat(self.output.fileno()).st_size
        text = os.pread(self.output.fileno(), _LAST_BYTES, max(size - _LAST_BYTES, 0)).decode(errors="replace")
        return text.rstrip().rpartition("\n")[2].rpartition("\r")[2]

    def copy_output(self, since: int) -> int:
        """What it has written, to standard error: which part was which stream is not known anymore."""
        while data := os.pread(self.output.fileno(), 1 << 16, since):
            since += len(data)
            sys.stderr.buffer.write(data)
        sys.stderr.buffer.flush()
        return since


def _notes_of(session: Session) -> tuple[str, ...]:
    """What is blank, and why."""
    problems = session.tier_problems
    if session.tier == "proc":
        why = f", as {problems[0].what}. {problems[0].fix}" if problems else ""
        return (f"blank: where time went, files, network; sums are lower bounds{why}",)
    missing = [f"{each.family}: {each.problem.what}" for each in session.families if not each.active and each.problem]
    return (f"blank is what is missing: {'; '.join(missing)}",) if missing else ()


def of_command(words: list[str], past: Sequence[str] = ()) -> int:
    command, earlier = _Command(words), _Past(past)
    with command.running, session_of_command(command.running.command.pid, pipeline=None, run=None, sample=None, step=None,
                                             labels=None, record=None) as session:
        follower = threading.Thread(target=command.follow, args=(session,), name="tracer-top-command")
        follower.start()
        # One that can't be executed needs no screen.
        follower.join(_LOOK_S)
        if command.problem is not None:
            raise command.problem
        signs = signs_of_locale()
        about = About("live", signs, _wall_offset_ns(), notes=_notes_of(session))
        view = View(session, fields=FIELDS, clock=boot_clock_ns)
        Top(view, about, interrupt=command.interrupt, ended=lambda: None if follower.is_alive() else 0,
            about_now=lambda about: replace(_live(about, view, earlier), status=command.last_line())).show()
        # The terminal sends Ctrl-C to the command as well, which decides.
        signal.signal(signal.SIGINT, lambda *_: None)
        shown = 0
        while True:
            shown = command.copy_output(shown)
            if not follower.is_alive():
                break
            follower.join(_LOOK_S)
        command.copy_output(shown)
        if command.problem is not None:
            raise command.problem
        status = command.status
        assert status is not None
        result = command.running.result(session, status, True)
    _print_report(result, signs)
    return 128 - status if status < 0 else status


def _print_report(result: object, signs: Signs) -> None:
    try:
        columns = os.get_terminal_size(2).columns
        print(plain_text(result.report, max(columns, 40), signs.utf8), file=sys.stderr)  # type: ignore[attr-defined]
    except (TracerError, OSError) as error:
        print(f"tracer: there is no report: {error}", file=sys.stderr)
