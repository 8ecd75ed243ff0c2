# SPDX-License-Identifier: Apache-2.0
"""What a service has recorded, asked about what lives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._recording import past

if TYPE_CHECKING:
    from ._recording import _Path
    from ._source import Source

__all__ = ["ask_past"]

# Each is read to its end. Only root, or a member of a group that others share with, has several of one time.
_MOST_READ = 8
# By how much the clock of files may have been set since.
_CLOCK_S = 60.0
_MOST_REPLIES = 1000


def ask_past(source: Source, socket: _Path | None, name: str, asked: str) -> dict[str, Any] | None:
    """What `name` of a recording says of a run or task, the newest that knows it; None: none of those that are read does.
    `source`: whose state has the run's start, so that files of before are not read."""
    for recording in past(socket=socket, since=_began_s(source, asked))[:_MOST_READ]:
        said: dict[str, Any] | None = getattr(recording, name)(asked)
        if said is not None:
            return said
    return None


def _began_s(source: Source, key: str) -> float:
    """When the run with this key, or of the task with it, began, in Unix time; 0: that is not known any more."""
    starts: dict[str, int] = {}
    of, since = key, None
    for _ in range(_MOST_REPLIES):
        reply = source.state(since, ["runs", "tasks"], None, ["run_key", "task_key", "start_ns"])
        since = reply["since"]
        starts |= {row["run_key"]: row["start_ns"] for row in reply["runs"] if "run_key" in row and "start_ns" in row}
        for task in reply["tasks"]:
            if task.get("task_key") == key:
                of = task.get("run_key", key)
                starts.setdefault(of, task.get("start_ns", 0))
        if not reply["more"]:
            break
    began_ns = starts.get(of, 0)
    return max((began_ns + source.host.wall_offset_ns) / 1e9 - _CLOCK_S, 0.0) if began_ns else 0.0
