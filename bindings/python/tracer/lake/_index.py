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

from .._errors import LakeError, RecordingError, TracerError
from .._recording import Recording, read
from ._json import Shape, fits, get_json, is_number, is_text
from ._layout import INDEX, RAW, Part, part_of
from ._part import check_name
from ._store import REFUSED

if TYPE_CHECKING:
    from ._store import Store

__all__ = ["HASH", "entries", "entry_of", "hash_of", "note_shipped"]

_SCHEMA = 1
_KEY = re.compile(re.escape(INDEX) + r"(?P<host>[^/]+)/(?P<hour>[0-9-]{10}T[0-9]{2})\.json")
_KINDS = {"run_start", "run_finish", "task_start", "task_finish", "task_submit"}
_AT_ONCE = 8
HASH = re.compile(r"[0-9a-f/-]{24,}")
# In an index, of a task: it has ended, or failed. One that waits or runs has 0.
_ENDS = {"succeeded": 1, "unknown": 1, "failed": 2}
_SAID: Shape = (is_text, None)
_NUMBER: Shape = (is_number, None)
_ENTRY: Shape = {"part": is_text, "runs": [{
    **dict.fromkeys(("run_key", "engine", "run", "pipeline", "run_id", "outcome"), _SAID),
    **dict.fromkeys(("owner_uid", "begin_unix_ns", "end_unix_ns"), _NUMBER), **dict.fromkeys(("first_unix_ns", "last_unix_ns"), is_number),
    "tasks": lambda tasks: isinstance(tasks, dict) and fits([*tasks], [is_text]) and fits([*tasks.values()], [is_number])}]}
_READ_AT_ONCE = 512
_ASKED_FOR_USERS = 256


def note_shipped(store: Store, host: str, entries: Sequence[dict[str, Any]]) -> None:
    """Notes parts of a host that are in the lake by now in the object of the hour. One process at a time does so for a host."""
    if not entries:
        return
    names = {entry["part"] for entry in entries}
    key = f"{INDEX}{host}/{datetime.now(timezone.utc):%Y-%m-%dT%H}.json"
    noted = [each for _, each in _noted(store, key, host) if each["part"] not in names]
    store.put(key, json.dumps({"schema": _SCHEMA, "parts": [*noted, *entries]}, separators=(",", ":")).encode())


def entries(store: Store, since: datetime | None = None, problems: list[TracerError] | None = None) -> Iterator[tuple[Part, dict[str, Any]]]:
    """Of all parts that came since then. What no index since then has, such as what rsync brought, is read itself, if its object is as new.
    `problems` gets which folders may not be read."""
    hour, since_s = (f"{since:%Y-%m-%dT%H}", since.timestamp()) if since else ("", 0)
    known: set[Part] = set()
    objects = [found for key, _ in store.list(INDEX, problems) if (found := _KEY.fullmatch(key)) and found["hour"] >= hour]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for noted in pool.map(lambda found: _noted(store, found[0], found["host"]), objects):
            known.update(part for part, _ in noted)
            yield from noted
        left = [part for key, made_s in store.list(RAW, problems) if made_s >= since_s and (part := part_of(key[len(RAW):])) and part not in known]
        yield from zip(left, pool.map(lambda part: _fetched(store, part), left))


def _noted(store: Store, key: str, host: str) -> list[tuple[Part, dict[str, Any]]]:
    """Of parts of this host. What is not as it should be counts for nothing: the parts are read."""
    try:
        said = get_json(store, key, {"parts": [lambda entry: True]})["parts"]
    except (KeyError, ValueError):
        return []
    return [(part, entry) for entry in said if fits(entry, _ENTRY) and (part := part_of(entry["part"])) and part.host == host]


def _fetched(store: Store, part: Part) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="tracer-lake-") as folder:
        path = os.path.join(folder, "part")
        try:
            store.get_to(RAW + part.path, path)
        except KeyError:
            return {"part": part.path, "runs": []}
        except LakeError as error:
            if error.code != REFUSED:
                raise
            return {"part": part.path, "runs": [], "refused": error.problems[0].what}
        return entry_of(part, path)[0]


def entry_of(part: Part, path: str) -> tuple[dict[str, Any], set[int]]:
    """What the index says of it; and whose it is: owners of runs, and users of the first processes that ended, for these cost time."""
    entry: dict[str, Any] = {"part": part.path, "bytes": os.path.getsize(path), "runs": []}
    users = {int(part.owner)} if part.owner != "all" else set()
    if part.kind == "gap":
        return entry, users
    try:
        recording = read(path)
        check_name(part, recording)
        return entry | {"runs": _runs_of(recording, users)}, users
    except (RecordingError, LakeError) as error:
        return entry | {"refused": str(error.problems[0].what)}, users


def _events_of(recording: Recording, users: set[int]) -> Iterator[Any]:
    """Of several kinds, which have what is asked here."""
    reader = recording.open_reader()
    reader.keep_only(_KINDS if recording.owner_uid else _KINDS | {"process_exit"})
    first: list[Any] = [*reader.read(_ASKED_FOR_USERS)]
    users |= {event.uid for event in first if event.kind == "process_exit"} - {None}
    yield from (event for event in first if event.kind in _KINDS)
    reader.keep_only(_KINDS)
    while events := reader.read(_READ_AT_ONCE):
        yield from events


def _runs_of(recording: Recording, users: set[int]) -> list[dict[str, Any]]:
    """One for each run, and for each task that is in none. Times are Unix time."""
    offset = recording.host.wall_offset_ns
    runs: dict[str, dict[str, Any]] = {}
    for event in _events_of(recording, users):
        context, given = event.context, event.provenance
        if context is None or given is None:
            continue
        run = runs.setdefault(context.run_key or f"task {context.task_key}", {
            "run_key": context.run_key, "engine": context.engine, "run": None, "pipeline": None, "run_id": None,
            "owner_uid": context.owner_uid, "first_unix_ns": event.time_ns + offset, "begin_unix_ns": None, "end_unix_ns": None,
            "outcome": None, "tasks": {}})
        users |= {context.owner_uid} - {None}
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
