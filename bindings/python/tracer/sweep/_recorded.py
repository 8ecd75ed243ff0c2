# SPDX-License-Identifier: Apache-2.0
"""Reads what recordings say of machines into tables in memory. All times are microseconds of Unix time."""

from __future__ import annotations

from typing import Any

from .._data import opened, query, quoted, table_of

__all__ = ["Recorded", "machines_of"]

# A GPU that worked for less than one part in so many of the time was not used.
_GPU_USED = 100


class Recorded:
    """Tables of what was observed, by machine: all recordings of one boot of a host are one machine's."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self._files: dict[str, list[str]] = {}
        """By machine: of which processes outside of tasks were not looked at."""
        self._gpus: dict[str, list[str]] = {}
        """Likewise, of which samples of GPUs were not."""
        self._living: dict[str, list[str]] = {}
        """Likewise, of which requests of living tasks were not."""
        connection.execute(query(__file__, "tables"))

    def read(self, path: str, notes: list[str]) -> None:
        with opened(self.connection, path, "host_samples", "findings_last", "tasks", "runs") as recording:
            host = recording.host
            machine = host.boot_id or host.host_name or path
            for unread in (self._files, self._living, self._gpus):
                unread.setdefault(machine, []).append(path)
            self.connection.execute(query(__file__, "recording", machine=quoted(machine), host_name=quoted(host.host_name),
                                          booted=host.wall_offset_ns // 1000))
            self._read_requests(machine, """SELECT task_key::VARCHAR AS task_key, recorded_us(begin_ns) AS t0, recorded_us(end_ns) AS t1,
                requested_millicpus / 1000 AS cpus, requested_memory_bytes FROM recorded_tasks""")
            if not self.connection.execute("SELECT count(*) FROM recorded_host_samples").fetchall()[0][0]:
                with opened(self.connection, recording, "events"):
                    part = self.connection.execute("""SELECT count(*) FILTER (kind = 'snapshot_end') > 1 OR bool_and(run_key IS NOT NULL)
                        FILTER (kind IN ('process_start', 'process_sample')) FROM recorded_events""").fetchall()[0][0]
                notes.append(f"{path} {'follows a part of its host' if part else 'is too short: it has no sample of its host'}, and says nothing of idle machines")

    def _read_requests(self, machine: str, rows: str) -> None:
        self.connection.execute(query(__file__, "requests", machine=quoted(machine), rows=rows))

    def read_living_requests(self, machine: str) -> None:
        """Of tasks that had not ended when their recording did. Reads the recordings again."""
        for path in self._living.pop(machine, []):
            with opened(self.connection, path, "events"):
                self._read_requests(machine, """SELECT task_key::VARCHAR AS task_key, recorded_us(time_ns) AS t0, NULL::BIGINT AS t1,
                    requested_millicpus / 1000 AS cpus, requested_memory_bytes FROM recorded_events WHERE kind = 'task_start'""")

    def pollers_of(self, machine: str, until: int, least: int, fresh: int) -> list[tuple[Any, ...]]:
        """Tasks that only sleep, as rows of stalls. Reads the recordings again, before outside_of()."""
        rows = []
        for path in self._files.get(machine, []):
            with opened(self.connection, path, "events", "samples", "processes", "tasks"):
                rows += self.connection.execute(query(__file__, "pollers", until=until, least=least, fresh=fresh)).fetchall()
        return rows

    def gpu_uses_of(self, machine: str, until: int) -> tuple[int, int | None]:
        """How many samples of its GPUs there are, and when one was used last. Reads the recordings again. The first sample of a
        process says not yet for how long it used one, and some drivers never say it: it counts as use."""
        for path in self._gpus.pop(machine, []):
            with opened(self.connection, path, "events"):
                self.connection.execute(f"""INSERT INTO gpu_uses SELECT {quoted(machine)}, recorded_us(time_ns),
                    since_ns IS NULL OR coalesce(busy_ns, gpu_busy_ns) IS NULL
                    OR greatest(coalesce(busy_ns, 0), coalesce(gpu_busy_ns, 0)) * {_GPU_USED} > time_ns - since_ns
                    FROM recorded_events WHERE kind = 'gpu_sample'""")
        count, last = self.connection.execute("SELECT count(*), max(t) FILTER (used) FROM gpu_uses WHERE machine = ? AND t <= ?",
                                              [machine, until]).fetchall()[0]
        return int(count), last

    def outside_of(self, machine: str, since: int, until: int) -> list[tuple[int, str, int]]:
        """CPU time of processes in no run or task, by the minute of `since` and the cgroup. Reads the recordings again."""
        for path in self._files.pop(machine, []):
            with opened(self.connection, path, "samples", "processes") as recording:
                self.connection.execute(query(__file__, "outside", machine=quoted(machine),
                                              from_ns=since * 1000 - recording.host.wall_offset_ns))
        # A host's sample comes a moment before those of its processes.
        rows: list[tuple[int, str, int]] = self.connection.execute(
            """SELECT (least(t, ?) - ?) // 60000000 AS minute, coalesce(cgroup, '?'), sum(cpu_ns)::BIGINT FROM outside
            WHERE machine = ? AND t >= ? AND t <= ? + 1000000 GROUP BY ALL ORDER BY ALL""", [until, since, machine, since, until]).fetchall()
        return rows


def machines_of(connection: Any) -> list[dict[str, Any]]:
    return table_of(connection, "SELECT * FROM machines ORDER BY host_name, machine")
