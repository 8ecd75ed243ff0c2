# SPDX-License-Identifier: Apache-2.0
"""Tables of recordings and sessions, for pandas, polars, pyarrow, duckdb and other readers of Arrow's C interface.

docs/tables.md lists the columns. An unknown value is null, never 0. Only the packages that you ask for are needed.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from . import _core
from ._arguments import text_of
from ._errors import MissingPackageError, Problem
from ._format import counted, visible

if TYPE_CHECKING:
    import duckdb  # type: ignore[import-untyped,import-not-found,unused-ignore]
    import pandas  # type: ignore[import-untyped,import-not-found,unused-ignore]
    import polars  # type: ignore[import-untyped,import-not-found,unused-ignore]
    import pyarrow  # type: ignore[import-untyped,import-not-found,unused-ignore]

    from ._source import Source

__all__ = ["Batch", "NAMES", "Table", "sql"]

NAMES = ("processes", "programs", "samples", "tasks", "runs", "events", "losses", "hosts", "files",
         "connections", "containers", "devices", "findings", "syscalls", "gpus",
         "host_samples", "gpu_uses")

_ROWS_PER_BATCH = 65536
_ROWS_SHOWN = 10
_COLUMNS_SHOWN = 24
# Where there are more: that somebody asks for by name.
_SHOWN_LAST = ("provenance_", "program_", "ledger_", "process_ledger_", "cgroup_", "parent_start_ns", "pid_namespace",
               "mount_namespace", "engine_own", "rules", "overruled")
_MOST_IN_CELL = 80


class Table:
    """One table of a recording or of a live session.

    Nothing is read before you ask for it. Each call reads again, in bounded memory, without holding the GIL, and raises
    RecordingError if the recording can't be read to its end; damage inside is skipped (see the recording's `damage`).
    Several threads may use it at once.
    """

    __slots__ = ("_name", "_only_ended", "_open_reader")

    def __init__(self, open_reader: Callable[[], _core.RecordingReader], name: str, only_ended: bool = False) -> None:
        """Of what `open_reader` gives, a new reader each time. Recordings and sessions make these."""
        _core.table_columns(text_of("table", name))
        self._open_reader = open_reader
        self._name = name
        self._only_ended = only_ended

    @property
    def name(self) -> str:
        """"processes", "programs" …"""
        return self._name

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns."""
        return tuple(name for name, _, _ in _core.table_columns(self._name))

    @property
    def schema(self) -> dict[str, str]:
        """The type of each column: "uint64", "uint32", "int32", "bool", "text" (a dictionary of texts), "list of text",
        "list of struct of name, value"."""
        return {
            name: "text" if kind == "dictionary" else kind for name, kind, _ in _core.table_columns(self._name)
        }

    def __arrow_c_schema__(self) -> object:
        """A capsule of the table's schema."""
        return _core.table_schema(self._name)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """A capsule of a fresh stream, which reads from the beginning. `requested_schema` is not followed."""
        return self._stream()[0]

    def count_rows(self) -> int:
        """The number of rows. Reads the whole table."""
        return sum(batch.rows for batch in self._batches())

    def rows(self) -> Iterator[dict[str, Any]]:
        """Each row as a dict, one batch in memory at a time. Unknown values are None."""
        for batch in self._batches():
            columns = batch.columns()
            names = [column.name for column in columns]
            for row in zip(*(column.values() for column in columns)):
                yield dict(zip(names, row))

    def to_dicts(self) -> list[dict[str, Any]]:
        """All rows, in a list; see rows()."""
        return list(self.rows())

    def to_pandas(self) -> pandas.DataFrame:
        """A DataFrame with nullable dtypes, and Categoricals for texts. Needs pandas, but not pyarrow."""
        pandas = _package("pandas")
        numpy = _package("numpy")
        batches = [(batch.rows, batch.columns()) for batch in self._batches()]
        columns = {}
        for at, (name, kind, nullable) in enumerate(_core.table_columns(self._name)):
            parts = [(rows, columns_of_batch[at]) for rows, columns_of_batch in batches]
            columns[name] = _pandas_column(pandas, numpy, kind, nullable, parts)
        return pandas.DataFrame(columns, copy=False)

    def to_arrow(self) -> pyarrow.Table:
        """A pyarrow.Table, without a copy. Needs pyarrow."""
        pyarrow = _package("pyarrow")
        return self._read(lambda stream: pyarrow.table(stream))

    def to_polars(self) -> polars.DataFrame:
        """A polars.DataFrame. Needs polars, but not pyarrow."""
        package = _package("polars")
        frame: polars.DataFrame = self._read(lambda stream: package.DataFrame(stream))
        return frame

    def __repr__(self) -> str:
        return f"<tracer.{type(self).__name__} {self._name}: {len(self.columns)} columns>"

    def _repr_html_(self) -> str:
        """The first rows, with the columns that have values there."""
        first: list[dict[str, Any]] = []
        for batch in self._batches(_ROWS_SHOWN + 1):
            columns = [(column.name, column.values()) for column in batch.columns()]
            first = [{name: values[row] for name, values in columns} for row in range(batch.rows)]
            break
        more = len(first) > _ROWS_SHOWN
        del first[_ROWS_SHOWN:]
        # A zero is a figure: only what is not known is left out.
        names = [name for name in self.columns if any(row[name] is not None and row[name] != [] for row in first)]
        first_names = sorted(names, key=lambda name: name.startswith(_SHOWN_LAST))[:_COLUMNS_SHOWN]
        shown = [name for name in names if name in first_names]
        cell = _cell_of
        head = "".join(f"<th>{html.escape(name)}</th>" for name in shown)
        body = "".join("<tr>" + "".join(f"<td>{cell(row[name])}</td>" for name in shown) + "</tr>" for row in first)
        rest = f"the first {_ROWS_SHOWN} rows" if more else counted(len(first), "row")
        hidden = len(self.columns) - len(shown)
        return (
            f"<table><caption>{self._name}: {rest}; {counted(hidden, 'column')} not shown</caption>"
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        )

    def _batches(self, rows_per_batch: int = _ROWS_PER_BATCH) -> _core.BatchReader:
        return _core.BatchReader(*self._stream(rows_per_batch))

    def _stream(self, rows_per_batch: int = _ROWS_PER_BATCH) -> tuple[object, _core.StreamStatus]:
        """A capsule, and what tells why its stream has failed."""
        return _core.table_stream(self._open_reader(), self._name, rows_per_batch, self._only_ended)

    def _read(self, by: Callable[[_Stream], Any]) -> Any:
        """Has `by` read a stream, and raises what the library says when that fails."""
        capsule, status = self._stream()
        try:
            return by(_Stream(capsule))
        except Exception:
            status.raise_problem()
            raise


