# SPDX-License-Identifier: Apache-2.0
"""Reads tasks of recordings and tables into `observed`: one row for each attempt, with what it requested and used."""

from __future__ import annotations

from typing import Any

from ..cost import _tasks
from ..cost._database import quoted
from ._memory import OOM_FACTOR

__all__ = ["LEDGER", "observe"]

LEDGER = ("computing", "computing_at_most", "queued", "throttled", "disk", "network", "pipe", "local_socket", "lock", "sleep", "poll",
          "memory", "stopped", "other", "wall")
# A task that used so much of its limit while the kernel freed memory for it would have used more.
_NEAR_LIMIT = 0.95
_RECLAIMED = 0.05
# Killed by signal 9 below this share of its limit, something else may have killed it.
_KILLED_NEAR_LIMIT = 0.8
# Seen by the kernel to hold less of it, others in the same cgroup or on the host had the rest.
_MOST_OF_LIMIT = 0.5
# 128 + SIGUSR2: how batch systems warn or end a task whose time is up.
_OUT_OF_TIME = 140


def observe(connection: Any, paths: list[str], notes: list[str]) -> int:
    """The number of attempts."""
    _tasks.create(connection)
    count = _tasks.read_tasks(connection, paths, notes)
    if not count:
        notes.append("no task is in these files: name the steps of a script with tracerd run --step, or record an engine")
    connection.execute(f"""CREATE TABLE details (source VARCHAR, key VARCHAR, cpu_ns DOUBLE, peak_gib DOUBLE, peak_at_most_gib DOUBLE,
        {', '.join(f'{name}_ns DOUBLE' for name in LEDGER)}, oom BOOLEAN, limit_gib DOUBLE, wanted_cpus DOUBLE,
        input_bytes DOUBLE)""")
    for (source,) in connection.execute("SELECT DISTINCT source FROM tasks WHERE key IS NOT NULL ORDER BY source").fetchall():
        _read_details(connection, source)
    _observed(connection)
    return count


def _read_details(connection: Any, path: str) -> None:
    """What only recordings have."""
    from .._recording import read

    recording = read(path)
    for name in ("tasks", "processes", "samples", "files"):
        connection.register(f"recorded_{name}", recording.table(name))
    connection.execute("CREATE TEMP TABLE limits (key VARCHAR, limit_bytes DOUBLE)")
    try:
        if connection.execute("SELECT count(*) FROM recorded_processes WHERE oom_killed AND task_key IS NOT NULL").fetchall()[0][0]:
            connection.register("recorded_events", recording.table("events"))
            connection.execute("""INSERT INTO limits SELECT task_key::VARCHAR, limit_bytes FROM recorded_events
                WHERE kind = 'oom_kill' AND task_key IS NOT NULL""")
            connection.unregister("recorded_events")
        connection.execute(f"CREATE TEMP TABLE wanted AS {_WANTED}")
        connection.execute(f"CREATE TEMP TABLE inputs AS {_INPUTS}")
        connection.execute(f"""INSERT INTO details SELECT {quoted(path)}, t.task_key::VARCHAR, t.cpu_ns, t.peak_bytes / 1073741824,
            t.peak_at_most_bytes / 1073741824, {', '.join(f't.task_ledger_{name}_ns' for name in LEDGER)},
            ended.oom, limited.limit_bytes / 1073741824, wanted.cpus, inputs.bytes
            FROM (SELECT *, row_number() OVER (PARTITION BY task_key ORDER BY time_ns DESC) AS newest FROM recorded_tasks) AS t
            LEFT JOIN (SELECT task_key::VARCHAR AS key, CASE WHEN coalesce(bool_or(oom_killed), false) THEN true
                WHEN count(*) FILTER (end_ns IS NOT NULL) = count(oom_killed) THEN false END AS oom FROM recorded_processes
                WHERE task_key IS NOT NULL GROUP BY 1) AS ended ON ended.key = t.task_key::VARCHAR
            LEFT JOIN (SELECT key, max(limit_bytes) AS limit_bytes FROM limits GROUP BY key) AS limited
                ON limited.key = t.task_key::VARCHAR
            LEFT JOIN wanted ON wanted.key = t.task_key::VARCHAR LEFT JOIN inputs ON inputs.key = t.task_key::VARCHAR
            WHERE newest = 1 AND t.task_key IS NOT NULL""")
    finally:
        connection.execute("DROP TABLE IF EXISTS limits; DROP TABLE IF EXISTS wanted; DROP TABLE IF EXISTS inputs")
        for name in ("tasks", "processes", "samples", "files"):
            connection.unregister(f"recorded_{name}")


