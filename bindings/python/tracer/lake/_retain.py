# SPDX-License-Identifier: Apache-2.0
"""What goes from a lake: small files, what is too old, and what is to be forgotten."""

from __future__ import annotations

import argparse
import time
from collections import Counter, defaultdict
from datetime import date, datetime, timedelta, timezone
from typing import Any

from .._data import connect, quoted
from .._errors import InvalidArgumentError, LakeError
from .._tables import _package
from ._ask import Lake, limit, parquet_of
from ._compact import compact
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


def keep(lake: str, names: tuple[str, ...], raw_days: int | None, table_days: int | None) -> int:
    """What `tracer lake compact` does last; how many raw objects are gone. What another commit has hindered is done by the next one."""
    for name in (*TABLES, *OF_OPTIONS):
        table = opened(lake, name)
        if table is None:
            continue
        if table_days is not None:
            end = datetime.now(timezone.utc).date() - timedelta(days=table_days)
            if any(day < end for day in _small(table, None)):
                delete(table, f"date < '{end}'")
                table = opened(lake, name)
        merge(lake, name)
        tidy(opened(lake, name))
    return 0 if raw_days is None else keep_raw(lake, names, raw_days)


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


def keep_raw(lake: str, names: tuple[str, ...], days: int) -> int:
    """Removes raw objects that arrived so long ago and are in all tables, as these say now. How many."""
    store, before = open_store(lake), time.time() - days * _DAY_S
    tables = [opened(lake, name) for name in names]
    gone, stays = 0, False
    for key in store.list_older(RAW, before):
        part = part_of(key[len(RAW):])
        if part is not None and all((table.transaction_version("/".join(part.series)) or 0) >= part.number for table in tables):
            store.delete(key)
            gone += 1
        else:
            stays = True
    for key in () if stays else store.list_older(INDEX, before):
        store.delete(key)
    return gone


def forget(lake: str, what: str, name: str) -> tuple[dict[str, int], int]:
    """Removes the rows of a user, run or sample; what lies in raw is brought into tables before. Table -> rows, and how many raw
    objects are of the sessions that had them. Raises LakeError."""
    compact(lake, tuple(each for each in OF_OPTIONS if opened(lake, each) is not None))
    sessions: set[str] = set()
    rows: Counter[str] = Counter()
    asked = Lake(lake)
    for each in (*TABLES, *OF_OPTIONS):
        table = opened(lake, each)
        columns = [] if table is None else [column for column in _COLUMNS[what] if column in (field.name for field in table.schema().fields)]
        if not columns:
            continue
        true = " OR ".join(f'"{column}" = {quoted(name)}' for column in columns)
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


def run(options: argparse.Namespace) -> tuple[str, int]:
    """`tracer lake forget`."""
    given = [(what, getattr(options, what)) for what in _COLUMNS if getattr(options, what) is not None]
    if len(given) != 1 or not given[0][1]:
        raise InvalidArgumentError("forget needs one of --user, --run and --sample", "name what to forget")
    rows, raw = forget(options.lake, *given[0])
    until = datetime.now(timezone.utc) + timedelta(days=KEPT_DAYS)
    lines = [f"{sum(rows.values())} rows are forgotten: " + ", ".join(f"{count} {name}" for name, count in rows.items() if count)]
    if any(rows.values()):
        lines.append(f"their bytes go from the tables with the first tracer lake compact after {until:%Y-%m-%d %H:%M} UTC")
    lines.append(f"{raw} raw objects may have more of it: tracer lake compact --keep-raw DAYS removes them DAYS after they arrived" if raw
                 else "no raw object has it")
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
