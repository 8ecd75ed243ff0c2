# SPDX-License-Identifier: Apache-2.0
"""Reads tasks of recordings and tables into `observed`: one row for each attempt, with what it requested and used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._data import connect, opened, query, quoted, table_of
from ..cost.shared import create_tables, opened_sources, read_tasks
from ._memory import OOM_FACTOR

if TYPE_CHECKING:
    from .._source import Source

__all__ = ["LEDGER", "needs_of", "observe"]

LEDGER = ("computing", "computing_at_most", "queued", "throttled", "disk", "network", "pipe", "local_socket", "lock", "sleep", "poll",
          "memory", "stopped", "other", "wall")
_LIMITS = {
    # A task that used so much of its limit while the kernel freed memory for it would have used more.
    "near_limit": 0.95, "reclaimed": 0.05,
    # Killed by signal 9 below this share of its limit, something else may have killed it.
    "killed_near_limit": 0.8,
    # Seen by the kernel to hold less of it, others in the same cgroup or on the host had the rest.
    "most_of_limit": 0.5,
    # 128 + SIGUSR2: how batch systems warn or end a task whose time is up.
    "out_of_time": 140}


def observe(connection: Any, paths: list[str], notes: list[str], nested: bool = False) -> int:
    """The number of attempts. `nested`: with all of those that are inside of each other."""
    create_tables(connection)
    count = read_tasks(connection, paths, notes)
    if not nested:
        count -= connection.execute(query(__file__, "nested")).fetchone()[0]
    if not count:
        notes.append("no task is in these files: name the steps of a script with tracerd run --step, or record an engine")
    connection.execute(f"""CREATE TABLE details (source VARCHAR, key VARCHAR, cpu_ns DOUBLE, peak_gib DOUBLE, peak_at_most_gib DOUBLE,
        {', '.join(f'{name}_ns DOUBLE' for name in LEDGER)}, oom BOOLEAN, limit_gib DOUBLE, wanted_cpus DOUBLE,
        input_bytes DOUBLE)""")
    for source, recording in opened_sources(connection, "tasks_last", "processes", "task_inputs"):
        _read_details(connection, source, recording)
    connection.execute(query(__file__, "observed", oom_factor=OOM_FACTOR, ledger=", ".join(f"d.{name}_ns" for name in LEDGER), **_LIMITS))
    return count


def _read_details(connection: Any, source: str, recording: Source | None) -> None:
    connection.execute("""CREATE OR REPLACE TEMP TABLE limits (source VARCHAR, key VARCHAR, limit_bytes DOUBLE);
        CREATE OR REPLACE TEMP TABLE wanted (source VARCHAR, key VARCHAR, cpus DOUBLE)""")
    if recording:
        with opened(connection, recording, "samples", "events", prefix="seen_"):
            connection.execute(query(__file__, "wanted", source=quoted(source)))
            if connection.execute("SELECT count(*) FROM recorded_processes WHERE oom_killed AND task_key IS NOT NULL").fetchall()[0][0]:
                connection.execute(f"""INSERT INTO limits SELECT {quoted(source)}, task_key::VARCHAR, max(limit_bytes) FROM seen_events
                    WHERE kind = 'oom_kill' AND task_key IS NOT NULL GROUP BY ALL""")
    ledger = ", ".join(f"t.task_ledger_{name}_ns" for name in LEDGER)
    connection.execute(query(__file__, "details", ledger=ledger))


def needs_of(path: str) -> dict[str, dict[str, Any]]:
    """Of each task of a recording by its key: its `outcome`; null where not known, `peak_bytes` (exact, or an upper bound),
    `at_least_bytes` (what a task needed that ran short of memory), `seen_bytes` (a peak that may have been more)."""
    with connect() as connection:
        observe(connection, [path], [], nested=True)
        return {row["key"]: row for row in table_of(connection, query(__file__, "needs"))}
