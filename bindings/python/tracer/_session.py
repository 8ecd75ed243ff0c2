# SPDX-License-Identifier: Apache-2.0
"""Sessions: what tracer.session() and tracer.attach() return."""

from __future__ import annotations

import atexit
import os
import threading
import warnings
import weakref
from collections.abc import Callable, Collection, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

from . import _core, _hooks
from ._arguments import callable_of, checked_call, flag_of, kinds_of, seconds_of, text_of, whole_number_of
from ._errors import CallbackError, InvalidArgumentError, Problem, RecordingError, SessionClosedError
from ._format import counted
from ._options import MOST_PID, announcement_of, context_fields, submission_of
from ._source import MOST_PROCESSES, Source
from ._temp_recording import TempRecording

if TYPE_CHECKING:
    from ._events import ContextTotals, Event, Host, ProcessSample
    from ._run_result import RunResult
    from ._state import FamilyState, Statistics
    from ._streams import Batches, EventStream, TableBatches
    from ._task import Task

__all__ = ["Session", "open_sessions"]

Path = str | bytes | os.PathLike[str]

# How long tables and reports of a living session wait for what has happened to be written.
_FLUSH_TIMEOUT_S = 5.0

_open: weakref.WeakSet[Session] = weakref.WeakSet()
_open_lock = threading.Lock()


def open_sessions() -> list[Session]:
    """The sessions of this process that are open now."""
    with _open_lock:
        return [each for each in _open if each._core.open]


def _close_all() -> None:
    # Callbacks need the interpreter: later nobody could wait for them.
    errors = []
    for each in open_sessions():
        try:
            each.close()
        except Exception as error:
            errors.append(error)
    # Python tells what is raised here by sys.unraisablehook.
    if errors:
        raise errors[0] if len(errors) == 1 else ExceptionGroup("sessions ended with errors", errors)


atexit.register(_close_all)


def _kernel_descriptors() -> set[int]:
    """Those of programs, maps and links."""
    found = set()
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{name}").startswith("anon_inode:bpf"):
                found.add(int(name))
        except OSError:
            continue
    return found


def _after_fork_in_child() -> None:
    global _open_lock
    _open_lock = threading.Lock()
    # Else the parent's close() would not end them in the kernel while this child lives.
    ours = set().union(*(each._kernel for each in _open))
    for fd in ours & _kernel_descriptors() if ours else ():
        os.close(fd)
    _open.clear()


os.register_at_fork(after_in_child=_after_fork_in_child)


