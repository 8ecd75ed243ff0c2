# SPDX-License-Identifier: Apache-2.0
"""What goes from a lake: small files, what is too old, and what is to be forgotten."""

from __future__ import annotations

import argparse
import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import date, datetime, timedelta, timezone
from functools import cache
from typing import Any

from .._data import connect, quoted
from .._errors import InvalidArgumentError, LakeError
from .._format import counted
from .._tables import _package
from ._ask import Lake, limit, parquet_of
from ._compact import compact, marks_of
from ._delta import KEPT_DAYS, delete, explained, files_of, opened, replace
from ._layout import INDEX, RAW, part_of
from ._rows import OF_OPTIONS, SORTED_BY, TABLES
from ._store import open_store

__all__ = ["forget", "keep", "keep_raw", "merge", "run", "tidy"]

_SMALL_BYTES = 32 << 20
_MOST_SMALL = 64
_QUIET_S = 6 * 3600
_DAY_S = 86400
_TRIES = 100
# What names a run, as people and other tools do.
_COLUMNS = {"user": ("user",), "run": ("run", "run_id", "run_key"), "sample": ("sample",)}


def keep(lake: str, raw_days: int | None, table_days: int | None) -> int:
    """What `tracer lake compact` does last; how many raw objects are gone. What another commit has hindered is done by the next one."""
    for name in (*TABLES, *OF_OPTIONS):
        table = opened(lake, name)
        if table is None:
            continue
        if table_days is not None:
            today = datetime.now(timezone.utc).date()
            end = today - timedelta(days=min(table_days, today.toordinal() - 1))
            if any(day < end for day in _small(table, None)):
                delete(table, f"date < '{end}'")
                table = opened(lake, name)
        merge(lake, name)
        tidy(opened(lake, name))
    return 0 if raw_days is None else keep_raw(lake, raw_days)


def merge(lake: str, name: str, now: float | None = None) -> int:
    """Makes one file of a day's small ones, where they are many, or no more come. How many days."""
    now, done = time.time() if now is None else now, 0
    for day, files in _small(opened(lake, name), _SMALL_BYTES).items():
        if len(files) < 2 or len(files) < _MOST_SMALL and max(files) > (now - _QUIET_S) * 1000:
            continue
        # Written by the look that it was read by: what came meanwhile is refused, not lost.
        table = opened(lake, name)
        with connect() as connection:
            limit(connection)
            columns = ", ".join(f'"{field.name}"' for field in table.schema().fields)
            source = _source_of(connection, table, str(day))
            order = ", ".join(column for column in SORTED_BY if f'"{column}"' in columns)
            done += replace(table, connection.sql(f"SELECT {columns} FROM {source} ORDER BY {order}"), f"date = '{day}'")
    return done


def _source_of(connection: Any, table: Any, day: str) -> str:
    pyarrow = _package("pyarrow")

    if "://" in table.table_uri.removeprefix("file://"):
        connection.register("of_all", table.to_pyarrow_dataset())
        return f"(FROM of_all WHERE date = '{day}')"
    return f"(SELECT {parquet_of(connection, pyarrow.schema(table.schema()), files_of(table, day))})"


@explained()
def tidy(table: Any, hours: int = KEPT_DAYS * 24) -> int:
    """Removes files that are replaced since so long, and those that killed compactions have left. How many."""
    how = {"retention_hours": hours, "enforce_retention_duration": hours >= KEPT_DAYS * 24, "full": True}
    gone = table.vacuum(dry_run=True, **how)
    if gone:
        table.vacuum(dry_run=False, **how)
        # The log has the least and most texts of each file.
        table.create_checkpoint()
        table.cleanup_metadata()
    return len(gone)


def keep_raw(lake: str, days: int) -> int:
    """Removes raw objects that arrived so long ago and are in all tables that exist, as these say now. How many."""
    store, before = open_store(lake), time.time() - days * _DAY_S
    tables = {name: opened(lake, name) for name in (*TABLES, *OF_OPTIONS)}
    there = {name: table for name, table in tables.items() if table is not None}
    taken = cache(lambda series: min(marks_of(there, "/".join(series)).values()))
    gone, stays = 0, False
    for key in store.list_older(RAW, before):
        part = part_of(key[len(RAW):])
        if part is not None and taken(part.series) >= part.number:
            store.delete(key)
            gone += 1
        else:
            stays |= part is None or part.kind == "tracer"
    for key in () if stays else store.list_older(INDEX, before):
        store.delete(key)
    return gone


