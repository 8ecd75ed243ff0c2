# SPDX-License-Identifier: Apache-2.0
"""Rows of the lake's tables, out of a part: docs/lake.md, Tables."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from .. import _core
from .._recording import Recording
from .._tables import Table, _package
from ._layout import Part
from ._part import Gap

if TYPE_CHECKING:
    import pyarrow  # type: ignore[import-untyped,import-not-found,unused-ignore]

__all__ = ["OF_OPTIONS", "SORTED_BY", "TABLES", "rows_of", "rows_of_damage", "rows_of_gap", "schema_of", "stored"]

_START = {"processes": "begin_ns", "tasks": "begin_ns", "runs": "begin_ns", "submits": "submitted_ns", "findings": "first_ns",
          "host_samples": "since_ns", "containers": "begin_ns", "losses": "first_ns", "hosts": None, "files": "first_open_ns",
          "connections": None}
"""Table -> the column that becomes start_time."""
_KINDS = {"processes": ("process_exit",), "tasks": ("task_finish",), "runs": ("run_finish",), "submits": ("task_submit",),
          "findings": ("finding",), "host_samples": ("host_sample",), "containers": ("container_start", "container_finish"),
          "losses": ("loss",), "hosts": ("loss",), "files": ("file_use",), "connections": ("connection",)}
"""Table -> the events that it is made of."""
OF_OPTIONS = ("files", "connections")
TABLES = tuple(name for name in _START if name not in OF_OPTIONS)
_ALWAYS = ("date", "host_name", "boot_id", "session_id", "part", "start_time", "end_time", "owner_uid", "user")
SORTED_BY = ("run", "step", "tool", "start_time")
_ENDS = ("end_ns", "last_ns", "last_close_ns")
# What a task_submit has beside its context.
_OF_SUBMIT = ("state", "submitted_ns", "outcome", "exit_code", "requested_millicpus", "requested_memory_bytes", "requested_time_ns",
              "requested_container", "requested_tag", "expected")


def rows_of(recording: Recording, name: str, part: Part, last_unix_ns: int, users: dict[str, str]) -> pyarrow.Table | None:
    """The rows of a table, None: it has none. `users`: the names of the host's uids."""
    def open_reader() -> _core.RecordingReader:
        reader = recording.open_reader()
        # All others need not be decoded.
        reader.keep_only(_KINDS[name])
        return reader

    found = _package("pyarrow").table(Table(open_reader, "events" if name == "submits" else name, only_ended=name == "processes"))
    if not found.num_rows:
        return None
    return _completed(found.select(_columns_of_submits()) if name == "submits" else found, name, part, last_unix_ns, users)


@cache
def schema_of(name: str) -> pyarrow.Schema:
    """Of a table that is new."""
    pyarrow = _package("pyarrow")

    source = pyarrow.schema(_Capsule(name))
    if name == "submits":
        source = pyarrow.schema([source.field(column) for column in _columns_of_submits()])
    nobody = Part("", "", "all", "", 0, "tracer")
    schema = stored(_completed(source.empty_table(), name, nobody, 0, {})).schema
    return pyarrow.schema([each.with_type(each.type.value_type) if pyarrow.types.is_dictionary(each.type) else each for each in schema])


def rows_of_gap(gap: Gap, part: Part) -> pyarrow.Table:
    """A row of `losses`: parts that the host has dropped."""
    return _loss(part, gap.cause, gap.last - gap.first + 1, gap.first_unix_ns, gap.last_unix_ns)


def rows_of_damage(damaged: int, part: Part, last_unix_ns: int) -> pyarrow.Table:
    """A row of `losses`: pieces of the part that can't be read."""
    return _loss(part, "damaged_part", damaged, None, last_unix_ns)


