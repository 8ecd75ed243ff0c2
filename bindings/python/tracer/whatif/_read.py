# SPDX-License-Identifier: Apache-2.0
"""Reads a run of a recording as a workload: docs/whatif.md says what each figure is made of."""

from __future__ import annotations

import math
import os
from bisect import bisect_right
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from .._data import connect, opened, query, table_of
from .._errors import Problem, WhatIfError
from .._format import counted
from ._cpus import find_cpus
from ._order import find_order
from ._phases import Piece, phases_of
from ._workload import Task, Workload

__all__ = ["read_workload"]

_TABLES = ("tasks_last", "task_outer", "runs_last", "processes", "programs", "samples", "files", "events")
_LEDGER = ("computing", "computing_at_most", "queued", "throttled", "disk", "network", "pipe", "local_socket", "lock", "sleep",
           "poll", "memory", "stopped", "other")


def read_workload(path: str, run: str | None = None, cpus: float | None = None, every: bool = False) -> Workload:
    """The run called `run`, by its name or key; None: the only one, or the one that all others are in; with `every`, the
    tasks of all. `cpus`: how many it had; None: as found in the recording."""
    with connect() as connection, opened(connection, path, *_TABLES, prefix="") as recording:
        runs = table_of(connection, query(__file__, "runs", ledger=_ledger_columns()))
        chosen, keys = _choose(path, runs, run, every)
        inside = ", ".join(f"'{key}'" for key in keys)
        tasks = query(__file__, "tasks", keys=inside, ledger=_ledger_columns())
        rows = table_of(connection, tasks)
        work = _workload(path, chosen, rows)
        if rows:
            work.outside_bytes = connection.execute(query(__file__, "outside", keys=inside, tasks=tasks)).fetchall()[0][0]
        find_cpus(connection, work, rows or [chosen], recording.host.cpu_count, cpus)
        _make_phases(connection, work, rows or [chosen], int(chosen["begin_ns"]))
        order = _by_files(connection, work, rows)
        work.by_files = len(order)
        _attempts(work, rows, order)
        find_order(work, order)
        _note_unfinished(connection, work, inside)
        return work


def _ledger_columns() -> str:
    return ", ".join(f"task_ledger_{name}_ns AS {name}" for name in _LEDGER)


def _problem(what: str, fix: str) -> WhatIfError:
    return WhatIfError([Problem("TRC135", None, what, fix, "")])


def _choose(path: str, runs: list[dict[str, Any]], wanted: str | None, every: bool) -> tuple[dict[str, Any], list[str]]:
    """A run, and the keys of it and of the runs inside of it."""
    if not runs:
        raise _problem(f"{path} has no run that has finished", "record a whole run: tracerd run --record FILE COMMAND")
    if every:
        begin, end = min(run["begin_ns"] for run in runs), max(run["end_ns"] for run in runs)
        return (runs[0] if len(runs) == 1 else runs[0] | {"begin_ns": begin, "end_ns": end}), [run["key"] for run in runs]
    if wanted is not None:
        found = [run for run in runs if wanted in (run["run"], run["key"], run["id"])]
        if len(found) != 1:
            raise _problem(f"{path} has {len(found) or 'no'} run{'s' * (len(found) > 1)} called {wanted!r}: it has {_names(runs)}", "name one by its key")
        chosen = found[0]
    else:
        outermost = [run for run in runs if all(run["begin_ns"] <= other["begin_ns"] and other["end_ns"] <= run["end_ns"]
                                                for other in runs)]
        if not outermost:
            raise _problem(f"{path} has {len(runs)} runs: {_names(runs)}", "name one: --run KEY")
        chosen = outermost[0]
    keys, added = {chosen["key"]}, True
    ids = {chosen["id"]}
    while added and wanted is not None:
        inner = {run["key"]: run["id"] for run in runs if run["key"] not in keys and (run["within"] or "").rpartition("/")[0] in ids}
        keys, ids, added = keys | set(inner), ids | set(inner.values()), bool(inner)
    return chosen, sorted(keys if wanted is not None else {run["key"] for run in runs})