# CPUs that its threads ran on or stood in line for, which 95 % of its time do not exceed. What a process ran and waited
# between two samples is spread evenly between them; its end is its last sample. A clock of a running thread lags by a tick,
# so that the next interval seems to have more than its threads can want.
_WANTED = """
    WITH seen AS (
        SELECT task_key::VARCHAR AS key, pid, start_ns, time_ns AS end_ns, cpu_ns::DOUBLE + run_queue_ns AS demand, threads
        FROM recorded_samples WHERE kind = 'process_sample' AND task_key IS NOT NULL AND attached_ns IS NULL
        UNION ALL SELECT task_key::VARCHAR, pid, start_ns, end_ns, cpu_ns::DOUBLE + run_queue_ns, threads FROM recorded_processes
        WHERE end_ns IS NOT NULL AND task_key IS NOT NULL AND attached_ns IS NULL),
    parts AS (
        SELECT key, coalesce(lag(end_ns) OVER life, start_ns)::DOUBLE AS begin_ns, end_ns::DOUBLE AS end_ns,
            greatest(demand - coalesce(lag(demand) OVER life, 0), 0) AS demand,
            greatest(threads, coalesce(lag(threads) OVER life, 1)) AS threads
        FROM seen WINDOW life AS (PARTITION BY key, pid, start_ns ORDER BY end_ns)),
    rates AS (
        SELECT key, begin_ns, end_ns, least(demand / (end_ns - begin_ns), threads) AS rate FROM parts WHERE end_ns > begin_ns),
    edges AS (
        SELECT key, edge_ns, sum(rate) AS rate FROM (
            SELECT key, begin_ns AS edge_ns, rate FROM rates UNION ALL SELECT key, end_ns, -rate FROM rates) GROUP BY key, edge_ns),
    levels AS (
        SELECT key, sum(rate) OVER life AS level, lead(edge_ns) OVER life - edge_ns AS length FROM edges
        WINDOW life AS (PARTITION BY key ORDER BY edge_ns)),
    ranked AS (
        SELECT key, level, sum(length) OVER (PARTITION BY key ORDER BY level ROWS UNBOUNDED PRECEDING) AS up_to,
            sum(length) OVER (PARTITION BY key) AS whole FROM levels WHERE length > 0)
    SELECT key, min(level) FILTER (up_to >= 0.95 * whole) AS cpus FROM ranked
    WHERE key NOT IN (SELECT key FROM seen WHERE demand IS NULL) GROUP BY key"""

# Of files that it read and did not write: what was there before it began.
_INPUTS = """
    SELECT key, sum(size)::DOUBLE AS bytes FROM (
        SELECT task_key::VARCHAR AS key, path::VARCHAR AS path, max(size_bytes) AS size FROM recorded_files
        WHERE task_key IS NOT NULL AND path IS NOT NULL GROUP BY 1, 2
        HAVING bool_or(opened_to_read) AND NOT bool_or(opened_to_write OR created)) GROUP BY key"""


