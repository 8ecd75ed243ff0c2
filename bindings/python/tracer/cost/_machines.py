# SPDX-License-Identifier: Apache-2.0
"""Shares the lines of a machine among its tasks: by reserved or used CPU and memory in each slice of time."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from ._shares import shares_of

__all__ = ["CPU_GIB", "Line", "Machine", "Piece", "Task", "Watched", "Weights", "disjoint", "share"]

Piece = tuple[int | None, str, str, int]
"""Task, term, kind, units."""

CPU_GIB = 9
"""A vCPU weighs as much as so many GiB, as in AWS's split cost allocation."""
_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Weights:
    cpu: int
    memory: int

    @classmethod
    def of(cls, cpus: float, memory_gib: float) -> Weights:
        return cls(round(CPU_GIB * cpus * _MILLION), round(memory_gib * _MILLION))

    def for_shape(self, shape: str) -> int:
        return self.cpu if shape == "cpu" else self.memory if shape == "memory" else self.cpu + self.memory


@dataclass(slots=True)
class Task:
    task: int
    run: str | None
    t0: int
    t1: int
    weights: Weights
    sent_bytes: float | None


@dataclass(slots=True)
class Line:
    line: int
    t0: int
    t1: int
    billed_us: int | None
    shape: str
    units: int


@dataclass(frozen=True, slots=True)
class Watched:
    """A time in which all of a machine was watched, and what was used in it outside of runs."""

    t0: int
    t1: int
    system: Weights


@dataclass(slots=True)
class Machine:
    """Its tasks in the order of their beginnings, and when it was watched."""

    size: Weights | None
    tasks: list[Task]
    watched: list[Watched]
    """One after the other: disjoint()."""
    begins: set[int] = field(default_factory=set)
    """Of the windows of its own lines, and their ends: whether it ran before and after one."""
    ends: set[int] = field(default_factory=set)
    _starts: list[int] = field(default_factory=list)
    _latest: list[int] = field(default_factory=list)
    """The latest end of the tasks up to each: it never falls, so that those before a time are skipped at once."""

    def active(self, t0: int, t1: int) -> list[Task]:
        if len(self._starts) != len(self.tasks):
            self._starts = [task.t0 for task in self.tasks]
            self._latest = list(accumulate((task.t1 for task in self.tasks), max))
        first, last = bisect_right(self._latest, t0), bisect_left(self._starts, t1)
        return [task for task in self.tasks[first:last] if task.t1 > t0]

    def watched_in(self, t0: int, t1: int) -> list[Watched]:
        first = bisect_right(self.watched, t0, key=lambda each: each.t1)
        return self.watched[first:bisect_left(self.watched, t1, key=lambda each: each.t0)]


def disjoint(sampled: Iterable[Watched], told: Iterable[Watched]) -> list[Watched]:
    """What was sampled counts, and elsewhere what somebody has told of the machine."""
    found: list[Watched] = []
    for each in sorted(sampled, key=lambda each: (each.t0, each.t1)):
        begin = max(each.t0, found[-1].t1) if found else each.t0
        if begin < each.t1:
            found.append(Watched(begin, each.t1, each.system))
    for each in told:
        at, gaps = each.t0, []
        for other in found:
            if other.t1 <= at or other.t0 >= each.t1:
                continue
            if other.t0 > at:
                gaps.append(Watched(at, other.t0, each.system))
            at = other.t1
        if at < each.t1:
            gaps.append(Watched(at, each.t1, each.system))
        found = sorted(found + gaps, key=lambda each: each.t0)
    return found


def _billed_interval(line: Line, tasks: Sequence[Task], machine: Machine) -> tuple[int, int]:
    """Where in its window the machine ran: it joins the neighboring hour that is billed, else it ends with its tasks."""
    length = line.t1 - line.t0
    if line.billed_us is None or not 0 < line.billed_us < length:
        return line.t0, line.t1
    if line.t0 in machine.ends:
        return line.t0, line.t0 + line.billed_us
    if line.t1 in machine.begins:
        return line.t1 - line.billed_us, line.t1
    edges = [*((task.t0, task.t1) for task in tasks), *((each.t0, each.t1) for each in machine.watched_in(line.t0, line.t1))]
    if not edges:
        return line.t0, line.t0 + line.billed_us
    first, last = max(min(a for a, _ in edges), line.t0), min(max(b for _, b in edges), line.t1)
    begin = max(line.t0, min(first, last - line.billed_us))
    return begin, min(begin + line.billed_us, line.t1)


