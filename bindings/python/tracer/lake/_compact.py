# SPDX-License-Identifier: Apache-2.0
"""`tracer lake compact`: from sealed parts to tables, each row once."""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from .._errors import InvalidArgumentError, LakeError, TracerError
from .._tables import _package
from ._delta import append, explained, make, opened
from ._delta import replace as replace_rows
from ._layout import RAW, Part, part_of
from ._looks import Looks
from ._part import gap_of, opened_part
from ._rows import MINUTES, OF_OPTIONS, TABLES, Rows, schema_of
from ._store import Store, open_store
from ._users import users_of

if TYPE_CHECKING:
    import pyarrow  # type: ignore[import-untyped,import-not-found,unused-ignore]

__all__ = ["Compaction", "compact", "marks_of", "run"]

_MOST_BYTES = 128 << 20
"""Of rows that are held before they are written."""
_MOST_REFUSALS = 100
_LEADS = "processes"
"""It is written last: what it has, all have, but tables that are new or were moved away."""
_CAUGHT_UP = "all"
"""As if a series: in a table that has had all that lay in raw once."""
_ONCE = {"hosts": ("boot_id", "session_id"), "losses": ("boot_id", "session_id", "time_ns", "cause", "count", "first_ns", "uid")}
"""What makes a row: the recordings of all owners of a session have it."""


@dataclass
class Compaction:
    """What one has done."""

    parts: int = 0
    rows: dict[str, int] = field(default_factory=dict)
    waiting: dict[str, str] = field(default_factory=dict)
    """Series -> why parts of it wait."""
    begun: list[str] = field(default_factory=list)
    """Tables that others are ahead of: they were moved away, or are new in this version."""
    problems: list[TracerError] = field(default_factory=list)


def compact(lake: str, more: tuple[str, ...] = ()) -> Compaction:
    """Brings all parts that lie there into the tables. `more`: tables of options that are to be made. Raises LakeError.

    Any number of them may run at once, and each may be killed at any time."""
    store, done = open_store(lake), Compaction()
    users = users_of(store, done.problems)
    names = (*TABLES, *(name for name in OF_OPTIONS if name in more or opened(lake, name) is not None))
    _write_users(lake, users)
    series = _series_of(store, done.problems)
    refusals = 0
    while True:
        step = _Step(store, lake, names, users, done)
        try:
            whole = step.fill(series)
        except KeyError as gone:
            if not str(gone.args[0]).startswith(RAW):
                raise
            # Another has taken a part and removed it.
            series, whole = _series_of(store, []), None
        if whole is not None and step.write():
            if whole:
                return done
            refusals = 0
            continue
        refusals += 1
        if refusals == _MOST_REFUSALS:
            raise LakeError.of("TRC151", None, f"{refusals} times another has written tables of {lake} first", "run fewer compactions at once")
        time.sleep(random.uniform(0, min(2.0, 0.05 * 2 ** min(refusals, 6))))


def run(options: argparse.Namespace) -> tuple[str, int]:
    """`tracer lake compact`. The status is 1 where something can't be taken."""
    from ._retain import keep

    for name in ("keep_raw", "keep_tables"):
        if getattr(options, name) is not None and getattr(options, name) < 1:
            raise InvalidArgumentError(f"--{name.replace('_', '-')} is a number of days, 1 or more", "")
    more = tuple(name for name in OF_OPTIONS if getattr(options, name))
    done = compact(options.lake, more)
    gone = keep(options.lake, options.keep_raw, options.keep_tables)
    lines = [f"{done.parts} parts: " + ", ".join(f"{count} {name}" for name, count in done.rows.items() if count)] if done.parts else []
    lines += [f"{name} is new: it has what lies in raw, and not what has gone from there" for name in done.begun]
    lines += [f"{gone} raw objects are removed"] if gone else []
    lines += [f"{series} waits: {why}" for series, why in done.waiting.items()]
    lines += [str(problem) for problem in done.problems]
    return "".join(f"{line}\n" for line in lines or ["nothing new"]), 1 if done.problems else 0


