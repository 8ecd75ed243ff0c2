# SPDX-License-Identifier: Apache-2.0
"""What the tasks of each step were seen to need, over all recordings."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .._data import connect, opened, query, table_of
from .._errors import Problem, WhatIfError
from ..tune.shared import needs_of
from ..whatif.shared import Phase, read_workload

__all__ = ["ARCHES", "Step", "read_steps"]

ARCHES = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "arm64", "arm64": "arm64"}


@dataclass(slots=True)
class Step:
    pipeline: str | None
    name: str
    phases: list[tuple[Phase, ...]] = field(default_factory=list)
    """Of each task that succeeded."""
    walls_ns: list[int] = field(default_factory=list)
    peaks_bytes: list[int] = field(default_factory=list)
    """Of tasks that succeeded: exact, or upper bounds."""
    at_least_bytes: int = 0
    """What a task needed at least: its memory had run out, or it ended near its limit, or its peak is known from below only."""
    short_of_memory: int = 0
    """Tasks whose memory had run out, or that ended near their limit."""
    lost: int = 0
    """Tasks that were killed with a peak and a limit that nobody knows."""
    without_peak: int = 0
    failed: int = 0
    requested_bytes: int | None = None
    requested_cpus: float | None = None
    at_once: int = 1
    """The most tasks of it that one recording had at once."""
    binaries: dict[str, set[str]] = field(default_factory=dict)
    """Architecture -> names of the programs that ran in it there."""
    images: set[str] = field(default_factory=set)
    without_image: int = 0
    disk_bytes_per_s: float = 0.0
    """The most of one task, over its wall time."""
    network_bytes_per_s: float = 0.0
    bounds: dict[str, float] = field(default_factory=dict)
    """What bounds it -> wall time of which that is so, in ns."""
    shares: dict[str, float] = field(default_factory=dict)


def read_steps(paths: Sequence[str], notes: list[str]) -> list[Step]:
    """The steps of all recordings, those first that took most time."""
    steps: dict[tuple[str | None, str], Step] = {}
    for path in paths:
        _read(path, steps, notes)
    return sorted(steps.values(), key=lambda step: -sum(step.walls_ns))


def _read(path: str, steps: dict[tuple[str | None, str], Step], notes: list[str]) -> None:
    work = read_workload(path, every=True)
    notes += [f"{os.path.basename(path)}: {note}" for note in work.notes if "replayed" not in note]
    needs = needs_of(path)
    with connect() as connection, opened(connection, path, "task_names", "bound_by", prefix="") as recording:
        arch = ARCHES.get(recording.host.architecture, "")
        rows = {row["key"]: row for row in table_of(connection, query(__file__, "tasks"))}
        # Of a fork that did not exec, the program is its parent's.
        programs = connection.execute("""SELECT DISTINCT task_key::VARCHAR, regexp_extract(exe::VARCHAR, '[^/]*$') FROM programs
            WHERE task_key IS NOT NULL AND exe IS NOT NULL AND program_start_ns > start_ns""").fetchall()
    step_of: dict[str, Step] = {}
    spans: dict[int, list[tuple[int, int]]] = {}
    for task in work.tasks:
        row = rows.get(task.key or "")
        if row is None:
            continue
        pipeline, name = row["pipeline"], row["step"]
        step = step_of[task.key or ""] = steps.setdefault((pipeline, name), Step(pipeline, name))
        wall = task.end_ns - task.begin_ns
        spans.setdefault(id(step), []).extend([(task.begin_ns, 1), (task.end_ns, -1)])
        need = needs[task.key or ""]
        step.at_least_bytes = max(step.at_least_bytes, round(need["at_least_bytes"] or 0), round(need["seen_bytes"] or 0))
        step.short_of_memory += need["at_least_bytes"] is not None
        step.lost += need["outcome"] == "killed" and need["at_least_bytes"] is None
        step.requested_bytes = _larger(step.requested_bytes, row["requested_memory_bytes"])
        step.requested_cpus = _larger(step.requested_cpus, row["requested_millicpus"] and row["requested_millicpus"] / 1000)
        if row["image"]:
            step.images.add(row["image"])
        else:
            step.without_image += 1
        if need["outcome"] != "succeeded":
            step.failed += need["outcome"] != "unknown"
            continue
        step.phases.append(task.phases)
        step.walls_ns.append(wall)
        if need["peak_bytes"] is None:
            step.without_peak += 1
        else:
            step.peaks_bytes.append(round(need["peak_bytes"]))
        if wall > 0:
            step.disk_bytes_per_s = max(step.disk_bytes_per_s, _sum(row, "storage_read_bytes", "storage_written_bytes") * 1e9 / wall)
            step.network_bytes_per_s = max(step.network_bytes_per_s,
                                           _sum(row, "network_sent_bytes", "network_received_bytes") * 1e9 / wall)
        if bound := row["bound_by"]:
            step.bounds[bound] = step.bounds.get(bound, 0.0) + row["wall_ns"]
            step.shares[bound] = step.shares.get(bound, 0.0) + row["wall_ns"] * (row["bound_share"] or 0.0)
    for key, binary in programs:
        if key in step_of and binary:
            step_of[key].binaries.setdefault(arch, set()).add(binary)
    for step in {id(step): step for step in step_of.values()}.values():
        now = most = 0
        for _, change in sorted(spans[id(step)]):
            now += change
            most = max(most, now)
        step.at_once = max(step.at_once, most)


def _larger(one: Any, other: Any) -> Any:
    return max((value for value in (one, other) if value is not None), default=None)


def _sum(row: dict[str, Any], *names: str) -> int:
    return sum(int(row[name] or 0) for name in names)


def no_steps(paths: Sequence[str]) -> WhatIfError:
    return WhatIfError([Problem("TRC135", None, f"no task has finished in {', '.join(paths[:4])}",
                                "record a run with tasks: docs/contexts.md says what makes one", "")])
