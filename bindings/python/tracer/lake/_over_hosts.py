# SPDX-License-Identifier: Apache-2.0
"""The runs of a lake: what several hosts saw of one run is one run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .._errors import InvalidArgumentError, TracerError
from ._index import HASH, entries
from ._layout import Part
from ._users import users_of

if TYPE_CHECKING:
    from datetime import datetime

    from ._store import Store

__all__ = ["LakeRun", "find_run", "runs_of"]


@dataclass
class LakeRun:
    """A run, by what all hosts saw of it. Times are Unix time."""

    run_key: str | None
    """Of the host that its engine ran on. None: only tasks of it were seen."""
    run: str | None
    pipeline: str | None
    engine: str | None
    user: str
    hosts: list[str]
    begin_unix_ns: int
    end_unix_ns: int | None
    """None: its end was not seen."""
    last_unix_ns: int
    status: str
    """succeeded, failed, unknown, aborted; not ended: its end was not seen."""
    tasks_ended: int
    tasks_failed: int
    parts: list[Part] = field(repr=False)
    """All that have something of it, and those between."""
    keys: dict[tuple[str, ...], set[str]] = field(repr=False)
    """Of each recording, the keys that the run has there."""

    @property
    def name(self) -> str:
        return self.run or self.pipeline or self.run_key or "?"


class _Groups:
    """What has a key in common is one."""

    def __init__(self) -> None:
        self._above: dict[Any, Any] = {}

    def top(self, key: Any) -> Any:
        while (above := self._above.setdefault(key, key)) != key:
            self._above[key] = self._above[above]
            key = above
        return key

    def join(self, keys: Iterable[Any]) -> None:
        first, *others = map(self.top, keys)
        for other in others:
            self._above[other] = first


def runs_of(store: Store, since: datetime | None = None, refused: list[str] | None = None) -> list[LakeRun]:
    """The newest first. `refused` gets why a part or folder can't be read."""
    problems: list[TracerError] = []
    refused = [] if refused is None else refused
    users = users_of(store, problems)
    series: dict[tuple[str, ...], dict[int, Part]] = defaultdict(dict)
    seen: list[tuple[Part, dict[str, Any], Any]] = []
    groups = _Groups()
    for part, entry in entries(store, since, problems):
        series[part.series][part.number] = part
        if "refused" in entry:
            refused.append(str(entry["refused"]))
        for run in entry["runs"]:
            uid = run.get("owner_uid")
            user = users.get(part.host, {}).get(str(uid), f"{uid} on {part.host}") if uid is not None else part.host
            run["user"] = user
            # A task in no run has the keys of its id only.
            own = ("run", part.host, part.boot, run["run_key"] or tuple(run["tasks"]))
            groups.join([own, *([("id", user, run["engine"], run["run_id"])] if run["run_id"] else []),
                         *(("task", user, task) for task in run["tasks"] if HASH.fullmatch(task))])
            seen.append((part, run, own))
    refused += [problem.problems[0].what for problem in problems]
    together: dict[Any, list[tuple[Part, dict[str, Any]]]] = defaultdict(list)
    for part, run, own in seen:
        together[groups.top(own)].append((part, run))
    return sorted((_one(each, series) for each in together.values()), key=lambda run: run.begin_unix_ns, reverse=True)


def find_run(store: Store, name: str) -> LakeRun:
    """By its name, its pipeline or its key. Raises InvalidArgumentError."""
    refused: list[str] = []
    runs = [run for run in runs_of(store, None, refused) if name in (run.run_key, run.run, run.pipeline)]
    exact = [run for run in runs if name == run.run_key] or [run for run in runs if name == run.run] or runs
    if len(exact) == 1:
        return exact[0]
    if not exact:
        unread = f"; but {len(refused)} objects can't be read: {refused[0]}" if refused else ""
        raise InvalidArgumentError(f"the lake has no run {name}{unread}", "'tracer lake runs' lists those that it has")
    raise InvalidArgumentError(f"{len(exact)} runs are called {name}: {', '.join(run.run_key or run.name for run in exact[:5])}",
                               "name one by its key")


def _one(seen: list[tuple[Part, dict[str, Any]]], series: dict[tuple[str, ...], dict[int, Part]]) -> LakeRun:
    # What its engine's host says of it; where only tasks were seen, the first of them.
    _, head = max(seen, key=lambda each: (each[1]["begin_unix_ns"] is not None and each[1]["engine"] is not None, bool(each[1]["run"]),
                                          each[1]["end_unix_ns"] or 0))
    numbers: dict[tuple[str, ...], list[int]] = defaultdict(list)
    keys: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for part, run in seen:
        numbers[part.series].append(part.number)
        keys[part.series].update([run["run_key"]] if run["run_key"] else [])
    parts = [part for of, own in numbers.items() for number, part in series[of].items() if min(own) <= number <= max(own)]
    tasks: dict[str, int] = {}
    for _, run in seen:
        for task, state in run["tasks"].items():
            tasks[task] = max(state, tasks.get(task, 0))
    begins = [run["begin_unix_ns"] or run["first_unix_ns"] for _, run in seen]
    return LakeRun(head["run_key"], head["run"], head["pipeline"], head["engine"], head["user"],
                   sorted({part.host for part, _ in seen}), min(begins), head["end_unix_ns"],
                   max(run["last_unix_ns"] for _, run in seen), head["outcome"] or "not ended",
                   sum(state > 0 for state in tasks.values()), sum(state > 1 for state in tasks.values()), sorted(parts), dict(keys))