def _names(runs: Sequence[dict[str, Any]]) -> str:
    names = [f"{run['run'] or 'no name'} ({run['key']})" for run in runs[:8]]
    return ", ".join(names) + (f" and {len(runs) - 8} more" if len(runs) > 8 else "")


def _workload(path: str, run: dict[str, Any], rows: list[dict[str, Any]]) -> Workload:
    begin, end = int(run["begin_ns"]), int(run["end_ns"])
    children: dict[tuple[Any, Any], int] = {}
    for row in rows:
        children[row["parent_pid"], row["parent_start_ns"]] = children.get((row["parent_pid"], row["parent_start_ns"]), 0) + 1
    places: dict[object, int] = {}
    tasks = []
    for row in rows:
        parent = row["parent_pid"], row["parent_start_ns"]
        # In containers, the parent of a task's leader is the runtime's: there the engine itself is the launcher.
        launcher: object = parent if parent[0] is not None and children[parent] > 1 else row["run_key"]
        finish = max(int(row["end_ns"]), int(row["begin_ns"]))
        leader = finish if row["leader_end_ns"] is None else min(int(row["leader_end_ns"]), finish)
        tasks.append(Task(row["name"], row["key"], int(row["begin_ns"]) - begin, finish - begin, (),
                          places.setdefault(launcher, len(places)), peak_bytes=_peak(row),
                          slot_end_ns=max(leader, int(row["begin_ns"])) - begin))
    work = Workload(run["run"] or os.path.basename(path), tasks, [], 1, end - begin, 0, 1, "", int(run["cpu_ns"] or 0),
                    peaks_exact=all(row["peak_bytes"] is not None for row in rows or [run]))
    if not tasks:
        work.notes.append("the run has no tasks: it is replayed as one")
        tasks.append(Task(work.name, run["key"], 0, end - begin, (), 0, peak_bytes=_peak(run), slot_end_ns=end - begin))
    last = max(task.end_ns for task in tasks)
    work.tail_ns = max(work.wall_ns - last, 0)
    outside = work.cpu_ns - sum(int(row["cpu_ns"] or 0) for row in rows or [run])
    work.other_cpu_ns = float(min(max(outside - int(run["without_task_ns"] or 0), 0), last))
    if work.other_cpu_ns < 0.01 * work.cpu_ns:
        work.other_cpu_ns = 0.0
    if run["exit_code"] or run["exit_signal"]:
        work.notes.append("the run failed: it is replayed as far as it came")
    failed = sum(bool(row["exit_code"] or row["exit_signal"]) for row in rows)
    if failed:
        work.notes.append(counted(failed, "task failed: it is replayed as it ran", "tasks failed: they are replayed as they ran"))
    return work


def _peak(row: dict[str, Any]) -> int | None:
    """Or its upper bound."""
    value = row["peak_bytes"] if row["peak_bytes"] is not None else row["peak_at_most_bytes"]
    return None if value is None else int(value)


def _make_phases(connection: Any, work: Workload, rows: Sequence[dict[str, Any]], begin_ns: int) -> None:
    without = 0
    pieces = _pieces(connection, {row["key"]: number for number, row in enumerate(rows)}, begin_ns)
    for number, (task, row) in enumerate(zip(work.tasks, rows)):
        cpu, queue = int(row["cpu_ns"] or 0), int(row["run_queue_ns"] or 0)
        if row["computing"] is None:
            without += 1
            least = most = float(cpu + queue)
        else:
            # A limit of its own is kept like a wait; that of the whole run is replaced by the CPUs of the replay.
            kept = int(row["queued"]) + (int(row["throttled"]) if work.limited else 0)
            # On one CPU, two can't compute at once.
            least = max(int(row["computing"]), cpu / work.cpus) + kept
            most = max(int(row["computing_at_most"]), cpu / work.cpus) + kept
        own = pieces.get(number, ())
        task.phases = phases_of(task.begin_ns, task.end_ns, own, cpu, queue, least)
        task.phases_serial = task.phases if most == least else phases_of(task.begin_ns, task.end_ns, own, cpu, queue, most)
    if without:
        work.notes.append(f"{without} of {counted(len(rows), 'task')} without a task ledger: all time beyond CPU time and run queue counts as waits")