class _Step:
    """As many parts as fit in memory, decided by one look at each table, and written by the same look."""

    def __init__(self, store: Store, lake: str, names: tuple[str, ...], users: Mapping[str, dict[str, str]], done: Compaction) -> None:
        self._store, self._lake, self._names, self._users, self._done = store, lake, names, users, done
        self._looked = {name: make(lake, name, schema_of(name)) for name in names}
        self._rows, self._looks = Rows(names), Looks(store)
        self._marks: dict[str, dict[str, int]] = {}
        self._parts = 0
        self._behind = [name for name in TABLES if self._looked[name].transaction_version(_CAUGHT_UP) is None]
        if len(self._behind) < len(TABLES):
            self._done.begun = self._done.begun or self._behind

    def fill(self, series: Mapping[tuple[str, str, str, str], dict[int, dict[str, Part]]]) -> bool:
        """False: there is more than fits."""
        held_up = False
        for of, parts in series.items():
            name = app = "/".join(of)
            lead = self._looked[_LEADS].transaction_version(app) or 0
            if lead >= max(parts) and not self._behind:
                continue
            marks = marks_of(self._looked, app)
            self._done.waiting.pop(name, None)
            at = min(marks.values())
            while self._rows.bytes < _MOST_BYTES and at < max(parts):
                try:
                    next_at = self._take(app, parts, at, marks)
                except LakeError as error:
                    if not any(str(error) == str(other) for other in self._done.problems):
                        self._done.problems.append(error)
                    self._done.waiting[name] = f"part {at + 1} can't be taken"
                    break
                if next_at is None:
                    self._done.waiting[name] = f"part {at + 1} is not there"
                    break
                at = next_at
            held_up |= at < lead
            if self._rows.bytes >= _MOST_BYTES:
                return False
        for table in () if held_up else self._behind:
            self._mark(_CAUGHT_UP, [table], 1)
        return True

    def _take(self, app: str, parts: Mapping[int, dict[str, Part]], at: int, marks: Mapping[str, int]) -> int | None:
        """The last part that is in now. None: the next one is missing."""
        part = parts.get(at + 1, {}).get("tracer")
        if part is not None:
            names = [name for name in self._names if marks[name] <= at]
            looks = self._looks.at(app, marks[MINUTES]) if MINUTES in names else []
            with opened_part(self._store, RAW + part.path, part) as recording:
                looks = self._rows.read(recording, names, part, self._users.get(part.host, {}), looks)
            if MINUTES in names:
                self._looks.set(app, looks)
            self._mark(app, names, at + 1)
            self._parts += 1
            return at + 1
        behind = min((number for number, kinds in parts.items() if number > at and "tracer" in kinds), default=None)
        for number in sorted(number for number, kinds in parts.items() if number > at and "gap" in kinds):
            gap = gap_of(self._store, RAW + parts[number]["gap"].path, parts[number]["gap"])
            if gap.first <= at + 1:
                # What lies there is not dropped, and what comes nevertheless is taken, whatever the gap says: only losses are ahead of it.
                last = gap.last if behind is None else min(gap.last, behind - 1)
                names = [name for name in (self._names if behind is not None else ("losses",)) if marks[name] < last]
                if "losses" in names:
                    self._rows.add_gap(replace(gap, first=max(at, marks["losses"]) + 1, last=last), parts[number]["gap"])
                if MINUTES in names:
                    self._looks.at(app, marks[MINUTES])
                self._mark(app, names, last)
                return last
        # What was in and is removed from raw: a table that has begun again goes on behind it.
        known = max(marks.values())
        return None if known <= at else known if behind is None else min(known, behind - 1)

    def _mark(self, app: str, names: list[str], number: int) -> None:
        for name in names:
            self._marks.setdefault(name, {})[app] = number

    def write(self) -> bool:
        """False: another was first somewhere; what is written stays."""
        for name in sorted(self._marks, key=lambda each: each == _LEADS):
            rows = self._rows.take(name)
            if name in _ONCE:
                rows = _once(rows, _ONCE[name], self._looked[name])
            if name == MINUTES:
                self._looks.put(self._marks[name])
            if not append(self._looked[name], rows, self._marks[name]):
                return False
            self._done.rows[name] = self._done.rows.get(name, 0) + rows.num_rows
        self._looks.remove_old()
        self._done.parts += self._parts
        return True


def marks_of(tables: Mapping[str, Any], app: str) -> dict[str, int]:
    """Table -> up to which part of a series it is. One of an option has what comes from its first compaction on."""
    # To ask one that nothing is in takes as long.
    known = {name: table.transaction_version(app) if table.version() else None for name, table in tables.items()}
    lead = known[_LEADS] or 0
    return {name: number if number is not None else lead if name in OF_OPTIONS else 0 for name, number in known.items()}


def _once(rows: pyarrow.Table, key: tuple[str, ...], table: Any) -> pyarrow.Table:
    """Without those that are there already, or twice here. What has no time is no event: it is one series' own."""
    def keys(of: pyarrow.Table) -> Iterator[tuple[Any, ...]]:
        return zip(*(of[name].to_pylist() if name in of.column_names else [None] * of.num_rows for name in key))

    if not rows.num_rows:
        return rows
    there = [field.name for field in table.schema().fields if field.name in key]
    seen = set(keys(table.to_pyarrow_table(columns=there, filters=[("session_id", "in", rows["session_id"].unique().to_pylist())])))
    new = []
    for each in keys(rows):
        new.append(each not in seen or "time_ns" in key and each[key.index("time_ns")] is None)
        seen.add(each)
    return rows.filter(_package("pyarrow").array(new))


def _series_of(store: Store, problems: list[TracerError]) -> dict[tuple[str, str, str, str], dict[int, dict[str, Part]]]:
    """Series -> number -> kind -> part. `problems` gets which folders may not be read."""
    found: dict[tuple[str, str, str, str], dict[int, dict[str, Part]]] = {}
    for key, _ in store.list(RAW, problems):
        part = part_of(key[len(RAW):])
        if part is not None:
            found.setdefault(part.series, {}).setdefault(part.number, {})[part.kind] = part
    return dict(sorted(found.items()))


@explained()
def _write_users(lake: str, users: Mapping[str, Mapping[str, str]]) -> None:
    """Those of now; the column `user` of a row is the name of then."""
    pyarrow = _package("pyarrow")

    rows = pyarrow.table({
        "host_name": [host for host, names in users.items() for _ in names],
        "uid": pyarrow.array([int(uid) for names in users.values() for uid in names], pyarrow.int64()),
        "user": [name for names in users.values() for name in names.values()],
    }, pyarrow.schema([("host_name", pyarrow.string()), ("uid", pyarrow.int64()), ("user", pyarrow.string())]))
    table = make(lake, "users", rows.schema)
    if not table.to_pyarrow_table().sort_by("host_name").equals(rows):
        replace_rows(table, rows, None)
