# SPDX-License-Identifier: Apache-2.0
"""tracer lake fetch: all recordings of a run in one folder, in which what each host saw of it is of one run."""

from __future__ import annotations

import argparse
import os
import tempfile
from typing import TYPE_CHECKING, Any

from .._core import copy_recording, format_bytes
from .._errors import RecordingError
from .._recording import read
from ._index import hash_of
from ._layout import RAW, Part
from ._over_hosts import LakeRun, find_run
from ._store import open_store

if TYPE_CHECKING:
    from .._events import Context
    from ._store import Store

__all__ = ["run"]

_NAMES = ("pipeline", "run", "run_id", "engine", "step", "sample", "task", "attempt")


def run(options: argparse.Namespace) -> tuple[str, int]:
    """What to print, and the exit status."""
    store, folder = open_store(options.lake), options.folder
    found = find_run(store, options.run)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder) as own:
            raw = {part: _get(store, found, part, own) for part in found.parts if part.kind == "tracer"}
            tasks, submitted = _tasks_of(raw)
            for part, path in raw.items():
                names = {key: _known(context) for key, task in tasks[part].items()
                         if (context := submitted.get(task)) and context.task_key != key}
                if names:
                    copy_recording(os.fsencode(path), os.fsencode(f"{path}.joined"), names)
                    path = f"{path}.joined"
                os.replace(path, os.path.join(folder, part.path.replace("/", "-")))
        size = sum(os.path.getsize(each) for each in os.scandir(folder))
    except OSError as error:
        if isinstance(error, RecordingError):
            raise
        raise RecordingError.of("TRC114", error.errno, f"can't write to {folder}: {os.strerror(error.errno or 0)}",
                                "name a folder that you may write to, on a disk with room") from None
    hosts = len(found.hosts)
    return (f"{folder}: {len(raw)} recordings of {hosts} host{'s' * (hosts != 1)}, {format_bytes(size)}\n"
            f"  tracerd report {folder}\n"), 0


def _get(store: Store, found: LakeRun, part: Part, folder: str) -> str:
    path = os.path.join(folder, part.path.replace("/", "-"))
    try:
        store.get_to(RAW + part.path, path)
    except KeyError:
        raise RecordingError.of("TRC109", None, f"{part.path} of run {found.name} is in the lake no more",
                                "raw recordings are kept for some days; the tables have its tasks for longer: 'tracer lake sql'") from None
    return path


def _tasks_of(raw: dict[Part, str]) -> tuple[dict[Part, dict[str, str]], dict[str, Context]]:
    """The ids of the tasks that ran, by their keys there; what their engine has submitted, by those ids."""
    tasks: dict[Part, dict[str, str]] = {}
    submitted: dict[str, Context] = {}
    for part, path in raw.items():
        own = tasks[part] = {}
        event: Any  # Of three kinds, which have a context.
        for event in read(path).select({"task_submit", "task_start", "task_finish"}):
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
