# SPDX-License-Identifier: Apache-2.0
"""Files of bills and tasks for the database that they are read into, and errors that name file and row."""

from __future__ import annotations

import csv
import gzip
import itertools
import os
import re
from typing import Any

from .._data import connect, insert, quoted, table_of
from .._errors import BillError, Problem, RecordingError
from ._formats import Columns

__all__ = ["PLACES", "connect", "columns_of", "insert", "problem", "quoted", "source_of", "table_of"]

PLACES = 24
"""Decimal places that are kept; 14 digits are left before the point."""


def problem(code: str, what: str, fix: str) -> BillError:
    return BillError([Problem(code, None, what, fix, "")])


def source_of(path: str) -> str:
    """The SQL that reads a file as it is: of CSV all as text, between commas or tabs, as its header has them."""
    name = path.lower()
    if name.endswith((".parquet", ".parq", ".pq")):
        return f"read_parquet({quoted(path)})"
    if name.endswith((".json", ".jsonl", ".ndjson", ".json.gz", ".jsonl.gz")):
        return f"read_json({quoted(path)}, maximum_depth=4)"
    # Lines before the header that only say where the file is from.
    skipped = 0
    with _opened(path) as file:
        for line in file:
            if not line.startswith("#"):
                break
            skipped += 1
    delimiter, columns = _header_of(path, skipped)
    return (f"read_csv({quoted(path)}, all_varchar=true, header=true, delim='{delimiter}', quote='\"', escape='\"', "
            f"skip={skipped}, auto_detect=false, {columns})")


def _header_of(path: str, skipped: int) -> tuple[str, str]:
    with _opened(path) as file:
        for _ in range(skipped):
            file.readline()
        first = file.readline()
        delimiter = "\t" if "\t" in first and "," not in first else ","
        header = next(csv.reader(itertools.chain([first], file), delimiter=delimiter), [])
    if not header:
        raise problem("TRC130", f"{path} is empty", "name a file with a header and rows")
    seen: set[str] = set()
    for name in header:
        if name.lower() in seen:
            raise problem("TRC130", f"{path} has two columns {name!r}", "export it again")
        seen.add(name.lower())
    return delimiter, "columns={" + ", ".join(f"{quoted(name)}: 'VARCHAR'" for name in header) + "}"


def _opened(path: str) -> Any:
    try:
        if path.lower().endswith(".gz"):
            return gzip.open(path, "rt", encoding="utf-8-sig", errors="replace", newline="")
        return open(path, encoding="utf-8-sig", errors="replace", newline="")
    except OSError as error:
        raise RecordingError.of("TRC110", error.errno, f"can't read {path}: {os.strerror(error.errno or 0)}",
                                "name a file that exists and that you may read") from None


def columns_of(connection: Any, path: str) -> Columns:
    try:
        if not os.path.isfile(path):
            _opened(path).close()
        found = connection.execute(f"DESCRIBE SELECT * FROM {source_of(path)}").fetchall()
    except (EOFError, gzip.BadGzipFile) as error:
        raise problem("TRC130", f"{path} is cut or damaged: {error}", "get the file again") from None
    except Exception as error:
        raise read_error(path, error) from None
    return Columns({row[0]: row[1] for row in found})


def read_error(path: str, error: Exception) -> Exception:
    """With the row, where the reader says it."""
    if isinstance(error, (BillError, RecordingError)):
        return error
    text = str(error)
    row = re.search(r"(?:CSV Error on Line|Line|row): (\d+)", text)
    first = next((line.strip() for line in text.splitlines() if line.strip()), type(error).__name__)
    where = f"{path}, row {max(int(row[1]) - 1, 1)}" if row else path
    # Of CSV, the reason is behind the line itself. What the reader advises then is for those who write its SQL.
    if reason := re.search(r"CSV Error on Line: \d+\n.*?\n([^\n]+)\n(?:Possible fixes:|\s*\n)", text, re.DOTALL):
        first = reason[1].strip()
    return problem("TRC130", f"{where}: {first}", "the file is cut or damaged: get it again")

