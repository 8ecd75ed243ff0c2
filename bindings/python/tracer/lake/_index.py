# SPDX-License-Identifier: Apache-2.0
"""Which runs are in which part: one small object for each host and hour, so that nobody reads all parts to find a run."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from .._errors import LakeError, RecordingError
from .._recording import Recording, read
from ._layout import INDEX, RAW, Part, part_of
from ._part import check_name

if TYPE_CHECKING:
    from ._store import Store

__all__ = ["HASH", "entries", "hash_of", "note_shipped"]

_SCHEMA = 1
_KINDS = ("run_start", "run_finish", "task_start", "task_finish", "task_submit")
_AT_ONCE = 8
HASH = re.compile(r"[0-9a-f/-]{24,}")
# In an index, of a task: it has ended, or failed. One that waits or runs has 0.
_ENDS = {"succeeded": 1, "unknown": 1, "failed": 2}


def note_shipped(store: Store, parts: Sequence[tuple[Part, str]]) -> None:
    """Notes parts of one host that are in the lake by now, each with its file, in the object of the hour. One process at a time does so
    for a host."""
    entries = [_entry_of(part, path) for part, path in parts]
    if not entries:
        return
    names = {entry["part"] for entry in entries}
    key = f"{INDEX}{parts[0][0].host}/{datetime.now(timezone.utc):%Y-%m-%dT%H}.json"
    noted = [each for each in _noted(store, key) if each["part"] not in names]
    store.put(key, json.dumps({"schema": _SCHEMA, "parts": [*noted, *entries]}, separators=(",", ":")).encode())


def entries(store: Store, since: datetime | None = None) -> Iterator[tuple[Part, dict[str, Any]]]:
    """Of all parts that came since then. What no index has, such as what rsync brought, is read itself."""
    hour = f"{since:%Y-%m-%dT%H}" if since else ""
    known: set[str] = set()
    keys = [key for key, _ in store.list(INDEX)]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for key, noted in zip(keys, pool.map(lambda key: _noted(store, key), keys)):
            known.update(each["part"] for each in noted)
            if os.path.basename(key)[:-5] >= hour:
                yield from ((part, each) for each in noted if (part := part_of(each["part"])))
        left = [part for key, _ in store.list(RAW) if key.removeprefix(RAW) not in known and (part := part_of(key.removeprefix(RAW)))]
        yield from zip(left, pool.map(lambda part: _fetched(store, part), left))


def _noted(store: Store, key: str) -> list[dict[str, Any]]:
    try:
        said = json.loads(store.get(key))
    except (KeyError, ValueError):
        return []  # As if there were none: the parts are read.
    parts = said.get("parts") if isinstance(said, dict) and said.get("schema") == _SCHEMA else None
    return [each for each in parts if isinstance(each, dict) and isinstance(each.get("part"), str)
            and isinstance(each.get("runs"), list)] if isinstance(parts, list) else []


def _fetched(store: Store, part: Part) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="tracer-lake-") as folder:
        path = os.path.join(folder, "part")
        try:
            store.get_to(RAW + part.path, path)
        except KeyError:
            return {"part": part.path, "runs": []}
        return _entry_of(part, path)


def _entry_of(part: Part, path: str) -> dict[str, Any]:
    entry: dict[str, Any] = {"part": part.path, "bytes": os.path.getsize(path), "runs": []}
    if part.kind == "gap":
        return entry
    try:
        recording = read(path)
        check_name(part, recording)
        return entry | {"runs": _runs_of(recording)}
    except (RecordingError, LakeError) as error:
        return entry | {"refused": str(error.problems[0].what)}


def _runs_of(recording: Recording) -> list[dict[str, Any]]:
    """One for each run, and for each task that is in none. Times are Unix time."""
    offset = recording.host.wall_offset_ns
    runs: dict[str, dict[str, Any]] = {}
    event: Any  # Of several kinds, which have what is asked here.
    for event in recording.select(_KINDS):
        context, given = event.context, event.provenance
        if context is None or given is None:
            continue
        run = runs.setdefault(context.run_key or f"task {context.task_key}", {
            "run_key": context.run_key, "engine": context.engine, "run": None, "pipeline": None, "run_id": None,
            "owner_uid": context.owner_uid, "first_unix_ns": event.time_ns + offset, "begin_unix_ns": None, "end_unix_ns": None,
            "outcome": None, "tasks": {}})
        run["last_unix_ns"] = event.time_ns + offset
        for name in ("run", "pipeline"):
            run[name] = run[name] or getattr(context, name)
        if given.run_id not in (None, "inferred"):
            run["run_id"] = context.run_id
        if context.task_key is not None:
            task = hash_of(event) or context.task_key
            run["tasks"][task] = max(_ENDS.get(_outcome_of(event) or "", 0), run["tasks"].get(task, 0))
            continue
        run |= {"engine": context.engine, "begin_unix_ns": (event.submitted_ns if event.kind == "task_submit" else event.start_ns) + offset}
        if outcome := _outcome_of(event):
            run |= {"end_unix_ns": (event.end_ns if event.kind == "run_finish" else event.time_ns) + offset, "outcome": outcome}
    return list(runs.values())


def hash_of(event: Any) -> str | None:
    """The id that the engine gave a task, where it is nobody else's: a number, such as a job's, may be another cluster's."""
    context = event.context
    if event.provenance.task_id in (None, "inferred") or not HASH.fullmatch(context.task_id):
        return None
    # That of a cached task is an earlier run's.
    return None if _word_of(event) == "cached" else str(context.task_id)


def _word_of(event: Any) -> str | None:
    """The engine's."""
    return event.outcome if event.kind == "task_submit" else None


def _outcome_of(event: Any) -> str | None:
    """None: it has not ended."""
    if event.kind not in ("task_finish", "run_finish"):
        return _word_of(event)
    if event.exit_code is None and event.exit_signal is None:
        return "unknown"
    return "failed" if event.exit_code or event.exit_signal else "succeeded"
