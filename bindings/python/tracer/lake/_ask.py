# SPDX-License-Identifier: Apache-2.0
"""tracer.lake(): the tables of a lake, and the views over them."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import TYPE_CHECKING, Any

from .._arguments import checked_call, text_of
from .._csv import csv_of
from .._data import VIEWS, connect, query, quoted, view_of
from .._errors import InvalidArgumentError, LakeError
from .._tables import _package
from ._delta import files_of, opened
from ._layout import TABLES as TABLES_FOLDER
from ._rows import OF_OPTIONS, TABLES, schema_of
from ._spark import spark_sql
from ._store import open_store

if TYPE_CHECKING:
    import duckdb  # type: ignore[import-untyped,import-not-found,unused-ignore]
    import pandas  # type: ignore[import-untyped,import-not-found,unused-ignore]
    import polars  # type: ignore[import-untyped,import-not-found,unused-ignore]
    import pyarrow  # type: ignore[import-untyped,import-not-found,unused-ignore]

__all__ = ["Lake", "LakeTable", "canonical", "lake", "limit", "parquet_of", "run", "view_over", "write_views"]

_MACROS = Path(__file__).parent / "sql/views.sql"
_OVER_HOSTS = Path(__file__).parent / "sql/tasks_last.sql"
_USED = Path(__file__).parent / "sql/tasks_used.sql"
# What can be made of these tables.
_CANONICAL = tuple(name for name in VIEWS if name not in ("bound_by",))


class LakeTable:
    """A table or canonical view of a lake, as it is when it is asked. Unknown values are None."""

    def __init__(self, lake: Lake, name: str) -> None:
        self._lake = lake
        self.name = name

    def _relation(self) -> duckdb.DuckDBPyRelation:
        return self._lake.sql(f'FROM "{self.name}"')

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns."""
        return tuple(self._relation().columns)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """A capsule of a fresh stream."""
        return self._relation().__arrow_c_stream__(requested_schema)

    def count_rows(self) -> int:
        """The number of rows."""
        return int(self._relation().count("*").fetchall()[0][0])

    def rows(self) -> Iterator[dict[str, Any]]:
        """Each row as a dict, one batch in memory at a time."""
        for batch in _package("pyarrow").RecordBatchReader.from_stream(self._relation()):
            yield from batch.to_pylist()

    def to_arrow(self) -> pyarrow.Table:
        """A pyarrow.Table."""
        return _package("pyarrow").table(self._relation())

    def to_polars(self) -> polars.DataFrame:
        """A polars.DataFrame. Needs polars."""
        frame: polars.DataFrame = _package("polars").DataFrame(self._relation())
        return frame

    def to_pandas(self) -> pandas.DataFrame:
        """A DataFrame with nullable dtypes. Needs pandas."""
        pandas, pyarrow = _package("pandas"), _package("pyarrow")
        kinds = {pyarrow.int64(): pandas.Int64Dtype(), pyarrow.int32(): pandas.Int32Dtype(), pyarrow.bool_(): pandas.BooleanDtype()}
        return self.to_arrow().to_pandas(types_mapper=kinds.get)

    def __repr__(self) -> str:
        return f"<tracer.LakeTable {self.name}>"


class Lake:
    """The tables that `tracer lake compact` has made. Each question sees what is there then."""

    def __init__(self, url: str) -> None:
        self.url = url
        next(open_store(url).list(TABLES_FOLDER), None)  # It says best why a lake can't be read.
        self._tables = {name: table for name in (*TABLES, *OF_OPTIONS, "users") if (table := opened(url, name)) is not None}
        if not self._tables:
            raise LakeError.of("TRC150", None, f"{url} has no tables", "make them: tracer lake compact")
        self._seen: dict[str, tuple[int, int]] = {}
        self._lock = Lock()
        self._connection = connect(long=True)
        limit(self._connection)
        _empty(self._connection, self._tables)

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of its tables and canonical views."""
        return (*dict.fromkeys((*TABLES, *self._tables)), *(name for name, _ in _canonical(self._tables)))

    @checked_call
    def table(self, name: str) -> LakeTable:
        """A table, or a canonical view, by its name."""
        if text_of("table", name) not in self.tables:
            raise InvalidArgumentError(f"this lake has no table {name}", f"name one of {', '.join(self.tables)}")
        return LakeTable(self, name)

    @checked_call
    def sql(self, query: str) -> duckdb.DuckDBPyRelation:
        """The result of a query by DuckDB over its tables, canonical views and the macros of docs/lake.md: a relation, as of
        Recording.sql(). It takes at most 3 GB of temporary files."""
        text_of("query", query)
        with self._lock:
            changed = False
            for table in self._tables.values():
                table.update_incremental()
            for name, table in self._tables.items():
                versions = (table.version(), self._tables["users"].version() if "users" in self._tables else 0)
                if self._seen.get(name) != versions:
                    _view(self._connection, name, self._tables, "://" in self.url)
                    self._seen[name] = versions
                    changed = True
            if changed or not self._seen:
                _above(self._connection, self._tables)
            # What is registered is known to its connection only.
            asked = self._connection if "://" in self.url else self._connection.cursor()
            relation: duckdb.DuckDBPyRelation = asked.sql(query)
            return relation


@checked_call
def lake(url: str | os.PathLike[str]) -> Lake:
    """A lake by its address, a folder or s3://, gs://, az://. Raises LakeError if it can't be read, or has no tables."""
    return Lake(os.fspath(url))


def limit(connection: Any) -> None:
    """By default, DuckDB takes 80 % of the memory and 90 % of the disk."""
    connection.execute("SET memory_limit = '1500MB'; SET max_temp_directory_size = '3GB'; SET preserve_insertion_order = false")


