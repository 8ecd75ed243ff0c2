# SPDX-License-Identifier: Apache-2.0
"""Reports: figures that are ready to be shown, and how complete they are."""

from __future__ import annotations

import errno
import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from . import _core
from ._arguments import checked_call, text_of, whole_number_of
from ._errors import TracerError
from ._events import AwaitedTask, Context, Finding, Host, Requested, TaskLedger
from ._figure import Figure
from ._report_parts import (
    BusyDevice, BusyFile, BusyFileSystem, BusyGpu, BusyPeer, CertificateFigures, CgroupMemory, CriticalPathFigures, Excused, FailureFigures,
    MissingFamily, PathTask, Pipeline, ReportCost, RequestedUse, Survivor, TimeShare, Waste,
)
from ._show import Shown
from ._source import MOST_PROCESSES, Source
from ._state import Damage

if TYPE_CHECKING:
    from .cost._waste import HourlyPrice, WasteCost

__all__ = [
    "CgroupMemory", "Certificate", "CriticalPath", "Excused", "Failure", "Figure", "MissingFamily", "PathTask", "Pipeline", "Report",
    "ReportCost", "ReportNode", "ReportRow", "RequestedUse", "Series", "Survivor", "TimeShare", "Timeline", "Waste", "findings_of", "report_of",
    "report_of_descriptor", "report_of_path", "report_of_paths",
]

_Part = TypeVar("_Part")


@dataclass(frozen=True, slots=True)
class ReportRow:
    """Sums of one tool, step, task, process, or of all."""

    name: str
    context: Context | None
    """By task only: its identity."""
    pid: int | None
    """Set in a row by process, like argv; else None."""
    argv: tuple[str, ...] | None
    processes: int
    """Processes that ended or live in it. By tool: that executed it, or are a copy of one."""
    processes_bound: str
    """Of processes and lives_ns: "exact"; or "at least", where some were lost or missed."""
    tasks: Figure | None
    """In the row of a run or step: its number of tasks; else None."""
    living: int
    """The processes that live: their figures are those so far."""
    failed: Figure
    wall_ns: int | None
    """Elapsed: from first start to last end."""
    wall_bound: str
    """Of wall_ns: "exact"; or "at least", where the first or the last process may have been lost."""
    lives_ns: int | None
    """The sum of their lives."""
    first_start_ns: int | None
    last_end_ns: int | None
    cpu_ns: Figure | None
    cpu_utilization: float | None
    """cpu_ns / wall_ns, with the bound of cpu_ns. None: unknown, also where wall_ns is a lower bound."""
    concurrency: float | None
    """How many threads of a process ran at once, on average, while any did: 1 if it computes in one thread. None:
    unknown."""
    parallelism: float | None
    """Of runs, steps and tasks: how many CPUs it used at once, on average, while any process of it ran. None: unknown, or
    the bounds of that time are more than 5 % of the wall time apart."""
    memory_bytes: Figure | None
    """The most that its processes held together. By step: that of its largest task."""
    memory_at_most_bytes: int | None
    """An upper bound, if memory_bytes is a lower one: the largest sum of the peaks of processes that lived at once.
    None: one peak is unknown."""
    read_bytes: Figure | None
    """By read calls; at least the bytes fetched from storage if read calls don't explain them (mapped files,
    io_uring)."""
    written_bytes: Figure | None
    """By write calls; at least the bytes made dirty for storage if write calls don't explain them (mapped files,
    io_uring, splice). Excludes send."""
    network_received_bytes: Figure | None
    """From other machines. None: the family "network" was off."""
    network_sent_bytes: Figure | None
    time: tuple[TimeShare, ...]
    """The largest first, without zeros. With task_ledger: shares of the wall time as a whole. Empty: unknown."""
    task_ledger: TaskLedger | None
    """Where the wall time of a run, step or task went. None: unknown, and in other rows."""
    waits_for: tuple[AwaitedTask, ...]
    """Of a task: the other tasks that it waited for, as in TaskFinish."""
    bound_by: str | None
    """"compute", "memory", "disk", "network", "pipe", "lock", "cpu_limit", "oversubscribed", "idle" or "mixed", as
    docs/findings.md explains. None: unknown."""
    bound_share: float | None
    """The share of its time that shows it, 0 to 1. None: of "mixed", and unknown."""
    requested: Requested | None
    requested_use: RequestedUse | None
    """Of a run or step in the tree: what its tasks requested, beside what they used. None: of no task both are known."""
    queued: int | None
    """In the tree and the total, like the next: tasks that were submitted, and wait. None: there are none."""
    elsewhere: int | None
    """Tasks that run or ran, but not here."""
    withdrawn: int | None
    """Tasks that their engine withdrew before they ran, such as cached ones."""
    expired: int | None
    """Tasks that waited longer than their submissions hold."""
    queued_ns: int | None
    """How long tasks waited from their submission until they started, added up."""
    state: str | None
    """Of a submitted task that has not started here: "queued", "elsewhere", "finished" (elsewhere), "withdrawn" or
    "expired"."""
    outcome: str | None
    """Of a submitted task, as in TaskSubmit."""
    submitted_ns: int | None
    """When the task was submitted. None: it was not."""