def _pieces(connection: Any, numbers: dict[str, int], begin_ns: int) -> dict[int, list[Piece]]:
    """Of each task: the lives of its processes, divided at their snapshots."""
    found: dict[int, list[Piece]] = {}
    for owner, begin, end, cpu, queue, active, threads in connection.execute(query(__file__, "pieces")).fetchall():
        number = numbers.get(owner)
        if number is None:
            continue
        share = (cpu + queue if active is None else active) / (end - begin)
        found.setdefault(number, []).append(Piece(begin - begin_ns, end - begin_ns, float(cpu), float(max(queue, 0)),
                                                  min(max(share, 0.0), 1.0), math.inf if threads is None else float(threads)))
    return found


def _by_files(connection: Any, work: Workload, rows: Sequence[dict[str, Any]]) -> dict[int, list[int]]:
    """Task -> the tasks that last wrote the files that it read, and had ended when it began.

    A task that created a file itself reads its own: the inode may have been that of another before. One that only writes
    to a file of another, such as a log, does not need it.
    """
    numbers = {row["key"]: number for number, row in enumerate(rows)}
    work.has_files = bool(connection.execute("SELECT count(*) FROM files").fetchall()[0][0])
    uses = connection.execute("""SELECT device, inode, task_key::VARCHAR, bool_or(opened_to_write OR created),
        bool_or(opened_to_read) AND NOT bool_or(created) FROM files WHERE inode IS NOT NULL AND task_key IS NOT NULL
        GROUP BY device, inode, task_key ORDER BY device, inode""").fetchall()
    found: dict[int, set[int]] = {}
    for _, group in groupby(uses, key=lambda use: use[:2]):
        known = [(numbers[key], wrote, was_read) for _, _, key, wrote, was_read in group if key in numbers]
        writers = sorted((work.tasks[number].end_ns, number) for number, wrote, _ in known if wrote)
        for reader in [number for number, _, was_read in known if was_read] if writers else []:
            before = bisect_right(writers, (work.tasks[reader].begin_ns, len(rows)))
            if before and writers[before - 1][1] != reader:
                found.setdefault(reader, set()).add(writers[before - 1][1])
    return {reader: sorted(each) for reader, each in found.items()}


def _attempts(work: Workload, rows: Sequence[dict[str, Any]], found: dict[int, list[int]]) -> None:
    """An attempt begins after the one before it."""
    last: dict[tuple[Any, Any], int] = {}
    for number, row in enumerate(rows):
        if row["task_id"] is None:
            continue
        before = last.get((row["run_key"], row["task_id"]))
        if before is not None and work.tasks[before].end_ns <= work.tasks[number].begin_ns:
            found.setdefault(number, []).append(before)
        last[row["run_key"], row["task_id"]] = number


def _note_unfinished(connection: Any, work: Workload, inside: str) -> None:
    count = connection.execute(f"""SELECT count(DISTINCT task_key::VARCHAR) FROM events WHERE kind = 'task_start' AND
        run_key::VARCHAR IN ({inside}) AND task_key::VARCHAR NOT IN (SELECT task_key::VARCHAR FROM tasks WHERE task_key IS NOT NULL)
        """).fetchall()[0][0]
    if count:
        work.notes.append(f"{counted(count, 'task')} had not finished when the recording ended, and {'is' if count == 1 else 'are'} not replayed")
