# SPDX-License-Identifier: Apache-2.0
"""A database in memory, and how rows get in and out of it."""

from __future__ import annotations

import atexit
import csv
import os
import shutil
import tempfile
from collections.abc import Iterable
from functools import cache
from typing import Any

from .._errors import MissingPackageError, Problem

__all__ = ["connect", "insert", "quoted", "table_of"]


class _Database:
    """A connection, and the folder for what memory can't hold, which no other user may enter and which goes with it, or with the process."""

    def __init__(self, connection: Any, long: bool) -> None:
        self._connection = connection
        self._folder = None if long else tempfile.TemporaryDirectory(prefix="tracer-cost-")
        connection.execute(f"SET temp_directory = {quoted(self._folder.name if self._folder else _folder_of_process(os.getpid()))}")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def close(self) -> None:
        self._connection.close()
        if self._folder:
            self._folder.cleanup()

    def __enter__(self) -> _Database:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@cache
def _folder_of_process(pid: int) -> str:
    folder = tempfile.mkdtemp(prefix="tracer-lake-")
    atexit.register(lambda: shutil.rmtree(folder, ignore_errors=True) if os.getpid() == pid else None)
    return folder


def connect(long: bool = False) -> Any:
    """A database of its own, in UTC, that reads no network and no setting of the user; to be closed, such as by `with`. `long`: it may
    be left open, for results that are read later."""
    try:
        import duckdb
    except ImportError as error:
        raise MissingPackageError([Problem("TRC101", None, f"this needs the package duckdb, which can't be imported: {error}",
                                           "pip install 'libtracer[cost]'", "")]) from error
    connection = duckdb.connect(":memory:", config={"autoinstall_known_extensions": False})
    connection.execute("SET TimeZone = 'UTC'")
    return _Database(connection, long)


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def insert(connection: Any, table: str, rows: Iterable[Iterable[object]]) -> int:
    """Many rows at once: by a file, which is faster than statements. None is written as an empty field."""
    descriptor, path = tempfile.mkstemp(prefix="tracer-cost-", suffix=".csv")
    count = 0
    try:
        with open(descriptor, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            for row in rows:
                writer.writerow(row)
                count += 1
        if count:
            connection.execute(f"COPY {table} FROM {quoted(path)} (FORMAT csv, HEADER false, DELIMITER ',', QUOTE '\"', "
                               "ESCAPE '\"', NULLSTR '')")
    finally:
        os.unlink(path)
    return count


def table_of(connection: Any, query: str) -> list[dict[str, Any]]:
    cursor = connection.execute(query)
    names = [each[0] for each in cursor.description]
    return [dict(zip(names, row)) for row in cursor.fetchall()]
