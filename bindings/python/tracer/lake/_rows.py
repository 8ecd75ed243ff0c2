# SPDX-License-Identifier: Apache-2.0
"""Rows of the lake's tables, out of parts: docs/lake.md, Tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import _core
from .._recording import Recording
from .._tables import _package
from ._layout import Part
from ._part import Gap

if TYPE_CHECKING:
    import pyarrow  # type: ignore[import-untyped,import-not-found,unused-ignore]

__all__ = ["MINUTES", "OF_OPTIONS", "SORTED_BY", "TABLES", "Look", "Rows", "known", "schema_of"]

Look = tuple[int, int, int, list["int | None"], list[int]]
"""At a process that lived on: pid, start_ns, when, what it had used by then (cpu_ns, read_bytes, written_bytes), and how much of it in no task."""

MINUTES = "task_minutes"
_START = {"processes": "begin_ns", "tasks": "begin_ns", "runs": "begin_ns", "submits": "submitted_ns", "findings": "first_ns", MINUTES: None,
          "host_samples": "since_ns", "containers": "begin_ns", "losses": "first_ns", "hosts": None, "files": "first_open_ns",
          "connections": None}
"""Table -> the column that becomes start_time."""
OF_OPTIONS = ("files", "connections")
TABLES = tuple(name for name in _START if name not in OF_OPTIONS)
_ALWAYS = ("date", "host_name", "boot_id", "session_id", "part", "start_time", "end_time", "owner_uid", "user")
SORTED_BY = ("run", "step", "tool", "start_time")
_ENDS = ("end_ns", "last_ns", "last_close_ns")
# What a task_submit has beside its context.
_OF_SUBMIT = ("state", "submitted_ns", "outcome", "exit_code", "requested_millicpus", "requested_memory_bytes", "requested_time_ns",
              "requested_container", "requested_tag", "expected")
# Likewise what a minute is told by.
_OF_MINUTE = ("cpu_ns", "read_bytes", "written_bytes", "processes", "held_bytes")
_MINUTE_NS = 60_000_000_000


class _Run(NamedTuple):
    """Rows that follow each other, of one part."""

    rows: int
    part: Part
    last_unix_ns: int
    users: Mapping[str, str]


class Rows:
    """Of several tables and parts, until they are written."""

    def __init__(self, names: Iterable[str]) -> None:
        self._gathered = _gathered(tuple(names))
        self._runs: dict[str, list[_Run]] = {name: [] for name in names}
        self._more: dict[str, list[pyarrow.Table]] = {name: [] for name in names}

    @property
    def bytes(self) -> int:
        return self._gathered.bytes()

    def read(self, recording: Recording, names: list[str], part: Part, users: Mapping[str, str], looks: list[Look]) -> list[Look]:
        """Takes the rows of a part for these tables. `users`: the names of the host's uids; `looks`: at what lived on when
        the part before it ended. Returns those of its own end."""
        reader = recording.open_reader()
        counts, looks = self._gathered.read(reader, names, looks)
        last_unix_ns = reader.closed_unix_ns() or recording.host.wall_offset_ns
        for name, count in counts.items():
            if count:
                self._runs[name].append(_Run(count, part, last_unix_ns, users))
        skipped_bytes, _, missing_frames, read_error, _ = reader.damage()
        damaged = missing_frames or (1 if skipped_bytes or read_error else 0)
        if damaged and "losses" in names:
            self._more["losses"].append(_loss(part, "damaged_part", damaged, None, last_unix_ns))
        return looks

    def add_gap(self, gap: Gap, part: Part) -> None:
        """Parts that the host has dropped."""
        self._more["losses"].append(_loss(part, gap.cause, gap.last - gap.first + 1, gap.first_unix_ns, gap.last_unix_ns))

    def take(self, name: str) -> pyarrow.Table:
        pyarrow = _package("pyarrow")

        tables = [pyarrow.Table.from_batches([pyarrow.record_batch(batch)]) for batch in self._gathered.take(name)]
        runs, self._runs[name] = self._runs[name], []
        if tables:
            tables = [_completed(pyarrow.concat_tables(tables, promote_options="default"), name, runs)]
        return pyarrow.concat_tables([*tables, *self._more.pop(name)] or [schema_of(name).empty_table()], promote_options="default")


@cache
def schema_of(name: str) -> pyarrow.Schema:
    """Of a table that is new."""
    pyarrow = _package("pyarrow")

    rows = pyarrow.schema(_Capsule(_gathered((name,)).schema(name))).empty_table()
    schema = _completed(rows, name, []).schema
    return pyarrow.schema([each.with_type(each.type.value_type) if pyarrow.types.is_dictionary(each.type) else each for each in schema])


def known(rows: pyarrow.Table) -> pyarrow.Table:
    """Without columns in which no row has a value: absent is null."""
    return rows.select([name for name, column in zip(rows.column_names, rows.columns)
                        if name in _ALWAYS or not column.null_count == rows.num_rows > 0])


def _gathered(names: tuple[str, ...]) -> _core.GatheredTables:
    of_task = [column for column, *_ in _core.table_columns("tasks")]
    of_context = of_task[:of_task.index("pid")]
    sources = {"processes": ("processes", ["process_exit"], []), "submits": ("events", ["task_submit"], [*of_context, *_OF_SUBMIT]),
               MINUTES: ("samples", ["tool_sample"], [*of_context, *_OF_MINUTE])}
    return _core.GatheredTables({name: sources.get(name, (name, [], [])) for name in names})


class _Capsule:
    def __init__(self, schema: object) -> None:
        self._schema = schema

    def __arrow_c_schema__(self) -> object:
        return self._schema


def _loss(part: Part, cause: str, count: int, first_unix_ns: int | None, last_unix_ns: int | None) -> pyarrow.Table:
    pyarrow = _package("pyarrow")

    row = pyarrow.table({"time_unix_ns": pyarrow.array([last_unix_ns], pyarrow.int64()), "cause": pyarrow.array([cause]).dictionary_encode(),
                         "count": pyarrow.array([count], pyarrow.int64())})
    done = _completed(row, "losses", [_Run(1, part, last_unix_ns or first_unix_ns or 0, {})])
    if first_unix_ns is not None:
        at = done.column_names.index("start_time")
        done = done.set_column(at, "start_time", pyarrow.array([first_unix_ns // 1000], pyarrow.timestamp("us", "UTC")))
    return done


def _completed(rows: pyarrow.Table, name: str, runs: list[_Run]) -> pyarrow.Table:
    """With the columns that each row of a lake has."""
    pyarrow = _package("pyarrow")
    compute = _package("pyarrow.compute")

    number, microseconds = pyarrow.int64(), pyarrow.timestamp("us", "UTC")
    ends = pyarrow.array(accumulate(run.rows for run in runs), pyarrow.int32())

    def each(values: Iterable[object], kind: Any = number) -> Any:
        return compute.run_end_decode(pyarrow.RunEndEncodedArray.from_arrays(ends, pyarrow.array(values, kind)))

    def text(values: Iterable[str]) -> Any:
        return pyarrow.DictionaryArray.from_arrays(each(range(len(runs)), pyarrow.int32()), pyarrow.array(values, pyarrow.string()))

    def column(wanted: str) -> Any:
        return rows[wanted] if wanted in rows.column_names else pyarrow.nulls(rows.num_rows, number)

    def time_of(ns: Any) -> Any:
        return compute.divide(ns, 1000).cast(microseconds)

    unix = compute.coalesce(column("time_unix_ns"), each(run.last_unix_ns for run in runs))
    offset = compute.subtract(column("time_unix_ns"), column("time_ns"))
    owners = compute.coalesce(column("owner_uid"), each(None if run.part.owner == "all" else int(run.part.owner) for run in runs))
    start = _START[name]
    minute = compute.multiply(compute.divide(unix, _MINUTE_NS), _MINUTE_NS)
    over = [compute.add(column(end), offset) for end in _ENDS if end in rows.column_names]
    added = {
        "date": unix.cast(pyarrow.timestamp("ns")).cast(pyarrow.date32(), safe=False),
        "host_name": text(run.part.host for run in runs), "boot_id": text(run.part.boot for run in runs),
        "session_id": text(run.part.session for run in runs), "part": each(run.part.number for run in runs),
        "start_time": time_of(minute if name == MINUTES else compute.add(column(start), offset) if start else pyarrow.nulls(rows.num_rows, number)),
        "end_time": time_of(compute.add(minute, _MINUTE_NS) if name == MINUTES else compute.coalesce(*over, unix)),
        "owner_uid": owners,
        "user": _users(compute.coalesce(owners, column("uid")), runs, each),
    }
    kept = {name: values for name, values in zip(rows.column_names, rows.columns) if name not in added}
    if name == MINUTES:
        for clock in ("time_ns", "time_unix_ns"):
            kept.pop(clock, None)
        kept["memory_bytes"] = kept.pop("held_bytes", pyarrow.nulls(rows.num_rows, number))
        # No snapshot was in this minute.
        kept["processes"] = compute.if_else(compute.equal(column("processes"), 0), None, column("processes"))
    return pyarrow.table({**added, **kept})


def _users(uids: Any, runs: list[_Run], each: Any) -> Any:
    """The names of uids, on the host of each."""
    pyarrow = _package("pyarrow")
    compute = _package("pyarrow.compute")

    names = {run.part.host: run.users for run in runs}
    hosts = {host: at << 32 for at, host in enumerate(names)}
    keys = pyarrow.array([hosts[host] | int(uid) for host, users in names.items() for uid in users], pyarrow.int64())
    texts = pyarrow.array([text for users in names.values() for text in users.values()], pyarrow.string())
    at = compute.index_in(compute.add(uids, each(hosts[run.part.host] for run in runs)), value_set=keys, skip_nulls=True)
    return pyarrow.DictionaryArray.from_arrays(at.combine_chunks() if hasattr(at, "combine_chunks") else at, texts)
