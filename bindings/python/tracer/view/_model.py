# SPDX-License-Identifier: Apache-2.0
"""What views show: the rows of `state`, kept and put below each other. It adds nothing up: each figure is the reply's own.

A view is of one source: a service, a session or a recording. Rows are replaced, never changed, so whoever holds an
`Index` can read it while the next one is made."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from .. import _core
from .._arguments import path_of
from .._errors import InvalidArgumentError, NotPermittedError, ServiceError, TracerError
from .._source import Source
from ._asked import Asked

__all__ = ["OVER", "Index", "Service", "StateSource", "View", "boot_clock_ns", "has_begun", "start_of", "status_of"]

Row = Mapping[str, Any]

_TABLES = ("runs", "steps", "tasks")
# A service keeps fewer; beyond it, those that ended first are left out.
_MOST_ROWS = 100_000
# A reply has at most 1 MiB: this is more than any source keeps.
_MOST_REPLIES = 1000
# Nothing was written then: only whether it records is asked.
_FAR_S = 86400.0
_STANDS_STILL = ("stalled", "deadlocked_pipe")
_SEVERITIES = ("error", "warning", "note")
OVER = ("done", "cached", "failed", "withdrawn", "expired", "aborted")


class StateSource(Protocol):
    """What a view can be of: `tracer.read()`, a session, a `Service`."""

    def state(self, since: str | None = ..., rows: Any = ..., key: str | None = ..., fields: Any = ...) -> dict[str, Any]: ...


class Service(Source):
    """The state of a running service, without its events: nothing is subscribed to, or written."""

    def __init__(self, socket: Any = None) -> None:
        place = _core.service_socket_to_try() if socket is None else path_of("socket", socket)
        # It is never started: only asked.
        self._core = _core.Session({"rules": [], "tiers": ["service"], "service_socket": place}, None)
        self._place = place

    @property
    def host(self) -> Any:
        return self._core.host()

    def missing(self) -> list[str]:
        """Families that it does not have, and why."""
        return [f"{name}: {problem.what}" for name, active, _, problem in self._core.families()
                if not active and problem is not None]

    def _read_state(self, since: str, rows: list[str], key: str, fields: list[str]) -> str:
        return _core.state_of_session(self._core, since, rows, key, fields)

    def _ask(self, name: str, asked: str) -> dict[str, Any] | None:
        from .._past import ask_past

        return ask_past(self, self._place, name, asked)

    def records(self) -> bool:
        """It records what this user may see: else it says neither why nor what was used over time."""
        from .._recording import past

        try:
            past(socket=self._place, since=time.time() + _FAR_S)
        except (InvalidArgumentError, NotPermittedError, ServiceError):
            return False
        return True

    def close(self) -> None:
        self._core.close()


def start_of(row: Row) -> int:
    """When it began, or was submitted, by the boot clock; 0: not known."""
    for name in ("start_ns", "first_start_ns", "submitted_ns"):
        if name in row:
            return int(row[name])
    return 0


def has_begun(row: Row) -> bool:
    """A process of it was seen here."""
    return bool(row.get("processes") or row.get("processes_at_least"))


def status_of(row: Row, findings: Iterable[Row] = ()) -> str:
    """Of a run or task, by its engine's word, else by the kernel's; "failed" and "stalled" by what was found."""
    state = row.get("state", "")
    if state == "running":
        return "stalled" if any(each["code"] in _STANDS_STILL and each["state"] == "open" for each in findings) else state
    if state != "finished":
        return str(state)
    outcome = row.get("outcome")
    if outcome in ("failed", "cached", "aborted"):
        return str(outcome)
    if outcome is None and any(each["code"] == "first_failure" for each in findings):
        return "failed"
    return "done"


@dataclass(frozen=True, slots=True)
class Index:
    """One state, put in order."""

    runs: list[Row] = field(default_factory=list)
    """Those that live first, then the newest."""
    steps_of: Mapping[str, list[Row]] = field(default_factory=dict)
    """By the id of their run, in order of their start; "": of no run."""
    tasks_of: Mapping[tuple[str, str], list[Row]] = field(default_factory=dict)
    """By the id of their run and the name of their step; "": of none."""
    status: Mapping[str, str] = field(default_factory=dict)
    """Of runs and tasks, by their id."""
    findings: list[Row] = field(default_factory=list)
    """The worst first, then the newest."""
    about: Mapping[str, list[Row]] = field(default_factory=dict)
    """Findings of a task, and those of a run that are of no task, by its key."""
    counts: Mapping[str, Any] = field(default_factory=dict)
    tasks: Counter[str] = field(default_factory=Counter)
    """How many rows of tasks have each status."""
    has_requests: bool = False
    """It is known of a task what was requested for it."""
    left_out: int = 0
    """Rows beyond what a view keeps."""

    def of_step(self, step: Row) -> list[Row]:
        return self.tasks_of.get((step.get("in", ""), step.get("step", step["name"])), [])

    def count_of(self, row: Row, tasks: Sequence[Row]) -> int:
        """How many tasks a run or step has, also those whose rows were not kept."""
        return max(int(row.get("tasks", row.get("tasks_at_least", 0))), len(tasks))

    def done_of(self, row: Row, tasks: Sequence[Row]) -> int:
        """How many of them are over: rows that were not kept are of such."""
        return self.count_of(row, tasks) - sum(self.status[each["id"]] not in OVER for each in tasks)

    def tasks_of_run(self, run: Row) -> list[Row]:
        return [task for key, tasks in self.tasks_of.items() if key[0] == run["id"] for task in tasks]

    def expected_of(self, run: Row | None) -> int | None:
        """How many tasks a run, or all, will have, as far as engines have said; None: no engine has."""
        steps = [each for key, below in self.steps_of.items() if run is None or key == run["id"] for each in below]
        if not any("expected" in each for each in steps):
            return None
        return sum(max(int(each.get("expected", 0)), self.count_of(each, self.of_step(each))) for each in steps)


class View:
    """The state of a source, kept up to date by refresh()."""

    def __init__(self, source: StateSource, *, fields: Iterable[str] = (), most_rows: int = _MOST_ROWS,
                 clock: Callable[[], int] | None = None) -> None:
        """`fields`: columns besides those that put rows in order; none: all. `clock`: now by the boot clock; absent: the
        last time that the rows have, as of a recording."""
        self._source = source
        self._fields = sorted({*fields, "name", "state", "run_key", "task_key", "step", "in", "start_ns", "first_start_ns",
                               "last_end_ns", "submitted_ns", "outcome", "expected"} - {"id"}) if fields else None
        self._most_rows = most_rows
        self._clock = clock
        self._rows: dict[str, dict[str, Row]] = {name: {} for name in _TABLES}
        self._findings: dict[str, Row] = {}
        self._since: str | None = None
        self._left_out = 0
        ask = getattr(source, "why", None)
        self._asked = None if ask is None else Asked(lambda _, key: ask(key))
        self._counts: Mapping[str, Any] = {}
        self.index = Index()
        self.problem: TracerError | None = None
        """Why the last refresh() has brought nothing; rows are those of before."""
        self.key: str | None = None
        """Of a run or task whose processes, files and peers are wanted, too, and what `why` says of it."""
        self.detail: dict[str, Any] = {}
        """These, of `key`."""
        self.usual: Mapping[str, float] = {}
        """How long a task of each step usually takes, in ns, where somebody has found that out."""

    def refresh(self) -> bool:
        """Asks the source; true: something has changed. Raises what is not a matter of time, such as a damaged file."""
        changed = False
        try:
            for _ in range(_MOST_REPLIES):
                reply = self._source.state(self._since, None, None, self._fields)
                changed |= self._take(reply)
                if not reply["more"]:
                    break
            detail = self._source.state(None, ["counts"], self.key, []) if self.key else {}
            if self.key and (said := self.why(self.key)):
                detail["why"] = said
            changed |= detail != self.detail
            self.detail = detail
        except ServiceError as error:
            changed = self.problem is None
            self.problem = error
            return changed
        changed |= self.problem is not None
        self.problem = None
        if changed:
            self._bound()
            self.index = self._index()
        return changed

    def why(self, key: str) -> dict[str, Any]:
        """What the source says of why a run or task takes so long, some seconds old at least; empty: it says nothing, or not
        yet."""
        return (self._asked.soon("why", key) or {}) if self._asked is not None else {}

    def now_ns(self) -> int:
        """By the boot clock."""
        if self._clock is not None:
            return self._clock()
        times = [each.get("last_end_ns", 0) for each in self._rows["runs"].values()]
        times += [max(each.get("last_end_ns", 0), each.get("submitted_ns", 0)) for each in self._rows["tasks"].values()]
        times += [each["time_ns"] for each in self._findings.values()]
        return max(times, default=0)

    def _take(self, reply: dict[str, Any]) -> bool:
        changed = bool(reply["all"]) or reply["counts"] != self.index.counts
        if reply["all"]:
            self._rows = {name: {} for name in _TABLES}
            self._findings = {}
            self._left_out = 0
        for identity in reply.get("gone", ()):
            for rows in self._rows.values():
                changed |= rows.pop(identity, None) is not None
        for name in _TABLES:
            for row in reply[name]:
                changed |= self._rows[name].get(row["id"]) != row
                self._rows[name][row["id"]] = row
        for finding in reply["findings"]:
            changed |= self._findings.get(finding["finding_key"]) != finding
            self._findings[finding["finding_key"]] = finding
        self._since = reply["since"]
        self._counts = reply["counts"]
        return changed

    def _bound(self) -> None:
        tasks = self._rows["tasks"]
        beyond = len(tasks) - self._most_rows
        if beyond <= 0:
            return
        over = sorted((each for each in tasks.values() if each["state"] == "finished"), key=lambda each: each.get("last_end_ns", 0))
        for row in over[:beyond]:
            del tasks[row["id"]]
            self._left_out += 1

    def _index(self) -> Index:
        about: dict[str, list[Row]] = {}
        for finding in self._findings.values():
            # A run is not failed because a task of it is.
            key = finding.get("task_key", finding.get("run_key"))
            if key is not None:
                about.setdefault(key, []).append(finding)
        rows = self._rows
        status = {row["id"]: status_of(row, about.get(row.get("task_key" if name == "tasks" else "run_key", ""), ()))
                  for name in ("runs", "tasks") for row in rows[name].values()}
        steps_of: dict[str, list[Row]] = {}
        for step in rows["steps"].values():
            steps_of.setdefault(step.get("in", ""), []).append(step)
        tasks_of: dict[tuple[str, str], list[Row]] = {}
        for task in rows["tasks"].values():
            tasks_of.setdefault((task.get("in", ""), task.get("step", "")), []).append(task)
        for each in (*steps_of.values(), *tasks_of.values()):
            each.sort(key=lambda row: (start_of(row) or 1 << 64, row["name"]))
        # A step that has not begun is where its first task was submitted.
        first = {key: start_of(tasks[0]) for key, tasks in tasks_of.items()}
        for key, steps in steps_of.items():
            steps.sort(key=lambda row: (start_of(row) or first.get((key, row.get("step", row["name"])), 0) or 1 << 64, row["name"]))
        runs = sorted(rows["runs"].values(), key=lambda row: (row.get("state") != "running", -start_of(row), row["name"]))
        findings = sorted(self._findings.values(), key=lambda each: (_SEVERITIES.index(each["severity"]) if each["severity"]
                                                                     in _SEVERITIES else 9, -each["time_ns"]))
        return Index(runs, steps_of, tasks_of, status, findings, about, self._counts,
                     Counter(status[each] for each in rows["tasks"]),
                     any("requested" in each for each in rows["tasks"].values()), self._left_out)


def boot_clock_ns() -> int:
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)