def _observed(connection: Any) -> None:
    memory = "coalesce(d.peak_gib, d.peak_at_most_gib, t.used_gib)"
    limit = "coalesce(d.limit_gib, t.memory_gib)"
    status = "upper(coalesce(t.status, ''))"
    connection.execute(f"""CREATE TABLE observed AS SELECT *,
        CASE WHEN outcome = 'out of memory' THEN greatest(CASE WHEN is_exact AND used_gib < {_MOST_OF_LIMIT} * limit_gib THEN 0
                ELSE coalesce(limit_gib, 0) END, coalesce(used_gib, 0)) * {OOM_FACTOR}
            WHEN outcome = 'succeeded' AND at_limit THEN limit_gib
            -- Java, R and Python end by themselves where they get no more.
            WHEN outcome IN ('failed', 'killed', 'unknown') AND used_gib >= {_NEAR_LIMIT} * limit_gib THEN greatest(limit_gib, used_gib)
            -- A peak that was polled misses what came after the last look.
            WHEN outcome = 'killed' THEN CASE WHEN oom IS NULL THEN greatest(limit_gib, used_gib) ELSE used_gib END END AS at_least_gib,
        CASE WHEN outcome NOT IN ('succeeded', 'cached') AND (said_timeout OR exit_code = {_OUT_OF_TIME}
            OR life_us >= {_NEAR_LIMIT} * requested_us) THEN greatest(requested_us, life_us) END AS at_least_us
        FROM (SELECT t.task, t.source, t.pipeline, coalesce(t.step, nullif(regexp_replace(t.name, ' \\(.*\\)$', ''), ''), main.tool,
            t.tool) AS step, coalesce(main.tool, t.tool) AS tool, t.run, t.sample, coalesce(t.name, t.sample, t.hash) AS name, t.hash,
            t.t0, coalesce(t.attempt, 1) AS attempt, t.cpus, t.memory_gib, t.requested_us, {memory} AS used_gib,
            d.peak_gib IS NULL AND d.peak_at_most_gib IS NOT NULL AS is_bound,
            d.key IS NOT NULL AND d.peak_gib IS NULL AND d.peak_at_most_gib IS NULL AS is_lower_bound,
            d.key IS NOT NULL AS is_exact, d.oom, t.exit_code, starts_with({status}, 'TIMEOUT') AS said_timeout, coalesce(t.t1 - t.t0, t.command_us) AS life_us, t.used_cpus, d.wanted_cpus, d.cpu_ns,
            {', '.join(f'd.{name}_ns' for name in LEDGER)}, coalesce(t.input_bytes, d.input_bytes) AS input_bytes,
            {limit} AS limit_gib, coalesce({memory} >= {_NEAR_LIMIT} * {limit}
                AND d.memory_ns >= {_RECLAIMED} * d.wall_ns, false) AS at_limit,
            CASE WHEN {status} = 'CACHED' THEN 'cached'
                WHEN d.oom OR {status} LIKE 'OUT_OF_ME%' OR {status} LIKE 'OOM%' THEN 'out of memory'
                WHEN {status} IN ('COMPLETED', 'SUCCEEDED', 'SUCCESS', 'DONE', 'OK') THEN
                    CASE WHEN coalesce(t.exit_code, 0) = 0 THEN 'succeeded' ELSE 'failed' END
                WHEN (t.exit_code = 137 OR t.exit_code IS NULL AND {status} = 'FAILED') AND {memory} >= {_KILLED_NEAR_LIMIT} * {limit} THEN 'out of memory'
                WHEN t.exit_code = 137 THEN 'killed'
                WHEN {status} <> '' THEN 'failed'
                WHEN t.exit_code = 0 THEN 'succeeded'
                WHEN t.exit_code IS NOT NULL THEN 'failed'
                WHEN t.key IS NULL THEN 'succeeded' ELSE 'unknown' END AS outcome
            FROM tasks AS t LEFT JOIN details AS d ON d.source = t.source AND d.key = t.key
            LEFT JOIN (SELECT task, arg_max(tool, cpu) AS tool FROM tools GROUP BY task) AS main ON main.task = t.task)""")
