# SPDX-License-Identifier: Apache-2.0
"""Reads bills into the table `lines`: one row a line, money as exact decimals, all times in UTC."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .._data import query
from .._errors import BillError, Problem
from .._format import counted
from ._database import PLACES, columns_of, problem, read_error, source_of
from ._formats import FORMATS, NATIVE, Columns, detect, key_of

__all__ = ["Bill", "read_bills"]

_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_MONEY = ("billed", "effective", "list", "split_used", "split_unused", "list_split_used", "list_split_unused", "unused")
_TIMES = ("start", "end")
_REPEATED = ("error", "once", "all", "newest")
# Columns that another delivery of the same month has anew for each line.
_OF_DELIVERY = re.compile("invoic|lineitemid$|exporttime")


@dataclass
class Bill:
    """What was read."""

    lines: int = 0
    scale: int = 0
    """Decimal places of the finest amount."""
    notes: list[str] = field(default_factory=list)


def read_bills(connection: Any, paths: Sequence[str], basis: str, repeated: str, currency: str | None) -> Bill:
    """`currency` is that of lines that name none. Raises BillError with all that is wrong, by file and row."""
    bill = Bill()
    _refuse_twice(paths)
    selects = []
    shapes = set()
    problems: list[Problem] = []
    for number, path in enumerate(paths):
        columns = columns_of(connection, path)
        found = detect(columns)
        if found is None:
            names = ", ".join(each.title for each in FORMATS)
            problems.append(Problem("TRC130", None, f"{path} is no bill: its columns are those of none of {names}",
                                    next((how for key, how in NATIVE.items() if columns.has(key)), "name an export of one of these"), ""))
            continue
        missing = [each for each in found.required if not columns.has(key_of(each))]
        if basis == "list" and not any(columns.has(key_of(each)) for each in found.bases["list"]):
            missing.append(found.bases["list"][0])
        twice = [each for each in found.required if sum(key_of(name) == key_of(each) for name in columns.types) > 1]
        if twice:
            problems.append(Problem("TRC130", None, f"{path}, row 0 ({found.title}): columns come twice: {', '.join(twice)}",
                                    "names are compared without case and separators: export it again", ""))
            continue
        if missing:
            problems.append(Problem("TRC130", None, f"{path}, row 0 ({found.title}): columns are missing: {', '.join(missing)}",
                                    "export it with these columns; names are compared without case and separators", ""))
            continue
        selects.append((number, path, found.select(columns), columns))
        shapes.add((path.lower().endswith(".csv") or path.lower().endswith(".csv.gz"), *sorted(map(key_of, columns.types))))
        if path.lower().endswith(".csv") and not _ends_with_line(path):
            bill.notes.append(f"{path} does not end with the end of a line: it may be cut")
    if problems:
        raise BillError(problems)
    for at, (number, path, select, columns) in enumerate(selects):
        # Lines without an id may differ in columns that nothing else is read of, such as the price. Files of other columns can't be
        # compared so.
        if len(shapes) == 1 and select["identity"] == "NULL::VARCHAR":
            select["whole"] = f"hash({', '.join(columns.raw(key) + '::VARCHAR' for key in sorted(map(key_of, columns.types)))})"
        select["content"] = _content_of(columns) if len(paths) > 1 and len(shapes) == 1 else "NULL::UBIGINT"
        parts = ", ".join(f'{value} AS "{name}"' for name, value in select.items())
        make = "CREATE TABLE read AS" if at == 0 else "INSERT INTO read"
        try:
            connection.execute(f"{make} SELECT {number}::INTEGER AS file, row_number() OVER () AS row, {parts} "
                               f"FROM {source_of(path)}")
        except Exception as error:
            raise read_error(path, error) from None
    _check(connection, paths, basis, bill)
    _check_repeated(connection, paths, repeated, len(shapes) == 1, bill)
    bill.scale = _scale(connection, bill)
    _make_lines(connection)
    bill.lines = connection.execute("SELECT count(*) FROM lines").fetchone()[0]
    if not bill.lines:
        raise problem("TRC130", f"{', '.join(paths)}: no rows", "name a bill with rows")
    _notes(connection, bill, currency)
    return bill


def _refuse_twice(paths: Sequence[str]) -> None:
    by_content: dict[tuple[int, bytes], str] = {}
    for path in paths:
        if not os.path.isfile(path):
            continue
        with open(path, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").digest()
        key = os.path.getsize(path), digest
        if key in by_content:
            raise problem("TRC131", f"{path} is {by_content[key]} once more: it would be counted twice", "name it once")
        by_content[key] = path


def _ends_with_line(path: str) -> bool:
    with open(path, "rb") as file:
        if file.seek(0, os.SEEK_END) == 0:
            return True
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"


def _check(connection: Any, paths: Sequence[str], basis: str, bill: Bill) -> None:
    """Numbers and times that are none. All files, the first rows of each. List prices matter where they are asked for."""
    problems = []
    for name in (*_MONEY, "hours"):
        bad = connection.execute(f"SELECT file, row, {name} FROM read WHERE {name} IS NOT NULL AND "
                                 f"(NOT regexp_matches({name}, '{_NUMBER}') OR try_cast({name} AS DECIMAL(38, {PLACES})) IS NULL) ORDER BY file, row LIMIT 3").fetchall()
        if bad and name.startswith("list") and basis != "list":
            bill.notes.append(f"{paths[bad[0][0]]}, row {bad[0][1]}: its list price is no number: {bad[0][2]!r}. It counts as not known, and so does each like it")
            continue
        problems += [Problem("TRC130", None, f"{paths[file]}, row {row}: {name} is no number of up to 14 digits: {value!r}", "export it again", "")
                     for file, row, value in bad]
    for name in _TIMES:
        bad = connection.execute(f'SELECT file, row, "{name}" FROM read WHERE "{name}" IS NOT NULL AND '
                                 f'try_cast("{name}" AS TIMESTAMPTZ) IS NULL ORDER BY file, row LIMIT 3').fetchall()
        problems += [Problem("TRC130", None, f"{paths[file]}, row {row}: {name} is no time: {value!r}", "export it again", "")
                     for file, row, value in bad]
    sums = connection.execute(f"SELECT {', '.join(f'sum(abs(try_cast({name} AS DOUBLE)))' for name in _MONEY)} FROM read").fetchone()
    problems += [Problem("TRC130", None, f"{', '.join(paths)}: {name} sums to {value:.3g}, more than 14 digits", "name a part of the files", "")
                 for name, value in zip(_MONEY, sums) if value is not None and value >= 9e13]
    bad = connection.execute("SELECT file, row FROM read WHERE billed IS NULL AND split_used IS NULL "
                             "ORDER BY file, row LIMIT 3").fetchall()
    problems += [Problem("TRC130", None, f"{paths[file]}, row {row}: it has no cost, neither its own nor a split one",
                         "the file is cut, or another program has changed it: export it again", "") for file, row in bad]
    if problems:
        raise BillError(problems)


def _check_repeated(connection: Any, paths: Sequence[str], repeated: str, alike: bool, bill: Bill) -> None:
    """A line is the same if all of its columns are, or in files with other columns all that is read; with an id of the line, if
    id and time are."""
    if repeated not in _REPEATED:
        raise problem("TRC101", f"repeated is {repeated!r}", f"one of {', '.join(_REPEATED)}")
    names = [row[0] for row in connection.execute("DESCRIBE read").fetchall() if row[0] not in ("file", "row", "content")]
    key, by_id, content = (f"hash({', '.join(f'{chr(34)}{name}{chr(34)}' if alike else _value_of(name) for name in of)})"
                           for of in (names, ("identity", *_TIMES), [each for each in names if each not in ("identity", "invoice")]))
    find = query(__file__, "deliveries", by_id=by_id, content=content, period=_time_of("period"))
    if repeated == "newest" and len(paths) > 1:
        connection.execute(find)
        dropped = connection.execute(f"""DELETE FROM read USING (SELECT DISTINCT file, payer, period FROM deliveries WHERE older) AS o
            WHERE read.file = o.file AND read.payer IS NOT DISTINCT FROM o.payer AND {_time_of('read.period')} IS NOT DISTINCT FROM o.period
            """).fetchone()[0]
        if dropped:
            bill.notes.append(f"{counted(dropped, 'line')} of older files gave way to those of files that are named later")
    connection.execute(f"""CREATE TEMP TABLE repeats AS SELECT file, row, first_file, first_row FROM (
        SELECT file, row, identity, first_value(file) OVER same AS first_file, first_value(row) OVER same AS first_row
        FROM read WINDOW same AS (PARTITION BY CASE WHEN identity IS NULL THEN {key} ELSE {by_id} END ORDER BY file, row))
        WHERE (file <> first_file OR (identity IS NOT NULL AND row <> first_row))""")
    count = connection.execute("SELECT count(*) FROM repeats").fetchone()[0]
    if count and repeated != "all":
        file, row, first_file, first_row = connection.execute("SELECT * FROM repeats ORDER BY file, row LIMIT 1").fetchone()
        if repeated != "once":
            raise problem("TRC131", f"{paths[file]}, row {row} is {paths[first_file]}, row {first_row} once more; {counted(count, 'such row')} "
                          "would be counted twice",
                          "name one delivery of each billing period; or choose: --repeated once, all, newest")
        connection.execute("DELETE FROM read USING repeats WHERE read.file = repeats.file AND read.row = repeats.row")
    if len(paths) > 1:
        # A month that was delivered again has other ids and invoices, and may be written in another way.
        connection.execute(find)
        for one, other, lines in connection.execute("SELECT file, other, count(*) FROM deliveries GROUP BY ALL ORDER BY ALL LIMIT 1").fetchall():
            what = f"{paths[max(one, other)]} and {paths[min(one, other)]} seem to be deliveries of one month: {counted(lines, 'line is', 'lines are')} alike in all " \
                "but ids and invoices"
            if repeated != "all":
                raise problem("TRC131", f"{what}: they would be counted twice", "name the files of one delivery of each month; or choose: "
                              "--repeated newest, which takes those that are named last, or all")
            bill.notes.append(f"{what}, and were counted twice")
    if count:
        bill.notes.append(f"{counted(count, 'line')} came twice and counted {'twice' if repeated == 'all' else 'once'}")
    if "whole" in names:
        same = connection.execute("SELECT sum(n - 1)::BIGINT FROM (SELECT count(*) AS n FROM read WHERE coalesce(try_cast(billed AS DOUBLE), "
                                  "try_cast(split_used AS DOUBLE)) <> 0 GROUP BY file, whole) WHERE n > 1").fetchone()[0]
        if same:
            bill.notes.append(f"{counted(same, 'line is', 'lines are')} like another of the same file in all columns, without an id: each counts")


def _content_of(columns: Columns) -> str:
    """Of all columns of a line, however numbers and times are written, without what each delivery has anew."""
    words = [columns.text(key) for key in sorted(map(key_of, columns.types)) if not _OF_DELIVERY.search(key)]
    return f"hash({', '.join(f'coalesce(try_cast({word} AS DOUBLE)::VARCHAR, try_cast({word} AS TIMESTAMPTZ)::VARCHAR, {word})' for word in words)})"


def _time_of(column: str) -> str:
    """The same however it is written; a text that is no time is itself."""
    return f"coalesce(try_cast({column} AS TIMESTAMPTZ)::VARCHAR, {column})"


def _value_of(name: str) -> str:
    """The same of a CSV and of a Parquet file, which write it differently."""
    if name in (*_MONEY, "hours"):
        return f"try_cast({name} AS DECIMAL(38, {PLACES}))"
    if name in (*_TIMES, "period"):
        return _time_of(f'"{name}"')
    if name == "tags":
        value = "json_extract_string(tags, '$.' || to_json(k)::VARCHAR)"
        return f"CASE WHEN json_valid(tags) THEN list_sort(list_transform(json_keys(tags), lambda k: k || '=' || coalesce({value}, ''))) END"
    if name in ("vcpus", "memory"):
        return f"try_cast(regexp_extract({name}, '[0-9.]+') AS DOUBLE)"
    return f'"{name}"'


def _scale(connection: Any, bill: Bill) -> int:
    """Digits after the point, without zeros at the end."""
    scales = []
    for name in _MONEY:
        mantissa = f"regexp_extract({name}, '^[+-]?[0-9]*\\.?([0-9]*)', 1)"
        exponent = f"coalesce(try_cast(nullif(regexp_extract({name}, '[eE]([+-]?[0-9]+)$', 1), '') AS INTEGER), 0)"
        scales.append(f"max(greatest(length(rtrim({mantissa}, '0')) - {exponent}, 0)) FILTER ({name} IS NOT NULL)")
    scale = max((value or 0 for value in connection.execute(f"SELECT {', '.join(scales)} FROM read").fetchone()), default=0)
    if scale > PLACES:
        bill.notes.append(f"amounts have up to {scale} decimal places: those after the {PLACES}th were rounded in each")
    return int(min(scale, PLACES))


def _make_lines(connection: Any) -> None:
    money = ", ".join(f"try_cast({name} AS DECIMAL(38, {PLACES})) AS {name}" for name in _MONEY)
    connection.execute(query(__file__, "lines", money=money))
    connection.execute("DROP TABLE read")


def _notes(connection: Any, bill: Bill, currency: str | None) -> None:
    count, total = connection.execute("SELECT count(*), sum(billed) FROM lines WHERE billed < 0").fetchone()
    if count:
        bill.notes.append(f"{counted(count, 'line is', 'lines are')} negative, {total.normalize():f} together")
    count = connection.execute("SELECT count(*) FROM lines WHERE currency IS NULL").fetchone()[0]
    if count:
        bill.notes.append(f"{counted(count, 'line names', 'lines name')} no currency" + ("" if currency is None else f": {currency}, as given"))
    if count and currency is not None:
        connection.execute("UPDATE lines SET currency = ? WHERE currency IS NULL", [currency])
    currencies = [row[0] for row in connection.execute(
        "SELECT DISTINCT currency FROM lines WHERE currency IS NOT NULL ORDER BY 1").fetchall()]
    if len(currencies) > 1:
        bill.notes.append(f"currencies are not added: {', '.join(currencies)}")
    if connection.execute("SELECT count(invoice) = 0 FROM lines").fetchone()[0]:
        bill.notes.append("no line has the id of an invoice: the bill may still change")