def share(line: Line, machine: Machine, tasks: Sequence[Task], idle: str) -> list[Piece]:
    """Pieces that sum to the line, exactly. `tasks`: those active in its window."""
    if line.shape == "network":
        return _by_bytes(line, tasks)
    if machine.size is None:
        return [(None, "unobserved", "size of the machine not known", line.units)]
    begin, end = _billed_interval(line, tasks, machine)
    tasks = [task for task in tasks if task.t1 > begin and task.t0 < end]
    watched = machine.watched_in(begin, end)
    edges = {begin, end}
    spans: tuple[Task | Watched, ...] = (*tasks, *watched)
    for each in spans:
        if begin < each.t0 < end:
            edges.add(each.t0)
        if begin < each.t1 < end:
            edges.add(each.t1)
    times = sorted(edges)
    slices = list(zip(times, times[1:]))
    if not slices:
        return [(None, "unobserved", "no time", line.units)]
    sums: dict[tuple[int | None, str, str], int] = {}
    size = machine.size.for_shape(line.shape)
    waiting = seen = 0
    active: list[Task] = []
    for (a, b), units in zip(slices, shares_of(line.units, [b - a for a, b in slices])):
        while seen < len(watched) and watched[seen].t1 <= a:
            seen += 1
        system = watched[seen].system.for_shape(line.shape) if seen < len(watched) and watched[seen].t0 <= a else None
        active = [task for task in active if task.t1 > a]
        while waiting < len(tasks) and tasks[waiting].t0 <= a:
            if tasks[waiting].t1 > a:
                active.append(tasks[waiting])
            waiting += 1
        keys: list[tuple[int | None, str, str]] = [(task.task, "allocated", "task") for task in active]
        weights = [task.weights.for_shape(line.shape) for task in active]
        if system:
            keys.append((None, "system", "system"))
            weights.append(system)
        held = sum(weights)
        rest = max(size - held, 0)
        if rest or not held:
            keys.append((None, "idle", "idle") if system is not None else (None, "unobserved", "time that nobody watched"))
            weights.append(rest or 1)
        for key, part in zip(keys, shares_of(units, weights)):
            sums[key] = sums.get(key, 0) + part
    return _with_idle([(*key, units) for key, units in sums.items()], idle)


def _with_idle(pieces: list[Piece], idle: str) -> list[Piece]:
    """Idle stays, or goes to the tasks of the line by their shares. Without a task, it stays."""
    tasks = [piece for piece in pieces if piece[1] == "allocated"]
    rest = sum(piece[3] for piece in pieces if piece[1] == "idle")
    weights = [abs(piece[3]) for piece in tasks]
    if idle == "keep" or not rest or not sum(weights):
        return pieces
    others = [piece for piece in pieces if piece[1] != "idle"]
    return others + [(task[0], "allocated", "idle", part) for task, part in zip(tasks, shares_of(rest, weights)) if part]


def _by_bytes(line: Line, tasks: Sequence[Task]) -> list[Piece]:
    """Transfer is used, never idle: by bytes sent where all tasks know theirs, else by time."""
    if not tasks:
        return [(None, "not_attributable", "transfer of no task", line.units)]
    sent = [task.sent_bytes for task in tasks]
    if all(value is not None for value in sent) and any(sent):
        weights, kind = [int(value or 0) for value in sent], "transfer by bytes"
    else:
        weights, kind = [min(task.t1, line.t1) - max(task.t0, line.t0) for task in tasks], "transfer by time"
    return [(task.task, "allocated", kind, part) for task, part in zip(tasks, shares_of(line.units, weights)) if part]