def forget(lake: str, what: str, name: str) -> tuple[dict[str, int], int]:
    """Removes the rows of a user, run or sample; what lies in raw is brought into tables before. Table -> rows, and how many raw
    objects are of the sessions that had them. Raises LakeError."""
    compact(lake)
    asked = Lake(lake)
    # Of other hosts, what the views join is as much of it; what that rests on goes last, so that it can be done again.
    found = asked.sql(f"SELECT host_name, uid FROM users WHERE \"user\" = {quoted(name)}" if what == "user" else
                      f"SELECT boot_id, task_key FROM tasks_last WHERE {_named(_COLUMNS[what], name)} AND task_key IS NOT NULL").fetchall()
    sessions: set[str] = set()
    rows: Counter[str] = Counter()
    for each in sorted((*TABLES, *OF_OPTIONS), key=("tasks", "submits").__contains__):
        table = opened(lake, each)
        there = [] if table is None else [field.name for field in table.schema().fields]
        columns = [column for column in _COLUMNS[what] if column in there]
        if not columns:
            continue
        true = _named(columns, name)
        if what == "user":
            true += _of_pairs("host_name", f"coalesce({', '.join(uid for uid in ('owner_uid', 'uid') if uid in there)})", found, '"user" IS NULL AND ')
        elif "task_key" in there:
            true += _of_pairs("boot_id", "task_key", found)
        sessions |= {row[0] for row in asked.sql(f"SELECT DISTINCT session_id FROM {each} WHERE {true}").fetchall()}
        for _ in range(_TRIES):
            count = delete(opened(lake, each), true)
            if count is not None:
                rows[each] += count
                break
        else:
            raise LakeError.of("TRC151", None, f"{_TRIES} times another has written {each} of {lake} first", "run it again")
    parts = (part_of(key[len(RAW):]) for key, _ in open_store(lake).list(RAW))
    return dict(rows), sum(part is not None and part.session in sessions for part in parts)


def _named(columns: Iterable[str], name: str) -> str:
    return "(" + " OR ".join(f'"{column}" = {quoted(name)}' for column in columns) + ")"


def _of_pairs(first: str, second: str, pairs: Iterable[tuple[str, Any]], also: str = "") -> str:
    grouped: dict[str, list[str]] = defaultdict(list)
    for one, other in pairs:
        grouped[one].append(quoted(other) if isinstance(other, str) else str(other))
    return "".join(f" OR {also}{first} = {quoted(one)} AND {second} IN ({', '.join(others)})" for one, others in grouped.items())


def run(options: argparse.Namespace) -> tuple[str, int]:
    """`tracer lake forget`."""
    given = [(what, getattr(options, what)) for what in _COLUMNS if getattr(options, what) is not None]
    if len(given) != 1 or not given[0][1]:
        raise InvalidArgumentError("forget needs one of --user, --run and --sample", "name what to forget")
    what, name = given[0]
    rows, raw = forget(options.lake, what, name)
    until = datetime.now(timezone.utc) + timedelta(days=KEPT_DAYS)
    if not any(rows.values()):
        return f"no row has the {what} {name}: look how it is written: tracer lake sql LAKE 'SELECT DISTINCT \"{what}\" FROM tasks_last'\n", 1
    lines = [f"{counted(sum(rows.values()), 'row is', 'rows are')} forgotten: " + ", ".join(f"{count} {name}" for name, count in rows.items() if count),
             f"their bytes go from the tables with the first tracer lake compact after {until:%Y-%m-%d %H:%M} UTC",
             f"{counted(raw, 'raw object')} may have more of it: tracer lake compact --keep-raw DAYS removes them DAYS after they arrived" if raw
             else "no raw object has it"]
    return "".join(f"{line}\n" for line in lines), 0


def _small(table: Any, bytes_: int | None) -> dict[date, list[int]]:
    """Day -> when each of its files smaller than this was made, in ms of Unix time."""
    found: dict[date, list[int]] = defaultdict(list)
    pyarrow = _package("pyarrow")

    actions = pyarrow.table(table.get_add_actions(flatten=True))
    for day, size, made in zip(*(actions[column].to_pylist() for column in ("partition.date", "size_bytes", "modification_time"))):
        if bytes_ is None or size < bytes_:
            found[day].append(int(made.timestamp() * 1000) if isinstance(made, datetime) else made)
    return found