@dataclass(frozen=True, slots=True)
class ReportNode:
    """A run, step, task or tool, and the rows below it."""

    level: str
    """"run", "step", "task", "tool" or "engine" (the engine's own work in the run or task above)."""
    row: ReportRow
    below: tuple[ReportNode, ...]


@dataclass(frozen=True, slots=True)
class Failure(FailureFigures):
    """Processes of one tool that failed in the same way, in which the failures began. Parents that ended with the same
    status passed them on and are not failures of their own."""

    status: str
    """"status 1", "signal 9 (KILL), sent by timeout"."""
    outcome: str
    """"passed on by bash", "ignored by s.sh"; for several: "2 passed on, 1 ignored". Empty: unknown."""


@dataclass(frozen=True, slots=True)
class CriticalPath(CriticalPathFigures):
    """The tasks that a run could not have been shorter than: each read a file that the one before it had written, and
    began when that had ended."""

    run_key: str
    """The run's key."""
    without_task_ns: int | None
    """The time in which no task of the run ran. None: as in RunFinish, and while the run lives."""


@dataclass(frozen=True, slots=True)
class Certificate(CertificateFigures):
    """How complete a report is: what is there, what is missing, and what is still right."""

    cannot_tell: tuple[str, ...]
    """The gaps of this report, in words."""
    text: str = field(repr=False)
    """The whole certificate, as tracerd prints it."""

    def __str__(self) -> str:
        return "\n".join([self.text, *self.damage.lines(), *(f"not known: {one}" for one in self.cannot_tell)])


