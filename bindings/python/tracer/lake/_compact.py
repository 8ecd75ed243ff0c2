# SPDX-License-Identifier: Apache-2.0
"""`tracer lake compact`: from sealed parts to tables, each row once."""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from .._errors import InvalidArgumentError, LakeError, TracerError
from .._tables import _package
from ._delta import append, explained, make, replace
from ._layout import RAW, Part, part_of
from ._looks import Looks
from ._part import gap_of, opened_part
from ._rows import MINUTES, OF_OPTIONS, TABLES, Rows, schema_of
from ._store import Store, open_store
from ._users import users_of

__all__ = ["Compaction", "compact", "run"]

_MOST_BYTES = 128 << 20
"""Of rows that are held before they are written."""
_MOST_REFUSALS = 100
_LEADS = "processes"
"""It is written last: a table that does not know a series begins where this one is."""


@dataclass
class Compaction:
    """What one has done."""

    parts: int = 0
    rows: dict[str, int] = field(default_factory=dict)
    waiting: dict[str, str] = field(default_factory=dict)
    """Series -> why parts of it wait."""
    problems: list[TracerError] = field(default_factory=list)


def compact(lake: str, more: tuple[str, ...] = ()) -> Compaction:
    """Brings all parts that lie there into the tables. `more`: of files, connections. Raises LakeError.

    Any number of them may run at once, and each may be killed at any time."""
    store, done, names = open_store(lake), Compaction(), (*TABLES, *more)
    users = users_of(store, done.problems)
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
    gone = keep(options.lake, (*TABLES, *more), options.keep_raw, options.keep_tables)
    lines = [f"{done.parts} parts: " + ", ".join(f"{count} {name}" for name, count in done.rows.items() if count)] if done.parts else []
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

    def fill(self, series: Mapping[tuple[str, str, str, str], dict[int, dict[str, Part]]]) -> bool:
        """False: there is more than fits."""
        for of, parts in series.items():
            name = app = "/".join(of)
            lead = self._looked[_LEADS].transaction_version(app) or 0
            if lead >= max(parts):
                continue
            marks = {each: lead if (number := table.transaction_version(app)) is None else number for each, table in self._looked.items()}
            self._done.waiting.pop(name, None)
            at = min(marks.values())
            while self._rows.bytes < _MOST_BYTES and at < max(parts):
                try:
                    at = self._take(app, parts, at, marks)
                except LakeError as error:
                    if not any(str(error) == str(other) for other in self._done.problems):
                        self._done.problems.append(error)
                    self._done.waiting[name] = f"part {at + 1} can't be taken"
                    break
                if -at in range(1, lead + 1):
                    # It was in, and is removed from raw; a table of an option has begun again since.
                    at = lead
                elif at < 0:
                    self._done.waiting[name] = f"part {-at} is not there"
                    break
            if self._rows.bytes >= _MOST_BYTES:
                return False
        return True

    def _take(self, app: str, parts: Mapping[int, dict[str, Part]], at: int, marks: Mapping[str, int]) -> int:
        """The last part that is in now; negative: the one that is missing."""
        part = parts.get(at + 1, {}).get("tracer")
        names = [name for name in self._names if marks[name] <= at]
        if part is not None:
            looks = self._looks.at(app, marks[MINUTES]) if MINUTES in names else []
            # Of a host, there is a row for each session, not for each part.
            again = at > 0 and "gap" not in parts.get(at, {})
            with opened_part(self._store, RAW + part.path, part) as recording:
                looks = self._rows.read(recording, [name for name in names if name != "hosts" or not again], part,
                                        self._users.get(part.host, {}), looks)
            if MINUTES in names:
                self._looks.set(app, looks)
            self._mark(app, names, at + 1)
            self._parts += 1
            return at + 1
        for number in sorted(number for number, kinds in parts.items() if number > at and "gap" in kinds):
            gap = gap_of(self._store, RAW + parts[number]["gap"].path, parts[number]["gap"])
            if gap.first <= at + 1:
                names = [name for name in self._names if marks[name] < gap.last]
                if "losses" in names:
                    self._rows.add_gap(gap, parts[number]["gap"])
                if MINUTES in names:
                    self._looks.at(app, marks[MINUTES])
                self._mark(app, names, gap.last)
                return gap.last
        return -(at + 1)

    def _mark(self, app: str, names: list[str], number: int) -> None:
        for name in names:
            self._marks.setdefault(name, {})[app] = number

    def write(self) -> bool:
        """False: another was first somewhere; what is written stays."""
        for name in sorted(self._marks, key=lambda each: each == _LEADS):
            rows = self._rows.take(name)
            if name == MINUTES:
                self._looks.put(self._marks[name])
            if not append(self._looked[name], rows, self._marks[name]):
                return False
            self._done.rows[name] = self._done.rows.get(name, 0) + rows.num_rows
        self._looks.remove_old()
        self._done.parts += self._parts
        return True


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
        replace(table, rows, None)
