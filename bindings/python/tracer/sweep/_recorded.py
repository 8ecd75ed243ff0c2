# SPDX-License-Identifier: Apache-2.0
"""Reads what recordings say of machines into tables in memory. All times are microseconds of Unix time."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from .._recording import read
from ..cost._database import quoted, table_of
from ..cost._tasks import recordings_in, table_of_recording

__all__ = ["Recorded", "files_in", "machines_of"]


def files_in(paths: Sequence[str]) -> list[str]:
    """The recordings; a folder stands for those in it."""
    from ..cost._database import problem

    files: list[str] = []
    for path in paths:
        if not os.path.isdir(path):
            files.append(path)
            continue
        found = recordings_in(path)
        if not found:
            raise problem("TRC137", f"no recording (*.tracer) is in {path}", "name a folder that has some, or files")
        files += found
    return files


# A GPU that worked for less than one part in so many of the time was not used.
_GPU_USED = 100


class Recorded:
    """Tables of what was observed, by machine: all recordings of one boot of a host are one machine's."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self._files: dict[str, list[tuple[str, int]]] = {}
        """By machine, with what is to be added to times in ns: of which processes outside of tasks were not looked at."""
        self._gpus: dict[str, list[tuple[str, int]]] = {}
        """Likewise, of which samples of GPUs were not."""
        self._living: dict[str, list[tuple[str, int]]] = {}
        """Likewise, of which requests of living tasks were not."""
        connection.execute("""
            CREATE TABLE machines (machine VARCHAR PRIMARY KEY, host_name VARCHAR, instance VARCHAR, instance_type VARCHAR,
                provider VARCHAR, booted BIGINT, first BIGINT, last BIGINT, whole BOOLEAN);
            CREATE TABLE host_samples (machine VARCHAR, t0 BIGINT, t1 BIGINT, cpus INTEGER, task_cpu_ns UBIGINT,
                system_cpu_ns UBIGINT, memory_bytes UBIGINT, task_memory_bytes UBIGINT, tasks UBIGINT);
            CREATE TABLE works (machine VARCHAR, run VARCHAR, pipeline VARCHAR, uid UINTEGER, ended BIGINT);
            CREATE TABLE stalls (machine VARCHAR, task VARCHAR, run VARCHAR, pipeline VARCHAR, uid UINTEGER, of_task BOOLEAN,
                tool VARCHAR, waits_for VARCHAR, confidence VARCHAR, code VARCHAR, t0 BIGINT, t1 BIGINT);
            CREATE TABLE requests (machine VARCHAR, t0 BIGINT, t1 BIGINT, cpus DOUBLE, memory_bytes UBIGINT);
            CREATE TABLE tasks_read (machine VARCHAR, task_key VARCHAR, PRIMARY KEY (machine, task_key));
            CREATE TABLE gpu_uses (machine VARCHAR, t BIGINT, used BOOLEAN);
            CREATE TABLE outside (machine VARCHAR, t BIGINT, cgroup VARCHAR, cpu_ns UBIGINT)""")

    def read(self, path: str, notes: list[str]) -> None:
        recording = read(path)
        hosts = table_of_recording(self.connection, recording, "hosts")
        if not hosts:
            return
        host, offset = hosts[0], int(hosts[0]["wall_offset_ns"])
        machine = str(host["boot_id"] or host["host_name"] or path)
        self._files.setdefault(machine, []).append((path, offset))
        self._living.setdefault(machine, []).append((path, offset))
        self._gpus.setdefault(machine, []).append((path, offset))
        with _Tables(self.connection, recording, "host_samples", "findings", "tasks", "runs"):
            wall = f"+ {offset}::HUGEINT) // 1000)::BIGINT"
            self.connection.execute(f"""INSERT INTO host_samples SELECT {quoted(machine)}, ((since_ns::HUGEINT {wall},
                ((time_ns::HUGEINT {wall}, cpus, task_cpu_ns, system_cpu_ns, memory_bytes, task_memory_bytes, tasks
                FROM recorded_host_samples""")
            first, kind, instance, provider, count = self.connection.execute(f"""SELECT ((min(since_ns)::HUGEINT {wall},
                max(instance_type::VARCHAR), max(instance_id::VARCHAR), max(provider::VARCHAR), count(*)
                FROM recorded_host_samples""").fetchall()[0]
            last = self.connection.execute(f"""SELECT ((max(time_ns)::HUGEINT {wall} FROM (
                SELECT time_ns FROM recorded_host_samples UNION ALL SELECT time_ns FROM recorded_findings
                UNION ALL SELECT time_ns FROM recorded_tasks UNION ALL SELECT time_ns FROM recorded_runs)""").fetchall()[0][0]
            if not count:
                notes.append(f"{path} follows a part of its host, or is shorter than a sample of it: it says nothing of idle machines")
            self.connection.execute(
                """INSERT INTO machines VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
                instance = coalesce(excluded.instance, instance), instance_type = coalesce(excluded.instance_type, instance_type),
                provider = coalesce(excluded.provider, provider), first = least(first, excluded.first),
                last = greatest(last, excluded.last), whole = whole OR excluded.whole""",
                [machine, host["host_name"], instance, kind, provider, offset // 1000, first, last, bool(count)])
            self.connection.execute(f"""INSERT INTO works SELECT {quoted(machine)}, coalesce(any_value(run_id), any_value(run)),
                any_value(pipeline), any_value(owner_uid), ((max(end_ns)::HUGEINT {wall} FROM (
                SELECT run::VARCHAR AS run, run_id::VARCHAR AS run_id, pipeline::VARCHAR AS pipeline, owner_uid, end_ns, run_key
                FROM recorded_tasks UNION ALL SELECT run::VARCHAR, run_id::VARCHAR, pipeline::VARCHAR, owner_uid, end_ns, run_key
                FROM recorded_runs) WHERE end_ns IS NOT NULL GROUP BY run_key""")
            self._read_requests(machine, f"""SELECT task_key::VARCHAR AS task_key, ((begin_ns::HUGEINT {wall} AS t0,
                ((end_ns::HUGEINT {wall} AS t1, requested_millicpus / 1000 AS cpus, requested_memory_bytes FROM recorded_tasks""")
            # The last report of a finding counts. Where the recording ended, it is closed with it; a task that ended is not held.
            self.connection.execute(f"""INSERT INTO stalls SELECT {quoted(machine)}, coalesce(task, step, run), coalesce(run_id, run),
                pipeline, owner_uid, subject = 'task', tool, [each.text FOR each IN evidence IF each.name = 'waits_for'][1],
                confidence, code, ((first_ns::HUGEINT {wall}, ((last_ns::HUGEINT {wall} FROM (
                SELECT *, row_number() OVER (PARTITION BY finding_key ORDER BY time_ns DESC) AS newest FROM recorded_findings
                WHERE code IN ('stalled', 'deadlocked_pipe')) AS f WHERE newest = 1
                AND (f.task_key IS NULL OR f.task_key::VARCHAR NOT IN (SELECT task_key::VARCHAR FROM recorded_tasks WHERE task_key IS NOT NULL))
                AND (f.run_key IS NULL OR f.run_key::VARCHAR NOT IN (SELECT run_key::VARCHAR FROM recorded_runs WHERE run_key IS NOT NULL))""")

    def _read_requests(self, machine: str, rows: str) -> None:
        """Of tasks that no file before had: several recordings of a host have some in common."""
        self.connection.execute(f"""CREATE OR REPLACE TEMP TABLE read_requests AS SELECT * FROM ({rows}) WHERE task_key IS NULL OR
            task_key NOT IN (SELECT task_key FROM tasks_read WHERE machine = {quoted(machine)})""")
        self.connection.execute(f"""INSERT INTO requests SELECT {quoted(machine)}, t0, t1, cpus, requested_memory_bytes
            FROM read_requests WHERE cpus IS NOT NULL OR requested_memory_bytes IS NOT NULL""")
        self.connection.execute(f"""INSERT INTO tasks_read SELECT DISTINCT {quoted(machine)}, task_key FROM read_requests
            WHERE task_key IS NOT NULL""")

    def read_living_requests(self, machine: str) -> None:
        """Of tasks that had not ended when their recording did. Reads the recordings again."""
        for path, offset in self._living.pop(machine, []):
            with _Tables(self.connection, read(path), "events"):
                self._read_requests(machine, f"""SELECT task_key::VARCHAR AS task_key, ((time_ns::HUGEINT + {offset}) // 1000)::BIGINT AS t0,
                    NULL::BIGINT AS t1, requested_millicpus / 1000 AS cpus, requested_memory_bytes
                    FROM recorded_events WHERE kind = 'task_start'""")

    def gpu_uses_of(self, machine: str, until: int) -> tuple[int, int | None]:
        """How many samples of its GPUs there are, and when one was used last. Reads the recordings again. The first sample of a
        process says not yet for how long it used one, and some drivers never say it: it counts as use."""
        for path, offset in self._gpus.pop(machine, []):
            with _Tables(self.connection, read(path), "events"):
                self.connection.execute(f"""INSERT INTO gpu_uses SELECT {quoted(machine)}, ((time_ns::HUGEINT + {offset}) // 1000)::BIGINT,
                    since_ns IS NULL OR coalesce(busy_ns, gpu_busy_ns) IS NULL
                    OR greatest(coalesce(busy_ns, 0), coalesce(gpu_busy_ns, 0)) * {_GPU_USED} > time_ns - since_ns
                    FROM recorded_events WHERE kind = 'gpu_sample'""")
        count, last = self.connection.execute("SELECT count(*), max(t) FILTER (used) FROM gpu_uses WHERE machine = ? AND t <= ?",
                                              [machine, until]).fetchall()[0]
        return int(count), last

    def outside_of(self, machine: str, since: int, until: int) -> list[tuple[int, str, int]]:
        """CPU time of processes in no run or task, by the minute of `since` and the cgroup. Reads the recordings again."""
        for path, offset in self._files.pop(machine, []):
            self._read_outside(machine, path, offset, since)
        # A host's sample comes a moment before those of its processes.
        rows: list[tuple[int, str, int]] = self.connection.execute(
            """SELECT (least(t, ?) - ?) // 60000000 AS minute, coalesce(cgroup, '?'), sum(cpu_ns)::BIGINT FROM outside
            WHERE machine = ? AND t >= ? AND t <= ? + 1000000 GROUP BY ALL ORDER BY ALL""", [until, since, machine, since, until]).fetchall()
        return rows

    def _read_outside(self, machine: str, path: str, offset: int, since: int) -> None:
        with _Tables(self.connection, read(path), "samples", "processes"):
            from_ns = since * 1000 - offset
            # A snapshot before the time that is asked for says where the sums begin.
            # Of many processes of one tool there is one sample; those that end make it less, and count with their ends.
            self.connection.execute(f"""INSERT INTO outside SELECT {quoted(machine)}, ((time_ns::HUGEINT + {offset}) // 1000)::BIGINT,
                cgroup, used FROM (SELECT time_ns, cgroup, cpu_ns - coalesce(lag(cpu_ns) OVER process,
                CASE WHEN start_ns >= {from_ns} THEN 0 ELSE cpu_ns END) AS used FROM (
                SELECT time_ns, pid, start_ns, CASE WHEN pid IS NULL THEN concat_ws(' ', tool::VARCHAR, uid) END AS fold,
                cgroup::VARCHAR AS cgroup, cpu_ns::BIGINT AS cpu_ns FROM recorded_samples
                WHERE kind IN ('process_sample', 'tool_sample') AND run_key IS NULL AND task_key IS NULL AND cpu_ns IS NOT NULL
                AND time_ns::BIGINT >= {from_ns} - 60000000000
                UNION ALL SELECT end_ns, pid, start_ns, NULL, cgroup::VARCHAR, cpu_ns::BIGINT FROM recorded_processes
                WHERE end_ns IS NOT NULL AND run_key IS NULL AND task_key IS NULL AND cpu_ns IS NOT NULL
                AND end_ns::BIGINT >= {from_ns}) WINDOW process AS (PARTITION BY pid, start_ns, fold ORDER BY time_ns))
                WHERE used > 0 AND time_ns::BIGINT >= {from_ns}""")


class _Tables:
    """Tables of a recording, as recorded_NAME, for a while."""

    def __init__(self, connection: Any, recording: Any, *names: str) -> None:
        self._connection, self._recording, self._names = connection, recording, names

    def __enter__(self) -> None:
        for name in self._names:
            self._connection.register(f"recorded_{name}", self._recording.table(name))

    def __exit__(self, *_: object) -> None:
        for name in self._names:
            self._connection.unregister(f"recorded_{name}")


def machines_of(connection: Any) -> list[dict[str, Any]]:
    return table_of(connection, "SELECT * FROM machines ORDER BY host_name, machine")