def write_views(url: str, path: str) -> int:
    """A new file of DuckDB with all views, or, if its name ends so, of SQL for Spark; and how many tables it shows. In DuckDB's, they
    show what is there now."""
    duckdb = _package("duckdb")
    tables = Lake(url)._tables
    if os.path.lexists(path):
        raise InvalidArgumentError(f"{path} is there already", "remove it, or name another file")
    if path.endswith(".sql") and (missing := [name for name in TABLES if name not in tables]):
        raise LakeError.of("TRC150", None, f"{url} has no table {missing[0]}", "make it: tracer lake compact")
    try:
        # It gets its name when it is whole, and a link that others put there in between is not followed.
        with TemporaryDirectory(prefix=".views-", dir=os.path.dirname(os.path.abspath(path))) as folder:
            made = os.path.join(folder, os.path.basename(path))
            if path.endswith(".sql"):
                Path(made).write_text(spark_sql(tables, _canonical(tables), _MACROS.read_text("utf-8")), "utf-8")
            else:
                with duckdb.connect(made) as connection:
                    _empty(connection, tables)
                    for name in tables:
                        _view(connection, name, tables, False)
                    _above(connection, tables)
            os.replace(made, path)
    except OSError as error:
        raise InvalidArgumentError(f"can't write {path}: {error.strerror}", "name a file in a folder that you may write to") from None
    return len(tables)


def run(options: argparse.Namespace) -> tuple[str, int]:
    """`tracer lake sql`, `tracer lake views`."""
    import duckdb

    try:
        if options.lake_command == "views":
            return f"{options.file}: {write_views(options.lake, options.file)} tables\n", 0
        asked = Lake(options.lake).sql(options.query)
        if asked is None:
            return "", 0
        return csv_of(asked.columns, (dict(zip(asked.columns, row)) for row in asked.fetchall())), 0
    except duckdb.Error as error:
        raise InvalidArgumentError(str(error)) from None


def view_over(connection: Any, of: Lake, name: str, view: str) -> list[str]:
    """A view of a table of a lake in another database, and its columns."""
    if name not in of._tables:
        connection.execute(f"CREATE OR REPLACE TEMP VIEW {view} AS SELECT {parquet_of(connection, schema_of(name), [])}")
        return list(schema_of(name).names)
    _view(connection, name, of._tables, "://" in of.url, view)
    return list(_schema(of._tables[name]).names)


def _view(connection: Any, name: str, tables: Mapping[str, Any], by_dataset: bool, view: str | None = None) -> None:
    """Over the files that the table has now: those that lie beside them are of killed compactions, or replaced."""
    def rows_of(name: str) -> str:
        if by_dataset:
            connection.register(f"rows of {name}", tables[name].to_pyarrow_dataset())
            return f'* FROM "rows of {name}"'
        return parquet_of(connection, _schema(tables[name]), files_of(tables[name]))

    text = f"SELECT {rows_of(name)}"
    if uids := [f"of_parts.{column}" for column in ("owner_uid", "uid") if name != "users" and column in _schema(tables[name]).names]:
        if "users" in tables and files_of(tables["users"]):
            text = query(__file__, "named", rows=rows_of(name), users=rows_of("users"), uids=", ".join(uids))
    connection.execute(f'CREATE OR REPLACE VIEW "{view or name}" AS {text}')


def _empty(connection: Any, tables: Mapping[str, Any]) -> None:
    """A table that nobody has made yet has no rows: the views stand on all."""
    for name in TABLES:
        if name not in tables:
            connection.execute(f'CREATE VIEW "{name}" AS SELECT {parquet_of(connection, schema_of(name), [])}')


def parquet_of(connection: Any, schema: pyarrow.Schema, files: list[str]) -> str:
    """What follows SELECT: all columns of a table, of some of its files."""
    empty = connection.from_arrow(schema.empty_table())
    kinds = dict(zip(empty.columns, empty.types))
    if not files:
        return ", ".join(f'NULL::{kind} AS "{column}"' for column, kind in kinds.items()) + " LIMIT 0"
    hive = "hive_partitioning = true, hive_types = {'date': DATE}" if "date" in kinds else "hive_partitioning = false"
    # A column that a file has not is null; without this, each query would begin with a look into all files.
    known = ", ".join(f"{quoted(column)}: {{'name': {quoted(column)}, 'type': {quoted(str(kind))}, 'default_value': NULL}}"
                      for column, kind in kinds.items() if column != "date")
    columns = ", ".join(f'"{column}"' for column in kinds)
    return f"{columns} FROM read_parquet([{', '.join(quoted(file) for file in files)}], schema = MAP {{{known}}}, {hive})"


def _schema(table: Any) -> pyarrow.Schema:
    return _package("pyarrow").schema(table.schema())


def _above(connection: Any, tables: Mapping[str, Any]) -> None:
    for name, text in _canonical(tables):
        connection.execute(f"CREATE OR REPLACE VIEW {name} AS {text}")
    connection.execute(_MACROS.read_text("utf-8"))


def _canonical(tables: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name in _CANONICAL:
        if _possible(name, tables):
            yield name, canonical(name, "", "boot_id, ")
    yield "tasks_used", _USED.read_text("utf-8")


def canonical(name: str, prefix: str, of: str) -> str:
    """The query of a canonical view over hosts. `of`: what tells keys of hosts apart."""
    text = view_of(name, prefix, of=of, programs=f"{prefix}processes")
    return _OVER_HOSTS.read_text("utf-8").format(own=text, recorded=prefix) if name == "tasks_last" else text


def _possible(name: str, tables: Mapping[str, Any]) -> bool:
    return name in tables or name in TABLES or name == "programs" or name in _CANONICAL and all(_possible(below, tables) for below in VIEWS[name])