class Session(Source):
    """A running capture; made by tracer.session() and tracer.attach().

    It is a context manager, and a plain object with close(). Any thread may use it. Tables, the report, statistics and
    totals remain when it is closed. In a child made by fork it is closed, and everything raises SessionClosedError
    except host, repr(), task() (which does nothing there), a table's name and columns, and leaving its with statement.
    """

    def __init__(self, options: dict[str, Any], context: dict[str, Any], record: Path | None, recording: Path | None,
                 follows: int | None) -> None:
        self._context = context
        self._follows = follows
        self._subscriptions: list[_core.Subscription] = []
        self._recording = record
        self._rescued = False
        self._queues: weakref.WeakSet[_core.Queue] = weakref.WeakSet()
        others = _kernel_descriptors()
        self._spool = TempRecording(record)
        self._live_report: _core.LiveReport | None = None
        try:
            if recording is not None and self._spool.is_file(recording):
                raise InvalidArgumentError(f"{self._spool.name} can't be replayed into itself", "record to another file")
            # Whatever is wrong is found here, before a file is touched.
            self._core = _core.Session(options, recording)
        except BaseException:
            self._spool.give_up()
            raise
        try:
            self._spool.begin()
            self._core.record(self._spool.fileno(), os.fsencode(self._spool.name))
            if self._core.tier != "recording":
                self._core.start()
            self._kernel = _kernel_descriptors() - others
        except BaseException:
            self._core.close()
            raise
        # As its state is then the service's own.
        self._sees_all_of: Path | None = options["service_socket"] if self._core.tier == "service" and not options["rules"] \
            and not options.get("hash_paths") else None
        self._tasks = _hooks.session_opened(self._core, context) if self._core.tier != "recording" else 0
        with _open_lock:
            _open.add(self)

    # Its life.

    def __enter__(self) -> Session:
        self._require_open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        # In a child made by fork the parent's session goes on.
        if self._core.forked:
            return
        problem = self._end(to_its_end=error is None)
        if problem is None:
            return
        if error is None:
            # What was traced is there all the same: a pipeline that has ended well does not fail for it.
            warnings.warn(str(problem), RuntimeWarning, stacklevel=2)
        else:
            error.add_note(str(problem))

    def close(self) -> None:
        """Ends the session: delivers and writes everything that has happened, and frees its kernel memory. Idempotent.

        It waits for a running callback: don't hold a lock that a callback takes. A replay first continues to its end;
        full streams then drop the oldest events. If an exception leaves the with statement, the session ends where it
        is, and problems with the recording become a note of that exception; without an exception, they become a
        RuntimeWarning.

        Raises RecordingError if the recording could not be written to its end, SessionClosedError in a child made by
        fork, CallbackError inside a callback. Data that was written stays.
        """
        if self._core.forked:
            raise SessionClosedError(True)
        problem = self._end(to_its_end=True)
        if problem is not None:
            raise RecordingError((problem,))

    def _end(self, *, to_its_end: bool) -> Problem | None:
        """Returns what is wrong with the recording, once."""
        if self._core.in_callback:
            raise CallbackError.of("TRC116", None, "close() inside a callback would wait for itself",
                                   "close it when the callback has returned")
        was_open = self._core.open
        if was_open and to_its_end and self._core.tier == "recording":
            for queue in list(self._queues):
                queue.drop_when_full()
            self.flush()
        _hooks.session_closed(self._tasks)
        self._core.close()
        self._forget()
        problem = self._core.recording_problem() if was_open else None
        if self._take_rescued() and self._recording is None:
            return None
        return problem

    def _take_rescued(self) -> bool:
        """True: all that could not be written is in memory, for tables and reports."""
        descriptor = self._core.rescued()
        if descriptor < 0:
            return False
        if not self._rescued:
            self._rescued = True
            self._spool.go_on_in(descriptor)
            self._live_report = None
        return True

    def _forget(self) -> None:
        while self._subscriptions:
            self._subscriptions.pop().cancel()
        with _open_lock:
            _open.discard(self)

    def __del__(self) -> None:
        core = getattr(self, "_core", None)
        if core is not None and core.open:
            warnings.warn(f"unclosed {self.__class__.__name__}", ResourceWarning, source=self, stacklevel=2)
            _hooks.session_closed(getattr(self, "_tasks", 0))
            core.close()

    @property
    def closed(self) -> bool:
        """True if it has ended, or belongs to the process that this one was forked from."""
        return not self._core.open

    @property
    def finished(self) -> bool:
        """True if nothing more comes: it is closed, or its source has ended, such as a recording."""
        if self._core.forked:
            raise SessionClosedError(True)
        return not self._core.open or self._core.finished()

    def _require_open(self) -> None:
        if not self._core.open:
            raise SessionClosedError(self._core.forked)

    def _begin(self) -> None:
        """A recording is replayed once somebody waits for it: whoever has subscribed before gets all of it."""
        if self._core.open:
            self._core.start()

    @checked_call
    def flush(self, timeout: float | None = None) -> bool:
        """Waits until everything that has happened is delivered and written. Returns False if `timeout` (seconds) has
        passed, or the recording can't be written (see problems)."""
        limit = seconds_of("timeout", timeout)
        self._begin()
        return self._core.flush(limit)

    # What it follows.

    @checked_call
    def track(
        self,
        pid: int,
        *,
        pipeline: str | None = None,
        run: str | None = None,
        sample: str | None = None,
        step: str | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> None:
        """Takes in a living process and its descendants from now on, with these labels on top of the session's own.

        Raises InvalidArgumentError if there is no such process."""
        pid = whole_number_of("pid", pid, 1, MOST_PID)
        said = context_fields(pipeline=pipeline, run=run, sample=sample, step=step, labels=labels)
        self._core.track(pid, merged(self._context, said))

    @checked_call
    def announce(
        self,
        *,
        work_dir: Path | None = None,
        pid: int | None = None,
        cgroup: Path | None = None,
        container: str | None = None,
        slurm_job: str | int | None = None,
        below: tuple[int, Collection[str]] | None = None,
        context: Mapping[str, Any] | None = None,
        requested: Mapping[str, Any] | None = None,
        expires_after: float = 86400.0,
    ) -> None:
        """Announces which run or task processes belong to, before they begin or while they live.

        Exactly one of the first six selects the processes. `context`: any of pipeline, run, step, sample, task,
        task_id, attempt, engine, run_id, labels. `requested`: any of millicpus, memory_bytes, time_ns, container, tag.
        `expires_after`: seconds."""
        keys = {"work_dir": work_dir, "pid": pid, "cgroup": cgroup, "container": container, "slurm_job": slurm_job,
                "below": below}
        self._core.announce(*announcement_of(keys, context, requested, expires_after))

    @checked_call
    def submit(
        self,
        context: Mapping[str, Any],
        *,
        requested: Mapping[str, Any] | None = None,
        expected: Mapping[str, int] | None = None,
        expires_after: float = 30 * 86400.0,
    ) -> str:
        """Reports a task that waits for its turn, or a run with how many tasks of each step are `expected`. Returns its
        key, for withdraw().

        `context` as in announce(), with engine, run_id and, of a task, task_id: a process that an announcement or a rule
        puts into this task starts it. Submitting it again replaces its context and requests. `expires_after`: seconds."""
        return self._core.submit(*submission_of(context, requested, expected, expires_after))

    @checked_call
    def withdraw(self, key: str, outcome: str = "unknown", *, exit_code: int | None = None) -> None:
        """Reports that a submitted task is over, or a run with all that is still queued of it: "succeeded", "failed",
        "cached", "aborted" or "unknown". A key that is not known changes nothing."""
        code = None if exit_code is None else whole_number_of("exit_code", exit_code, -2**31, 2**31 - 1)
        self._core.withdraw(text_of("the key of a task", key), text_of("outcome", outcome), code)

    @checked_call
    def task(
        self,
        name: str,
        *,
        sample: str | None = None,
        step: str | None = None,
        attempt: int | None = None,
        task_id: str | None = None,
        labels: Mapping[str, str] | None = None,
    ) -> Task:
        """Opens a task: processes that this thread, and code that it hands work to, start inside belong to the task.
        See Task.

        In a child made by fork it does nothing."""
        from ._task import Task

        if not self._core.forked:
            self._require_open()
        return Task(name, session=self._tasks, sample=sample, step=step, attempt=attempt, task_id=task_id, labels=labels)

    @checked_call
    def run(
        self, argv: Collection[Path], *, task: str | None = None, sample: str | None = None, step: str | None = None,
        labels: Mapping[str, str] | None = None, check: bool = False, cwd: Path | None = None,
        env: Mapping[str, str] | Mapping[bytes, bytes] | None = None, user: str | int | None = None,
        input: str | bytes | None = None, stdin: Any = None, stdout: Any = None, stderr: Any = None,
        capture_output: bool = False, text: bool = False, encoding: str | None = None, errors: str | None = None,
        timeout: float | None = None,
    ) -> RunResult:
        """Runs a command in this session; tracer.run() may open its own. `task` names a task for this command only;
        `sample`, `step` and `labels` are that task's."""
        options = {name: value for name, value in locals().items() if name not in ("self", "argv")}
        from ._run import run_in

        self._require_open()
        return run_in(self, argv, **options)

    # Its events.

    @checked_call
    def events(
        self, kinds: Collection[str] | None = None, timeout: float | None = None, *, capacity_bytes: int = 64 << 20,
        living_first: bool = False,
    ) -> EventStream:
        """Streams events from now on, for `for` and `async for`. `kinds`: names of tracer.EVENT_KINDS; None: all. The
        stream ends with the session, or when no event has come for `timeout` seconds. `living_first`: first come the
        starts of all runs, tasks and processes that live now. If the reader is too slow, a Loss takes the place of
        dropped events; a replay waits for its reader instead."""
        from ._streams import EventStream

        return EventStream(self._queue(kinds, capacity_bytes, living_first), timeout, self._begin)

    @checked_call
    def batches(
        self, kinds: Collection[str] | None = None, timeout: float | None = None, *, most: int = 512,
        capacity_bytes: int = 64 << 20, living_first: bool = False,
    ) -> Batches:
        """Streams lists of at most `most` events, which costs less for each event."""
        from ._streams import Batches

        return Batches(self._queue(kinds, capacity_bytes, living_first), timeout, self._begin, most)

    @checked_call
    def table_batches(
        self, table: str = "events", timeout: float | None = None, *, kinds: Collection[str] | None = None,
        most: int = 65536, capacity_bytes: int = 64 << 20, living_first: bool = False,
    ) -> TableBatches:
        """Streams rows of a table, for pandas, polars, pyarrow or duckdb: of at most `most` events at a time. Costs
        least for each event."""
        from ._streams import TableBatches

        return TableBatches(self._queue(kinds, capacity_bytes, living_first), timeout, self._begin, most, table)

    def _queue(self, kinds: object, capacity_bytes: object, living_first: object) -> _core.Queue:
        capacity = whole_number_of("capacity_bytes", capacity_bytes, 1, 2**63 - 1)
        queue = self._core.queue(kinds_of(kinds), capacity, flag_of("living_first", living_first))
        self._queues.add(queue)
        return queue

    @checked_call
    def on(
        self, kind: str | None, callback: Callable[[Event], object], *, living_first: bool = False
    ) -> _core.Subscription:
        """Calls `callback` for each event of `kind` (None: all) from now on, on the session's own thread;
        `living_first` as for events(). Do only quick work in it; exceptions go to sys.unraisablehook and are counted in
        statistics.callback_errors. The subscription ends with the session, or with cancel() of the result."""
        if kind is not None:
            text_of("kind", kind)
        callable_of("callback", callback)
        subscription = self._core.on(kind, flag_of("living_first", living_first), callback)
        self._subscriptions = [each for each in self._subscriptions if each.active]
        self._subscriptions.append(subscription)
        return subscription

    def fileno(self) -> int:
        """A descriptor that is readable when the session has something to do; only wait for it."""
        return self._core.fd()

    # What it says of itself.

    @property
    def host(self) -> Host:
        """The machine that the events come from."""
        return self._core.host()

    @property
    def statistics(self) -> Statistics:
        """Its work, losses and costs: now, or at its end."""
        from ._state import Statistics

        return Statistics(**self._core.statistics())

    @property
    def totals(self) -> list[ContextTotals]:
        """Sums by context, added up in the kernel; losses don't change them. By a service, they are added up from the
        events of this session. Empty for recordings."""
        return self._core.totals()

    @property
    def tier(self) -> str:
        """Where its events come from: "kernel", "service" (a running `tracerd serve`), "proc" or "recording"."""
        return self._core.tier

    @property
    def tier_problems(self) -> list[Problem]:
        """Why more exact or nearer sources were not taken, such as the kernel for lack of a right. Empty: none was tried
        before."""
        return self._core.tier_problems

    @property
    def families(self) -> list[FamilyState]:
        """Which families it has, and why one is missing. Empty for recordings."""
        from ._state import FamilyState

        return [FamilyState(*each) for each in self._core.families()]

    @property
    def living(self) -> list[ProcessSample]:
        """The followed processes that live now, with what they have consumed so far.

        Raises UnsupportedKernelError or OutOfMemoryError if the kernel refuses to visit living processes."""
        return self._core.living()

    @property
    def filter(self) -> list[str]:
        """One line for each rule of the filter: its effect, and whether the kernel or the library decides it."""
        return self._core.explain()

    @property
    def problems(self) -> list[Problem]:
        """Problems that do not stop the session: mistakes in rules files, missing families, and a recording that can't
        be written or lacks events. Empty: all is well."""
        found = list(self._core.rule_problems())
        found += [each.problem for each in self.families if each.problem is not None]
        recording = self._core.recording_problem()
        if recording is not None:
            found.append(recording)
        dropped = self._core.recording_dropped()
        if dropped:
            what = f"{counted(dropped, 'event is', 'events are')} missing in {self._spool.name}, because it was not written fast enough"
            found.append(Problem("TRC114", None, what, "record to a faster disk", ""))
        return found

    # Tables and the report, from its spool: see Source.

    def open_reader(self) -> _core.RecordingReader:
        """A reader of all its events so far, from its beginning; waits until they are written."""
        if self._core.forked:
            raise SessionClosedError(True)
        if self._core.open:
            try:
                _core.report_own_work(self._tasks)
                self._core.flush(_FLUSH_TIMEOUT_S)
            except SessionClosedError:
                pass  # Just now, by another thread: then all is written.
        self._take_rescued()
        return self._spool.open_reader()

    def _read_report(self, most_processes: int) -> _core.NativeReport:
        if self._core.tier == "recording":
            return super()._read_report(most_processes)
        # Of before, as more ends while it is read.
        figures = _core.session_figures(self._core, True)
        if most_processes == MOST_PROCESSES:
            return self._on_from_before().report(self._core, figures)
        return _core.report_of_reader(self.open_reader(), self._core, figures, False, None, most_processes)

    def _read_state(self, since: str, rows: list[str], key: str, fields: list[str]) -> str:
        if self._core.open:
            try:
                return _core.state_of_session(self._core, since, rows, key, fields)
            except SessionClosedError:
                pass  # Just now, by another thread: then all is written.
        return super()._read_state(since, rows, key, fields)

    def _ask(self, name: str, asked: str) -> dict[str, Any] | None:
        if self._core.open and self._sees_all_of is not None:
            from ._past import ask_past

            return ask_past(self, self._sees_all_of, name, asked)
        return super()._ask(name, asked)

    def _on_from_before(self) -> _core.LiveReport:
        """Reads on where it has read before; waits until all events so far are written."""
        reader = self.open_reader()
        if self._live_report is None:
            self._live_report = _core.LiveReport(reader, MOST_PROCESSES)
        return self._live_report


def merged(outer: Mapping[str, Any], inner: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a context within another; labels are those of both."""
    both = {**outer, **inner}
    if "labels" in outer and "labels" in inner:
        both["labels"] = {**outer["labels"], **inner["labels"]}
    return both