@dataclass(frozen=True, slots=True)
class Series:
    """A tool or task over time; each list has a value for each part of the time."""

    name: str | None
    """None: all others together."""
    cpu_ns: tuple[int, ...]
    """CPU time consumed in the part; spread evenly between two samples of a process."""
    lived_ns: tuple[int, ...]
    """The sum of its processes' lives in the part."""
    memory_bytes: tuple[int, ...]
    """The most that it held at snapshots in the part; for a process that no snapshot saw, its own peak."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """The tools and tasks with the most CPU over time, in at most 400 parts of equal length; the most first."""

    begin_ns: int
    part_ns: int
    parts: int
    tools: tuple[Series, ...]
    tasks: tuple[Series, ...]


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Report(Shown):
    """The report of a session or a recording: made once, never changed. Times are nanoseconds of the boot clock."""

    title: str
    verdict: str | None
    """Whether the run has succeeded, and what has become of its tasks, in a sentence. None: no run has ended."""
    tools: tuple[ReportRow, ...]
    """Most CPU first."""
    steps: tuple[ReportRow, ...]
    """In order of their first start; so are the tasks."""
    tasks: tuple[ReportRow, ...]
    samples: tuple[ReportRow, ...]
    """By the sample label; the memory is that of the largest task."""
    tree: tuple[ReportNode, ...]
    """Runs, steps, tasks and tools; empty: no process belongs to any."""
    processes: tuple[ReportRow, ...]
    """The processes that consumed most CPU, at most 200."""
    total: ReportRow
    answers: int
    """Statuses other than 0 that are answers, not failures (grep: 1, nothing found)."""
    findings: tuple[Finding, ...]
    """What failed, is slow, stands still or is not normal, as it was reported last: errors first, then warnings."""
    failures: tuple[Failure, ...]
    failures_seen: int
    """The number of all failures."""
    excused: Excused
    """Ends by a signal, or with a status other than 0, that are no failures."""
    survivors: tuple[Survivor, ...]
    """Processes that have not ended."""
    critical_paths: tuple[CriticalPath, ...]
    """Of each run with tasks. Not of one whose tasks ran on several machines."""
    pipelines: tuple[Pipeline, ...]
    cgroups: tuple[CgroupMemory, ...]
    files: tuple[BusyFile, ...]
    """At most 20; those with most bytes first, as the next three."""
    file_systems: tuple[BusyFileSystem, ...]
    peers: tuple[BusyPeer, ...]
    devices: tuple[BusyDevice, ...]
    gpus: tuple[BusyGpu, ...]
    instance_types: tuple[str, ...]
    """Those that the machines say they are."""
    waste: Waste | None
    """None: of no task that ended both a request and its use are known."""
    certificate: Certificate
    cost: ReportCost
    host: Host
    command: tuple[str, ...] | None
    """The words of the command, or of the program that was seen first, with secrets masked; None: unknown."""
    first_ns: int
    """The first and last time of all events; 0: there are none."""
    last_ns: int
    timeline: Timeline
    _native: _core.NativeReport
    _price: HourlyPrice | None = None
    _region: str | None = None

    @property
    def runs(self) -> tuple[ReportRow, ...]:
        """The slowest first."""
        return tuple(node.row for node in self.tree if node.level == "run")

    @property
    def report(self) -> Report:
        """Itself: it is shown as what it was made of."""
        return self

    @checked_call
    def text(self, by: str | None = None, columns: int | None = None) -> str:
        """The tables as tracerd prints them. by: "run", "step", "task", "sample", "tool", "process" or "tree" (all of
        it); None: few rows of the tree, or tools if no process belongs to a run. columns: the width limit; None: no
        limit."""
        return self._shown.format(self.title, None if by is None else text_of("by", by),
                                  None if columns is None else whole_number_of("columns", columns, 1, 1 << 20), True)

    @checked_call
    def with_price(self, usd_per_hour: float | str | None = None, *, date: str | None = None, region: str | None = None) -> Report:
        """The same report, in which the waste has a cost: by a price of its machine, as of `date` (YYYY-MM-DD; None:
        today), or by the imported price of its instance type in `region`. Raises InvalidArgumentError."""
        from .cost._waste import given_price

        if usd_per_hour is None:
            return replace(self, _region=None if region is None else text_of("region", region))
        return replace(self, _price=given_price(usd_per_hour, date, self.host))

    @property
    def waste_cost(self) -> WasteCost | None:
        """What the waste costs, an estimate. None: there is none, or no price of its machine is known: docs/cost.md says
        which one counts."""
        from .cost._waste import WasteCost

        parts = self._shown.waste_cost()
        return None if parts is None else WasteCost(**parts)

    @property
    def _shown(self) -> _core.NativeReport:
        """With the price that counts, where one is known."""
        if self.waste is None:
            return self._native
        from .cost._waste import chosen_path, listed_price

        try:
            price = self._price or listed_price(self.instance_types, self._region)
            if price is not None:
                return self._native.priced(price.to_json())
            if self._region is None:
                return self._native.priced_by(chosen_path())
        except TracerError as error:
            if error.errno not in (errno.ENOENT, errno.ENOTDIR):
                warnings.warn(str(error), RuntimeWarning, stacklevel=1)  # About a file, and therefore once.
        return self._native

    def to_json(self) -> str:
        """The whole report as one JSON object, as docs/report.md describes it: unknown values are absent, and a bound
        of x is x_at_least or x_at_most."""
        return self._shown.json()

    def html(self) -> str:
        """One page that needs nothing else: no network, no other file."""
        from ._show import plain_text

        return _core.page_of(self._shown.document(self.title, True), self.title, plain_text(self))


def _row(parts: dict[str, Any]) -> ReportRow:
    argv = parts["argv"]
    for name, value in parts.items():
        if isinstance(value, tuple):
            parts[name] = Figure(*value)
    parts["argv"] = None if argv is None else tuple(argv)
    parts["time"] = _parts(TimeShare, parts["time"])
    parts["waits_for"] = tuple(parts["waits_for"])
    if parts["requested_use"] is not None:
        parts["requested_use"] = _part(RequestedUse, parts["requested_use"])
    return ReportRow(**parts)


def _nodes(parts: list[tuple[str, dict[str, Any], list[Any]]]) -> tuple[ReportNode, ...]:
    return tuple(ReportNode(level, _row(row), _nodes(below)) for level, row, below in parts)


def _part(kind: Callable[..., _Part], parts: dict[str, Any]) -> _Part:
    """Of a class in _report_parts: lists are texts, pairs are figures."""
    return kind(**{name: tuple(value) if isinstance(value, list) else Figure(*value) if isinstance(value, tuple) else value
                   for name, value in parts.items()})


def _parts(kind: Callable[..., _Part], all_parts: list[dict[str, Any]]) -> tuple[_Part, ...]:
    return tuple(_part(kind, each) for each in all_parts)


def _series(parts: list[dict[str, Any]]) -> tuple[Series, ...]:
    return tuple(
        Series(each["name"], tuple(each["cpu_ns"]), tuple(each["lived_ns"]), tuple(each["memory_bytes"]))
        for each in parts)


def _report(native: _core.NativeReport, title: str | None) -> Report:
    parts = native.values()
    damage = Damage(**parts["certificate"]["damage"])
    command = None if parts["command"] is None else tuple(parts["command"])
    if title is None:
        title = " ".join(command or ()) or "tracer"
    total = _row(parts["total"])
    certificate = parts["certificate"]
    timeline = parts["timeline"]
    return Report(
        title=title,
        verdict=parts["verdict"],
        tools=tuple(map(_row, parts["tools"])),
        steps=tuple(map(_row, parts["steps"])),
        tasks=tuple(map(_row, parts["tasks"])),
        samples=tuple(map(_row, parts["samples"])),
        tree=_nodes(parts["tree"]),
        processes=tuple(map(_row, parts["processes"])),
        total=total,
        answers=parts["answers"],
        findings=tuple(parts["findings"]),
        failures=_parts(Failure, parts["failures"]),
        failures_seen=parts["failures_seen"],
        excused=_part(Excused, parts["excused"]),
        survivors=_parts(Survivor, parts["survivors"]),
        critical_paths=tuple(CriticalPath(**each | {"tasks": _parts(PathTask, each["tasks"])}) for each in parts["critical_paths"]),
        pipelines=_parts(Pipeline, parts["pipelines"]),
        cgroups=_parts(CgroupMemory, parts["cgroups"]),
        files=_parts(BusyFile, parts["files"]),
        file_systems=_parts(BusyFileSystem, parts["file_systems"]),
        peers=_parts(BusyPeer, parts["peers"]),
        devices=_parts(BusyDevice, parts["devices"]),
        gpus=_parts(BusyGpu, parts["gpus"]),
        instance_types=tuple(parts["instance_types"]),
        waste=None if parts["waste"] is None else _part(Waste, parts["waste"]),
        certificate=Certificate(**certificate | {
            "missing": _parts(MissingFamily, certificate["missing"]),
            "damage": damage,
            "cannot_tell": tuple(native.unknown()),
            "text": native.notes(None, True)["certificate"].strip("\n"),
        }),
        cost=_part(ReportCost, parts["cost"]),
        host=parts["host"],
        command=command,
        first_ns=parts["first_ns"],
        last_ns=parts["last_ns"],
        timeline=Timeline(timeline["begin_ns"], timeline["part_ns"], timeline["parts"], _series(timeline["tools"]),
                          _series(timeline["tasks"])),
        _native=native,
    )


def _title_of(source: Source) -> str | None:
    """Its labels, or the name of its file."""
    session = getattr(source, "_session", source)
    context = getattr(session, "_context", None) or {}
    labels = [str(context[name]) for name in ("pipeline", "run", "step", "sample") if context.get(name)]
    path = getattr(source, "path", None)
    if path is not None:
        labels.append(os.path.basename(os.fsdecode(path)))
    return " / ".join(labels) or None


def report_of(source: Source, most_processes: int = MOST_PROCESSES) -> Report:
    """The report of all events that a session, run or recording has so far. Raises RecordingError, SessionClosedError."""
    return _report(source._read_report(most_processes), _title_of(source))


def findings_of(source: Source) -> tuple[Finding, ...]:
    """Those of the report, without the rest of it. Raises as report_of()."""
    return tuple(source._read_report(MOST_PROCESSES).findings())


def report_of_path(path: str | bytes | os.PathLike[str], title: str | None = None,
                   most_processes: int = MOST_PROCESSES) -> Report:
    """The report of a recording; raises RecordingError."""
    return report_of_paths([path], title, most_processes)


def report_of_paths(paths: Sequence[str | bytes | os.PathLike[str]], title: str | None = None,
                    most_processes: int = MOST_PROCESSES) -> Report:
    """The sums of several recordings, such as those of a run's machines; the files of one session are one recording.
    Raises RecordingError."""
    names = ", ".join(os.path.basename(os.fsdecode(path)) for path in paths)
    return _report(_core.report_of_files(list(paths), most_processes), names if title is None else title)


def report_of_descriptor(descriptor: int, name: str, most_processes: int = MOST_PROCESSES) -> Report:
    """Of a recording that an open descriptor gives from where it is; it stays open. Raises RecordingError."""
    return _report(_core.report_of_descriptor(descriptor, name, most_processes), name)