class Batch(Table):
    """Rows that a session has delivered. Holds them in memory: as a Table, and as an Arrow array."""

    __slots__ = ("_held",)

    def __init__(self, held: _core.HeldBatch) -> None:
        """For the package's own use: take batches from a session."""
        self._name = held.table
        self._held = held

    def _stream(self, rows_per_batch: int = _ROWS_PER_BATCH) -> tuple[object, _core.StreamStatus]:
        return self._held.stream()

    def __len__(self) -> int:
        return self._held.rows

    def count_rows(self) -> int:
        """The number of rows."""
        return self._held.rows

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        """Capsules of the schema and of an array of structs. `requested_schema` is not followed."""
        return _core.table_schema(self._name), self._held.array()


def sql(source: Source, query: str) -> duckdb.DuckDBPyRelation:
    """The result of `query` by duckdb; it names the tables of `source` by their names.

    Returns a relation: .df(), .pl(), .fetchall() … run the query. Needs duckdb. Raises RecordingError and
    SessionClosedError as the tables do, and duckdb's own errors.
    """
    text_of("query", query)
    from ._data import register

    # Were it only found out inside the query, duckdb would say something else.
    source.open_reader()
    connection = _package("duckdb").connect(":memory:")
    for name in NAMES:
        register(connection, source, name)
    relation: duckdb.DuckDBPyRelation = connection.sql(query)
    return relation


class _Stream:
    """A stream for one reader."""

    __slots__ = ("_capsule",)

    def __init__(self, capsule: object) -> None:
        self._capsule = capsule

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._capsule


def _package(name: str) -> Any:
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError as error:
        what = f"this needs the package {name}, which can't be imported: {error}"
        raise MissingPackageError([Problem("TRC101", None, what, f"pip install {name}", "")]) from error


def _pandas_column(pandas: Any, numpy: Any, kind: str, nullable: bool, parts: list[tuple[int, Any]]) -> Any:
    if kind.startswith("list"):
        return _objects(numpy, [value for _, column in parts for value in column.values()])
    if kind == "text":
        return _objects(numpy, [value for _, column in parts for value in column.values()])
    if kind == "dictionary":
        return _categorical(pandas, numpy, parts)
    if kind == "bool":
        values = _joined(numpy, [_bits(numpy, column.numbers(), rows) for rows, column in parts], "bool")
    else:
        values = _joined(numpy, [numpy.asarray(column.numbers()) for _, column in parts], kind)
    if not nullable:
        return values
    nulls = _joined(numpy, [_nulls(numpy, rows, column) for rows, column in parts], "bool")
    array = pandas.arrays.BooleanArray if kind == "bool" else pandas.arrays.IntegerArray
    return array(values, nulls)


def _joined(numpy: Any, parts: list[Any], dtype: str) -> Any:
    """An own copy, which may be written to."""
    return numpy.concatenate(parts) if parts else numpy.empty(0, dtype)


def _objects(numpy: Any, values: list[Any]) -> Any:
    array = numpy.empty(len(values), object)
    array[:] = values
    return array


def _bits(numpy: Any, buffer: Any, rows: int) -> Any:
    return numpy.unpackbits(numpy.asarray(buffer), count=rows, bitorder="little").astype(bool)


def _nulls(numpy: Any, rows: int, column: Any) -> Any:
    validity = column.validity()
    return numpy.zeros(rows, bool) if validity is None else ~_bits(numpy, validity, rows)


def _categorical(pandas: Any, numpy: Any, parts: list[tuple[int, Any]]) -> Any:
    """Each batch has a dictionary of its own."""
    place_of: dict[str, int] = {}
    codes = []
    for rows, column in parts:
        if column.nulls == rows:
            codes.append(numpy.full(rows, -1, numpy.int32))
            continue
        texts = column.dictionary()
        places = numpy.array([place_of.setdefault(text, len(place_of)) for text in texts], numpy.int32)
        of_batch = places[numpy.asarray(column.numbers())]
        if column.nulls:
            of_batch[_nulls(numpy, rows, column)] = -1
        codes.append(of_batch)
    return pandas.Categorical.from_codes(_joined(numpy, codes, "int32"), categories=list(place_of))


def _cell_of(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        value = " ".join(str(item) for item in value)
    return html.escape(visible(str(value), _MOST_IN_CELL))
