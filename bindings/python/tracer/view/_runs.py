# SPDX-License-Identifier: Apache-2.0
"""Runs of all sources of the page: as a list, and as the past by which those that live will end."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from .._errors import TracerError
from ._asked import PART_OF_TIME
from ._expected import PastRun, expected_of, past_runs, present_run
from ._model import OVER, Index, Row, start_of

__all__ = ["MOST_RUNS", "RUN_FIELDS", "Runs"]

# Of the state: what lists and expected ends are made of.
RUN_FIELDS = ("pipeline", "run", "sample", "tasks", "processes", "failed", "wall_ns", "cpu_ns", "memory_bytes", "time")
MOST_RUNS = 1000
_MOST_STEPS = 100
_MOST_ENDS = 16
_LEAST_S = 5.0
_LEAST_END_S = 1.0
_FIGURES = ("wall_ns", "tasks", "failed", "cpu_ns", "memory_bytes")


class Source(Protocol):
    """What of `Shown` is needed here."""

    identity: str
    live: bool

    @property
    def wall_offset_ns(self) -> int: ...
    def changed(self) -> object: ...
    def index(self) -> Index: ...


@runtime_checkable
class Lake(Protocol):
    """What of `ShownLake` is."""

    identity: str

    def listed(self) -> tuple[list[dict[str, Any]], int]: ...


@dataclass(slots=True)
class _Read:
    changed: object
    rows: list[dict[str, Any]]
    past: dict[str, PastRun]
    again_s: float = field(default=0.0)
    left_out: int = 0
    problem: str | None = None


def _median(values: list[int]) -> int | None:
    """Of an even number, the mean of the two in the middle."""
    ordered = sorted(values)
    if not ordered:
        return None
    low, high = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
    return high - (high - low) // 2


def _steps(run: Row, index: Index) -> list[dict[str, Any]]:
    steps = []
    for step in index.steps_of.get(run["id"], ())[:_MOST_STEPS]:
        tasks = index.of_step(step)
        usual = _median([row["wall_ns"] for row in tasks if "wall_ns" in row and index.status[row["id"]] in OVER])
        steps.append({"name": step["name"], "tasks": index.count_of(step, tasks), **({} if usual is None else {"wall_ns": usual})})
    return steps


def _listed(run: Row, index: Index, source: Source) -> dict[str, Any]:
    of = [each for each in index.findings if each.get("run_key") == run.get("run_key")]
    found = {name: count for name in ("error", "warning") if (count := sum(each["severity"] == name for each in of))}
    row: dict[str, Any] = {"source": source.identity, "run_key": run["run_key"], "name": run["name"], "status": index.status[run["id"]]}
    row |= {name: run[name] for name in ("pipeline", "run", "time") if name in run}
    row |= {name: value for name, value in run.items() if name.removesuffix("_at_least").removesuffix("_at_most") in _FIGURES}
    if start_of(run):
        row["start_unix_ns"] = start_of(run) + source.wall_offset_ns
    return row | {"findings": found, "steps": _steps(run, index)}


def _rows(index: Index, source: Source) -> list[dict[str, Any]]:
    return [_listed(run, index, source) for run in index.runs if "run_key" in run]


class Runs:
    """Recordings are read by a thread, while somebody asks; again after they have changed, for a small part of the time."""

    def __init__(self, sources: Iterable[Source | Lake]) -> None:
        self._sources = list(sources)
        self._kept: dict[str, _Read] = {}
        self._reading = threading.Lock()
        self._ends: dict[str, tuple[float, dict[str, dict[str, Any]]]] = {}
        self._expecting = threading.Lock()

    def _due(self, source: Source | Lake, again: bool) -> bool:
        kept = self._kept.get(source.identity)
        if kept is not None and not (again and time.monotonic() >= kept.again_s):
            return False
        return isinstance(source, Lake) or (not source.live and (kept is None or kept.changed != source.changed()))

    def _look(self, again: bool) -> None:
        """`again`: also at those that were read, and have changed since."""
        due = [each for each in self._sources if self._due(each, again)]
        if due and self._reading.acquire(blocking=False):
            threading.Thread(target=self._read, args=(due,), name="tracer-runs", daemon=True).start()

    def _read(self, due: list[Source | Lake]) -> None:
        try:
            for source in due:
                begun, read = time.monotonic(), self._runs_of(source)
                now = time.monotonic()
                read.again_s = now + max(PART_OF_TIME * (now - begun), _LEAST_S)
                self._kept[source.identity] = read
        finally:
            self._reading.release()

    def _runs_of(self, source: Source | Lake) -> _Read:
        if not isinstance(source, Lake):
            read = _Read(source.changed(), [], {})
            # One that can't be read has no runs.
            with contextlib.suppress(TracerError):
                index = source.index()
                read = _Read(read.changed, _rows(index, source), {each.key: each for each in past_runs(index)})
            return read
        try:
            rows, left_out = source.listed()
            return _Read(None, rows, {}, left_out=left_out)
        except TracerError as error:
            kept = self._kept.get(source.identity)
            return _Read(None, kept.rows if kept else [], {}, left_out=kept.left_out if kept else 0, problem=str(error))

    def listed(self) -> dict[str, Any]:
        """Each run once, as the first source has it; the newest first."""
        self._look(again=True)
        found: dict[str, dict[str, Any]] = {}
        unread, left_out, problems = 0, 0, list[str]()
        for source in self._sources:
            rows: list[dict[str, Any]] = []
            if not isinstance(source, Lake) and source.live:
                with contextlib.suppress(TracerError):
                    rows = _rows(source.index(), source)
            elif source.identity in self._kept:
                kept = self._kept[source.identity]
                rows, left_out = kept.rows, left_out + kept.left_out
                problems += [kept.problem] if kept.problem else []
            else:
                unread += 1
            for row in rows:
                found.setdefault(row["run_key"], row)
        newest = sorted(found.values(), key=lambda row: -row.get("start_unix_ns", 0))
        return {"runs": newest[:MOST_RUNS], "left_out": left_out + len(newest[MOST_RUNS:]), "unread": unread,
                **({"problems": problems} if problems else {})}

    def expected_ends(self, source: Source) -> dict[str, dict[str, Any]]:
        """Of the runs of a service that live, by their key: where past runs say it. All pages get the same."""
        with self._expecting:
            again_s, ends = self._ends.get(source.identity, (0.0, {}))
            begun = time.monotonic()
            if begun >= again_s:
                ends = self._expected(source)
                now = time.monotonic()
                self._ends[source.identity] = (now + max(PART_OF_TIME * (now - begun), _LEAST_END_S), ends)
            return ends

    def _expected(self, source: Source) -> dict[str, dict[str, Any]]:
        index = source.index() if source.live else Index()
        living = [run for run in index.runs if run.get("state") == "running" and "run_key" in run]
        if not living:
            return {}
        # What ends from now on is in the state.
        self._look(again=False)
        past = {each.key: each for each in past_runs(index)}
        for read in list(self._kept.values()):
            past = {**read.past, **past}
        for run in living:
            past.pop(run["run_key"], None)
        now_ns, ends = time.time_ns() - source.wall_offset_ns, {}
        for run in living[:_MOST_ENDS]:
            if (expected := expected_of(present_run(run, index, now_ns), list(past.values()))) is not None:
                ends[run["run_key"]] = {"text": expected.text(), "left_ns": expected.left_ns, "least_ns": expected.least_ns,
                                        "most_ns": expected.most_ns}
        return ends