def _loss(part: Part, cause: str, count: int, first_unix_ns: int | None, last_unix_ns: int | None) -> pyarrow.Table:
    pyarrow = _package("pyarrow")

    row = pyarrow.table({"time_unix_ns": pyarrow.array([last_unix_ns], pyarrow.uint64()), "cause": pyarrow.array([cause]).dictionary_encode(),
                         "count": pyarrow.array([count], pyarrow.uint64())})
    done = _completed(row, "losses", part, last_unix_ns or first_unix_ns or 0, {})
    if first_unix_ns is not None:
        at = done.column_names.index("start_time")
        done = done.set_column(at, "start_time", pyarrow.array([first_unix_ns // 1000], pyarrow.timestamp("us", "UTC")))
    return done


def _columns_of_submits() -> list[str]:
    of_context = [column for column, *_ in _core.table_columns("tasks")]
    return [*of_context[:of_context.index("pid")], *_OF_SUBMIT]


class _Capsule:
    def __init__(self, name: str) -> None:
        self._name = "events" if name == "submits" else name

    def __arrow_c_schema__(self) -> object:
        return _core.table_schema(self._name)


def stored(rows: pyarrow.Table) -> pyarrow.Table:
    """Rows of many parts, as they are written: with signed numbers only, which all engines read: what is more than they hold becomes the most that they do."""
    pyarrow = _package("pyarrow")
    compute = _package("pyarrow.compute")

    def signed(kind: Any) -> Any:
        if pyarrow.types.is_unsigned_integer(kind):
            return pyarrow.int64()
        if pyarrow.types.is_list(kind):
            return pyarrow.list_(signed(kind.value_type))
        if pyarrow.types.is_struct(kind):
            return pyarrow.struct([pyarrow.field(each.name, signed(each.type)) for each in kind])
        return pyarrow.string() if pyarrow.types.is_dictionary(kind) and not pyarrow.types.is_string(kind.value_type) else kind

    columns = {}
    rows = rows.unify_dictionaries()
    for field, column in zip(rows.schema, rows.columns):
        kind = signed(field.type)
        if column.null_count == rows.num_rows > 0 and field.name not in _ALWAYS:
            # Absent is null.
            continue
        if kind != field.type:
            try:
                column = column.cast(kind)
            except pyarrow.ArrowInvalid:
                most = pyarrow.scalar((1 << 63) - 1, column.type)
                column = compute.min_element_wise(column, most, skip_nulls=False).cast(kind)
        columns[field.name] = column
    return pyarrow.table(columns)


def _completed(rows: pyarrow.Table, name: str, part: Part, last_unix_ns: int, users: dict[str, str]) -> pyarrow.Table:
    """With the columns that each row of a lake has."""
    pyarrow = _package("pyarrow")
    compute = _package("pyarrow.compute")

    def same(value: object, kind: Any) -> Any:
        return pyarrow.repeat(pyarrow.scalar(value, kind), rows.num_rows)

    def column(wanted: str) -> Any:
        return rows[wanted].cast(pyarrow.int64(), safe=False) if wanted in rows.column_names else same(None, pyarrow.int64())

    microseconds, text = pyarrow.timestamp("us", "UTC"), pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
    unix = compute.coalesce(column("time_unix_ns"), pyarrow.scalar(last_unix_ns, pyarrow.int64()))
    offset = compute.subtract(column("time_unix_ns"), column("time_ns"))

    def time_of(ns: Any) -> Any:
        return compute.divide(ns, 1000).cast(microseconds)

    ends = [column(each) for each in _ENDS if each in rows.column_names]
    start = _START[name]
    owner = None if part.owner == "all" else int(part.owner)
    owners = compute.coalesce(column("owner_uid"), pyarrow.scalar(owner, pyarrow.int64()))
    added = {
        "date": unix.cast(pyarrow.timestamp("ns")).cast(pyarrow.date32(), safe=False),
        "host_name": same(part.host, pyarrow.string()), "boot_id": same(part.boot, pyarrow.string()),
        "session_id": same(part.session, pyarrow.string()), "part": same(part.number, pyarrow.int64()),
        "start_time": time_of(compute.add(column(start), offset)) if start else same(None, microseconds),
        "end_time": time_of(compute.coalesce(*(compute.add(each, offset) for each in ends), unix)),
        "owner_uid": owners,
        "user": _names(compute.coalesce(owners, column("uid")), users).cast(text),
    }
    kept = {each: values for each, values in zip(rows.column_names, rows.columns) if each not in added}
    return pyarrow.table({**added, **kept})


def _names(uids: Any, users: dict[str, str]) -> Any:
    pyarrow = _package("pyarrow")
    compute = _package("pyarrow.compute")

    known = pyarrow.array([int(uid) for uid in users], pyarrow.int64())
    at = compute.index_in(uids, value_set=known, skip_nulls=True)
    return compute.take(pyarrow.array(list(users.values()), pyarrow.string()), at.combine_chunks() if hasattr(at, "combine_chunks") else at)
