# SPDX-License-Identifier: Apache-2.0
"""The only place where tables of recordings and sessions come into a database."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from .._errors import BillError, Problem
from .._recording import read
from .._source import Source
from ._database import insert, quoted
from ._queries import query

__all__ = ["VIEWS", "opened", "register", "recordings_in", "recordings_of", "series_of", "view_of", "with_views"]

VIEWS = {"tasks_last": ("tasks",), "runs_last": ("runs",), "findings_last": ("findings",), "task_inputs": ("files",),
         "task_names": ("tasks_last", "programs"), "task_outer": ("tasks_last", "processes", "runs"), "bound_by": ()}
"""Canonical views, with the tables and views that each is made of. `bound_by` has the rows of the report."""


def register(connection: Any, source: Source, name: str, prefix: str = "") -> None:
    """A table of a recording or session, as `prefix` + name: it is read anew by each query."""
    connection.register(prefix + name, source.table(name))


@contextmanager
def opened(connection: Any, source: str | os.PathLike[str] | list[str] | Source, *names: str, prefix: str = "recorded_",
           label: str | None = None) -> Iterator[Source]:
    """Has these tables and views of a recording or session in `connection`, each as `prefix` + name, until the end of the block.

    And the macro `prefix` + us: a time of theirs in microseconds of Unix time. With a `label`, they have it in a column `source`.
    Raises RecordingError.
    """
    source = source if isinstance(source, Source) else read([*source] if isinstance(source, list) else source)

    def table(name: str) -> Callable[[], object]:
        if name == "bound_by":
            _bounds(connection, source, prefix + name)
            return lambda: connection.execute(f"DROP TABLE {prefix}{name}")
        if label is None:
            register(connection, source, name, prefix)
            return lambda: connection.unregister(prefix + name)
        register(connection, source, name, "unlabeled_")
        connection.execute(f"CREATE TEMP VIEW {prefix}{name} AS SELECT {quoted(label)} AS source, * FROM unlabeled_{name}")
        return lambda: (connection.execute(f"DROP VIEW {prefix}{name}"), connection.unregister(f"unlabeled_{name}"))

    connection.execute(f"CREATE OR REPLACE TEMP MACRO {prefix}us(ns) AS ((ns::HUGEINT + {source.host.wall_offset_ns}) // 1000)::BIGINT")
    with with_views(connection, names, prefix, table, lambda name: view_of(name, prefix, "" if label is None else "source, ")):
        yield source


@contextmanager
def with_views(connection: Any, names: Iterable[str], prefix: str, table: Callable[[str], Callable[[], object]],
               view: Callable[[str], str]) -> Iterator[None]:
    """Has tables and canonical views, and those that these are made of, until the end of the block. `table` makes one, and returns
    what removes it; `view` is the query of a view."""
    made: set[str] = set()
    with ExitStack() as ends:
        def make(name: str) -> None:
            if name in made:
                return
            made.add(name)
            for below in VIEWS.get(name, ()):
                make(below)
            if name in VIEWS and name != "bound_by":
                connection.execute(f"CREATE TEMP VIEW {prefix}{name} AS {view(name)}")
                ends.callback(connection.execute, f"DROP VIEW {prefix}{name}")
            else:
                ends.callback(table(name))

        for name in names:
            make(name)
        yield


def view_of(name: str, prefix: str, of: str = "", programs: str | None = None) -> str:
    """The query of a canonical view. `of`: columns that belong to the keys of tasks and runs; `programs`: the table to name tools by."""
    return query(__file__, name, recorded=prefix, of=of, programs=programs or f"{prefix}programs")


def _bounds(connection: Any, source: Source, table: str) -> None:
    """What bounds each task, the share of its time, and its time, as the report says."""
    connection.execute(f"CREATE TEMP TABLE {table} (task_key VARCHAR, bound_by VARCHAR, bound_share DOUBLE, wall_ns BIGINT)")
    report = json.loads(source._read_report(1).json())
    insert(connection, table, ((row["task_key"], row["bound_by"], row.get("bound_share"), row["task_ledger"]["wall_ns"])
                               for row in report["tasks"] if row.get("bound_by") and row.get("task_key") and row.get("task_ledger")))


def recordings_in(folder: str) -> list[str]:
    """By name; of one that was continued in other files (--rotate), the oldest part first."""
    parts = [(os.path.join(place, match[1]), -int(match[2] or 0), os.path.join(place, name)) for place, _, names in os.walk(folder)
             for name in names if (match := re.fullmatch(r"(.*\.tracer)(?:\.([1-9]\d*))?", name, re.DOTALL))]
    return [path for *_, path in sorted(parts)]


def recordings_of(path: str, code: str) -> list[str]:
    """The recordings that a path stands for: a folder for those in it. Raises BillError if there are none."""
    found = recordings_in(path) if os.path.isdir(path) else [path]
    if not found:
        raise BillError([Problem(code, None, f"no recording (*.tracer) is in {path}", "name a folder that has some, or files", "")])
    return found


def series_of(files: list[str]) -> list[list[str]]:
    """The files of one session, and of one owner of it, are one recording, at the place of the first. Raises RecordingError."""
    sessions: dict[object, list[str]] = {}
    for file in files:
        recording = read(file) if len(files) > 1 else None
        sessions.setdefault((recording.host.session_id, recording.owner_uid) if recording and recording.host.session_id else file,
                            []).append(file)
    return list(sessions.values())
