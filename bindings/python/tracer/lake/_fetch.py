# SPDX-License-Identifier: Apache-2.0
"""tracer lake fetch: all recordings of a run in one folder, in which what each host saw of it is of one run. And recordings of the last
days, for what reads no tables."""

from __future__ import annotations

import argparse
import os
import tempfile
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

from .._core import copy_run, format_bytes
from .._errors import LakeError, RecordingError, TracerError
from .._format import counted
from .._recording import read
from ._index import entries, hash_of
from ._layout import RAW, Part
from ._over_hosts import LakeRun, find_run
from ._store import open_store

if TYPE_CHECKING:
    from .._events import Context
    from ._store import Store

__all__ = ["RECENT_DAYS", "fetch", "fetch_recent", "run"]

RECENT_DAYS = 7

_Series = tuple[str, ...]
_NAMES = ("pipeline", "run", "run_id", "engine", "step", "sample", "task", "attempt")


def run(options: argparse.Namespace) -> tuple[str, int]:
    """What to print, and the exit status."""
    store, folder = open_store(options.lake), options.folder
    found = find_run(store, options.run)
    files = fetch(store, found, folder)
    size = sum(map(os.path.getsize, files))
    return (f"{folder}: {counted(len(files), 'recording')} of {counted(len(found.hosts), 'host')}, "
            f"{format_bytes(size)}\n  tracerd report {folder}\n"), 0


def fetch(store: Store, found: LakeRun, folder: str) -> list[str]:
    """Makes a recording of what each host saw of a run, that of its engine's host first. Raises LakeError, RecordingError."""
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder) as own:
            raw: dict[_Series, list[str]] = {}
            for part in found.parts:
                if part.kind == "tracer":
                    raw.setdefault(part.series, []).append(_get(store, found, part, own))
            tasks, submitted = _tasks_of(raw)
            files = []
            for series in sorted(raw, key=lambda series: found.run_key not in found.keys.get(series, ())):
                made = os.path.join(own, "-".join((series[0], *series[2:])) + ".tracer")
                names = {key: _known(context) for key, task in tasks[series].items()
                         if (context := submitted.get(task)) and context.task_key != key}
                copy_run([os.fsencode(path) for path in raw[series]], os.fsencode(made), sorted(found.keys.get(series, ())), names,
                         found.end_unix_ns is not None)
                files.append(os.path.join(folder, os.path.basename(made)))
                os.replace(made, files[-1])
            return files
    except OSError as error:
        if isinstance(error, TracerError):
            raise
        raise RecordingError.of("TRC114", error.errno, f"can't write to {folder}: {os.strerror(error.errno or 0)}",
                                "name a folder that you may write to, on a disk with room") from None


def fetch_recent(lake: str, folder: str) -> None:
    """Brings the parts that came in the last RECENT_DAYS into a folder. Raises LakeError."""
    store = open_store(lake)
    for part, _ in entries(store, datetime.now(timezone.utc) - timedelta(days=RECENT_DAYS)):
        if part.kind == "tracer":
            # One that has gone since then is as one that was not listed.
            with suppress(KeyError):
                store.get_to(RAW + part.path, os.path.join(folder, part.path.replace("/", "-")))


def _get(store: Store, found: LakeRun, part: Part, folder: str) -> str:
    path = os.path.join(folder, part.path.replace("/", "-"))
    try:
        store.get_to(RAW + part.path, path)
    except KeyError:
        raise LakeError.of("TRC154", None, f"{part.path} of run {found.name} is in the lake no more",
                           "raw recordings are kept for some days; the tables have its tasks for longer: 'tracer lake sql'") from None
    return path


def _tasks_of(raw: dict[_Series, list[str]]) -> tuple[dict[_Series, dict[str, str]], dict[str, Context]]:
    """Of each recording, by their keys there, the ids that engines gave its tasks; what engines have submitted, by those ids."""
    tasks: dict[_Series, dict[str, str]] = {}
    submitted: dict[str, Context] = {}
    event: Any  # Of three kinds, which have a context.
    for series, paths in raw.items():
        own = tasks[series] = {}
        for event in read([*paths]).select({"task_submit", "task_start", "task_finish"}):
            if not event.context or not (task := hash_of(event)):
                continue
            if event.kind != "task_submit":
                own[event.context.task_key] = task
            elif event.context.run_key:
                submitted[task] = event.context
    return tasks, submitted


def _known(context: Context) -> tuple[dict[str, object], str, str, int | None]:
    names = {name: value for name in _NAMES if (value := getattr(context, name)) is not None}
    return names, context.run_key or "", context.task_key or "", context.owner_uid
